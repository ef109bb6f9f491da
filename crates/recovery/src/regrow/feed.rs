//! Cuts the log into segments and barriers.
//!
//! A segment ends where it is large enough, before a barrier, before a call of a procedure that was
//! not met before (it may change which tables go together), and before a call whose plan reads what a
//! transaction earlier in the segment changes. Who meets a new procedure looks for others further on in the
//! log, so that a layout is made for all of them.
//!
//! It reads nothing itself: batches come to it, read ahead by whoever has nothing better to do. Where there are too few it
//! says so.

use super::layout::{Layout, SortKey};
use super::segment::{Known, PIECES_MAX, Segment, SegmentPart};
use crate::{AnyWorld, Routines, at};
use planaria_base::sync::RwLock;
use planaria_base::{CommitTs, Error, ProcedureId, Result, SqlState, TableId};
use planaria_log::{Batch, Keeping, RawRecord};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Transactions of the first segment after a new layout: the next ones are four times larger each, up
/// to the size asked for. The first ones give the samples by which classes are divided.
const FIRST: usize = 2048;
/// How often classes are divided, by the samples of one more segment each.
const DIVISIONS: u32 = 3;
/// Bytes of the pieces of a segment with their operands, about: they should stay near the processor, and
/// fresh memory is dear. So a segment has fewer transactions where these have much to do.
const BYTES: u64 = 8 << 20;
/// Bytes of log at which a segment ends, however few its transactions.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// Pieces of a part at least, about, so that its fixed costs do not count; and transactions at most, so
/// that all threads have some.
const PART_PIECES: u64 = 512;
const PART_MAX: usize = 4096;
/// Bytes of log in which a layout looks for procedures that were not met before.
const LOOK_AHEAD: u64 = 8 << 20;
/// The first layout, for which all wait, makes do with so many times the bytes in which all that it finds were found.
const LOOKS_ON: u64 = 4;
/// Bytes of a record, as long as none was seen.
const RECORD_BYTES: u64 = 64;
/// A layout takes time for each table and piece: as much as it takes to replay so few bytes of log. What is replayed pays for
/// layouts, and what would need one that is not paid for is replayed alone. So they never cost more than a constant
/// for each byte, however schema changes, new procedures and calls take turns.
const BYTES_PER_PART: u64 = 16;
/// Bytes of log that layouts may cost before anything was replayed: the first calls of a log are of procedures not met
/// before.
const BYTES_AHEAD: u64 = 1 << 20;
/// Chunk numbers in descriptors are 16 bits.
const PARTS_MAX: usize = 1 << 14;

/// What comes next.
pub(super) enum Fed {
    Segment(Arc<Segment>),
    /// A record to be replayed with nobody else at work.
    Barrier(Arc<Batch>, usize),
    /// More of the log has to be read first. See [`Feed::lacks`].
    Wants,
    /// The plans of these procedures have to be made first.
    Compile(Arc<dyn Routines>, Vec<ProcedureId>),
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Procedure {
    Unknown,
    /// Replayed whole, behind a barrier.
    Whole,
    Planned(usize),
}

/// What a record is.
enum Kind {
    Barrier,
    /// A call of a planned procedure.
    Call(usize),
    Effects,
    /// A procedure not met before, which has a plan.
    New(ProcedureId),
    /// The layout is of another schema. Then nothing was cut.
    Stale,
}

/// See the module's head.
pub(super) struct Feed {
    /// What was read of the log ahead.
    ahead: VecDeque<Result<Arc<Batch>>>,
    /// Whether that is all there is.
    read_all: bool,
    /// Bytes of log that are to be at hand, beyond what a segment takes.
    wanted: u64,
    /// The plans of procedures that were found ahead have been made.
    compiled: bool,
    /// So many of those call no procedure that is unknown.
    looked: usize,
    current: Option<(Arc<Batch>, usize)>,
    layout: Arc<Layout>,
    /// The schema in force, where it has changed since the layout was made.
    changed_world: Option<Arc<dyn AnyWorld>>,
    /// Bytes of log that were handed out and have not paid for a layout yet. See [`BYTES_PER_PART`].
    credit: u64,
    /// Whether calls are planned at all.
    plans: bool,
    known: Vec<Procedure>,
    planned: Vec<ProcedureId>,
    /// Some plan reads tables.
    reads: bool,
    size: usize,
    size_max: usize,
    /// Transactions whose pieces take about [`BYTES`], by those planned so far.
    size_by_bytes: u64,
    /// What was planned so far came to.
    so_far: Known,
    /// Threads that the parts of a segment are for: more where a simulation wants to know what those would do.
    parts_for: usize,
    next: u32,
    /// Transactions and bytes of log that were cut into segments.
    cut: (u64, u64),
    /// By table: changed in the segment being cut, and in the one before it.
    changed: Vec<bool>,
    changed_before: Vec<bool>,
    /// Number of the layout's classes, and how often they were divided since.
    base: u32,
    divisions: u32,
    /// The layout has just changed: what segments under way change for its plans is not known.
    fresh: bool,
}

impl Feed {
    pub(super) fn new(
        world: Arc<dyn AnyWorld>,
        plans: bool,
        size_max: usize,
        threads: usize,
    ) -> Result<Feed> {
        let layout = Arc::new(Layout::new(world, &[], None)?);
        let mut feed = Feed {
            ahead: VecDeque::new(),
            read_all: false,
            wanted: 0,
            compiled: false,
            looked: 0,
            current: None,
            layout,
            changed_world: None,
            credit: BYTES_AHEAD,
            plans,
            known: Vec::new(),
            planned: Vec::new(),
            reads: false,
            size: FIRST,
            size_max: size_max.max(1),
            size_by_bytes: u64::MAX,
            so_far: Known::default(),
            parts_for: threads,
            next: 0,
            cut: (0, 0),
            changed: Vec::new(),
            changed_before: Vec::new(),
            base: 0,
            divisions: 0,
            fresh: true,
        };
        feed.forget_changes();
        Ok(feed)
    }

