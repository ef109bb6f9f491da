//! Effects: what a transaction that is logged by value did to the rows.
//!
//! Three forms of the same, which the log kinds choose between:
//!
//! | | insert | update | delete |
//! |---|---|---|---|
//! | *logical* | row | after-image | primary key |
//! | *physical* (PACMAN §2.2, §6.1) | row, location | after-image, locations of the old and the new version | primary key, location |
//! | *physiological* (ARIES; ICDE 2014 §IV) | row | primary key, before- and after-words where the row changed | primary key, before-image |
//!
//! A *location* is the record's address while the process ran that wrote it: equal for the versions of
//! one row, different for rows that exist at once. It says nothing across runs of the database, nor
//! across a schema change, which may move rows; a scheme that goes by locations finds a row by its key
//! where it has not met the location since. A single-version store updates in place, so the old and
//! the new location of an update are the same unless a later store decides otherwise.
//!
//! A scheme that does not care for the form asks for the [`RowChange`].

use crate::words;
use planaria_base::value::ValueWriter;
use planaria_base::varint;
use planaria_base::{Error, Result, SequenceId, SequencePlace, SqlState, TableId};

const INSERT: u8 = 1;
const UPDATE: u8 = 2;
const DELETE: u8 = 3;
const SEQUENCE: u8 = 4;
const TRUNCATE: u8 = 5;
const SCHEMA: u8 = 6;
const PHYSICAL_INSERT: u8 = 7;
const PHYSICAL_UPDATE: u8 = 8;
const PHYSICAL_DELETE: u8 = 9;
const PATCH: u8 = 10;
const DELETE_ROW: u8 = 11;
const PART: u8 = 12;
const PLACE: u8 = 13;
const COMPUTED: u8 = 14;

/// One effect of a transaction that is logged by value.
#[allow(missing_docs, reason = "the fields are what their names say")]
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// A row that was not there: its image. Logical and physiological.
    Insert { table: TableId, row: Vec<u64> },
    /// A row that was there under the same primary key: its after-image. Logical.
    Update { table: TableId, row: Vec<u64> },
    /// A row that is gone: its encoded primary key. Logical.
    Delete { table: TableId, key: Vec<u8> },
    /// A row that was not there, and where it is now. Physical.
    PhysicalInsert { table: TableId, new: u64, row: Vec<u64> },
    /// A row that was there under the same primary key: where it was and is, and its after-image. Physical.
    PhysicalUpdate { table: TableId, old: u64, new: u64, row: Vec<u64> },
    /// A row that is gone, and where it was: its encoded primary key. Physical.
    PhysicalDelete { table: TableId, old: u64, key: Vec<u8> },
    /// A row that was there under the same, encoded, primary key: what changed in it. Physiological.
    Patch { table: TableId, key: Vec<u8>, patch: Patch },
    /// A row that is gone: its encoded primary key and its before-image. Physiological.
    DeleteRow { table: TableId, key: Vec<u8>, row: Vec<u64> },
    /// A place that a sequence came to. The last of the newest generation holds, in whatever order they come.
    Sequence { sequence: SequenceId, place: SequencePlace },
    /// All rows of a table are gone.
    Truncate { table: TableId },
    /// A change of the catalog, in the encoding of whoever made it.
    Schema(Vec<u8>),
    /// What stands before was all in place when what follows happened: a transaction that changed the schema
    /// between changes of rows has several parts. In each the change of the schema, if there is one, comes first.
    Part,
    /// What the change of the schema before it computed for the rows of a table that it wrote anew: the values, one
    /// behind the other, of each row in the order of its primary key those that were not there before. See
    /// [`encode_values`] and [`crate::ValueReader::new`].
    Computed { table: TableId, values: Vec<u8> },
}

