//! Casts, and the text form of slots.
//!
//! Which casts there are and where they apply is [`planaria_base::types::cast_allowed`]; here they
//! are only done. A cast to a type with a modifier applies it: `numeric(p,s)` rounds,
//! `varchar(n)` and `char(n)` are cut by an explicit cast, while an assignment of a longer text is
//! 22001 unless the excess is blanks.

use super::fast::{int2, int4, int8};
use super::{json, number};
use crate::heap::Heap;
use crate::slot::{ArrayRef, Slot};
use planaria_base::cast::needs_cast;
use planaria_base::datetime::{Forms, Interval, Styles};
use planaria_base::limits::NAME_BYTES_MAX;
use planaria_base::numeric::long::is_overflow;
use planaria_base::numeric::{Long, Number};
use planaria_base::packed::bits::Bits;
use planaria_base::packed::money;
use planaria_base::packed::timetz::TimeTz;
use planaria_base::range::{self, Range};
use planaria_base::text_io::{self, count_chars};
use planaria_base::types::{Clock, PackedType, RowType, SystemType, TypeClass};
use planaria_base::{Datum, Error, Numeric, Result, SqlState, Type, datetime, watch};
use planaria_storage::arena::Bytes;
use std::borrow::Cow;

/// `slot`, a value of type `from`, as a value of type `to`. NULL stays NULL.
pub fn cast(slot: Slot, from: &Type, to: &Type, explicit: bool, heap: &mut Heap) -> Result<Slot> {
    if slot.is_null() {
        return Ok(Slot::Null);
    }
    let from = from.plain();
    if let (Type::Rounded(Clock::Fields(_), _), Slot::Text(at)) = (to, slot) {
        return parse_as(at, to, explicit, heap);
    }
    if let Type::Rounded(clock, digits) = to {
        let whole = cast(slot, from, clock.ty(), explicit, heap)?;
        return rounded(whole, *clock, *digits);
    }
    if *to == Type::JSON && !matches!(from.class(), TypeClass::Text | TypeClass::Citext | TypeClass::Other) {
        return made_json(slot, from, heap);
    }
    match (slot, to) {
        (Slot::Int(n), Type::Int4) if from.is_oid() => Ok(Slot::Int(i64::from(n as i32))),
        (Slot::Int(n), Type::Int8) if from.class() == TypeClass::Integer => Ok(Slot::Int(int8(Some(n))?)),
        (Slot::Int(n), Type::Int4) if from.class() == TypeClass::Integer => Ok(Slot::Int(int4(Some(n))?)),
        (Slot::Int(n), Type::Int2) if from.class() == TypeClass::Integer => Ok(Slot::Int(int2(Some(n))?)),
        (Slot::Numeric(n), Type::Numeric(modifier)) => modified(n.unpack(), *modifier, heap),
        (Slot::Long(_), Type::Numeric(modifier)) => number::rescale(slot, *modifier, heap),
        (Slot::Long(at), Type::Int2 | Type::Int4 | Type::Int8) => {
            to_int(Long::from_bytes(heap.long(at)).to_i64(&to.to_string())?, to)
        }
        (Slot::Long(_), Type::Float4) => real(slot, from, heap),
        (Slot::Long(at), Type::Float8) => double(&Long::from_bytes(heap.long(at))),
        (Slot::Long(at), Type::Packed(PackedType::Money)) => {
            let cents = money::of_long(&Long::from_bytes(heap.long(at)))?;
            heap.bytea(&money::encode(cents))
        }
        (Slot::Int(n), Type::Numeric(modifier)) if from.class() == TypeClass::Integer => {
            modified(Numeric::from_i64(n), *modifier, heap)
        }
        (Slot::Float(x), Type::Numeric(modifier)) if *from == Type::Float4 => {
            number::modified(Long::from_real(x)?.narrow(), *modifier, heap)
        }
        (Slot::Float(x), Type::Numeric(modifier)) => match Numeric::from_f64(x) {
            Ok(n) => modified(n, *modifier, heap),
            Err(_) => number::modified(Long::from_f64(x)?.narrow(), *modifier, heap),
        },
        (Slot::Numeric(n), Type::Int2 | Type::Int4 | Type::Int8) => to_int(n.unpack().to_i64(), to),
        (Slot::Float(x), Type::Int2 | Type::Int4 | Type::Int8) => {
            let whole = x.round_ties_even();
            // Both bounds are exact doubles; NaN is in no range.
            let fits = (i64::MIN as f64..-(i64::MIN as f64)).contains(&whole);
            to_int(fits.then_some(whole as i64), to)
        }
        (Slot::Bool(b), Type::Int4) => Ok(Slot::Int(i64::from(b))),
        (Slot::Int(n), Type::Bool) if from.class() == TypeClass::Integer => Ok(Slot::Bool(n != 0)),
        (Slot::Int(n), Type::Float8) if from.class() == TypeClass::Integer => Ok(Slot::Float(n as f64)),
        (Slot::Float(x), Type::Float4) => Ok(Slot::Float(text_io::to_real(x)?)),
        (Slot::Int(n), Type::Float4) if from.class() == TypeClass::Integer => {
            Ok(Slot::Float(f64::from(n as f32)))
        }
        (Slot::Numeric(n), Type::Float4) => real(Slot::Numeric(n), from, heap),
        (Slot::Numeric(n), Type::Float8) => Ok(Slot::Float(n.unpack().to_f64())),
        (Slot::Int(n), Type::Packed(PackedType::Bit(len))) if matches!(from, Type::Int4 | Type::Int8) => {
            let bits = Bits::of_integer(n, len.unwrap_or(1) as usize).encode();
            heap.bytea(&bits)
        }
        (Slot::Int(n), Type::Packed(PackedType::Money)) if matches!(from, Type::Int4 | Type::Int8) => {
            heap.bytea(&money::encode(money::of_integer(n)?))
        }
        (Slot::Numeric(n), Type::Packed(PackedType::Money)) => {
            heap.bytea(&money::encode(money::of_numeric(n.unpack())?))
        }
        (Slot::Bytea(at), Type::Int4 | Type::Int8) if matches!(from, Type::Packed(PackedType::Bit(_))) => {
            let bits = Bits::decode(heap.bytes(at)).ok_or_else(|| cannot_cast(from, to))?;
            to_int(bits.to_integer(if *to == Type::Int4 { 32 } else { 64 }), to)
        }
        (Slot::Bytea(at), Type::Numeric(modifier)) if *from == PackedType::Money.ty() => {
            let cents = money::decode(heap.bytes(at)).ok_or_else(|| cannot_cast(from, to))?;
            let amount = Numeric::from_parts(cents.into(), 2).ok_or_else(|| cannot_cast(from, to))?;
            modified(amount, *modifier, heap)
        }
        (Slot::Int(n), Type::Packed(PackedType::TimeTz(digits))) => {
            let time = match from {
                Type::Time => TimeTz::of_time(n, heap.zone().as_deref()),
                Type::TimestampTz if !datetime::is_finite_timestamp(n) => return Ok(Slot::Null),
                Type::TimestampTz => TimeTz::of_timestamp(n, heap.zone().as_deref()),
                _ => return Err(cannot_cast(from, to)),
            };
            heap.bytea(&time.rounded(*digits).encode())
        }
        (Slot::Bytea(at), Type::Time) if matches!(from, Type::Packed(PackedType::TimeTz(_))) => {
            let time = TimeTz::decode(heap.bytes(at)).ok_or_else(|| cannot_cast(from, to))?;
            Ok(Slot::Int(time.time))
        }
        (Slot::Bytea(at), Type::Packed(to)) => packed(at, from, *to, explicit, heap),
        (Slot::Float(_), Type::Float8)
        | (Slot::Bytea(_), Type::Bytea | Type::Range(_))
        | (Slot::Bool(_), Type::Bool)
        | (Slot::Jsonb(_), Type::Jsonb)
        | (Slot::Uuid(_), Type::Uuid)
        | (Slot::Interval(_), Type::Interval | Type::OldInterval)
        | (_, Type::Unknown) => Ok(slot),
        (Slot::Int(n), Type::Date | Type::Timestamp | Type::TimestampTz) => to_datetime(n, from, to, heap),
        (Slot::Int(n), Type::Time) => to_time(n, from, heap),
        (Slot::Interval(i), Type::Time) => Ok(Slot::Int(datetime::time_of_interval(i))),
        (Slot::Int(n), Type::Interval | Type::OldInterval) if *from == Type::Time => {
            Ok(Slot::Interval(Interval { months: 0, days: 0, micros: n }))
        }
        (Slot::Jsonb(at), Type::Bool | Type::Int2 | Type::Int4 | Type::Int8)
        | (Slot::Jsonb(at), Type::Numeric(_) | Type::Float8 | Type::Float4) => {
            let text = heap.str(at).to_owned();
            json::to_scalar(&text, to, heap)
        }
        (Slot::Citext(_), Type::Citext) => Ok(slot),
        (_, Type::Citext) => to_text(slot, from, heap).map(Slot::Citext),
        (_, Type::Text | Type::Varchar(_) | Type::Char(_)) => {
            let text = to_text(slot, from, heap)?;
            limited(text, to, explicit, heap)
        }
        (Slot::Int(n), to) if to.is_oid() && from.class() == TypeClass::Integer => {
            // As PostgreSQL: an int4 is taken bit by bit, an int8 must be in range.
            let bits = u32::try_from(n).ok().or_else(|| match from {
                Type::Int2 | Type::Int4 => i32::try_from(n).ok().map(|n| n as u32),
                _ => None,
            });
            bits.map(|n| Slot::Int(i64::from(n)))
                .ok_or_else(|| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range"))
        }
        (Slot::Text(at), Type::Int4) if *from == Type::CHAR => {
            Ok(Slot::Int(heap.bytes(at).first().map_or(0, |b| i64::from(*b as i8))))
        }
        (Slot::Int(n), Type::System(SystemType::Char)) => {
            let byte = u8::try_from(n)
                .ok()
                .filter(u8::is_ascii)
                .ok_or_else(|| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "\"char\" out of range"))?;
            let text = if byte == 0 { String::new() } else { char::from(byte).to_string() };
            heap.text(&text)
        }
        (Slot::Text(at) | Slot::Citext(at), to) => parse_as(at, to, explicit, heap),
        (Slot::Array(array), Type::Record(row)) => match from {
            Type::Record(before) if before.is_former_of(row) => reshaped(array, before, row, heap),
            _ => Ok(slot),
        },
        (Slot::Array(_), Type::System(_)) => Ok(slot),
        (Slot::Array(array), Type::Array(element_to)) => match from {
            Type::Array(element_from) if needs_cast(element_from, element_to) => {
                let mut elements = heap.elements(array).to_vec();
                for element in &mut elements {
                    *element = cast(*element, element_from, element_to, explicit, heap)?;
                }
                heap.array_like(array, &elements)
            }
            _ => Ok(slot),
        },
        _ => Err(cannot_cast(from, to)),
    }
}

