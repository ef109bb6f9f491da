//! Time zones: what clocks on the wall show at an instant.
//!
//! The rules are those of the IANA database that is built in. Another release of this program may have others: what is
//! computed with them is logged as it came out, not to be computed again (`docs/design/determinism.md`).

use super::{
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_from_days, time_of_day,
};
use super::{TIMESTAMP_END, TIMESTAMP_MIN, UNIX_EPOCH_OFFSET_SECONDS, is_finite_timestamp, out_of_range};
use crate::error::{Error, Result, SqlState};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, RwLock};

/// A time zone.
#[derive(Clone, Debug)]
pub struct Zone {
    name: String,
    rules: TimeZone,
    utc: bool,
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name == other.name
    }
}

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
/// Zones that were asked for, by name in lower case.
static KNOWN: LazyLock<RwLock<HashMap<String, Arc<Zone>>>> = LazyLock::new(RwLock::default);
const UNHARMED: &str = "nobody panics while looking up";
/// There are some 600 names.
const KNOWN_MAX: usize = 1_000;

/// After so many years weekdays and leap years come again, and with them the rules of all zones.
const CYCLE_MICROS: i64 = 146_097 * MICROS_PER_DAY;
/// Timestamps that the database is asked for: years -9998 to 9998.
const ASKED: std::ops::Range<i64> = -4_380_000 * MICROS_PER_DAY..2_921_000 * MICROS_PER_DAY;

/// 22023
#[cold]
fn not_recognized(name: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
}

impl Zone {
    /// By an abbreviation that PostgreSQL knows, its name in the IANA database, or as POSIX writes one (`UTC-2`: two
    /// hours east). 22023 where it is none.
    pub fn find(name: &str) -> Result<Arc<Zone>> {
        let lower = name.to_ascii_lowercase();
        match ABBREVIATIONS.binary_search_by_key(&lower.as_str(), |(name, _)| name) {
            Ok(at) => Ok(Arc::new(Zone::fixed(&name.to_ascii_uppercase(), ABBREVIATIONS[at].1)?)),
            Err(_) => Zone::named(name).ok_or_else(|| not_recognized(name)),
        }
    }

