//! Properties of one thread's view of the tree; the concurrent ones are in `tests/btree_stress.rs`.

use super::*;
use crate::reclaim::Participant;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;

/// A key as the tree gives it back: without trailing zeros.
fn plain(key: &[u64]) -> Vec<u64> {
    let end = key.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    key[..end].to_vec()
}

fn scan(
    tree: &impl OrderedIndex,
    pin: Pinned<'_>,
    lower: Bound<&[u64]>,
    upper: Bound<&[u64]>,
    descending: bool,
) -> Vec<(Vec<u64>, u64)> {
    let mut cursor = Cursor::new();
    cursor.open(lower, upper, descending);
    let mut found = Vec::new();
    while let Some((key, value)) = cursor.next(tree, pin, |_| ()) {
        found.push((plain(key), value));
    }
    found
}

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<u64>, u64),
    Remove(Vec<u64>),
    Replace(Vec<u64>, u64),
    Get(Vec<u64>),
    Scan(Bound<Vec<u64>>, Bound<Vec<u64>>, bool),
    RemoveRange(Vec<u64>, Vec<u64>),
    Clear,
}

fn as_slice(bound: &Bound<Vec<u64>>) -> Bound<&[u64]> {
    bound.as_ref().map(|key| key.as_slice())
}

fn bounds(keys: impl Strategy<Value = Vec<u64>> + Clone) -> impl Strategy<Value = Bound<Vec<u64>>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        2 => keys.clone().prop_map(Bound::Included),
        2 => keys.prop_map(Bound::Excluded),
    ]
}

fn ops(keys: impl Strategy<Value = Vec<u64>> + Clone + 'static) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        60 => (keys.clone(), 1..1000u64).prop_map(|(k, v)| Op::Insert(k, v)),
        25 => keys.clone().prop_map(Op::Remove),
        5 => (keys.clone(), 1..1000u64).prop_map(|(k, v)| Op::Replace(k, v)),
        10 => keys.clone().prop_map(Op::Get),
        8 => (bounds(keys.clone()), bounds(keys.clone()), any::<bool>())
            .prop_map(|(l, u, d)| Op::Scan(l, u, d)),
        3 => (keys.clone(), keys).prop_map(|(a, b)| Op::RemoveRange(a.clone().min(b.clone()), a.max(b))),
        1 => Just(Op::Clear),
    ];
    proptest::collection::vec(op, 1..if cfg!(miri) { 40 } else { 400 })
}

