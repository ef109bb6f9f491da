//! `to_char` of numbers.

use super::template::{Anchor, Node, Pattern, Template};
use super::{Long, Numeric};
use crate::error::{Error, Result, SqlState};
use crate::{text_io, watch};

/// A number as its template wants it.
struct Digits {
    negative: bool,
    /// With as many digits behind a point as the template has; `#`s where there is no place for them.
    text: Vec<u8>,
    /// Places before it that it leaves empty.
    empty: usize,
}

impl Digits {
    /// Of a text that has as many digits behind the point as it is to have.
    fn new(template: &Template, text: Vec<u8>) -> Digits {
        let negative = text.first() == Some(&b'-');
        let text = if negative { text[1..].to_vec() } else { text };
        let whole = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
        if whole > template.before {
            let mut full = vec![b'#'; template.before + template.after + 1];
            full[template.before] = b'.';
            return Digits { negative, text: full, empty: 0 };
        }
        Digits { negative, text, empty: template.before - whole }
    }
}

impl Numeric {
    /// Appends the number by a template.
    pub fn to_char(self, out: &mut Vec<u8>, template: &str) -> Result<()> {
        let template = parsed(template)?;
        let small = || Ok(self.round(0)?.to_i64());
        Plain::from(self).to_char(out, template, small)
    }
}

impl Long {
    /// Appends the number by a template.
    pub fn to_char(&self, out: &mut Vec<u8>, template: &str) -> Result<()> {
        let mut template = parsed(template)?;
        let small = || self.to_i64("integer");
        if let Long::Finite(n) = self {
            let plain = Plain { negative: n.signum() < 0, digits: n.digits(), scale: n.scale() as usize };
            return plain.to_char(out, template, small);
        }
        if template.roman {
            small()?;
        }
        if template.exponent {
            return no_exponent(out, &template);
        }
        template.before += template.shift;
        write(out, &template, &Digits::new(&template, self.to_string().into_bytes()))
    }
}

/// A number by its digits.
struct Plain {
    negative: bool,
    digits: String,
    scale: usize,
}

impl From<Numeric> for Plain {
    fn from(n: Numeric) -> Plain {
        let digits = n.mantissa().unsigned_abs().to_string();
        Plain { negative: n.signum() < 0, digits, scale: usize::from(n.scale()) }
    }
}

impl Plain {
    /// `small`: the number rounded to a whole one, where 64 bits have room.
    fn to_char(
        &self,
        out: &mut Vec<u8>,
        mut template: Template,
        small: impl Fn() -> Result<Option<i64>>,
    ) -> Result<()> {
        if template.roman {
            let number = small()?.and_then(|n| i32::try_from(n).ok());
            return roman(out, &template, i64::from(number.ok_or_else(integer_out_of_range)?));
        }
        if template.exponent {
            let text = self.scientific(template.after);
            return exponent(out, text);
        }
        template.before += template.shift;
        let text = self.shifted(template.shift, template.after);
        write(out, &template, &Digits::new(&template, text))
    }

    /// Its text times a power of ten, rounded to so many digits.
    fn shifted(&self, shift: usize, digits: usize) -> Vec<u8> {
        let mut all = self.digits.clone();
        let scale = self.scale;
        all.extend(std::iter::repeat_n('0', (shift + digits).saturating_sub(scale)));
        // As many digits too many, which are rounded away.
        let extra = scale.saturating_sub(shift + digits);
        let all = rounded(&all, extra);
        // Formatting pads to 65535 characters at most, templates may be longer.
        let all = all.trim_start_matches('0');
        let all = "0".repeat((digits + 1).saturating_sub(all.len())) + all;
        let (whole, fraction) = all.split_at(all.len() - digits);
        let negative = self.negative && all.bytes().any(|b| b != b'0');
        let (sign, point) = (if negative { "-" } else { "" }, if digits > 0 { "." } else { "" });
        format!("{sign}{whole}{point}{fraction}").into_bytes()
    }

