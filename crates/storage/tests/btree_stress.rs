//! Threads that insert, remove and scan at once, on trees with tiny nodes so that everything splits
//! and vanishes all the time. Run it under a sanitizer too:
//! `RUSTFLAGS='-Zsanitizer=address --cfg blocks_apart' cargo +nightly test
//!  --target x86_64-unknown-linux-gnu -p planaria-storage --test btree_stress`
#![cfg(not(loom))]

use planaria_storage::btree::{BTree, Cursor, Fingers, Insert, NodeRef, OrderedIndex, Tree, compare_keys};
use planaria_storage::reclaim::{Participant, Pinned};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Operations per thread: enough for every path under a sanitizer within seconds.
const OPS: u64 = 20_000;

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Turns a number into a key of some shape, keeping the order.
type Shape = fn(u64) -> Vec<u64>;

fn word(n: u64) -> Vec<u64> {
    vec![n]
}
fn words(n: u64) -> Vec<u64> {
    vec![7, n / 16, n % 16 + 1]
}
/// Shares its inline part with many others, and is of any length.
fn long(n: u64) -> Vec<u64> {
    let mut key = vec![1, n / 64, 5, 5, 5, n % 64 + 1];
    key.extend(vec![9; (n % 7) as usize]);
    key
}

fn scan(
    tree: &dyn OrderedIndex,
    pin: Pinned<'_>,
    range: (&[u64], &[u64]),
    descending: bool,
    mut on_node: impl FnMut(NodeRef),
) -> Vec<(Vec<u64>, u64)> {
    let mut cursor = Cursor::new();
    cursor.open(Bound::Included(range.0), Bound::Excluded(range.1), descending);
    let mut found: Vec<(Vec<u64>, u64)> = Vec::new();
    while let Some((key, value)) = cursor.next(tree, pin, &mut on_node) {
        if let Some((last, _)) = found.last() {
            let order = compare_keys(last, key);
            assert!(if descending { order.is_gt() } else { order.is_lt() }, "{last:?} before {key:?}");
        }
        assert!(compare_keys(key, range.0).is_ge() && compare_keys(key, range.1).is_lt());
        found.push((key.to_vec(), value));
    }
    found
}

/// Each thread owns the keys that are its number modulo the threads, and knows which are in; some
/// keys are never touched and must show up in every scan.
fn churn(tree: &dyn OrderedIndex, shape: Shape, keys: u64) {
    const THREADS: u64 = 3;
    const PERMANENT: u64 = 16;
    let mut loader = Participant::new();
    for n in (0..keys).step_by(PERMANENT as usize) {
        assert!(matches!(tree.insert(loader.guard().pinned(), &shape(n), n + 1), Insert::Done(_)));
    }
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut participant = Participant::new();
                let mut rng = Rng(thread + 77);
                let mut present = vec![0u64; keys as usize];
                for _ in 0..OPS {
                    let guard = participant.guard();
                    let pin = guard.pinned();
                    let n = rng.below(keys);
                    match rng.below(20) {
                        0 => {
                            let (from, span) = (rng.below(keys), rng.below(40));
                            let to = (from + span).min(keys);
                            let found = scan(
                                tree,
                                pin,
                                (&shape(from), &shape(to)),
                                rng.below(2) == 0,
                                |_| (),
                            );
                            let has = |n: u64| found.iter().any(|(key, _)| compare_keys(key, &shape(n)).is_eq());
                            for n in from..to {
                                if n.is_multiple_of(PERMANENT) {
                                    assert!(has(n), "{n} is always there");
                                } else if n % THREADS == thread {
                                    assert_eq!(has(n), present[n as usize] != 0, "{n} is mine");
                                }
                            }
                        }
                        _ if n.is_multiple_of(PERMANENT) => {
                            assert_eq!(tree.get(pin, &shape(n)).0, Some(n + 1));
                        }
                        _ if n % THREADS != thread => {
                            tree.get(pin, &shape(n));
                        }
                        // Mostly inserts, then mostly removals, by turns: leaves fill and empty.
                        dice => {
                            let value = present[n as usize];
                            assert_eq!(tree.get(pin, &shape(n)).0.unwrap_or(0), value);
                            let filling = rng.0 >> 60 < 10;
                            if value == 0 && (dice < 10 || filling) {
                                let value = rng.next() | 1;
                                assert!(matches!(tree.insert(pin, &shape(n), value), Insert::Done(_)));
                                present[n as usize] = value;
                            } else if value != 0 && dice < 12 {
                                assert!(!tree.remove(pin, &shape(n), value ^ 2));
                                assert!(tree.remove(pin, &shape(n), value));
                                present[n as usize] = 0;
                            } else if value != 0 {
                                assert!(matches!(tree.insert(pin, &shape(n), 1), Insert::Exists(v, _) if v == value));
                                assert!(tree.replace(pin, &shape(n), value, value ^ 4));
                                present[n as usize] = value ^ 4;
                            }
                        }
                    }
                }
                // Leave nothing behind.
                for n in (0..keys).filter(|&n| present[n as usize] != 0) {
                    let guard = participant.guard();
                    assert!(tree.remove(guard.pinned(), &shape(n), present[n as usize]));
                }
            });
        }
    });
    let guard = loader.guard();
    let left = scan(tree, guard.pinned(), (&shape(0), &shape(keys)), false, |_| ());
    let expected: Vec<u64> = (0..keys).step_by(PERMANENT as usize).map(|n| n + 1).collect();
    assert_eq!(left.iter().map(|(_, value)| *value).collect::<Vec<_>>(), expected);
    assert!(tree.entries().abs_diff(expected.len() as u64) <= expected.len() as u64 / 4);
    for (key, value) in left {
        assert!(tree.remove(guard.pinned(), &key, value));
    }
    assert_eq!(tree.entries(), 0);
}

