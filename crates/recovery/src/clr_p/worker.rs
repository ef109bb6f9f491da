//! One thread of replay: runs prologues, keys and pieces, puts changed rows in place.

use super::batch::{Batch, Cursor, Entry, Meet, Split, Txn, Work};
use super::graph::{SliceCode, leading};
use super::host::{PartitionHash, SliceHost, hash_field, hash_int};
use crate::{World, at};
use planaria_analysis::paper::slicing::Input;
use planaria_base::clock::CommitClock;
use planaria_base::sync::MutexGuard;
use planaria_base::{Epoch, Error, IndexId, Result, SqlState, TableId, Type, WorkerId};
use planaria_exec::{Context, Link, Machine, Slot};
use planaria_log::{Effect, RowChange};
use planaria_protocol::Protocol;
use planaria_protocol::serial::SerialOn;
use planaria_storage::{Header, IndexSet, KeyBuf, Table};
use std::sync::atomic::{AtomicU32, Ordering};

/// Pieces between two commits: what was deleted is let go, and the reclaiming epoch may move on.
const COMMIT_EVERY: u32 = 64;

/// Without before-images: a call that was logged has committed, so what fails fails for good.
type InPlace<H> = SerialOn<H, false>;

/// What became of a part of a piece-set.
pub(super) enum Ran {
    /// All of it is done.
    Done,
    /// It stands at a piece that other parts have to come to first.
    Waits,
}

/// See the module's head.
pub(super) struct Worker<H: Header> {
    machine: Machine,
    /// The worker's own: workers do not wait for each other, the schedule keeps them apart.
    protocol: InPlace<H>,
    txn: <InPlace<H> as Protocol>::Txn,
    clock: CommitClock,
    slots: Vec<Slot>,
    hashes: Vec<PartitionHash>,
    parts: Vec<u32>,
    key: KeyBuf,
    image: Vec<u64>,
    pieces: u32,
}

#[cold]
fn refused(table: TableId) -> Error {
    let message = format!("the log adds a row that table {table} refuses");
    Error::new(SqlState::DATA_CORRUPTED, message)
}

#[cold]
fn missing(table: TableId) -> Error {
    let message = format!("the log changes a row that table {table} does not have");
    Error::new(SqlState::DATA_CORRUPTED, message)
}

impl<H: Header> Worker<H> {
    pub(super) fn new(number: usize) -> Worker<H> {
        let protocol = InPlace::new();
        let txn = protocol.worker(WorkerId(number as u16));
        Worker {
            machine: Machine::new(),
            protocol,
            txn,
            clock: CommitClock::new(Epoch(1)),
            slots: Vec::new(),
            hashes: Vec::new(),
            parts: Vec::new(),
            key: KeyBuf::new(),
            image: Vec::new(),
            pieces: 0,
        }
    }

    /// Runs the prologues of a chunk, and sorts its transactions into piece-sets.
    pub(super) fn prepare(&mut self, world: &World<H>, batch: &Batch, chunk: usize) -> Result<()> {
        let graph = &batch.graph;
        let mut pieces = vec![Vec::new(); graph.blocks.len()];
        for i in batch.chunks[chunk].clone() {
            let txn = &batch.txns[i];
            match &txn.work {
                Work::Call { procedure: Some(number), .. } => {
                    let procedure = &graph.procedures[*number as usize];
                    if let Some(prologue) = &procedure.prologue {
                        self.run(world, batch, txn, prologue).map_err(|e| at(e, txn.ts))?;
                    }
                    for (list, piece) in pieces.iter_mut().zip(&procedure.pieces) {
                        if piece.is_some() {
                            list.push(i as u32);
                        }
                    }
                }
                Work::Call { .. } => {}
                Work::Effects(effects) => {
                    for effect in effects {
                        if let Effect::Sequence { sequence, place } = effect {
                            world.routines.observe_sequence(*sequence, *place);
                        }
                        let Some(change) = effect.logical() else { continue };
                        let block = graph.block_of[&change.table()];
                        if pieces[block].last() != Some(&(i as u32)) {
                            pieces[block].push(i as u32);
                        }
                    }
                }
            }
        }
        let _ = batch.pieces[chunk].set(pieces);
        Ok(())
    }

