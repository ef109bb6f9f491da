//! What the server's own log says of statements: those that fail, those that take long.

use crate::statements::without_constants;
use planaria::{Error, SqlState};
use std::borrow::Cow;
use std::time::Duration;

/// Of a longer statement the log has the beginning.
const LOGGED_BYTES_MAX: usize = 4 << 10;

/// A statement as the log has it: at most its beginning, and without its constants where one may be a password.
fn loggable(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let word = b"password";
    let secret = text.as_bytes().windows(word.len()).any(|w| w.eq_ignore_ascii_case(word));
    let text = if secret { Cow::Owned(without_constants(text)) } else { Cow::Borrowed(text) };
    match text.floor_char_boundary(LOGGED_BYTES_MAX) {
        end if end < text.len() => Cow::Owned(format!("{}...", &text[..end])),
        _ => text,
    }
}

/// A client was told of an error, in a statement that is given if it is to be logged.
///
/// Those that say no more than that the transaction is to be begun again are part of the day's work: `debug`.
pub(crate) fn failed(connection: i32, error: &Error, statement: Option<&str>) {
    let sqlstate = error.sqlstate();
    let statement = statement.map(loggable);
    let statement = statement.as_deref();
    if sqlstate.is_retryable() || sqlstate == SqlState::IN_FAILED_SQL_TRANSACTION {
        tracing::debug!(connection, %sqlstate, statement, "ERROR: {}", error.message());
    } else {
        let detail = error.fields().detail.as_deref();
        tracing::info!(connection, %sqlstate, detail, statement, "ERROR: {}", error.message());
    }
}

/// A statement took long.
pub(crate) fn slow(connection: i32, time: Duration, text: &str, plan: Option<&str>) {
    let milliseconds = time.as_secs_f64() * 1e3;
    let statement = loggable(text);
    tracing::info!(connection, statement = &*statement, plan, "duration: {milliseconds:.3} ms");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_logged() {
        assert_eq!(loggable(" SELECT 'x' "), "SELECT 'x'");
        assert_eq!(loggable("ALTER ROLE a Password 'b'"), "ALTER ROLE a Password $1");
        let long = "ü".repeat(LOGGED_BYTES_MAX);
        let logged = loggable(&long);
        assert!(logged.ends_with("ü...") && logged.len() <= LOGGED_BYTES_MAX + 3);
    }
}
