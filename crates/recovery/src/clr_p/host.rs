//! What a slice program asks of its surroundings: the inputs its call drew, and where keys go.

use crate::Routines;
use planaria_base::{Datum, Error, Level, Result, SequenceId, SequencePlace, SqlState, Type};
use planaria_exec::{Dynamic, Heap, Host, Slot};
use planaria_ir::Draw;
use planaria_storage::Field;

/// The hash of a leading key value, by which piece-sets are split.
#[derive(Clone, Copy)]
pub(super) struct PartitionHash(u64);

impl PartitionHash {
    /// The part, of so many.
    pub(super) fn part(self, of: u32) -> u32 {
        (((self.0 >> 32) * u64::from(of)) >> 32) as u32
    }
}

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 32).wrapping_mul(MULTIPLIER);
    (word ^ word >> 29).wrapping_mul(MULTIPLIER)
}

/// Of integers, dates and times, whatever their width.
pub(super) fn hash_int(value: i64) -> PartitionHash {
    PartitionHash(mix(value as u64))
}

fn hash_bytes(bytes: &[u8]) -> PartitionHash {
    PartitionHash(bytes.iter().fold(bytes.len() as u64, |hash, byte| mix(hash ^ u64::from(*byte))))
}

/// Of a column of a row. Numbers that are no integers have none: equal ones may look different.
pub(super) fn hash_field(field: Field<'_>) -> Option<PartitionHash> {
    Some(match field {
        Field::Int(value) => hash_int(value),
        Field::Bool(value) => hash_int(i64::from(value)),
        Field::Bytes(bytes) => hash_bytes(bytes),
        Field::Uuid(bytes) => hash_bytes(&bytes),
        Field::Null | Field::Float(_) | Field::Numeric(_) | Field::Long(_) | Field::Interval(_) => {
            return None;
        }
    })
}

/// The same of a key value; a NULL finds no row and has none.
fn hash_slot(slot: Slot, heap: &Heap) -> Option<PartitionHash> {
    match slot {
        Slot::Int(value) => Some(hash_int(value)),
        Slot::Bool(value) => Some(hash_int(i64::from(value))),
        Slot::Text(at) | Slot::Bytea(at) | Slot::Jsonb(at) => Some(hash_bytes(heap.bytes(at))),
        Slot::Uuid(bytes) => Some(hash_bytes(&bytes)),
        _ => None,
    }
}

/// See the module's head.
pub(super) struct SliceHost<'a> {
    inputs: &'a [Datum],
    given: usize,
    now: Option<i64>,
    routines: &'a dyn Routines,
    hashes: &'a mut Vec<PartitionHash>,
}

impl<'a> SliceHost<'a> {
    pub(super) fn new(
        inputs: &'a [Datum],
        routines: &'a dyn Routines,
        hashes: &'a mut Vec<PartitionHash>,
    ) -> SliceHost<'a> {
        SliceHost { inputs, given: 0, now: None, routines, hashes }
    }

    fn next(&mut self) -> Result<&'a Datum> {
        let datum = self.inputs.get(self.given).ok_or_else(missing)?;
        self.given += 1;
        Ok(datum)
    }

    fn next_int(&mut self) -> Result<i64> {
        match self.next()? {
            Datum::Int(value) => Ok(*value),
            _ => Err(missing()),
        }
    }
}

#[cold]
fn missing() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "replay asks for an input that the log does not have")
}

#[cold]
fn never(what: &str) -> Error {
    Error::internal(format!("a slice {what}"))
}

impl Host for SliceHost<'_> {
    fn draw(&mut self, input: Draw) -> Result<Slot> {
        // The transaction is one statement.
        let is_now = matches!(input, Draw::TransactionTimestamp | Draw::StatementTimestamp);
        if let (true, Some(now)) = (is_now, self.now) {
            return Ok(Slot::Int(now));
        }
        let slot = match self.next()? {
            Datum::Int(value) => Slot::Int(*value),
            Datum::Float(value) => Slot::Float(*value),
            Datum::Uuid(bytes) => Slot::Uuid(*bytes),
            Datum::Bool(value) => Slot::Bool(*value),
            _ => return Err(missing()),
        };
        if let (true, Slot::Int(now)) = (is_now, slot) {
            self.now = Some(now);
        }
        Ok(slot)
    }

    fn name(&mut self, _: Draw) -> Result<String> {
        match self.next()? {
            Datum::Text(name) => Ok(name.clone()),
            _ => Err(missing()),
        }
    }

    fn next_value(&mut self, sequence: SequenceId) -> Result<i64> {
        let place = SequencePlace::of_input(self.next()?).ok_or_else(missing)?;
        self.routines.observe_sequence(sequence, place);
        Ok(place.value)
    }

    fn current_value(&mut self, _: SequenceId) -> Result<i64> {
        self.next_int()
    }

    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<()> {
        Err(never("sets a sequence"))
    }

    fn notice(&mut self, _: Level, _: &Error) {}

    fn row(&mut self, _: &[Slot], _: &Heap) -> Result<()> {
        Ok(())
    }

    fn execute(&mut self, _: &str, _: &[Type], _: &[String]) -> Result<Dynamic> {
        Err(never("executes text"))
    }

    fn keep(&mut self, _: &[Slot], _: &Heap) -> Result<()> {
        Err(never("keeps values"))
    }

    fn kept(&mut self, _: &Type, heap: &mut Heap) -> Result<Slot> {
        heap.push_datum(self.next()?)
    }

    fn piece(&mut self, _: u32, args: &[Slot], heap: &Heap) -> Result<()> {
        self.hashes.extend(args.iter().filter_map(|slot| hash_slot(*slot, heap)));
        Ok(())
    }
}