#[test]
fn churn_of_short_keys_in_tiny_nodes() {
    churn(&Tree::<1, false, 4, 3>::new(), word, 500);
}
#[test]
fn churn_of_wide_keys_in_tiny_nodes() {
    churn(&Tree::<3, false, 3, 4>::new(), words, 500);
}
#[test]
fn churn_of_long_keys_in_tiny_nodes() {
    churn(&Tree::<3, true, 4, 4>::new(), long, 500);
}
#[test]
fn churn_as_tables_do() {
    churn(&BTree::new(1), word, 5000);
    churn(&BTree::new(20), long, 5000);
}

/// Ends the other threads of a test, also when this one panics.
struct StopOnDrop<'s>(&'s AtomicBool);
impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Phantoms. A reader scans a range and looks for a key, both twice, while others insert into random
/// places (and clear the tree now and then), and then validates its node set: if it holds, both looks
/// must have found the same.
fn phantoms(tree: &dyn OrderedIndex, shape: Shape, keys: u64) {
    let stop = AtomicBool::new(false);
    let (validated, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let stop = &stop;
            scope.spawn(move || {
                let mut participant = Participant::new();
                let mut rng = Rng(thread + 5);
                while !stop.load(Ordering::Relaxed) {
                    let guard = participant.guard();
                    let n = rng.below(keys);
                    // Removals are allowed to go unnoticed, so nothing is removed here.
                    tree.insert(guard.pinned(), &shape(n), n + 1);
                    if rng.below(64) == 0 {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let (stop, validated, failed) = (&stop, &validated, &failed);
        scope.spawn(move || {
            let _stop = StopOnDrop(stop);
            let mut participant = Participant::new();
            let mut rng = Rng(99);
            for _ in 0..OPS / 4 {
                let guard = participant.guard();
                let pin = guard.pinned();
                let (from, span) = (rng.below(keys), rng.below(30));
                let (from, to) = (shape(from), shape((from + span).min(keys)));
                let mut node_set = Vec::new();
                let first = scan(tree, pin, (&from, &to), rng.below(2) == 0, |node| node_set.push(node));
                let missing = shape(rng.below(keys));
                let (absent, leaf) = tree.get(pin, &missing);
                if absent.is_none() {
                    node_set.push(leaf);
                }
                let second = scan(tree, pin, (&from, &to), false, |_| ());
                let absent_again = tree.get(pin, &missing).0;
                // Validation comes last: what the second look saw was there before it.
                if node_set.iter().all(|node| node.is_current(pin)) {
                    validated.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(first.len(), second.len(), "a phantom");
                    assert_eq!(absent, absent_again, "a phantom");
                } else {
                    failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        // So that the range does not fill up.
        scope.spawn(move || {
            let mut participant = Participant::new();
            while !stop.load(Ordering::Relaxed) {
                tree.clear(participant.guard().pinned());
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
    });
    assert!(validated.load(Ordering::Relaxed) > 0, "no scan ever held");
}

#[test]
fn node_sets_catch_every_phantom() {
    phantoms(&Tree::<1, false, 4, 3>::new(), word, 2000);
    phantoms(&Tree::<3, true, 3, 4>::new(), long, 2000);
    phantoms(&BTree::new(1), word, 20_000);
}

/// A transaction that inserts into what it has scanned, alone: its node set moves along.
#[test]
fn own_inserts_do_not_invalidate() {
    let tree = Tree::<1, false, 4, 3>::new();
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    let mut rng = Rng(3);
    for n in 0..200 {
        tree.insert(pin, &[n * 100], 1);
    }
    let mut node_set = Vec::new();
    let mut cursor = Cursor::new();
    cursor.open(Bound::Unbounded, Bound::Unbounded, false);
    while cursor.next(&tree, pin, |node| node_set.push(node)).is_some() {}
    for _ in 0..1000 {
        if let Insert::Done(changes) = tree.insert(pin, &[rng.below(20_000)], 1) {
            changes.apply(&mut node_set);
        }
        assert!(node_set.iter().all(|node| node.is_current(pin)));
    }
    // Somebody else's insert does, and stays noticed when an own one follows.
    let (_, leaf) = tree.get(pin, &[20_001]);
    tree.insert(pin, &[20_001], 1);
    assert!(!leaf.is_current(pin));
    if let Insert::Done(changes) = tree.insert(pin, &[20_002], 1) {
        changes.apply(&mut node_set);
    }
    assert!(!node_set.iter().all(|node| node.is_current(pin)));
}

/// A queue: inserts at one end, removals at the other, cursors from both ends.
#[test]
fn a_queue_moves_through_the_tree() {
    let tree = Tree::<1, false, 4, 4>::new();
    const ITEMS: u64 = 20_000;
    let empty = tree.bytes();
    let (head, tail) = (AtomicU64::new(1), AtomicU64::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut participant = Participant::new();
            for n in 1..=ITEMS {
                assert!(matches!(tree.insert(participant.guard().pinned(), &[n], n), Insert::Done(_)));
                tail.store(n + 1, Ordering::Release);
            }
        });
        scope.spawn(|| {
            let mut participant = Participant::new();
            let mut cursor = Cursor::new();
            let mut next = 1;
            while next <= ITEMS {
                let guard = participant.guard();
                let pin = guard.pinned();
                cursor.open(Bound::Unbounded, Bound::Unbounded, false);
                if let Some((key, value)) = cursor.next(&tree, pin, |_| ()) {
                    assert_eq!((key, value), (&[next][..], next));
                    head.store(next + 1, Ordering::Release);
                    assert!(tree.remove(pin, &[next], next));
                    next += 1;
                } else {
                    std::thread::yield_now();
                }
            }
        });
        scope.spawn(|| {
            let mut participant = Participant::new();
            let mut cursor = Cursor::new();
            while head.load(Ordering::Acquire) <= ITEMS {
                let guard = participant.guard();
                // What is surely in the tree: [after, before).
                let before = tail.load(Ordering::Acquire);
                cursor.open(Bound::Unbounded, Bound::Excluded(&[before]), true);
                let mut seen = Vec::new();
                while let Some((key, _)) = cursor.next(&tree, guard.pinned(), |_| ()) {
                    seen.push(key[0]);
                }
                let after = head.load(Ordering::Acquire);
                let sure = (after..before).rev();
                let lost = sure.enumerate().find(|(i, key)| seen.get(*i) != Some(key));
                assert_eq!(lost, None, "between {after} and {before}");
            }
        });
    });
    assert_eq!((tree.entries(), tree.bytes()), (0, empty), "an emptied tree shrinks to one leaf");
}

/// Runs of several threads, in each other's way.
#[test]
fn runs_of_several_threads_all_go_in() {
    let tree = BTree::new(2);
    let (threads, runs) = (4, OPS / 64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let tree = &tree;
            scope.spawn(move || {
                let (mut participant, mut fingers) = (Participant::new(), Fingers::default());
                for run in 0..runs {
                    let guard = participant.guard();
                    for line in 0..8 {
                        // The threads' keys lie between each other's.
                        let key = [run * 8 + line, thread];
                        let done = tree.insert_among(&mut fingers, guard.pinned(), &key, line + 1);
                        assert!(matches!(done, Insert::Done(_)));
                    }
                }
            });
        }
    });
    let mut participant = Participant::new();
    let guard = participant.guard();
    let all = scan(&tree, guard.pinned(), (&[], &[u64::MAX]), false, |_| ());
    assert_eq!(all.len() as u64, threads * runs * 8);
}
