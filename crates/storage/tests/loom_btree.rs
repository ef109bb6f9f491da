//! Model tests: every interleaving (up to two or three preemptions), and every value that the memory
//! model lets a relaxed load see, of small situations.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p planaria-storage --release --test loom_btree`
#![cfg(loom)]
#![allow(unsafe_code)] // retires objects of its own

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use loom::thread;
use planaria_storage::btree::{Cursor, Fingers, Insert, NodeRef, OrderedIndex, Tree};
use planaria_storage::reclaim::{Participant, Pinned};
use std::ops::Bound;

type Small = Tree<1, false, 3, 3>;

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 50_000;
    builder.check(f);
}

fn tree(keys: &[u64]) -> Arc<Small> {
    let tree = Small::new();
    let mut participant = Participant::new();
    for key in keys {
        tree.insert(participant.guard().pinned(), &[*key], *key);
    }
    Arc::new(tree)
}

fn insert(tree: &Small, key: u64) {
    let mut participant = Participant::new();
    assert!(matches!(tree.insert(participant.guard().pinned(), &[key], key), Insert::Done(_)));
}

fn remove(tree: &Small, key: u64) {
    let mut participant = Participant::new();
    assert!(tree.remove(participant.guard().pinned(), &[key], key));
}

fn get(tree: &Small, key: u64) -> Option<u64> {
    let mut participant = Participant::new();
    let guard = participant.guard();
    tree.get(guard.pinned(), &[key]).0
}

fn scan(tree: &Small, pin: Pinned<'_>, descending: bool, node_set: &mut Vec<NodeRef>) -> Vec<u64> {
    let mut cursor = Cursor::new();
    cursor.open(Bound::Unbounded, Bound::Unbounded, descending);
    let mut keys = Vec::new();
    while let Some((key, value)) = cursor.next(tree, pin, |node| node_set.push(node)) {
        assert_eq!(key, [value]);
        keys.push(value);
    }
    if descending {
        keys.reverse();
    }
    keys
}

fn scan_all(tree: &Small, descending: bool) -> Vec<u64> {
    let mut participant = Participant::new();
    scan(tree, participant.guard().pinned(), descending, &mut Vec::new())
}

/// An insert shifts entries under the eyes of a reader.
#[test]
fn reader_beside_an_insert() {
    model(3, || {
        let tree = tree(&[10, 20]);
        let writer = tree.clone();
        let writer = thread::spawn(move || insert(&writer, 5));
        assert_eq!(get(&tree, 20), Some(20));
        writer.join().unwrap();
        assert_eq!(scan_all(&tree, false), [5, 10, 20]);
    });
}

/// A removal shifts them the other way.
#[test]
fn reader_beside_a_removal() {
    model(3, || {
        let tree = tree(&[5, 10, 20]);
        let writer = tree.clone();
        let writer = thread::spawn(move || remove(&writer, 5));
        assert_eq!(get(&tree, 20), Some(20));
        writer.join().unwrap();
        assert_eq!(scan_all(&tree, true), [10, 20]);
    });
}

/// Two inserts into the same leaf.
#[test]
fn writers_exclude_each_other() {
    model(3, || {
        let tree = tree(&[10]);
        let other = tree.clone();
        let other = thread::spawn(move || insert(&other, 5));
        insert(&tree, 20);
        other.join().unwrap();
        assert_eq!(scan_all(&tree, false), [5, 10, 20]);
    });
}

/// The root leaf splits while a reader looks for a key that moves to the right half.
#[test]
fn reader_beside_a_root_split() {
    model(3, || {
        let tree = tree(&[10, 20, 30]);
        let writer = tree.clone();
        let writer = thread::spawn(move || insert(&writer, 15));
        assert_eq!(get(&tree, 30), Some(30));
        writer.join().unwrap();
        assert_eq!(scan_all(&tree, false), [10, 15, 20, 30]);
    });
}

/// A leaf under an inner node splits while a cursor passes.
#[test]
fn cursor_beside_a_split() {
    for descending in [false, true] {
        model(2, move || {
            let tree = tree(&[10, 20, 30, 40, 50]);
            let writer = tree.clone();
            let writer = thread::spawn(move || insert(&writer, 45));
            let mut seen = scan_all(&tree, descending);
            seen.retain(|&key| key != 45);
            assert_eq!(seen, [10, 20, 30, 40, 50]);
            writer.join().unwrap();
        });
    }
}