    /// Splits a chunk of a piece-set by keys.
    pub(super) fn dispatch(
        &mut self,
        world: &World<H>,
        batch: &Batch,
        block: usize,
        chunk: usize,
    ) -> Result<()> {
        let set = &batch.sets[block];
        let count = set.cursors.len() as u32;
        let mut split = Split { queues: (0..count).map(|_| Vec::new()).collect(), meets: Vec::new() };
        let pieces = batch.pieces[chunk].get().map_or(&[][..], |p| &p[block]);
        for &i in pieces {
            let txn = &batch.txns[i as usize];
            self.hashes.clear();
            let known = self.keys(world, batch, txn, block);
            self.parts.clear();
            if known {
                self.parts.extend(self.hashes.iter().map(|h| h.part(count)));
                self.parts.sort_unstable();
                self.parts.dedup();
                if self.parts.is_empty() {
                    self.parts.push(i % count); // It touches no row.
                }
            } else {
                self.parts.extend(0..count);
            }
            // Changed rows are independent of each other: each part takes its own.
            let alone = self.parts.len() == 1 || known && matches!(txn.work, Work::Effects(_));
            let mut meet = 0;
            if !alone {
                let parts = self.parts.len() as u32;
                split.meets.push(Meet { parts, came: AtomicU32::new(0), done: AtomicU32::new(0) });
                meet = split.meets.len() as u32;
            }
            for part in &self.parts {
                split.queues[*part as usize].push(Entry { txn: i, meet });
            }
        }
        let _ = set.split[chunk].set(split);
        Ok(())
    }

    /// Gathers the hashes of the keys that a transaction touches in a block; whether they are known.
    fn keys(&mut self, world: &World<H>, batch: &Batch, txn: &Txn, block: usize) -> bool {
        match &txn.work {
            Work::Call { procedure, .. } => {
                let procedure = procedure.map(|p| &batch.graph.procedures[p as usize]);
                let Some(piece) = procedure.and_then(|p| p.pieces[block].as_ref()) else { return true };
                // What raises an error before its time has keys that are not known.
                piece.keys.as_ref().is_some_and(|keys| self.run(world, batch, txn, keys).is_ok())
            }
            Work::Effects(effects) => {
                for change in effects.iter().filter_map(Effect::logical) {
                    if batch.graph.block_of[&change.table()] == block {
                        let Some(hash) = hash_change(world, change) else { return false };
                        self.hashes.push(hash);
                    }
                }
                true
            }
        }
    }

    /// Runs one of the programs of a call.
    fn run(&mut self, world: &World<H>, batch: &Batch, txn: &Txn, part: &SliceCode) -> Result<()> {
        let Work::Call { args, inputs, values, .. } = &txn.work else { return Ok(()) };
        let first = *values as usize;
        self.machine.reset();
        self.slots.clear();
        for input in &part.inputs {
            let slot = match input {
                Input::Arg(number) => match args.get(*number) {
                    Some(datum) => self.machine.heap_mut().push_datum(datum)?,
                    None => {
                        return Err(Error::new(SqlState::DATA_CORRUPTED, "a logged call lacks arguments"));
                    }
                },
                Input::Value(number) => match batch.values[first + number].get() {
                    Some(datum) => self.machine.heap_mut().push_datum(datum)?,
                    None => Slot::Null,
                },
            };
            self.slots.push(slot);
        }
        let routines = &*world.routines;
        let mut host = SliceHost::new(inputs, routines, &mut self.hashes);
        let mut context = Context {
            protocol: &self.protocol,
            txn: &mut self.txn,
            tables: &world.tables,
            link: routines as &dyn Link,
            host: &mut host,
            calls: Default::default(),
        };
        self.machine.run(&part.code, &self.slots, &mut context)?;
        for (number, slot) in part.outputs.iter().zip(self.machine.outs()) {
            let _ = batch.values[first + number].set(self.machine.heap().to_datum(*slot));
        }
        Ok(())
    }