/// A change of one row, whatever form it was logged in. See [`Effect::logical`].
#[allow(missing_docs, reason = "the fields are what their names say")]
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RowChange<'a> {
    /// A row that was not there: its image.
    Insert { table: TableId, row: &'a [u64] },
    /// A row that was there under the same primary key: its after-image.
    Update { table: TableId, row: &'a [u64] },
    /// A row that was there under the same, encoded, primary key. Its after-image is
    /// [`Patch::redo`] of the image *at this point of the commit order*: unlike `Update`, it cannot be
    /// put in place before what was committed earlier on the same row.
    Patch { table: TableId, key: &'a [u8], patch: &'a Patch },
    /// A row that is gone: its encoded primary key.
    Delete { table: TableId, key: &'a [u8] },
}

impl RowChange<'_> {
    /// The table.
    pub fn table(&self) -> TableId {
        match *self {
            RowChange::Insert { table, .. }
            | RowChange::Update { table, .. }
            | RowChange::Patch { table, .. }
            | RowChange::Delete { table, .. } => table,
        }
    }
}

impl Effect {
    /// What it did to a row, in the terms of logical logging; `None` if it is not about a row.
    #[inline]
    pub fn logical(&self) -> Option<RowChange<'_>> {
        Some(match self {
            Effect::Insert { table, row } | Effect::PhysicalInsert { table, row, .. } => {
                RowChange::Insert { table: *table, row }
            }
            Effect::Update { table, row } | Effect::PhysicalUpdate { table, row, .. } => {
                RowChange::Update { table: *table, row }
            }
            Effect::Delete { table, key }
            | Effect::PhysicalDelete { table, key, .. }
            | Effect::DeleteRow { table, key, .. } => RowChange::Delete { table: *table, key },
            Effect::Patch { table, key, patch } => RowChange::Patch { table: *table, key, patch },
            Effect::Sequence { .. }
            | Effect::Truncate { .. }
            | Effect::Schema(_)
            | Effect::Part
            | Effect::Computed { .. } => return None,
        })
    }
}

/// The words in which two images of a row differ: those before and those after. A word that only the
/// longer image has counts as differing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Patch {
    /// Words of the image before.
    old_len: usize,
    /// Words of the image after.
    new_len: usize,
    /// Where the images differ, ascending.
    at: Vec<usize>,
    /// For each place, the word before and the word after; 0 where there is none.
    words: Vec<(u64, u64)>,
}

impl Patch {
    /// What leads from one image to another.
    pub fn between(old: &[u64], new: &[u64]) -> Patch {
        let mut patch = Patch { old_len: old.len(), new_len: new.len(), ..Patch::default() };
        differences(old, new, |at, before, after| {
            patch.at.push(at);
            patch.words.push((before, after));
        });
        patch
    }

    /// Makes the image before into the one after. XX001 if it is not the image before, as far as the
    /// patch can tell; the image is then unchanged.
    pub fn redo(&self, image: &mut Vec<u64>) -> Result<()> {
        self.apply(image, self.old_len, self.new_len, |(before, after)| (before, after))
    }

    /// What leads from the image after back to the one before.
    pub fn inverse(&self) -> Patch {
        let words = self.words.iter().map(|(before, after)| (*after, *before)).collect();
        Patch { old_len: self.new_len, new_len: self.old_len, at: self.at.clone(), words }
    }

    /// Makes the image after into the one before. Errors as [`Patch::redo`].
    pub fn undo(&self, image: &mut Vec<u64>) -> Result<()> {
        self.apply(image, self.new_len, self.old_len, |(before, after)| (after, before))
    }

    fn apply(
        &self,
        image: &mut Vec<u64>,
        from_len: usize,
        to_len: usize,
        from_to: impl Fn((u64, u64)) -> (u64, u64),
    ) -> Result<()> {
        let changes = || self.at.iter().zip(self.words.iter().map(|w| from_to(*w)));
        let fits =
            image.len() == from_len && changes().all(|(at, (from, _))| *at >= from_len || image[*at] == from);
        if !fits {
            return Err(Error::new(
                SqlState::DATA_CORRUPTED,
                "the log changes a row that is not as it was when it was changed",
            ));
        }
        image.resize(to_len, 0);
        for (at, (_, to)) in changes() {
            if *at < to_len {
                image[*at] = to;
            }
        }
        Ok(())
    }

    /// Words of the image before and of the image after.
    pub fn lens(&self) -> (usize, usize) {
        (self.old_len, self.new_len)
    }

