//! `json` and `jsonb`: what is asked of them, and what is made of them.
//!
//! Parts are parts of the text ([`planaria_base::json::part`]), so what `->` and its like find is not copied. A function
//! over both types answers with the type that it was given.

use super::{cast, shaped};
use crate::heap::{Heap, wrong_number_of_subscripts};
use crate::slot::{ArrayRef, Slot};
use planaria_base::json::change::{self, At};
use planaria_base::json::part::{self, Kind};
use planaria_base::json::{self, Json};
use planaria_base::shape::{Dimension, Shape};
use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState, Type, stack, text_io};
use planaria_storage::arena::Bytes;
use std::borrow::Cow;

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// A part of the text in `whole` as a value of the same type; nothing is copied.
fn inside(heap: &Heap, whole: Slot, part: &str) -> Slot {
    let at = whole.bytes();
    let offset = part.as_ptr().addr() - heap.bytes(at).as_ptr().addr();
    let bytes = Bytes { offset: at.offset + offset as u32, len: part.len() as u32 };
    if let Slot::Jsonb(_) = whole { Slot::Jsonb(bytes) } else { Slot::Text(bytes) }
}

/// A part as a text.
fn as_text(heap: &mut Heap, whole: Slot, part: Slot) -> Result<Slot> {
    if part.is_null() {
        return Ok(Slot::Null);
    }
    let at = part.bytes();
    match part::as_text(heap.str(at))? {
        None => Ok(Slot::Null),
        Some(Cow::Borrowed(text)) => Ok(Slot::Text(inside(heap, whole, text).bytes())),
        Some(Cow::Owned(text)) => heap.text(&text),
    }
}

fn found(heap: &Heap, whole: Slot, part: Option<&str>) -> Slot {
    part.map_or(Slot::Null, |part| inside(heap, whole, part))
}

/// `-> text`
pub fn field(heap: &Heap, whole: Slot, key: Bytes) -> Result<Slot> {
    Ok(found(heap, whole, part::field(heap.str(whole.bytes()), heap.str(key))?))
}

/// `->> text`
pub fn field_text(heap: &mut Heap, whole: Slot, key: Bytes) -> Result<Slot> {
    let part = field(heap, whole, key)?;
    as_text(heap, whole, part)
}

/// `-> integer`
pub fn element(heap: &Heap, whole: Slot, index: i64) -> Result<Slot> {
    let text = heap.str(whole.bytes());
    // As PostgreSQL: a jsonb that is a scalar is kept as an array of one.
    if let (Slot::Jsonb(_), true) = (whole, part::kind(text).is_scalar()) {
        return Ok(if matches!(index, 0 | -1) { whole } else { Slot::Null });
    }
    Ok(found(heap, whole, part::element(text, index)?))
}

/// `->> integer`
pub fn element_text(heap: &mut Heap, whole: Slot, index: i64) -> Result<Slot> {
    let part = element(heap, whole, index)?;
    as_text(heap, whole, part)
}

/// `#>`
pub fn path(heap: &Heap, whole: Slot, steps: ArrayRef) -> Result<Slot> {
    let mut text = heap.str(whole.bytes());
    let mut pace = Pace::default();
    for step in heap.elements(steps) {
        pace.step(text.len())?;
        let Slot::Text(step) = step else { return Ok(Slot::Null) };
        match part::step(text, heap.str(*step))? {
            Some(part) => text = part,
            None => return Ok(Slot::Null),
        }
    }
    Ok(inside(heap, whole, text))
}

/// `#>>`
pub fn path_text(heap: &mut Heap, whole: Slot, steps: ArrayRef) -> Result<Slot> {
    let part = path(heap, whole, steps)?;
    as_text(heap, whole, part)
}

/// `json_typeof`
pub fn type_of(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    let name = part::kind(heap.str(at)).name();
    heap.text(name)
}

/// `json_array_length`
pub fn length(heap: &Heap, at: Bytes) -> Result<Slot> {
    let text = heap.str(at);
    match part::kind(text) {
        Kind::Array => Ok(Slot::Int(part::parts(text)?.count()? as i64)),
        Kind::Object => Err(invalid("cannot get array length of a non-array".to_owned())),
        _ => Err(invalid("cannot get array length of a scalar".to_owned())),
    }
}

/// What of the parts of a value a function lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum List {
    /// Elements of an array, or values of an object.
    Values,
    /// The same as texts.
    Texts,
    /// Keys of an object.
    Keys,
}

