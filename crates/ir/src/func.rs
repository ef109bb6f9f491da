//! The scalar functions and operators of the IR: one line each.
//!
//! A function is typed and total over its signature: overloads are resolved before (room `sql`),
//! conversions are explicit (`Cast`). None knows more than its arguments; inputs from outside are `Draw`s, and
//! [`crate::determinism`] has the class of each.
//! Strict functions answer NULL when any argument is NULL, without being called; the others
//! (`nullable`) say what they do. The implementation stands in `exec::functions`, exactly one arm
//! for each line here.

/// What an argument or result of a function may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sig {
    /// boolean
    B,
    /// any of smallint, integer, bigint (kept in 64 bits)
    I,
    /// numeric
    N,
    /// double precision, real
    F,
    /// text, varchar, char
    T,
    /// bytea; a range or another type that is kept as bytes in its order
    Y,
    /// range
    R,
    /// inet, cidr
    L,
    /// macaddr, macaddr8
    H,
    /// bit, bit varying
    Z,
    /// money
    M,
    /// timetz
    W,
    /// tsvector
    P,
    /// tsquery
    Q,
    /// date
    D,
    /// timestamp or timestamptz
    S,
    /// interval
    V,
    /// time
    C,
    /// uuid
    U,
    /// citext
    E,
    /// jsonb
    J,
    /// json or jsonb
    K,
    /// any array
    A,
    /// any value
    X,
}