    /// Place, word before and word after of each difference, by place.
    pub fn changes(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        self.at.iter().zip(&self.words).map(|(at, (before, after))| (*at, *before, *after))
    }

    /// Passes over a patch, whatever it says.
    fn skip(bytes: &mut &[u8]) -> Option<()> {
        let (_, _) = (take_count(bytes)?, take_count(bytes)?);
        let n = take_count(bytes)?;
        for _ in 0..n {
            take_count(bytes)?;
        }
        words::skip(bytes, n.checked_mul(2)?)
    }

    fn take(bytes: &mut &[u8]) -> Option<Patch> {
        let old_len = take_count(bytes)?;
        let new_len = take_count(bytes)?;
        let len = old_len.max(new_len);
        let n = take_count(bytes)?;
        let mut at = Vec::with_capacity(n.min(bytes.len()));
        let mut next = 0usize;
        for _ in 0..n {
            let place = next.checked_add(take_count(bytes)?).filter(|p| *p < len)?;
            at.push(place);
            next = place + 1;
        }
        let both = words::take(bytes, n.checked_mul(2)?)?;
        let words = both.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        // Words that are in one image only must all be named, or redo and undo would lose some.
        let common = old_len.min(new_len);
        let beyond = at.iter().filter(|at| **at >= common).count();
        (beyond == len - common).then_some(Patch { old_len, new_len, at, words })
    }
}

/// Calls `f` with place, word before and word after of each difference.
#[inline]
fn differences(old: &[u64], new: &[u64], mut f: impl FnMut(usize, u64, u64)) {
    let common = old.len().min(new.len());
    for (at, (before, after)) in old.iter().zip(new).enumerate() {
        if before != after {
            f(at, *before, *after);
        }
    }
    (common..old.len()).for_each(|at| f(at, old[at], 0));
    (common..new.len()).for_each(|at| f(at, 0, new[at]));
}

/// Writes the effects of one transaction, in the order they happened.
pub struct EffectWriter<'a> {
    buf: &'a mut Vec<u8>,
}

