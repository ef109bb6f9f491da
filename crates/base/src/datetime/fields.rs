//! The fields of an interval's type: `interval year to month`.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a type lets an interval have: one field, or from one to a shorter one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IntervalFields {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    YearToMonth,
    DayToHour,
    DayToMinute,
    DayToSecond,
    HourToMinute,
    HourToSecond,
    MinuteToSecond,
}

impl IntervalFields {
    /// All of them.
    pub const ALL: [IntervalFields; 13] = {
        use IntervalFields::*;
        [
            Year,
            Month,
            Day,
            Hour,
            Minute,
            Second,
            YearToMonth,
            DayToHour,
            DayToMinute,
            DayToSecond,
            HourToMinute,
            HourToSecond,
            MinuteToSecond,
        ]
    };

    /// As SQL writes them.
    pub const fn name(self) -> &'static str {
        use IntervalFields::*;
        match self {
            Year => "year",
            Month => "month",
            Day => "day",
            Hour => "hour",
            Minute => "minute",
            Second => "second",
            YearToMonth => "year to month",
            DayToHour => "day to hour",
            DayToMinute => "day to minute",
            DayToSecond => "day to second",
            HourToMinute => "hour to minute",
            HourToSecond => "hour to second",
            MinuteToSecond => "minute to second",
        }
    }

    /// By the first and the last of them.
    pub fn of(names: &[&str]) -> Option<IntervalFields> {
        let name = names.join(" to ");
        IntervalFields::ALL.into_iter().find(|fields| fields.name() == name)
    }

    /// The last of them.
    pub fn last(self) -> &'static str {
        self.name().rsplit(' ').next().unwrap_or_default()
    }

    /// Whether nothing is cut from an interval.
    pub const fn has_seconds(self) -> bool {
        use IntervalFields::*;
        matches!(self, Second | DayToSecond | HourToSecond | MinuteToSecond)
    }

    /// The bits of a type's modifier that stand for them.
    pub const fn mask(self) -> i32 {
        use IntervalFields::*;
        const MONTH: i32 = 1 << 1;
        const YEAR: i32 = 1 << 2;
        const DAY: i32 = 1 << 3;
        const HOUR: i32 = 1 << 10;
        const MINUTE: i32 = 1 << 11;
        const SECOND: i32 = 1 << 12;
        match self {
            Year => YEAR,
            Month => MONTH,
            Day => DAY,
            Hour => HOUR,
            Minute => MINUTE,
            Second => SECOND,
            YearToMonth => YEAR | MONTH,
            DayToHour => DAY | HOUR,
            DayToMinute => DAY | HOUR | MINUTE,
            DayToSecond => DAY | HOUR | MINUTE | SECOND,
            HourToMinute => HOUR | MINUTE,
            HourToSecond => HOUR | MINUTE | SECOND,
            MinuteToSecond => MINUTE | SECOND,
        }
    }

    /// A text with the units that these fields give it: a number without one is of the last field. (`10:20` stays one of hours
    /// and minutes: logs have calls that read it so where it was said to be of minutes and seconds.)
    pub fn completed(self, text: &str) -> Cow<'_, str> {
        let is_number = |word: &str| word.parse::<f64>().is_ok();
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [number] if is_number(number) => Cow::Owned(format!("{number} {}", self.last())),
            // Days in front of hours.
            [days, hours] if self.last() == "hour" && is_number(days) && is_number(hours) => {
                Cow::Owned(format!("{days} day {hours} hour"))
            }
            _ => Cow::Borrowed(text),
        }
    }
}