/// `json_array_elements`, `json_object_keys`, `json_each`, .. as an array; `function`: which it is.
pub fn list(heap: &mut Heap, whole: Slot, function: Bytes, of: Kind, what: List) -> Result<Slot> {
    let kind = part::kind(heap.str(whole.bytes()));
    if kind != of {
        return Err(no_parts(heap.str(function), kind));
    }
    // Parts first: the heap may move when something is put into it.
    let mut parts: Vec<Slot> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    {
        let mut all = part::parts(heap.str(whole.bytes()))?;
        while let Some(part) = all.next()? {
            match what {
                List::Keys => keys.push(part.key()?.into_owned()),
                List::Values | List::Texts => parts.push(inside(heap, whole, part.value)),
            }
        }
    }
    for key in &keys {
        let key = heap.text(key)?;
        parts.push(key);
    }
    if what == List::Texts {
        for part in &mut parts {
            *part = as_text(heap, whole, *part)?;
        }
    }
    heap.array(&parts)
}

#[cold]
fn no_parts(function: &str, kind: Kind) -> Error {
    invalid(match (function, kind) {
        ("jsonb_array_elements" | "jsonb_array_elements_text", Kind::Object) => {
            "cannot extract elements from an object".to_owned()
        }
        ("jsonb_array_elements" | "jsonb_array_elements_text", _) => {
            "cannot extract elements from a scalar".to_owned()
        }
        ("json_each" | "json_each_text", Kind::Array) => {
            "cannot deconstruct an array as an object".to_owned()
        }
        ("json_each" | "json_each_text", _) => "cannot deconstruct a scalar".to_owned(),
        ("jsonb_each" | "jsonb_each_text", _) => format!("cannot call {function} on a non-object"),
        (_, Kind::Array) => format!("cannot call {function} on an array"),
        (_, Kind::Object) => format!("cannot call {function} on a non-array"),
        _ => format!("cannot call {function} on a scalar"),
    })
}

/// A scalar as a boolean or number.
pub fn to_scalar(text: &str, to: &Type, heap: &mut Heap) -> Result<Slot> {
    let kind = part::kind(text);
    let name = match kind {
        Kind::Bool if *to == Type::Bool => return Ok(Slot::Bool(text == "true")),
        Kind::Number if *to == Type::Float8 => return text_io::parse_float(text).map(Slot::Float),
        Kind::Number if *to == Type::Float4 => return text_io::parse_real(text).map(Slot::Float),
        Kind::Number if *to != Type::Bool => {
            let n = heap.number(planaria_base::numeric::Number::parse(text)?)?;
            return cast::cast(n, &Type::Numeric(None), to, true, heap);
        }
        Kind::Number => "numeric",
        kind => kind.name(),
    };
    let to = to.base();
    Err(invalid(format!("cannot cast jsonb {name} to type {to}")))
}

fn tree(heap: &Heap, at: Bytes) -> Result<Json<'_>> {
    Json::parse(heap.str(at))
}

/// `@>`
pub fn contains(heap: &Heap, a: Bytes, b: Bytes) -> Result<Slot> {
    tree(heap, a)?.contains(&tree(heap, b)?).map(Slot::Bool)
}

/// `?`
pub fn has(heap: &Heap, at: Bytes, key: Bytes) -> Result<Slot> {
    let text = heap.str(at);
    if part::kind(text) == Kind::Object {
        return Ok(Slot::Bool(part::field(text, heap.str(key))?.is_some()));
    }
    Ok(Slot::Bool(tree(heap, at)?.has(heap.str(key))))
}

fn texts(heap: &Heap, array: ArrayRef) -> impl Iterator<Item = &str> {
    heap.elements(array).iter().filter_map(|e| match e {
        Slot::Text(at) => Some(heap.str(*at)),
        _ => None,
    })
}

/// `?|`, and `?&` with `all`.
pub fn has_any(heap: &Heap, at: Bytes, keys: ArrayRef, all: bool) -> Result<Slot> {
    let json = tree(heap, at)?;
    let each = if let Json::Array(elements) = &json { elements.len() } else { 1 };
    let mut pace = Pace::default();
    for key in texts(heap, keys) {
        pace.step(each * size_of::<Slot>())?;
        if json.has(key) != all {
            return Ok(Slot::Bool(!all));
        }
    }
    Ok(Slot::Bool(all))
}

