//! Functions of full-text search over values; what they do is [`crate::search`]'s business.

use crate::heap::Heap;
use crate::search::{self, Written, matching, rank};
use crate::slot::{ArrayRef, Slot};
use planaria_base::json::part::{Kind, as_text, kind, parts};
use planaria_base::packed::tsquery::{Op, TsQuery};
use planaria_base::packed::tsvector::TsVector;
use planaria_base::packed::words::weight;
use planaria_base::{Error, Result, SqlState, stack};
use planaria_ir::Func;

fn vector(heap: &Heap, slot: Slot) -> Result<TsVector> {
    TsVector::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no vector"))
}

fn query(heap: &Heap, slot: Slot) -> Result<TsQuery> {
    TsQuery::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no query"))
}

fn made(heap: &mut Heap, vector: Result<TsVector>) -> Result<Slot> {
    heap.bytea(&vector?.encode())
}

fn asked(heap: &mut Heap, query: Result<TsQuery>) -> Result<Slot> {
    heap.bytea(&query?.encode())
}

/// The texts of an array; 22004 where one is NULL.
fn texts(heap: &Heap, array: ArrayRef, what: &str) -> Result<Vec<String>> {
    let null = || Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, format!("{what} array may not contain nulls"));
    let text = |slot: &Slot| if slot.is_null() { Err(null()) } else { Ok(heap.str(slot.bytes()).to_owned()) };
    heap.elements(array).iter().map(text).collect()
}

/// The same where NULL is no lexeme that could be there.
fn lexemes(heap: &Heap, array: ArrayRef) -> Vec<String> {
    let there = heap.elements(array).iter().filter(|slot| !slot.is_null());
    there.map(|slot| heap.str(slot.bytes()).to_owned()).collect()
}

