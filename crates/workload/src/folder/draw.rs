//! Drawing: generators whose names are bound, into slots. Nothing is allocated, but for texts and arrays that are longer than
//! any before.

use super::expression::Bound;
use super::generator::{Format, Literal};
use super::slot::Slot;
use crate::inputs::Inputs;
use crate::skew::Skewed;
use planaria::Result;
use std::fmt::Write;

/// A generator that is ready to draw.
pub(crate) struct Generator {
    pub(super) draw: Draw,
    /// Of a hundred values, those that are NULL.
    pub(super) null: f64,
    /// The place of the value that it is not to have.
    pub(super) other_than: Option<usize>,
}

/// How a value is drawn, with everything bound.
pub(super) enum Draw {
    Value(Bound),
    Uniform([Bound; 2]),
    Zipf { skewed: Skewed, low: i64, keys: u64, stride: u64 },
    Nurand { low: i64, high: i64, a: i64, c: i64 },
    Sequence { next: i64, step: i64 },
    Unique(i64),
    Choice { upto: Vec<i64>, values: Vec<Literal> },
    Bool(bool),
    Chance(f64),
    Letters { length: [Bound; 2], of: Vec<char> },
    Decimal { low: i64, high: i64, scale: u8 },
    Float { low: f64, high: f64 },
    Stored { low: i64, high: i64 },
    Uuid,
    Format { text: Format, of: Vec<Bound> },
    Array { of: Box<Generator>, length: [Bound; 2], distinct: bool, sorted: bool },
}

/// How often a value that is not to be the same is drawn again, where there may be no other.
const TRIES: usize = 1000;

impl Generator {
    /// Draws into `slot`; `before` are the values that were drawn before it, `seed` is the driver's.
    pub(crate) fn draw(
        &mut self,
        slot: &mut Slot,
        before: &[Slot],
        inputs: &mut Inputs,
        seed: u64,
    ) -> Result<()> {
        if self.null > 0.0 && inputs.chance_of(self.null) {
            slot.set_null();
            return Ok(());
        }
        self.draw.draw(slot, before, inputs, seed)?;
        if let Some(other) = self.other_than {
            for _ in 0..TRIES {
                if !slot.equals(&before[other]) {
                    break;
                }
                self.draw.draw(slot, before, inputs, seed)?;
            }
        }
        Ok(())
    }
}

impl Draw {
    fn draw(&mut self, slot: &mut Slot, before: &[Slot], inputs: &mut Inputs, seed: u64) -> Result<()> {
        let between = |range: &[Bound; 2], inputs: &mut Inputs| -> Result<i64> {
            let (low, high) = (range[0].value(before)?, range[1].value(before)?);
            Ok(inputs.uniform(low, high.max(low)))
        };
        match self {
            Draw::Value(of) => slot.set_int(of.value(before)?),
            Draw::Uniform(range) => slot.set_int(between(range, inputs)?),
            Draw::Zipf { skewed, low, keys, stride } => {
                let rank = skewed.draw(inputs) as u64 - 1;
                let key = if *stride == 1 {
                    rank
                } else {
                    (u128::from(rank) * u128::from(*stride) % u128::from(*keys)) as u64
                };
                slot.set_int(*low + key as i64);
            }
            Draw::Nurand { low, high, a, c } => slot.set_int(inputs.nurand(*a, *low, *high, *c)),
            Draw::Sequence { next, step } => {
                slot.set_int(*next);
                *next = next.wrapping_add(*step);
            }
            Draw::Unique(count) => {
                // A driver's seed is its own: 27 bits of it, and 36 to count by.
                slot.set_int(((seed & ((1 << 27) - 1)) << 36) as i64 + *count);
                *count += 1;
            }
            Draw::Choice { upto, values } => {
                let pick = inputs.uniform(1, upto.last().copied().unwrap_or(1));
                match &values[upto.partition_point(|u| *u < pick)] {
                    Literal::Null => slot.set_null(),
                    Literal::Bool(b) => slot.set_bool(*b),
                    Literal::Int(n) => slot.set_int(*n),
                    Literal::Decimal(n, scale) => slot.set_decimal(*n, *scale),
                    Literal::Text(text) => slot.set_text().push_str(text),
                }
            }
            Draw::Bool(b) => slot.set_bool(*b),
            Draw::Chance(percent) => slot.set_bool(inputs.chance_of(*percent)),
            Draw::Letters { length, of } => {
                let length = between(length, inputs)?;
                let text = slot.set_text();
                for _ in 0..length {
                    text.push(of[inputs.uniform(0, of.len() as i64 - 1) as usize]);
                }
            }
            Draw::Decimal { low, high, scale } => slot.set_decimal(inputs.uniform(*low, *high), *scale),
            Draw::Float { low, high } => slot.set_float(*low + inputs.fraction() * (*high - *low)),
            Draw::Stored { low, high } => slot.set_stored(inputs.uniform(*low, *high)),
            Draw::Uuid => {
                let mut uuid = inputs.bytes();
                // Version 4, variant 1 (RFC 9562).
                uuid[6] = uuid[6] & 0x0F | 0x40;
                uuid[8] = uuid[8] & 0x3F | 0x80;
                slot.set_uuid(uuid);
            }
            Draw::Format { text, of } => {
                let out = slot.set_text();
                for ((said, width), of) in text.parts.iter().zip(of) {
                    out.push_str(said);
                    let _ = write!(out, "{:0width$}", of.value(before)?, width = *width);
                }
                out.push_str(&text.end);
            }
            Draw::Array { of, length, distinct, sorted } => {
                let wanted = between(length, inputs)?.clamp(0, 1 << 20) as usize;
                let items = slot.set_array();
                items.used = 0;
                let mut tries = 0;
                while items.used < wanted && tries < TRIES + wanted {
                    if items.slots.len() == items.used {
                        items.slots.push(Slot::default());
                    }
                    let (there, new) = items.slots.split_at_mut(items.used);
                    of.draw(&mut new[0], before, inputs, seed)?;
                    if *distinct && there.iter().any(|s| s.equals(&new[0])) {
                        tries += 1;
                    } else {
                        items.used += 1;
                    }
                }
                if *sorted {
                    items.slots[..items.used].sort_by(Slot::order);
                }
            }
        }
        Ok(())
    }
}
