//! `DateStyle`, `IntervalStyle`, `bytea_output` and `extra_float_digits`: how dates, intervals, bytes and floats are written, and how
//! dates and intervals are read that can be read in several ways.

use super::Zone;
use crate::text_io;

/// How dates and timestamps are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DateForm {
    /// `2024-01-31 10:00:00+01`
    #[default]
    Iso,
    /// `01/31/2024 10:00:00 CET`
    Sql,
    /// `Wed Jan 31 10:00:00 2024 CET`
    Postgres,
    /// `31.01.2024 10:00:00 CET`
    German,
}

/// Which number of a date is what, where the text does not say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

impl DateOrder {
    /// All of them.
    pub const ALL: [DateOrder; 3] = [DateOrder::Mdy, DateOrder::Dmy, DateOrder::Ymd];
}

/// How intervals are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IntervalForm {
    /// `1 year 2 mons -3 days +04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 -3 +4:05:06`
    SqlStandard,
    /// `P1Y2M-3DT4H5M6S`
    Iso8601,
}

/// How bytes are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BytesForm {
    /// `\x610062`
    #[default]
    Hex,
    /// `a\000b`
    Escape,
}

/// The settings of a session that values are shown by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Styles {
    /// How dates are written.
    pub dates: DateForm,
    /// How they are read, and written where both orders are usual.
    pub order: DateOrder,
    /// How intervals are written, and their signs read.
    pub intervals: IntervalForm,
    /// How bytes are written.
    pub bytes: BytesForm,
    /// How floats are written: 0: by the fewest digits that read back; n: by so many less one fewer than the 15 that a double
    /// always keeps, or the 6 of a real.
    pub fewer_digits: u8,
}

/// What texts of dates, times and intervals depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forms<'z> {
    /// The clocks of whoever reads and writes; `None` is UTC.
    pub zone: Option<&'z Zone>,
    /// Their styles.
    pub styles: Styles,
}

impl Styles {
    /// What is so where nobody says anything.
    pub const DEFAULT: Styles = Styles {
        dates: DateForm::Iso,
        order: DateOrder::Mdy,
        intervals: IntervalForm::Postgres,
        bytes: BytesForm::Hex,
        fewer_digits: 0,
    };

    /// Whether everything is as where nobody says anything.
    #[inline]
    pub fn is_default(self) -> bool {
        self == Styles::DEFAULT
    }

    /// Whether a text may mean something else than by default.
    #[inline]
    pub fn reads_otherwise(self) -> bool {
        self.order != DateOrder::Mdy || self.intervals == IntervalForm::SqlStandard
    }

    /// Whether a date or an interval may be written otherwise than by default.
    #[inline]
    pub fn writes_otherwise(self) -> bool {
        self.dates != DateForm::Iso || self.intervals != IntervalForm::Postgres
    }

