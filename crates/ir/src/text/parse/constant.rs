//! Constants.

use super::Parser;
use crate::text::token::Token;
use planaria_base::datetime::Interval;
use planaria_base::numeric::Long;
use planaria_base::shape::{Dimension, Shape};
use planaria_base::{Datum, Numeric, Result};

impl Parser {
    /// A constant.
    pub(super) fn datum(&mut self) -> Result<Datum> {
        match self.peek() {
            Some(Token::Quoted(_)) => self.quoted().map(Datum::Text),
            Some(Token::Number(n)) if n.ends_with('n') => {
                let n = n.trim_end_matches('n').to_owned();
                let scale = n.split_once('.').map_or(0, |(_, f)| f.len());
                let mantissa = n.replace('.', "").parse().ok();
                let value = mantissa
                    .zip(u8::try_from(scale).ok())
                    .and_then(|(mantissa, scale)| Numeric::from_parts(mantissa, scale));
                match value {
                    Some(value) => {
                        self.next += 1;
                        Ok(Datum::Numeric(value))
                    }
                    None => self.fail("a numeric out of range"),
                }
            }
            Some(Token::Number(_)) => self.number().map(Datum::Int),
            Some(Token::Sign("[")) => {
                self.next += 1;
                let mut of = Vec::new();
                while !self.sign_if("]") {
                    of.push(self.datum()?);
                    if !self.is_sign("]") {
                        self.sign(",")?;
                    }
                }
                Ok(Datum::Array(of))
            }
            Some(Token::Word(_)) => match self.word()?.as_str() {
                "null" => Ok(Datum::Null),
                "true" => Ok(Datum::Bool(true)),
                "false" => Ok(Datum::Bool(false)),
                "float" => match self.quoted()?.parse() {
                    Ok(x) => Ok(Datum::Float(x)),
                    Err(_) => self.fail("expected a float"),
                },
                "numeric" => match Long::parse(&self.quoted()?) {
                    Ok(n) => Ok(n.narrow().into()),
                    Err(_) => self.fail("expected a numeric"),
                },
                "shaped" => self.shaped(),
                "bytes" => self.hex().map(Datum::Bytea),
                "jsonb" => self.quoted().map(Datum::Jsonb),
                "citext" => self.quoted().map(Datum::Citext),
                "uuid" => match self.hex()?.try_into() {
                    Ok(u) => Ok(Datum::Uuid(u)),
                    Err(_) => self.fail("expected 16 bytes"),
                },
                "interval" => {
                    let text = self.quoted()?;
                    let mut parts = text.split(' ');
                    let mut part = || parts.next()?.parse::<i64>().ok();
                    let short = |n: i64| i32::try_from(n).ok();
                    match (part().and_then(short), part().and_then(short), part()) {
                        (Some(months), Some(days), Some(micros)) => {
                            Ok(Datum::Interval(Interval { months, days, micros }))
                        }
                        _ => self.fail("expected months, days and microseconds"),
                    }
                }
                _ => self.fail("expected a constant"),
            },
            _ => self.fail("expected a constant"),
        }
    }

    /// An array with a shape, the word taken: lower bound and length of each dimension, then the elements.
    fn shaped(&mut self) -> Result<Datum> {
        let (Datum::Array(numbers), Datum::Array(elements)) = (self.datum()?, self.datum()?) else {
            return self.fail("expected dimensions and elements");
        };
        let number = |d: &Datum| if let Datum::Int(n) = d { Some(*n) } else { None };
        let dimension = |pair: &[Datum]| {
            let lower = i32::try_from(number(pair.first()?)?).ok()?;
            Some(Dimension { lower, len: u32::try_from(number(pair.get(1)?)?).ok()? })
        };
        let dimensions: Option<Vec<Dimension>> = numbers.chunks(2).map(dimension).collect();
        match dimensions.and_then(|d| Shape::new(&d).ok().flatten()) {
            Some(shape) if shape.elements() == elements.len() => Ok(Datum::array(Some(shape), elements)),
            _ => self.fail("expected the dimensions of these elements"),
        }
    }

    fn hex(&mut self) -> Result<Vec<u8>> {
        let text = self.quoted()?;
        let bytes: Option<Vec<u8>> = (text.is_ascii() && text.len().is_multiple_of(2))
            .then(|| {
                (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
            })
            .flatten();
        bytes.map_or_else(|| self.fail("expected hexadecimal digits"), Ok)
    }
}
