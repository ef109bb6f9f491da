//! Built-in functions: SQL name -> candidates.
//!
//! Those whose types depend on their arguments' (arrays, `concat`, sequences, ...) are bound by
//! [`Lowerer::bind_special`]; the others are lines of [`TABLE`].

use super::Lowerer;
use super::bind_expr::arrayed;
use super::bound::{Bound, BoundKind};
use super::operators::base_name;
use super::resolve::{Choice, choose};
use super::sequence_names::is_computed;
use super::types::{CastContext, unmodified};
use planaria_base::types::{PackedType, RangeType};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::{Draw, Func};

/// A constant argument that SQL leaves out.
pub(super) enum Extra {
    Int(i64),
    Text(&'static str),
}

/// How a call becomes an expression.
pub(super) enum Make {
    Func(Func),
    /// With further arguments at the end.
    With(Func, &'static [Extra]),
    /// The first argument's function, then a conversion to the result's type.
    Then(Func),
    Draw(Draw),
    /// The argument itself, converted.
    Same,
}

pub(super) struct Line {
    pub(super) name: &'static str,
    args: &'static [Type],
    result: Type,
    make: Make,
}

pub(super) const fn line(name: &'static str, args: &'static [Type], result: Type, make: Make) -> Line {
    Line { name, args, result, make }
}

use Make::{Same, Then, With};
use Type::{
    Bool, Bytea, Date, Float4, Float8, Int2, Int4, Int8, Interval, Text, Time, Timestamp, TimestampTz, Uuid,
};
const NUM: Type = Type::Numeric(None);
const ZERO: &[Extra] = &[Extra::Int(0)];
const BLANK: &[Extra] = &[Extra::Text(" ")];
const NO_OPTIONS: &[Extra] = &[Extra::Text("")];
/// From the beginning on, the first match or, with option g, all.
const FIRST: &[Extra] = &[Extra::Int(1), Extra::Int(-1)];
const FIRST_WITHOUT_OPTIONS: &[Extra] = &[Extra::Text(""), Extra::Int(1), Extra::Int(-1)];
use planaria_catalog::{Object, Privileges};

use Make::Func as F;

static TABLE: &[Line] = &[
    // ---- text ----
    line("length", &[Text], Int4, F(Func::TextLength)),
    line("length", &[Bytea], Int4, F(Func::BytesLength)),
    line("char_length", &[Text], Int4, F(Func::TextLength)),
    line("character_length", &[Text], Int4, F(Func::TextLength)),
    line("octet_length", &[Text], Int4, F(Func::OctetLength)),
    line("octet_length", &[Bytea], Int4, F(Func::BytesLength)),
    line("substr", &[Text, Int4], Text, F(Func::Substr)),
    line("substr", &[Text, Int4, Int4], Text, F(Func::SubstrFor)),
    line("substring", &[Text, Int4], Text, F(Func::Substr)),
    line("substring", &[Text, Int4, Int4], Text, F(Func::SubstrFor)),
    line("upper", &[Text], Text, F(Func::Upper)),
    line("lower", &[Text], Text, F(Func::Lower)),
    line("initcap", &[Text], Text, F(Func::InitCap)),
    line("lpad", &[Text, Int4, Text], Text, F(Func::LPad)),
    line("lpad", &[Text, Int4], Text, With(Func::LPad, BLANK)),
    line("rpad", &[Text, Int4, Text], Text, F(Func::RPad)),
    line("rpad", &[Text, Int4], Text, With(Func::RPad, BLANK)),
    line("repeat", &[Text, Int4], Text, F(Func::Repeat)),
    line("ltrim", &[Text], Text, With(Func::LTrim, BLANK)),
    line("ltrim", &[Text, Text], Text, F(Func::LTrim)),
    line("rtrim", &[Text], Text, With(Func::RTrim, BLANK)),
    line("rtrim", &[Text, Text], Text, F(Func::RTrim)),
    line("btrim", &[Text], Text, With(Func::BTrim, BLANK)),
    line("btrim", &[Text, Text], Text, F(Func::BTrim)),
    line("ltrim", &[Bytea, Bytea], Bytea, F(Func::BytesLTrim)),
    line("rtrim", &[Bytea, Bytea], Bytea, F(Func::BytesRTrim)),
    line("btrim", &[Bytea, Bytea], Bytea, F(Func::BytesBTrim)),
    line("unistr", &[Text], Text, F(Func::Unistr)),
    line("pg_size_bytes", &[Text], Int8, F(Func::SizeBytes)),
    line("replace", &[Text, Text, Text], Text, F(Func::Replace)),
    line("reverse", &[Text], Text, F(Func::Reverse)),
    line("strpos", &[Text, Text], Int4, F(Func::Position)),
    line("position", &[Text, Text], Int4, F(Func::Position)),
    line("split_part", &[Text, Text, Int4], Text, F(Func::SplitPart)),
    line("left", &[Text, Int4], Text, F(Func::Left)),
    line("right", &[Text, Int4], Text, F(Func::Right)),
    line("translate", &[Text, Text, Text], Text, F(Func::Translate)),
    line("ascii", &[Text], Int4, F(Func::Ascii)),
    line("chr", &[Int4], Text, F(Func::Chr)),
    line("to_hex", &[Int4], Text, F(Func::Int4ToHex)),
    line("to_hex", &[Int8], Text, F(Func::Int8ToHex)),
    line("md5", &[Text], Text, F(Func::Md5)),
    line("md5", &[Bytea], Text, F(Func::BytesMd5)),
    line("similar_to_escape", &[Text], Text, With(Func::Similar, &[Extra::Text("\\")])),
    line("similar_to_escape", &[Text, Text], Text, F(Func::Similar)),
    line("normalize", &[Text], Text, With(Func::Normalize, &[Extra::Text("NFC")])),
    line("normalize", &[Text, Text], Text, F(Func::Normalize)),
    line("is_normalized", &[Text], Bool, With(Func::IsNormalized, &[Extra::Text("NFC")])),
    line("is_normalized", &[Text, Text], Bool, F(Func::IsNormalized)),
    line("overlay", &[Text, Text, Int4, Int4], Text, F(Func::Overlay)),
    line("starts_with", &[Text, Text], Bool, F(Func::StartsWith)),
    line("convert_to", &[Text, Text], Bytea, F(Func::ConvertTo)),
    line("convert_from", &[Bytea, Text], Text, F(Func::ConvertFrom)),
    line("digest", &[Bytea, Text], Bytea, F(Func::BytesDigest)),
    line("hashtext", &[Text], Int4, F(Func::HashText4)),
    line("hashtextextended", &[Text, Int8], Int8, F(Func::HashText)),
    line("quote_ident", &[Text], Text, F(Func::QuoteIdent)),
    line("encode", &[Bytea, Text], Text, F(Func::Encode)),
    line("decode", &[Text, Text], Bytea, F(Func::Decode)),
    line("regexp_replace", &[Text, Text, Text], Text, With(Func::RegexReplace, FIRST_WITHOUT_OPTIONS)),
    line("regexp_replace", &[Text, Text, Text, Text], Text, With(Func::RegexReplace, FIRST)),
    line("regexp_like", &[Text, Text], Bool, With(Func::RegexLike, NO_OPTIONS)),
    line("regexp_like", &[Text, Text, Text], Bool, F(Func::RegexLike)),
    line("regexp_count", &[Text, Text], Int4, With(Func::RegexCount, &[Extra::Text(""), Extra::Int(1)])),
    line("substring", &[Text, Text], Text, F(Func::RegexPart)),
    line("string_to_array", &[Text, Text], Text, F(Func::StringToArray)),
    // ---- numbers ----
    line("abs", &[Int2], Int2, F(Func::Int2Abs)),
    line("abs", &[Int4], Int4, F(Func::Int4Abs)),
    line("abs", &[Int8], Int8, F(Func::Int8Abs)),
    line("abs", &[NUM], NUM, F(Func::NumAbs)),
    line("abs", &[Float4], Float4, F(Func::FltAbs)),
    line("abs", &[Float8], Float8, F(Func::FltAbs)),
    line("sign", &[NUM], NUM, F(Func::NumSign)),
    line("sign", &[Float8], Float8, F(Func::FltSign)),
    line("ceil", &[NUM], NUM, F(Func::NumCeil)),
    line("ceil", &[Float8], Float8, F(Func::FltCeil)),
    line("ceiling", &[NUM], NUM, F(Func::NumCeil)),
    line("ceiling", &[Float8], Float8, F(Func::FltCeil)),
    line("floor", &[NUM], NUM, F(Func::NumFloor)),
    line("floor", &[Float8], Float8, F(Func::FltFloor)),
    line("round", &[NUM, Int4], NUM, F(Func::NumRound)),
    line("round", &[NUM], NUM, With(Func::NumRound, ZERO)),
    line("round", &[Float8], Float8, F(Func::FltRound)),
    line("trunc", &[NUM, Int4], NUM, F(Func::NumTrunc)),
    line("trunc", &[NUM], NUM, With(Func::NumTrunc, ZERO)),
    line("trunc", &[Float8], Float8, F(Func::FltTrunc)),
    line("sqrt", &[NUM], NUM, F(Func::NumSqrt)),
    line("sqrt", &[Float8], Float8, F(Func::FltSqrt)),
    line("power", &[NUM, NUM], NUM, F(Func::NumPower)),
    line("power", &[Float8, Float8], Float8, F(Func::FltPower)),
    line("pow", &[NUM, NUM], NUM, F(Func::NumPower)),
    line("pow", &[Float8, Float8], Float8, F(Func::FltPower)),
    line("exp", &[NUM], NUM, F(Func::NumExp)),
    line("exp", &[Float8], Float8, F(Func::FltExp)),
    line("ln", &[NUM], NUM, F(Func::NumLn)),
    line("ln", &[Float8], Float8, F(Func::FltLn)),
    line("log", &[NUM], NUM, F(Func::NumLog10)),
    line("log", &[Float8], Float8, F(Func::FltLog10)),
    line("log", &[NUM, NUM], NUM, F(Func::NumLog)),
    line("log10", &[NUM], NUM, F(Func::NumLog10)),
    line("log10", &[Float8], Float8, F(Func::FltLog10)),
    line("mod", &[Int2, Int2], Int2, F(Func::IntMod)),
    line("mod", &[Int4, Int4], Int4, F(Func::IntMod)),
    line("mod", &[Int8, Int8], Int8, F(Func::IntMod)),
    line("mod", &[NUM, NUM], NUM, F(Func::NumMod)),
    line("gcd", &[Int4, Int4], Int4, F(Func::Int4Gcd)),
    line("gcd", &[Int8, Int8], Int8, F(Func::Int8Gcd)),
    line("gcd", &[NUM, NUM], NUM, F(Func::NumGcd)),
    line("lcm", &[Int4, Int4], Int4, F(Func::Int4Lcm)),
    line("lcm", &[Int8, Int8], Int8, F(Func::Int8Lcm)),
    line("lcm", &[NUM, NUM], NUM, F(Func::NumLcm)),
    line("scale", &[NUM], Int4, F(Func::NumScale)),
    line("cbrt", &[Float8], Float8, F(Func::FltCbrt)),
    line("sin", &[Float8], Float8, F(Func::FltSin)),
    line("cos", &[Float8], Float8, F(Func::FltCos)),
    line("tan", &[Float8], Float8, F(Func::FltTan)),
    line("cot", &[Float8], Float8, F(Func::FltCot)),
    line("asin", &[Float8], Float8, F(Func::FltAsin)),
    line("acos", &[Float8], Float8, F(Func::FltAcos)),
    line("atan", &[Float8], Float8, F(Func::FltAtan)),
    line("sinh", &[Float8], Float8, F(Func::FltSinh)),
    line("cosh", &[Float8], Float8, F(Func::FltCosh)),
    line("tanh", &[Float8], Float8, F(Func::FltTanh)),
    line("asinh", &[Float8], Float8, F(Func::FltAsinh)),
    line("acosh", &[Float8], Float8, F(Func::FltAcosh)),
    line("atanh", &[Float8], Float8, F(Func::FltAtanh)),
    line("sind", &[Float8], Float8, F(Func::FltSind)),
    line("cosd", &[Float8], Float8, F(Func::FltCosd)),
    line("tand", &[Float8], Float8, F(Func::FltTand)),
    line("cotd", &[Float8], Float8, F(Func::FltCotd)),
    line("asind", &[Float8], Float8, F(Func::FltAsind)),
    line("acosd", &[Float8], Float8, F(Func::FltAcosd)),
    line("atand", &[Float8], Float8, F(Func::FltAtand)),
    line("degrees", &[Float8], Float8, F(Func::FltDegrees)),
    line("radians", &[Float8], Float8, F(Func::FltRadians)),
    line("atan2", &[Float8, Float8], Float8, F(Func::FltAtan2)),
    line("atan2d", &[Float8, Float8], Float8, F(Func::FltAtan2d)),
    line("width_bucket", &[NUM, NUM, NUM, Int4], Int4, F(Func::NumWidthBucket)),
    line("width_bucket", &[Float8, Float8, Float8, Int4], Int4, F(Func::FltWidthBucket)),
    line("factorial", &[Int8], NUM, F(Func::NumFactorial)),
    line("min_scale", &[NUM], Int4, F(Func::NumMinScale)),
    line("trim_scale", &[NUM], NUM, F(Func::NumTrimScale)),
    line("random", &[], Float8, Make::Draw(Draw::Random)),
    line("to_char", &[NUM, Text], Text, F(Func::ToCharNumeric)),
    line("to_char", &[Int4, Text], Text, With(Func::ToCharInt, &[Extra::Int(32)])),
    line("to_char", &[Int8, Text], Text, With(Func::ToCharInt, &[Extra::Int(64)])),
    line("to_char", &[Float4, Text], Text, F(Func::ToCharReal)),
    line("to_char", &[Float8, Text], Text, F(Func::ToCharFloat)),
    line("to_number", &[Text, Text], NUM, F(Func::ToNumber)),
    // ---- dates and times ----
    line("to_char", &[Timestamp, Text], Text, F(Func::ToCharTimestamp)),
    line("to_char", &[TimestampTz, Text], Text, F(Func::ToCharTz)),
    line("to_char", &[Interval, Text], Text, F(Func::ToCharInterval)),
    line("to_date", &[Text, Text], Date, F(Func::ToDate)),
    line("to_timestamp", &[Text, Text], TimestampTz, F(Func::ToTimestamp)),
    line("now", &[], TimestampTz, Make::Draw(Draw::TransactionTimestamp)),
    line("transaction_timestamp", &[], TimestampTz, Make::Draw(Draw::TransactionTimestamp)),
    line("statement_timestamp", &[], TimestampTz, Make::Draw(Draw::StatementTimestamp)),
    line("clock_timestamp", &[], TimestampTz, Make::Draw(Draw::ClockTimestamp)),
    line("date_trunc", &[Text, Timestamp], Timestamp, F(Func::DateTrunc)),
    line("date_trunc", &[Text, TimestampTz], TimestampTz, F(Func::TruncTz)),
    line("date_trunc", &[Text, TimestampTz, Text], TimestampTz, F(Func::ZoneTrunc)),
    line("timezone", &[Text, Timestamp], TimestampTz, F(Func::ZoneTz)),
    line("timezone", &[Text, TimestampTz], Timestamp, F(Func::ZoneLocal)),
    line("date_trunc", &[Text, Interval], Interval, F(Func::IntervalTrunc)),
    line("date_bin", &[Interval, Timestamp, Timestamp], Timestamp, F(Func::DateBin)),
    line("date_bin", &[Interval, TimestampTz, TimestampTz], TimestampTz, F(Func::DateBin)),
    line("age", &[Timestamp, Timestamp], Interval, F(Func::TimestampAge)),
    line("age", &[TimestampTz, TimestampTz], Interval, F(Func::TzAge)),
    line("make_interval", &[Int4, Int4, Int4, Int4, Int4, Int4, Float8], Interval, F(Func::MakeInterval)),
    line("justify_hours", &[Interval], Interval, F(Func::JustifyHours)),
    line("justify_days", &[Interval], Interval, F(Func::JustifyDays)),
    line("justify_interval", &[Interval], Interval, F(Func::JustifyInterval)),
    line("extract", &[Text, Date], NUM, F(Func::ExtractDate)),
    line("extract", &[Text, Timestamp], NUM, F(Func::ExtractTimestamp)),
    line("extract", &[Text, TimestampTz], NUM, F(Func::ExtractTz)),
    line("extract", &[Text, Interval], NUM, F(Func::ExtractInterval)),
    line("extract", &[Text, Time], NUM, F(Func::ExtractTime)),
    line("date_part", &[Text, Date], Float8, Then(Func::ExtractDate)),
    line("date_part", &[Text, Timestamp], Float8, Then(Func::ExtractTimestamp)),
    line("date_part", &[Text, TimestampTz], Float8, Then(Func::ExtractTz)),
    line("date_part", &[Text, Interval], Float8, Then(Func::ExtractInterval)),
    line("date_part", &[Text, Time], Float8, Then(Func::ExtractTime)),
    line("make_time", &[Int4, Int4, Float8], Time, F(Func::MakeTime)),
    line("make_timestamp", &[Int4, Int4, Int4, Int4, Int4, Float8], Timestamp, F(Func::MakeTimestamp)),
    line("make_date", &[Int4, Int4, Int4], Date, F(Func::MakeDate)),
    line("to_timestamp", &[Float8], TimestampTz, F(Func::ToTimestampFloat)),
    // ---- uuid, system ----
    line("gen_random_uuid", &[], Uuid, Make::Draw(Draw::Uuid)),
    line("txid_current", &[], Int8, Make::Draw(Draw::TransactionId)),
    line("uuid_generate_v4", &[], Uuid, Make::Draw(Draw::Uuid)),
    line("substring", &[Bytea, Int4], Bytea, F(Func::BytesSubstr)),
    line("substring", &[Bytea, Int4, Int4], Bytea, F(Func::BytesSubstrFor)),
    line("substr", &[Bytea, Int4], Bytea, F(Func::BytesSubstr)),
    line("substr", &[Bytea, Int4, Int4], Bytea, F(Func::BytesSubstrFor)),
    line("get_byte", &[Bytea, Int4], Int4, F(Func::GetByte)),
    line("set_byte", &[Bytea, Int4, Int4], Bytea, F(Func::SetByte)),
    line("get_bit", &[Bytea, Int8], Int4, F(Func::GetBit)),
    line("set_bit", &[Bytea, Int8, Int4], Bytea, F(Func::SetBit)),
    line("bit_count", &[Bytea], Int8, F(Func::BitCount)),
    line("sha224", &[Bytea], Bytea, With(Func::BytesSha, &[Extra::Int(224)])),
    line("sha256", &[Bytea], Bytea, With(Func::BytesSha, &[Extra::Int(256)])),
    line("sha384", &[Bytea], Bytea, With(Func::BytesSha, &[Extra::Int(384)])),
    line("sha512", &[Bytea], Bytea, With(Func::BytesSha, &[Extra::Int(512)])),
    line("version", &[], Text, F(Func::Version)),
    line("current_database", &[], Text, Make::Draw(Draw::CurrentDatabase)),
    // ---- conversions by a type's name ----
    line("text", &[Text], Text, Same),
    line("date", &[Timestamp], Date, Same),
    line("date", &[TimestampTz], Date, Same),
];

/// Function-call spellings of casts: `int4(x)`.
fn type_function(name: &str) -> Option<Type> {
    Some(match name {
        "int2" => Type::Int2,
        "int4" => Type::Int4,
        "int8" => Type::Int8,
        "float4" => Type::Float4,
        "float8" => Type::Float8,
        "numeric" => NUM,
        "text" => Type::Text,
        "varchar" => Type::Varchar(None),
        "bool" => Type::Bool,
        "date" => Type::Date,
        "time" => Type::Time,
        "timestamp" => Type::Timestamp,
        "timestamptz" => Type::TimestampTz,
        "uuid" => Type::Uuid,
        "citext" => Type::Citext,
        name => match RangeType::by_name(name) {
            Some(of) => Type::Range(of),
            None => Type::Packed(PackedType::by_name(name)?),
        },
    })
}

/// 42883 as PostgreSQL words it; 0A000 for a function that it has.
pub(super) fn no_function(name: &str, args: &[Type], position: u32) -> Error {
    if let Some(error) = super::crypto::refused(name) {
        return error.at(position);
    }
    if let Some(error) = super::known::function(name, args) {
        return error.at(position);
    }
    let types: Vec<String> = args.iter().map(base_name).collect();
    missing_function(&format!("{name}({})", types.join(", ")), position)
}

/// Whether it is a time with a zone.
fn is_timetz(e: &Bound) -> bool {
    matches!(e.ty, Type::Packed(PackedType::TimeTz(_)))
}

/// 42883 for a call as it is shown.
pub(super) fn missing_function(call: &str, position: u32) -> Error {
    let message = format!("function {call} does not exist");
    Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position).with_hint(
        "No function matches the given name and argument types. You might need to add explicit type casts.",
    )
}

impl Lowerer<'_> {
    /// A call of a built-in function; `None` where no built-in function fits.
    pub(super) fn bind_builtin(
        &mut self,
        name: &str,
        args: &[Bound],
        variadic: bool,
        position: u32,
    ) -> Result<Option<Bound>> {
        if let Some(bound) = self.citext_function(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.crypto_function(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.bind_special(name, args, variadic, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.record_function(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.range_function(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.search_function(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.trigram_function(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.enum_function(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.bind_statistics(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.bind_json_path(name, args, position)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.bind_json(name, args, position)? {
            return Ok(Some(bound));
        }
        // As of those that are written: former versions had no such functions.
        let own =
            super::written::LATER.contains(&name) && self.catalog.procedures_named(name).next().is_some();
        if !own && let Some(bound) = self.bind_question(name, args, position)? {
            return Ok(Some(bound));
        }
        let lines: Vec<&Line> = TABLE
            .iter()
            .chain(super::packed::TABLE)
            .chain(super::search::TABLE)
            .chain(super::trigram::TABLE)
            .filter(|l| l.name == name && l.args.len() == args.len())
            .collect();
        let types: Vec<Type> = args.iter().map(|a| unmodified(&a.ty)).collect();
        let candidates: Vec<Vec<Type>> = lines.iter().map(|l| l.args.to_vec()).collect();
        let chosen = match choose(&candidates, &types) {
            Choice::One(i) => lines[i],
            Choice::None => {
                // There is no cast to a range, or to an address, from whatever one likes.
                let castable = |arg: &Bound, ty: &Type| match ty {
                    Type::Range(_) | Type::Packed(_) => {
                        super::types::cast_allowed(&arg.ty, ty, CastContext::Explicit)
                    }
                    _ => true,
                };
                if let ([arg], Some(ty)) = (args, type_function(name))
                    && castable(arg, &ty)
                    && (ty != Type::Citext || self.catalog.extension("citext").is_some())
                {
                    return self.coerce(arg.clone(), &ty, CastContext::Explicit).map(Some);
                }
                return Ok(None);
            }
            Choice::Ambiguous => return Err(ambiguous(name, &types, position)),
        };
        let mut bound = Vec::with_capacity(args.len());
        for (arg, ty) in args.iter().zip(chosen.args) {
            bound.push(self.operand(arg.clone(), ty)?);
        }
        let result = chosen.result.clone();
        // Routines and what is kept have 0 for the time zone of what has none, and NULL for the hour of a date that is infinite,
        // as logs have calls of them.
        let passing = self.program.kind == planaria_ir::ProgramKind::Statement && !self.kept_text;
        let of_zone = passing
            && matches!(bound.first().and_then(Bound::as_const), Some(Datum::Text(t)) if t.starts_with("timezone"));
        let unzoned = |func: Func| match func {
            Func::ExtractTimestamp if of_zone => Func::ExtractUnzoned,
            Func::ExtractDate if passing => Func::ExtractUntimed,
            other => other,
        };
        Ok(Some(match &chosen.make {
            Make::Func(Func::StringToArray) => {
                Bound::apply(Func::StringToArray, bound, Type::Array(Box::new(Text)), position)
            }
            Make::Func(func) => Bound::apply(unzoned(*func), bound, result, position),
            With(func, extra) => {
                bound.extend(extra.iter().map(|e| match e {
                    Extra::Int(n) => Bound::constant(Datum::Int(*n), Int4, position),
                    Extra::Text(t) => Bound::constant(Datum::Text((*t).to_owned()), Text, position),
                }));
                Bound::apply(*func, bound, result, position)
            }
            Then(func) => {
                let inner = Bound::apply(unzoned(*func), bound, func_type(*func), position);
                self.coerce(inner, &result, CastContext::Explicit)?
            }
            Make::Draw(Draw::CurrentDatabase) => self.database_name(position),
            Make::Draw(draw) => Bound::new(BoundKind::Draw(*draw), result, position),
            Same => {
                let arg = bound.pop().expect("conversions have one argument");
                self.coerce(arg, &result, CastContext::Explicit)?
            }
        }))
    }

    /// Functions whose types follow their arguments'.
    fn bind_special(
        &mut self,
        name: &str,
        args: &[Bound],
        variadic: bool,
        position: u32,
    ) -> Result<Option<Bound>> {
        let int = |n: i64| Bound::constant(Datum::Int(n), Type::Int4, position);
        let apply = |func, args, ty| Ok(Some(Bound::apply(func, args, ty, position)));
        let element = |b: &Bound| b.ty.element();
        // A vector's subscripts begin at 0.
        if let ("array_upper" | "array_lower", [a, n]) = (name, args)
            && matches!(a.ty, Type::System(_))
            && element(a).is_some()
        {
            let array = arrayed(a.clone());
            let bound = self.bind_special(name, &[array, n.clone()], variadic, position)?;
            let one = int(1);
            return match bound {
                Some(bound) => {
                    self.binary(planaria_syntax::ast::BinaryOp::Sub, bound, one, position).map(Some)
                }
                None => Ok(None),
            };
        }
        let owned: Vec<Bound>;
        let args = if args.iter().any(|a| matches!(a.ty, Type::System(_)) && element(a).is_some()) {
            owned = args.iter().cloned().map(arrayed).collect();
            &owned[..]
        } else {
            args
        };
        if variadic && !matches!(name, "concat" | "concat_ws" | "format") {
            return Ok(None);
        }
        if let Some(bound) = self.bind_array_function(name, args, position)? {
            return Ok(Some(bound));
        }
        match (name, args) {
            ("concat", [list]) if variadic && matches!(list.ty, Type::Array(_)) => {
                let nothing = Bound::constant(Datum::Text(String::new()), Text, position);
                self.bind_builtin("array_to_string", &[list.clone(), nothing], false, position)
            }
            ("concat_ws", [between, list]) if variadic && matches!(list.ty, Type::Array(_)) => {
                self.bind_builtin("array_to_string", &[list.clone(), between.clone()], false, position)
            }
            ("concat" | "concat_ws" | "format", _) if variadic => {
                Err(Error::unsupported(format!("{name}(VARIADIC array)"), "use array_to_string").at(position))
            }
            ("concat", [_, ..]) => {
                let args = args.iter().map(|a| self.output_text(a.clone())).collect::<Result<_>>()?;
                apply(Func::Concat, args, Type::Text)
            }
            ("concat_ws" | "format", [first, rest @ ..]) => {
                let mut all = vec![self.operand(first.clone(), &Type::Text)?];
                for arg in rest {
                    all.push(self.output_text(arg.clone())?);
                }
                apply(if name == "format" { Func::Format } else { Func::ConcatWs }, all, Type::Text)
            }
            // With its padding: there is an octet_length(character).
            ("octet_length", [a]) if matches!(a.ty, Type::Char(_)) => {
                let a = self.output_text(a.clone())?;
                apply(Func::OctetLength, vec![a], Type::Int4)
            }
            ("quote_literal", [a]) => {
                let a = self.quoted_text(a.clone())?;
                apply(Func::QuoteLiteral, vec![a], Type::Text)
            }
            ("quote_nullable", [a]) => {
                let a = self.quoted_text(a.clone())?;
                apply(Func::QuoteNullable, vec![a], Type::Text)
            }
            ("pg_typeof", [a]) => {
                let name = base_name(&a.ty);
                Ok(Some(Bound::constant(Datum::Text(name), Type::Text, position)))
            }
            ("pg_column_size", [a]) => {
                let a = self.settle(a.clone())?;
                apply(Func::PgColumnSize, vec![a], Type::Int4)
            }
            ("pi", []) => {
                Ok(Some(Bound::constant(Datum::Float(std::f64::consts::PI), Type::Float8, position)))
            }
            ("div", [a, b]) => {
                let args = vec![self.operand(a.clone(), &NUM)?, self.operand(b.clone(), &NUM)?];
                apply(Func::NumDivTrunc, args, NUM)
            }
            ("bit_length", [a]) if !matches!(a.ty, Type::Packed(_)) => {
                let (of, length) = match a.ty {
                    Type::Bytea => (Type::Bytea, Func::BytesLength),
                    _ => (Type::Text, Func::OctetLength),
                };
                let a = self.operand(a.clone(), &of)?;
                let octets = Bound::apply(length, vec![a], Type::Int4, position);
                apply(Func::Int4Mul, vec![octets, int(8)], Type::Int4)
            }
            ("digest", [data, name]) if data.ty != Type::Bytea => {
                let data = self.operand(data.clone(), &Type::Text)?;
                let data = Bound::apply(Func::TextBytes, vec![data], Type::Bytea, position);
                let name = self.operand(name.clone(), &Type::Text)?;
                apply(Func::BytesDigest, vec![data, name], Type::Bytea)
            }
            ("width_bucket", [value, thresholds]) => match element(thresholds) {
                Some(of) => {
                    let both = [(&value.ty, value.position), (&of, thresholds.position)];
                    let Ok(ty) = self.common_type("width_bucket", &both) else { return Ok(None) };
                    let array = Type::Array(Box::new(ty.clone()));
                    let args =
                        vec![self.operand(value.clone(), &ty)?, self.operand(thresholds.clone(), &array)?];
                    apply(Func::ArrayBucket, args, Type::Int4)
                }
                None => Ok(None),
            },
            ("make_timestamptz", [parts @ .., zone]) if parts.len() == 6 => {
                let Some(made) = self.bind_builtin("make_timestamp", parts, false, position)? else {
                    return Ok(None);
                };
                let zone = self.operand(zone.clone(), &Type::Text)?;
                self.with_let(zone, |l, zone| {
                    let zone = l.east_of_utc(zone, position)?;
                    Ok(Bound::apply(Func::ZoneTz, vec![zone, made], Type::TimestampTz, position))
                })
                .map(Some)
            }
            ("make_timestamptz", parts) if parts.len() == 6 => {
                match self.bind_builtin("make_timestamp", parts, false, position)? {
                    Some(made) => self.coerce(made, &Type::TimestampTz, CastContext::Explicit).map(Some),
                    None => Ok(None),
                }
            }
            ("num_nulls" | "num_nonnulls", [first, ..]) => {
                let func = if name == "num_nulls" { Func::IsNull } else { Func::IsNotNull };
                let one = |a: &Bound| {
                    let is = Bound::apply(func, vec![a.clone()], Type::Bool, position);
                    Bound::new(BoundKind::Case(vec![(is, int(1))], Box::new(int(0))), Type::Int4, position)
                };
                let sum =
                    |sum, a: &Bound| Bound::apply(Func::Int4Add, vec![sum, one(a)], Type::Int4, position);
                Ok(Some(args[1..].iter().fold(one(first), sum)))
            }
            // Without FOR it takes the place of as much as it has.
            ("overlay", [text, new, from])
                if [text, new].iter().all(|e| !matches!(e.ty, Type::Bytea | Type::Packed(_))) =>
            {
                let text = self.operand(text.clone(), &Type::Text)?;
                let new = self.operand(new.clone(), &Type::Text)?;
                let from = self.operand(from.clone(), &Type::Int4)?;
                let count = Bound::apply(Func::TextLength, vec![new.clone()], Type::Int4, position);
                apply(Func::Overlay, vec![text, new, from, count], Type::Text)
            }
            ("overlay", [bytes, new, from, count @ ..])
                if (bytes.ty == Type::Bytea || new.ty == Type::Bytea) && count.len() < 2 =>
            {
                let bytes = self.operand(bytes.clone(), &Type::Bytea)?;
                let new = self.operand(new.clone(), &Type::Bytea)?;
                let from = self.operand(from.clone(), &Type::Int4)?;
                let count = match count {
                    [count] => self.operand(count.clone(), &Type::Int4)?,
                    _ => Bound::apply(Func::BytesLength, vec![new.clone()], Type::Int4, position),
                };
                let before = Bound::apply(Func::Int4Sub, vec![from.clone(), int(1)], Type::Int4, position);
                let after = Bound::apply(Func::Int4Add, vec![from, count], Type::Int4, position);
                let head = vec![bytes.clone(), int(1), before];
                let head = Bound::apply(Func::BytesSubstrFor, head, Type::Bytea, position);
                let tail = Bound::apply(Func::BytesSubstr, vec![bytes, after], Type::Bytea, position);
                let head = Bound::apply(Func::BytesConcat, vec![head, new], Type::Bytea, position);
                apply(Func::BytesConcat, vec![head, tail], Type::Bytea)
            }
            ("isfinite", [a]) if matches!(a.ty, Type::Date | Type::Timestamp | Type::TimestampTz) => {
                let is_not = |l: &mut Self, infinity: &str| {
                    let infinity = Bound::constant(Datum::Text(infinity.into()), Type::Unknown, position);
                    l.binary(planaria_syntax::ast::BinaryOp::Ne, a.clone(), infinity, position)
                };
                let (above, below) = (is_not(self, "infinity")?, is_not(self, "-infinity")?);
                apply(Func::And, vec![above, below], Type::Bool)
            }
            ("isfinite", [a]) if a.ty == Type::Interval => {
                self.binary(planaria_syntax::ast::BinaryOp::Eq, a.clone(), a.clone(), position).map(Some)
            }
            ("nextval" | "currval", [s]) | ("setval", [s, _] | [s, _, _]) if is_computed(s) => {
                self.by_computed_name(name, args).map(Some)
            }
            ("nextval" | "currval", [s]) => {
                let Some(sequence) = self.sequence_argument(s)? else {
                    return Ok(Some(Bound::null(Type::Int8, position)));
                };
                let kind = if name == "nextval" {
                    self.require_next(sequence);
                    BoundKind::NextValue(sequence)
                } else {
                    self.require(Object::Sequence(sequence), Privileges::USAGE.with(Privileges::SELECT));
                    BoundKind::CurrentValue(sequence)
                };
                Ok(Some(Bound::new(kind, Type::Int8, position)))
            }
            ("setval", [s, v, rest @ ..]) if rest.len() <= 1 => {
                let Some(sequence) = self.sequence_argument(s)? else {
                    return Ok(Some(Bound::null(Type::Int8, position)));
                };
                let value = self.coerce(v.clone(), &Type::Int8, CastContext::Implicit)?;
                let called = match rest {
                    [called] => self.coerce(called.clone(), &Type::Bool, CastContext::Implicit)?,
                    _ => Bound::bool(true, position),
                };
                self.require(Object::Sequence(sequence), Privileges::UPDATE);
                let kind = BoundKind::SetValue(sequence, Box::new(value), Box::new(called));
                Ok(Some(Bound::new(kind, Type::Int8, position)))
            }
            // That of a transaction's number there is none.
            ("age", [then]) if then.ty != Type::System(planaria_base::types::SystemType::Xid) => {
                let today = super::bind_expr::sql_value("current_date", None, position)?;
                let ty =
                    if *then.ty.plain() == Type::TimestampTz { Type::TimestampTz } else { Type::Timestamp };
                let today = self.coerce(today, &ty, CastContext::Implicit)?;
                let then = self.operand(then.clone(), &ty)?;
                let func = if ty == Type::TimestampTz { Func::TzAge } else { Func::TimestampAge };
                apply(func, vec![today, then], Interval)
            }
            // Of `regexp_matches`: no name of SQL has a blank, but for one in quotes.
            ("regexp all" | "regexp all count", [text, pattern, options]) => {
                let args = [text.clone(), pattern.clone(), options.clone()];
                let args = args.into_iter().map(|e| self.operand(e, &Text)).collect::<Result<Vec<_>>>()?;
                match name {
                    "regexp all" => apply(Func::RegexAll, args, Type::Array(Box::new(Text))),
                    _ => apply(Func::RegexAllCount, args, Int4),
                }
            }
            ("regexp_match" | "regexp_split_to_array", [text, pattern, rest @ ..]) if rest.len() <= 1 => {
                let func = if name == "regexp_match" { Func::RegexMatch } else { Func::RegexSplit };
                let options = match rest {
                    [options] => options.clone(),
                    _ => Bound::constant(Datum::Text(String::new()), Text, position),
                };
                let args = [text.clone(), pattern.clone(), options];
                let args = args.into_iter().map(|e| self.operand(e, &Text)).collect::<Result<Vec<_>>>()?;
                apply(func, args, Type::Array(Box::new(Text)))
            }
            ("parse_ident", [text, rest @ ..]) if rest.len() < 2 => {
                let strict = rest.first().cloned().unwrap_or_else(|| Bound::bool(true, position));
                let args = vec![self.operand(text.clone(), &Text)?, self.operand(strict, &Bool)?];
                apply(Func::ParseIdent, args, Type::Array(Box::new(Text)))
            }
            // By a pattern of SIMILAR TO and its escape. Numbers in quotes are places.
            ("substring", [text, pattern, escape])
                if [text, pattern, escape]
                    .into_iter()
                    .all(|e| super::operators::is_text_or_unknown(&e.ty))
                    && !(super::operators::is_number_in_quotes(pattern)
                        && super::operators::is_number_in_quotes(escape)) =>
            {
                let args = [pattern, escape].map(|e| self.operand(e.clone(), &Text));
                let pattern =
                    Bound::apply(Func::Similar, args.into_iter().collect::<Result<_>>()?, Text, position);
                apply(Func::RegexPart, vec![self.operand(text.clone(), &Text)?, pattern], Text)
            }
            // With the place to begin at, which match, and options.
            ("regexp_replace", [text, pattern, by, start, rest @ ..])
                if rest.len() <= 2 && start.ty.class() == planaria_base::types::TypeClass::Integer =>
            {
                let nth = rest.first().cloned().unwrap_or_else(|| int(1));
                let none = Bound::constant(Datum::Text(String::new()), Text, position);
                let options = rest.get(1).cloned().unwrap_or(none);
                let texts = [text.clone(), pattern.clone(), by.clone(), options];
                let mut args =
                    texts.into_iter().map(|e| self.operand(e, &Text)).collect::<Result<Vec<_>>>()?;
                for number in [start.clone(), nth] {
                    args.push(self.operand(number, &Int4)?);
                }
                apply(Func::RegexReplace, args, Text)
            }
            ("regexp_count", [text, pattern, start, rest @ ..]) if rest.len() <= 1 => {
                let none = Bound::constant(Datum::Text(String::new()), Text, position);
                let options = rest.first().cloned().unwrap_or(none);
                let texts = [text.clone(), pattern.clone(), options];
                let mut args =
                    texts.into_iter().map(|e| self.operand(e, &Text)).collect::<Result<Vec<_>>>()?;
                args.push(self.operand(start.clone(), &Int4)?);
                apply(Func::RegexCount, args, Int4)
            }
            ("regexp_substr" | "regexp_instr", [text, pattern, rest @ ..])
                if rest.len() <= if name == "regexp_instr" { 5 } else { 4 } =>
            {
                let given = |at: usize, default: i64| match rest.get(at) {
                    Some(given) => given.clone(),
                    None => int(default),
                };
                let behind = usize::from(name == "regexp_instr");
                let none = Bound::constant(Datum::Text(String::new()), Text, position);
                let options = rest.get(2 + behind).cloned().unwrap_or(none);
                let mut args = [text.clone(), pattern.clone(), options]
                    .into_iter()
                    .map(|e| self.operand(e, &Text))
                    .collect::<Result<Vec<_>>>()?;
                let mut numbers = vec![given(0, 1), given(1, 1)];
                if behind == 1 {
                    numbers.push(given(2, 0));
                }
                numbers.push(given(3 + behind, 0));
                for number in numbers {
                    args.push(self.operand(number, &Int4)?);
                }
                match behind {
                    1 => apply(Func::RegexInstr, args, Int4),
                    _ => apply(Func::RegexSubstr, args, Text),
                }
            }
            ("overlaps", [_, _, _, _]) if args.iter().all(|e| e.ty == Type::Unknown) => {
                Err(ambiguous("pg_catalog.overlaps", &vec![Type::Unknown; 4], position))
            }
            // The second of a pair may be how long it takes.
            ("overlaps", [a, b, c, d])
                if [a, b, c, d].iter().all(|e| {
                    use planaria_base::types::TypeClass::{DateTime, Interval, Time};
                    e.ty == Type::Unknown
                        || matches!(e.ty.class(), DateTime | Interval | Time)
                        || is_timetz(e)
                }) && !([a, b, c, d].into_iter().any(is_timetz)
                    && [b, d].iter().any(|e| e.ty.class() == planaria_base::types::TypeClass::Interval)) =>
            {
                let ends = [(a, b), (c, d)].map(|(begin, end)| -> Result<_> {
                    let interval = end.ty.class() == planaria_base::types::TypeClass::Interval;
                    Ok((
                        begin.clone(),
                        match interval {
                            true => {
                                let add = planaria_syntax::ast::BinaryOp::Add;
                                self.binary(add, begin.clone(), end.clone(), position)?
                            }
                            false => end.clone(),
                        },
                    ))
                });
                let [first, second] = ends;
                let ((a, b), (c, d)) = (first?, second?);
                let all = [a, b, c, d];
                let zoned = all.iter().any(|e| *e.ty.plain() == Type::TimestampTz);
                let ty = match zoned {
                    _ if all.iter().any(is_timetz) => super::packed::TIMETZ,
                    _ if all.iter().any(|e| *e.ty.plain() == Type::Time) => Type::Time,
                    true => Type::TimestampTz,
                    false => Type::Timestamp,
                };
                let args = all.into_iter().map(|e| self.operand(e, &ty)).collect::<Result<Vec<_>>>()?;
                apply(Func::Overlaps, args, Bool)
            }
            ("lastval", []) => Ok(Some(Bound::new(BoundKind::Draw(Draw::LastValue), Type::Int8, position))),
            _ => Ok(None),
        }
    }

    /// The text of a value to be quoted: `quote_literal(anyelement)` casts, so `char(n)` loses its padding.
    fn quoted_text(&mut self, e: Bound) -> Result<Bound> {
        if matches!(e.ty, Type::Char(_)) {
            return self.coerce(e, &Type::Text, CastContext::Assignment);
        }
        self.output_text(e)
    }

    /// The text a value is printed as: what `concat`, `format` and clients show. Unlike a cast to
    /// text, booleans are `t` and `f`, and `char(n)` keeps its padding.
    pub(super) fn output_text(&mut self, e: Bound) -> Result<Bound> {
        let position = e.position;
        match e.ty {
            Type::Bool => Ok(Bound::apply(Func::BoolOut, vec![e], Type::Text, position)),
            Type::Char(n) => {
                let width = Bound::constant(Datum::Int(n as i64), Type::Int4, position);
                Ok(Bound::apply(Func::CharPad, vec![e, width], Type::Text, position))
            }
            // As a text it would have its mask.
            Type::Packed(PackedType::Inet) => {
                let printed = Bound::constant(Datum::Int(super::packed::PRINTED), Type::Int4, position);
                Ok(Bound::apply(Func::InetText, vec![e, printed], Type::Text, position))
            }
            _ => self.coerce(e, &Type::Text, CastContext::Assignment),
        }
    }
}

/// 42725 as PostgreSQL words it.
pub(super) fn ambiguous(name: &str, args: &[Type], position: u32) -> Error {
    let types: Vec<String> = args.iter().map(base_name).collect();
    let message = format!("function {name}({}) is not unique", types.join(", "));
    Error::new(SqlState::AMBIGUOUS_FUNCTION, message)
        .at(position)
        .with_hint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

/// The SQL type of a function whose result class has only one.
fn func_type(func: Func) -> Type {
    match func.result() {
        planaria_ir::func::Sig::N => NUM,
        planaria_ir::func::Sig::T => Type::Text,
        planaria_ir::func::Sig::B => Type::Bool,
        _ => Type::Int4,
    }
}
