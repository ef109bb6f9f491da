//! Every interleaving of who keeps images, who looks for them, and who forgets them.

use super::*;
use loom::thread;

const RECORD: u64 = 8;
const OTHER: u64 = 16;

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 50_000;
    builder.check(f);
}

/// The image is the timestamp of its begin.
fn put(old: &OldImages, lane: usize, record: u64, begin: u64, end: u64) {
    let mut participant = Participant::new();
    let lifetime = (CommitTs(begin), CommitTs(end));
    let guard = participant.guard();
    // Whoever looks how many there are holds a lane for a moment, too.
    let mut keeper = loop {
        match old.try_keeper(guard.pinned(), lane) {
            Some(keeper) => break keeper,
            None => thread::yield_now(),
        }
    };
    keeper.put(record, lifetime, [begin].into_iter());
}

fn find(old: &OldImages, at: u64) -> Option<u64> {
    let mut participant = Participant::new();
    old.find(participant.guard().pinned(), RECORD, CommitTs(at)).map(|image| image[0])
}

/// What was freed is freed before the heap of the model goes.
fn end(old: loom::sync::Arc<OldImages>) {
    drop(old);
    let mut participant = Participant::new();
    for _ in 0..4 {
        participant.flush();
    }
}

/// Two make the first generation, or fill it, at a time; neither's version is lost.
#[test]
fn two_put_at_a_time() {
    model(|| {
        let old = loom::sync::Arc::new(OldImages::new());
        let other = thread::spawn({
            let old = old.clone();
            move || put(&old, 1, OTHER, 1, 2)
        });
        put(&old, 0, RECORD, 2, 3);
        other.join().unwrap();
        assert_eq!((find(&old, 2), old.memory().versions), (Some(2), 2));
        end(old);
    });
}

/// A reader beside one who puts and one who forgets finds what it needs.
#[test]
fn a_reader_finds_what_is_needed_beside_a_sweep() {
    model(|| {
        let old = loom::sync::Arc::new(OldImages::new());
        for (begin, end) in [(1, 2), (2, 3), (3, 4)] {
            put(&old, 0, RECORD, begin, end);
        }
        old.seal(CommitTs(4));
        put(&old, 0, RECORD, 4, 5);
        let sweeper = thread::spawn({
            let old = old.clone();
            move || {
                let needed = |begin: CommitTs, _| begin == CommitTs(1);
                let what = Forgetting { oldest: CommitTs(1), gone: CommitTs(2), needed: &needed };
                assert!(old.sweep(&mut Participant::new(), &what, &mut || true));
            }
        });
        assert_eq!((find(&old, 1), find(&old, 4)), (Some(1), Some(4)));
        sweeper.join().unwrap();
        assert_eq!([1, 2, 4].map(|at| find(&old, at)), [Some(1), None, Some(4)]);
        end(old);
    });
}

/// One whose generation is taken out while it looks there has its image until it leaves.
#[test]
fn a_reader_keeps_what_it_has_found() {
    model(|| {
        let old = loom::sync::Arc::new(OldImages::new());
        put(&old, 0, RECORD, 1, 2);
        old.seal(CommitTs(2));
        let reader = thread::spawn({
            let old = old.clone();
            move || find(&old, 1)
        });
        let what = Forgetting { oldest: CommitTs(2), gone: CommitTs(2), needed: &|_, _| false };
        let mut participant = Participant::new();
        assert!(old.sweep(&mut participant, &what, &mut || true));
        participant.flush();
        assert!(matches!(reader.join().unwrap(), None | Some(1)));
        assert_eq!(find(&old, 1), None);
        end(old);
    });
}