impl EffectWriter<'_> {
    pub(crate) fn new(buf: &mut Vec<u8>) -> EffectWriter<'_> {
        EffectWriter { buf }
    }

    /// A row that was not there.
    pub fn insert(&mut self, table: TableId, row: &[u64]) {
        self.tag(INSERT, table);
        self.image(row);
    }

    /// A row that was there under the same primary key.
    pub fn update(&mut self, table: TableId, row: &[u64]) {
        self.tag(UPDATE, table);
        self.image(row);
    }

    /// A row that is gone, by its encoded primary key.
    pub fn delete(&mut self, table: TableId, key: &[u8]) {
        self.tag(DELETE, table);
        self.run(key);
    }

    /// A row that was not there, and its location.
    pub fn physical_insert(&mut self, table: TableId, new: u64, row: &[u64]) {
        self.tag(PHYSICAL_INSERT, table);
        varint::put(self.buf, new);
        self.image(row);
    }

    /// A row that was there under the same primary key: locations of its old and its new version.
    pub fn physical_update(&mut self, table: TableId, old: u64, new: u64, row: &[u64]) {
        self.tag(PHYSICAL_UPDATE, table);
        varint::put(self.buf, old);
        varint::put(self.buf, varint::zigzag(new.wrapping_sub(old) as i64));
        self.image(row);
    }

    /// A row that is gone, by its location and its encoded primary key.
    pub fn physical_delete(&mut self, table: TableId, old: u64, key: &[u8]) {
        self.tag(PHYSICAL_DELETE, table);
        varint::put(self.buf, old);
        self.run(key);
    }

    /// A row that was there under the same, encoded, primary key: its image before and after.
    pub fn patch(&mut self, table: TableId, key: &[u8], before: &[u64], after: &[u64]) {
        self.put_patch(table, key, &Patch::between(before, after));
    }

    pub(crate) fn put_patch(&mut self, table: TableId, key: &[u8], patch: &Patch) {
        self.tag(PATCH, table);
        self.run(key);
        varint::put(self.buf, patch.old_len as u64);
        varint::put(self.buf, patch.new_len as u64);
        varint::put(self.buf, patch.at.len() as u64);
        let mut next = 0;
        for at in &patch.at {
            varint::put(self.buf, (at - next) as u64);
            next = at + 1;
        }
        for (before, after) in &patch.words {
            words::put(self.buf, &[*before, *after]);
        }
    }

    /// A row that is gone, by its encoded primary key, and its image before.
    pub fn delete_row(&mut self, table: TableId, key: &[u8], row: &[u64]) {
        self.tag(DELETE_ROW, table);
        self.run(key);
        self.image(row);
    }

    /// A place that a sequence came to.
    pub fn sequence(&mut self, sequence: SequenceId, place: SequencePlace) {
        let SequencePlace { generation, value, called } = place;
        self.buf.push(if generation == 0 { SEQUENCE } else { PLACE });
        varint::put(self.buf, sequence.0 as u64);
        if generation > 0 {
            varint::put(self.buf, generation);
        }
        varint::put(self.buf, varint::zigzag(value));
        self.buf.push(called as u8);
    }

    /// All rows of a table are gone.
    pub fn truncate(&mut self, table: TableId) {
        self.tag(TRUNCATE, table);
    }

    /// The end of a part: see [`Effect::Part`].
    pub fn part(&mut self) {
        self.buf.push(PART);
    }

    /// What a change of the schema computed, [encoded](encode_values).
    pub fn computed(&mut self, table: TableId, values: &[u8]) {
        self.tag(COMPUTED, table);
        self.run(values);
    }

    /// Effects that were [encoded](encode_effects) before.
    pub fn encoded(&mut self, effects: &[u8]) {
        self.buf.extend_from_slice(effects);
    }

    /// A change of the catalog.
    pub fn schema(&mut self, change: &[u8]) {
        self.buf.push(SCHEMA);
        self.run(change);
    }

    fn tag(&mut self, tag: u8, table: TableId) {
        self.buf.push(tag);
        varint::put(self.buf, table.0 as u64);
    }

    fn image(&mut self, row: &[u64]) {
        varint::put(self.buf, row.len() as u64);
        words::put(self.buf, row);
    }

    fn run(&mut self, bytes: &[u8]) {
        varint::put(self.buf, bytes.len() as u64);
        self.buf.extend_from_slice(bytes);
    }
}

/// Effects as they will stand in a record, for [`EffectWriter::encoded`].
pub fn encode_effects(write: impl FnOnce(&mut EffectWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut EffectWriter::new(&mut bytes));
    bytes
}

/// Appends `count` values as they will stand in an effect.
pub fn encode_values(bytes: &mut Vec<u8>, count: usize, write: impl FnOnce(&mut ValueWriter<'_>)) {
    let mut writer = ValueWriter::new(bytes, count as u64);
    write(&mut writer);
    writer.finish();
}

/// Whether an effect begins with the number of a table or sequence.
#[inline]
fn has_id(tag: u8) -> bool {
    !matches!(tag, SCHEMA | PART)
}

/// An effect as it stands in the log.
#[derive(Clone, Copy)]
pub struct RawEffect<'a> {
    tag: u8,
    id: u32,
    /// The whole effect, tag included, and what follows tag and id.
    bytes: &'a [u8],
    body: &'a [u8],
}

/// Where [`RawEffect::change`] decodes to; reusable.
#[derive(Default)]
pub struct ChangeBuf {
    row: Vec<u64>,
    patch: Patch,
}

