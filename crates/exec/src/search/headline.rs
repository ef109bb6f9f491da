//! `ts_headline`: the part of a document, or parts of it, that show what a query found.

use super::matching::{Found, Source, Truth, holds};
use super::tokens::Kind;
use planaria_base::packed::tsquery::{Node, Operand, TsQuery};
use planaria_base::packed::words::is_space;
use planaria_base::{Error, Result, SqlState, watch};

/// A token of the document.
struct Word<'t> {
    kind: Kind,
    text: &'t str,
    /// The operand that it is, by its number.
    operand: Option<usize>,
    position: i32,
    /// The same token once more, as another operand.
    repeated: bool,
    /// Shown, as what was asked for, as a blank, not at all.
    shown: bool,
    selected: bool,
    blank: bool,
    skipped: bool,
}

impl Word<'_> {
    /// A whole whose parts follow.
    fn is_whole(&self) -> bool {
        matches!(self.kind, Kind::Url | Kind::NumHWord | Kind::AsciiHWord | Kind::HWord)
    }

    fn counts(&self) -> bool {
        !(self.kind == Kind::Blank || self.kind == Kind::Tag || self.is_whole())
    }

    fn is_asked_for(&self) -> bool {
        self.operand.is_some() && !self.repeated
    }

    /// Whether a headline had better not end here.
    fn is_bad_end(&self, options: &Options) -> bool {
        let no_end = !self.counts()
            || self.kind.is_ignored()
            || matches!(self.kind, Kind::SFloat | Kind::Version | Kind::Float | Kind::Int | Kind::UInt);
        (no_end || self.text.len() as i64 <= options.short_word) && !self.is_asked_for()
    }
}

/// What is asked of a headline.
struct Options {
    max_words: i64,
    min_words: i64,
    short_word: i64,
    max_fragments: i64,
    whole: bool,
    start: String,
    stop: String,
    delimiter: String,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl Options {
    fn read(text: &str) -> Result<Options> {
        let mut options = Options {
            max_words: 35,
            min_words: 15,
            short_word: 3,
            max_fragments: 0,
            whole: false,
            start: "<b>".into(),
            stop: "</b>".into(),
            delimiter: " ... ".into(),
        };
        for (name, value) in pairs(text)? {
            let number = || planaria_base::text_io::parse_int(&value, &planaria_base::Type::Int4);
            match name.to_ascii_lowercase().as_str() {
                "maxwords" => options.max_words = number()?,
                "minwords" => options.min_words = number()?,
                "shortword" => options.short_word = number()?,
                "maxfragments" => options.max_fragments = number()?,
                "startsel" => options.start = value,
                "stopsel" => options.stop = value,
                "fragmentdelimiter" => options.delimiter = value,
                "highlightall" => {
                    let yes = ["1", "on", "true", "t", "y", "yes"];
                    options.whole = yes.iter().any(|yes| yes.eq_ignore_ascii_case(&value));
                }
                _ => return Err(invalid(format!("unrecognized headline parameter: \"{name}\""))),
            }
        }
        if !options.whole {
            let wrong = match () {
                () if options.min_words >= options.max_words => "MinWords should be less than MaxWords",
                () if options.min_words <= 0 => "MinWords should be positive",
                () if options.short_word < 0 => "ShortWord should be >= 0",
                () if options.max_fragments < 0 => "MaxFragments should be >= 0",
                () => return Ok(options),
            };
            return Err(invalid(wrong));
        }
        Ok(options)
    }
}

/// `name = value, name = 'value'`
fn pairs(text: &str) -> Result<Vec<(String, String)>> {
    let malformed =
        || Error::new(SqlState::SYNTAX_ERROR, format!("invalid parameter list format: \"{text}\""));
    let mut pairs = Vec::new();
    let skip = |rest: &mut &str, also: &str| {
        *rest = rest.trim_start_matches(|c| is_space(c) || also.contains(c));
    };
    // A name or value in quotes, where a quote is two.
    let quoted = |rest: &mut &str, quote: char, escapes: bool| -> Option<String> {
        let mut out = String::new();
        let mut chars = rest[1..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                if chars.peek().is_some_and(|(_, next)| *next == quote) {
                    chars.next();
                } else {
                    *rest = &rest[1 + at + c.len_utf8()..];
                    return Some(out);
                }
            } else if escapes && c == '\\' && chars.peek().is_some_and(|(_, next)| *next == '\\') {
                chars.next();
            }
            out.push(c);
        }
        None
    };
    let mut rest = text;
    loop {
        skip(&mut rest, ",");
        if rest.is_empty() {
            return Ok(pairs);
        }
        let name = match rest.starts_with('"') {
            true => quoted(&mut rest, '"', false).ok_or_else(malformed)?,
            false => {
                let end = rest.find(|c| is_space(c) || c == '=').unwrap_or(rest.len());
                let name = rest[..end].to_owned();
                rest = &rest[end..];
                name
            }
        };
        skip(&mut rest, "");
        rest = rest.strip_prefix('=').ok_or_else(malformed)?;
        skip(&mut rest, "");
        let value = match rest.chars().next() {
            None => return Err(malformed()),
            Some('\'') => quoted(&mut rest, '\'', true).ok_or_else(malformed)?,
            Some('"') => quoted(&mut rest, '"', false).ok_or_else(malformed)?,
            Some('E') if rest.starts_with("E'") => {
                rest = &rest[1..];
                quoted(&mut rest, '\'', true).ok_or_else(malformed)?
            }
            Some(_) => {
                let end = rest.find(|c| is_space(c) || c == ',').unwrap_or(rest.len());
                let value = rest[..end].to_owned();
                rest = &rest[end..];
                value
            }
        };
        if !(rest.is_empty() || rest.starts_with(|c| is_space(c) || c == ',')) {
            return Err(malformed());
        }
        pairs.push((name, value));
    }
}