/// A leaf is emptied and unlinked while somebody else inserts into its range.
#[test]
fn insert_beside_an_unlinking() {
    model(3, || {
        let tree = tree(&[10, 20, 30, 40]);
        remove(&tree, 10);
        let writer = tree.clone();
        let writer = thread::spawn(move || remove(&writer, 20));
        insert(&tree, 15);
        writer.join().unwrap();
        assert_eq!(scan_all(&tree, false), [15, 30, 40]);
    });
}

/// Inserts keys one after the other under one pin, from the second one on by a finger.
fn insert_run(tree: &Small, keys: &[u64]) {
    let (mut participant, mut fingers) = (Participant::new(), Fingers::default());
    let guard = participant.guard();
    for key in keys {
        let done = tree.insert_among(&mut fingers, guard.pinned(), &[*key], *key);
        assert!(matches!(done, Insert::Done(_)));
    }
}

/// The leaf that a run goes to is split by somebody else, or filled.
#[test]
fn run_beside_an_insert() {
    for other in [15, 35] {
        model(2, move || {
            let tree = tree(&[10]);
            let writer = tree.clone();
            let writer = thread::spawn(move || insert(&writer, other));
            insert_run(&tree, &[20, 30, 40]);
            writer.join().unwrap();
            let mut expected = [10, 20, 30, 40, other];
            expected.sort_unstable();
            assert_eq!(scan_all(&tree, false), expected);
        });
    }
}

/// The leaf that a run goes to is emptied and unlinked.
#[test]
fn run_beside_an_unlinking() {
    model(2, || {
        let tree = tree(&[10, 20, 30, 40]);
        remove(&tree, 10);
        let writer = tree.clone();
        let writer = thread::spawn(move || {
            remove(&writer, 20);
            insert(&writer, 12);
        });
        insert_run(&tree, &[35, 15]);
        writer.join().unwrap();
        assert_eq!(scan_all(&tree, false), [12, 15, 30, 35, 40]);
    });
}

/// Silo's promise. A reader scans, draws a timestamp, validates. Inserters draw theirs after their
/// insert. If the reader validates, whatever it did not see has a later timestamp.
fn phantom(keys: &'static [u64], inserts: &'static [u64], preemptions: usize) {
    phantom_of(keys, inserts, preemptions, insert);
}

fn phantom_of(keys: &'static [u64], inserts: &'static [u64], preemptions: usize, insert: fn(&Small, u64)) {
    model(preemptions, move || {
        let tree = tree(keys);
        let clock = Arc::new(AtomicU64::new(0));
        let inserters: Vec<_> = inserts
            .iter()
            .map(|&key| {
                let (tree, clock) = (tree.clone(), clock.clone());
                thread::spawn(move || {
                    insert(&tree, key);
                    clock.fetch_add(1, Ordering::SeqCst)
                })
            })
            .collect();
        let mut participant = Participant::new();
        let guard = participant.guard();
        let mut node_set = Vec::new();
        let seen = scan(&tree, guard.pinned(), false, &mut node_set);
        let ts = clock.fetch_add(1, Ordering::SeqCst);
        let valid = node_set.iter().all(|node| node.is_current(guard.pinned()));
        drop(guard);
        for (key, inserter) in inserts.iter().zip(inserters) {
            let theirs = inserter.join().unwrap();
            if valid && !seen.contains(key) {
                assert!(theirs > ts, "{key} was missed");
            }
        }
    });
}

#[test]
fn phantom_in_a_leaf() {
    phantom(&[10, 20], &[15], 3);
}
#[test]
fn phantom_by_a_root_split() {
    phantom(&[10, 20, 30], &[25], 3);
}
/// The key comes as the second one of a run.
#[test]
fn phantom_by_a_finger() {
    phantom_of(&[10], &[20], 2, |tree, key| insert_run(tree, &[key - 5, key]));
}
/// The second insert goes to the leaf that the first one has just made.
#[test]
fn phantom_in_a_new_leaf() {
    phantom(&[10, 20, 30], &[5, 40], 2);
}

