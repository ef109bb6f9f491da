//! Parsers of arguments that several commands take.

use clap::builder::RangedU64ValueParser;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A number of threads, turns and the like: 1 at least.
pub fn positive() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// A time: seconds, or a number with a unit as PostgreSQL's settings take it: `200us`, `500ms`, `5s`, `5min`, `1h`, `1d`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time(pub Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Time, String> {
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let seconds = match unit {
            "us" => 0.000_001,
            "ms" => 0.001,
            "" | "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return Err(format!("there is no unit \"{unit}\"; units are us, ms, s, min, h and d")),
        };
        let wrong = || format!("\"{text}\" is not a duration; write 5s, 500ms or 5min");
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        Duration::try_from_secs_f64(number * seconds).map(Time).map_err(|_| wrong())
    }
}

/// An amount of memory: bytes, or a number with a unit as PostgreSQL's settings take it: `512MB`, `8GB`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let shift = match unit {
            "" | "B" => 0,
            "kB" => 10,
            "MB" => 20,
            "GB" => 30,
            "TB" => 40,
            _ => return Err(format!("there is no unit \"{unit}\"; units are B, kB, MB, GB and TB")),
        };
        let wrong = || format!("\"{text}\" is not an amount of memory; write 512MB or 8GB");
        let number: u64 = number.trim().parse().map_err(|_| wrong())?;
        number.checked_mul(1 << shift).map(Size).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Bytes(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Bytes(bytes) => Ok(Size(bytes)),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Seconds(f64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Seconds(seconds) => seconds.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// In the largest unit that it is a multiple of.
fn in_units(f: &mut fmt::Formatter<'_>, number: u128, units: &[(&str, u128)]) -> fmt::Result {
    let fits = units.iter().find(|(_, size)| number > 0 && number.is_multiple_of(*size));
    match fits {
        Some((unit, size)) => write!(f, "{}{unit}", number / size),
        None => write!(f, "{number}"),
    }
}

const TIMES: [(&str, u128); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_units(f, self.0.as_micros(), &TIMES)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)];
        in_units(f, self.0.into(), &units)
    }
}

/// How long a statement has to take to be logged; `None`: none is. As PostgreSQL's settings take it: milliseconds, or a
/// number with a unit; -1 for none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogFrom(pub Option<Duration>);

impl FromStr for LogFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<LogFrom, String> {
        let text = text.trim();
        if text == "-1" {
            return Ok(LogFrom(None));
        }
        let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
        let time = if has_unit { text.parse::<Time>() } else { format!("{text}ms").parse::<Time>() };
        time.map(|time| LogFrom(Some(time.0)))
    }
}

impl fmt::Display for LogFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) => Time(time).fmt(f),
            None => f.write_str("-1"),
        }
    }
}

impl<'de> Deserialize<'de> for LogFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LogFrom, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Milliseconds(f64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Milliseconds(number) => number.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

macro_rules! written_as_shown {
    ($($ty:ty)*) => { $(impl Serialize for $ty {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    })* };
}
written_as_shown!(Time Size LogFrom);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let size = |text: &str| text.parse::<Size>().map(|s| s.0);
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("16kB"), Ok(16 << 10));
        assert_eq!(size("512 MB"), Ok(512 << 20));
        assert_eq!(size("8GB"), Ok(8 << 30));
        for wrong in ["", "GB", "-1", "8gb", "1.5GB", "99999999999TB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        let time = |text: &str| text.parse::<Time>().map(|t| t.0.as_millis());
        assert_eq!(time("5"), Ok(5_000));
        assert_eq!(time("0.25"), Ok(250));
        assert_eq!(time("500ms"), Ok(500));
        assert_eq!(time(" 5 s"), Ok(5_000));
        assert_eq!(time("2min"), Ok(120_000));
        assert_eq!(time("1h"), Ok(3_600_000));
        let shown = |text: &str| text.parse::<Time>().map(|t| t.to_string());
        assert_eq!(
            ["300", "0.25", "90s", "2h", "0"].map(|t| shown(t).expect("a time")),
            ["5min", "250ms", "90s", "2h", "0"]
        );
        let from = |text: &str| text.parse::<LogFrom>().map(|t| t.0.map(|t| t.as_millis()));
        assert_eq!(
            ["-1", "0", "250", "2s"].map(from),
            [Ok(None), Ok(Some(0)), Ok(Some(250)), Ok(Some(2_000))]
        );
        assert!(from("-2").is_err() && from("soon").is_err());
        for wrong in ["", "s", "-1", "5 weeks", "1e400"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