/// A row whose type has got, or lost, fields: those that it has go on by their names, new ones are NULL.
#[cold]
fn reshaped(row: ArrayRef, from: &RowType, to: &RowType, heap: &mut Heap) -> Result<Slot> {
    let had = heap.elements(row).to_vec();
    let mut fields = Vec::with_capacity(to.len());
    for (name, ty) in to.iter() {
        let place = from.iter().position(|(field, _)| field == name);
        fields.push(match place.and_then(|i| Some((had.get(i)?, &from[i].1))) {
            Some((field, before)) => cast(*field, before, ty, true, heap)?,
            None => Slot::Null,
        });
    }
    heap.array(&fields)
}

#[cold]
fn cannot_cast(from: &Type, to: &Type) -> Error {
    Error::new(SqlState::CANNOT_COERCE, format!("cannot cast type {from} to {to}"))
}

#[inline]
fn modified(n: Numeric, modifier: Option<(u16, i16)>, heap: &mut Heap) -> Result<Slot> {
    let Some((precision, scale)) = modifier else { return Ok(Slot::numeric(n)) };
    match n.rescale(precision, scale) {
        Err(e) if is_overflow(&e) => number::rescale(Slot::numeric(n), modifier, heap),
        done => done.map(Slot::numeric),
    }
}

