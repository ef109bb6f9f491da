//! What becomes of a JSON value: `||`, `-`, `#-`, `jsonb_set`, `jsonb_insert`, `jsonb_strip_nulls`.

use super::part::index;
use super::value::{Json, key_order, order_keys};
use crate::{Error, Result, SqlState, watch};
use std::borrow::Cow;

/// What is done where a path ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// What is there is taken out.
    Delete,
    /// What is there is replaced.
    Replace,
    /// The same; what is not there is added.
    Create,
    /// An element is put in before it; a key that is not there is added.
    Before,
    /// An element is put in behind it; a key that is not there is added.
    After,
}

impl At {
    fn adds(self) -> bool {
        matches!(self, At::Create | At::Before | At::After)
    }
}

fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// Changes what a path leads to; `new` is of no use to [`At::Delete`]. 22004 where it comes to a NULL.
pub fn at_path<'a>(json: &mut Json<'a>, path: &[Option<&'a str>], new: &Json<'a>, how: At) -> Result<()> {
    if json.is_scalar() {
        return Err(invalid(match how {
            At::Delete => "cannot delete path in scalar",
            _ => "cannot set path in scalar",
        }));
    }
    // Where there is nothing to change, PostgreSQL does not look at the path.
    let nothing_there = json.is_empty() && matches!(how, At::Delete | At::Replace);
    if path.is_empty() || nothing_there {
        return Ok(());
    }
    at_step(json, path, 0, new, how)?;
    json.check_depth()
}

fn at_step<'a>(
    json: &mut Json<'a>,
    path: &[Option<&'a str>],
    level: usize,
    new: &Json<'a>,
    how: At,
) -> Result<()> {
    let last = level + 1 == path.len();
    let Some(key) = path[level] else {
        let message = format!("path element at position {} is null", level + 1);
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    };
    match json {
        Json::Object(pairs) => match pairs.binary_search_by(|(k, _)| key_order(k, key)) {
            Ok(at) if !last => return at_step(&mut pairs[at].1, path, level + 1, new, how),
            Ok(_) if matches!(how, At::Before | At::After) => {
                let hint = "Try using the function jsonb_set to replace key value.";
                return Err(invalid("cannot replace existing key").with_hint(hint));
            }
            Ok(at) if how == At::Delete => {
                pairs.remove(at);
            }
            Ok(at) => pairs[at].1 = new.clone(),
            Err(at) if last && how.adds() => pairs.insert(at, (Cow::Borrowed(key), new.clone())),
            Err(_) => {}
        },
        Json::Array(elements) => {
            let Some(index) = index(key) else {
                let message =
                    format!("path element at position {} is not an integer: \"{}\"", level + 1, key);
                return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
            };
            let n = elements.len() as i64;
            let index = if index < 0 { index + n } else { index };
            match usize::try_from(index).ok().filter(|at| *at < elements.len()) {
                Some(at) if !last => return at_step(&mut elements[at], path, level + 1, new, how),
                Some(at) => match how {
                    At::Delete => {
                        elements.remove(at);
                    }
                    At::Replace | At::Create => elements[at] = new.clone(),
                    At::Before => elements.insert(at, new.clone()),
                    At::After => elements.insert(at + 1, new.clone()),
                },
                None if last && how.adds() && index < 0 => elements.insert(0, new.clone()),
                None if last && how.adds() => elements.push(new.clone()),
                None => {}
            }
        }
        _ => {}
    }
    Ok(())
}

/// What an assignment to `json[key]` does: a key that is not there is added, and an array becomes as long as it takes.
pub fn put<'a>(json: &mut Json<'a>, key: &'a str, new: Json<'a>) -> Result<()> {
    match json {
        Json::Object(pairs) => match pairs.binary_search_by(|(k, _)| key_order(k, key)) {
            Ok(at) => pairs[at].1 = new,
            Err(at) => pairs.insert(at, (Cow::Borrowed(key), new)),
        },
        Json::Array(elements) => {
            let Some(index) = index(key) else {
                let message = format!("path element at position 1 is not an integer: \"{key}\"");
                return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
            };
            let at = if index < 0 { index + elements.len() as i64 } else { index };
            let at = usize::try_from(at)
                .map_err(|_| invalid(&format!("path element at position 1 is out of range: {index}")))?;
            if at >= elements.len() {
                watch::admit((at + 1).saturating_mul(size_of::<Json<'_>>()))?;
                elements.resize(at + 1, Json::Null);
            }
            elements[at] = new;
        }
        _ => {
            let detail = "The path assumes key is a composite object, but it is a scalar value.";
            return Err(invalid("cannot replace existing key").with_detail(detail));
        }
    }
    json.check_depth()
}

/// Takes a key out of an object, or strings out of an array.
pub fn delete_key(json: &mut Json<'_>, key: &str) -> Result<()> {
    match json {
        Json::Object(pairs) => pairs.retain(|(k, _)| k != key),
        Json::Array(elements) => elements.retain(|e| !matches!(e, Json::String(s) if s == key)),
        _ => return Err(invalid("cannot delete from scalar")),
    }
    Ok(())
}

/// Takes an element out of an array.
pub fn delete_element(json: &mut Json<'_>, index: i64) -> Result<()> {
    match json {
        Json::Object(_) => Err(invalid("cannot delete from object using integer index")),
        Json::Array(elements) => {
            let at = if index < 0 { index + elements.len() as i64 } else { index };
            if let Some(at) = usize::try_from(at).ok().filter(|at| *at < elements.len()) {
                elements.remove(at);
            }
            Ok(())
        }
        _ => Err(invalid("cannot delete from scalar")),
    }
}

/// `||`: the keys of both objects, else the elements of both; what is no array is an element.
pub fn concat<'a>(a: Json<'a>, b: Json<'a>) -> Result<Json<'a>> {
    let whole = match (a, b) {
        (Json::Object(mut a), Json::Object(b)) => {
            a.extend(b);
            order_keys(&mut a);
            Json::Object(a)
        }
        (a, b) => {
            let list = |json| if let Json::Array(elements) = json { elements } else { vec![json] };
            let mut all = list(a);
            all.extend(list(b));
            Json::Array(all)
        }
    };
    whole.check_depth()?;
    Ok(whole)
}

/// Takes the keys out whose values are `null`, at all depths.
pub fn strip_nulls(json: &mut Json<'_>) {
    match json {
        Json::Object(pairs) => {
            pairs.retain(|(_, value)| *value != Json::Null);
            pairs.iter_mut().for_each(|(_, value)| strip_nulls(value));
        }
        Json::Array(elements) => elements.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}
