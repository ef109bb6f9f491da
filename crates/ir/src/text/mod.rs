//! The text form: printing and parsing of programs; one is the inverse of the other.
//!
//! ```text
//! procedure transfer
//!   reg source: int8
//!   reg amount: int8
//!   reg r2: row t0
//!   reg balance: int8
//!   param in source: int8 = source
//!   param in amount: int8 = amount
//! begin
//!   get t0.i0 (source) -> r2, c1 = balance
//!   balance = int8.sub(balance, amount)
//!   update t0 r2 set c1 = balance      @ 120
//! end
//! ```
//!
//! A register is called by its variable's name where that is an identifier and unique, by name and
//! number (`balance.3`) where it is not unique, else by number (`r3`, with the name quoted in its
//! declaration). Tables, indexes, columns, sequences, procedures stand by id (`t0.i0`, `c1`, `s2`,
//! `p3`): a program means nothing without its catalog. `@ n` is an operation's source position, 0
//! if missing. `inlined l2: p3` says that block `l2` is the body of a call of `p3`. `;` begins a comment. Operation ids are not written: parsing numbers them anew.

mod parse;
mod print;
#[cfg(test)]
mod tests;
mod token;

pub use parse::parse;
pub(crate) use print::print;

use crate::{Program, Reg};
use planaria_base::Type;
use planaria_base::types::{Clock, SystemType};

/// What each register is called in the text form.
pub fn register_names(program: &Program) -> Vec<String> {
    let mut count = std::collections::HashMap::new();
    for name in program.regs.iter().filter_map(|r| r.name.as_deref()) {
        *count.entry(name).or_insert(0u32) += 1;
    }
    let name = |(i, decl): (usize, &crate::RegDecl)| match decl.name.as_deref() {
        Some(n) if is_plain(n) && count[n] == 1 => n.to_owned(),
        Some(n) if is_plain(n) => format!("{n}.{i}"),
        _ => Reg::from(i).to_string(),
    };
    program.regs.iter().enumerate().map(name).collect()
}

/// Whether a name can stand for its register: an identifier that is not taken for something else.
fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    let head = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_');
    let tail = chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let entity = name.len() > 1 && name[1..].bytes().all(|b| b.is_ascii_digit());
    head && tail && !entity && name != "begin" && name != "end"
}

/// Short names of the types, with modifiers in parentheses and `[]` for arrays.
pub fn type_name(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::Int2 => "int2".into(),
        Type::Int4 => "int4".into(),
        Type::Int8 => "int8".into(),
        Type::Numeric(None) => "numeric".into(),
        Type::Numeric(Some((p, s))) => format!("numeric({p}, {s})"),
        Type::Float8 => "float8".into(),
        Type::Float4 => "float4".into(),
        Type::Text => "text".into(),
        Type::Varchar(None) => "varchar".into(),
        Type::Varchar(Some(n)) => format!("varchar({n})"),
        Type::Char(n) => format!("char({n})"),
        Type::Bytea => "bytea".into(),
        Type::Date => "date".into(),
        Type::Timestamp => "timestamp".into(),
        Type::TimestampTz => "timestamptz".into(),
        Type::Interval | Type::OldInterval => "interval".into(),
        Type::Time => "time".into(),
        Type::Rounded(Clock::Fields(fields), digits) => {
            format!("interval_{}({digits})", fields.name().replace(' ', "_"))
        }
        Type::Rounded(clock, digits) => format!("{}({digits})", type_name(clock.ty())),
        Type::Uuid => "uuid".into(),
        Type::Jsonb => "jsonb".into(),
        Type::Citext => "citext".into(),
        Type::Range(of) => of.name().into(),
        Type::Packed(of) => match of.limit() {
            Some(n) => format!("{}({n})", of.name()),
            None => of.name().into(),
        },
        Type::Enum(of) => {
            let labels: Vec<String> =
                of.labels().iter().map(|l| format!("{} {}", print::quote(&l.text), l.rank)).collect();
            let name = print::quote(of.name());
            format!("enum({name}, {}, {}, {})", of.oid(), of.array_oid(), labels.join(", "))
        }
        Type::Array(of) => format!("{}[]", type_name(of)),
        Type::Unknown => "unknown".into(),
        Type::Void => "void".into(),
        Type::System(SystemType::Char) => "catalog_char".into(),
        Type::System(system) => system.name().into(),
        Type::Record(row) => {
            let fields: Vec<String> =
                row.iter().map(|(name, ty)| format!("{} {}", print::quote(name), type_name(ty))).collect();
            match &row.of {
                Some(of) => {
                    format!("row({} {}: {})", print::quote(&of.name), of.table.0, fields.join(", "))
                }
                None => format!("record({})", fields.join(", ")),
            }
        }
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&print(self))
    }
}