/// What is made of one or two others.
fn made(heap: &mut Heap, make: impl FnOnce(&Heap) -> Result<String>) -> Result<Slot> {
    let text = make(heap)?;
    heap.jsonb(&text)
}

/// jsonb out of a JSON text.
pub fn jsonb_in(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    cast::parse(at, &Type::Jsonb, heap)
}

/// `||`
pub fn concat(heap: &mut Heap, a: Bytes, b: Bytes) -> Result<Slot> {
    made(heap, |heap| Ok(change::concat(tree(heap, a)?, tree(heap, b)?)?.into_text()))
}

/// `- text`
pub fn without(heap: &mut Heap, at: Bytes, key: Bytes) -> Result<Slot> {
    made(heap, |heap| {
        let mut json = tree(heap, at)?;
        change::delete_key(&mut json, heap.str(key))?;
        Ok(json.into_text())
    })
}

/// 2202E of an array of several dimensions.
fn one_dimension(heap: &Heap, array: ArrayRef) -> Result<()> {
    match heap.shape(array) {
        Some(shape) if shape.dimensions().len() > 1 => Err(wrong_number_of_subscripts()),
        _ => Ok(()),
    }
}

/// `- text[]`
pub fn without_all(heap: &mut Heap, at: Bytes, keys: ArrayRef) -> Result<Slot> {
    one_dimension(heap, keys)?;
    made(heap, |heap| {
        let mut json = tree(heap, at)?;
        if json.is_scalar() {
            change::delete_key(&mut json, "")?;
        }
        let mut pace = Pace::default();
        for key in texts(heap, keys) {
            let left = match &json {
                Json::Array(elements) => elements.len(),
                Json::Object(pairs) => pairs.len(),
                _ => 1,
            };
            pace.step(left * size_of::<Slot>())?;
            change::delete_key(&mut json, key)?;
        }
        Ok(json.into_text())
    })
}

/// `- integer`
pub fn without_at(heap: &mut Heap, at: Bytes, index: i64) -> Result<Slot> {
    made(heap, |heap| {
        let mut json = tree(heap, at)?;
        change::delete_element(&mut json, index)?;
        Ok(json.into_text())
    })
}

/// `#-`, `jsonb_set`, `jsonb_insert`
pub fn at_path(heap: &mut Heap, at: Bytes, path: ArrayRef, new: Option<Bytes>, how: At) -> Result<Slot> {
    one_dimension(heap, path)?;
    made(heap, |heap| {
        let mut json = tree(heap, at)?;
        let new = new.map_or(Ok(Json::Null), |new| tree(heap, new))?;
        let step = |e: &Slot| match e {
            Slot::Text(at) => Some(heap.str(*at)),
            _ => None,
        };
        let path: Vec<Option<&str>> = heap.elements(path).iter().map(step).collect();
        change::at_path(&mut json, &path, &new, how)?;
        Ok(json.into_text())
    })
}

/// `jsonb_set_lax`
pub fn set_lax(heap: &mut Heap, a: &[Slot]) -> Result<Slot> {
    let [target, path, new, create, treatment] = a else { return Ok(Slot::Null) };
    if [target, path, create].iter().any(|slot| slot.is_null()) {
        return Ok(Slot::Null);
    }
    let wrong = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
                 \"raise_exception\"";
    let wrong = || Error::new(SqlState::INVALID_PARAMETER_VALUE, wrong);
    if treatment.is_null() {
        return Err(wrong());
    }
    let how = if create.bool() { At::Create } else { At::Replace };
    let (at, steps) = (target.bytes(), path.array());
    if !new.is_null() {
        return at_path(heap, at, steps, Some(new.bytes()), how);
    }
    match heap.str(treatment.bytes()) {
        "use_json_null" => at_path(heap, at, steps, None, how),
        "delete_key" => at_path(heap, at, steps, None, At::Delete),
        "return_target" => Ok(*target),
        "raise_exception" => {
            let detail = "Exception was raised because null_value_treatment is \"raise_exception\".";
            let hint = "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not \
                        passed.";
            let error = Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null");
            Err(error.with_detail(detail).with_hint(hint))
        }
        _ => Err(wrong()),
    }
}