    /// The same without abbreviations, which mean one offset whatever the date.
    pub fn named(name: &str) -> Option<Arc<Zone>> {
        let lower = name.to_ascii_lowercase();
        if let Some(zone) = KNOWN.read().expect(UNHARMED).get(&lower) {
            return Some(zone.clone());
        }
        // POSIX counts the way to UTC: `+02` is west of it. `<+02:30>-02:30` is how such a zone is shown.
        let plain = match lower.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            Some((shown, _)) => seconds_of(shown),
            None => seconds_of(&lower).map(|seconds| -seconds),
        };
        if let Some(seconds) = plain {
            return Zone::fixed(&name.to_ascii_uppercase(), seconds).ok().map(Arc::new);
        }
        let rules = match lower.as_str() {
            "z" | "zulu" => TimeZone::UTC,
            _ if !lower.is_ascii() || lower.len() > 64 => return None,
            _ => DATABASE.get(name).or_else(|_| TimeZone::posix(name)).ok()?,
        };
        let universal = ["utc", "uct", "gmt", "zulu", "universal", "greenwich", "gmt0", "gmt+0", "gmt-0"];
        let fixed = universal.contains(&lower.strip_prefix("etc/").unwrap_or(&lower))
            || rules.to_fixed_offset().is_ok_and(|offset| offset.seconds() == 0);
        let own = match rules.iana_name() {
            Some(own) => own.to_owned(),
            None if fixed && !lower.contains(['<', '+', '-']) => lower.to_ascii_uppercase(),
            None => name.to_ascii_uppercase(),
        };
        let zone = Arc::new(Zone { utc: fixed, name: own, rules });
        let mut known = KNOWN.write().expect(UNHARMED);
        if known.len() < KNOWN_MAX {
            known.insert(lower, zone.clone());
        }
        Some(zone)
    }

    /// How far it is ahead of UTC in microseconds, where that is always the same.
    pub fn fixed_offset(&self) -> Option<i64> {
        self.rules.to_fixed_offset().ok().map(|offset| i64::from(offset.seconds()) * MICROS_PER_SECOND)
    }

    /// As SET TIME ZONE has it: a name, hours east of UTC as a number, or `INTERVAL` and an offset.
    pub fn of_setting(text: &str) -> Result<Arc<Zone>> {
        let seconds = match text.strip_prefix("INTERVAL ") {
            Some(offset) => {
                let offset = super::parse_interval(offset, super::IntervalForm::Postgres)?;
                if offset.months != 0 || offset.days != 0 {
                    let mut shown = Vec::new();
                    super::write_interval(&mut shown, offset, super::Styles::default());
                    let shown = String::from_utf8_lossy(&shown).into_owned();
                    let message = format!("invalid value for parameter \"TimeZone\": \"INTERVAL '{shown}'\"");
                    let what = if offset.months != 0 { "months" } else { "days" };
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                        .with_detail(format!("Cannot specify {what} in time zone interval.")));
                }
                Some(offset.micros / MICROS_PER_SECOND)
            }
            None => text.trim().parse::<f64>().ok().map(|hours| (hours * 3600.0) as i64),
        };
        let Some(seconds) = seconds else { return Zone::named(text).ok_or_else(|| not_recognized(text)) };
        let offset = i32::try_from(seconds).map_err(|_| not_recognized(text))?;
        let mut shown = Vec::new();
        write_offset(&mut shown, i64::from(offset) * MICROS_PER_SECOND);
        let shown = String::from_utf8_lossy(&shown).into_owned();
        // What POSIX writes is the way to UTC.
        let turned = shown.replace('+', "#").replace('-', "+").replace('#', "-");
        Ok(Arc::new(Zone::fixed(&format!("<{shown}>{turned}"), offset)?))
    }

    fn fixed(name: &str, seconds: i32) -> Result<Zone> {
        let offset = jiff::tz::Offset::from_seconds(seconds).map_err(|_| not_recognized(name))?;
        Ok(Zone { name: name.to_owned(), rules: TimeZone::fixed(offset), utc: seconds == 0 })
    }

    /// As SHOW shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is UTC, by whatever name, and always was.
    pub fn is_utc(&self) -> bool {
        self.utc
    }

    /// How far its clocks are ahead of UTC at an instant, in microseconds.
    pub fn offset_at(&self, utc: i64) -> i64 {
        if self.utc || !is_finite_timestamp(utc) {
            return 0;
        }
        i64::from(self.rules.to_offset(asked(utc)).seconds()) * MICROS_PER_SECOND
    }

    /// What its clocks are called at an instant, such as `CEST`, and whether it is summer time there.
    pub fn called_at(&self, utc: i64) -> (String, bool) {
        let info = self.rules.to_offset_info(asked(utc));
        let name = info.abbreviation();
        let fixed = || match self.name.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            Some((shown, _)) => shown,
            None => &self.name,
        };
        let own = self.name.starts_with('<');
        let name = if own || name.is_empty() || self.rules.iana_name().is_none() { fixed() } else { name };
        (name.to_owned(), info.dst().is_dst())
    }

    /// What its clocks show at an instant.
    pub fn to_local(&self, utc: i64) -> Result<i64> {
        if self.utc || !is_finite_timestamp(utc) {
            return Ok(utc);
        }
        within(utc.checked_add(self.offset_at(utc)))
    }

    /// The instant at which its clocks show this. What they show twice is the later of both; what they pass over is read by
    /// the clock of before.
    pub fn to_utc(&self, local: i64) -> Result<i64> {
        if self.utc || !is_finite_timestamp(local) {
            return Ok(local);
        }
        let shown = cycled(local);
        let (year, month, day) = civil_from_days(shown.div_euclid(MICROS_PER_DAY));
        let (hour, minute, second, micros) = time_of_day(shown.rem_euclid(MICROS_PER_DAY));
        let [month, day, hour, minute, second] =
            [i64::from(month), i64::from(day), hour, minute, second].map(|part| part as i8);
        let shown = DateTime::new(year as i16, month, day, hour, minute, second, micros as i32 * 1_000)
            .map_err(|_| out_of_range("timestamp out of range"))?;
        let offset = match self.rules.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } => after,
        };
        within(local.checked_sub(i64::from(offset.seconds()) * MICROS_PER_SECOND))
    }
}