/// The strings among the values of a JSON text, in their order.
fn strings(json: &str, out: &mut Vec<String>) -> Result<()> {
    stack::check()?;
    match kind(json) {
        Kind::String => out.extend(as_text(json)?.map(|text| text.into_owned())),
        Kind::Array | Kind::Object => {
            let mut parts = parts(json)?;
            while let Some(part) = parts.next()? {
                strings(part.value, out)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The weight that a `"char"` stands for.
fn weight_of(heap: &Heap, slot: Slot) -> Result<u16> {
    let text = heap.str(slot.bytes());
    text.chars().next().and_then(weight).ok_or_else(|| {
        let number = text.bytes().next().unwrap_or(0);
        Error::internal(format!("unrecognized weight: {number}"))
    })
}

/// Weights of D, C, B, A as an array has them.
fn weights(heap: &Heap, array: ArrayRef) -> Result<[f32; 4]> {
    let elements = heap.elements(array);
    if elements.len() < 4 {
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "array of weight is too short"));
    }
    if elements.iter().any(|slot| slot.is_null()) {
        let message = "array of weight must not contain nulls";
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    let mut weights = rank::WEIGHTS;
    for (weight, slot) in weights.iter_mut().zip(elements) {
        let given = slot.float() as f32;
        if given >= 0.0 {
            *weight = given;
        }
        if *weight > 1.0 {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "weight out of range"));
        }
    }
    Ok(weights)
}

fn ranked(heap: &Heap, weights: [f32; 4], a: &[Slot]) -> Result<Slot> {
    let (vector, query) = (vector(heap, a[0])?, query(heap, a[1])?);
    let by_covers = a[3].int() != 0;
    let rank = if by_covers { rank::rank_by_covers } else { rank::rank };
    Ok(Slot::Float(f64::from(rank(&weights, &vector, &query, a[2].int())?)))
}

/// The place of a lexeme in a vector.
fn places(heap: &mut Heap, a: &[Slot], positions: bool) -> Result<Slot> {
    let vector = vector(heap, a[0])?;
    let word = heap.str(a[1].bytes()).to_owned();
    let Ok(at) = vector.find(&word) else { return Ok(Slot::Null) };
    let places = &vector.lexemes[at].places;
    if places.is_empty() {
        return Ok(Slot::Null);
    }
    let mut all = Vec::with_capacity(places.len());
    for place in places {
        all.push(match positions {
            true => Slot::Int(place.position().into()),
            false => heap.text(&place.letter().to_string())?,
        });
    }
    heap.array(&all)
}

/// One of them.
pub fn call(func: Func, heap: &mut Heap, a: &[Slot]) -> Result<Slot> {
    match func {
        Func::VectorMake => {
            let made_of = search::vector(a[0].int(), std::iter::once(heap.str(a[1].bytes())));
            made(heap, made_of)
        }
        Func::VectorOfJson => {
            let mut all = Vec::new();
            strings(heap.str(a[1].bytes()), &mut all)?;
            let made_of = search::vector(a[0].int(), all.iter().map(String::as_str));
            made(heap, made_of)
        }
        Func::QueryMake => {
            let query = search::query(a[0].int(), heap.str(a[1].bytes()), Written::nth(a[2].int()));
            asked(heap, query)
        }
        Func::VectorMatches => Ok(Slot::Bool(matching::matches(&vector(heap, a[0])?, &query(heap, a[1])?))),
        Func::VectorRank => ranked(heap, rank::WEIGHTS, a),
        Func::VectorRankBy => ranked(heap, weights(heap, a[0].array())?, &a[1..]),
        Func::Headline => {
            let (text, options) = (heap.str(a[1].bytes()), heap.str(a[3].bytes()));
            let headline = search::headline::headline(a[0].int(), text, &query(heap, a[2])?, options)?;
            heap.text(&headline)
        }
        Func::VectorLength => Ok(Slot::Int(vector(heap, a[0])?.lexemes.len() as i64)),
        Func::VectorStrip => {
            let vector = vector(heap, a[0])?;
            made(heap, Ok(vector.strip()))
        }
        Func::VectorSetWeight => {
            let (vector, weight) = (vector(heap, a[0])?, weight_of(heap, a[1])?);
            made(heap, Ok(vector.set_weight(weight, None)))
        }
        Func::VectorSetWeightOf => {
            let (vector, weight) = (vector(heap, a[0])?, weight_of(heap, a[1])?);
            let of = lexemes(heap, a[2].array());
            made(heap, Ok(vector.set_weight(weight, Some(&of))))
        }
        Func::VectorConcat => {
            let both = vector(heap, a[0])?.concat(vector(heap, a[1])?);
            made(heap, both)
        }
        Func::VectorDelete => {
            let word = heap.str(a[1].bytes()).to_owned();
            let vector = vector(heap, a[0])?;
            made(heap, Ok(vector.without(&[word])))
        }
        Func::VectorDeleteAll => {
            let words = lexemes(heap, a[1].array());
            let vector = vector(heap, a[0])?;
            made(heap, Ok(vector.without(&words)))
        }
        Func::VectorFilter => {
            let mut bits = 0;
            for text in texts(heap, a[1].array(), "weight")? {
                let weight = text.chars().next().and_then(weight).ok_or_else(|| {
                    let message = format!("unrecognized weight: \"{text}\"");
                    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                })?;
                bits |= 1 << weight;
            }
            let vector = vector(heap, a[0])?;
            made(heap, Ok(vector.filter(bits)))
        }
        Func::VectorOfArray => {
            let words = texts(heap, a[0].array(), "lexeme")?;
            if words.iter().any(String::is_empty) {
                let message = "lexeme array may not contain empty strings";
                return Err(Error::new(SqlState::ZERO_LENGTH_CHARACTER_STRING, message));
            }
            let long = planaria_base::packed::words::WORD_BYTES_MAX;
            if let Some(word) = words.iter().find(|word| word.len() >= long) {
                return Err(planaria_base::packed::tsvector::word_too_long(word.len()));
            }
            made(heap, TsVector::of_words(words.into_iter().map(|word| (word, Vec::new())).collect()))
        }
        Func::VectorLexemes => {
            let vector = vector(heap, a[0])?;
            let words = vector.lexemes.iter().map(|lexeme| heap.text(&lexeme.word));
            let words = words.collect::<Result<Vec<_>>>()?;
            heap.array(&words)
        }
        Func::VectorPositions => places(heap, a, true),
        Func::VectorWeights => places(heap, a, false),
        Func::QueryAnd | Func::QueryOr => {
            let op = if func == Func::QueryAnd { Op::And } else { Op::Or };
            let both = query(heap, a[0])?.join(op, query(heap, a[1])?);
            asked(heap, both)
        }
        Func::QueryPhrase => {
            let both = query(heap, a[0])?.phrase(query(heap, a[1])?, a[2].int());
            asked(heap, both)
        }
        Func::QueryNot => {
            let not = query(heap, a[0])?.negated();
            asked(heap, not)
        }
        Func::QueryNodes => Ok(Slot::Int(query(heap, a[0])?.count() as i64)),
        Func::QueryTree => {
            let tree = query(heap, a[0])?.tree();
            heap.text(&tree)
        }
        Func::QueryContains => Ok(Slot::Bool(query(heap, a[0])?.contains(&query(heap, a[1])?))),
        _ => Err(Error::internal("no function of full-text search")),
    }
}