impl<'a> RawEffect<'a> {
    /// Takes an effect off the front of `bytes`, looking no deeper than it takes to find its end.
    #[inline]
    pub(crate) fn take(bytes: &mut &'a [u8]) -> Option<RawEffect<'a>> {
        let whole = *bytes;
        let (&tag, mut rest) = whole.split_first()?;
        let id = if has_id(tag) { take_id(&mut rest)? } else { 0 };
        let body = rest;
        match tag {
            INSERT | UPDATE => skip_image(&mut rest)?,
            DELETE | SCHEMA | COMPUTED => skip_run(&mut rest)?,
            PHYSICAL_INSERT => {
                varint::take(&mut rest)?;
                skip_image(&mut rest)?;
            }
            PHYSICAL_UPDATE => {
                varint::take(&mut rest)?;
                varint::take(&mut rest)?;
                skip_image(&mut rest)?;
            }
            PHYSICAL_DELETE => {
                varint::take(&mut rest)?;
                skip_run(&mut rest)?;
            }
            PATCH => {
                skip_run(&mut rest)?;
                Patch::skip(&mut rest)?;
            }
            DELETE_ROW => {
                skip_run(&mut rest)?;
                skip_image(&mut rest)?;
            }
            SEQUENCE | PLACE => {
                take_place(tag, &mut rest)?;
            }
            TRUNCATE | PART => {}
            _ => return None,
        }
        *bytes = rest;
        let len = |part: &[u8]| part.len() - rest.len();
        Some(RawEffect { tag, id, bytes: &whole[..len(whole)], body: &body[..len(body)] })
    }

    /// Bytes it takes in the log.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The table whose row it changes; `None` if it is not about a row.
    #[inline]
    pub fn table(&self) -> Option<TableId> {
        (!matches!(self.tag, SEQUENCE | PLACE | TRUNCATE | SCHEMA | PART | COMPUTED))
            .then_some(TableId(self.id))
    }

    /// The place a sequence came to, if it is such an effect and may be taken in any order.
    pub fn place(&self) -> Option<(SequenceId, SequencePlace)> {
        if !matches!(self.tag, SEQUENCE | PLACE) {
            return None;
        }
        let place = take_place(self.tag, &mut { self.body })?;
        (!place.is_in_commit_order()).then_some((SequenceId(self.id), place))
    }

    /// Whether the row was not there before.
    #[inline]
    pub fn is_insert(&self) -> bool {
        matches!(self.tag, INSERT | PHYSICAL_INSERT)
    }

    /// Whether the row is gone afterwards.
    #[inline]
    pub fn is_delete(&self) -> bool {
        matches!(self.tag, DELETE | PHYSICAL_DELETE | DELETE_ROW)
    }

    /// Whether it says only what changed in a row: [`RowChange::Patch`].
    #[inline]
    pub fn is_patch(&self) -> bool {
        self.tag == PATCH
    }

    /// Where the row was, and where it is: of physical effects. An insert has no old location, a delete
    /// no new one.
    #[inline]
    pub fn locations(&self) -> Option<(Option<u64>, Option<u64>)> {
        let mut bytes = self.body;
        Some(match self.tag {
            PHYSICAL_INSERT => (None, Some(varint::take(&mut bytes)?)),
            PHYSICAL_UPDATE => take_locations(&mut bytes).map(|(old, new)| (Some(old), Some(new)))?,
            PHYSICAL_DELETE => (Some(varint::take(&mut bytes)?), None),
            _ => return None,
        })
    }

    /// Decodes it.
    pub fn decode(&self) -> Option<Effect> {
        decode_effects(self.bytes)?.pop()
    }

    /// What it does to a row, decoded without allocating in the steady state; `None` if it is not about
    /// a row, or for bytes that no writer makes.
    #[inline]
    pub fn change<'b>(&self, buf: &'b mut ChangeBuf) -> Option<RowChange<'b>>
    where
        'a: 'b,
    {
        let (table, mut bytes) = (TableId(self.id), self.body);
        Some(match self.tag {
            INSERT | PHYSICAL_INSERT | UPDATE | PHYSICAL_UPDATE => {
                let locations = match self.tag {
                    PHYSICAL_INSERT => 1,
                    PHYSICAL_UPDATE => 2,
                    _ => 0,
                };
                for _ in 0..locations {
                    varint::take(&mut bytes)?;
                }
                let n = take_count(&mut bytes)?;
                words::take_into(&mut bytes, n, &mut buf.row)?;
                let row = &buf.row[..];
                if self.is_insert() {
                    RowChange::Insert { table, row }
                } else {
                    RowChange::Update { table, row }
                }
            }
            DELETE | DELETE_ROW => RowChange::Delete { table, key: take_run(&mut bytes)? },
            PHYSICAL_DELETE => {
                varint::take(&mut bytes)?;
                RowChange::Delete { table, key: take_run(&mut bytes)? }
            }
            PATCH => {
                let key = take_run(&mut bytes)?;
                buf.patch = Patch::take(&mut bytes)?;
                RowChange::Patch { table, key, patch: &buf.patch }
            }
            _ => return None,
        })
    }

