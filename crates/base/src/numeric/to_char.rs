//! `to_char(numeric, template)`.
//!
//! Digits `9` and `0`, the point (`.`, `D`), group separators (`,`, `G`), `FM`, a sign by `S` at
//! either end or `MI` at the end. The rest (currency, roman, exponents, quoted text) is 0A000.

use super::Numeric;
use crate::error::{Error, Result};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// A blank or minus directly before the number.
    Floating,
    /// `S` in front: plus or minus directly before the number.
    Leading,
    /// `S` behind: plus or minus.
    Trailing,
    /// `MI` behind: blank or minus.
    TrailingMinus,
}

#[derive(Clone, Copy)]
enum Place {
    Nine,
    Zero,
    Group,
    Point,
}

struct Template {
    places: Vec<Place>,
    fill: bool,
    sign: Sign,
    /// Digit places before and after the point.
    before: usize,
    after: usize,
    has_point: bool,
}

#[cold]
fn unsupported(template: &str) -> Error {
    Error::unsupported(
        format!("template \"{template}\" of to_char is not supported"),
        "The patterns 9 0 . , D G FM S and trailing MI are supported.",
    )
}

fn parse(template: &str) -> Result<Template> {
    let mut parsed = Template {
        places: Vec::new(),
        fill: true,
        sign: Sign::Floating,
        before: 0,
        after: 0,
        has_point: false,
    };
    let mut rest = template;
    if let Some(tail) = strip(rest, "FM") {
        (parsed.fill, rest) = (false, tail);
    }
    if let Some(tail) = strip(rest, "S") {
        (parsed.sign, rest) = (Sign::Leading, tail);
    }
    while let Some(first) = rest.bytes().next() {
        match first.to_ascii_uppercase() {
            b'9' | b'0' => {
                parsed.places.push(if first == b'0' { Place::Zero } else { Place::Nine });
                *(if parsed.has_point { &mut parsed.after } else { &mut parsed.before }) += 1;
            }
            b'.' | b'D' if !parsed.has_point => {
                parsed.has_point = true;
                parsed.places.push(Place::Point);
            }
            b',' | b'G' if !parsed.has_point => parsed.places.push(Place::Group),
            _ => {
                let trailing = [("S", Sign::Trailing), ("MI", Sign::TrailingMinus)];
                let found = trailing.into_iter().find(|(word, _)| strip(rest, word) == Some(""));
                parsed.sign = match found {
                    Some((_, sign)) if parsed.sign == Sign::Floating => sign,
                    _ => return Err(unsupported(template)),
                };
                break;
            }
        }
        rest = &rest[1..];
    }
    if parsed.before + parsed.after == 0 { Err(unsupported(template)) } else { Ok(parsed) }
}

fn strip<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

impl Numeric {
    /// Appends the number by a template.
    pub fn to_char(self, out: &mut Vec<u8>, template: &str) -> Result<()> {
        let template = parse(template)?;
        let rounded = self.round(template.after as i32)?;
        let mut text = Vec::new();
        rounded.abs().write(&mut text);
        let (whole, fraction) = match text.iter().position(|b| *b == b'.') {
            Some(point) => (&text[..point], &text[point + 1..]),
            None => (&text[..], &b""[..]),
        };
        let whole = if whole == b"0" { &b""[..] } else { whole };
        let mut body = Vec::new();
        let start = template.write_digits(&mut body, whole, fraction);
        template.write_signed(out, &body, start, rounded.mantissa < 0);
        Ok(())
    }
}

impl Template {
    /// Appends blanks, digits, separators; returns where the number starts, blanks before it.
    fn write_digits(&self, body: &mut Vec<u8>, whole: &[u8], fraction: &[u8]) -> usize {
        let too_large = whole.len() > self.before;
        let is_zero = |place: &&Place| matches!(place, Place::Zero);
        let digit_places = || self.places.iter().filter(|p| matches!(p, Place::Nine | Place::Zero));
        // From the first 0 on, zeros are shown; up to the last one, zeros of the fraction are kept.
        let first_zero = digit_places().position(|p| is_zero(&p)).unwrap_or(usize::MAX);
        let last_zero = digit_places().enumerate().filter(|(_, p)| is_zero(p)).map(|(i, _)| i).last();
        let last_shown = fraction.iter().rposition(|b| *b != b'0').map(|i| i + self.before);
        let blank = self.before.saturating_sub(whole.len());
        let (mut start, mut started, mut at) = (0, false, 0);
        for place in &self.places {
            match place {
                Place::Nine | Place::Zero if at < self.before => {
                    // A whole number of no digits shows its last place as 0, unless a point follows.
                    let last_of_whole = at + 1 == self.before
                        && whole.is_empty()
                        && (!self.has_point
                            || self.after == 0
                            || !self.fill && fraction.iter().all(|b| *b == b'0'));
                    let shown = at >= blank || at >= first_zero || last_of_whole;
                    if shown && !started {
                        (started, start) = (true, body.len());
                    }
                    match (shown, too_large) {
                        (_, true) => {
                            started = true;
                            body.push(b'#');
                        }
                        (true, _) => body.push(if at >= blank { whole[at - blank] } else { b'0' }),
                        (false, _) if self.fill => body.push(b' '),
                        _ => {}
                    }
                    at += 1;
                }
                Place::Nine | Place::Zero => {
                    let kept = self.fill || Some(at) <= last_zero || Some(at) <= last_shown;
                    match (too_large, kept) {
                        (true, _) => body.push(b'#'),
                        (_, true) => body.push(fraction[at - self.before]),
                        _ => {}
                    }
                    at += 1;
                }
                Place::Group if started => body.push(b','),
                Place::Group if self.fill => body.push(b' '),
                Place::Group => {}
                Place::Point => {
                    if !started {
                        (started, start) = (true, body.len());
                    }
                    // A point that no digit place follows is not written.
                    if self.after > 0 || too_large {
                        body.push(b'.');
                    }
                }
            }
        }
        start
    }

    fn write_signed(&self, out: &mut Vec<u8>, body: &[u8], start: usize, negative: bool) {
        let (blanks, number) = body.split_at(start);
        match self.sign {
            Sign::Floating | Sign::Leading => {
                out.extend_from_slice(blanks);
                match (negative, self.sign, self.fill) {
                    (true, ..) => out.push(b'-'),
                    (_, Sign::Leading, _) => out.push(b'+'),
                    (_, _, true) => out.push(b' '),
                    _ => {}
                }
                out.extend_from_slice(number);
            }
            Sign::Trailing | Sign::TrailingMinus => {
                out.extend_from_slice(body);
                match (negative, self.sign, self.fill) {
                    (true, ..) => out.push(b'-'),
                    (_, Sign::Trailing, _) => out.push(b'+'),
                    (_, _, true) => out.push(b' '),
                    _ => {}
                }
            }
        }
    }
}
