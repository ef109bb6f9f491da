//! What `pg_settings` says of a setting: of which kind it is, and its value as a number of units.

use super::{SETTINGS, Takes};

/// A setting as `pg_settings` has it.
pub(crate) struct Kind {
    /// `bool`, `enum`, `integer`, `real` or `string`
    pub(crate) vartype: &'static str,
    /// What its number counts.
    pub(crate) unit: Option<&'static str>,
    /// The words that it can be.
    pub(crate) words: Vec<String>,
}

/// Those that PostgreSQL counts in blocks.
const BLOCKS: [&str; 3] = ["effective_cache_size", "shared_buffers", "temp_buffers"];

/// Of which kind a setting is.
pub(crate) fn kind(name: &str, value: &str) -> Kind {
    let takes = SETTINGS.iter().find(|s| s.name.eq_ignore_ascii_case(name)).map(|s| s.takes);
    let plain = |vartype| Kind { vartype, unit: None, words: Vec::new() };
    let words = |first: &[&str], then: &[&str]| Kind {
        vartype: "enum",
        unit: None,
        words: first.iter().chain(then).map(|word| (*word).to_owned()).collect(),
    };
    match takes {
        Some(Takes::Bool) => plain("bool"),
        Some(Takes::Milliseconds) => Kind { unit: Some("ms"), ..plain("integer") },
        Some(Takes::Memory(_)) if BLOCKS.contains(&name) => Kind { unit: Some("8kB"), ..plain("integer") },
        Some(Takes::Memory(_)) => Kind { unit: Some("kB"), ..plain("integer") },
        Some(Takes::Integer(..)) => plain("integer"),
        Some(Takes::Number | Takes::Share) => plain("real"),
        Some(Takes::OneOf(all, _)) => words(all, &[]),
        Some(Takes::BoolOr(all)) => words(all, &["on", "off"]),
        Some(Takes::Isolation) => {
            words(&["serializable", "repeatable read", "read committed", "read uncommitted"], &[])
        }
        Some(Takes::Fixed) if matches!(value, "on" | "off") => plain("bool"),
        Some(Takes::Fixed) if value.parse::<i64>().is_ok() => plain("integer"),
        _ => plain("string"),
    }
}

impl Kind {
    /// The value in its unit: `4MB` is 4096 of `kB`.
    pub(crate) fn value(&self, shown: &str) -> String {
        let Some(own) = self.unit else { return shown.to_owned() };
        let digits = shown.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(shown.len());
        let (number, unit) = shown.split_at(digits);
        let factor: i64 = match (own, unit.trim()) {
            ("ms", "s") => 1000,
            ("ms", "min") => 60_000,
            ("ms", "h") => 3_600_000,
            ("ms", "d") => 86_400_000,
            ("kB" | "8kB", "MB") => 1 << 10,
            ("kB" | "8kB", "GB") => 1 << 20,
            ("kB" | "8kB", "TB") => 1 << 30,
            _ => 1,
        };
        match number.parse::<i64>() {
            Ok(n) if own == "8kB" && !unit.trim().is_empty() => (n.saturating_mul(factor) / 8).to_string(),
            Ok(n) => n.saturating_mul(factor).to_string(),
            Err(_) => shown.to_owned(),
        }
    }
}