    pub(crate) fn address(&self) -> usize {
        self.bytes.as_ptr().addr()
    }
}

/// The effects of a record, one by one. Ends early, with [`RawEffects::is_whole`] false, where bytes
/// are met that no writer makes.
#[derive(Clone)]
pub struct RawEffects<'a> {
    rest: &'a [u8],
}

impl<'a> RawEffects<'a> {
    pub(crate) fn new(body: &'a [u8]) -> RawEffects<'a> {
        RawEffects { rest: body }
    }

    /// Whether nothing is left: after the last effect.
    pub fn is_whole(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Iterator for RawEffects<'a> {
    type Item = RawEffect<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawEffect<'a>> {
        RawEffect::take(&mut self.rest)
    }
}

fn skip_image(bytes: &mut &[u8]) -> Option<()> {
    let n = take_count(bytes)?;
    words::skip(bytes, n)
}

fn skip_run(bytes: &mut &[u8]) -> Option<()> {
    let n = take_count(bytes)?;
    *bytes = bytes.get(n..)?;
    Some(())
}

/// Reads the effects of a record; `None` for bytes that no writer makes.
pub(crate) fn decode_effects(mut bytes: &[u8]) -> Option<Vec<Effect>> {
    let mut effects = Vec::new();
    while let Some((&tag, rest)) = bytes.split_first() {
        bytes = rest;
        let id = if has_id(tag) { take_id(&mut bytes)? } else { 0 };
        let table = TableId(id);
        effects.push(match tag {
            INSERT => Effect::Insert { table, row: take_image(&mut bytes)? },
            UPDATE => Effect::Update { table, row: take_image(&mut bytes)? },
            DELETE => Effect::Delete { table, key: take_run(&mut bytes)?.to_vec() },
            PHYSICAL_INSERT => {
                let new = varint::take(&mut bytes)?;
                Effect::PhysicalInsert { table, new, row: take_image(&mut bytes)? }
            }
            PHYSICAL_UPDATE => {
                let (old, new) = take_locations(&mut bytes)?;
                Effect::PhysicalUpdate { table, old, new, row: take_image(&mut bytes)? }
            }
            PHYSICAL_DELETE => {
                let old = varint::take(&mut bytes)?;
                Effect::PhysicalDelete { table, old, key: take_run(&mut bytes)?.to_vec() }
            }
            PATCH => {
                let key = take_run(&mut bytes)?.to_vec();
                Effect::Patch { table, key, patch: Patch::take(&mut bytes)? }
            }
            DELETE_ROW => {
                let key = take_run(&mut bytes)?.to_vec();
                Effect::DeleteRow { table, key, row: take_image(&mut bytes)? }
            }
            SEQUENCE | PLACE => {
                Effect::Sequence { sequence: SequenceId(id), place: take_place(tag, &mut bytes)? }
            }
            TRUNCATE => Effect::Truncate { table },
            SCHEMA => Effect::Schema(take_run(&mut bytes)?.to_vec()),
            PART => Effect::Part,
            COMPUTED => Effect::Computed { table, values: take_run(&mut bytes)?.to_vec() },
            _ => return None,
        });
    }
    Some(effects)
}

pub(crate) fn take_id(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(varint::take(bytes)?).ok()
}

/// A place of a sequence, after its number.
fn take_place(tag: u8, bytes: &mut &[u8]) -> Option<SequencePlace> {
    let generation = match tag {
        PLACE => varint::take(bytes).filter(|g| (1..=SequencePlace::GENERATION_MAX).contains(g))?,
        _ => 0,
    };
    let value = varint::unzigzag(varint::take(bytes)?);
    let (&called, rest) = bytes.split_first().filter(|(b, _)| **b <= 1)?;
    *bytes = rest;
    Some(SequencePlace { generation, value, called: called == 1 })
}

/// Old and new location of an update.
fn take_locations(bytes: &mut &[u8]) -> Option<(u64, u64)> {
    let old = varint::take(bytes)?;
    Some((old, old.wrapping_add(varint::unzigzag(varint::take(bytes)?) as u64)))
}

fn take_count(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(varint::take(bytes)?).ok()
}

fn take_image(bytes: &mut &[u8]) -> Option<Vec<u64>> {
    let n = take_count(bytes)?;
    words::take(bytes, n)
}

fn take_run<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let n = take_count(bytes)?;
    let (run, rest) = bytes.split_at_checked(n)?;
    *bytes = rest;
    Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_leads_there_and_back_and_nowhere_else() {
        let images: [&[u64]; 5] = [&[], &[1, 2, 3], &[1, 9, 3], &[1, 2], &[0, 2, 3, 0, 0]];
        for old in images {
            for new in images {
                let patch = Patch::between(old, new);
                let mut image = old.to_vec();
                patch.redo(&mut image).unwrap();
                assert_eq!(image, new);
                patch.undo(&mut image).unwrap();
                assert_eq!(image, old);
                let mut other = [old, &[7]].concat();
                assert_eq!(patch.redo(&mut other).unwrap_err().sqlstate(), SqlState::DATA_CORRUPTED);
                assert_eq!(other, [old, &[7]].concat());
            }
        }
        let patch = Patch::between(&[1, 2, 3], &[1, 9, 3]);
        assert_eq!(patch.changes().collect::<Vec<_>>(), [(1, 2, 9)]);
        assert!(patch.redo(&mut vec![1, 3, 3]).is_err(), "not the word that was there");
    }

