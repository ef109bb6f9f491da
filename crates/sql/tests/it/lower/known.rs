//! What PostgreSQL has and Planaria has not is told from what nobody has.

use super::{fails, schema};
use planaria_base::SqlState;

#[test]
fn what_postgresql_has_is_not_supported_yet() {
    let c = schema();
    for expression in ["ts_rewrite('a', 'b')", "xmlcomment('a')", "pg_ls_dir('.')", "NULL::xml"] {
        let error = fails(&c, &format!("SELECT {expression}"));
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{expression}: {error}");
        assert!(error.message().ends_with("is not supported yet"), "{expression}: {error}");
    }
}

#[test]
fn what_nobody_has_does_not_exist() {
    let c = schema();
    for (expression, state) in [
        ("nosuch()", SqlState::UNDEFINED_FUNCTION),
        ("gcd(1)", SqlState::UNDEFINED_FUNCTION),
        ("gcd('a'::text, 'b'::text)", SqlState::UNDEFINED_FUNCTION),
        ("length(1)", SqlState::UNDEFINED_FUNCTION),
        ("array_positions(1, 1)", SqlState::UNDEFINED_FUNCTION),
        ("1 + 'a'::text", SqlState::UNDEFINED_FUNCTION),
        ("NULL::nosuch", SqlState::UNDEFINED_OBJECT),
    ] {
        let error = fails(&c, &format!("SELECT {expression}"));
        assert_eq!(error.sqlstate(), state, "{expression}: {error}");
    }
}
