//! The numbers that `keyvalue` gives objects: places in the binary form of PostgreSQL's `jsonb`, beside the number of what
//! they are in.
//!
//! That form is, of an array or object: a header of 4 bytes, 4 bytes for each element or for each key and value, the keys,
//! then the values; numbers and what is in it begin at multiples of 4. A number is a length of 4 bytes, a header of 2 (or
//! 4, of many digits), and 2 bytes for each four decimal digits. A scalar by itself is in an array of one.

use super::item::{Item, Pair};
use planaria_base::json::Json;
use std::collections::HashMap;
use std::rc::Rc;

/// In what an object lies.
#[derive(Clone)]
pub(super) enum Base<'j> {
    Root,
    Vars,
    /// The object of `keyvalue` with that number.
    Made(i64, Rc<Pair<'j>>),
}

/// How far the numbers of two bases lie apart.
const STRIDE: i64 = 10_000_000_000;

/// Where everything lies.
pub(super) struct Ids<'j> {
    root: &'j Json<'j>,
    vars: &'j Json<'j>,
    /// Places of arrays and objects within the root or the variables, by where they lie in memory; made when first asked.
    places: Option<HashMap<*const Json<'j>, i64>>,
    /// The number of the next object of `keyvalue`.
    next: i64,
}

impl<'j> Ids<'j> {
    pub fn new(root: &'j Json<'j>, vars: &'j Json<'j>) -> Ids<'j> {
        Ids { root, vars, places: None, next: 2 }
    }

    /// An object of `keyvalue` as a base.
    pub fn made(&mut self, item: &Item<'j>) -> Base<'j> {
        let Item::Pair(pair) = item else { return Base::Root };
        self.next += 1;
        Base::Made(self.next - 1, Rc::clone(pair))
    }

    fn place(&mut self, json: &'j Json<'j>) -> i64 {
        let (root, vars) = (self.root, self.vars);
        let places = self.places.get_or_insert_with(|| {
            let mut places = HashMap::new();
            for whole in [root, vars] {
                if !whole.is_scalar() {
                    layout(whole, 0, &mut Some(&mut places));
                }
            }
            places
        });
        places.get(&std::ptr::from_ref(json)).copied().unwrap_or(0)
    }

    /// The number of an object that lies in a base.
    pub fn of(&mut self, base: &Base<'j>, object: &Item<'j>) -> i64 {
        let (number, place) = match (base, object) {
            (Base::Root, Item::At(json)) => (0, self.place(json)),
            (Base::Vars, Item::At(json)) => (1, self.place(json)),
            (Base::Made(number, pair), Item::At(json)) => {
                let within = match &pair.value {
                    Item::At(value) => self.place(json) - self.place(value) + value_place(pair),
                    _ => 0,
                };
                (*number, within)
            }
            (Base::Root, _) => (0, 0),
            (Base::Vars, _) => (1, 0),
            (Base::Made(number, _), _) => (*number, 0),
        };
        number * STRIDE + place
    }
}

/// Where the value of an object of `keyvalue` lies in it.
fn value_place(pair: &Pair<'_>) -> i64 {
    let keys = 4 + 6 * 4 + ("id".len() + "key".len() + "value".len()) as i64;
    let key = aligned(keys) + number_size(&pair.id.to_string()) + pair.key.as_str().len() as i64;
    aligned(key)
}

const fn aligned(place: i64) -> i64 {
    (place + 3) / 4 * 4
}

type Places<'a, 'j> = Option<&'a mut HashMap<*const Json<'j>, i64>>;

/// Where a value ends that begins at or, aligned, behind a place.
fn layout<'j>(json: &'j Json<'j>, at: i64, places: &mut Places<'_, 'j>) -> i64 {
    let begin = match json {
        Json::Null | Json::Bool(_) => return at,
        Json::String(text) => return at + text.len() as i64,
        Json::Number(number) => return aligned(at) + number_size(number),
        Json::Array(_) | Json::Object(_) => aligned(at),
    };
    if let Some(places) = places {
        places.insert(std::ptr::from_ref(json), begin);
    }
    match json {
        Json::Array(elements) => {
            let head = begin + 4 + 4 * elements.len() as i64;
            elements.iter().fold(head, |at, element| layout(element, at, places))
        }
        Json::Object(pairs) => {
            let keys: i64 = pairs.iter().map(|(key, _)| key.len() as i64).sum();
            let head = begin + 4 + 8 * pairs.len() as i64 + keys;
            pairs.iter().fold(head, |at, (_, value)| layout(value, at, places))
        }
        _ => begin,
    }
}

/// Bytes of a number.
fn number_size(number: &str) -> i64 {
    let digits = number.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    // Groups of four digits to both sides of the point, without those of zeros at the ends.
    let pad = (4 - whole.len() % 4) % 4;
    let mut groups: Vec<bool> = Vec::new();
    let mut group = |text: &str| groups.push(text.bytes().any(|b| b != b'0'));
    let left = "0".repeat(pad) + whole;
    (0..left.len() / 4).for_each(|i| group(&left[4 * i..4 * i + 4]));
    let before = left.len() / 4;
    (0..fraction.len().div_ceil(4)).for_each(|i| group(&fraction[4 * i..fraction.len().min(4 * i + 4)]));
    let first = groups.iter().position(|group| *group);
    let last = groups.iter().rposition(|group| *group);
    let (count, weight) = match (first, last) {
        (Some(first), Some(last)) => (last - first + 1, before as i64 - 1 - first as i64),
        _ => (0, 0),
    };
    let short = fraction.len() <= 63 && (-64..=63).contains(&weight);
    4 + if short { 2 } else { 4 } + 2 * count as i64
}