/// A cleared tree: whoever saw the old leaves and missed a new key comes before it.
/// A reader inserts into what it has scanned, and moves its node set along: another's insert at the same time is noticed, or comes
/// after it.
fn own_insert(keys: &'static [u64], own: u64, other: u64, preemptions: usize) {
    model(preemptions, move || {
        let tree = tree(keys);
        let clock = Arc::new(AtomicU64::new(0));
        let inserter = {
            let (tree, clock) = (tree.clone(), clock.clone());
            thread::spawn(move || {
                insert(&tree, other);
                clock.fetch_add(1, Ordering::SeqCst)
            })
        };
        let mut participant = Participant::new();
        let guard = participant.guard();
        let mut node_set = Vec::new();
        let seen = scan(&tree, guard.pinned(), false, &mut node_set);
        match tree.insert(guard.pinned(), &[own], own) {
            Insert::Done(changes) => changes.apply(&mut node_set),
            Insert::Exists(..) => unreachable!("nobody else inserts it"),
        }
        let drawn = clock.fetch_add(1, Ordering::SeqCst);
        let valid = node_set.iter().all(|node| node.is_current(guard.pinned()));
        drop(guard);
        let theirs = inserter.join().unwrap();
        assert!(
            !valid || seen.contains(&other) || theirs > drawn,
            "{other} was missed, and the node set holds"
        );
    });
}

#[test]
fn own_insert_splits_the_root() {
    own_insert(&[10, 20, 30], 15, 25, 4);
}
#[test]
fn own_insert_splits_a_leaf() {
    own_insert(&[10, 20, 30, 40, 50], 45, 55, 2);
}
#[test]
fn own_insert_beside_another() {
    own_insert(&[10, 20], 15, 25, 2);
}
#[test]
fn phantom_after_a_clear() {
    model(3, || {
        let tree = tree(&[10]);
        let clock = Arc::new(AtomicU64::new(0));
        let other = {
            let (tree, clock) = (tree.clone(), clock.clone());
            thread::spawn(move || {
                tree.clear(Participant::new().guard().pinned());
                insert(&tree, 20);
                clock.fetch_add(1, Ordering::SeqCst)
            })
        };
        let mut participant = Participant::new();
        let guard = participant.guard();
        let mut node_set = Vec::new();
        let seen = scan(&tree, guard.pinned(), false, &mut node_set);
        let ts = clock.fetch_add(1, Ordering::SeqCst);
        let valid = node_set.iter().all(|node| node.is_current(guard.pinned()));
        drop(guard);
        let theirs = other.join().unwrap();
        assert!(!valid || seen.contains(&20) || theirs > ts);
    });
}

/// What the reclaimer must never do: free an object that a pinned participant has reached.
struct Object {
    freed: AtomicBool,
}

unsafe fn free(object: *mut u8) {
    // SAFETY: objects of these tests are leaked until their end.
    unsafe { &*object.cast::<Object>() }.freed.store(true, Ordering::Relaxed);
}

fn object() -> *mut Object {
    Box::into_raw(Box::new(Object { freed: AtomicBool::new(false) }))
}

#[test]
fn nothing_is_freed_under_a_pin() {
    model(3, || {
        let (first, second) = (object(), object());
        let shared = Arc::new(AtomicPtr::new(first));
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut participant = Participant::new();
                let guard = participant.guard();
                // SAFETY: leaked until the end of the test.
                let object = unsafe { &*shared.load(Ordering::Acquire) };
                assert!(!object.freed.load(Ordering::Relaxed));
                thread::yield_now();
                assert!(!object.freed.load(Ordering::Relaxed), "freed under a pin");
                drop(guard);
            })
        };
        let mut participant = Participant::new();
        {
            let guard = participant.guard();
            shared.store(second, Ordering::Release);
            // SAFETY: unlinked above.
            unsafe { guard.pinned().retire(first.cast(), free) };
        }
        for _ in 0..3 {
            drop(participant.guard());
        }
        reader.join().unwrap();
        // With the reader gone nothing holds the epoch back.
        for _ in 0..4 {
            participant.flush();
        }
        // SAFETY: both were boxed above; the reader is gone.
        unsafe {
            assert!((*first).freed.load(Ordering::Relaxed), "never freed");
            assert!(!(*second).freed.load(Ordering::Relaxed));
            drop(Box::from_raw(first));
            drop(Box::from_raw(second));
        }
    });
}

