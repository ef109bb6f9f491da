//! Every interleaving of who puts old versions, who reads them, and who forgets them.

use super::*;
use loom::thread;

const KEY: &[u64] = &[7];
const OTHER: &[u64] = &[8];

fn model(f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 50_000;
    builder.check(f);
}

/// With a version of another key in it, so that the tree is there.
fn versions() -> loom::sync::Arc<OldVersions> {
    let old = OldVersions::new(1);
    put(&old, OTHER, 0, 9);
    assert_eq!(find(&old, &mut Participant::new(), 0), None);
    loom::sync::Arc::new(old)
}

/// The image is the timestamp of its begin.
fn put(old: &OldVersions, key: &[u64], begin: u64, end: u64) {
    let kept = Kept { young: false, first: true };
    old.put(key, (CommitTs(begin), CommitTs(end)), &Arc::from([begin]), kept);
}

fn find(old: &OldVersions, participant: &mut Participant, at: u64) -> Option<u64> {
    old.find(participant.guard().pinned(), KEY, CommitTs(at)).map(|image| image[0])
}

/// What was freed is freed before the heap of the model goes.
fn end(mut participant: Participant) {
    for _ in 0..4 {
        participant.flush();
    }
}

/// A row as its record says it: since when it is as it is.
struct Record(planaria_base::sync::atomic::AtomicU64);

/// Who looks at the record first, and here afterwards, misses nothing: a writer puts the version before.
#[test]
fn a_reader_finds_what_the_record_has_no_more() {
    model(|| {
        let shared = loom::sync::Arc::new((versions(), Record(1.into())));
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                for (begin, end) in [(1, 3), (3, 4)] {
                    put(&shared.0, KEY, begin, end);
                    shared.1.0.store(end, Ordering::Release);
                }
            })
        };
        let mut participant = Participant::new();
        let since = shared.1.0.load(Ordering::Acquire);
        // The snapshot at 2 sees what came at 1.
        let seen = if since <= 2 { Some(since) } else { find(&shared.0, &mut participant, 2) };
        assert_eq!(seen, Some(1));
        writer.join().unwrap();
        assert_eq!(
            (find(&shared.0, &mut participant, 2), find(&shared.0, &mut participant, 3)),
            (Some(1), Some(3))
        );
        drop(shared);
        end(participant);
    });
}

/// Chains are made anew without what nobody needs: a reader beside it finds what is needed, and so does one
/// that walks on the old chain.
#[test]
fn a_reader_beside_a_sweep_finds_what_is_needed() {
    model(|| {
        let old = versions();
        let mut participant = Participant::new();
        for (begin, end) in [(1, 2), (2, 3), (3, 4)] {
            put(&old, KEY, begin, end);
        }
        let sweeper = {
            let old = old.clone();
            thread::spawn(move || {
                old.sweep(&mut Participant::new(), &|begin, _| begin != CommitTs(2), &mut || true)
            })
        };
        assert_eq!(find(&old, &mut participant, 1), Some(1));
        sweeper.join().unwrap();
        assert_eq!([1, 2, 3].map(|at| find(&old, &mut participant, at)), [Some(1), None, Some(3)]);
        assert_eq!(old.memory().versions, 3);
        drop(old);
        end(participant);
    });
}

/// A version that comes while its key's chain is swept is not lost, nor what stands in it counted wrong.
#[test]
fn a_version_that_comes_during_a_sweep_stays() {
    model(|| {
        let old = versions();
        let mut participant = Participant::new();
        put(&old, KEY, 1, 2);
        let writer = {
            let old = old.clone();
            thread::spawn(move || put(&old, KEY, 2, 3))
        };
        old.sweep(&mut participant, &|begin, _| begin != CommitTs(1), &mut || true);
        writer.join().unwrap();
        assert_eq!([1, 2].map(|at| find(&old, &mut participant, at)), [None, Some(2)]);
        assert_eq!(old.memory().versions, 2);
        drop(old);
        end(participant);
    });
}

/// All is taken at once: who looked before may go on, and the versions that come afterwards are in a new tree. Two
/// threads may make it at a time.
#[test]
fn a_reader_beside_a_taker_looks_at_what_is_there() {
    model(|| {
        let old = versions();
        let mut participant = Participant::new();
        put(&old, KEY, 1, 2);
        assert_eq!(find(&old, &mut participant, 1), Some(1));
        let reader = {
            let old = old.clone();
            thread::spawn(move || find(&old, &mut Participant::new(), 1))
        };
        let taken = old.take().expect("nobody sweeps, and none waits");
        taken.expire(participant.guard().pinned());
        participant.flush();
        drop(taken.free(&mut || {}));
        assert!(matches!(reader.join().unwrap(), None | Some(1)));
        assert!(old.is_empty());
        let writer = {
            let old = old.clone();
            thread::spawn(move || put(&old, OTHER, 2, 3))
        };
        put(&old, KEY, 2, 3);
        writer.join().unwrap();
        assert_eq!([1, 2].map(|at| find(&old, &mut participant, at)), [None, Some(2)]);
        assert_eq!(old.memory().versions, 2);
        drop(old);
        end(participant);
    });
}

/// Two look at a time: whoever comes while the other enters what has waited does not miss it.
#[test]
fn of_two_readers_neither_misses_what_waits() {
    model(|| {
        let old = versions();
        put(&old, KEY, 1, 2);
        let other = {
            let old = old.clone();
            thread::spawn(move || {
                let mut participant = Participant::new();
                put(&old, OTHER, 2, 3);
                find(&old, &mut participant, 1)
            })
        };
        let mut participant = Participant::new();
        assert_eq!(find(&old, &mut participant, 1), Some(1));
        assert_eq!(other.join().unwrap(), Some(1));
        assert_eq!(old.memory().versions, 3);
        drop(old);
        end(participant);
    });
}

/// Nothing is left of what a reader enters while all is taken.
#[test]
fn a_reader_that_enters_beside_a_taker_leaves_nothing() {
    model(|| {
        let old = versions();
        put(&old, KEY, 1, 2);
        let reader = {
            let old = old.clone();
            thread::spawn(move || find(&old, &mut Participant::new(), 1))
        };
        let mut participant = Participant::new();
        match old.take() {
            Some(taken) => {
                assert!(old.is_empty());
                taken.expire(participant.guard().pinned());
                participant.flush();
                drop(taken.free(&mut || {}));
            }
            None => {
                old.sweep(&mut participant, &|_, _| false, &mut || true);
            }
        }
        assert!(matches!(reader.join().unwrap(), None | Some(1)));
        assert!(old.is_empty());
        drop(old);
        end(participant);
    });
}