/// A numeric as a `real`, by its text.
fn real(slot: Slot, from: &Type, heap: &Heap) -> Result<Slot> {
    Ok(Slot::Float(text_io::parse_real(&display(heap, slot, from))?))
}

/// 22003 of what no double is near.
#[cold]
fn double(n: &Long) -> Result<Slot> {
    Ok(Slot::Float(text_io::parse_float(&n.to_string())?))
}

fn to_int(n: Option<i64>, to: &Type) -> Result<Slot> {
    Ok(Slot::Int(match to {
        Type::Int2 => int2(n)?,
        Type::Int4 => int4(n)?,
        _ => int8(n)?,
    }))
}

fn to_datetime(n: i64, from: &Type, to: &Type, heap: &mut Heap) -> Result<Slot> {
    let local = |heap: &mut Heap| heap.zone().map_or(Ok(n), |zone| zone.to_local(n));
    let utc = |local: i64, heap: &mut Heap| match heap.zone() {
        Some(zone) if local != datetime::AFTER_TIMESTAMPS => zone.to_utc(local),
        _ => Ok(local),
    };
    Ok(Slot::Int(match (from, to) {
        (Type::Date, Type::Timestamp) => datetime::date_to_timestamp(n)?,
        (Type::Date, Type::TimestampTz) => utc(datetime::date_to_timestamp(n)?, heap)?,
        (Type::Timestamp, Type::Date) => datetime::timestamp_to_date(n),
        (Type::TimestampTz, Type::Date) => datetime::timestamp_to_date(local(heap)?),
        (Type::Timestamp, Type::TimestampTz) => utc(n, heap)?,
        (Type::TimestampTz, Type::Timestamp) => local(heap)?,
        (Type::Timestamp, Type::Timestamp) | (Type::TimestampTz, Type::TimestampTz) => n,
        (Type::Date, Type::Date) => n,
        _ => return Err(cannot_cast(from, to)),
    }))
}