/// Runs the operations on the tree and on a `BTreeMap`.
fn check(tree: impl OrderedIndex, ops: Vec<Op>) {
    let mut participant = Participant::new();
    let mut model: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    for op in ops {
        let guard = participant.guard();
        let pin = guard.pinned();
        match op {
            Op::Insert(key, value) => {
                let (seen, leaf) = tree.get(pin, &key);
                match tree.insert(pin, &key, value) {
                    Insert::Done(changes) => {
                        assert_eq!(seen, None);
                        assert_eq!(changes.before, leaf);
                        assert!(!leaf.is_current(pin) && changes.after.is_current(pin));
                        assert!(changes.created.is_none_or(|node| node.is_current(pin)));
                        assert_eq!(model.insert(plain(&key), value), None);
                    }
                    Insert::Exists(old, node) => {
                        assert_eq!((Some(old), node), (seen, leaf));
                        assert_eq!(model.get(&plain(&key)), Some(&old));
                    }
                }
            }
            Op::Remove(key) => {
                let key = plain(&key);
                match model.remove(&key) {
                    Some(value) => {
                        assert!(!tree.remove(pin, &key, value + 1));
                        assert!(tree.remove(pin, &key, value));
                    }
                    None => assert!(!tree.remove(pin, &key, 1)),
                }
            }
            Op::Replace(key, new) => {
                let key = plain(&key);
                match model.get_mut(&key) {
                    Some(value) => {
                        assert!(!tree.replace(pin, &key, *value + 1, new));
                        assert!(tree.replace(pin, &key, *value, new));
                        *value = new;
                    }
                    None => assert!(!tree.replace(pin, &key, 1, new)),
                }
            }
            Op::Get(key) => assert_eq!(tree.get(pin, &key).0, model.get(&plain(&key)).copied()),
            Op::Scan(lower, upper, descending) => {
                let found = scan(&tree, pin, as_slice(&lower), as_slice(&upper), descending);
                let (lower, upper) = (lower.map(|k| plain(&k)), upper.map(|k| plain(&k)));
                let inside = |key: &Vec<u64>| {
                    (match &lower {
                        Bound::Unbounded => true,
                        Bound::Included(l) => key >= l,
                        Bound::Excluded(l) => key > l,
                    }) && (match &upper {
                        Bound::Unbounded => true,
                        Bound::Included(u) => key <= u,
                        Bound::Excluded(u) => key < u,
                    })
                };
                let mut expected: Vec<_> =
                    model.iter().filter(|(k, _)| inside(k)).map(|(k, v)| (k.clone(), *v)).collect();
                if descending {
                    expected.reverse();
                }
                assert_eq!(found, expected);
            }
            Op::RemoveRange(lower, upper) => {
                let range = scan(&tree, pin, Bound::Included(&lower), Bound::Excluded(&upper), false);
                for (key, value) in range {
                    assert!(tree.remove(pin, &key, value));
                    assert_eq!(model.remove(&key), Some(value));
                }
            }
            Op::Clear => {
                let (_, leaf) = tree.get(pin, &[]);
                tree.clear(pin);
                assert!(!leaf.is_current(pin));
                model.clear();
            }
        }
    }
    let guard = participant.guard();
    let pin = guard.pinned();
    let mut expected: Vec<_> = model.iter().map(|(k, v)| (k.clone(), *v)).collect();
    assert_eq!(scan(&tree, pin, Bound::Unbounded, Bound::Unbounded, false), expected);
    expected.reverse();
    assert_eq!(scan(&tree, pin, Bound::Unbounded, Bound::Unbounded, true), expected);
    let (counted, real) = (tree.entries(), expected.len() as u64);
    assert!(counted.abs_diff(real) <= real / 5, "{counted} counted of {real}");
    for (key, value) in expected {
        assert!(tree.remove(pin, &key, value));
    }
    assert_eq!(tree.entries(), 0);
    assert!(scan(&tree, pin, Bound::Unbounded, Bound::Unbounded, false).is_empty());
    drop(guard);
    drop((tree, participant));
    crate::reclaim::free_what_is_left();
}

fn one_word() -> impl Strategy<Value = Vec<u64>> + Clone {
    prop_oneof![4 => 1..200u64, 1 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(0)].prop_map(|k| vec![k])
}

fn three_words() -> impl Strategy<Value = Vec<u64>> + Clone {
    let word = prop_oneof![3 => 1..4u64, 1 => any::<u64>(), 1 => Just(u64::MAX)];
    [word.clone().boxed(), word.clone().boxed(), word.boxed()].prop_map(|k| k.to_vec())
}