    /// Cuts parts as for so many threads at least.
    pub(super) fn parts_for(mut self, threads: usize) -> Feed {
        self.parts_for = self.parts_for.max(threads);
        self
    }

    pub(super) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The schema has changed; nothing is under way.
    pub(super) fn enter(&mut self, world: Arc<dyn AnyWorld>) {
        self.known.clear();
        self.planned.clear();
        self.looked = 0;
        self.compiled = false;
        self.changed_world = Some(world);
    }

    /// What is in force.
    pub(super) fn world(&self) -> &Arc<dyn AnyWorld> {
        self.changed_world.as_ref().unwrap_or(&self.layout.world)
    }

    /// Whether another layout is paid for, with this record. See [`BYTES_PER_PART`].
    fn is_due(&self, record: &RawRecord<'_>) -> bool {
        self.credit + record.len() as u64 >= cost(&self.layout)
    }

    /// Takes what was read of the log; `all`: there is no more.
    pub(super) fn take(&mut self, read: impl Iterator<Item = Result<Arc<Batch>>>, all: bool) {
        self.ahead.extend(read);
        self.read_all = all;
    }

    /// Bytes of log that it has.
    pub(super) fn at_hand(&self) -> u64 {
        let of_current = self.current.as_ref().map_or(0, |(batch, at)| share(batch, *at..batch.len()));
        self.ahead.iter().flatten().map(|batch| batch.bytes() as u64).sum::<u64>() + of_current
    }

    /// Bytes of log that it lacks for the next segment.
    pub(super) fn lacks(&self) -> u64 {
        if self.read_all {
            return 0;
        }
        let (transactions, bytes) = self.cut;
        let of_segment = match transactions {
            0 => self.target() * RECORD_BYTES,
            _ => (u128::from(self.target()) * u128::from(bytes) / u128::from(transactions)) as u64,
        };
        self.wanted.max(of_segment.min(LOG_BYTES_MAX)).max(1).saturating_sub(self.at_hand())
    }

    /// Transactions of the next segment.
    fn target(&self) -> u64 {
        (self.size.min(self.size_max) as u64).min(self.size_by_bytes)
    }

    /// Whether samples should be had before much is cut.
    pub(super) fn wants_samples(&self) -> bool {
        self.divisions == 0 && self.layout.classes.iter().any(|c| c.prefix > 0)
    }

    /// The number of the classes, if they are still to be divided anew.
    pub(super) fn samples_wanted(&self) -> Option<u32> {
        (self.divisions < DIVISIONS).then_some(self.base)
    }

    /// Takes into account what was planned so far.
    pub(super) fn expect(&mut self, so_far: Known) {
        self.so_far = so_far;
        if so_far.pieces > 0 {
            let fit = u128::from(BYTES) * u128::from(so_far.transactions) / u128::from(so_far.bytes());
            self.size_by_bytes = u64::try_from(fit).unwrap_or(u64::MAX).max(1);
        }
    }