/// Some words of a document, as what a query is held against.
struct Passage<'d> {
    words: &'d [Word<'d>],
    operands: &'d [&'d Operand],
}

impl Source for Passage<'_> {
    fn has(&self, operand: &Operand, found: Option<&mut Found>) -> Truth {
        let is = |word: &&Word<'_>| word.operand.is_some_and(|n| std::ptr::eq(self.operands[n], operand));
        match found {
            None => match self.words.iter().any(|word| is(&word)) {
                true => Truth::Yes,
                false => Truth::No,
            },
            Some(found) => {
                for word in self.words.iter().filter(is) {
                    if found.positions.last().is_none_or(|last| *last < word.position) {
                        found.positions.push(word.position);
                    }
                }
                if found.positions.is_empty() { Truth::No } else { Truth::Yes }
            }
        }
    }
}

/// A document and what is asked of it.
struct Document<'d> {
    words: Vec<Word<'d>>,
    operands: Vec<&'d Operand>,
    root: Option<&'d Node>,
    options: Options,
}

/// Passage of a document that holds the whole query, or part of such a part.
struct Fragment {
    begin: usize,
    end: usize,
    /// Words, and those that are asked for.
    words: i64,
    found: i64,
    chosen: bool,
    excluded: bool,
}

impl Document<'_> {
    fn first_from(&self, from: usize) -> Option<usize> {
        (from..self.words.len()).find(|i| self.words[*i].operand.is_some())
    }

    /// The first part from a word on that holds the whole query, and is no longer than it need be.
    fn cover(&self, from: usize) -> Result<Option<(usize, usize)>> {
        let Some(root) = self.root else { return Ok(None) };
        let longest = (10 * self.options.max_words).max(100) * self.options.max_fragments.max(1);
        let mut begin = self.first_from(from);
        while let Some(p) = begin {
            let mut next = None;
            let mut end = Some(p);
            while let Some(q) = end.filter(|q| ((q - p) as i64) < longest) {
                watch::check()?;
                if holds(root, &Passage { words: &self.words[p..=q], operands: &self.operands }) {
                    return Ok(Some((p, q)));
                }
                end = self.first_from(q + 1);
                if q == p {
                    next = end;
                }
            }
            begin = next;
        }
        Ok(None)
    }

    fn counts(&self, i: usize) -> i64 {
        i64::from(self.words[i].counts())
    }

    fn asked_for(&self, i: usize) -> i64 {
        i64::from(self.words[i].is_asked_for())
    }

    fn is_bad_end(&self, i: usize) -> bool {
        self.words[i].is_bad_end(&self.options)
    }

    fn mark(&mut self, begin: usize, end: usize) {
        let whole = self.options.whole;
        for word in self.words.iter_mut().take(end.saturating_add(1)).skip(begin) {
            word.selected |= word.operand.is_some();
            if !whole && word.kind == Kind::Tag {
                word.blank = true;
            } else if word.is_whole() {
                word.skipped = true;
            }
            word.shown = !word.repeated;
        }
    }

    /// The last of the first words, as many as a headline has at least.
    fn beginning(&self) -> Option<usize> {
        let (mut words, mut last) = (0, None);
        for i in 0..self.words.len() {
            if words >= self.options.min_words {
                break;
            }
            words += self.counts(i);
            last = Some(i);
        }
        last
    }

    /// The best headline around a part that holds the query: its ends, how much of what is asked for is in it.
    fn around(&self, p: usize, q: usize) -> (usize, usize, i64) {
        let (min, max) = (self.options.min_words, self.options.max_words);
        let (mut words, mut found) = (0, 0);
        let (mut begin, mut end) = (p, p);
        let mut i = p;
        while i <= q && words < max {
            words += self.counts(i);
            found += self.asked_for(i);
            end = i;
            i += 1;
        }
        if words < max {
            // There is room: on to the right, to where it is long enough and ends well.
            i -= 1;
            while i < self.words.len() && words < max {
                if i > q {
                    words += self.counts(i);
                    found += self.asked_for(i);
                }
                end = i;
                if !self.is_bad_end(i) && words >= min {
                    break;
                }
                i += 1;
            }
            if words < min {
                // The document ends: on to the left.
                begin = 0;
                for i in (0..p).rev() {
                    words += self.counts(i);
                    found += self.asked_for(i);
                    if words >= max || !self.is_bad_end(i) && words >= min {
                        begin = i;
                        break;
                    }
                }
            }
        } else {
            // It may be too long: back to where it ends well.
            i = i.min(q);
            while words > min && self.is_bad_end(i) {
                words -= self.counts(i);
                found -= self.asked_for(i);
                i -= 1;
                end = i;
            }
        }
        (begin, end, found)
    }

    /// One part.
    fn mark_best(&mut self) -> Result<()> {
        if self.options.whole {
            if let Some(last) = self.words.len().checked_sub(1) {
                self.mark(0, last);
            }
            return Ok(());
        }
        let mut best: Option<(usize, usize, i64, bool)> = None;
        let mut from = 0;
        while let Some((p, q)) = self.cover(from)? {
            let (begin, end, found) = self.around(p, q);
            let holds = begin <= p && end >= q;
            let better = match best {
                None => true,
                Some((_, best_end, best_found, best_holds)) => {
                    (holds, found) > (best_holds, best_found)
                        || (holds, found) == (best_holds, best_found)
                            && !self.is_bad_end(end)
                            && self.is_bad_end(best_end)
                }
            };
            if better {
                best = Some((begin, end, found, holds));
            }
            from = p + 1;
        }
        let chosen = match best {
            Some((begin, end, ..)) => Some((begin, end)),
            None => self.beginning().map(|end| (0, end)),
        };
        if let Some((begin, end)) = chosen {
            self.mark(begin, end);
        }
        Ok(())
    }

    /// The next fragment of a cover: from what is asked for to what is asked for, and no longer than a headline.
    fn fragment(&self, begin: usize, end: usize) -> Fragment {
        let begin = (begin..=end).find(|i| self.words[*i].is_asked_for()).unwrap_or(end);
        let (mut words, mut found, mut i) = (0, 0, begin);
        while i <= end && words < self.options.max_words {
            words += self.counts(i);
            found += self.asked_for(i);
            i += 1;
        }
        let mut last = end;
        if end > i {
            last = i;
            for i in (begin..=i).rev() {
                last = i;
                if self.words[i].is_asked_for() {
                    break;
                }
                words -= self.counts(i);
            }
        }
        Fragment { begin, end: last, words, found, chosen: false, excluded: false }
    }

    /// With words around it, as long as they are in no other.
    fn stretched(&self, fragment: &Fragment) -> (usize, usize) {
        let (mut begin, mut end, mut words) = (fragment.begin, fragment.end, fragment.words);
        let max = self.options.max_words;
        if words >= max {
            return (begin, end);
        }
        let most = (max - words) / 2;
        let (mut stretch, mut reached) = (0, begin);
        for i in (0..begin).rev() {
            if stretch >= most || self.words[i].shown {
                break;
            }
            words += self.counts(i);
            stretch += self.counts(i);
            reached = i;
        }
        while reached < begin && self.is_bad_end(reached) {
            words -= self.counts(reached);
            reached += 1;
        }
        begin = reached;
        let mut reached = end;
        for i in end + 1..self.words.len() {
            if words >= max || self.words[i].shown {
                break;
            }
            words += self.counts(i);
            reached = i;
        }
        while reached > end && self.is_bad_end(reached) {
            reached -= 1;
        }
        end = reached;
        (begin, end)
    }

    /// Several parts.
    fn mark_fragments(&mut self) -> Result<()> {
        let mut fragments: Vec<Fragment> = Vec::new();
        let mut from = 0;
        while let Some((p, q)) = self.cover(from)? {
            let mut begin = p;
            while begin <= q {
                let fragment = self.fragment(begin, q);
                begin = fragment.end + 1;
                fragments.push(fragment);
            }
            from = p + 1;
        }
        let mut any = false;
        for _ in 0..self.options.max_fragments {
            let free = fragments.iter().enumerate().filter(|(_, f)| !f.chosen && !f.excluded);
            let mut best: Option<(usize, i64, i64)> = None;
            for (n, f) in free {
                let (most, least) = best.map_or((0, i64::from(i32::MAX)), |(_, found, words)| (found, words));
                if most < f.found || most == f.found && least > f.words {
                    best = Some((n, f.found, f.words));
                }
            }
            let Some((n, ..)) = best else { break };
            let (begin, end) = self.stretched(&fragments[n]);
            fragments[n].chosen = true;
            self.mark(begin, end);
            any = true;
            for (other, f) in fragments.iter_mut().enumerate() {
                let within = |at: usize| (begin..=end).contains(&at);
                if other != n && (within(f.begin) || within(f.end) || f.begin < begin && f.end > end) {
                    f.excluded = true;
                }
            }
        }
        if !any && let Some(end) = self.beginning() {
            self.mark(0, end);
        }
        Ok(())
    }

    fn write(&self) -> String {
        let mut out = String::new();
        let (mut within, mut fragments) = (false, 0);
        for word in self.words.iter().filter(|word| !word.repeated) {
            if !word.shown {
                within = false;
                continue;
            }
            if !within {
                within = true;
                fragments += 1;
                if fragments > 1 {
                    out.push_str(&self.options.delimiter);
                }
            }
            if word.blank {
                out.push(' ');
            } else if !word.skipped {
                if word.selected {
                    out.push_str(&self.options.start);
                }
                out.push_str(word.text);
                if word.selected {
                    out.push_str(&self.options.stop);
                }
            }
        }
        out
    }
}