/// A value that is kept as bytes, as one of another such type.
fn packed(at: Bytes, from: &Type, to: PackedType, explicit: bool, heap: &mut Heap) -> Result<Slot> {
    let Type::Packed(of) = from else { return Err(cannot_cast(from, &Type::Packed(to))) };
    match of.convert(heap.bytes(at), to, explicit)? {
        Some(value) => heap.bytea(&value),
        None => Err(cannot_cast(from, &Type::Packed(to))),
    }
}

/// The time that clocks show then; NULL of infinity.
fn to_time(n: i64, from: &Type, heap: &mut Heap) -> Result<Slot> {
    let time = match from {
        Type::Time => Some(n),
        Type::Timestamp => datetime::time_of_timestamp(n),
        Type::TimestampTz => datetime::time_of_timestamp(heap.zone().map_or(Ok(n), |zone| zone.to_local(n))?),
        _ => return Err(cannot_cast(from, &Type::Time)),
    };
    Ok(time.map_or(Slot::Null, Slot::Int))
}

/// A value with seconds, with so many digits of them.
fn rounded(slot: Slot, clock: Clock, digits: u8) -> Result<Slot> {
    Ok(match (slot, clock) {
        (Slot::Int(n), Clock::Time) => Slot::Int(datetime::round_seconds(n, digits)),
        (Slot::Int(n), _) => Slot::Int(datetime::round_timestamp(n, digits)?),
        (Slot::Interval(i), clock) => Slot::Interval(clock.fit(i, digits)),
        (other, _) => other,
    })
}

/// The cast to text, before any length: `true` where the output form is `t`.
fn to_text(slot: Slot, from: &Type, heap: &mut Heap) -> Result<Bytes> {
    match slot {
        Slot::Text(at) | Slot::Jsonb(at) | Slot::Citext(at) => Ok(at),
        Slot::Bool(b) => Ok(heap.arena.push_bytes(if b { b"true" } else { b"false" })?),
        Slot::Bytea(at) if let Type::Packed(of) = from => heap.build(|heap, out| {
            of.write_cast(heap.bytes(at), out);
            Ok(())
        }),
        _ => {
            heap.writes(from);
            heap.build(|heap, out| {
                write(heap, slot, from, out);
                Ok(())
            })
        }
    }
}