/// The same with a writer that leaves: its garbage is freed by the others, no sooner.
#[test]
fn orphans_wait_too() {
    model(3, || {
        let (first, second) = (object(), object());
        let shared = Arc::new(AtomicPtr::new(first));
        let writer = {
            let shared = shared.clone();
            let (first, second) = (first as usize, second as usize);
            thread::spawn(move || {
                let mut participant = Participant::new();
                let guard = participant.guard();
                shared.store(second as *mut Object, Ordering::Release);
                // SAFETY: unlinked above.
                unsafe { guard.pinned().retire(first as *mut u8, free) };
            })
        };
        let mut participant = Participant::new();
        {
            let _guard = participant.guard();
            // SAFETY: leaked until the end of the test.
            let object = unsafe { &*shared.load(Ordering::Acquire) };
            thread::yield_now();
            assert!(!object.freed.load(Ordering::Relaxed), "freed under a pin");
        }
        writer.join().unwrap();
        for _ in 0..4 {
            participant.flush();
        }
        // SAFETY: both were boxed above; the writer is gone.
        unsafe {
            assert!((*first).freed.load(Ordering::Relaxed), "never freed");
            drop(Box::from_raw(first));
            drop(Box::from_raw(second));
        }
    });
}

/// An object retired late may be led to by who was pinned then, as long as that lasts: whoever is led to it so
/// does not see it freed either.
#[test]
fn what_is_retired_late_may_be_shown_on() {
    model(2, || {
        let subject = object();
        // Where the one that is pinned at the retirement has it, until it unpins.
        let shown = Arc::new(AtomicPtr::new(subject));
        let mut holder = Participant::new();
        holder.pin();
        let reader = {
            let shown = shown.clone();
            thread::spawn(move || {
                let mut participant = Participant::new();
                let guard = participant.guard();
                // SAFETY: leaked until the end of the test.
                if let Some(object) = unsafe { shown.load(Ordering::Acquire).as_ref() } {
                    thread::yield_now();
                    assert!(!object.freed.load(Ordering::Relaxed), "freed under a pin");
                }
                drop(guard);
            })
        };
        let mut writer = Participant::new();
        // SAFETY: reached only by what the holder shows, which it takes away before it unpins.
        unsafe { writer.guard().pinned().retire_late(subject.cast(), free, 8) };
        writer.flush();
        shown.store(std::ptr::null_mut(), Ordering::Release);
        holder.unpin();
        for _ in 0..3 {
            writer.flush();
        }
        reader.join().unwrap();
        for _ in 0..4 {
            writer.flush();
        }
        // SAFETY: boxed above; the reader is gone.
        unsafe {
            assert!((*subject).freed.load(Ordering::Relaxed), "never freed");
            drop(Box::from_raw(subject));
        }
    });
}

/// What a participant reads under one pin comes before what is freed when it is pinned again: the model checker
/// looks at the cell.
#[test]
fn reads_under_an_earlier_pin_come_before_the_freeing() {
    struct Read(loom::cell::UnsafeCell<u64>);
    // SAFETY: the model checker looks at each access.
    unsafe impl Sync for Read {}
    // SAFETY: as above.
    unsafe impl Send for Read {}
    unsafe fn overwrite(object: *mut u8) {
        // SAFETY: leaked until the end of the test, and the model checker looks.
        unsafe { &*object.cast::<Read>() }.0.with_mut(|value| unsafe { *value = 0 });
    }
    model(3, || {
        let object = Box::into_raw(Box::new(Read(loom::cell::UnsafeCell::new(7))));
        let shared = Arc::new(AtomicPtr::new(object));
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut participant = Participant::new();
                for _ in 0..2 {
                    let _guard = participant.guard();
                    // SAFETY: leaked until the end of the test.
                    if let Some(object) = unsafe { shared.load(Ordering::Acquire).as_ref() } {
                        // SAFETY: the model checker looks.
                        assert_eq!(object.0.with(|value| unsafe { *value }), 7);
                    }
                }
            })
        };
        let mut writer = Participant::new();
        {
            let guard = writer.guard();
            shared.store(std::ptr::null_mut(), Ordering::Release);
            // SAFETY: unlinked above.
            unsafe { guard.pinned().retire(object.cast(), overwrite) };
        }
        for _ in 0..3 {
            writer.flush();
        }
        reader.join().unwrap();
        for _ in 0..4 {
            writer.flush();
        }
        // SAFETY: boxed above; the reader is gone.
        drop(unsafe { Box::from_raw(object) });
    });
}