/// `+02`, `-03:30`, `+00:34:08`: in seconds.
fn seconds_of(text: &str) -> Option<i32> {
    let (sign, digits) = match text.as_bytes() {
        [b'+', ..] => (1, &text[1..]),
        [b'-', ..] => (-1, &text[1..]),
        _ => return None,
    };
    let mut seconds = 0;
    let mut unit = 3600;
    for part in digits.split(':') {
        if part.is_empty() || part.len() > 2 || unit == 0 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        seconds += part.parse::<i32>().ok()? * unit;
        unit /= 60;
    }
    Some(sign * seconds)
}

/// All names of the database.
pub fn names() -> impl Iterator<Item = String> {
    DATABASE.available().map(|name| name.as_str().to_owned())
}

/// Abbreviations and their offsets in seconds, in rising order.
pub fn abbreviations() -> &'static [(&'static str, i32)] {
    ABBREVIATIONS
}

/// Appends an offset as ISO 8601 has it, as short as it is.
pub fn write_offset(out: &mut Vec<u8>, offset: i64) {
    use std::io::Write;
    let sign = if offset < 0 { '-' } else { '+' };
    let micros = offset.abs();
    let _ = write!(out, "{sign}{:02}", micros / MICROS_PER_HOUR);
    let (minutes, seconds) = (micros / MICROS_PER_MINUTE % 60, micros / MICROS_PER_SECOND % 60);
    if minutes != 0 || seconds != 0 {
        let _ = write!(out, ":{minutes:02}");
    }
    if seconds != 0 {
        let _ = write!(out, ":{seconds:02}");
    }
}

/// The same, with its minutes in any case.
pub(super) fn write_long_offset(out: &mut Vec<u8>, offset: i64) {
    write_offset(out, offset);
    if offset % MICROS_PER_HOUR == 0 {
        out.extend_from_slice(b":00");
    }
}

/// The same moment of another cycle, where the database says nothing of this one.
fn cycled(micros: i64) -> i64 {
    if ASKED.contains(&micros) {
        return micros;
    }
    let cycles = if micros < ASKED.start {
        (micros - ASKED.start).div_euclid(CYCLE_MICROS)
    } else {
        (micros - ASKED.end).div_euclid(CYCLE_MICROS) + 1
    };
    micros - cycles * CYCLE_MICROS
}