    /// Divides the classes by samples of the keys of this layout's classes.
    pub(super) fn divide(&mut self, samples: &mut [Vec<SortKey>], partitions: usize) -> &Arc<Layout> {
        self.divisions += 1;
        let last = self.divisions == DIVISIONS;
        self.layout = Arc::new(self.layout.divided(samples, partitions, last));
        &self.layout
    }

    fn install(&mut self, layout: Layout) {
        self.reads = layout.procedures.iter().any(|p| !p.reads.is_empty());
        self.layout = Arc::new(layout);
        self.changed_world = None;
        self.credit = self.credit.saturating_sub(cost(&self.layout));
        self.size = FIRST;
        self.base += 1;
        self.divisions = 0;
        self.fresh = true;
        self.forget_changes();
    }

    fn forget_changes(&mut self) {
        let tables = self.layout.tables.len();
        for set in [&mut self.changed, &mut self.changed_before] {
            set.clear();
            set.resize(tables, false);
        }
    }

    /// Cuts off the next segment or barrier.
    pub(super) fn next(&mut self) -> Result<Fed> {
        let mut spans: Vec<(Arc<Batch>, Range<usize>)> = Vec::new();
        let (mut transactions, mut calls, mut bytes, mut last) = (0u64, 0u64, 0u64, CommitTs(0));
        let mut waits = std::mem::take(&mut self.fresh);
        std::mem::swap(&mut self.changed, &mut self.changed_before);
        self.changed.fill(false);
        let mut target = self.target();
        'cut: while transactions < target && bytes < LOG_BYTES_MAX {
            let (batch, position) = match self.current.take() {
                Some(current) => current,
                None => match self.next_batch().transpose()? {
                    Some(batch) => (batch, 0),
                    None if transactions == 0 && !self.read_all => return self.want(1, waits),
                    None => break,
                },
            };
            let mut at_record = position;
            let mut ended = false;
            while at_record < batch.len() && transactions < target && bytes < LOG_BYTES_MAX {
                let record = batch.get(at_record);
                match self.kind(&batch, &record).map_err(|e| at(e, record.commit_ts()))? {
                    Kind::Barrier if transactions == 0 => {
                        self.current = Some((batch.clone(), at_record + 1));
                        self.credit += record.len() as u64;
                        self.wanted = 0;
                        self.forget_changes();
                        return Ok(Fed::Barrier(batch, at_record));
                    }
                    Kind::Stale => {
                        self.install(Layout::new(self.world().clone(), &[], None)?);
                        waits = std::mem::take(&mut self.fresh);
                        target = self.target();
                        continue;
                    }
                    Kind::New(id) if transactions == 0 => {
                        let mut found = BTreeSet::from([id]);
                        let (looked, enough) = self.look_ahead(&batch, at_record, &mut found);
                        self.current = Some((batch, at_record));
                        if self.at_hand() < enough && !self.read_all {
                            return self.want(enough, waits);
                        }
                        // The first one has its plan by now, and with it what all plans need.
                        if self.parts_for > 1 && !self.compiled && found.len() > 2 {
                            self.compiled = true;
                            found.remove(&id);
                            self.want(enough, waits)?;
                            let routines = self.layout.world.routines().clone();
                            return Ok(Fed::Compile(routines, found.into_iter().collect()));
                        }
                        self.compiled = false;
                        self.looked = looked;
                        if self.plan_more(id, found)? {
                            waits = std::mem::take(&mut self.fresh);
                            target = self.target();
                        }
                        continue 'cut;
                    }
                    Kind::Barrier | Kind::New(_) => ended = true,
                    Kind::Call(number) => {
                        if self.reads {
                            let procedure = &self.layout.procedures[number];
                            let meets = |set: &[bool]| procedure.reads.iter().any(|t| set[t.index()]);
                            if meets(&self.changed) {
                                ended = true;
                            } else {
                                waits |= meets(&self.changed_before);
                                for table in &procedure.changes {
                                    self.changed[table.index()] = true;
                                }
                            }
                        }
                        calls += u64::from(!ended);
                    }
                    Kind::Effects => {
                        if self.reads {
                            let effects = record.effects().into_iter().flatten();
                            for table in effects.filter_map(|e| e.table()) {
                                self.changed[table.index()] = true;
                            }
                        }
                    }
                }
                if ended {
                    break;
                }
                transactions += 1;
                bytes += record.size() as u64;
                last = record.commit_ts();
                at_record += 1;
            }
            if at_record > position {
                spans.push((batch.clone(), position..at_record));
            }
            if at_record < batch.len() {
                self.current = Some((batch, at_record));
            }
            if ended {
                break 'cut;
            }
        }
        if transactions == 0 {
            return Ok(Fed::End);
        }
        self.wanted = 0;
        self.cut = (self.cut.0 + transactions, self.cut.1 + bytes);
        self.credit += bytes;
        self.size = (self.size * 4).min(self.size_max.max(FIRST));
        let id = self.next;
        self.next += 1;
        let whole = self.layout.classes.iter().map(|_| AtomicBool::new(false)).collect();
        let parts = self.parts(spans, transactions as usize);
        let layout = self.layout.clone();
        let handed = layout.queues.iter().map(|_| RwLock::default()).collect();
        waits |= layout.plans_alone;
        Ok(Fed::Segment(Arc::new(Segment {
            id,
            base: self.base,
            layout,
            parts,
            handed,
            waits,
            whole,
            given_up: AtomicBool::new(false),
            so_far: self.so_far,
            transactions,
            calls,
            bytes,
            last,
        })))
    }

