//! `jsonpath` evaluated over a `jsonb`.
//!
//! A path is read once by each thread and kept ([`path`]), so that a constant one costs a look into a short list for
//! each row. The rest is PostgreSQL's way of going about it: each step hands each thing that it finds to the next one
//! ([`Run::next`]); who wants to know only whether there is something passes no list, and the first thing found ends the
//! search. Errors come in two kinds: those that `silent` and predicates swallow ([`Fault::Soft`]) and the others.

mod compare;
mod ids;
mod item;

use crate::heap::Heap;
use crate::slot::Slot;
use ids::{Base, Ids};
use item::{Item, number_of};
use planaria_base::datetime::{Moment, Zone, by_standard_template};
use planaria_base::json::Json;
use planaria_base::json::path::{Arithmetic, Comparison, Item as Part, Method, Path, Pattern, Step};
use planaria_base::numeric::Long;
use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState, stack, text_io};
use planaria_storage::arena::Bytes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Paths that a thread keeps, the latest used first.
const CACHED_MAX: usize = 32;

thread_local! {
    static CACHE: RefCell<Vec<(Vec<u8>, Rc<Path>)>> = const { RefCell::new(Vec::new()) };
}

/// The path that is kept as these bytes.
fn path(stored: &[u8]) -> Result<Rc<Path>> {
    CACHE.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().position(|(known, _)| known == stored) {
            cache[..=at].rotate_right(1);
        } else {
            let text = std::str::from_utf8(stored).unwrap_or("");
            let path = Rc::new(Path::parse(text)?);
            cache.truncate(CACHED_MAX - 1);
            cache.insert(0, (stored.to_vec(), path));
        }
        Ok(Rc::clone(&cache[0].1))
    })
}

/// What ends an evaluation.
enum Fault {
    /// What `silent` and predicates swallow.
    Soft(Box<Error>),
    Hard(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Hard(error)
    }
}

type Done<T> = std::result::Result<T, Fault>;

#[cold]
fn soft<T>(code: &str, message: impl Into<String>) -> Done<T> {
    Err(Fault::Soft(Box::new(Error::new(SqlState::new(code), message))))
}

/// What a predicate says; `None` is unknown.
type Truth = Option<bool>;

/// Where what is found goes; without a list it is enough that there is something.
type Found<'f, 'j> = Option<&'f mut Vec<Item<'j>>>;

fn again<'a, 'j>(found: &'a mut Found<'_, 'j>) -> Found<'a, 'j> {
    found.as_deref_mut()
}

const MEMBER_NOT_FOUND: &str = "2203A";
const ARRAY_NOT_FOUND: &str = "22039";
const OBJECT_NOT_FOUND: &str = "2203C";
const NUMBER_NOT_FOUND: &str = "2203B";
const SINGLETON_REQUIRED: &str = "22038";
const NON_NUMERIC: &str = "22036";
const INVALID_SUBSCRIPT: &str = "22033";
const INVALID_DATETIME: &str = "22031";

