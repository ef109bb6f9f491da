//! Which words may be names where: the keyword categories of PostgreSQL 15 (`kwlist.h`).
//!
//! A word that stands in no list is an ordinary name everywhere, keyword or not.

/// What a word may name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Anything.
    Unreserved,
    /// A column, table or variable, not a function or type.
    ColumnName,
    /// A function or type, not a column or table.
    TypeOrFunction,
    /// Only a label behind AS or a point.
    Reserved,
}

#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "both", "case",
    "cast", "check", "collate", "column", "constraint", "create", "current_catalog", "current_date",
    "current_role", "current_time", "current_timestamp", "current_user", "default", "deferrable",
    "desc", "distinct", "do", "else", "end", "except", "false", "fetch", "for", "foreign", "from",
    "grant", "group", "having", "in", "initially", "intersect", "into", "lateral", "leading", "limit",
    "localtime", "localtimestamp", "not", "null", "offset", "on", "only", "or", "order", "placing",
    "primary", "references", "returning", "select", "session_user", "some", "symmetric", "table",
    "then", "to", "trailing", "true", "union", "unique", "user", "using", "variadic", "when", "where",
    "window", "with",
];

#[rustfmt::skip]
const TYPE_OR_FUNCTION: &[&str] = &[
    "authorization", "binary", "collation", "concurrently", "cross", "current_schema", "freeze", "full",
    "ilike", "inner", "is", "isnull", "join", "left", "like", "natural", "notnull", "outer", "overlaps",
    "right", "similar", "tablesample", "verbose",
];

#[rustfmt::skip]
const COLUMN_NAME: &[&str] = &[
    "between", "bigint", "bit", "boolean", "char", "character", "coalesce", "dec", "decimal", "exists",
    "extract", "float", "greatest", "grouping", "inout", "int", "integer", "interval", "least",
    "national", "nchar", "none", "normalize", "nullif", "numeric", "out", "overlay", "position",
    "precision", "real", "row", "setof", "smallint", "substring", "time", "timestamp", "treat", "trim",
    "values", "varchar", "xmlattributes", "xmlconcat", "xmlelement", "xmlexists", "xmlforest",
    "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
];

/// Keywords that are a label of a select item only behind AS.
#[rustfmt::skip]
const NEEDS_AS: &[&str] = &[
    "array", "as", "char", "character", "create", "day", "except", "fetch", "filter", "for", "from",
    "grant", "group", "having", "hour", "intersect", "into", "isnull", "limit", "minute", "month",
    "notnull", "offset", "on", "order", "over", "overlaps", "precision", "returning", "second", "to",
    "union", "varying", "where", "window", "with", "within", "without", "year",
];

/// The longest word of the lists, and some more.
const WORD_MAX: usize = 24;

/// A word in lower case without allocation; empty if it is too long or not ASCII, so no keyword.
pub(crate) struct Lower {
    bytes: [u8; WORD_MAX],
    len: usize,
}

impl Lower {
    pub(crate) fn new(word: &str) -> Lower {
        let mut lower = Lower { bytes: [0; WORD_MAX], len: 0 };
        if word.len() <= WORD_MAX && word.is_ascii() {
            lower.len = word.len();
            for (to, from) in lower.bytes.iter_mut().zip(word.bytes()) {
                *to = from.to_ascii_lowercase();
            }
        }
        lower
    }
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

/// The category of a word, whatever its case.
pub(crate) fn class(word: &str) -> Class {
    let lower = Lower::new(word);
    let lower = lower.as_str();
    if RESERVED.binary_search(&lower).is_ok() {
        Class::Reserved
    } else if COLUMN_NAME.binary_search(&lower).is_ok() {
        Class::ColumnName
    } else if TYPE_OR_FUNCTION.binary_search(&lower).is_ok() {
        Class::TypeOrFunction
    } else {
        Class::Unreserved
    }
}

/// Whether a word may label a select item without AS.
pub(crate) fn is_bare_label(word: &str) -> bool {
    NEEDS_AS.binary_search(&Lower::new(word).as_str()).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_apart() {
        for list in [RESERVED, TYPE_OR_FUNCTION, COLUMN_NAME, NEEDS_AS] {
            assert!(list.is_sorted());
            assert!(list.iter().all(|w| w.len() <= WORD_MAX));
        }
        assert!(RESERVED.iter().all(|w| !COLUMN_NAME.contains(w) && !TYPE_OR_FUNCTION.contains(w)));
        assert!(COLUMN_NAME.iter().all(|w| !TYPE_OR_FUNCTION.contains(w)));
    }

    #[test]
    fn classes() {
        assert_eq!(class("SELECT"), Class::Reserved);
        assert_eq!(class("Left"), Class::TypeOrFunction);
        assert_eq!(class("int"), Class::ColumnName);
        assert_eq!(class("begin"), Class::Unreserved);
        assert_eq!(class("customer_by_name_and_some_more"), Class::Unreserved);
    }
}