    #[test]
    fn raw_effects_say_what_decoded_ones_say() {
        let mut buf = Vec::new();
        let mut w = EffectWriter::new(&mut buf);
        let (t, row) = (TableId(3), [1, 0, u64::MAX]);
        w.insert(t, &row);
        w.update(t, &row);
        w.delete(t, b"key");
        w.physical_insert(t, 64, &row);
        w.physical_update(t, 64, 32, &row);
        w.physical_delete(t, 32, b"key");
        w.patch(t, b"key", &row, &[1, 5, 2, 7]);
        w.delete_row(t, b"key", &row);
        let places = [(0, true), (0, false), (3, true), (3, false)]
            .map(|(generation, called)| SequencePlace { generation, value: -5, called });
        places.iter().for_each(|place| w.sequence(SequenceId(1), *place));
        w.truncate(t);
        w.schema(b"create");
        w.computed(t, b"values");
        let decoded = decode_effects(&buf).unwrap();
        let mut raw = RawEffects::new(&buf);
        let mut change = ChangeBuf::default();
        for effect in &decoded {
            let raw = raw.next().unwrap();
            assert_eq!(raw.decode().as_ref(), Some(effect));
            assert_eq!(raw.change(&mut change), effect.logical());
            assert_eq!(raw.table(), effect.logical().map(|c| c.table()));
            assert_eq!(raw.is_patch(), matches!(effect, Effect::Patch { .. }));
            let free = |(sequence, place): (SequenceId, SequencePlace)| {
                assert_eq!(*effect, Effect::Sequence { sequence, place });
                !place.is_in_commit_order()
            };
            assert!(raw.place().is_none_or(free));
            let locations = match *effect {
                Effect::PhysicalInsert { new, .. } => Some((None, Some(new))),
                Effect::PhysicalUpdate { old, new, .. } => Some((Some(old), Some(new))),
                Effect::PhysicalDelete { old, .. } => Some((Some(old), None)),
                _ => None,
            };
            assert_eq!(raw.locations(), locations);
        }
        assert!(raw.next().is_none() && raw.is_whole());
        let mut cut = RawEffects::new(&buf[..buf.len() - 1]);
        assert!(cut.by_ref().count() < decoded.len() && !cut.is_whole());
    }

    #[test]
    fn a_patch_that_leaves_words_out_is_refused() {
        let mut buf = Vec::new();
        let mut patch = Patch::between(&[1], &[1, 0, 5]);
        patch.at.pop();
        patch.words.pop();
        EffectWriter::new(&mut buf).put_patch(TableId(1), b"k", &patch);
        assert_eq!(decode_effects(&buf), None);
    }
}
