//! A regular expression as a program, and texts that it is run over.
//!
//! All ways through a program are gone at once (Thompson 1968), so a pass takes time in proportion to the text and the
//! program, whatever they are. What looks ahead or behind is known for all places of a text beforehand: a pass over it backwards
//! or forwards for each, those within others first.

use planaria_base::pattern::invalid;
use planaria_base::pattern::tree::{Place, Regex};
use planaria_base::watch::{Pace, admit};
use planaria_base::{Result, stack};
use regex_syntax::hir::{Class as HirClass, HirKind};
use std::rc::Rc;

/// Instructions of all programs of an expression.
const INSTRUCTIONS_MAX: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A character of a class.
    One(u32),
    At(Place),
    /// By the number of what is looked for.
    Look(u32),
    /// Both ways.
    Split(u32, u32),
    Jump(u32),
    Done,
}

/// What a part matches.
#[derive(Debug)]
pub(super) struct Program(Vec<Step>);

/// Characters of a class.
struct Class {
    ascii: u128,
    /// In order.
    ranges: Vec<(char, char)>,
}

impl Class {
    fn has(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> u32::from(c) & 1 == 1;
        }
        let behind = self.ranges.partition_point(|range| range.0 <= c);
        behind > 0 && c <= self.ranges[behind - 1].1
    }

    fn of(ranges: Vec<(char, char)>) -> Class {
        let inside = |byte: &u8| ranges.iter().any(|range| (range.0..=range.1).contains(&char::from(*byte)));
        let ascii = (0..128u8).filter(inside).fold(0, |ascii, byte| ascii | 1 << byte);
        Class { ascii, ranges }
    }

    /// As the `regex` crate understands it.
    fn read(written: &str, ignore_case: bool) -> Result<Class> {
        let mut parser = regex_syntax::ParserBuilder::new().case_insensitive(ignore_case).build();
        let wrong = || invalid("invalid character range");
        let hir = parser.parse(written).map_err(|_| wrong())?;
        Ok(Class::of(match hir.kind() {
            HirKind::Class(HirClass::Unicode(class)) => {
                class.ranges().iter().map(|range| (range.start(), range.end())).collect()
            }
            HirKind::Literal(literal) => {
                let c = std::str::from_utf8(&literal.0).ok().and_then(|text| text.chars().next());
                let c = c.ok_or_else(wrong)?;
                vec![(c, c)]
            }
            HirKind::Class(HirClass::Bytes(class)) => {
                class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
            }
            _ => return Err(wrong()),
        }))
    }
}

struct Look {
    ahead: bool,
    negated: bool,
    program: Program,
}

/// What the programs of an expression share.
pub(super) struct Shared {
    ignore_case: bool,
    classes: Vec<(Rc<str>, Class)>,
    word: Class,
    looks: Vec<(Rc<Regex>, Look)>,
    size: usize,
}

impl Shared {
    pub(super) fn new(ignore_case: bool) -> Result<Shared> {
        let word = Class::read("\\w", false)?;
        Ok(Shared { ignore_case, classes: Vec::new(), word, looks: Vec::new(), size: 0 })
    }

    /// The program of a part; `backwards`: it goes through a text from its end on.
    pub(super) fn program(&mut self, regex: &Regex, backwards: bool) -> Result<Program> {
        let mut steps = Vec::new();
        self.write(regex, backwards, &mut steps)?;
        steps.push(Step::Done);
        self.size += steps.len();
        Ok(Program(steps))
    }