/// A headline of a document.
pub fn headline(configuration: i64, text: &str, query: &TsQuery, options: &str) -> Result<String> {
    let configuration = super::configuration(configuration)?;
    let operands = query.operands();
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut position = 0;
    super::look_up(configuration, text, &mut position, |looked| {
        let word = |operand, repeated| Word {
            kind: looked.kind,
            text: looked.text,
            operand,
            position: looked.position.min(16_383) as i32,
            repeated,
            shown: false,
            selected: false,
            blank: false,
            skipped: false,
        };
        let is = |operand: &Operand| {
            looked.lexeme.as_ref().is_some_and(|lexeme| match operand.prefix {
                true => lexeme.starts_with(&operand.word),
                false => *lexeme == operand.word,
            })
        };
        let mut asked = operands.iter().enumerate().filter(|(_, operand)| is(operand)).map(|(n, _)| n);
        words.push(word(asked.next(), false));
        words.extend(asked.map(|n| word(Some(n), true)));
    })?;
    let options = Options::read(options)?;
    let mut document = Document { words, operands, root: query.root.as_ref(), options };
    match document.options.max_fragments {
        0 => document.mark_best()?,
        _ => document.mark_fragments()?,
    }
    let out = document.write();
    watch::room(out.len())?;
    Ok(out)
}