/// The templates of `.datetime()`.
const TEMPLATES: [&str; 19] = [
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

/// One evaluation.
struct Run<'j> {
    lax: bool,
    /// Whether what has not the structure asked for is passed over.
    forgiving: bool,
    /// Whether nobody swallows errors.
    throws: bool,
    root: &'j Json<'j>,
    vars: &'j Json<'j>,
    /// What `@` is.
    current: Item<'j>,
    /// How long the array is in whose subscripts we are.
    array_len: Option<usize>,
    /// What numbers of `keyvalue` are counted from.
    base: Base<'j>,
    ids: Ids<'j>,
    pace: Pace,
    /// Whether dates and times with and without a zone may be compared; by this zone, with the offset that a time has now.
    zones: Option<(Option<&'j Zone>, i64)>,
    zone_used: Cell<bool>,
}

impl<'j> Run<'j> {
    /// Applies a chain of steps to an item; whether anything was found.
    fn item(&mut self, part: &Part, of: &Item<'j>, found: Found<'_, 'j>) -> Done<bool> {
        let unwrap = self.lax;
        self.unwrapping(part, of, found, unwrap)
    }

    /// Hands an item to what follows a step.
    fn next(&mut self, part: &Part, of: Item<'j>, found: Found<'_, 'j>) -> Done<bool> {
        if let Some(next) = &part.next {
            return self.item(next, &of, found);
        }
        if let Some(found) = found {
            found.push(of);
        }
        Ok(true)
    }

    /// The same; `unwrap`: whether a step that wants something else takes an array's elements.
    fn unwrapping(
        &mut self,
        part: &Part,
        of: &Item<'j>,
        mut found: Found<'_, 'j>,
        unwrap: bool,
    ) -> Done<bool> {
        stack::check()?;
        self.pace.step(size_of::<Item<'_>>())?;
        // Nobody wants what comes out.
        let idle = part.next.is_none() && found.is_none();
        match &part.step {
            step if step.is_predicate() => {
                let truth = self.truth(part, of)?;
                if idle {
                    return Ok(true);
                }
                self.next(part, truth.map_or(Item::Null, Item::Bool), found)
            }
            Step::Key(key) => match of.object() {
                Some(object) => match object.get(key) {
                    Some(value) => self.next(part, value, found),
                    None if self.forgiving => Ok(false),
                    None => soft(MEMBER_NOT_FOUND, format!("JSON object does not contain key \"{key}\"")),
                },
                None if unwrap && of.elements().is_some() => self.each_element(part, of, found, false),
                None if self.forgiving => Ok(false),
                None => soft(MEMBER_NOT_FOUND, "jsonpath member accessor can only be applied to an object"),
            },
            Step::Root => {
                let base = std::mem::replace(&mut self.base, Base::Root);
                let done = self.next(part, Item::At(self.root), found);
                self.base = base;
                done
            }
            Step::Current => self.next(part, self.current.clone(), found),
            Step::AnyElement => {
                if of.elements().is_some() {
                    let unwrap = self.lax;
                    return self.descend(part.next.as_deref(), of, found, (1, 1, 1), false, unwrap);
                }
                if self.lax {
                    return self.next(part, of.clone(), found);
                }
                if self.forgiving {
                    return Ok(false);
                }
                soft(ARRAY_NOT_FOUND, "jsonpath wildcard array accessor can only be applied to an array")
            }
            Step::Elements(ranges) => {
                if of.elements().is_none() && !self.lax {
                    if self.forgiving {
                        return Ok(false);
                    }
                    return soft(ARRAY_NOT_FOUND, "jsonpath array accessor can only be applied to an array");
                }
                let len = of.elements().map_or(1, <[_]>::len);
                let outer = self.array_len.replace(len);
                let done = self.elements(part, ranges, of, len, found);
                self.array_len = outer;
                done
            }
            Step::Last => match self.array_len {
                Some(_) if idle => Ok(true),
                Some(len) => self.next(part, Item::Number((len as i64 - 1).to_string()), found),
                None => Err(Error::internal("evaluating jsonpath LAST outside of array subscript").into()),
            },
            Step::AnyKey => {
                if of.object().is_some() {
                    let unwrap = self.lax;
                    return self.descend(part.next.as_deref(), of, found, (1, 1, 1), false, unwrap);
                }
                if unwrap && of.elements().is_some() {
                    return self.each_element(part, of, found, false);
                }
                if self.forgiving {
                    return Ok(false);
                }
                soft(OBJECT_NOT_FOUND, "jsonpath wildcard member accessor can only be applied to an object")
            }
            Step::Any(first, last) => {
                let mut any = false;
                if *first == 0 {
                    let strict = std::mem::replace(&mut self.forgiving, true);
                    let done = self.next(part, of.clone(), again(&mut found));
                    self.forgiving = strict;
                    match done {
                        Ok(done) => any = done,
                        // As PostgreSQL has it, another one's silence is ended by what is in the thing.
                        Err(Fault::Soft(_)) if !self.throws && !of.is_scalar() => {}
                        Err(fault) => return Err(fault),
                    }
                    if any && found.is_none() {
                        return Ok(true);
                    }
                }
                if !of.is_scalar() {
                    let unwrap = self.lax;
                    any |= self.descend(part.next.as_deref(), of, found, (1, *first, *last), true, unwrap)?;
                }
                Ok(any)
            }
            Step::Filter(predicate) => {
                if unwrap && of.elements().is_some() {
                    return self.each_element(part, of, found, false);
                }
                let current = std::mem::replace(&mut self.current, of.clone());
                let truth = self.truth(predicate, of);
                self.current = current;
                if truth? == Some(true) { self.next(part, of.clone(), found) } else { Ok(false) }
            }
            Step::Null | Step::Bool(_) | Step::Number(_) | Step::String(_) | Step::Variable(_) => {
                if idle {
                    return Ok(true);
                }
                let base = self.base.clone();
                let value = self.constant(&part.step)?;
                let done = self.next(part, value, found);
                self.base = base;
                done
            }
            Step::Arithmetic(op, left, right) => self.arithmetic(part, *op, [left, right], of, found),
            Step::Sign(minus, operand) => self.sign(part, *minus, operand, of, found),
            Step::Method(method) => self.method(part, *method, of, found, unwrap),
            Step::DateTime(template) => {
                if unwrap && of.elements().is_some() {
                    return self.each_element(part, of, found, false);
                }
                let moment = datetime(of, template.as_deref())?;
                if idle { Ok(true) } else { self.next(part, Item::Moment(moment), found) }
            }
            _ => Err(Error::internal("a step of a path").into()),
        }
    }

    /// What a constant or variable is.
    fn constant(&mut self, step: &Step) -> Result<Item<'j>> {
        Ok(match step {
            Step::Bool(b) => Item::Bool(*b),
            Step::Number(n) => Item::Number(n.clone()),
            Step::String(s) => Item::String(s.as_str().into()),
            Step::Variable(name) => {
                let Some(value) = self.vars.get(name) else {
                    let message = format!("could not find jsonpath variable \"{name}\"");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                };
                self.base = Base::Vars;
                Item::At(value)
            }
            _ => Item::Null,
        })
    }

    /// Applies a step to each element of an array.
    fn each_element(&mut self, part: &Part, of: &Item<'j>, found: Found<'_, 'j>, unwrap: bool) -> Done<bool> {
        self.descend(Some(part), of, found, (1, 1, 1), false, unwrap)
    }

    /// Applies steps to what is in an array or object, from one level to another.
    fn descend(
        &mut self,
        part: Option<&Part>,
        of: &Item<'j>,
        mut found: Found<'_, 'j>,
        (level, first, last): (u32, u32, u32),
        forgiving: bool,
        unwrap: bool,
    ) -> Done<bool> {
        stack::check()?;
        let mut any = false;
        if level > last {
            return Ok(false);
        }
        for inner in of.inner() {
            let leaves = first == Step::LEAVES && last == Step::LEAVES && inner.is_scalar();
            if level >= first || leaves {
                match part {
                    Some(part) => {
                        let before = self.forgiving;
                        self.forgiving |= forgiving;
                        let done = self.unwrapping(part, &inner, again(&mut found), unwrap);
                        self.forgiving = before;
                        any |= done?;
                    }
                    None => {
                        if let Some(found) = &mut found {
                            self.pace.step(size_of::<Item<'_>>())?;
                            found.push(inner.clone());
                        }
                        any = true;
                    }
                }
                if any && found.is_none() {
                    return Ok(true);
                }
            }
            if level < last && !inner.is_scalar() {
                let deeper = (level + 1, first, last);
                any |= self.descend(part, &inner, again(&mut found), deeper, forgiving, unwrap)?;
                if any && found.is_none() {
                    return Ok(true);
                }
            }
        }
        Ok(any)
    }

    fn elements(
        &mut self,
        part: &Part,
        ranges: &[(Part, Option<Part>)],
        of: &Item<'j>,
        len: usize,
        mut found: Found<'_, 'j>,
    ) -> Done<bool> {
        let mut any = false;
        for (from, to) in ranges {
            let from = self.subscript(from, of)?;
            let to = to.as_ref().map_or(Ok(from), |to| self.subscript(to, of))?;
            if !self.forgiving && (from < 0 || from > to || to >= len as i64) {
                return soft(INVALID_SUBSCRIPT, "jsonpath array subscript is out of bounds");
            }
            for at in from.max(0)..=to.min(len as i64 - 1) {
                let element = match of.elements() {
                    Some(elements) => Item::At(&elements[at as usize]),
                    None => of.clone(),
                };
                any |= self.next(part, element, again(&mut found))?;
                if any && found.is_none() {
                    return Ok(true);
                }
            }
        }
        Ok(any)
    }

    fn subscript(&mut self, part: &Part, of: &Item<'j>) -> Done<i64> {
        let mut values = Vec::new();
        self.item(part, of, Some(&mut values))?;
        let number = match &values[..] {
            [one] => one.number(),
            _ => None,
        };
        let Some(number) = number else {
            return soft(INVALID_SUBSCRIPT, "jsonpath array subscript is not a single numeric value");
        };
        let whole = number.split_once('.').map_or(number, |(whole, _)| whole);
        match whole.parse::<i32>() {
            Ok(at) => Ok(at.into()),
            Err(_) => soft(INVALID_SUBSCRIPT, "jsonpath array subscript is out of integer range"),
        }
    }

    /// What an operand is, arrays unwrapped where the path is lax.
    fn operand(&mut self, part: &Part, of: &Item<'j>, unwrap: bool) -> Done<Vec<Item<'j>>> {
        let mut values = Vec::new();
        self.item(part, of, Some(&mut values))?;
        if !unwrap || !self.lax || values.iter().all(|v| v.elements().is_none()) {
            return Ok(values);
        }
        let mut all = Vec::new();
        for value in values {
            if value.elements().is_some() {
                self.descend(None, &value, Some(&mut all), (1, 1, 1), false, false)?;
            } else {
                all.push(value);
            }
        }
        Ok(all)
    }

    fn arithmetic(
        &mut self,
        part: &Part,
        op: Arithmetic,
        operands: [&Part; 2],
        of: &Item<'j>,
        found: Found<'_, 'j>,
    ) -> Done<bool> {
        let left = self.operand(operands[0], of, true)?;
        let right = self.operand(operands[1], of, true)?;
        let mut numbers = [Long::whole(0), Long::whole(0)];
        for ((values, side), to) in [(left, "left"), (right, "right")].into_iter().zip(&mut numbers) {
            let single = match &values[..] {
                [one] => one.number(),
                _ => None,
            };
            let Some(number) = single else {
                let symbol = op.symbol();
                let message =
                    format!("{side} operand of jsonpath operator {symbol} is not a single numeric value");
                return soft(SINGLETON_REQUIRED, message);
            };
            *to = number_of(number)?;
        }
        let [a, b] = &numbers;
        let result = match op {
            Arithmetic::Add => a.add(b),
            Arithmetic::Sub => a.sub(b),
            Arithmetic::Mul => a.mul(b),
            Arithmetic::Div => a.div(b),
            Arithmetic::Mod => a.rem(b),
        };
        // What there is no room for here is not to be passed over.
        let result = result.map_err(|error| match error.sqlstate() {
            SqlState::DIVISION_BY_ZERO => swallowed(error),
            _ => Fault::Hard(error),
        })?;
        if part.next.is_none() && found.is_none() {
            return Ok(true);
        }
        self.next(part, Item::of_numeric(&result), found)
    }

    fn sign(
        &mut self,
        part: &Part,
        minus: bool,
        operand: &Part,
        of: &Item<'j>,
        mut found: Found<'_, 'j>,
    ) -> Done<bool> {
        let values = self.operand(operand, of, true)?;
        let idle = part.next.is_none() && found.is_none();
        let mut any = false;
        for value in values {
            let Some(number) = value.number() else {
                if idle {
                    continue;
                }
                let symbol = if minus { "-" } else { "+" };
                let message = format!("operand of unary jsonpath operator {symbol} is not a numeric value");
                return soft(NUMBER_NOT_FOUND, message);
            };
            if idle {
                return Ok(true);
            }
            let result = if minus { item::negated(number) } else { number.to_owned() };
            any |= self.next(part, Item::Number(result), again(&mut found))?;
            if any && found.is_none() {
                return Ok(true);
            }
        }
        Ok(any)
    }

    fn method(
        &mut self,
        part: &Part,
        method: Method,
        of: &Item<'j>,
        found: Found<'_, 'j>,
        unwrap: bool,
    ) -> Done<bool> {
        let name = method.symbol();
        let idle = part.next.is_none() && found.is_none();
        let only = |code, to: &str| {
            soft(code, format!("jsonpath item method .{name}() can only be applied to {to}"))
        };
        match method {
            Method::Type => return self.next(part, Item::String(of.type_name().into()), found),
            Method::Size => {
                let len = match of.elements() {
                    Some(elements) => elements.len(),
                    None if self.lax => 1,
                    None if self.forgiving => return Ok(false),
                    None => return only(ARRAY_NOT_FOUND, "an array"),
                };
                return self.next(part, Item::Number(len.to_string()), found);
            }
            _ if unwrap && of.elements().is_some() => return self.each_element(part, of, found, false),
            _ => {}
        }
        let value = match method {
            Method::KeyValue if of.object().is_none() => return only(OBJECT_NOT_FOUND, "an object"),
            Method::KeyValue => return self.key_value(part, of, found),
            Method::Double => double(of, name)?,
            _ => {
                let Some(number) = of.number() else { return only(NON_NUMERIC, "a numeric value") };
                if idle {
                    return Ok(true);
                }
                match method {
                    Method::Abs => Item::Number(number.trim_start_matches('-').to_owned()),
                    Method::Floor => Item::of_numeric(&number_of(number)?.floor()?),
                    _ => Item::of_numeric(&number_of(number)?.ceil()?),
                }
            }
        };
        self.next(part, value, found)
    }

    fn key_value(&mut self, part: &Part, of: &Item<'j>, mut found: Found<'_, 'j>) -> Done<bool> {
        let idle = part.next.is_none() && found.is_none();
        let id = self.ids.of(&self.base, of);
        let mut any = false;
        for (key, value) in of.object().map(|object| object.pairs()).unwrap_or_default() {
            any = true;
            if idle {
                return Ok(true);
            }
            let pair = Item::Pair(Rc::new(item::Pair { id, key, value }));
            let base = std::mem::replace(&mut self.base, self.ids.made(&pair));
            let done = self.next(part, pair, again(&mut found));
            self.base = base;
            if done? && found.is_none() {
                return Ok(true);
            }
        }
        Ok(any)
    }

    /// What a predicate says of an item.
    fn truth(&mut self, part: &Part, of: &Item<'j>) -> Result<Truth> {
        stack::check()?;
        Ok(match &part.step {
            Step::And(a, b) => match self.truth(a, of)? {
                Some(false) => Some(false),
                left => match self.truth(b, of)? {
                    Some(true) => left,
                    right => right,
                },
            },
            Step::Or(a, b) => match self.truth(a, of)? {
                Some(true) => Some(true),
                left => match self.truth(b, of)? {
                    Some(false) => left,
                    right => right,
                },
            },
            Step::Not(a) => self.truth(a, of)?.map(|truth| !truth),
            Step::IsUnknown(a) => Some(self.truth(a, of)?.is_none()),
            Step::Exists(a) => {
                let mut values = Vec::new();
                let found = if self.lax { None } else { Some(&mut values) };
                self.quietly(|run| run.item(a, of, found))?
            }
            Step::Compare(op, a, b) => self.predicate(a, Some((b, true)), of, &mut |run, left, right| {
                right.map_or(Ok(None), |right| run.compare(*op, left, right))
            })?,
            Step::StartsWith(a, b) => self.predicate(a, Some((b, false)), of, &mut |_, left, right| {
                let texts = (left.string(), right.and_then(|right| right.string()));
                Ok(match texts {
                    (Some(text), Some(start)) => Some(text.starts_with(start)),
                    _ => None,
                })
            })?,
            Step::LikeRegex(a, pattern) => self.predicate(a, None, of, &mut |_, left, _| {
                left.string().map(|text| matches(text, pattern)).transpose()
            })?,
            _ => return Err(Error::internal("a predicate of a path")),
        })
    }

    /// Whether something holds of any pair of what two operands are.
    fn predicate(
        &mut self,
        left: &Part,
        right: Option<(&Part, bool)>,
        of: &Item<'j>,
        holds: &mut dyn FnMut(&mut Self, &Item<'j>, Option<&Item<'j>>) -> Result<Truth>,
    ) -> Result<Truth> {
        let Some(left) = self.quietly(|run| run.operand(left, of, true))? else { return Ok(None) };
        let right = match right {
            None => vec![None],
            Some((right, unwrap)) => match self.quietly(|run| run.operand(right, of, unwrap))? {
                Some(right) => right.into_iter().map(Some).collect(),
                None => return Ok(None),
            },
        };
        let (mut unknown, mut any) = (false, false);
        for left in &left {
            for right in &right {
                self.pace.step(size_of::<Item<'_>>())?;
                match holds(self, left, right.as_ref())? {
                    None if !self.lax => return Ok(None),
                    None => unknown = true,
                    Some(true) if self.lax => return Ok(Some(true)),
                    Some(true) => any = true,
                    Some(false) => {}
                }
            }
        }
        Ok(match (any, unknown) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }

    /// What a step makes; `None` of an error that predicates swallow.
    fn quietly<T>(&mut self, step: impl FnOnce(&mut Self) -> Done<T>) -> Result<Option<T>> {
        let throws = std::mem::replace(&mut self.throws, false);
        let done = step(self);
        self.throws = throws;
        match done {
            Ok(value) => Ok(Some(value)),
            Err(Fault::Soft(_)) => Ok(None),
            Err(Fault::Hard(error)) => Err(error),
        }
    }

    fn compare(&mut self, op: Comparison, left: &Item<'j>, right: &Item<'j>) -> Result<Truth> {
        let zones = self.zones.map(|(zone, now)| compare::Zones { zone, now, used: &self.zone_used });
        compare::items(op, left, right, zones)
    }
}

/// Errors of arithmetic, which `silent` swallows.
fn swallowed(error: Error) -> Fault {
    Fault::Soft(Box::new(error))
}

fn matches(text: &str, pattern: &Pattern) -> Result<bool> {
    super::regex::matches_by(text, &pattern.text, pattern.regular_expression()?)
}

/// `.double()`
fn double<'j>(of: &Item<'j>, name: &str) -> Done<Item<'j>> {
    if let Some(number) = of.number() {
        return match text_io::parse_float(number) {
            Ok(x) if x.is_finite() => Ok(of.clone()),
            _ => {
                let what = "is out of range for type double precision";
                soft(NON_NUMERIC, format!("numeric argument of jsonpath item method .{name}() {what}"))
            }
        };
    }
    let Some(text) = of.string() else {
        let to = "a string or numeric value";
        return soft(NON_NUMERIC, format!("jsonpath item method .{name}() can only be applied to {to}"));
    };
    match text_io::parse_float(text) {
        Ok(x) if x.is_finite() => Ok(Item::of_numeric(&Long::from_f64(x).map_err(swallowed)?)),
        _ => {
            let what = "is not a valid representation of a double precision number";
            soft(NON_NUMERIC, format!("string argument of jsonpath item method .{name}() {what}"))
        }
    }
}

/// `.datetime()`
fn datetime(of: &Item<'_>, template: Option<&str>) -> Done<Moment> {
    let Some(text) = of.string() else {
        return soft(INVALID_DATETIME, "jsonpath item method .datetime() can only be applied to a string");
    };
    if let Some(template) = template {
        return by_standard_template(text, template).map_err(swallowed);
    }
    match TEMPLATES.into_iter().find_map(|template| by_standard_template(text, template).ok()) {
        Some(moment) => Ok(moment),
        None => {
            let message = format!("datetime format is not recognized: \"{text}\"");
            let hint = "Use a datetime template argument to specify the input data format.";
            let error = Error::new(SqlState::new(INVALID_DATETIME), message).with_hint(hint);
            Err(swallowed(error))
        }
    }
}

/// What is asked of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Whether anything is found.
    Exists,
    /// The one truth that it says.
    Match,
    /// All that is found, as values.
    Values,
    /// The same, as one array.
    Array,
    /// The first thing found.
    First,
}

/// What comes of it, as texts of jsonb.
enum Answer {
    Null,
    Truth(bool),
    Texts(Vec<String>),
}

/// `jsonb_path_query` and its like: a value, a path, variables, whether to be silent; for those that know time zones, when
/// the transaction began.
pub fn call(wanted: Wanted, a: &[Slot], heap: &mut Heap) -> Result<Slot> {
    let path = path(heap.bytes(a[1].bytes()))?;
    let tz = a.get(4).map(|now| now.int());
    let (answer, zone_used) = answer(wanted, &path, [a[0].bytes(), a[2].bytes()], a[3].bool(), tz, heap)?;
    if zone_used {
        heap.zone();
    }
    match answer {
        Answer::Null => Ok(Slot::Null),
        Answer::Truth(truth) => Ok(Slot::Bool(truth)),
        Answer::Texts(texts) => match wanted {
            Wanted::Values => {
                let mut values = Vec::with_capacity(texts.len());
                for text in texts {
                    values.push(heap.jsonb(&text)?);
                }
                heap.array(&values)
            }
            Wanted::Array => heap.jsonb(&format!("[{}]", texts.join(", "))),
            _ => texts.first().map_or(Ok(Slot::Null), |text| heap.jsonb(text)),
        },
    }
}

fn answer(
    wanted: Wanted,
    path: &Path,
    [value, vars]: [Bytes; 2],
    silent: bool,
    tz: Option<i64>,
    heap: &Heap,
) -> Result<(Answer, bool)> {
    let root = Json::parse(heap.str(value))?;
    let vars = Json::parse(heap.str(vars))?;
    if !matches!(vars, Json::Object(_)) {
        let message = "\"vars\" argument is not an object";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .with_detail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object."));
    }
    let zone = heap.shown_zone();
    let mut run = Run {
        lax: path.lax,
        forgiving: path.lax,
        throws: !silent,
        root: &root,
        vars: &vars,
        current: Item::At(&root),
        array_len: None,
        base: Base::Root,
        ids: Ids::new(&root, &vars),
        pace: Pace::default(),
        zones: tz.map(|now| (zone, zone.map_or(0, |zone| zone.offset_at(now)))),
        zone_used: Cell::new(false),
    };
    let mut found = Vec::new();
    // A strict path is to be looked at as a whole, as there may be an error in it.
    let list = if wanted == Wanted::Exists && path.lax { None } else { Some(&mut found) };
    let start = Item::At(run.root);
    let any = match run.item(&path.root, &start, list) {
        Ok(any) => any,
        Err(Fault::Soft(_)) if silent && wanted == Wanted::Exists => {
            return Ok((Answer::Null, run.zone_used.get()));
        }
        Err(Fault::Soft(_)) if silent => false,
        Err(Fault::Soft(error)) => return Err(*error),
        Err(Fault::Hard(error)) => return Err(error),
    };
    let answer = match wanted {
        Wanted::Exists => Answer::Truth(if path.lax { any } else { !found.is_empty() }),
        Wanted::Match => match &found[..] {
            [one] if let Some(truth) = one.bool() => Answer::Truth(truth),
            [one] if one.is_null() => Answer::Null,
            _ if silent => Answer::Null,
            _ => {
                let code = SqlState::new(SINGLETON_REQUIRED);
                return Err(Error::new(code, "single boolean result is expected"));
            }
        },
        Wanted::First => Answer::Texts(texts(&found[..found.len().min(1)])),
        Wanted::Values | Wanted::Array => Answer::Texts(texts(&found)),
    };
    Ok((answer, run.zone_used.get()))
}

fn texts(found: &[Item<'_>]) -> Vec<String> {
    found.iter().map(Item::text).collect()
}