    fn write(&mut self, regex: &Regex, backwards: bool, out: &mut Vec<Step>) -> Result<()> {
        stack::check()?;
        if self.size + out.len() > INSTRUCTIONS_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        match regex {
            Regex::Empty => {}
            Regex::One(class) => {
                let class = self.class(class)?;
                out.push(Step::One(class));
            }
            Regex::At(place) => out.push(Step::At(*place)),
            Regex::Look { ahead, negated, inner } => {
                // What is not done yet counts, too.
                self.size += out.len();
                let look = self.look(*ahead, *negated, inner);
                self.size -= out.len();
                out.push(Step::Look(look?));
            }
            Regex::Sequence(parts) if backwards => {
                parts.iter().rev().try_for_each(|part| self.write(part, backwards, out))?;
            }
            Regex::Sequence(parts) => parts.iter().try_for_each(|part| self.write(part, backwards, out))?,
            Regex::Either(parts) => {
                let mut ends = Vec::new();
                for (i, part) in parts.iter().enumerate() {
                    if i + 1 == parts.len() {
                        self.write(part, backwards, out)?;
                        break;
                    }
                    let split = out.len();
                    out.push(Step::Done);
                    self.write(part, backwards, out)?;
                    ends.push(out.len());
                    out.push(Step::Done);
                    out[split] = Step::Split(split as u32 + 1, out.len() as u32);
                }
                for end in ends {
                    out[end] = Step::Jump(out.len() as u32);
                }
            }
            Regex::Repeated(inner, min, max) => {
                for _ in 0..*min {
                    let before = out.len();
                    self.write(inner, backwards, out)?;
                    // However often, it is nothing.
                    if out.len() == before {
                        return Ok(());
                    }
                }
                match max {
                    None => {
                        let split = out.len();
                        out.push(Step::Done);
                        self.write(inner, backwards, out)?;
                        out.push(Step::Jump(split as u32));
                        out[split] = Step::Split(split as u32 + 1, out.len() as u32);
                    }
                    Some(max) => {
                        let mut splits = Vec::new();
                        for _ in *min..*max {
                            splits.push(out.len());
                            out.push(Step::Done);
                            let before = out.len();
                            self.write(inner, backwards, out)?;
                            if out.len() == before {
                                break;
                            }
                        }
                        for split in splits {
                            out[split] = Step::Split(split as u32 + 1, out.len() as u32);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn class(&mut self, written: &Rc<str>) -> Result<u32> {
        if let Some(known) = self.classes.iter().position(|(known, _)| known == written) {
            return Ok(known as u32);
        }
        self.classes.push((written.clone(), Class::read(written, self.ignore_case)?));
        Ok(self.classes.len() as u32 - 1)
    }

    fn look(&mut self, ahead: bool, negated: bool, inner: &Rc<Regex>) -> Result<u32> {
        let same = |(known, look): &(Rc<Regex>, Look)| {
            Rc::ptr_eq(known, inner) && (look.ahead, look.negated) == (ahead, negated)
        };
        if let Some(known) = self.looks.iter().position(same) {
            return Ok(known as u32);
        }
        // What is ahead is gone through from its end on.
        let program = self.program(inner, ahead)?;
        self.looks.push((inner.clone(), Look { ahead, negated, program }));
        Ok(self.looks.len() as u32 - 1)
    }
}

/// A set of places.
struct Places(Vec<u64>);

impl Places {
    fn none(len: usize) -> Result<Places> {
        admit(len / 8)?;
        Ok(Places(vec![0; len / 64 + 1]))
    }

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    /// The first from a place on.
    fn from(&self, at: usize) -> Option<usize> {
        let mut word = at / 64;
        let mut bits = *self.0.get(word)? & u64::MAX << (at % 64);
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// Where in a program one can be.
#[derive(Default)]
struct Threads {
    list: Vec<u32>,
    seen: Vec<u32>,
    round: u32,
    done: bool,
}

impl Threads {
    fn clear(&mut self, steps: usize) {
        self.list.clear();
        self.done = false;
        if self.seen.len() < steps {
            self.seen.resize(steps, 0);
        }
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.fill(0);
            self.round = 1;
        }
    }
}

/// A text that expressions are looked for in.
pub(in crate::functions) struct Text<'t> {
    pub(super) text: &'t str,
    looks: Vec<Places>,
    begins: Option<Places>,
    now: Threads,
    then: Threads,
    waiting: Vec<u32>,
    pace: Pace,
}

/// Where a program is to be run.
#[derive(Clone, Copy)]
struct Way {
    from: usize,
    stop: usize,
    backwards: bool,
    /// It may begin at each place, not only at the first.
    anywhere: bool,
}

impl<'t> Text<'t> {
    /// For the programs of an expression.
    pub(super) fn new(shared: &Shared, text: &'t str) -> Result<Text<'t>> {
        let mut it = Text {
            text,
            looks: Vec::new(),
            begins: None,
            now: Threads::default(),
            then: Threads::default(),
            waiting: Vec::new(),
            pace: Pace::default(),
        };
        // All of them at once: each alone may be little.
        admit(shared.looks.len().saturating_mul(text.len() / 8))?;
        for (_, look) in &shared.looks {
            let mut places = Places::none(text.len())?;
            let (from, stop) = if look.ahead { (text.len(), 0) } else { (0, text.len()) };
            let way = Way { from, stop, backwards: look.ahead, anywhere: true };
            it.run(shared, &look.program, way, |at| {
                places.add(at);
                true
            })?;
            if look.negated {
                places.0.iter_mut().for_each(|word| *word = !*word);
            }
            it.looks.push(places);
        }
        Ok(it)
    }

    /// The longest match from a place on that ends no later than another.
    pub(super) fn longest(
        &mut self,
        shared: &Shared,
        program: &Program,
        from: usize,
        stop: usize,
    ) -> Result<Option<usize>> {
        let mut longest = None;
        self.run(shared, program, Way { from, stop, backwards: false, anywhere: false }, |at| {
            longest = Some(at);
            true
        })?;
        Ok(longest)
    }

    /// The shortest one that ends no sooner than at `least`.
    pub(super) fn shortest(
        &mut self,
        shared: &Shared,
        program: &Program,
        from: usize,
        least: usize,
        stop: usize,
    ) -> Result<Option<usize>> {
        let mut shortest = None;
        self.run(shared, program, Way { from, stop, backwards: false, anywhere: false }, |at| {
            if at >= least {
                shortest = Some(at);
            }
            at < least
        })?;
        Ok(shortest)
    }

    /// Whether there is a match anywhere.
    pub(super) fn exists(&mut self, shared: &Shared, program: &Program) -> Result<bool> {
        let mut found = false;
        let way = Way { from: 0, stop: self.text.len(), backwards: false, anywhere: true };
        self.run(shared, program, way, |_| {
            found = true;
            false
        })?;
        Ok(found)
    }

    /// The first place from another one on where a match begins, by the program that goes backwards.
    pub(super) fn begin(&mut self, shared: &Shared, program: &Program, from: usize) -> Result<Option<usize>> {
        if self.begins.is_none() {
            let mut places = Places::none(self.text.len())?;
            let way = Way { from: self.text.len(), stop: 0, backwards: true, anywhere: true };
            self.run(shared, program, way, |at| {
                places.add(at);
                true
            })?;
            self.begins = Some(places);
        }
        Ok(self.begins.as_ref().and_then(|places| places.from(from)))
    }

    /// Calls `met` where it has matched, until that says that it is enough.
    fn run(
        &mut self,
        shared: &Shared,
        program: &Program,
        way: Way,
        mut met: impl FnMut(usize) -> bool,
    ) -> Result<()> {
        let steps = &program.0;
        let mut at = way.from;
        // Dividing a match asks of nothing again and again, too.
        self.pace.step(1)?;
        self.now.clear(steps.len());
        self.enter(shared, steps, 0, at);
        loop {
            if self.now.done && !met(at) || at == way.stop || self.now.list.is_empty() && !way.anywhere {
                return Ok(());
            }
            let next = match way.backwards {
                false => self.text[at..].chars().next(),
                true => self.text[..at].chars().next_back(),
            };
            let Some(c) = next else { return Ok(()) };
            at = if way.backwards { at - c.len_utf8() } else { at + c.len_utf8() };
            self.pace.step(self.now.list.len() + 1)?;
            std::mem::swap(&mut self.now, &mut self.then);
            self.now.clear(steps.len());
            for i in 0..self.then.list.len() {
                let step = self.then.list[i];
                if let Step::One(class) = steps[step as usize]
                    && shared.classes[class as usize].1.has(c)
                {
                    self.enter(shared, steps, step + 1, at);
                }
            }
            if way.anywhere {
                self.enter(shared, steps, 0, at);
            }
        }
    }

    /// All places that can be reached from one without a character.
    fn enter(&mut self, shared: &Shared, steps: &[Step], from: u32, at: usize) {
        self.waiting.push(from);
        while let Some(step) = self.waiting.pop() {
            let seen = &mut self.now.seen[step as usize];
            if *seen == self.now.round {
                continue;
            }
            *seen = self.now.round;
            match steps[step as usize] {
                Step::One(_) => self.now.list.push(step),
                Step::Done => self.now.done = true,
                Step::Jump(to) => self.waiting.push(to),
                Step::Split(one, other) => self.waiting.extend([other, one]),
                Step::At(place) => {
                    if self.is_at(shared, place, at) {
                        self.waiting.push(step + 1);
                    }
                }
                Step::Look(look) => {
                    if self.looks[look as usize].has(at) {
                        self.waiting.push(step + 1);
                    }
                }
            }
        }
    }

    fn is_at(&self, shared: &Shared, place: Place, at: usize) -> bool {
        let before = || self.text[..at].chars().next_back();
        let behind = || self.text[at..].chars().next();
        let word = |c: Option<char>| c.is_some_and(|c| shared.word.has(c));
        match place {
            Place::Begin => at == 0,
            Place::End => at == self.text.len(),
            Place::LineBegin => at == 0 || self.text.as_bytes()[at - 1] == b'\n',
            Place::LineEnd => self.text.as_bytes().get(at).is_none_or(|byte| *byte == b'\n'),
            Place::WordBegin => !word(before()) && word(behind()),
            Place::WordEnd => word(before()) && !word(behind()),
            Place::WordEdge => word(before()) != word(behind()),
            Place::NoWordEdge => word(before()) == word(behind()),
        }
    }
}
