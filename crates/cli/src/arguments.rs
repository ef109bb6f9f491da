//! Parsers of arguments that several commands take.

use clap::builder::RangedU64ValueParser;
use serde::{Deserialize, Deserializer};
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
            _ => return Err(format!("there is no unit \"{unit}\"; there are us, ms, s, min, h and d")),
        };
        let wrong = || format!("\"{text}\" is no time; say 5s, 500ms or 5min");
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
            _ => return Err(format!("there is no unit \"{unit}\"; there are B, kB, MB, GB and TB")),
        };
        let wrong = || format!("\"{text}\" is no amount of memory; say 512MB or 8GB");
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
        for wrong in ["", "s", "-1", "5 weeks", "1e400"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