/// `value[key] = new`
pub fn put(heap: &mut Heap, a: &[Slot]) -> Result<Slot> {
    if a[1].is_null() {
        let message = "jsonb subscript in assignment must not be null";
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    made(heap, |heap| {
        let value = |slot: Slot| match slot {
            Slot::Null => Ok(None),
            slot => tree(heap, slot.bytes()).map(Some),
        };
        let empty = || if a[3].bool() { Json::Array(Vec::new()) } else { Json::Object(Vec::new()) };
        let mut json = value(a[0])?.unwrap_or_else(empty);
        change::put(&mut json, heap.str(a[1].bytes()), value(a[2])?.unwrap_or(Json::Null))?;
        Ok(json.into_text())
    })
}

/// `json_strip_nulls`
pub fn strip_nulls(heap: &mut Heap, whole: Slot) -> Result<Slot> {
    match whole {
        Slot::Jsonb(at) => made(heap, |heap| {
            let mut json = tree(heap, at)?;
            change::strip_nulls(&mut json);
            Ok(json.into_text())
        }),
        _ => {
            let text = heap.build(|heap, out| {
                let mut json = Json::parse_as_written(heap.str(whole.bytes()))?;
                change::strip_nulls(&mut json);
                json.write_tight(out);
                Ok(())
            })?;
            Ok(Slot::Text(text))
        }
    }
}

/// `jsonb_pretty`
pub fn pretty(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    let text = heap.build(|heap, out| tree(heap, at)?.write_pretty(out))?;
    Ok(Slot::Text(text))
}

/// `json_object`: keys and values in turn, or apart.
pub fn object(heap: &mut Heap, keys: ArrayRef, values: Option<ArrayRef>) -> Result<Slot> {
    let subscript = |message: &str| Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    match heap.shape(keys).map(|shape| shape.dimensions()) {
        // Pairs of a key and a value.
        Some(&[_, pair]) if values.is_none() => {
            if pair.len != 2 {
                return Err(subscript("array must have two columns"));
            }
        }
        Some(&[_]) | None => {}
        Some(_) => return Err(wrong_number_of_subscripts()),
    }
    if let Some(values) = values {
        let dimensions = |array| shaped::count(heap, array);
        if dimensions(values) != dimensions(keys) {
            return Err(wrong_number_of_subscripts());
        }
    }
    match values {
        None if !keys.len.is_multiple_of(2) => {
            return Err(subscript("array must have even number of elements"));
        }
        Some(values) if values.len != keys.len => return Err(subscript("mismatched array dimensions")),
        _ => {}
    }
    let text = heap.build(|heap, out| {
        out.push(b'{');
        let all = heap.elements(keys);
        let n = if values.is_some() { all.len() } else { all.len() / 2 };
        for i in 0..n {
            let (key, value) = match values {
                Some(values) => (all[i], heap.elements(values)[i]),
                None => (all[2 * i], all[2 * i + 1]),
            };
            if i > 0 {
                out.extend_from_slice(b", ");
            }
            let Slot::Text(key) = key else {
                let message = "null value not allowed for object key";
                return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            };
            json::quote(out, heap.str(key));
            out.extend_from_slice(b" : ");
            match value {
                Slot::Text(value) => json::quote(out, heap.str(value)),
                _ => out.extend_from_slice(b"null"),
            }
        }
        out.push(b'}');
        Ok(())
    })?;
    Ok(Slot::Text(text))
}

/// The value, which must be an object: what `json_to_record` takes.
pub fn record(heap: &Heap, whole: Slot) -> Result<Slot> {
    match part::kind(heap.str(whole.bytes())) {
        Kind::Object => Ok(whole),
        Kind::Array => Err(invalid("cannot call populate_composite on an array".to_owned())),
        _ => Err(invalid("cannot call populate_composite on a scalar".to_owned())),
    }
}

/// The elements, which must be objects: what `json_to_recordset` takes.
pub fn records(heap: &mut Heap, whole: Slot, function: Bytes) -> Result<Slot> {
    if part::kind(heap.str(whole.bytes())) != Kind::Array {
        return Err(invalid(format!("cannot call {} on a non-array", heap.str(function))));
    }
    let mut parts: Vec<Slot> = Vec::new();
    {
        let mut all = part::parts(heap.str(whole.bytes()))?;
        while let Some(part) = all.next()? {
            if part::kind(part.value) != Kind::Object {
                let function = heap.str(function);
                return Err(invalid(format!("argument of {function} must be an array of objects")));
            }
            parts.push(inside(heap, whole, part.value));
        }
    }
    heap.array(&parts)
}

/// What stands at a key, as texts: the elements of an array, or those of an array of SQL in a string.
pub fn field_texts(heap: &mut Heap, whole: Slot, key: Bytes) -> Result<Slot> {
    let field = field(heap, whole, key)?;
    if field.is_null() {
        return Ok(Slot::Null);
    }
    match part::kind(heap.str(field.bytes())) {
        Kind::Array => nested_texts(heap, field, key),
        Kind::Null => Ok(Slot::Null),
        Kind::String => {
            let text = field_text(heap, whole, key)?;
            cast::cast(text, &Type::Text, &Type::Array(Box::new(Type::Text)), false, heap)
        }
        _ => Err(no_array(heap.str(key), &[])),
    }
}

/// 22P02 of what is no array where one should be: within the value of a key, at these places.
pub(super) fn no_array(key: &str, places: &[usize]) -> Error {
    let hint = match places {
        [] => format!("See the value of key \"{key}\"."),
        places => {
            let places: String = places.iter().map(|at| format!("[{at}]")).collect();
            format!("See the array element {places} of key \"{key}\".")
        }
    };
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected JSON array").with_hint(hint)
}

/// The elements of an array of arrays while they are gathered.
#[derive(Default)]
struct Nested<'t> {
    elements: Vec<&'t str>,
    /// Of each dimension, from the outermost in, how many there are.
    lengths: Vec<Option<usize>>,
    /// How many dimensions there are: as many as arrays begin with arrays.
    count: Option<usize>,
    /// Which element of each array around is looked at.
    places: Vec<usize>,
}

