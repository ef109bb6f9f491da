//! What a path finds: parts of the value it is asked of, or what was computed of them.

use planaria_base::Result;
use planaria_base::datetime::{self, Moment};
use planaria_base::json::{self, Json};
use planaria_base::numeric::Long;
use std::rc::Rc;

/// Something found.
#[derive(Clone)]
pub(super) enum Item<'j> {
    /// A part of the value or of the variables.
    At(&'j Json<'j>),
    Null,
    Bool(bool),
    /// As `numeric` prints it.
    Number(String),
    String(Rc<str>),
    /// What `datetime` has read.
    Moment(Moment),
    /// What `keyvalue` makes.
    Pair(Rc<Pair<'j>>),
}

/// An object of `keyvalue`.
pub(super) struct Pair<'j> {
    pub id: i64,
    pub key: Text<'j>,
    pub value: Item<'j>,
}

/// A key.
#[derive(Clone)]
pub(super) enum Text<'j> {
    Of(&'j str),
    Fixed(&'static str),
}

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            Text::Of(text) => text,
            Text::Fixed(text) => text,
        }
    }
}

/// An object to look into.
pub(super) enum Object<'a, 'j> {
    At(&'j Json<'j>),
    Pair(&'a Pair<'j>),
}

impl<'j> Object<'_, 'j> {
    pub fn get(&self, key: &str) -> Option<Item<'j>> {
        match self {
            Object::At(json) => json.get(key).map(Item::At),
            Object::Pair(_) => self.pairs().into_iter().find(|(k, _)| k.as_str() == key).map(|(_, v)| v),
        }
    }

    /// Keys and values, in the order of `jsonb`.
    pub fn pairs(&self) -> Vec<(Text<'j>, Item<'j>)> {
        match self {
            Object::At(Json::Object(pairs)) => {
                pairs.iter().map(|(key, value)| (Text::Of(key), Item::At(value))).collect()
            }
            Object::At(_) => Vec::new(),
            Object::Pair(pair) => vec![
                (Text::Fixed("id"), Item::Number(pair.id.to_string())),
                (Text::Fixed("key"), Item::String(pair.key.as_str().into())),
                (Text::Fixed("value"), pair.value.clone()),
            ],
        }
    }
}

impl<'j> Item<'j> {
    pub fn of_numeric(number: &Long) -> Item<'j> {
        let mut out = Vec::new();
        number.write(&mut out);
        Item::Number(String::from_utf8_lossy(&out).into_owned())
    }

    pub fn object(&self) -> Option<Object<'_, 'j>> {
        match self {
            Item::At(json @ Json::Object(_)) => Some(Object::At(json)),
            Item::Pair(pair) => Some(Object::Pair(pair)),
            _ => None,
        }
    }

    pub fn elements(&self) -> Option<&'j [Json<'j>]> {
        match self {
            Item::At(Json::Array(elements)) => Some(elements),
            _ => None,
        }
    }

    /// What is in an array or object.
    pub fn inner(&self) -> Vec<Item<'j>> {
        match (self.elements(), self.object()) {
            (Some(elements), _) => elements.iter().map(Item::At).collect(),
            (_, Some(object)) => object.pairs().into_iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }

    pub fn is_scalar(&self) -> bool {
        match self {
            Item::At(json) => json.is_scalar(),
            Item::Pair(_) => false,
            _ => true,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Item::Null | Item::At(Json::Null))
    }

    pub fn bool(&self) -> Option<bool> {
        match self {
            Item::Bool(b) | Item::At(Json::Bool(b)) => Some(*b),
            _ => None,
        }
    }

    pub fn number(&self) -> Option<&str> {
        match self {
            Item::Number(n) => Some(n),
            Item::At(Json::Number(n)) => Some(n),
            _ => None,
        }
    }

    pub fn string(&self) -> Option<&str> {
        match self {
            Item::String(s) => Some(s),
            Item::At(Json::String(s)) => Some(s),
            _ => None,
        }
    }

    pub fn type_name(&self) -> &'static str {
        match self {
            Item::At(json) => json.type_name(),
            Item::Null => "null",
            Item::Bool(_) => "boolean",
            Item::Number(_) => "number",
            Item::String(_) => "string",
            Item::Pair(_) => "object",
            Item::Moment(moment) => match moment {
                Moment::Date(_) => "date",
                Moment::Time(_) => "time without time zone",
                Moment::TimeTz(..) => "time with time zone",
                Moment::Timestamp(_) => "timestamp without time zone",
                Moment::TimestampTz(..) => "timestamp with time zone",
            },
        }
    }

    /// In the form of `jsonb`.
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        self.write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Item::At(json) => json.write(out),
            Item::Null => out.extend_from_slice(b"null"),
            Item::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
            Item::Number(n) => out.extend_from_slice(n.as_bytes()),
            Item::String(s) => json::quote(out, s),
            Item::Moment(moment) => {
                out.push(b'"');
                datetime::write_moment(out, *moment);
                out.push(b'"');
            }
            Item::Pair(pair) => {
                out.extend_from_slice(format!("{{\"id\": {}, \"key\": ", pair.id).as_bytes());
                json::quote(out, pair.key.as_str());
                out.extend_from_slice(b", \"value\": ");
                pair.value.write(out);
                out.push(b'}');
            }
        }
    }
}

/// A number of JSON to compute with.
pub(super) fn number_of(number: &str) -> Result<Long> {
    Long::parse(number)
}

/// With the other sign.
pub(super) fn negated(number: &str) -> String {
    match number.strip_prefix('-') {
        Some(rest) => rest.to_owned(),
        None if number.bytes().all(|b| matches!(b, b'0' | b'.')) => number.to_owned(),
        None => format!("-{number}"),
    }
}
