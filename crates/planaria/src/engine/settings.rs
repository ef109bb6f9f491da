//! SET and SHOW: what clients send, answered honestly. Planaria has one behaviour, so a setting can
//! only be set to what it is, or is one that changes nothing.

use planaria_base::{Error, Result, SqlState};

/// Settings with their value; `true`: any value may be set, it changes nothing.
const SETTINGS: &[(&str, &str, bool)] = &[
    ("application_name", "", true),
    ("bytea_output", "hex", false),
    ("check_function_bodies", "on", true),
    ("client_encoding", "UTF8", false),
    ("client_min_messages", "notice", true),
    ("datestyle", "ISO, MDY", true),
    ("default_table_access_method", "memory", true),
    ("default_tablespace", "", true),
    ("default_transaction_isolation", "serializable", true),
    ("extra_float_digits", "1", true),
    ("intervalstyle", "postgres", true),
    ("max_index_keys", "32", false),
    ("row_security", "off", true),
    ("search_path", "\"$user\", public", true),
    ("server_encoding", "UTF8", false),
    ("server_version", "15.0 (Planaria)", false),
    ("standard_conforming_strings", "on", false),
    ("synchronous_commit", "on", true),
    ("timezone", "UTC", false),
    ("transaction_isolation", "serializable", true),
    ("transaction_read_only", "off", true),
];

fn unknown(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

/// `SET name = value`; DEFAULT is `None`. 42704 for an unknown name, 22023 for a value that cannot be.
pub(super) fn set(name: &str, value: Option<&[String]>) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    if lower.contains('.') {
        // A setting of an application's own.
        return Ok(());
    }
    let (_, is, any) = SETTINGS.iter().find(|(n, _, _)| *n == lower).ok_or_else(|| unknown(name))?;
    let wanted = value.map(|v| v.join(", "));
    match wanted {
        Some(wanted) if !any && !same(is, &wanted) => Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{name}\": \"{wanted}\""),
        )
        .hint(format!("It is always \"{is}\"."))),
        _ => Ok(()),
    }
}

fn same(is: &str, wanted: &str) -> bool {
    let plain = |s: &str| s.to_ascii_lowercase().replace(['-', '/', ' '], "");
    let wanted = plain(wanted);
    plain(is) == wanted || plain(is) == "utc" && ["gmt", "etcutc", "utc0"].contains(&wanted.as_str())
}

/// `SHOW name` or `SHOW ALL`: column names and rows.
pub(super) fn show(name: &str) -> Result<(Vec<&'static str>, Vec<Vec<String>>)> {
    let lower = name.to_ascii_lowercase();
    if lower == "all" {
        let rows = SETTINGS.iter().map(|(n, v, _)| vec![(*n).to_owned(), (*v).to_owned()]).collect();
        return Ok((vec!["name", "setting"], rows));
    }
    let lower =
        if lower == "transaction isolation level" { "transaction_isolation".to_owned() } else { lower };
    let (n, v, _) = SETTINGS.iter().find(|(n, _, _)| *n == lower).ok_or_else(|| unknown(name))?;
    Ok((vec![n], vec![vec![(*v).to_owned()]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_can_be_set() {
        assert!(set("TimeZone", Some(&["utc".into()])).is_ok());
        let error = set("timezone", Some(&["Europe/Zurich".into()])).expect_err("refused");
        assert_eq!(error.sqlstate().as_str(), "22023");
        assert_eq!(set("nonsense", None).expect_err("unknown").sqlstate().as_str(), "42704");
        assert_eq!(show("timezone").expect("known").1, [["UTC"]]);
    }
}
