//! Comparisons of a path.
//!
//! Dates and times are compared with each other where that needs no time zone; else the functions whose names end in `_tz`
//! do, by the zone of the session, and the others raise 0A000.

use super::Truth;
use super::item::Item;
use planaria_base::datetime::{self, Moment, Zone};
use planaria_base::json::Json;
use planaria_base::json::path::Comparison;
use planaria_base::{Error, Result, SqlState};
use std::cell::Cell;
use std::cmp::Ordering;

/// By which zone moments without one are compared with those that have one.
#[derive(Clone, Copy)]
pub(super) struct Zones<'z> {
    pub zone: Option<&'z Zone>,
    /// How far it is ahead of UTC now, for times of day.
    pub now: i64,
    pub used: &'z Cell<bool>,
}

impl Zones<'_> {
    fn used(&self) {
        self.used.set(self.used.get() | self.zone.is_some());
    }

    fn to_utc(self, timestamp: i64) -> Result<i64> {
        self.used();
        self.zone.map_or(Ok(timestamp), |zone| zone.to_utc(timestamp))
    }
}

/// What can be told apart; others are not comparable.
#[derive(PartialEq)]
enum Kind {
    Null,
    Bool,
    Number,
    String,
    Moment,
    Other,
}

fn kind(item: &Item<'_>) -> Kind {
    match item {
        _ if item.is_null() => Kind::Null,
        _ if item.bool().is_some() => Kind::Bool,
        _ if item.number().is_some() => Kind::Number,
        _ if item.string().is_some() => Kind::String,
        Item::Moment(_) => Kind::Moment,
        _ => Kind::Other,
    }
}

/// Whether a comparison holds; unknown of what cannot be compared.
pub(super) fn items(
    op: Comparison,
    left: &Item<'_>,
    right: &Item<'_>,
    zones: Option<Zones<'_>>,
) -> Result<Truth> {
    let (a, b) = (kind(left), kind(right));
    if a != b {
        let null = a == Kind::Null || b == Kind::Null;
        return Ok(null.then_some(op == Comparison::Ne));
    }
    let number = |n| Json::Number(std::borrow::Cow::Borrowed(n));
    let order = match (left, right) {
        _ if a == Kind::Null => Ordering::Equal,
        (Item::Moment(left), Item::Moment(right)) => match moments(*left, *right, zones)? {
            Some(order) => order,
            None => return Ok(None),
        },
        _ => {
            match (left.bool(), right.bool(), left.string(), right.string(), left.number(), right.number()) {
                (Some(a), Some(b), ..) => a.cmp(&b),
                (_, _, Some(a), Some(b), ..) => a.cmp(b),
                (.., Some(a), Some(b)) => number(a).compare(&number(b)),
                _ => return Ok(None),
            }
        }
    };
    Ok(Some(match op {
        Comparison::Eq => order.is_eq(),
        Comparison::Ne => order.is_ne(),
        Comparison::Lt => order.is_lt(),
        Comparison::Gt => order.is_gt(),
        Comparison::Le => order.is_le(),
        Comparison::Ge => order.is_ge(),
    }))
}

#[cold]
fn without_zone<'z>(from: &str, to: &str, zones: Option<Zones<'z>>) -> Result<Zones<'z>> {
    zones.ok_or_else(|| {
        let message = format!("cannot convert value from {from} to {to} without time zone usage");
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .with_hint("Use *_tz() function for time zone support.")
    })
}

/// The order of two moments; `None` where there is none.
fn moments(left: Moment, right: Moment, zones: Option<Zones<'_>>) -> Result<Option<Ordering>> {
    use Moment::{Date, Time, TimeTz, Timestamp, TimestampTz};
    // A date beyond the range of timestamps is beyond them.
    let midnight =
        |date: i64| datetime::date_to_timestamp(date).unwrap_or(if date < 0 { i64::MIN } else { i64::MAX });
    let clock = |time: i64, offset: i64| (time - offset, -offset);
    Ok(Some(match (left, right) {
        (Date(a), Date(b)) | (Time(a), Time(b)) | (Timestamp(a), Timestamp(b)) => a.cmp(&b),
        (TimestampTz(a, _), TimestampTz(b, _)) => a.cmp(&b),
        (TimeTz(a, p), TimeTz(b, q)) => clock(a, p).cmp(&clock(b, q)),
        (Date(a), Timestamp(b)) => midnight(a).cmp(&b),
        (Date(a), TimestampTz(b, _)) => {
            let zones = without_zone("date", "timestamptz", zones)?;
            zones.to_utc(midnight(a)).unwrap_or(midnight(a)).cmp(&b)
        }
        (Timestamp(a), TimestampTz(b, _)) => {
            let zones = without_zone("timestamp", "timestamptz", zones)?;
            zones.to_utc(a).unwrap_or(a).cmp(&b)
        }
        (Time(a), TimeTz(b, q)) => {
            let zones = without_zone("time", "timetz", zones)?;
            zones.used();
            clock(a, zones.now).cmp(&clock(b, q))
        }
        (Timestamp(_), Date(_)) | (TimestampTz(..), Date(_) | Timestamp(_)) | (TimeTz(..), Time(_)) => {
            return Ok(moments(right, left, zones)?.map(Ordering::reverse));
        }
        (Date(_) | Timestamp(_) | TimestampTz(..), Time(_) | TimeTz(..))
        | (Time(_) | TimeTz(..), Date(_) | Timestamp(_) | TimestampTz(..)) => return Ok(None),
    }))
}