    /// Runs a part of a piece-set on from where it stands. `met`: a piece that others wait for was done.
    pub(super) fn execute(
        &mut self,
        world: &World<H>,
        batch: &Batch,
        block: usize,
        part: usize,
        met: &mut dyn FnMut(),
    ) -> Result<Ran> {
        let set = &batch.sets[block];
        let cursor = set.cursors[part].lock();
        self.protocol.begin(&mut self.txn);
        self.clock.reset(Epoch(1));
        let ran = self.pieces(world, batch, block, part, cursor, met);
        match &ran {
            Ok(_) => self.commit(world)?,
            Err(_) => self.protocol.abort(&mut self.txn, &world.tables),
        }
        ran
    }

    fn commit(&mut self, world: &World<H>) -> Result<()> {
        self.pieces = 0;
        self.protocol.commit(&mut self.txn, &world.tables, &self.clock)?;
        Ok(())
    }

    fn pieces(
        &mut self,
        world: &World<H>,
        batch: &Batch,
        block: usize,
        part: usize,
        mut cursor: MutexGuard<'_, Cursor>,
        met: &mut dyn FnMut(),
    ) -> Result<Ran> {
        let set = &batch.sets[block];
        let parts = set.cursors.len();
        while cursor.chunk < batch.chunks.len() {
            if parts == 1 {
                let pieces = batch.pieces[cursor.chunk].get().map_or(&[][..], |p| &p[block]);
                for &i in pieces {
                    self.piece(world, batch, &batch.txns[i as usize], block, None)?;
                }
            } else if let Some(split) = set.split[cursor.chunk].get() {
                while let Some(entry) = split.queues[part].get(cursor.next) {
                    let txn = &batch.txns[entry.txn as usize];
                    if entry.meet == 0 {
                        self.piece(world, batch, txn, block, Some((part, parts)))?;
                    } else {
                        let meet = &split.meets[entry.meet as usize - 1];
                        if !cursor.came {
                            cursor.came = true;
                            if meet.came.fetch_add(1, Ordering::AcqRel) + 1 == meet.parts {
                                self.piece(world, batch, txn, block, None)?;
                                meet.done.store(1, Ordering::SeqCst);
                                met();
                            }
                        }
                        if meet.done.load(Ordering::SeqCst) == 0 {
                            return Ok(Ran::Waits);
                        }
                        cursor.came = false;
                    }
                    cursor.next += 1;
                }
            }
            (cursor.chunk, cursor.next) = (cursor.chunk + 1, 0);
        }
        Ok(Ran::Done)
    }

    /// Runs one piece; `only`: of changed rows, those of this part of so many.
    fn piece(
        &mut self,
        world: &World<H>,
        batch: &Batch,
        txn: &Txn,
        block: usize,
        only: Option<(usize, usize)>,
    ) -> Result<()> {
        match &txn.work {
            Work::Call { procedure, .. } => {
                let procedure = procedure.map(|p| &batch.graph.procedures[p as usize]);
                if let Some(piece) = procedure.and_then(|p| p.pieces[block].as_ref()) {
                    self.run(world, batch, txn, &piece.slice).map_err(|e| at(e, txn.ts))?;
                }
            }
            Work::Effects(effects) => {
                self.changes(world, batch, effects, block, only).map_err(|e| at(e, txn.ts))?;
            }
        }
        self.pieces += 1;
        if self.pieces == COMMIT_EVERY {
            self.commit(world)?;
            self.protocol.begin(&mut self.txn);
        }
        Ok(())
    }