/// A text of the length the type allows.
fn limited(at: Bytes, to: &Type, explicit: bool, heap: &Heap) -> Result<Slot> {
    let (limit, blank_padded) = match to {
        Type::Varchar(Some(n)) => (*n as usize, false),
        Type::Char(0) => (usize::MAX, true),
        Type::Char(n) => (*n as usize, true),
        _ => return Ok(Slot::Text(at)),
    };
    let text = heap.bytes(at);
    let mut len = text.len();
    // A character is at least a byte, so only a longer text needs counting.
    if len > limit && count_chars(text) > limit {
        let kept = text_io::first_chars(heap.str(at), limit).len();
        if !explicit && text[kept..].iter().any(|b| *b != b' ') {
            return Err(Error::new(
                SqlState::STRING_DATA_RIGHT_TRUNCATION,
                format!("value too long for type {to}"),
            ));
        }
        len = kept;
    }
    if blank_padded {
        let last = text[..len].iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
        watch::count(len - last);
        len = last;
    }
    Ok(Slot::Text(Bytes { offset: at.offset, len: len as u32 }))
}

/// Reads a value of a type from a text in the heap.
pub fn parse(at: Bytes, to: &Type, heap: &mut Heap) -> Result<Slot> {
    parse_as(at, to, true, heap)
}

/// The same; texts in an array that are too long are cut by an explicit cast alone.
fn parse_as(at: Bytes, to: &Type, explicit: bool, heap: &mut Heap) -> Result<Slot> {
    if let Type::Rounded(clock, digits) = to {
        let completed = match clock.completed(heap.str(at)) {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        };
        let at = match completed {
            Some(text) => heap.arena.push_bytes(text.as_bytes())?,
            None => at,
        };
        return rounded(parse(at, clock.ty(), heap)?, *clock, *digits);
    }
    if *to == Type::TimestampTz {
        let (zone, styles) = (heap.zone(), heap.read_styles());
        let forms = Forms { zone: zone.as_deref(), styles };
        return Ok(Slot::Int(datetime::parse_timestamptz(heap.str(at), forms)?));
    }
    if let Type::Range(of) = to {
        let zone = if to.has_zone() { heap.zone() } else { None };
        let styles = if to.has_style() { heap.read_styles() } else { Styles::DEFAULT };
        let forms = Forms { zone: zone.as_deref(), styles };
        let range = Range::parse(*of, heap.str(at), forms)?.encode();
        return heap.bytea(&range);
    }
    if let Type::Packed(PackedType::TimeTz(digits)) = to {
        let (zone, styles) = (heap.zone(), heap.read_styles());
        let time = TimeTz::parse(heap.str(at), Forms { zone: zone.as_deref(), styles })?;
        return heap.bytea(&time.rounded(*digits).encode());
    }
    if let Type::Packed(of) = to {
        let value = of.read(heap.str(at), explicit)?;
        return heap.bytea(&value);
    }
    let styles = if to.has_style() { heap.read_styles() } else { Styles::DEFAULT };
    let text = heap.str(at);
    Ok(match to {
        Type::Text | Type::Unknown | Type::Varchar(_) | Type::Char(_) => limited(at, to, explicit, heap)?,
        Type::Citext => Slot::Citext(at),
        Type::Bool => Slot::Bool(text_io::parse_bool(text)?),
        Type::Int2 | Type::Int4 | Type::Int8 => Slot::Int(text_io::parse_int(text, to)?),
        Type::Numeric(modifier) => {
            let n = Number::parse(text)?;
            number::modified(n, *modifier, heap)?
        }
        Type::Float8 => Slot::Float(text_io::parse_float(text)?),
        Type::Float4 => Slot::Float(text_io::parse_real(text)?),
        Type::Bytea => {
            let bytes = text_io::parse_bytea(text.as_bytes())?;
            heap.bytea(&bytes)?
        }
        Type::Date => Slot::Int(datetime::parse_date(text, styles.order)?),
        Type::Time => Slot::Int(datetime::parse_time(text, styles.order)?),
        Type::Timestamp => Slot::Int(datetime::parse_timestamp(text, styles.order)?),
        Type::Interval | Type::OldInterval => {
            Slot::Interval(datetime::parse_interval(text, styles.intervals)?)
        }
        Type::Uuid => Slot::Uuid(text_io::parse_uuid(text)?),
        Type::Enum(of) => Slot::Int(of.parse(text)?),
        Type::Jsonb => {
            let form = planaria_base::json::canonical(text)?;
            if form == text { Slot::Jsonb(at) } else { heap.jsonb(&form)? }
        }
        Type::Array(element) => {
            let mut elements = Vec::new();
            let (shape, texts) = text_io::parse_array(text)?;
            for text in texts {
                elements.push(match text {
                    Some(text) => {
                        let at = heap.arena.push_bytes(text.as_bytes())?;
                        parse_as(at, element, explicit, heap)?
                    }
                    None => Slot::Null,
                });
            }
            let list = heap.array(&elements)?.array();
            heap.shaped(list, shape)?
        }
        Type::Record(row) if row.of.is_some() => {
            let mut fields = Vec::with_capacity(row.len());
            for (text, (_, ty)) in text_io::parse_record(text, row.len())?.into_iter().zip(row.iter()) {
                fields.push(match text {
                    // Whatever is asked for, what is too long for its field is not cut.
                    Some(text) => {
                        let at = heap.arena.push_bytes(text.as_bytes())?;
                        parse_as(at, ty, false, heap)?
                    }
                    None => Slot::Null,
                });
            }
            heap.array(&fields)?
        }
        Type::System(system) if matches!(to.class(), TypeClass::Text) => {
            if *system == SystemType::Json {
                planaria_base::json::check(text)?;
            }
            let text = match system {
                SystemType::Name => text_io::first_bytes(text, NAME_BYTES_MAX),
                SystemType::Char => text_io::first_chars(text, 1),
                _ => text,
            };
            Slot::Text(Bytes { offset: at.offset, len: text.len() as u32 })
        }
        Type::System(_) | Type::Record(_) => {
            let datum = Datum::parse(to, text)?;
            heap.push_datum(&datum)?
        }
        Type::Void | Type::Rounded(..) | Type::Range(_) | Type::Packed(_) | Type::TimestampTz => {
            return Err(cannot_cast(&Type::Text, to));
        }
    })
}

