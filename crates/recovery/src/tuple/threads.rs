//! How threads share a window.

use super::keys::{decoded, primary_key, unreadable};
use super::shape::Shape;
use super::shards::mixed;
use super::{Worker, table};
use crate::record::Recorder;
use crate::{TaskKind, World, at};
use planaria_base::sync::{Instant, Mutex, thread};
use planaria_base::{CommitTs, Result};
use planaria_log::{Batch, RawEffect};
use planaria_storage::Header;
use planaria_storage::reclaim::{Participant, Pinned};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Transactions that a thread takes at a time, at most.
const CHUNK: usize = 256;
/// Groups of rows a thread: more than one, since groups differ in work.
const GROUPS_PER_THREAD: usize = 8;

/// So many threads, and who records what they do.
#[derive(Clone, Copy)]
pub(super) struct Team<'r> {
    pub(super) threads: usize,
    pub(super) recorder: &'r Recorder,
}

/// Time in a window, summed over threads.
#[derive(Default)]
pub(super) struct Times {
    pub(super) plan: Duration,
    pub(super) execute: Duration,
}

/// Puts one effect in place.
pub(super) trait Apply:
    Fn(&mut Worker, Pinned<'_>, CommitTs, &RawEffect<'_>) -> Result<()> + Sync
{
}
impl<F: Fn(&mut Worker, Pinned<'_>, CommitTs, &RawEffect<'_>) -> Result<()> + Sync> Apply for F {}

/// A thread at work, and for how long it has been.
struct Busy {
    participant: Participant,
    worker: Worker,
    took: Duration,
}

impl Busy {
    fn new(number: usize) -> Busy {
        Busy { participant: Participant::new(), worker: Worker::new(number), took: Duration::ZERO }
    }

    fn timed(&mut self, work: impl FnOnce(&mut Worker, Pinned<'_>) -> Result<()>) -> Result<()> {
        let began = Instant::now();
        let guard = self.participant.guard();
        work(&mut self.worker, guard.pinned())?;
        self.took += began.elapsed();
        Ok(())
    }
}

impl Team<'_> {
    /// Runs `work` for every number below `count`, each once, in ascending order of starting: a stage of
    /// tasks of this kind. Each thread has a state of its own; all of them come back. The first error ends
    /// it.
    pub(super) fn each<S: Send>(
        self,
        kind: TaskKind,
        count: usize,
        state: impl Fn(usize) -> S + Sync,
        work: impl Fn(&mut S, usize) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        self.each_telling(kind, count, state, work, &mut |_| ())
    }

