//! Chunks that are ready before anybody needs them. A process of its own: they are the process's.
#![cfg(all(target_os = "linux", not(miri), not(loom), not(blocks_apart)))]

use planaria_storage::btree::{BTree, Insert};
use planaria_storage::reclaim::Participant;
use planaria_storage::{Keeper, claim, ready_bytes};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Inserts so many keys, in order: some 16 bytes each.
fn fill(tree: &BTree, participant: &mut Participant, keys: std::ops::Range<u64>) {
    let guard = participant.guard();
    for key in keys {
        assert!(matches!(tree.insert(guard.pinned(), &[key], 1), Insert::Done(_)));
    }
}

fn top_up(keeper: &Keeper, room: u64) {
    // Who comes by again at once has nothing to do.
    std::thread::sleep(Duration::from_millis(15));
    keeper.top_up(room, || false);
}

/// One after the other: what is ready is the process's.
#[test]
fn memory_is_ready() {
    memory_is_ready_before_it_is_needed();
    several_take_and_top_up_at_once();
}

fn memory_is_ready_before_it_is_needed() {
    let (tree, mut participant) = (BTree::new(1), Participant::new());
    let (keeper, other) = (Keeper::new(), Keeper::new());
    fill(&tree, &mut participant, 0..100_000);
    top_up(&keeper, u64::MAX);
    assert_eq!(ready_bytes(), 0, "little has been taken yet");

    // What is claimed is there, and is used first come, first served; each claim ends with what is left of itself.
    let (first, second) = (claim(9 * MIB).unwrap(), claim(20 * MIB).unwrap());
    assert_eq!(ready_bytes(), 30 * MIB);
    fill(&tree, &mut participant, 100_000..400_000);
    let left = ready_bytes();
    assert!(left < 30 * MIB && left > 20 * MIB, "{left}");
    drop(first);
    assert_eq!(ready_bytes(), 20 * MIB);
    drop(other);
    assert_eq!(ready_bytes(), 20 * MIB, "another database's end takes nothing from it");
    drop(second);
    assert_eq!(ready_bytes(), 0);

    // Where there is no room nothing is made ready, and not much where there is little.
    fill(&tree, &mut participant, 400_000..4_000_000);
    top_up(&keeper, 7 * MIB);
    assert_eq!(ready_bytes(), 0);
    fill(&tree, &mut participant, 4_000_000..4_100_000);
    top_up(&keeper, 100 * MIB);
    let before = ready_bytes();
    assert!((4 * MIB..=24 * MIB).contains(&before), "{before}");
    fill(&tree, &mut participant, 4_100_000..4_400_000);
    let taken = ready_bytes();
    assert!(taken < before, "{taken}");
    // Who is to stop stops.
    std::thread::sleep(Duration::from_millis(15));
    keeper.top_up(u64::MAX, || true);
    assert_eq!(ready_bytes(), taken);

    // Nobody takes any more.
    top_up(&keeper, u64::MAX);
    let began = Instant::now();
    while ready_bytes() > 8 * MIB {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", ready_bytes());
        top_up(&keeper, u64::MAX);
    }
    assert!(ready_bytes() >= 4 * MIB);
    drop(keeper);
    assert_eq!(ready_bytes(), 0);
    drop(tree);
}

fn several_take_and_top_up_at_once() {
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let keeper = Keeper::new();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                keeper.top_up(64 * MIB, || false);
                drop(claim(4 * MIB).unwrap());
            }
        });
        let takers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let (tree, mut participant) = (BTree::new(1), Participant::new());
                    fill(&tree, &mut participant, 0..300_000);
                    let guard = participant.guard();
                    assert!((0..300_000).all(|key| tree.get(guard.pinned(), &[key]).0 == Some(1)));
                })
            })
            .collect();
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
