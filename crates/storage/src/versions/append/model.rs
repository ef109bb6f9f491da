//! Every interleaving of a commit that changes a row, a reader of its past, and whoever collects.

use super::*;
use crate::record;
use loom::sync::Arc;
use loom::thread;

struct Plain;
impl Header for Plain {
    type Versions = Append;

    fn absent() -> Plain {
        Plain
    }
    fn is_present(&self) -> bool {
        true
    }
    fn set_present(&self, _: bool) {}
}

struct Subject {
    heap: Heap,
    versions: Append,
    record: RecordPtr<Plain>,
}

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 50_000;
    builder.check(f);
}

impl Subject {
    /// A row since 1.
    fn new() -> Arc<Subject> {
        let heap = Heap::new();
        let record = record::allocate::<Plain>(&heap, 0, 1);
        let subject = Subject { heap, versions: Append::new(), record };
        subject.install(1, Participant::new().guard().pinned());
        Arc::new(subject)
    }

    fn shown<'p>(&self, pin: Pinned<'p>) -> RecordRef<'p, Plain> {
        // SAFETY: it is freed when all threads are done, or retired by one.
        unsafe { self.record.deref(pin) }
    }

    fn install(&self, ts: u64, pin: Pinned<'_>) {
        self.versions.install(self.shown(pin), &[ts], CommitTs(ts), &self.heap, 0, pin);
    }

    /// A commit that finds that somebody reads as of `at`.
    fn commit(&self, (begin, end): (u64, u64), at: u64) {
        let mut participant = Participant::new();
        let guard = participant.guard();
        let pin = guard.pinned();
        if begin <= at && at < end {
            let lifetime = (CommitTs(begin), CommitTs(end));
            self.versions.keep(&mut (), self.shown(pin), lifetime, &|b, e| b.0 <= at && at < e.0, 0, pin);
        }
        self.install(end, pin);
    }

    /// When the version began that was there.
    fn find(&self, at: u64) -> Option<u64> {
        let mut participant = Participant::new();
        let guard = participant.guard();
        let version = Append::version_at(self.shown(guard.pinned()), CommitTs(at))?;
        // SAFETY: just found, under the pin.
        let version = unsafe { show(version) };
        assert_eq!(version.words(), 1, "it was freed");
        Some(version.begin.0)
    }

    /// Whoever reads reads as of `at`.
    fn sweep(&self, at: u64) {
        let needed = |begin: CommitTs, end: CommitTs| begin.0 <= at && at < end.0;
        let what = Forgetting { oldest: CommitTs(at), gone: CommitTs(at), needed: &needed };
        assert!(self.versions.sweep::<Plain>(&mut Participant::new(), &what, &mut || true));
    }
}

/// What was freed is freed before the heap goes.
fn end(subject: Arc<Subject>) {
    let mut participant = Participant::new();
    for _ in 0..4 {
        participant.flush();
    }
    drop(subject);
}

/// A reader as of 1 sees 1, whatever two commits and a collector do.
#[test]
fn a_reader_finds_its_version_beside_commits_and_a_sweep() {
    model(|| {
        let subject = Subject::new();
        let writer = thread::spawn({
            let subject = subject.clone();
            move || {
                subject.commit((1, 2), 1);
                subject.commit((2, 3), 1);
            }
        });
        let collector = thread::spawn({
            let subject = subject.clone();
            move || subject.sweep(1)
        });
        assert_eq!(subject.find(1), Some(1));
        writer.join().unwrap();
        collector.join().unwrap();
        assert_eq!((subject.find(1), subject.find(3)), (Some(1), Some(3)));
        assert_eq!(subject.versions.memory().versions, 1);
        // It has gone.
        subject.sweep(3);
        assert!(subject.versions.is_empty());
        end(subject);
    });
}

/// A version that is needed no more goes as the next is installed, or by the collector, and once.
#[test]
fn what_is_not_needed_goes_once() {
    model(|| {
        let subject = Subject::new();
        subject.commit((1, 2), 1);
        let writer = thread::spawn({
            let subject = subject.clone();
            // Somebody reads as of 2.
            move || subject.commit((2, 3), 2)
        });
        subject.sweep(2);
        writer.join().unwrap();
        assert_eq!(subject.find(2), Some(2));
        subject.sweep(2);
        assert_eq!(subject.versions.memory().versions, 1);
        subject.sweep(3);
        assert!(subject.versions.is_empty());
        end(subject);
    });
}

/// A record that is listed is retired by who deletes it or by who collects, and once.
#[test]
fn a_deleted_record_goes_once() {
    model(|| {
        let subject = Subject::new();
        subject.commit((1, 2), 1);
        let deleter = thread::spawn({
            let subject = subject.clone();
            move || {
                let mut participant = Participant::new();
                let guard = participant.guard();
                // SAFETY: it is in no index, and retired here alone.
                unsafe { subject.versions.retire(subject.record, guard.pinned()) }
            }
        });
        subject.sweep(3);
        deleter.join().unwrap();
        subject.sweep(3);
        assert!(subject.versions.is_empty());
        end(subject);
    });
}
