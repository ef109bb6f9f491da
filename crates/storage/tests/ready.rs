//! Chunks that are ready before anybody needs them. A process of its own: they are the process's.
#![cfg(all(target_os = "linux", not(miri), not(loom), not(blocks_apart)))]

use planaria_storage::btree::{BTree, Insert};
use planaria_storage::reclaim::Participant;
use planaria_storage::{claim, free_ready, ready_bytes, top_up};

const MIB: u64 = 1 << 20;

/// Inserts so many keys, in order: 15 bytes each.
fn fill(tree: &BTree, participant: &mut Participant, keys: std::ops::Range<u64>) {
    let guard = participant.guard();
    for key in keys {
        assert!(matches!(tree.insert(guard.pinned(), &[key], 1), Insert::Done(_)));
    }
}

#[test]
fn memory_is_ready_before_it_is_needed() {
    let (tree, mut participant) = (BTree::new(1), Participant::new());
    fill(&tree, &mut participant, 0..100_000);
    top_up();
    assert_eq!(ready_bytes(), 0, "little has been taken yet");

    // What is claimed is there, and is used first.
    let claimed = claim(9 * MIB).unwrap();
    assert_eq!(ready_bytes(), 10 * MIB);
    free_ready();
    assert_eq!(ready_bytes(), 10 * MIB, "another database's end takes nothing from it");
    fill(&tree, &mut participant, 100_000..400_000);
    let left = ready_bytes();
    assert!(left < 10 * MIB && left > 0, "{left}");
    drop(claimed);
    assert_eq!(ready_bytes(), 0);

    // Twice as much as was taken since the last time.
    fill(&tree, &mut participant, 400_000..4_000_000);
    top_up();
    let ready = ready_bytes();
    assert!(ready > 16 * MIB, "{ready}");
    fill(&tree, &mut participant, 4_000_000..4_500_000);
    assert!(ready_bytes() < ready);

    // Nobody takes any more.
    top_up();
    let mut last = ready_bytes();
    for _ in 0..40 {
        top_up();
        assert!(ready_bytes() <= last);
        last = ready_bytes();
    }
    assert!((4 * MIB..=8 * MIB).contains(&last), "{last}");
    free_ready();
    assert_eq!(ready_bytes(), 0);
    drop(tree);
}
