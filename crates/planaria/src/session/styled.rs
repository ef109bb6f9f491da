//! What is kept as text is read by the default styles of dates and intervals, by whoever uses it and in replay. So where a
//! session has others, a definition may have no literal in it that would mean something else.

use crate::session::core::SessionCore;
use planaria_base::datetime::{DateOrder, IntervalForm, Styles, parse_interval, parse_time, parse_timestamp};
use planaria_base::{Error, Result};
use planaria_syntax::ast::{Statement, StatementKind};
use planaria_syntax::parse;

impl SessionCore {
    /// 0A000 for a definition with a literal that the session reads otherwise. A text that only looks like one is refused,
    /// too: of which type it is, is not known yet.
    pub(crate) fn refuse_styled(&self, statement: &Statement, own_text: &str) -> Result<()> {
        let styles = self.settings.styles();
        // The rows of a query are computed once, and logged.
        if !styles.reads_otherwise() || matches!(statement.kind, StatementKind::CreateTableAs { .. }) {
            return Ok(());
        }
        for (position, text) in parse::strings(own_text) {
            let Some(setting) = depends_on(&text, styles) else { continue };
            let message =
                format!("a definition with '{text}', which {setting} reads otherwise, is not supported");
            let hint = match setting {
                "DateStyle" => "Write dates as in '2024-01-31', or set DateStyle to MDY before.",
                _ => "Write each sign, or set IntervalStyle to postgres before.",
            };
            return Err(Error::unsupported(message, hint).at(statement.position + position));
        }
        Ok(())
    }
}

/// The setting by which a text, or a part of it where it is an array, a range or a row, means something else than by
/// default.
fn depends_on(text: &str, styles: Styles) -> Option<&'static str> {
    // Nothing that long is a date.
    let parts = text.split(['[', ']', '(', ')', '{', '}', '"', ',']).filter(|part| part.len() <= 128);
    for part in parts.chain((text.len() <= 128).then_some(text)) {
        let differs = |read: fn(&str, DateOrder) -> Result<i64>| {
            read(part, DateOrder::Mdy).ok() != read(part, styles.order).ok()
        };
        if differs(parse_timestamp) || differs(parse_time) {
            return Some("DateStyle");
        }
        let read = |form| parse_interval(part, form).ok();
        if read(IntervalForm::Postgres) != read(styles.intervals) {
            return Some("IntervalStyle");
        }
    }
    None
}