    /// As a digit, a point, so many digits, and the exponent of ten.
    fn scientific(&self, digits: usize) -> String {
        let (all, is_zero) = (&self.digits, self.digits == "0");
        let sign = if self.negative { "-" } else { "" };
        let power = if is_zero { 0 } else { all.len() as i64 - 1 - self.scale as i64 };
        let extra = all.len().saturating_sub(digits + 1);
        let mut shown = rounded(all, extra);
        if is_zero {
            shown = "0".to_owned();
        }
        // Of 9.96 with a digit that is 10.0: what is rounded has its power already.
        let whole = if shown.len() > all.len() - extra { 2 } else { 1 };
        shown.extend(std::iter::repeat_n('0', (whole + digits).saturating_sub(shown.len())));
        let (whole, fraction) = shown.split_at(whole);
        let point = if digits > 0 { "." } else { "" };
        format!("{sign}{whole}{point}{fraction}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
    }
}

/// Digits without the last of them, rounded half up.
fn rounded(digits: &str, without: usize) -> String {
    if without > digits.len() {
        return "0".to_owned();
    }
    let (kept, rest) = digits.split_at(digits.len() - without);
    let up = rest.bytes().next().is_some_and(|b| b >= b'5');
    let mut kept: Vec<u8> = if kept.is_empty() { vec![b'0'] } else { kept.as_bytes().to_vec() };
    if up {
        for at in (0..kept.len()).rev() {
            if kept[at] != b'9' {
                kept[at] += 1;
                return String::from_utf8_lossy(&kept).into_owned();
            }
            kept[at] = b'0';
        }
        kept.insert(0, b'1');
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Appends a whole number of 32 or 64 bits by a template.
pub fn int_to_char(out: &mut Vec<u8>, number: i64, bits: i64, template: &str) -> Result<()> {
    let mut template = parsed(template)?;
    if template.roman {
        let number = i32::try_from(number).map_err(|_| integer_out_of_range())?;
        return roman(out, &template, i64::from(number));
    }
    if template.exponent && bits == 32 {
        return exponent(out, scientific(number as f64, template.after));
    }
    if template.exponent {
        return exponent(out, Plain::from(Numeric::from_i64(number)).scientific(template.after));
    }
    let power = || 10i64.checked_pow(template.shift as u32).and_then(|power| number.checked_mul(power));
    let number = match template.shift {
        0 => number,
        // PostgreSQL multiplies within 32 bits.
        _ if bits == 32 => {
            let power = 10f64.powi(template.shift.min(400) as i32) as i32;
            i64::from((number as i32).wrapping_mul(power))
        }
        _ => {
            power().ok_or_else(|| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range"))?
        }
    };
    template.before += template.shift;
    let mut text = Vec::new();
    text_io::write_int(&mut text, number);
    if template.after > 0 {
        text.push(b'.');
        text.resize(text.len() + template.after, b'0');
    }
    write(out, &template, &Digits::new(&template, text))
}

/// Appends a float by a template; a float has 15 digits, a real 6.
pub fn float_to_char(out: &mut Vec<u8>, number: f64, real: bool, template: &str) -> Result<()> {
    let mut template = parsed(template)?;
    if template.roman {
        return roman(out, &template, number.round_ties_even() as i64);
    }
    if template.exponent {
        if number.is_finite() {
            return exponent(out, scientific(number, template.after));
        }
        return no_exponent(out, &template);
    }
    let mut number = number;
    if template.shift > 0 {
        let power = 10f64.powi(template.shift.min(400) as i32);
        number = if real { f64::from(number as f32 * power as f32) } else { number * power };
    }
    template.before += template.shift;
    let shown = |number: f64, digits: usize| match number {
        n if n.is_nan() => "NaN".to_owned(),
        n if n.is_infinite() => if n < 0.0 { "-Infinity" } else { "Infinity" }.to_owned(),
        n => format!("{n:.digits$}"),
    };
    let (whole, most) = (shown(number.abs(), 0).len(), if real { 6 } else { 15 });
    template.after = template.after.min(most.max(whole) - whole);
    let text = shown(number, template.after).into_bytes();
    write(out, &template, &Digits::new(&template, text))
}

/// NaN and infinity have no exponent.
fn no_exponent(out: &mut Vec<u8>, template: &Template) -> Result<()> {
    let mut full = vec![b'#'; template.before + template.after + 6];
    full[0] = b' ';
    full[template.before + 1] = b'.';
    out.extend_from_slice(&full);
    Ok(())
}

fn parsed(template: &str) -> Result<Template> {
    watch::count(template.len());
    Template::parse(template)
}

#[cold]
fn integer_out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")
}

/// As `%e` of C has it.
fn scientific(number: f64, digits: usize) -> String {
    // No float has more digits than that.
    let kept = digits.min(2000);
    let text = format!("{number:.kept$e}");
    let (shown, power) = text.split_once('e').unwrap_or((&text, "0"));
    let zeros = "0".repeat(digits - kept);
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{shown}{zeros}e{sign}{power:0>2}")
}

/// A number with an exponent is all that is shown.
fn exponent(out: &mut Vec<u8>, text: String) -> Result<()> {
    if !text.starts_with('-') {
        out.push(b' ');
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn roman(out: &mut Vec<u8>, template: &Template, number: i64) -> Result<()> {
    const LETTERS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    let mut rest = number;
    if (1..4000).contains(&number) {
        for (value, letters) in LETTERS {
            while rest >= value {
                text.push_str(letters);
                rest -= value;
            }
        }
    } else {
        text = "#".repeat(15);
    }
    // Digits and signs are not shown.
    let reduced = Template { roman: true, no_fill: template.no_fill, ..Template::default() };
    let mut writer = Writer::new(&reduced, text.as_bytes(), 0, b'\0');
    writer.all(out, &template.nodes)
}

fn write(out: &mut Vec<u8>, template: &Template, digits: &Digits) -> Result<()> {
    let sign = if digits.negative { b'-' } else { b'+' };
    Writer::new(template, &digits.text, digits.empty, sign).all(out, &template.nodes)
}

/// The way through a template.
struct Writer<'a> {
    template: &'a Template,
    number: &'a [u8],
    /// The next of its characters.
    at: usize,
    empty: usize,
    sign: u8,
    sign_written: bool,
    brackets: bool,
    anchor: Anchor,
    /// The last digit behind the point that says something, or the point.
    last: Option<usize>,
    /// Places in all, and those that are done.
    count: i64,
    place: usize,
    /// Whether a digit was written last.
    within: bool,
    /// A digit was wanted where the number has ended, as that of NaN has: PostgreSQL shows nothing from there on.
    ended: bool,
}

impl<'a> Writer<'a> {
    fn new(template: &'a Template, number: &'a [u8], empty: usize, sign: u8) -> Writer<'a> {
        let free = template.plus || template.minus;
        let mut writer = Writer {
            template,
            number,
            at: 0,
            empty,
            sign,
            sign_written: free && template.minus,
            brackets: template.brackets,
            anchor: template.anchor,
            last: None,
            count: (template.before + template.after) as i64 - 1,
            place: 0,
            within: false,
            ended: false,
        };
        if !free {
            writer.brackets &= sign == b'-' || !template.no_fill;
            writer.sign_written = sign == b'+' && template.no_fill && !template.signed;
            if writer.anchor == Anchor::Before && template.before == template.before_sign {
                writer.anchor = Anchor::Behind;
            }
        }
        if template.no_fill && template.point {
            writer.last = writer.last_that_counts();
        }
        if !writer.sign_written && empty == 0 {
            writer.count += 1;
        }
        writer
    }

    fn last_that_counts(&self) -> Option<usize> {
        let point = self.number.iter().position(|b| *b == b'.')?;
        let last = self.number.iter().rposition(|b| *b != b'0').unwrap_or(point).max(point);
        // What a 0 stands for stays.
        let zero = self.template.last_zero;
        let kept = if zero > self.empty { (zero - self.empty).min(self.number.len() - 1) } else { 0 };
        Some(last.max(kept))
    }

    fn ends_in_point(&self) -> bool {
        self.last.is_some_and(|last| self.number.get(last) == Some(&b'.'))
    }

    /// `0.1` by `9.9` is `.1`, with a blank before it.
    fn is_bare_zero(&self) -> bool {
        let template = self.template;
        template.first_zero == 0 && self.at == 0 && self.number.first() == Some(&b'0') && template.after != 0
    }

    fn all(&mut self, out: &mut Vec<u8>, nodes: &[Node]) -> Result<()> {
        for node in nodes {
            if self.ended {
                break;
            }
            match node {
                Node::Text(c) => {
                    let mut buffer = [0; 4];
                    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                }
                Node::Pattern(pattern) => self.pattern(out, *pattern)?,
            }
        }
        Ok(())
    }

    fn pattern(&mut self, out: &mut Vec<u8>, pattern: Pattern) -> Result<()> {
        let fill = !self.template.no_fill;
        match pattern {
            Pattern::Nine | Pattern::Zero | Pattern::Point => self.digit(out, pattern),
            Pattern::Comma | Pattern::Group if self.within => out.push(b','),
            Pattern::Comma | Pattern::Group if fill => out.push(b' '),
            Pattern::Currency => out.push(b' '),
            Pattern::Minus if self.sign == b'-' => out.push(b'-'),
            Pattern::Plus if self.sign == b'+' => out.push(b'+'),
            Pattern::Minus | Pattern::Plus if fill => out.push(b' '),
            Pattern::EitherSign => out.push(self.sign),
            Pattern::Roman(upper) => {
                let number = String::from_utf8_lossy(self.number);
                let number = if upper { number.into_owned() } else { number.to_ascii_lowercase() };
                let blanks = if fill { 15usize.saturating_sub(number.len()) } else { 0 };
                out.resize(out.len() + blanks, b' ');
                out.extend_from_slice(number.as_bytes());
            }
            Pattern::Ordinal(upper) => {
                let template = self.template;
                let shown = self.number.first() != Some(&b'#') && self.sign != b'-';
                if !template.roman && shown && !template.point {
                    let text = String::from_utf8_lossy(self.number);
                    let number = |t: &str| t.get(t.len().saturating_sub(2)..)?.parse::<u64>().ok();
                    let number = number(&text).ok_or_else(|| {
                        let message = format!("\"{text}\" is not a number");
                        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
                    })?;
                    out.extend_from_slice(text_io::ordinal(number, upper).as_bytes());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn digit(&mut self, out: &mut Vec<u8>, pattern: Pattern) {
        let template = self.template;
        if template.roman {
            return;
        }
        let fill = !template.no_fill;
        self.within = false;
        let zeros = template.first_zero > 0;
        // Whether a zero stands in this place if no digit does.
        let zero_here = zeros && template.first_zero - 1 <= self.place;
        let starts = self.place >= self.empty || zeros && template.first_zero - 1 == self.place;
        if !self.sign_written && starts && (!self.is_bare_zero() || self.ends_in_point()) {
            self.leading_sign(out);
        }
        if self.place < self.empty {
            if zero_here {
                out.push(b'0');
                self.within = true;
            } else if fill {
                out.push(b' ');
            }
        } else {
            match self.number.get(self.at) {
                Some(b'.') => {
                    if !self.ends_in_point() || !fill {
                        out.push(b'.');
                    }
                }
                _ if self.last.is_some_and(|last| self.at > last) && pattern != Pattern::Zero => {}
                _ if self.is_bare_zero() => {
                    if fill {
                        out.push(b' ');
                    } else if self.ends_in_point() {
                        out.push(b'0');
                    }
                }
                Some(digit) => {
                    out.push(*digit);
                    self.within = true;
                }
                None => self.ended = true,
            }
            self.at += usize::from(self.at < self.number.len());
        }
        if self.ended {
            return;
        }
        let mut end = self.count + i64::from(self.empty > 0) + i64::from(template.point);
        if self.last == Some(self.at) {
            end = self.place as i64;
        }
        if self.place as i64 + 1 == end {
            if self.sign_written && self.brackets {
                out.push(if self.sign == b'+' { b' ' } else { b'>' });
            } else if template.signed && self.anchor == Anchor::Behind {
                out.push(self.sign);
            }
        }
        self.place += 1;
    }

    fn leading_sign(&mut self, out: &mut Vec<u8>) {
        if self.template.signed {
            if self.anchor == Anchor::Before {
                out.push(self.sign);
                self.sign_written = true;
            }
            return;
        }
        if self.brackets {
            out.push(if self.sign == b'+' { b' ' } else { b'<' });
        } else if self.sign == b'-' {
            out.push(b'-');
        } else if !self.template.no_fill {
            out.push(b' ');
        }
        self.sign_written = true;
    }
}