    /// Nothing was cut, for want of so many bytes.
    fn want(&mut self, bytes: u64, waits: bool) -> Result<Fed> {
        self.wanted = bytes;
        self.fresh = waits;
        std::mem::swap(&mut self.changed, &mut self.changed_before);
        Ok(Fed::Wants)
    }

    fn next_batch(&mut self) -> Option<Result<Arc<Batch>>> {
        self.looked = self.looked.saturating_sub(1);
        self.ahead.pop_front()
    }

    /// Takes up a procedure, and those that were `found` to be called soon after it. Whether there is a
    /// layout for it now; otherwise its calls are replayed whole.
    fn plan_more(&mut self, id: ProcedureId, mut found: BTreeSet<ProcedureId>) -> Result<bool> {
        for id in &found {
            if self.layout.world.routines().plan(*id)?.is_none() {
                self.set_known(*id, Procedure::Whole);
            }
        }
        found.retain(|id| self.is_unknown(*id));
        let met = self.planned.len();
        // All of them, or just this one.
        for new in [found, BTreeSet::from([id])] {
            self.planned.extend(&new);
            let layout = Layout::new(self.layout.world.clone(), &self.planned, Some(&self.layout))?;
            if layout.pieces.len() < usize::from(PIECES_MAX) {
                for (number, id) in (met..).zip(new) {
                    self.set_known(id, Procedure::Planned(number));
                }
                self.install(layout);
                return Ok(true);
            }
            self.planned.truncate(met);
        }
        self.set_known(id, Procedure::Whole);
        Ok(false)
    }

    /// Procedures not met before that are called in what follows, up to a change of the schema, as far as it is at hand. How
    /// many batches it is that call no others, and how many bytes of log should be at hand for this.
    fn look_ahead(&self, batch: &Batch, at: usize, found: &mut BTreeSet<ProcedureId>) -> (usize, u64) {
        // Bytes looked through, and where the last one was found.
        let (mut bytes, mut newest) = (0, 0);
        let mut look = |batch: &Batch, at: usize, known: bool| {
            let (last, goes_on) = if known { (None, true) } else { self.look_through(batch, at, found) };
            newest = last.map_or(newest, |last| bytes + share(batch, at..last));
            bytes += share(batch, at..batch.len());
            goes_on && bytes < LOOK_AHEAD
        };
        let mut goes_on = look(batch, at, false);
        let mut looked = self.looked;
        for (place, batch) in self.ahead.iter().enumerate() {
            // An error waits for its turn.
            let Ok(batch) = batch else { break };
            if !goes_on {
                return (looked, 0);
            }
            goes_on = look(batch, 0, place < self.looked);
            looked = looked.max(place + usize::from(goes_on));
        }
        match self.planned.is_empty() {
            _ if !goes_on => (looked, 0),
            true => (looked, LOOK_AHEAD.min(newest * LOOKS_ON)),
            false => (looked, LOOK_AHEAD),
        }
    }

    /// The same of one batch: the place of the last record that adds one, and whether the schema stays as it is.
    fn look_through(
        &self,
        batch: &Batch,
        at: usize,
        found: &mut BTreeSet<ProcedureId>,
    ) -> (Option<usize>, bool) {
        let mut last = None;
        for at in at..batch.len() {
            let record = batch.get(at);
            if let Some((id, ..)) = record.call()
                && self.is_unknown(id)
                && found.insert(id)
            {
                last = Some(at);
            }
            if record.effects().into_iter().flatten().any(|e| e.table().is_none() && e.place().is_none()) {
                return (last, false);
            }
        }
        (last, true)
    }