/// Appends the text form of a value of a type, as `psql` shows it; NULL appends nothing.
pub fn write(heap: &Heap, slot: Slot, ty: &Type, out: &mut Vec<u8>) {
    match (slot, ty.plain()) {
        (Slot::Null, _) => {}
        (Slot::Bool(b), _) => out.push(if b { b't' } else { b'f' }),
        (Slot::Int(n), Type::Date) => datetime::write_date(out, n, heap.styles()),
        (Slot::Int(n), Type::Time) => datetime::write_time(out, n),
        (Slot::Int(n), Type::Enum(of)) => of.write(out, n),
        (Slot::Int(n), &Type::TID) => text_io::write_tid(out, n),
        (Slot::Int(n), Type::Timestamp) => datetime::write_timestamp(out, n, heap.styles()),
        (Slot::Int(n), Type::TimestampTz) => datetime::write_timestamptz(out, n, heap.forms()),
        (Slot::Interval(i), _) => datetime::write_interval(out, i, heap.styles()),
        (Slot::Int(n), _) => text_io::write_int(out, n),
        (Slot::Float(x), ty) => text_io::write_float_as(out, x, *ty == Type::Float4, heap.styles()),
        (Slot::Numeric(n), _) => n.unpack().write(out),
        (Slot::Long(at), _) => Long::from_bytes(heap.long(at)).write(out),
        (Slot::Text(at), Type::Char(n)) => text_io::write_char(out, heap.bytes(at), *n as usize),
        (Slot::Text(at) | Slot::Jsonb(at) | Slot::Citext(at), _) => {
            watch::count(at.len as usize);
            out.extend_from_slice(heap.bytes(at));
        }
        (Slot::Bytea(at), Type::Range(_)) => range::write(heap.bytes(at), heap.forms(), out),
        (Slot::Bytea(at), Type::Packed(of)) => of.write(heap.bytes(at), out),
        (Slot::Bytea(at), _) => text_io::write_bytea(out, heap.bytes(at), heap.styles().bytes),
        (Slot::Uuid(u), _) => text_io::write_uuid(out, &u),
        (Slot::Array(array), Type::System(system)) => {
            let element_type = system.element().unwrap_or(Type::Unknown);
            for (i, element) in heap.elements(array).iter().enumerate() {
                if i > 0 {
                    out.push(b' ');
                }
                write(heap, *element, &element_type, out);
            }
        }
        (Slot::Array(array), Type::Record(fields)) => {
            out.push(b'(');
            let mut text = Vec::new();
            for (i, (field, (_, ty))) in heap.elements(array).iter().zip(fields.iter()).enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                if !field.is_null() {
                    text.clear();
                    write(heap, *field, ty, &mut text);
                    text_io::write_record_field(out, &text);
                }
            }
            out.push(b')');
        }
        (Slot::Array(array), ty) => {
            let element_type = if let Type::Array(element) = ty { element } else { &Type::Unknown };
            let elements = heap.elements(array);
            let mut text = Vec::new();
            text_io::write_array(out, heap.shape(array), elements.len(), |out, i| {
                if elements[i].is_null() {
                    out.extend_from_slice(b"NULL");
                    return;
                }
                text.clear();
                write(heap, elements[i], element_type, &mut text);
                text_io::write_array_element(out, &text);
            });
        }
    }
}

