//! Operators, by what they are written as.

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    BitNot,
    /// `NOT`
    Not,
    /// `@` absolute value
    Abs,
    /// `|/` square root
    SquareRoot,
    /// `||/` cube root
    CubeRoot,
    /// `!!` of a query
    NotFound,
}

/// Infix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BinaryOp {
    /// `OR`
    Or,
    /// `AND`
    And,
    /// `=`
    Eq,
    /// `<>`, `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `^` power
    Pow,
    /// `||`
    Concat,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `#`
    BitXor,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `~` `~*` `!~` `!~*` regular expression: insensitive, negated
    Regex {
        /// `*`
        insensitive: bool,
        /// `!`
        negated: bool,
    },
    /// LIKE and ILIKE (`~~*`) before ANY or ALL; otherwise they are [`ExprKind::Like`].
    Like {
        /// `*`
        insensitive: bool,
        /// `!`
        negated: bool,
    },
    /// `@>`
    Contains,
    /// `<@`
    ContainedBy,
    /// `&&`
    Overlaps,
    /// `&<`
    EndsWithin,
    /// `&>`
    BeginsWithin,
    /// `-|-`
    Adjacent,
    /// `^@`
    BeginsWith,
    /// `<<=`
    WithinOrSame,
    /// `>>=`
    HoldsOrSame,
    /// `@@`
    Matches,
    /// `<->`
    FollowedBy,
    /// Those of JSON.
    Json(JsonOp),
    /// Those of similar words.
    Similar(SimilarOp),
}

/// Operators of words that are similar to a part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SimilarOp {
    /// `<%`
    Word,
    /// `%>`
    OfWord,
    /// `<<%`
    StrictWord,
    /// `%>>`
    OfStrictWord,
    /// `<<->`
    FromWord,
    /// `<->>`
    ToWord,
    /// `<<<->`
    FromStrictWord,
    /// `<->>>`
    ToStrictWord,
}

impl SimilarOp {
    /// All of them.
    pub const ALL: [SimilarOp; 8] = [
        SimilarOp::Word,
        SimilarOp::OfWord,
        SimilarOp::StrictWord,
        SimilarOp::OfStrictWord,
        SimilarOp::FromWord,
        SimilarOp::ToWord,
        SimilarOp::FromStrictWord,
        SimilarOp::ToStrictWord,
    ];

    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            SimilarOp::Word => "<%",
            SimilarOp::OfWord => "%>",
            SimilarOp::StrictWord => "<<%",
            SimilarOp::OfStrictWord => "%>>",
            SimilarOp::FromWord => "<<->",
            SimilarOp::ToWord => "<->>",
            SimilarOp::FromStrictWord => "<<<->",
            SimilarOp::ToStrictWord => "<->>>",
        }
    }
}

/// Operators of JSON alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum JsonOp {
    /// `->`
    Get,
    /// `->>`
    GetText,
    /// `#>`
    Path,
    /// `#>>`
    PathText,
    /// `?`
    Has,
    /// `?|`
    HasAny,
    /// `?&`
    HasAll,
    /// `#-`
    WithoutPath,
    /// `@?`
    PathExists,
}

impl JsonOp {
    /// All of them.
    pub const ALL: [JsonOp; 9] = [
        JsonOp::Get,
        JsonOp::GetText,
        JsonOp::Path,
        JsonOp::PathText,
        JsonOp::Has,
        JsonOp::HasAny,
        JsonOp::HasAll,
        JsonOp::WithoutPath,
        JsonOp::PathExists,
    ];

    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            JsonOp::Get => "->",
            JsonOp::GetText => "->>",
            JsonOp::Path => "#>",
            JsonOp::PathText => "#>>",
            JsonOp::Has => "?",
            JsonOp::HasAny => "?|",
            JsonOp::HasAll => "?&",
            JsonOp::WithoutPath => "#-",
            JsonOp::PathExists => "@?",
        }
    }
}
