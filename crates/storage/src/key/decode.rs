//! Keys back to values, for people who read a log.

use super::*;
use planaria_base::Datum;
use planaria_base::datetime;

const MICROS_PER_DAY: i128 = datetime::MICROS_PER_DAY as i128;

impl KeyCodec {
    /// The values of the columns of a key, in the order of the index. What the encoding does not keep
    /// comes back otherwise: a text as `Bytea`, -0 as 0, an interval with months of 30 days, an unconstrained numeric at the smallest scale.
    /// `None` for bytes that are no key of the index.
    pub fn decode(&self, key: &[u8]) -> Option<Vec<Datum>> {
        let mut rest = key;
        self.columns.iter().map(|c| take_column(&c.column, &mut rest)).collect()
    }
}

fn take_column(c: &Column, rest: &mut &[u8]) -> Option<Datum> {
    if c.nullable() {
        match u64::from(take::<1>(rest)?[0]) {
            VALUE => {}
            NULL => return Some(Datum::Null),
            _ => return None,
        }
    }
    Some(match c.kind() {
        ColumnKind::Int8 => Datum::Int(unbiased(u64::from_be_bytes(take(rest)?), 8)),
        ColumnKind::Int4 => Datum::Int(unbiased(u32::from_be_bytes(take(rest)?).into(), 4)),
        ColumnKind::Int2 => Datum::Int(unbiased(u16::from_be_bytes(take(rest)?).into(), 2)),
        ColumnKind::Decimal => {
            let mantissa = unbiased(u64::from_be_bytes(take(rest)?), 8);
            if mantissa == i64::MAX {
                return Some(Datum::Long(Box::new(Long::Nan)));
            }
            Datum::Numeric(Numeric::from_parts(mantissa.into(), c.scale())?)
        }
        ColumnKind::Bool => Datum::Bool(take::<1>(rest)?[0] != 0),
        ColumnKind::Float8 | ColumnKind::Float4 => {
            let bits = u64::from_be_bytes(take(rest)?);
            Datum::Float(f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }))
        }
        ColumnKind::Numeric => numeric::take_numeric(rest)?.into(),
        ColumnKind::Uuid => Datum::Uuid(take(rest)?),
        ColumnKind::Interval => {
            let span = (u128::from_be_bytes(take(rest)?) ^ 1 << 127) as i128;
            // As much of it in the larger parts as they can hold.
            let short = |n: i128| n.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            let months = short(span / (30 * MICROS_PER_DAY));
            let days = short((span - i128::from(months) * 30 * MICROS_PER_DAY) / MICROS_PER_DAY);
            let whole = Interval { months, days, micros: 0 };
            Datum::Interval(Interval { micros: i64::try_from(span - whole.span()).ok()?, ..whole })
        }
        ColumnKind::OldInterval => {
            Datum::Interval(Interval::of_micros(unbiased(u64::from_be_bytes(take(rest)?), 8)))
        }
        ColumnKind::Bytes => Datum::Bytea(take_escaped(rest)?),
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

/// Back from [`biased`].
fn unbiased(v: u64, width: u32) -> i64 {
    let unused = 64 - 8 * width;
    ((v << unused) ^ (1 << 63)) as i64 >> unused
}

/// Back from [`push_escaped`].
fn take_escaped(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        match take::<1>(rest)?[0] {
            0 => return Some(bytes),
            1 => bytes.push(take::<1>(rest)?[0].checked_sub(1).filter(|b| *b <= 1)?),
            byte => bytes.push(byte),
        }
    }
}
