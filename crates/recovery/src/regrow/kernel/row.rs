//! Pieces that are one new row: who hands them over makes the row.
//!
//! Their operands are the row's image, with its length in words before it, both on a word's boundary: the row is inserted from
//! where it stands.

use crate::AnyWorld;
use planaria_base::{Datum, Result, TableId};
use planaria_exec::{Heap, Slot};
use planaria_ir::{OpKind, ParamMode, Program, Reg};
use planaria_storage::{Column, ColumnKind, Field, RowLayout};
use std::collections::BTreeMap;

const WORD: usize = size_of::<u64>();

/// Where a column's value comes from.
#[derive(Clone, Debug)]
enum Source {
    Argument(usize),
    Constant(Datum),
}

/// A row made of arguments and constants.
#[derive(Debug)]
pub(in super::super) struct NewRow {
    pub table: TableId,
    words: usize,
    bytes: usize,
    fixed: Box<[(Column, Source)]>,
    texts: Box<[(Column, Source)]>,
}

impl NewRow {
    /// Of a program that inserts a row and does nothing else.
    pub(in super::super) fn of(program: &Program, world: &dyn AnyWorld) -> Option<NewRow> {
        let mut sources: BTreeMap<Reg, Source> = BTreeMap::new();
        let inputs = program.params.iter().filter(|p| p.mode != ParamMode::Out);
        sources.extend(inputs.enumerate().map(|(i, p)| (p.reg, Source::Argument(i))));
        let (insert, before) = program.body.0.split_last()?;
        for op in before {
            let OpKind::Const { dst, value } = &op.kind else { return None };
            if matches!(value, Datum::Array(_) | Datum::Shaped(_) | Datum::Reg(..) | Datum::Long(_)) {
                return None;
            }
            sources.insert(*dst, Source::Constant(value.clone()));
        }
        let OpKind::Insert { table, values, .. } = &insert.kind else { return None };
        let layout = world.table(*table).layout();
        let values: Vec<Source> = values.iter().map(|r| sources.get(r).cloned()).collect::<Option<_>>()?;
        let columns = layout.columns().iter().copied().zip(values);
        let (texts, fixed): (Vec<_>, Vec<_>) = columns.partition(|(c, _)| c.kind() == ColumnKind::Bytes);
        let (words, bytes) = (layout.fixed_words(), layout.fixed_bytes());
        Some(NewRow { table: *table, words, bytes, fixed: fixed.into(), texts: texts.into() })
    }

    /// Bytes without texts.
    pub(in super::super) fn bytes(&self) -> usize {
        WORD + self.bytes.next_multiple_of(WORD)
    }

    /// Goes on to where operands may begin.
    #[inline]
    pub(in super::super) fn align(out: &mut Vec<u8>) {
        out.resize(out.len().next_multiple_of(WORD), 0);
    }

    /// Makes the row, and appends it to operands.
    /// `layout`: of the table.
    #[inline]
    pub(in super::super) fn put(
        &self,
        out: &mut Vec<u8>,
        value: impl Fn(usize) -> Slot,
        heap: &Heap,
        layout: &RowLayout,
        image: &mut Vec<u64>,
    ) -> Result<()> {
        image.clear();
        image.resize(self.words, 0);
        let mut longs = 0;
        for (column, source) in &self.fixed {
            match source {
                Source::Argument(i) => match value(*i) {
                    Slot::Int(n) => column.put_int(n, &mut image[..])?,
                    Slot::Numeric(n) => column.put_numeric(n, &mut image[..])?,
                    Slot::Long(at) => {
                        column.put(Field::Long(heap.long(at)), &mut image[..])?;
                        longs += usize::from(at.len > 0);
                    }
                    other => column.put(heap.field(other), &mut image[..])?,
                },
                Source::Constant(datum) => column.put(field(datum), &mut image[..])?,
            }
        }
        let mut end = self.bytes;
        for (column, source) in &self.texts {
            let field = match source {
                Source::Argument(i) => heap.field(value(*i)),
                Source::Constant(datum) => field(datum),
            };
            end = layout.put_variable(column, field, end, image)?;
        }
        if longs > 0 {
            for (column, source) in &self.fixed {
                if let Source::Argument(i) = source
                    && let Slot::Long(at) = value(*i)
                    && at.len > 0
                {
                    end = layout.put_long(column, heap.long(at), end, image)?;
                }
            }
        }
        out.reserve(WORD + image.len() * WORD);
        out.extend_from_slice(&image.len().to_ne_bytes());
        out.extend_from_slice(bytemuck::cast_slice(image));
        Ok(())
    }

    /// The row, in its place if that is on a word's boundary, as it is where operands are. Panics on bytes that `put` did not
    /// make.
    #[inline]
    pub(in super::super) fn take<'r>(operands: &'r [u8], copy: &'r mut Vec<u64>) -> &'r [u64] {
        let (len, words) = operands.split_first_chunk::<WORD>().expect("a length");
        let words = &words[..usize::from_ne_bytes(*len) * WORD];
        match bytemuck::try_cast_slice(words) {
            Ok(image) => image,
            Err(_) => {
                copy.clear();
                copy.extend(words.chunks_exact(WORD).map(bytemuck::pod_read_unaligned::<u64>));
                copy
            }
        }
    }
}

fn field(datum: &Datum) -> Field<'_> {
    match datum {
        Datum::Bool(b) => Field::Bool(*b),
        Datum::Int(n) => Field::Int(*n),
        Datum::Float(x) => Field::Float(*x),
        Datum::Numeric(n) => Field::Numeric(*n),
        Datum::Text(text) => Field::Bytes(text.as_bytes()),
        Datum::Bytea(bytes) => Field::Bytes(bytes),
        Datum::Jsonb(text) | Datum::Citext(text) => Field::Bytes(text.as_bytes()),
        Datum::Uuid(u) => Field::Uuid(*u),
        Datum::Interval(i) => Field::Interval(*i),
        Datum::Null | Datum::Array(_) | Datum::Shaped(_) | Datum::Reg(..) | Datum::Long(_) => Field::Null,
    }
}