/// Lengths from within the inline part to far beyond it, with long shared prefixes.
fn long() -> impl Strategy<Value = Vec<u64>> + Clone {
    (0..3u64, 0..12usize, 1..6u64, 1..6u64).prop_map(|(head, shared, a, b)| {
        let mut key = vec![head + 1];
        key.extend(std::iter::repeat_n(7, shared));
        key.extend([a, b]);
        key
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn like_a_btreemap_one_word(ops in ops(one_word())) {
        check(Tree::<1, false, 4, 3>::new(), ops);
    }
    #[test]
    fn like_a_btreemap_three_words(ops in ops(three_words())) {
        check(Tree::<3, false, 3, 4>::new(), ops);
    }
    #[test]
    fn bounds_longer_than_the_keys(keys in proptest::collection::btree_set(1..9u64, 0..9), at in 0..9u64, tail in 0..2u64) {
        let tree = Tree::<1, false, 4, 4>::new();
        let mut participant = Participant::new();
        let guard = participant.guard();
        let pin = guard.pinned();
        for key in &keys {
            assert!(matches!(tree.insert(pin, &[*key], *key), Insert::Done(_)));
        }
        let bound = [at, 0, tail];
        let below = |key: &u64| *key < at || (*key == at && tail > 0);
        let expected: Vec<u64> = keys.iter().copied().filter(below).collect();
        let found = scan(&tree, pin, Bound::Unbounded, Bound::Excluded(&bound), false);
        assert_eq!(found.iter().map(|(_, value)| *value).collect::<Vec<_>>(), expected);
        let expected: Vec<u64> = keys.iter().rev().copied().filter(|key| !below(key)).collect();
        let found = scan(&tree, pin, Bound::Included(&bound), Bound::Unbounded, true);
        assert_eq!(found.iter().map(|(_, value)| *value).collect::<Vec<_>>(), expected);
        assert_eq!(tree.get(pin, &bound).0.is_some(), keys.contains(&at) && tail == 0);
    }
    #[test]
    fn like_a_btreemap_long_keys(ops in ops(long())) {
        check(Tree::<2, true, 4, 4>::new(), ops.clone());
        check(Tree::<4, true, 5, 5>::new(), ops);
    }
    #[test]
    fn like_a_btreemap_as_tables_use_it(ops in ops(long()), words in 14..20usize) {
        check(BTree::new(words), ops);
    }
}

/// A finger finds and inserts what a descent does, wherever the keys jump to and whoever else is there.
#[test]
fn fingers_lead_where_descents_lead() {
    let tree = BTree::new(2);
    let mut participant = Participant::new();
    let mut finger = Finger::default();
    let mut model = BTreeMap::new();
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    for round in 0..if cfg!(miri) { 1 } else { 40 } {
        let guard = participant.guard();
        let pin = guard.pinned();
        let mut at = next() % 3000;
        for step in 0..200 {
            // Mostly ascending, with jumps; now and then others change the leaf.
            at = if next() % 16 == 0 { next() % 3000 } else { at + next() % 3 };
            let key = [at, round % 3];
            match next() % 5 {
                0 => {
                    let found = tree.get(pin, &key).0;
                    assert_eq!(tree.get_near(&mut finger, pin, &key), found);
                    assert_eq!(found, model.get(&key).copied());
                }
                1 => {
                    if let Some(value) = model.remove(&key) {
                        assert!(tree.remove(pin, &key, value));
                    }
                }
                2 => {
                    let key = [at + 1, round % 3];
                    if let Insert::Done(_) = tree.insert(pin, &key, 5) {
                        assert_eq!(model.insert(key, 5), None);
                    }
                }
                _ => {
                    let expected = model.get(&key).copied().map_or(Ok(()), Err);
                    assert_eq!(tree.insert_near(&mut finger, pin, &key, step + 1), expected);
                    model.entry(key).or_insert(step + 1);
                }
            }
            assert_eq!(tree.get_near(&mut finger, pin, &[at, 9]), None);
        }
    }
    let guard = participant.guard();
    let all = scan(&tree, guard.pinned(), Bound::Unbounded, Bound::Unbounded, false);
    let expected: Vec<_> = model.iter().map(|(k, v)| (plain(k), *v)).collect();
    assert_eq!(all, expected);
}

/// A group finds what its keys' lookups find, whether its keys lie side by side or in leaves of their own.
#[test]
fn a_group_finds_what_lookups_find() {
    let tree = Tree::<2, false, 4, 3>::new();
    let mut participant = Participant::new();
    let mut finger = Finger::default();
    for n in 0..400u64 {
        tree.insert(participant.guard().pinned(), &[n * 3 % 400, 1], n + 1);
    }
    // Side by side, apart, apart again: as the group before was, the next one is looked for.
    for stride in [1, 25, 25, 1, 1, 24, 2, 25, 25, 7] {
        for count in [0, 1, 7, 8, GROUP] {
            let guard = participant.guard();
            let pin = guard.pinned();
            // Every third one is not there.
            let keys: Vec<[u64; 2]> =
                (0..count as u64).map(|i| [i * stride, 1 + u64::from(i % 3 == 2)]).collect();
            let mut found = vec![None; count];
            tree.get_group(&mut finger, pin, count, |i| &keys[i], |i, value| found[i] = Some(value));
            let expected: Vec<_> = keys.iter().map(|key| Some(tree.get(pin, key).0)).collect();
            assert_eq!(found, expected, "stride {stride}");
        }
    }
}

/// Inserts among fingers do what inserts do, in whatever turns the trees come, and say how they moved the leaf.
#[test]
fn inserts_among_fingers_are_inserts() {
    // One tree more than there are fingers, one of long keys.
    let trees: Vec<BTree> = [2, 2, 3, 2, 9, 2].into_iter().map(BTree::new).collect();
    let mut models = vec![BTreeMap::new(); trees.len()];
    let mut participant = Participant::new();
    let mut fingers = Fingers::default();
    let mut state = 11u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    for _ in 0..if cfg!(miri) { 2 } else { 200 } {
        let guard = participant.guard();
        let pin = guard.pinned();
        let mut at = next() % 500;
        for _ in 0..20 {
            let which = (next() % trees.len() as u64) as usize;
            let (tree, model) = (&trees[which], &mut models[which]);
            for _ in 0..next() % 12 {
                at = if next() % 8 == 0 { next() % 500 } else { at + 1 };
                let key = [at, 1];
                match next() % 8 {
                    0 if model.remove(&key).is_some() => assert!(tree.remove(pin, &key, at + 1)),
                    1 => assert_eq!(
                        matches!(tree.insert(pin, &key, at + 1), Insert::Done(_)),
                        model.insert(key, at + 1).is_none()
                    ),
                    _ => {}
                }
                let mut node_set = vec![tree.get(pin, &key).1];
                match tree.insert_among(&mut fingers, pin, &key, at + 1) {
                    Insert::Done(changes) => {
                        assert!(model.insert(key, at + 1).is_none());
                        changes.apply(&mut node_set);
                    }
                    Insert::Exists(value, node) => {
                        assert_eq!(model.get(&key), Some(&value));
                        assert_eq!(node, node_set[0]);
                    }
                }
                assert!(node_set.iter().all(|node| node.is_current(pin)));
                assert_eq!(tree.get(pin, &key).0, Some(at + 1));
            }
        }
    }
    let guard = participant.guard();
    for (tree, model) in trees.iter().zip(&models) {
        let all = scan(tree, guard.pinned(), Bound::Unbounded, Bound::Unbounded, false);
        let expected: Vec<_> = model.iter().map(|(k, v)| (plain(k), *v)).collect();
        assert_eq!(all, expected);
    }
}

/// A tree that comes to where another one was has none of its leaves, under the same pin either.
#[test]
fn fingers_know_a_tree_by_more_than_its_place() {
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    let mut finger = Finger::default();
    let full = |tree: &BTree| {
        // Descending, so that a split leaves half of them.
        for key in (1000..1062).rev() {
            assert!(matches!(tree.insert(pin, &[key], key), Insert::Done(_)));
        }
    };
    let mut place = Some(Box::new(BTree::new(1)));
    let tree = place.as_deref().expect("made");
    full(tree);
    assert!(tree.remove(pin, &[1061], 1061));
    // Its only leaf has changed 63 times, and takes any key.
    assert_eq!(tree.get_near(&mut finger, pin, &[1000]), Some(1000));
    // The next one is likely to get the memory of both, and its leaf has changed as often when it has been split.
    place = None;
    place.replace(Box::new(BTree::new(1)));
    let tree = place.as_deref().expect("made");
    full(tree);
    assert!(matches!(tree.insert(pin, &[999], 999), Insert::Done(_)));
    assert_eq!(tree.insert_near(&mut finger, pin, &[2000], 2000), Ok(()));
    assert_eq!(tree.get(pin, &[2000]).0, Some(2000));
    assert_eq!(scan(tree, pin, Bound::Unbounded, Bound::Unbounded, false).len(), 64);
}

/// Keys that are alike in the words that nodes hold, with and without more words behind them, and bounds among them.
#[test]
fn keys_that_go_on_where_others_end() {
    let tree = Tree::<3, true, 5, 5>::new();
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    let mut model = BTreeMap::new();
    let ends: [&[u64]; 8] = [&[], &[1], &[0, 1], &[1, 0, 1], &[1, 1], &[2], &[u64::MAX], &[1, 0, 2]];
    let mut keys: Vec<Vec<u64>> = Vec::new();
    for inline in [[5, 0], [5, 1], [5, u64::MAX], [6, 0], [0, 7]] {
        keys.extend(ends.iter().map(|end| [&inline[..], end].concat()));
    }
    // In an order of no order.
    for nth in 0..keys.len() {
        let key = &keys[nth * 17 % keys.len()];
        assert!(matches!(tree.insert(pin, key, nth as u64 + 1), Insert::Done(_)), "{key:?}");
        assert_eq!(model.insert(plain(key), nth as u64 + 1), None);
        assert!(matches!(tree.insert(pin, key, 99), Insert::Exists(..)));
    }
    for key in &keys {
        assert_eq!(tree.get(pin, key).0, model.get(&plain(key)).copied());
        let (included, excluded) = (Bound::Included(&key[..]), Bound::Excluded(&key[..]));
        for (lower, upper) in [
            (included, Bound::Unbounded),
            (excluded, Bound::Unbounded),
            (Bound::Unbounded, included),
            (Bound::Unbounded, excluded),
        ] {
            let inside = |bound: Bound<&[u64]>| match bound {
                Bound::Included(key) => Bound::Included(plain(key)),
                Bound::Excluded(key) => Bound::Excluded(plain(key)),
                Bound::Unbounded => Bound::Unbounded,
            };
            let mut expected: Vec<_> = model
                .range((inside(lower), inside(upper)))
                .map(|(key, value)| (key.clone(), *value))
                .collect();
            assert_eq!(scan(&tree, pin, lower, upper, false), expected);
            expected.reverse();
            assert_eq!(scan(&tree, pin, lower, upper, true), expected);
        }
    }
}

/// Ranges that end anywhere in a leaf: few entries are copied at once up to the end, many in parts.
#[test]
fn scans_end_anywhere_in_a_leaf() {
    let tree = BTree::new(1);
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    // Three full leaves of 62, of every second key.
    for key in 0..186 {
        tree.insert(pin, &[key * 2], key + 1);
    }
    for from in [0, 1, 40, 61, 62, 100] {
        for len in [0, 1, 7, 8, 9, 15, 16, 17, 24, 40, 41, 61, 62, 63, 90] {
            for odd in [0, 1] {
                let (first, last) = ([from * 2], [(from + len) * 2 + odd]);
                for (lower, upper) in [
                    (Bound::Included(&first[..]), Bound::Included(&last[..])),
                    (Bound::Included(&first[..]), Bound::Excluded(&last[..])),
                    (Bound::Excluded(&first[..]), Bound::Included(&last[..])),
                    (Bound::Excluded(&first[..]), Bound::Excluded(&last[..])),
                ] {
                    let inside = |key: u64| {
                        let above = key > first[0] || key == first[0] && matches!(lower, Bound::Included(_));
                        above && (key < last[0] || key == last[0] && matches!(upper, Bound::Included(_)))
                    };
                    let mut expected: Vec<_> = (0..186)
                        .filter(|key| inside(key * 2))
                        .map(|key| (plain(&[key * 2]), key + 1))
                        .collect();
                    assert_eq!(scan(&tree, pin, lower, upper, false), expected);
                    expected.reverse();
                    assert_eq!(scan(&tree, pin, lower, upper, true), expected);
                }
            }
        }
    }
}

/// A tree that changes while a scan is under way: by whoever holds a key of the scan, whole ranges go (with their leaves and inner
/// nodes, whose neighbours inherit their ranges) and others come. The scan stays in order, names no key twice and misses none that
/// is there all the time.
fn scans_while_ranges_go(tree: impl OrderedIndex, seed: u64) {
    let mut state = seed * 2 + 1;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    const KEYS: u64 = 120;
    let key = |n: u64| vec![1, n / 32, n % 32 + 1];
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    let mut present = [false; KEYS as usize];
    for _ in 0..KEYS {
        let n = below(KEYS);
        tree.insert(pin, &key(n), n + 1);
        present[n as usize] = true;
    }
    let mut always = present;
    let descending = below(2) == 0;
    let mut cursor = Cursor::new();
    cursor.open(Bound::Unbounded, Bound::Unbounded, descending);
    let mut seen: Vec<u64> = Vec::new();
    while let Some((_, value)) = cursor.next(&tree, pin, |_| ()) {
        let n = value - 1;
        if let Some(&last) = seen.last() {
            assert!(if descending { n < last } else { n > last }, "seed {seed}: {n} after {last}");
        }
        seen.push(n);
        if below(4) == 0 {
            let (from, span) = (below(KEYS), below(40));
            for n in from..(from + span).min(KEYS) {
                if std::mem::take(&mut present[n as usize]) {
                    assert!(tree.remove(pin, &key(n), n + 1));
                }
                always[n as usize] = false;
            }
            for _ in 0..below(12) {
                let n = below(KEYS);
                tree.insert(pin, &key(n), n + 1);
                present[n as usize] = true;
            }
        }
    }
    let missed: Vec<u64> = (0..KEYS).filter(|&n| always[n as usize] && !seen.contains(&n)).collect();
    assert!(missed.is_empty(), "seed {seed}: {missed:?}");
}

#[test]
fn a_scan_goes_on_while_ranges_go() {
    for seed in 0..if cfg!(miri) { 8 } else { 4000 } {
        scans_while_ranges_go(Tree::<3, false, 4, 3>::new(), seed);
        scans_while_ranges_go(Tree::<2, true, 4, 3>::new(), seed);
    }
}