macro_rules! funcs {
    ($($(#[$doc:meta])* $variant:ident $name:literal ($($arg:ident),* $(; $var:ident)?) -> $ret:ident $($flag:ident)*;)*) => {
        /// A scalar function or operator.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u16)]
        pub enum Func { $($(#[$doc])* #[doc = concat!("`", $name, "`")] $variant,)* }

        impl Func {
            /// All of them.
            pub const ALL: &[Func] = &[$(Func::$variant,)*];
            /// The name in the text form.
            pub const fn name(self) -> &'static str { match self { $(Func::$variant => $name,)* } }
            /// The arguments, without the variadic tail.
            pub const fn args(self) -> &'static [Sig] { match self { $(Func::$variant => &[$(Sig::$arg),*],)* } }
            /// The kind of the arguments after those, any number of them.
            pub const fn variadic(self) -> Option<Sig> {
                match self { $(Func::$variant => { let v: &[Sig] = &[$(Sig::$var)?]; if v.is_empty() { None } else { Some(v[0]) } },)* }
            }
            /// The result.
            pub const fn result(self) -> Sig { match self { $(Func::$variant => Sig::$ret,)* } }
            /// Whether a NULL argument makes the result NULL without a call.
            #[inline]
            pub const fn strict(self) -> bool { STRICT[self as usize] }
            /// Whether it never raises an error.
            #[inline]
            pub const fn total(self) -> bool { TOTAL[self as usize] }
            /// From its name in the text form.
            pub fn parse(name: &str) -> Option<Func> { match name { $($name => Some(Func::$variant),)* _ => None } }
        }

        // Asked once per call: tables, where a match over names would cost more than the function.
        static STRICT: [bool; Func::ALL.len()] = [$(!has(&[$(stringify!($flag)),*], "nullable"),)*];
        static TOTAL: [bool; Func::ALL.len()] = [$(has(&[$(stringify!($flag)),*], "total"),)*];
    };
}

impl Func {
    /// The operator that it is where it has two operands (LIKE: and the character that escapes), for people to read: by what
    /// its name ends with.
    pub fn operator(self) -> Option<&'static str> {
        Some(match self.name().rsplit('.').next()? {
            "eq" => "=",
            "ne" => "<>",
            "lt" => "<",
            "le" => "<=",
            "gt" => ">",
            "ge" => ">=",
            "add" => "+",
            "sub" => "-",
            "mul" => "*",
            "div" => "/",
            "mod" => "%",
            "and" => "AND",
            "or" => "OR",
            "concat" => "||",
            "like" | "likeplain" => "~~",
            "contains" => "@>",
            "overlaps" => "&&",
            "matches" => "@@",
            _ => return None,
        })
    }
}

const fn has(flags: &[&str], what: &str) -> bool {
    let mut i = 0;
    while i < flags.len() {
        let (a, b) = (flags[i].as_bytes(), what.as_bytes());
        if a.len() == b.len() {
            let mut j = 0;
            while j < a.len() && a[j] == b[j] {
                j += 1;
            }
            if j == a.len() {
                return true;
            }
        }
        i += 1;
    }
    false
}

funcs! {
    // ---- integers: suffix 2/4/8 is the width whose overflow raises 22003 ----
    Int2Add "int2.add" (I, I) -> I; Int4Add "int4.add" (I, I) -> I; Int8Add "int8.add" (I, I) -> I;
    Int2Sub "int2.sub" (I, I) -> I; Int4Sub "int4.sub" (I, I) -> I; Int8Sub "int8.sub" (I, I) -> I;
    Int2Mul "int2.mul" (I, I) -> I; Int4Mul "int4.mul" (I, I) -> I; Int8Mul "int8.mul" (I, I) -> I;
    /// Truncates towards zero; 22012 on zero.
    Int2Div "int2.div" (I, I) -> I; Int4Div "int4.div" (I, I) -> I; Int8Div "int8.div" (I, I) -> I;
    /// Sign of the dividend; 22012 on zero.
    IntMod "int.mod" (I, I) -> I;
    Int2Neg "int2.neg" (I) -> I; Int4Neg "int4.neg" (I) -> I; Int8Neg "int8.neg" (I) -> I;
    Int2Abs "int2.abs" (I) -> I; Int4Abs "int4.abs" (I) -> I; Int8Abs "int8.abs" (I) -> I;
    IntSign "int.sign" (I) -> I total;
    /// The bucket of a row: its number from 1, the number of rows, the number of buckets.
    Ntile "int.ntile" (I, I, I) -> I;
    /// The share of rows that a percentage of TABLESAMPLE stands for; 2202H where it is not within 0 to 100, or NULL (`true`).
    SampleShare "sample.share" (F, B) -> F;
    /// A number from 0 to 1 that a seed of TABLESAMPLE gives a row's key; 2202G where the seed is NULL (`true`).
    SampleDraw "sample.draw" (F, B, T) -> F;
    IntAnd "int.and" (I, I) -> I total; IntOr "int.or" (I, I) -> I total; IntXor "int.xor" (I, I) -> I total;
    IntNot "int.not" (I) -> I total;
    /// Greatest common divisor and least common multiple, 22003 beyond the width.
    Int4Gcd "int4.gcd" (I, I) -> I; Int8Gcd "int8.gcd" (I, I) -> I; Int4Lcm "int4.lcm" (I, I) -> I; Int8Lcm "int8.lcm" (I, I) -> I;
    /// Hexadecimal digits of the two's complement in 32 or 64 bits.
    Int4ToHex "int4.tohex" (I) -> T; Int8ToHex "int8.tohex" (I) -> T;
    Int2Shl "int2.shl" (I, I) -> I total; Int4Shl "int4.shl" (I, I) -> I total; Int8Shl "int8.shl" (I, I) -> I total;
    Int2Shr "int2.shr" (I, I) -> I total; Int4Shr "int4.shr" (I, I) -> I total; Int8Shr "int8.shr" (I, I) -> I total;
    IntEq "int.eq" (I, I) -> B total; IntNe "int.ne" (I, I) -> B total; IntLt "int.lt" (I, I) -> B total;
    IntLe "int.le" (I, I) -> B total; IntGt "int.gt" (I, I) -> B total; IntGe "int.ge" (I, I) -> B total;

    // ---- numeric ----
    NumAdd "num.add" (N, N) -> N; NumSub "num.sub" (N, N) -> N; NumMul "num.mul" (N, N) -> N;
    /// PostgreSQL's choice of result scale.
    NumDiv "num.div" (N, N) -> N;
    NumMod "num.mod" (N, N) -> N; NumNeg "num.neg" (N) -> N total; NumAbs "num.abs" (N) -> N total;
    NumSign "num.sign" (N) -> N total; NumCeil "num.ceil" (N) -> N; NumFloor "num.floor" (N) -> N;
    /// Half away from zero; digits may be negative.
    NumRound "num.round" (N, I) -> N; NumTrunc "num.trunc" (N, I) -> N;
    NumSqrt "num.sqrt" (N) -> N; NumPower "num.power" (N, N) -> N; NumScale "num.scale" (N) -> I total; NumFactorial "num.factorial" (I) -> N;
    NumGcd "num.gcd" (N, N) -> N; NumLcm "num.lcm" (N, N) -> N;
    NumExp "num.exp" (N) -> N; NumLn "num.ln" (N) -> N; NumLog10 "num.log10" (N) -> N;
    /// Base, then the number.
    NumLog "num.log" (N, N) -> N;
    /// `div`: the whole part of the quotient.
    NumDivTrunc "num.divtrunc" (N, N) -> N; NumMinScale "num.minscale" (N) -> I total; NumTrimScale "num.trimscale" (N) -> N total;
    NumEq "num.eq" (N, N) -> B total; NumNe "num.ne" (N, N) -> B total; NumLt "num.lt" (N, N) -> B total;
    NumLe "num.le" (N, N) -> B total; NumGt "num.gt" (N, N) -> B total; NumGe "num.ge" (N, N) -> B total;
    /// sum / count as `avg` of numeric and integers has it.
    NumAvg "num.avg" (N, I) -> N;

    // ---- double precision (NaN equals NaN and is above all) ----
    FltAdd "flt.add" (F, F) -> F; FltSub "flt.sub" (F, F) -> F; FltMul "flt.mul" (F, F) -> F; FltDiv "flt.div" (F, F) -> F;
    /// The same of reals: the nearest real.
    RealAdd "real.add" (F, F) -> F; RealSub "real.sub" (F, F) -> F; RealMul "real.mul" (F, F) -> F; RealDiv "real.div" (F, F) -> F;
    FltNeg "flt.neg" (F) -> F total; FltAbs "flt.abs" (F) -> F total; FltSign "flt.sign" (F) -> F total;
    FltCeil "flt.ceil" (F) -> F total; FltFloor "flt.floor" (F) -> F total; FltRound "flt.round" (F) -> F total; FltTrunc "flt.trunc" (F) -> F total;
    FltSqrt "flt.sqrt" (F) -> F; FltPower "flt.power" (F, F) -> F; FltExp "flt.exp" (F) -> F; FltLn "flt.ln" (F) -> F; FltLog10 "flt.log10" (F) -> F;
    FltCbrt "flt.cbrt" (F) -> F total; FltSin "flt.sin" (F) -> F; FltCos "flt.cos" (F) -> F; FltTan "flt.tan" (F) -> F;
    FltAsin "flt.asin" (F) -> F; FltAcos "flt.acos" (F) -> F; FltAtan "flt.atan" (F) -> F total; FltAtan2 "flt.atan2" (F, F) -> F total;
    FltCot "flt.cot" (F) -> F total; FltSinh "flt.sinh" (F) -> F total; FltCosh "flt.cosh" (F) -> F total; FltTanh "flt.tanh" (F) -> F total;
    FltAsinh "flt.asinh" (F) -> F total; FltAcosh "flt.acosh" (F) -> F; FltAtanh "flt.atanh" (F) -> F;
    /// The same functions of angles in degrees: exact where an angle is.
    FltSind "flt.sind" (F) -> F; FltCosd "flt.cosd" (F) -> F; FltTand "flt.tand" (F) -> F; FltCotd "flt.cotd" (F) -> F;
    FltAsind "flt.asind" (F) -> F; FltAcosd "flt.acosd" (F) -> F; FltAtand "flt.atand" (F) -> F total; FltAtan2d "flt.atan2d" (F, F) -> F total;
    /// Number of the bucket that a value is in, of so many equal ones between two bounds.
    FltWidthBucket "flt.widthbucket" (F, F, F, I) -> I; NumWidthBucket "num.widthbucket" (N, N, N, I) -> I;
    FltDegrees "flt.degrees" (F) -> F; FltRadians "flt.radians" (F) -> F;
    FltEq "flt.eq" (F, F) -> B total; FltNe "flt.ne" (F, F) -> B total; FltLt "flt.lt" (F, F) -> B total;
    FltLe "flt.le" (F, F) -> B total; FltGt "flt.gt" (F, F) -> B total; FltGe "flt.ge" (F, F) -> B total;

    // ---- boolean: three-valued ----
    And "and" (B, B) -> B nullable total; Or "or" (B, B) -> B nullable total; Not "not" (B) -> B total;
    BoolEq "bool.eq" (B, B) -> B total; BoolNe "bool.ne" (B, B) -> B total; BoolLt "bool.lt" (B, B) -> B total;
    BoolLe "bool.le" (B, B) -> B total; BoolGt "bool.gt" (B, B) -> B total; BoolGe "bool.ge" (B, B) -> B total;
    /// IS NULL, IS TRUE, IS FALSE: never NULL.
    IsNull "is.null" (X) -> B nullable total; IsNotNull "is.notnull" (X) -> B nullable total;
    /// Whether any argument is NULL (NOT NULL columns are checked all at once).
    AnyNull "is.anynull" (; X) -> B nullable total;
    IsTrue "is.true" (B) -> B nullable total; IsFalse "is.false" (B) -> B nullable total;
    /// The output form, `t` or `f`, which `concat`, `format`, RAISE and `array_to_string` show; the
    /// cast to text is `true` or `false`.
    BoolOut "bool.out" (B) -> T;
    /// IS [NOT] DISTINCT FROM over two values of one class.
    Distinct "distinct" (X, X) -> B nullable total; NotDistinct "notdistinct" (X, X) -> B nullable total;

    // ---- text ----
    /// Bytewise order (C collation); trailing blanks of char(n) are gone already.
    TextEq "text.eq" (T, T) -> B total; TextNe "text.ne" (T, T) -> B total; TextLt "text.lt" (T, T) -> B total;
    TextLe "text.le" (T, T) -> B total; TextGt "text.gt" (T, T) -> B total; TextGe "text.ge" (T, T) -> B total;
    TextConcat "text.concat" (T, T) -> T; TextLength "text.length" (T) -> I total; OctetLength "text.octets" (T) -> I total;
    Substr "text.substr" (T, I) -> T; SubstrFor "text.substrfor" (T, I, I) -> T;
    Upper "text.upper" (T) -> T total; Lower "text.lower" (T) -> T total; InitCap "text.initcap" (T) -> T total;
    LPad "text.lpad" (T, I, T) -> T; RPad "text.rpad" (T, I, T) -> T; Repeat "text.repeat" (T, I) -> T;
    LTrim "text.ltrim" (T, T) -> T total; RTrim "text.rtrim" (T, T) -> T total; BTrim "text.btrim" (T, T) -> T total;
    Replace "text.replace" (T, T, T) -> T; Reverse "text.reverse" (T) -> T total;
    /// Text, then the part looked for, as `strpos`; `position(a in b)` is `text.position(b, a)`.
    Position "text.position" (T, T) -> I total;
    SplitPart "text.splitpart" (T, T, I) -> T; Left "text.left" (T, I) -> T total; Right "text.right" (T, I) -> T total;
    Translate "text.translate" (T, T, T) -> T total; Ascii "text.ascii" (T) -> I total; Chr "text.chr" (I) -> T; Md5 "text.md5" (T) -> T total;
    StartsWith "text.startswith" (T, T) -> B total;
    /// PostgreSQL's hash of a text, with a seed; the lower half of it with seed 0 is `hashtext`.
    HashText "text.hash" (T, I) -> I total; HashText4 "text.hash4" (T) -> I total;
    /// The same of other types, as PostgreSQL's hash partitions have it; and whether hashes, NULLs left out, divided by a modulus leave a remainder.
    HashInt4 "int4.hash" (X, I) -> I total; HashInt8 "int8.hash" (X, I) -> I total; HashBool "bool.hash" (B, I) -> I total; HashUuid "uuid.hash" (U, I) -> I total;
    HashPartition "hash.partition" (I, I; I) -> B nullable total;
    /// Text, replacement, start, count.
    Overlay "text.overlay" (T, T, I, I) -> T;
    /// Pattern, with its escape character (empty: none).
    Like "text.like" (T, T, T) -> B; ILike "text.ilike" (T, T, T) -> B;
    /// The same with the usual escape character.
    LikePlain "text.likeplain" (T, T) -> B; ILikePlain "text.ilikeplain" (T, T) -> B;
    /// Whether a regular expression matches: `~` and, without regard to case, `~*`.
    Regex "text.regex" (T, T) -> B; IRegex "text.iregex" (T, T) -> B;
    /// Text, pattern, replacement, options; the place to begin at, counted from 1, and which match: 0 all, negative as option g says.
    RegexReplace "regex.replace" (T, T, T, T, I, I) -> T;
    /// Text, pattern, options: what the parentheses of the first match have matched; NULL without one.
    RegexMatch "regex.match" (T, T, T) -> A; RegexPart "regex.part" (T, T) -> T;
    /// Text, pattern, options, the place to begin at, which match, and the number of parentheses, or 0. `RegexInstr` has a 1 before that
    /// where the end is asked for.
    RegexSubstr "regex.substr" (T, T, T, I, I, I) -> T; RegexInstr "regex.instr" (T, T, T, I, I, I, I) -> I;
    /// Text, form of Unicode.
    Normalize "text.normalize" (T, T) -> T; IsNormalized "text.isnormalized" (T, T) -> B;
    /// Of trigrams. `WordSimilarity` has a 1 where the part begins and ends as words do.
    Similarity "trigrams.similarity" (T, T) -> F; WordSimilarity "trigrams.word" (T, T, I) -> F; Trigrams "trigrams.all" (T) -> A;
    /// The regular expression of a pattern of SIMILAR TO and its escape character.
    Similar "text.similar" (T, T) -> T;
    /// The same of all matches, one behind the other, with option g; and how many there are.
    RegexAll "regex.all" (T, T, T) -> A; RegexAllCount "regex.allcount" (T, T, T) -> I;
    /// Text, pattern, options: what is between the matches.
    RegexSplit "regex.split" (T, T, T) -> A;
    /// Text, pattern, options, the place to begin at.
    RegexCount "regex.count" (T, T, T, I) -> I; RegexLike "regex.like" (T, T, T) -> B;
    /// A text as a JSON string, in quotes.
    JsonQuote "json.quote" (T) -> T;
    /// The same of a key, which must not be NULL; which argument it is, 0 for an aggregate's.
    JsonKey "json.key" (T, I) -> T nullable;
    /// Comparisons without regard to case.
    CitextEq "citext.eq" (E, E) -> B total; CitextNe "citext.ne" (E, E) -> B total; CitextLt "citext.lt" (E, E) -> B total;
    CitextLe "citext.le" (E, E) -> B total; CitextGt "citext.gt" (E, E) -> B total; CitextGe "citext.ge" (E, E) -> B total;
    /// jsonb out of a JSON text; comparisons.
    JsonbIn "jsonb.in" (T) -> J;
    JsonbEq "jsonb.eq" (J, J) -> B total; JsonbNe "jsonb.ne" (J, J) -> B total; JsonbLt "jsonb.lt" (J, J) -> B total;
    JsonbLe "jsonb.le" (J, J) -> B total; JsonbGt "jsonb.gt" (J, J) -> B total; JsonbGe "jsonb.ge" (J, J) -> B total;
    /// The value of a key, an element counted from 0, what a path of texts leads to, as JSON and as text; the type is that of the argument.
    JsonField "json.field" (K, T) -> K; JsonFieldText "json.fieldtext" (K, T) -> T;
    JsonElement "json.element" (K, I) -> K; JsonElementText "json.elementtext" (K, I) -> T;
    JsonPath "json.path" (K, A) -> K; JsonPathText "json.pathtext" (K, A) -> T;
    JsonTypeof "json.typeof" (K) -> T; JsonLength "json.length" (K) -> I;
    /// Elements, keys, values, as JSON or as texts; what is asked for them, for the error.
    JsonElements "json.elements" (K, T) -> A; JsonElementTexts "json.elementtexts" (K, T) -> A;
    /// The value if it is an object; the elements of an array, which must be objects. `T`: the function that asks.
    JsonRecord "json.record" (K, T) -> K; JsonRecords "json.records" (K, T) -> A;
    /// What stands at a key as texts: an array of JSON, or a text of one of SQL.
    JsonFieldTexts "json.fieldtexts" (K, T) -> A;
    /// The same, where it is an array of rows: what they are made of.
    JsonFieldRows "json.fieldrows" (K, T, T) -> A;
    JsonKeys "json.keys" (K, T) -> A; JsonValues "json.values" (K, T) -> A; JsonValueTexts "json.valuetexts" (K, T) -> A;
    /// `@>`, `?`, `?|`, `?&`.
    JsonbContains "jsonb.contains" (J, J) -> B; JsonbHas "jsonb.has" (J, T) -> B;
    JsonbHasAny "jsonb.hasany" (J, A) -> B; JsonbHasAll "jsonb.hasall" (J, A) -> B;
    JsonbConcat "jsonb.concat" (J, J) -> J; JsonbWithout "jsonb.without" (J, T) -> J; JsonbWithoutAll "jsonb.withoutall" (J, A) -> J;
    JsonbWithoutAt "jsonb.withoutat" (J, I) -> J; JsonbWithoutPath "jsonb.withoutpath" (J, A) -> J;
    /// Value, path, new value, whether what is not there is added; or whether it is put in behind.
    JsonbSet "jsonb.set" (J, A, J, B) -> J; JsonbInsert "jsonb.insert" (J, A, J, B) -> J;
    /// The same as `jsonb.set`, where the last argument says what a NULL does.
    JsonbSetLax "jsonb.setlax" (J, A, J, B, T) -> J nullable;
    /// What `value[key] = new` makes of a value; NULL becomes an array where the key was an integer (`true`), or an object.
    JsonbPut "jsonb.put" (J, T, J, B) -> J nullable;
    JsonStripNulls "json.stripnulls" (K) -> K; JsonbPretty "jsonb.pretty" (J) -> T;
    /// A value, a jsonpath, variables, whether to be silent: whether anything is found, the one truth that it says, all that is
    /// found, as one array, the first of it.
    JsonPathExists "jsonpath.exists" (J, Y, J, B) -> B; JsonPathMatch "jsonpath.match" (J, Y, J, B) -> B;
    JsonPathValues "jsonpath.values" (J, Y, J, B) -> A; JsonPathArray "jsonpath.array" (J, Y, J, B) -> J;
    JsonPathFirst "jsonpath.first" (J, Y, J, B) -> J;
    /// The same with the time zone of the session; the last argument is when the transaction began.
    JsonPathExistsTz "jsonpath.existstz" (J, Y, J, B, S) -> B; JsonPathMatchTz "jsonpath.matchtz" (J, Y, J, B, S) -> B;
    JsonPathValuesTz "jsonpath.valuestz" (J, Y, J, B, S) -> A; JsonPathArrayTz "jsonpath.arraytz" (J, Y, J, B, S) -> J;
    JsonPathFirstTz "jsonpath.firsttz" (J, Y, J, B, S) -> J;
    /// Of texts: keys and values in turn, or keys and values.
    JsonObject "json.object" (A) -> T; JsonObjectOf "json.objectof" (A, A) -> T;
    /// Of an array of JSON: each element in a line.
    JsonLines "json.lines" (K) -> K;
    /// Bytes with the unit PostgreSQL would choose.
    SizePretty "size.pretty" (N) -> T; SizeBytes "size.bytes" (T) -> I;
    /// Escapes of characters by their numbers.
    Unistr "text.unistr" (T) -> T;
    /// The parts of a name in SQL; strict: nothing may stand behind it.
    ParseIdent "text.parseident" (T, B) -> A;
    /// At most 64 bytes of a text, with dots behind what was cut: a value in the detail of an error.
    InDetail "text.indetail" (T) -> T total;
    QuoteIdent "text.quoteident" (T) -> T total; QuoteLiteral "text.quoteliteral" (T) -> T total; QuoteNullable "text.quotenullable" (T) -> T nullable total;
    /// `concat`: NULLs are left out. `concat_ws`: first argument between. `format`.
    Concat "text.concatall" (; T) -> T nullable; ConcatWs "text.concatws" (T; T) -> T nullable; Format "text.format" (T; T) -> T nullable;
    /// Char(n) as it prints, padded with blanks.
    CharPad "text.charpad" (T, I) -> T;
    /// RAISE's `%` placeholders (NULL prints `<NULL>`).
    RaiseFormat "text.raiseformat" (T; T) -> T nullable;

    // ---- what aggregates of statistics make of the array of their inputs; NULLs in it do not count ----
    /// Variance or standard deviation, by the aggregate's name.
    NumSpread "stat.numspread" (A, T) -> N; FltSpread "stat.fltspread" (A, T) -> F;
    /// Of pairs of doubles: by the aggregate's name.
    Regression "stat.regression" (A, A, T) -> F;
    BitFold "stat.bits" (A, T) -> I;
    /// Of what is sorted: the value at a share of it, or between two; the most frequent one.
    PercentileDisc "stat.disc" (A, F) -> X; PercentileCont "stat.cont" (A, F) -> F; PercentileInterval "stat.contv" (A, F) -> V;
    PercentileDiscs "stat.discs" (A, A) -> A; PercentileConts "stat.conts" (A, A) -> A;
    ModeOf "stat.mode" (A) -> X;

    // ---- bytea, uuid ----
    BytesEq "bytes.eq" (Y, Y) -> B total; BytesNe "bytes.ne" (Y, Y) -> B total; BytesLt "bytes.lt" (Y, Y) -> B total;
    BytesLe "bytes.le" (Y, Y) -> B total; BytesGt "bytes.gt" (Y, Y) -> B total; BytesGe "bytes.ge" (Y, Y) -> B total;
    BytesConcat "bytes.concat" (Y, Y) -> Y; BytesLength "bytes.length" (Y) -> I total;
    BytesSubstr "bytes.substr" (Y, I) -> Y; BytesSubstrFor "bytes.substrfor" (Y, I, I) -> Y; BytesMd5 "bytes.md5" (Y) -> T;
    SetByte "bytes.setbyte" (Y, I, I) -> Y; GetBit "bytes.getbit" (Y, I) -> I; SetBit "bytes.setbit" (Y, I, I) -> Y; BitCount "bytes.bitcount" (Y) -> I;
    /// SHA-2 of so many bits: 224, 256, 384, 512.
    BytesSha "bytes.sha" (Y, I) -> Y;
    GetByte "bytes.getbyte" (Y, I) -> I;
    /// The bytes of a text, as they are; those of the ends of bytes that are in a set are cut off.
    TextBytes "text.bytes" (T) -> Y total; BytesLTrim "bytes.ltrim" (Y, Y) -> Y total; BytesRTrim "bytes.rtrim" (Y, Y) -> Y total;
    BytesBTrim "bytes.btrim" (Y, Y) -> Y total;
    /// In an encoding that is named, and back; a digest of pgcrypto by its name.
    ConvertTo "text.convertto" (T, T) -> Y; ConvertFrom "bytes.convertfrom" (Y, T) -> T; BytesDigest "bytes.digest" (Y, T) -> Y;
    /// Data, key, hash; a password and a salt; for a salt and for random bytes two random UUIDs first.
    BytesHmac "bytes.hmac" (Y, Y, T) -> Y; Crypt "text.crypt" (T, T) -> T;
    CryptSalt "text.cryptsalt" (U, U, T, I) -> T; RandomBytes "bytes.random" (U, U, I) -> Y;
    /// Data, key, initial vector, cipher; whether the vector was given.
    BytesEncrypt "bytes.encrypt" (Y, Y, Y, T, B) -> Y; BytesDecrypt "bytes.decrypt" (Y, Y, Y, T, B) -> Y;
    Armor "bytes.armor" (Y) -> T; Dearmor "text.dearmor" (T) -> Y;
    /// Of a namespace and a name, in the version given; of a random UUID and a time.
    UuidOfName "uuid.ofname" (U, T, I) -> U; UuidOfTime "uuid.oftime" (U, S) -> U;
    Encode "bytes.encode" (Y, T) -> T; Decode "bytes.decode" (T, T) -> Y;
    UuidEq "uuid.eq" (U, U) -> B total; UuidNe "uuid.ne" (U, U) -> B total; UuidLt "uuid.lt" (U, U) -> B total;
    UuidLe "uuid.le" (U, U) -> B total; UuidGt "uuid.gt" (U, U) -> B total; UuidGe "uuid.ge" (U, U) -> B total;

    // ---- ranges (comparisons: bytes.*, the representation is ordered) ----
    /// Bounds (NULL: none), which of them belong to it (`[)` and its like), which type of range, by its place among them.
    RangeMake "range.make" (X, X, T, I) -> R nullable;
    /// NULL where there is none.
    RangeLower "range.lower" (R) -> X total; RangeUpper "range.upper" (R) -> X total;
    RangeIsEmpty "range.isempty" (R) -> B total;
    RangeLowerInc "range.lowerinc" (R) -> B total; RangeUpperInc "range.upperinc" (R) -> B total;
    RangeLowerInf "range.lowerinf" (R) -> B total; RangeUpperInf "range.upperinf" (R) -> B total;
    RangeOverlaps "range.overlaps" (R, R) -> B total; RangeContains "range.contains" (R, R) -> B total;
    RangeHas "range.has" (R, X) -> B total;
    /// `<<`, `&<`, `&>`, `-|-`.
    RangeBefore "range.before" (R, R) -> B total; RangeEndsWithin "range.endswithin" (R, R) -> B total;
    RangeBeginsWithin "range.beginswithin" (R, R) -> B total; RangeAdjacent "range.adjacent" (R, R) -> B total;
    RangeUnion "range.union" (R, R) -> R; RangeMinus "range.minus" (R, R) -> R;
    RangeIntersect "range.intersect" (R, R) -> R; RangeMerge "range.merge" (R, R) -> R;
    /// What bounds a scan for ranges that overlap it: they are no greater.
    RangeCeiling "range.ceiling" (R) -> R total;

    // ---- addresses of networks and cards (comparisons: bytes.*) ----
    /// The text of an address, by its place in the list: alone; with the mask, where it says something; with it always; in short.
    InetText "inet.text" (L, I) -> T total;
    /// What follows from an address: its broadcast address, mask, host mask, network.
    InetOf "inet.of" (L, I) -> L total;
    InetMaskLength "inet.masklen" (L) -> I total; InetFamily "inet.family" (L) -> I total;
    /// Whether it is a network whose bits behind the mask go.
    InetSetMask "inet.setmask" (L, I, I) -> L;
    InetSameFamily "inet.samefamily" (L, L) -> B total; InetMerge "inet.merge" (L, L) -> L;
    /// `<<=`, `<<`, `&&`.
    InetWithin "inet.within" (L, L) -> B total; InetStrictlyWithin "inet.strictlywithin" (L, L) -> B total;
    InetOverlaps "inet.overlaps" (L, L) -> B total;
    InetNot "inet.not" (L) -> L total; InetAnd "inet.and" (L, L) -> L; InetOr "inet.or" (L, L) -> L;
    InetAdd "inet.add" (L, I) -> L; InetSub "inet.sub" (L, I) -> L; InetDistance "inet.distance" (L, L) -> I;
    MacNot "mac.not" (H) -> H total; MacAnd "mac.and" (H, H) -> H total; MacOr "mac.or" (H, H) -> H total;
    MacTrunc "mac.trunc" (H) -> H total; MacSetBit7 "mac.setbit7" (H) -> H total;

    // ---- strings of bits (comparisons: bytes.*); places are counted from 1, but for those of one bit ----
    BitsLength "bits.length" (Z) -> I total; BitsOctets "bits.octets" (Z) -> I total; BitsCount "bits.count" (Z) -> I total;
    BitsSubstr "bits.substr" (Z, I) -> Z total; BitsSubstrFor "bits.substrfor" (Z, I, I) -> Z;
    BitsPosition "bits.position" (Z, Z) -> I total; BitsGet "bits.get" (Z, I) -> I; BitsSet "bits.set" (Z, I, I) -> Z;
    /// Bits, others, where they go, instead of how many: as many as there are, or so many.
    BitsOverlay "bits.overlay" (Z, Z, I) -> Z; BitsOverlayFor "bits.overlayfor" (Z, Z, I, I) -> Z;
    BitsAnd "bits.and" (Z, Z) -> Z; BitsOr "bits.or" (Z, Z) -> Z; BitsXor "bits.xor" (Z, Z) -> Z; BitsNot "bits.not" (Z) -> Z total;
    BitsShl "bits.shl" (Z, I) -> Z total; BitsShr "bits.shr" (Z, I) -> Z total; BitsConcat "bits.concat" (Z, Z) -> Z;
    /// What an aggregate of bits, by its name, makes of the array of its inputs.
    BitsFold "bits.fold" (A, T) -> Z;

    // ---- money (comparisons: bytes.*) ----
    MoneyAdd "money.add" (M, M) -> M; MoneySub "money.sub" (M, M) -> M;
    MoneyMul "money.mul" (M, F) -> M; MoneyDiv "money.div" (M, F) -> M;
    MoneyMulInt "money.mulint" (M, I) -> M; MoneyDivInt "money.divint" (M, I) -> M; MoneyRatio "money.ratio" (M, M) -> F;

    // ---- full-text search (comparisons: bytes.*); a configuration comes by its OID ----
    /// Configuration, text; the same of what texts are in a JSON value.
    VectorMake "vector.make" (I, T) -> P; VectorOfJson "vector.ofjson" (I, K) -> P;
    /// How the query is written, by its place: with operators, as words, as a phrase, as for a search box.
    QueryMake "query.make" (I, T, I) -> Q;
    VectorMatches "vector.matches" (P, Q) -> B;
    /// How ranks are divided; whether by covers. Before them, weights of D, C, B, A.
    VectorRank "vector.rank" (P, Q, I, I) -> F; VectorRankBy "vector.rankby" (A, P, Q, I, I) -> F;
    /// Configuration, text, query, options.
    Headline "search.headline" (I, T, Q, T) -> T;
    VectorLength "vector.length" (P) -> I; VectorStrip "vector.strip" (P) -> P;
    VectorSetWeight "vector.setweight" (P, T) -> P; VectorSetWeightOf "vector.setweightof" (P, T, A) -> P;
    VectorConcat "vector.concat" (P, P) -> P; VectorDelete "vector.delete" (P, T) -> P; VectorDeleteAll "vector.deleteall" (P, A) -> P;
    VectorFilter "vector.filter" (P, A) -> P; VectorOfArray "vector.ofarray" (A) -> P; VectorLexemes "vector.lexemes" (P) -> A;
    /// Of a lexeme; NULL where it has none.
    VectorPositions "vector.positions" (P, T) -> A; VectorWeights "vector.weights" (P, T) -> A;
    QueryAnd "query.and" (Q, Q) -> Q; QueryOr "query.or" (Q, Q) -> Q; QueryNot "query.not" (Q) -> Q;
    /// How far apart they are.
    QueryPhrase "query.phrase" (Q, Q, I) -> Q;
    QueryNodes "query.nodes" (Q) -> I; QueryTree "query.tree" (Q) -> T; QueryContains "query.contains" (Q, Q) -> B;

    // ---- dates and times (comparisons: int.*, the representation is ordered) ----
    DateAddInt "date.addint" (D, I) -> D; DateSubInt "date.subint" (D, I) -> D; DateSub "date.sub" (D, D) -> I;
    /// Among timestamps: one behind the last of them is after all of them.
    DateToTimestamp "date.totimestamp" (D) -> S total; TimestampToDate "timestamp.todate" (S) -> D;
    TimestampAddInterval "timestamp.addinterval" (S, V) -> S; TimestampSubInterval "timestamp.subinterval" (S, V) -> S;
    TimestampSub "timestamp.sub" (S, S) -> V; TimestampAge "timestamp.age" (S, S) -> V; DateBin "timestamp.bin" (V, S, S) -> S;
    /// The hours and less of an interval count; after midnight comes 0:00.
    TimeAddInterval "time.addinterval" (C, V) -> C total; TimeSubInterval "time.subinterval" (C, V) -> C total;
    TimeSub "time.sub" (C, C) -> V total; DateAddTime "date.addtime" (D, C) -> S; MakeTime "time.make" (I, I, F) -> C;
    /// Whether two periods have a moment in common: begin and end of each, in either order. An end that is NULL is unknown.
    Overlaps "timestamp.overlaps" (X, X, X, X) -> B nullable total;
    IntervalEq "interval.eq" (V, V) -> B total; IntervalNe "interval.ne" (V, V) -> B total; IntervalLt "interval.lt" (V, V) -> B total;
    IntervalLe "interval.le" (V, V) -> B total; IntervalGt "interval.gt" (V, V) -> B total; IntervalGe "interval.ge" (V, V) -> B total;
    JustifyHours "interval.justifyhours" (V) -> V; JustifyDays "interval.justifydays" (V) -> V; JustifyInterval "interval.justify" (V) -> V;
    /// Years, months, weeks, days, hours, minutes, seconds.
    MakeInterval "interval.make" (I, I, I, I, I, I, F) -> V; IntervalTrunc "interval.trunc" (T, V) -> V;
    IntervalAdd "interval.add" (V, V) -> V; IntervalSub "interval.sub" (V, V) -> V;
    IntervalNeg "interval.neg" (V) -> V; IntervalMul "interval.mul" (V, F) -> V;
    IntervalDiv "interval.div" (V, F) -> V;
    /// The same as `timestamp.extract`, but that a timestamp has no time zone (0A000).
    ExtractUnzoned "timestamp.extractunzoned" (T, S) -> N;
    /// The same as `date.extract`, but that no date has a time of day or a time zone, not even infinity (0A000).
    ExtractUntimed "date.extractuntimed" (T, D) -> N;
    /// Field name, value.
    ExtractTimestamp "timestamp.extract" (T, S) -> N; ExtractDate "date.extract" (T, D) -> N; ExtractInterval "interval.extract" (T, V) -> N;
    ExtractTime "time.extract" (T, C) -> N;
    /// Times with a zone.
    ExtractTimeTz "timetz.extract" (T, W) -> N; TimeTzAddInterval "timetz.addinterval" (W, V) -> W; TimeTzSubInterval "timetz.subinterval" (W, V) -> W;
    DateAddTimeTz "date.addtimetz" (D, W) -> S;
    /// What a clock so far from UTC, or that of a named zone now, shows at the same moment.
    TimeTzShift "timetz.shift" (V, W) -> W; TimeTzInZone "timetz.inzone" (T, W) -> W;
    DateTrunc "timestamp.trunc" (T, S) -> S;
    /// Value, template.
    ToCharTimestamp "timestamp.tochar" (S, T) -> T; ToCharNumeric "num.tochar" (N, T) -> T;
    ToCharInterval "interval.tochar" (V, T) -> T; ToCharFloat "flt.tochar" (F, T) -> T; ToCharReal "real.tochar" (F, T) -> T;
    /// The same with how many bits it has.
    ToCharInt "int.tochar" (I, T, I) -> T;
    /// Text, template.
    ToDate "date.read" (T, T) -> D; ToNumber "num.read" (T, T) -> N;
 /// By the clocks of the session's time zone ([`Func::reads_zone`]).
    ExtractTz "timestamptz.extract" (T, S) -> N; TruncTz "timestamptz.trunc" (T, S) -> S; ToCharTz "timestamptz.tochar" (S, T) -> T;
    ToTimestamp "timestamptz.read" (T, T) -> S;
    TzAddInterval "timestamptz.addinterval" (S, V) -> S; TzSubInterval "timestamptz.subinterval" (S, V) -> S; TzAge "timestamptz.age" (S, S) -> V;
    /// The same of a zone that is named: AT TIME ZONE.
    ZoneLocal "zone.local" (T, S) -> S; ZoneTz "zone.oflocal" (T, S) -> S; ZoneTrunc "zone.trunc" (T, S, T) -> S;
    MakeDate "date.make" (I, I, I) -> D; MakeTimestamp "timestamp.make" (I, I, I, I, I, F) -> S; ToTimestampFloat "timestamp.fromepoch" (F) -> S;

    // ---- arrays ----
    ArrayMake "array.make" (; X) -> A nullable;
    /// A row; NULL where all its fields are.
    RowMake "row.make" (; X) -> A nullable;
    /// NULL outside, and where the array has more dimensions than there are subscripts.
    ArrayGet "array.get" (A, I) -> X total; ArrayAt "array.at" (A; I) -> X total;
    /// Of each bound, two for a subscript, `1` where it is given and `0` where not; those that are.
    ArraySlice "array.slice" (A, T; I) -> A;
    /// Of arrays that are alike: as ARRAY makes it, and as `array_agg` does of those in an array.
    ArrayNest "array.nest" (; A) -> A nullable; ArrayStack "array.stack" (A) -> A;
    /// The element of that number in their order, whatever the dimensions; those of so many inner dimensions, as arrays.
    ArrayNth "array.nth" (A, I) -> X total; ArrayParts "array.parts" (A, I) -> A;
    ArrayDims "array.dims" (A) -> T; ArrayNdims "array.ndims" (A) -> I total;
    /// Value, lengths of the dimensions, their lower bounds.
    ArrayFill "array.fill" (X, A) -> A nullable; ArrayFillFrom "array.fillfrom" (X, A, A) -> A nullable;
    /// Without so many at the end; how many thresholds, which rise, are no greater than a value.
    ArrayTrim "array.trim" (A, I) -> A; ArrayBucket "array.bucket" (X, A) -> I;
    ArrayLength "array.length" (A, I) -> I total; Cardinality "array.cardinality" (A) -> I total;
    ArrayLower "array.lower" (A, I) -> I total; ArrayUpper "array.upper" (A, I) -> I total;
    ArrayAppend "array.append" (A, X) -> A nullable; ArrayPrepend "array.prepend" (X, A) -> A nullable; ArrayConcat "array.concat" (A, A) -> A nullable;
    /// `value = ANY(array)`: three-valued, in the value and the elements; in an empty array there is nothing, not even NULL.
    ArrayContainsElement "array.any" (X, A) -> B nullable; ArrayPosition "array.position" (A, X) -> I nullable;
    ArrayPositionFrom "array.positionfrom" (A, X, I) -> I nullable;
    ArrayRemove "array.remove" (A, X) -> A nullable; ArrayPositions "array.positions" (A, X) -> A nullable;
    /// Array, value, a subscript for each dimension; array, what is put there, the bounds as [`Func::ArraySlice`] has them.
    ArrayPutAt "array.putat" (A, X; I) -> A nullable; ArrayPutSlice "array.putslice" (A, A, T; I) -> A nullable;
    /// Array, what, by what.
    ArrayPut "array.put" (A, I, X) -> A nullable; ArrayReplace "array.replace" (A, X, X) -> A nullable; ArrayEq "array.eq" (A, A) -> B total; ArrayNe "array.ne" (A, A) -> B total;
    /// Of texts: other elements are cast before.
    ArrayToString "array.tostring" (A, T) -> T; ArrayToStringOr "array.tostringor" (A, T, T) -> T nullable; StringToArray "array.fromstring" (T, T) -> A nullable;
    ArrayContains "array.contains" (A, A) -> B total; ArrayOverlaps "array.overlaps" (A, A) -> B total;
    /// -1, 0, 1: by their elements in order.
    ArrayCompare "array.compare" (A, A) -> I total;

    /// As the bytes that a column of arrays holds, and back.
    ArrayStore "array.store" (A) -> Y; ArrayLoad "array.load" (Y) -> A;

    // ---- over any class ----
    /// NULLs are left out; NULL when all are.
    Greatest "greatest" (; X) -> X nullable total; Least "least" (; X) -> X nullable total;
    /// Aggregates' min and max: NULL gives the other.
    Min "min" (X, X) -> X nullable total; Max "max" (X, X) -> X nullable total;
    /// -1, 0, 1 as ORDER BY has it, NULL last.
    Compare "compare" (X, X) -> I nullable total;
    /// A 64-bit hash, stable across versions and machines.
    Hash "hash" (X) -> I nullable total;
    /// Name of the type, as `pg_typeof` prints it, is a constant; this is the length in bytes.
    PgColumnSize "columnsize" (X) -> I total;
    /// What program this is, of which release.
    Version "version" () -> T;
}

impl Func {
    /// Whether it looks at the session's time zone: it is no constant when a program is compiled.
    pub const fn reads_zone(self) -> bool {
        use Func::*;
        matches!(
            self,
            ExtractTz
                | TruncTz
                | ToCharTz
                | ToTimestamp
                | TzAddInterval
                | TzSubInterval
                | TzAge
                | JsonPathExistsTz
                | JsonPathMatchTz
                | JsonPathValuesTz
                | JsonPathArrayTz
                | JsonPathFirstTz
        )
    }
}

impl std::fmt::Display for Func {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