    fn is_unknown(&self, id: ProcedureId) -> bool {
        matches!(self.known.get(id.index()), None | Some(Procedure::Unknown))
    }

    fn parts(&self, spans: Vec<(Arc<Batch>, Range<usize>)>, transactions: usize) -> Vec<SegmentPart> {
        // As long as nothing was planned, a single call may load a table.
        let least = match self.so_far.pieces {
            0 => 1,
            pieces => PART_PIECES * self.so_far.transactions / pieces,
        };
        let least = (least as usize).clamp(1, PART_MAX);
        let share = transactions.div_ceil(self.parts_for * 4);
        let size = share.clamp(least, PART_MAX).max(transactions.div_ceil(PARTS_MAX));
        let mut parts = Vec::new();
        for (batch, records) in spans {
            for start in records.clone().step_by(size) {
                let records = start..(start + size).min(records.end);
                parts.push(SegmentPart { batch: batch.clone(), records, chunk: RwLock::default() });
            }
        }
        parts
    }

    fn set_known(&mut self, id: ProcedureId, procedure: Procedure) {
        if self.known.len() <= id.index() {
            self.known.resize(id.index() + 1, Procedure::Unknown);
        }
        self.known[id.index()] = procedure;
    }

    fn kind(&mut self, batch: &Batch, record: &RawRecord<'_>) -> Result<Kind> {
        if let Some(mut effects) = record.effects() {
            // Places in the batch are kept in 32 bits.
            let mut barrier = u32::try_from(batch.bytes()).is_err();
            let mut tables = Ok(());
            for effect in effects.by_ref() {
                match effect.table() {
                    Some(table) => tables = tables.and_then(|()| self.check_table(table)),
                    None => barrier |= effect.place().is_none(),
                }
            }
            if !effects.is_whole() {
                return Err(unreadable());
            }
            // A change of the schema may make the tables that it fills.
            if !barrier {
                tables?;
            }
            return Ok(match self.changed_world {
                _ if barrier => Kind::Barrier,
                Some(_) if self.is_due(record) => Kind::Stale,
                Some(_) => Kind::Barrier,
                None => Kind::Effects,
            });
        }
        let (id, ..) = record.call().ok_or_else(unreadable)?;
        if !self.plans {
            return Ok(Kind::Barrier);
        }
        if self.changed_world.is_some() {
            return Ok(if self.is_due(record) { Kind::Stale } else { Kind::Barrier });
        }
        match self.known.get(id.index()).copied().unwrap_or(Procedure::Unknown) {
            Procedure::Planned(number)
                if self.kept(id, record) == self.layout.procedures[number].keeps.into() =>
            {
                Ok(Kind::Call(number))
            }
            // It was logged before its procedure was planned so, or under another planner.
            Procedure::Planned(_) => Ok(Kind::Barrier),
            Procedure::Whole => Ok(Kind::Barrier),
            Procedure::Unknown => {
                if !self.is_due(record) {
                    return Ok(Kind::Barrier);
                }
                if self.layout.world.routines().plan(id)?.is_some() {
                    return Ok(Kind::New(id));
                }
                self.set_known(id, Procedure::Whole);
                Ok(Kind::Barrier)
            }
        }
    }

    /// What a call has kept.
    #[inline]
    fn kept(&self, id: ProcedureId, record: &RawRecord<'_>) -> Keeping {
        match record.keeping() {
            keeping @ Keeping::ByFormer => self.layout.world.routines().kept(id, keeping),
            keeping => keeping,
        }
    }

    fn check_table(&self, table: TableId) -> Result<()> {
        match self.world().try_table(table) {
            Some(_) => Ok(()),
            None => Err(Error::new(
                SqlState::DATA_CORRUPTED,
                format!("the log changes table {table}, which does not exist"),
            )),
        }
    }
}

/// Bytes of some records of a batch, about.
fn share(batch: &Batch, records: Range<usize>) -> u64 {
    (batch.bytes() as u64).saturating_mul(records.len() as u64) / batch.len().max(1) as u64
}

/// What a layout costs, in bytes of log.
fn cost(layout: &Layout) -> u64 {
    (layout.tables.len() + layout.pieces.len()) as u64 * BYTES_PER_PART
}

#[cold]
pub(super) fn unreadable() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "the log record cannot be decoded")
        .with_hint("the log may have been written by a newer version of Planaria")
}