    /// Puts the changed rows of a block in place: what goes first, then what comes, because unique keys may
    /// have wandered between rows.
    fn changes(
        &mut self,
        world: &World<H>,
        batch: &Batch,
        effects: &[Effect],
        block: usize,
        only: Option<(usize, usize)>,
    ) -> Result<()> {
        let here = |change: &RowChange<'_>| {
            batch.graph.block_of[&change.table()] == block
                && only.is_none_or(|(part, parts)| {
                    hash_change(world, *change).is_none_or(|h| h.part(parts as u32) == part as u32)
                })
        };
        let changes = || effects.iter().filter_map(Effect::logical).filter(here);
        let mut moved: Vec<(TableId, Vec<u64>)> = Vec::new();
        for change in changes() {
            let table = world.tables.get(change.table());
            let Some(image) = self.take(table, change)? else { continue };
            moved.push((table.id(), image));
        }
        for (table, image) in &moved {
            self.add(world.tables.get(*table), image)?;
        }
        for change in changes() {
            if let RowChange::Insert { table, row } = change {
                let stored = world.tables.get(table);
                stored.expect_image(row)?;
                world.routines.observe_row(table, row);
                self.add(stored, row)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, table: &Table<H>, row: &[u64]) -> Result<()> {
        match self.protocol.insert(&mut self.txn, table, row)? {
            Ok(_) => Ok(()),
            Err(_) => Err(refused(table.id())),
        }
    }

    /// Deletes or updates a row. A row that may exchange a unique key with others is taken out, and its new
    /// image handed back.
    fn take(&mut self, table: &Table<H>, change: RowChange<'_>) -> Result<Option<Vec<u64>>> {
        let too_long = |_| Error::corrupted("a logged key is too long");
        match change {
            RowChange::Insert { .. } => return Ok(None),
            RowChange::Update { row, .. } => {
                table.expect_image(row)?;
                table.index(IndexId::PRIMARY).codec().encode_row(row, &mut self.key).map_err(too_long)?;
            }
            RowChange::Patch { key, .. } | RowChange::Delete { key, .. } => {
                self.key.clear();
                key.iter().for_each(|byte| self.key.push(u64::from(*byte), 1));
            }
        }
        let arena = &mut self.machine.heap_mut().arena;
        let mark = arena.mark();
        let row = self.protocol.get(&mut self.txn, table, IndexId::PRIMARY, &self.key, arena)?;
        let row = row.ok_or_else(|| missing(table.id()))?;
        self.image.clear();
        match change {
            RowChange::Update { row, .. } => self.image.extend_from_slice(row),
            RowChange::Patch { patch, .. } => {
                self.image.extend_from_slice(row.image.words(arena));
                patch.redo(&mut self.image)?;
                table.expect_image(&self.image)?;
            }
            _ => {}
        }
        arena.truncate(mark);
        if matches!(change, RowChange::Delete { .. }) {
            self.protocol.delete(&mut self.txn, table, row.handle)?;
            return Ok(None);
        }
        if table.secondary().any(|(_, index)| index.codec().unique()) {
            self.protocol.delete(&mut self.txn, table, row.handle)?;
            return Ok(Some(self.image.clone()));
        }
        let mut touched = IndexSet::EMPTY;
        table.secondary().for_each(|(id, _)| touched.insert(id));
        match self.protocol.update(&mut self.txn, table, row.handle, &self.image, touched)? {
            Ok(()) => Ok(None),
            Err(_) => Err(refused(table.id())),
        }
    }
}

/// The hash of the leading key column of a changed row; `None` where it cannot be told.
fn hash_change<H: Header>(world: &World<H>, change: RowChange<'_>) -> Option<PartitionHash> {
    let table = world.tables.get(change.table());
    let column = leading(table.shape());
    // Equal keys look different.
    if table.layout().column(column).folds() {
        return None;
    }
    match change {
        RowChange::Insert { row, .. } | RowChange::Update { row, .. } => {
            hash_field(table.layout().field(row, column))
        }
        RowChange::Patch { key, .. } | RowChange::Delete { key, .. } => {
            // Integers stand in keys in their own width, biased.
            let width = match table.layout().specs()[column.index()].ty.plain() {
                Type::Int2 => 2,
                Type::Int4 | Type::Date | Type::Enum(_) => 4,
                Type::Int8 | Type::Time | Type::Timestamp | Type::TimestampTz => 8,
                _ => return None,
            };
            let bytes = key.get(..width)?;
            let word = bytes.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
            let high = word << (64 - 8 * width) ^ 1 << 63;
            Some(hash_int(high as i64 >> (64 - 8 * width)))
        }
    }
}

/// Where a part waits: whether what it waits for is done.
pub(super) fn has_met(batch: &Batch, block: usize, part: usize) -> bool {
    let set = &batch.sets[block];
    let cursor = set.cursors[part].lock();
    let Some(split) = set.split.get(cursor.chunk).and_then(|s| s.get()) else { return true };
    match split.queues[part].get(cursor.next) {
        Some(entry) if entry.meet > 0 => split.meets[entry.meet as usize - 1].done.load(Ordering::SeqCst) > 0,
        _ => true,
    }
}