    /// The same; the calling thread is told now and then how many were begun.
    pub(super) fn each_telling<S: Send>(
        self,
        kind: TaskKind,
        count: usize,
        state: impl Fn(usize) -> S + Sync,
        work: impl Fn(&mut S, usize) -> Result<()> + Sync,
        tell: &mut dyn FnMut(usize),
    ) -> Result<Vec<S>> {
        let next = AtomicUsize::new(0);
        let taken: Mutex<Vec<(usize, Duration)>> = Mutex::default();
        let work = |state: &mut S, i: usize| {
            if !self.recorder.is_on() {
                return work(state, i);
            }
            let began = Instant::now();
            work(state, i)?;
            taken.lock().push((i, began.elapsed()));
            Ok(())
        };
        let run = |number: usize, tell: &mut dyn FnMut(usize)| {
            let mut state = state(number);
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return Ok(state);
                }
                if let Err(error) = work(&mut state, i) {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
                tell(next.load(Ordering::Relaxed).min(count));
            }
        };
        let threads = self.threads.min(count).max(1);
        let states = thread::scope(|scope| {
            let run = &run;
            let others: Vec<_> = (1..threads).map(|n| scope.spawn(move || run(n, &mut |_| ()))).collect();
            let mine = run(0, tell);
            let joined =
                others.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
            std::iter::once(mine).chain(joined.collect::<Vec<_>>()).collect()
        });
        let mut taken = taken.into_inner();
        taken.sort_unstable();
        self.recorder.stage(kind, taken.into_iter().map(|(_, took)| took));
        states
    }

    /// Transactions of a window of `len` that are taken at a time.
    fn chunk(self, len: usize) -> usize {
        len.div_ceil(self.recorder.cores(self.threads) * 4).clamp(1, CHUNK)
    }

    /// The shapes of a batch's records.
    pub(super) fn shapes(self, batch: &Batch) -> Result<Vec<Shape>> {
        let chunk = self.chunk(batch.len());
        let mut shapes = vec![Shape::EMPTY; batch.len()];
        let chunks: Vec<_> = shapes.chunks_mut(chunk).map(Mutex::new).collect();
        self.each(
            TaskKind::Plan,
            chunks.len(),
            |_| (),
            |(), i| {
                let mut shapes = chunks[i].lock();
                for (shape, record) in shapes.iter_mut().zip(i * chunk..) {
                    *shape = Shape::of(&batch.get(record))?;
                }
                Ok(())
            },
        )?;
        drop(chunks);
        Ok(shapes)
    }

    /// Puts the effects of a window in place, the newest transactions first.
    pub(super) fn backwards(self, batch: &Batch, window: Range<usize>, apply: impl Apply) -> Result<Times> {
        let chunk = self.chunk(window.len());
        let done = self.each(TaskKind::Execute, window.len().div_ceil(chunk), Busy::new, |busy, i| {
            let end = window.end - i * chunk;
            let chunk = window.start.max(end.saturating_sub(chunk))..end;
            busy.timed(|worker, pin| {
                for i in chunk.rev() {
                    let record = batch.get(i);
                    let ts = record.commit_ts();
                    for effect in record.effects().into_iter().flatten() {
                        apply(worker, pin, ts, &effect).map_err(|e| at(e, ts))?;
                    }
                }
                Ok(())
            })
        })?;
        Ok(Times { plan: Duration::ZERO, execute: done.iter().map(|busy| busy.took).sum() })
    }

    /// Puts the effects of a window in place, those of each row in the order of the log.
    ///
    /// 1. Chunk by chunk, effects are dealt to groups by table and primary key.
    /// 2. Group by group, they are put in place.
    pub(super) fn in_order<H: Header>(
        self,
        batch: &Batch,
        window: Range<usize>,
        world: &World<H>,
        apply: impl Apply,
    ) -> Result<Times> {
        let chunk = self.chunk(window.len());
        let groups = self.recorder.cores(self.threads) * GROUPS_PER_THREAD;
        // Timestamp and place in the batch of each effect, by group.
        type Dealt = Vec<Vec<(CommitTs, usize)>>;
        let dealt: Vec<Mutex<Dealt>> = (0..window.len().div_ceil(chunk)).map(|_| Mutex::default()).collect();
        let planned = self.each(TaskKind::Plan, dealt.len(), Busy::new, |busy, i| {
            let start = window.start + i * chunk;
            busy.timed(|worker, _| {
                let mut mine: Dealt = (0..groups).map(|_| Vec::new()).collect();
                for i in start..window.end.min(start + chunk) {
                    let record = batch.get(i);
                    let ts = record.commit_ts();
                    let effects = || record.effects().into_iter().flatten();
                    let (go, come) =
                        (effects().filter(|e| !e.is_insert()), effects().filter(|e| e.is_insert()));
                    for effect in go.chain(come) {
                        let group = group(world, &effect, worker).map_err(|e| at(e, ts))?;
                        mine[group as usize % groups].push((ts, batch.place_of(&effect)));
                    }
                }
                *dealt[i].lock() = mine;
                Ok(())
            })
        })?;
        let dealt: Vec<Dealt> = dealt.into_iter().map(|d| d.into_inner()).collect();
        let done = self.each(TaskKind::Execute, groups, Busy::new, |busy, group| {
            busy.timed(|worker, pin| {
                for &(ts, place) in dealt.iter().flat_map(|chunk| &chunk[group]) {
                    let Some(effect) = batch.effect_at(place) else { return Err(unreadable()) };
                    apply(worker, pin, ts, &effect).map_err(|e| at(e, ts))?;
                }
                Ok(())
            })
        })?;
        Ok(Times {
            plan: planned.iter().map(|busy| busy.took).sum(),
            execute: done.iter().map(|busy| busy.took).sum(),
        })
    }
}

/// Equal for all changes of a row.
fn group<H: Header>(world: &World<H>, effect: &RawEffect<'_>, worker: &mut Worker) -> Result<u64> {
    let Some(id) = effect.table() else { return Ok(0) };
    let table = table(world, id)?;
    let key = &mut worker.key;
    primary_key(table, decoded(effect, &mut worker.buf)?, key)?;
    let hash = key.words().iter().fold(u64::from(id.0), |hash, word| mixed(hash ^ word));
    Ok(hash >> 32)
}