impl<'t> Nested<'t> {
    fn gather(&mut self, array: &'t str, key: &str) -> Result<()> {
        stack::check()?;
        if part::kind(array) != Kind::Array {
            return Err(no_array(key, &self.places));
        }
        let depth = self.places.len() + 1;
        if self.lengths.len() < depth {
            self.lengths.push(None);
        }
        let mut parts = part::parts(array)?;
        let mut len = 0;
        while let Some(part) = parts.next()? {
            if self.count.is_none() && part::kind(part.value) != Kind::Array {
                self.count = Some(depth);
            }
            if self.count.is_some_and(|count| depth >= count) {
                self.elements.push(part.value);
            } else {
                self.places.push(len);
                self.gather(part.value, key)?;
                self.places.pop();
            }
            len += 1;
        }
        self.count.get_or_insert(depth);
        if *self.lengths[depth - 1].get_or_insert(len) != len {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            let message = "malformed JSON array";
            return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message).with_detail(detail));
        }
        Ok(())
    }
}

/// The elements of an array as texts, of as many dimensions as it begins with.
fn nested_texts(heap: &mut Heap, whole: Slot, key: Bytes) -> Result<Slot> {
    let mut nested = Nested::default();
    nested.gather(heap.str(whole.bytes()), heap.str(key))?;
    let mut parts: Vec<Slot> = nested.elements.iter().map(|part| inside(heap, whole, part)).collect();
    let dimension = |len: &Option<usize>| Dimension { lower: 1, len: len.unwrap_or(0) as u32 };
    let shape = Shape::new(&nested.lengths.iter().map(dimension).collect::<Vec<_>>())?;
    for part in &mut parts {
        *part = as_text(heap, whole, *part)?;
    }
    let list = heap.array(&parts)?.array();
    heap.shaped(list, shape)
}

/// An array as `array_to_json(.., true)` prints it: each of its elements in a line.
pub fn lines(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    let (open, close) = match part::kind(heap.str(at)) {
        Kind::Array => ("[", "]"),
        Kind::Object => ("{", "}"),
        _ => return Ok(Slot::Text(at)),
    };
    let text = heap.build(|heap, out| {
        let mut parts = part::parts(heap.str(at))?;
        let mut between = open;
        while let Some(part) = parts.next()? {
            out.extend_from_slice(between.as_bytes());
            let key = part.quoted_key();
            if !key.is_empty() {
                out.extend_from_slice(key.as_bytes());
                out.push(b':');
            }
            out.extend_from_slice(part.value.as_bytes());
            between = ",\n ";
        }
        if out.is_empty() {
            out.extend_from_slice(open.as_bytes());
        }
        out.extend_from_slice(close.as_bytes());
        Ok(())
    })?;
    Ok(Slot::Text(text))
}