fn asked(utc: i64) -> Timestamp {
    let micros = cycled(utc) + UNIX_EPOCH_OFFSET_SECONDS * MICROS_PER_SECOND;
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn within(micros: Option<i64>) -> Result<i64> {
    micros
        .filter(|t| (TIMESTAMP_MIN..TIMESTAMP_END).contains(t))
        .ok_or_else(|| out_of_range("timestamp out of range"))
}

/// As PostgreSQL 15 has them by default; of those that changed in time, the offset of today.
#[rustfmt::skip]
const ABBREVIATIONS: &[(&str, i32)] = &[
    ("acdt", 37800), ("acsst", 37800), ("acst", 34200), ("act", -18000), ("acwst", 31500), ("adt", -10800),
    ("aedt", 39600), ("aesst", 39600), ("aest", 36000), ("aft", 16200), ("akdt", -28800), ("akst", -32400),
    ("almst", 25200), ("almt", 21600), ("amst", 14400), ("amt", -14400), ("anast", 43200), ("anat", 43200),
    ("arst", -10800), ("art", -10800), ("ast", -14400), ("awsst", 32400), ("awst", 28800), ("azost", 0),
    ("azot", -3600), ("azst", 14400), ("azt", 14400), ("bdst", 7200), ("bdt", 21600), ("bnt", 28800),
    ("bort", 28800), ("bot", -14400), ("bra", -10800), ("brst", -7200), ("brt", -10800), ("bst", 3600),
    ("btt", 21600), ("cadt", 37800), ("cast", 34200), ("cct", 28800), ("cdt", -18000), ("cest", 7200),
    ("cet", 3600), ("cetdst", 7200), ("chadt", 49500), ("chast", 45900), ("chut", 36000), ("ckt", -36000),
    ("clst", -10800), ("clt", -10800), ("cot", -18000), ("cst", -21600), ("cxt", 25200), ("davt", 25200),
    ("ddut", 36000), ("easst", -18000), ("east", -18000), ("eat", 10800), ("edt", -14400), ("eest", 10800),
    ("eet", 7200), ("eetdst", 10800), ("egst", 0), ("egt", -3600), ("est", -18000), ("fet", 10800),
    ("fjst", 46800), ("fjt", 43200), ("fkst", -10800), ("fkt", -10800), ("fnst", -3600), ("fnt", -7200),
    ("galt", -21600), ("gamt", -32400), ("gest", 14400), ("get", 14400), ("gft", -10800), ("gilt", 43200),
    ("gmt", 0), ("gyt", -14400), ("hkt", 28800), ("hst", -36000), ("ict", 25200), ("idt", 10800),
    ("iot", 21600), ("irkst", 28800), ("irkt", 28800), ("irt", 12600), ("ist", 7200), ("jayt", 32400),
    ("jst", 32400), ("kdt", 36000), ("kgst", 21600), ("kgt", 21600), ("kost", 39600), ("krast", 25200),
    ("krat", 25200), ("kst", 32400), ("lhdt", 39600), ("lhst", 37800), ("ligt", 36000), ("lint", 50400),
    ("lkt", 19800), ("magst", 39600), ("magt", 39600), ("mart", -34200), ("mawt", 18000), ("mdt", -21600),
    ("mest", 7200), ("mesz", 7200), ("met", 3600), ("metdst", 7200), ("mez", 3600), ("mht", 43200),
    ("mmt", 23400), ("mpt", 36000), ("msd", 14400), ("msk", 10800), ("mst", -25200), ("must", 18000),
    ("mut", 14400), ("mvt", 18000), ("myt", 28800), ("ndt", -9000), ("nft", -12600), ("novst", 25200),
    ("novt", 25200), ("npt", 20700), ("nst", -12600), ("nut", -39600), ("nzdt", 46800), ("nzst", 43200),
    ("nzt", 43200), ("omsst", 21600), ("omst", 21600), ("pdt", -25200), ("pet", -18000), ("petst", 43200),
    ("pett", 43200), ("pgt", 36000), ("pht", 28800), ("pkst", 21600), ("pkt", 18000), ("pmdt", -7200),
    ("pmst", -10800), ("pont", 39600), ("pst", -28800), ("pwt", 32400), ("pyst", -10800), ("pyt", -10800),
    ("ret", 14400), ("sadt", 37800), ("sast", 7200), ("sct", 14400), ("sgt", 28800), ("taht", -36000),
    ("tft", 18000), ("tjt", 18000), ("tkt", 46800), ("tmt", 18000), ("tot", 46800), ("trut", 36000),
    ("tvt", 43200), ("uct", 0), ("ulast", 32400), ("ulat", 28800), ("ut", 0), ("utc", 0), ("uyst", -7200),
    ("uyt", -10800), ("uzst", 21600), ("uzt", 18000), ("vet", -14400), ("vlast", 36000), ("vlat", 36000),
    ("volt", 10800), ("vut", 39600), ("wadt", 28800), ("wakt", 43200), ("wast", 25200), ("wat", 3600),
    ("wdt", 32400), ("wet", 0), ("wetdst", 3600), ("wft", 43200), ("wgst", -7200), ("wgt", -10800),
    ("xjt", 21600), ("yakst", 32400), ("yakt", 32400), ("yapt", 36000), ("yekst", 21600), ("yekt", 18000),
    ("z", 0), ("zulu", 0),
];
