//! `to_number(text, template)`.

use super::template::{Anchor, Node, Pattern, Template};
use super::{Long, Number};
use crate::error::{Error, Result, SqlState};
use crate::watch;

impl Number {
    /// Reads a number by a template; `None` by an empty one.
    pub fn by_template(text: &str, template: &str) -> Result<Option<Number>> {
        if template.is_empty() {
            return Ok(None);
        }
        watch::count(template.len());
        let template = Template::parse(template)?;
        for (used, name) in [(template.exponent, "EEEE"), (template.roman, "RN")] {
            if used {
                let message = format!("\"{name}\" not supported for input");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
        let mut reader = Reader {
            template: &template,
            text,
            at: 0,
            sign: ' ',
            number: String::new(),
            before: 0,
            after: 0,
            point: false,
        };
        reader.all();
        let (scale, sign) = (reader.after, reader.sign);
        let number = Number::parse(&format!("{sign}{}", reader.number.trim_end_matches('.')))?;
        let precision = template.before + template.shift + scale;
        let number = match (u16::try_from(precision), i16::try_from(scale)) {
            (Ok(precision), Ok(scale)) => number.rescale(precision, scale)?,
            _ => number,
        };
        if !template.shifted {
            return Ok(Some(number));
        }
        let power = Long::whole(10).power(&Long::whole(-(template.shift as i64)))?;
        Ok(Some(Long::from(number).mul(&power)?.narrow()))
    }
}

struct Reader<'a> {
    template: &'a Template,
    text: &'a str,
    at: usize,
    /// A blank where none was read.
    sign: char,
    number: String,
    /// Digits read before and behind the point.
    before: usize,
    after: usize,
    point: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }
    fn skip(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }
    /// Passes over characters that do not belong to numbers.
    fn skip_foreign(&mut self, count: usize) {
        for _ in 0..count {
            if self.peek().is_none_or(|c| "0123456789.,+-".contains(c)) {
                break;
            }
            self.skip();
        }
    }

    fn all(&mut self) {
        for node in &self.template.nodes {
            let Some(next) = self.peek() else { break };
            match node {
                Node::Text(_) => self.skip(),
                Node::Pattern(Pattern::Nine | Pattern::Zero | Pattern::Point) => {
                    self.part(!matches!(node, Node::Pattern(Pattern::Point)));
                    self.skip();
                }
                // Between digits that are blank there is none, if none are written.
                Node::Pattern(Pattern::Comma | Pattern::Group) => {
                    if !self.template.no_fill && next == ',' {
                        self.skip();
                    }
                }
                Node::Pattern(Pattern::Currency) => self.skip_foreign(1),
                Node::Pattern(Pattern::Ordinal(_)) if !self.template.point => self.skip_foreign(2),
                Node::Pattern(what @ (Pattern::Minus | Pattern::Plus | Pattern::EitherSign)) => {
                    let fits =
                        next == '-' && *what != Pattern::Plus || next == '+' && *what != Pattern::Minus;
                    if fits {
                        self.sign = next;
                        self.skip();
                    } else {
                        self.skip_foreign(1);
                    }
                }
                Node::Pattern(_) => {}
            }
        }
    }

    /// A digit, the point, or a sign beside them; the caller passes over the last of them.
    fn part(&mut self, digit: bool) {
        let template = self.template;
        if self.peek() == Some(' ') {
            self.at += 1;
        }
        let Some(first) = self.peek() else { return };
        if self.sign == ' ' && digit && self.before + self.after == 0 {
            let negative = first == '-' || first == '<' && template.brackets && !template.signed;
            if (!template.signed || template.anchor == Anchor::Before) && (negative || first == '+') {
                self.sign = if negative { '-' } else { '+' };
                self.at += 1;
            }
        }
        let Some(next) = self.peek() else { return };
        let mut read = false;
        if next.is_ascii_digit() {
            if self.point && self.after == template.after {
                return;
            }
            self.number.push(next);
            *(if self.point { &mut self.after } else { &mut self.before }) += 1;
            read = true;
        } else if template.point && !self.point && next == '.' {
            self.number.push('.');
            self.point = true;
            read = true;
        }
        if self.sign != ' ' || self.before + self.after == 0 {
            return;
        }
        // The sign behind the last digit.
        if template.signed {
            if let Some(behind @ (b'-' | b'+')) = self.text.as_bytes().get(self.at + 1)
                && read
            {
                self.sign = char::from(*behind);
                self.at += 1;
            }
        } else if !read && (template.plus || template.minus) && matches!(next, '-' | '+') {
            self.sign = next;
        }
    }
}
