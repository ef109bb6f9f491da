//! Identifiers and quotes.

use crate::watch;

/// PostgreSQL's keywords that an identifier cannot be without quotes, sorted.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization",
    "between", "bigint", "binary", "bit", "boolean", "both", "case", "cast", "char", "character", "check",
    "coalesce", "collate", "collation", "column", "concurrently", "constraint", "create", "cross",
    "current_catalog", "current_date", "current_role", "current_schema", "current_time",
    "current_timestamp", "current_user", "dec", "decimal", "default", "deferrable", "desc", "distinct",
    "do", "else", "end", "except", "exists", "extract", "false", "fetch", "float", "for", "foreign",
    "freeze", "from", "full", "grant", "greatest", "group", "grouping", "having", "ilike", "in",
    "initially", "inner", "inout", "int", "integer", "intersect", "interval", "into", "is", "isnull",
    "join", "lateral", "leading", "least", "left", "like", "limit", "localtime", "localtimestamp",
    "national", "natural", "nchar", "none", "normalize", "not", "notnull", "null", "nullif", "numeric",
    "offset", "on", "only", "or", "order", "out", "outer", "overlaps", "overlay", "placing", "position",
    "precision", "primary", "real", "references", "returning", "right", "row", "select", "session_user",
    "setof", "similar", "smallint", "some", "substring", "symmetric", "table", "tablesample", "then",
    "time", "timestamp", "to", "trailing", "treat", "trim", "true", "union", "unique", "user", "using",
    "values", "varchar", "variadic", "verbose", "when", "where", "window", "with", "xmlattributes",
    "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot",
    "xmlserialize", "xmltable",
];

/// Appends an identifier, quoted if it must be.
pub fn write_ident(out: &mut Vec<u8>, ident: &[u8]) {
    watch::count(ident.len());
    let plain = match ident {
        [first, rest @ ..] => {
            (first.is_ascii_lowercase() || *first == b'_')
                && rest.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_')
        }
        [] => false,
    };
    let keyword = |ident: &[u8]| KEYWORDS.binary_search_by(|k| k.as_bytes().cmp(ident)).is_ok();
    if plain && !keyword(ident) {
        out.extend_from_slice(ident);
    } else {
        write_doubled(out, ident, b"\"");
    }
}

/// Appends a text within the first of `special`, each of which is doubled inside.
pub fn write_doubled(out: &mut Vec<u8>, text: &[u8], special: &[u8]) {
    watch::count(text.len());
    out.push(special[0]);
    for b in text {
        if special.contains(b) {
            out.push(*b);
        }
        out.push(*b);
    }
    out.push(special[0]);
}

/// Appends a literal; with backslashes in it, as an `E''` string.
pub fn write_literal(out: &mut Vec<u8>, text: &[u8]) {
    if text.contains(&b'\\') {
        out.push(b'E');
        write_doubled(out, text, b"'\\");
    } else {
        write_doubled(out, text, b"'");
    }
}

/// A text as SQL writes it: as a literal.
pub fn quote_literal(text: &str) -> String {
    let mut out = Vec::new();
    write_literal(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// A name as SQL writes it: quoted where it must be.
pub fn quote_ident(name: &str) -> String {
    let mut out = Vec::new();
    write_ident(&mut out, name.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
