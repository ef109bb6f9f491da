//! Rows on their way out, lent one by one: for whoever encodes them without keeping them.

use crate::from_row::FromRow;
use crate::row::{Columns, Row};
use planaria_base::datetime::{Forms, Interval, Zone};
use planaria_base::numeric::Long;
use planaria_base::shape::Shaped;
use planaria_base::{Datum, Error, Numeric, Result, SqlState};
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use std::marker::PhantomData;

/// Takes the rows of an answer as they are made.
///
/// Rows come before their transaction has committed. So nothing may leave for the client until the
/// statement has succeeded; and when the transaction is tried again, what was taken is void.
pub trait RowSink {
    /// What was taken of this statement so far is void: it begins anew.
    fn restart(&mut self);
    /// The next row. An error ends the statement with it.
    fn row(&mut self, row: RowRef<'_>) -> Result<()>;
}

/// A borrowed row.
#[derive(Clone, Copy)]
pub struct RowRef<'a> {
    slots: &'a [Slot],
    heap: &'a Heap,
    /// Values that are shown as names: place, oid, name.
    names: &'a [(usize, u32, String)],
}

/// A borrowed value. Its type is that of the statement's column.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// NULL
    Null,
    /// boolean
    Bool(bool),
    /// smallint, integer, bigint; date in days, timestamps and intervals in microseconds, from 2000-01-01
    Int(i64),
    /// double precision
    Float(f64),
    /// numeric of up to 35 digits
    Numeric(Numeric),
    /// any other numeric
    Long(Box<Long>),
    /// text, varchar, json, jsonb; char without its trailing blanks
    Text(&'a str),
    /// bytea
    Bytes(&'a [u8]),
    /// uuid
    Uuid([u8; 16]),
    /// interval
    Interval(Interval),
    /// array in one dimension whose first element is number 1
    Array(Vec<Datum>),
    /// any other array
    Shaped(Box<Shaped>),
    /// a `regclass` and the like: the oid with the name it is shown as
    Reg(u32, String),
}

impl<'a> RowRef<'a> {
    pub(crate) fn new(slots: &'a [Slot], heap: &'a Heap) -> RowRef<'a> {
        RowRef { slots, heap, names: &[] }
    }

    pub(crate) fn with_names(
        slots: &'a [Slot],
        heap: &'a Heap,
        names: &'a [(usize, u32, String)],
    ) -> RowRef<'a> {
        RowRef { slots, heap, names }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the row has no values.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The time zone in which timestamps with time zone are shown; `None` is UTC.
    pub fn zone(&self) -> Option<&'a Zone> {
        self.heap.shown_zone()
    }

    /// The forms in which dates, times and intervals are shown.
    pub fn forms(&self) -> Forms<'a> {
        self.heap.forms()
    }

    /// The same as a row of an answer.
    pub(crate) fn to_row(self, columns: &Columns) -> Row {
        let mut values = self.to_datums();
        for (at, oid, name) in self.names {
            values[*at] = Datum::Reg(*oid, name.clone());
        }
        Row::of(columns, values, self.heap)
    }

    /// Its values, to keep.
    pub fn to_datums(self) -> Vec<Datum> {
        self.slots.iter().map(|slot| self.heap.to_datum(*slot)).collect()
    }

    /// The values in order.
    pub fn values(self) -> impl Iterator<Item = ValueRef<'a>> {
        let (heap, names) = (self.heap, self.names);
        self.slots.iter().enumerate().map(move |(i, slot)| match *slot {
            Slot::Int(_) if names.iter().any(|(at, ..)| *at == i) => {
                let named = names.iter().find(|(at, ..)| *at == i);
                named.map_or(ValueRef::Null, |(_, oid, name)| ValueRef::Reg(*oid, name.clone()))
            }
            Slot::Null => ValueRef::Null,
            Slot::Bool(b) => ValueRef::Bool(b),
            Slot::Int(n) => ValueRef::Int(n),
            Slot::Float(x) => ValueRef::Float(x),
            Slot::Numeric(n) => ValueRef::Numeric(n.unpack()),
            Slot::Long(at) => ValueRef::Long(Box::new(Long::from_bytes(heap.long(at)))),
            Slot::Text(at) | Slot::Jsonb(at) | Slot::Citext(at) => ValueRef::Text(heap.str(at)),
            Slot::Bytea(at) => ValueRef::Bytes(heap.bytes(at)),
            Slot::Uuid(u) => ValueRef::Uuid(u),
            Slot::Interval(i) => ValueRef::Interval(i),
            Slot::Array(_) => match heap.to_datum(*slot) {
                Datum::Array(items) => ValueRef::Array(items),
                Datum::Shaped(array) => ValueRef::Shaped(array),
                _ => ValueRef::Null,
            },
        })
    }
}

impl<'a> From<&'a Datum> for ValueRef<'a> {
    fn from(datum: &'a Datum) -> ValueRef<'a> {
        match datum {
            Datum::Null => ValueRef::Null,
            Datum::Bool(b) => ValueRef::Bool(*b),
            Datum::Int(n) => ValueRef::Int(*n),
            Datum::Float(x) => ValueRef::Float(*x),
            Datum::Numeric(n) => ValueRef::Numeric(*n),
            Datum::Long(n) => ValueRef::Long(n.clone()),
            Datum::Text(t) | Datum::Jsonb(t) | Datum::Citext(t) => ValueRef::Text(t),
            Datum::Bytea(b) => ValueRef::Bytes(b),
            Datum::Uuid(u) => ValueRef::Uuid(*u),
            Datum::Interval(i) => ValueRef::Interval(*i),
            Datum::Array(items) => ValueRef::Array(items.clone()),
            Datum::Shaped(array) => ValueRef::Shaped(array.clone()),
            Datum::Reg(oid, name) => ValueRef::Reg(*oid, name.clone()),
        }
    }
}

/// Hands rows on, which cannot be taken back.
pub(crate) struct Each<T, F> {
    columns: Columns,
    f: F,
    count: u64,
    /// It began anew when rows had been handed on.
    void: bool,
    _rows: PhantomData<fn() -> T>,
}

impl<T: FromRow, F: FnMut(T) -> Result<()>> Each<T, F> {
    pub(crate) fn new(columns: Columns, f: F) -> Each<T, F> {
        Each { columns, f, count: 0, void: false, _rows: PhantomData }
    }

    pub(crate) fn take(&mut self, row: Row) -> Result<()> {
        self.count += 1;
        (self.f)(T::from_owned(row)?)
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

impl<T: FromRow, F: FnMut(T) -> Result<()>> RowSink for Each<T, F> {
    fn restart(&mut self) {
        self.void = self.count > 0;
    }
    fn row(&mut self, row: RowRef<'_>) -> Result<()> {
        if self.void {
            let message = "the query had to begin anew after some of its rows had been handed on";
            return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message)
                .with_hint("Run the transaction again, or collect the rows with Session::query."));
        }
        let row = row.to_row(&self.columns);
        self.take(row)
    }
}

/// Lends a sink on, for a shorter time.
pub(crate) fn reborrow<'s>(sink: &'s mut Option<&mut dyn RowSink>) -> Option<&'s mut dyn RowSink> {
    match sink {
        Some(sink) => Some(&mut **sink),
        None => None,
    }
}