    /// `DateStyle`, as SHOW shows it.
    pub fn shown_dates(self) -> &'static str {
        use DateForm::{German, Iso, Postgres, Sql};
        use DateOrder::{Dmy, Mdy, Ymd};
        match (self.dates, self.order) {
            (Iso, Mdy) => "ISO, MDY",
            (Iso, Dmy) => "ISO, DMY",
            (Iso, Ymd) => "ISO, YMD",
            (Sql, Mdy) => "SQL, MDY",
            (Sql, Dmy) => "SQL, DMY",
            (Sql, Ymd) => "SQL, YMD",
            (Postgres, Mdy) => "Postgres, MDY",
            (Postgres, Dmy) => "Postgres, DMY",
            (Postgres, Ymd) => "Postgres, YMD",
            (German, Mdy) => "German, MDY",
            (German, Dmy) => "German, DMY",
            (German, Ymd) => "German, YMD",
        }
    }

    /// With what a text makes of `DateStyle`; what it does not say stays as it is, and DEFAULT is what `reset` is. Errors
    /// are what PostgreSQL says in detail.
    pub fn with_dates(self, text: &str, reset: Styles) -> Result<Styles, String> {
        let words = words(text).ok_or("List syntax is invalid.")?;
        let (mut new, mut form, mut order) = (self, None, None);
        let mut conflict = false;
        for word in words {
            let upper = word.to_ascii_uppercase();
            let mut of_form = |is| {
                conflict |= form.is_some_and(|form| form != is);
                form = Some(is);
            };
            let is = match &*upper {
                "ISO" => {
                    of_form(DateForm::Iso);
                    continue;
                }
                "SQL" => {
                    of_form(DateForm::Sql);
                    continue;
                }
                "GERMAN" => {
                    of_form(DateForm::German);
                    // It brings its order along, but for who says another.
                    if order.is_none() {
                        new.order = DateOrder::Dmy;
                    }
                    continue;
                }
                _ if upper.starts_with("POSTGRES") => {
                    of_form(DateForm::Postgres);
                    continue;
                }
                "YMD" => DateOrder::Ymd,
                "DMY" => DateOrder::Dmy,
                _ if upper.starts_with("EURO") => DateOrder::Dmy,
                "MDY" | "US" => DateOrder::Mdy,
                _ if upper.starts_with("NONEURO") => DateOrder::Mdy,
                "DEFAULT" => {
                    if form.is_none() {
                        new.dates = reset.dates;
                    }
                    if order.is_none() {
                        new.order = reset.order;
                    }
                    continue;
                }
                _ => return Err(format!("Unrecognized key word: \"{word}\".")),
            };
            conflict |= order.is_some_and(|order| order != is);
            order = Some(is);
        }
        if conflict {
            return Err("Conflicting \"datestyle\" specifications.".to_owned());
        }
        new.dates = form.unwrap_or(new.dates);
        new.order = order.unwrap_or(new.order);
        Ok(new)
    }

    /// `IntervalStyle`, as SHOW shows it.
    pub fn shown_intervals(self) -> &'static str {
        match self.intervals {
            IntervalForm::Postgres => "postgres",
            IntervalForm::PostgresVerbose => "postgres_verbose",
            IntervalForm::SqlStandard => "sql_standard",
            IntervalForm::Iso8601 => "iso_8601",
        }
    }

    /// With an `IntervalStyle`; `None` where it is none.
    pub fn with_intervals(self, text: &str) -> Option<Styles> {
        let intervals = match &*text.to_ascii_lowercase() {
            "postgres" => IntervalForm::Postgres,
            "postgres_verbose" => IntervalForm::PostgresVerbose,
            "sql_standard" => IntervalForm::SqlStandard,
            "iso_8601" => IntervalForm::Iso8601,
            _ => return None,
        };
        Some(Styles { intervals, ..self })
    }

    /// With an `extra_float_digits`; `None` where it is none.
    pub fn with_float_digits(self, text: &str) -> Option<Styles> {
        let digits = text.parse::<i8>().ok().filter(|digits| (-15..=3).contains(digits))?;
        Some(Styles { fewer_digits: if digits > 0 { 0 } else { digits.unsigned_abs() + 1 }, ..self })
    }

    /// With a `bytea_output`; `None` where it is none.
    pub fn with_bytes(self, text: &str) -> Option<Styles> {
        let bytes = match &*text.to_ascii_lowercase() {
            "hex" => BytesForm::Hex,
            "escape" => BytesForm::Escape,
            _ => return None,
        };
        Some(Styles { bytes, ..self })
    }
}

/// Words with commas between them, in quotes or not; `None` where that is not what the text is.
fn words(text: &str) -> Option<Vec<String>> {
    let mut rest = text_io::trim(text);
    let mut words = Vec::new();
    if rest.is_empty() {
        return Some(words);
    }
    loop {
        let (word, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (word, behind) = quoted.split_once('"')?;
                (word.to_owned(), behind)
            }
            None => {
                let end = rest.find(|c: char| c == ',' || c.is_ascii_whitespace()).unwrap_or(rest.len());
                (rest[..end].to_ascii_lowercase(), &rest[end..])
            }
        };
        if word.is_empty() {
            return None;
        }
        words.push(word);
        let behind = text_io::trim(behind);
        if behind.is_empty() {
            return Some(words);
        }
        rest = text_io::trim(behind.strip_prefix(',')?);
    }
}

impl<'z> Forms<'z> {
    /// Those of a zone, with the styles that are so where nobody says anything.
    pub const fn of_zone(zone: Option<&'z Zone>) -> Forms<'z> {
        Forms { zone, styles: Styles::DEFAULT }
    }
}

impl From<Styles> for Forms<'_> {
    fn from(styles: Styles) -> Self {
        Forms { zone: None, styles }
    }
}