/// A value as JSON: `to_json`.
#[inline(never)]
fn made_json(slot: Slot, from: &Type, heap: &mut Heap) -> Result<Slot> {
    heap.writes(from);
    let text = heap.build(|heap, out| {
        write_json(heap, slot, from, out);
        Ok(())
    })?;
    Ok(Slot::Text(text))
}

fn write_json(heap: &Heap, slot: Slot, ty: &Type, out: &mut Vec<u8>) {
    match (slot, ty) {
        (Slot::Null, _) => out.extend_from_slice(b"null"),
        (Slot::Bool(b), _) => out.extend_from_slice(if b { b"true" } else { b"false" }),
        (Slot::Int(_), Type::Int2 | Type::Int4 | Type::Int8) | (Slot::Numeric(_), _) => {
            write(heap, slot, ty, out);
        }
        (Slot::Float(x), _) if x.is_finite() => write(heap, slot, ty, out),
        // NaN and the infinities are no numbers of JSON.
        (Slot::Long(at), _) if at.len > 0 => write(heap, slot, ty, out),
        (Slot::Text(at), Type::System(SystemType::Json)) | (Slot::Jsonb(at), _) => {
            out.extend_from_slice(heap.bytes(at))
        }
        (Slot::Array(array), Type::Record(fields)) => {
            out.push(b'{');
            for (i, (field, (name, ty))) in heap.elements(array).iter().zip(fields.iter()).enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                planaria_base::json::quote(out, name);
                out.push(b':');
                write_json(heap, *field, ty, out);
            }
            out.push(b'}');
        }
        (Slot::Array(array), Type::Array(of)) => {
            let elements = heap.elements(array);
            text_io::write_nested(out, heap.shape(array), elements.len(), [b'[', b']'], |out, i| {
                write_json(heap, elements[i], of, out);
            });
        }
        (slot, ty) => {
            let mut text = Vec::new();
            write_in_json(heap, slot, ty, &mut text);
            let mut text = String::from_utf8_lossy(&text).into_owned();
            // As ISO 8601 has a moment: with a T, and its zone with minutes.
            if matches!(ty.plain(), Type::Timestamp | Type::TimestampTz)
                && let Some((day, rest)) = text.split_once(' ')
            {
                let (clock, era) = rest.split_once(' ').map_or((rest, ""), |(clock, _)| (clock, " BC"));
                let hours = clock.rfind(['+', '-']).is_some_and(|at| clock.len() - at == 3);
                text = format!("{day}T{clock}{}{era}", if hours { ":00" } else { "" });
            }
            planaria_base::json::quote(out, &text);
        }
    }
}

/// Dates are as ISO has them whatever the style; intervals are not.
fn write_in_json(heap: &Heap, slot: Slot, ty: &Type, out: &mut Vec<u8>) {
    match (slot, ty.plain()) {
        (Slot::Int(n), Type::Date) => datetime::write_date(out, n, Styles::DEFAULT),
        (Slot::Int(n), Type::Timestamp) => datetime::write_timestamp(out, n, Styles::DEFAULT),
        (Slot::Int(n), Type::TimestampTz) => {
            datetime::write_timestamptz(out, n, Forms::of_zone(heap.shown_zone()));
        }
        _ => write(heap, slot, ty, out),
    }
}

/// The text form of a value of a type; NULL is empty.
pub fn display(heap: &Heap, slot: Slot, ty: &Type) -> String {
    let mut out = Vec::new();
    write(heap, slot, ty, &mut out);
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
