//! Old images in one thread and in several.

use super::lane::{CHUNK_MAX, Spare, UNUSED, new_words};
use super::*;

fn put(old: &OldImages, participant: &mut Participant, record: u64, begin: u64, end: u64) {
    let lifetime = (CommitTs(begin), CommitTs(end));
    let guard = participant.guard();
    old.try_keeper(guard.pinned(), 0).unwrap().put(record, lifetime, [begin, record].into_iter());
}

/// When the version began that a record had at a moment.
fn find(old: &OldImages, participant: &mut Participant, record: u64, at: u64) -> Option<u64> {
    let guard = participant.guard();
    let image = old.find(guard.pinned(), record, CommitTs(at))?;
    assert!(image[1] == record || image[1] == image[0]);
    Some(image[0])
}

fn sweep(old: &OldImages, oldest: u64, gone: u64, needed: &dyn Fn(CommitTs, CommitTs) -> bool) {
    let what = Forgetting { oldest: CommitTs(oldest), gone: CommitTs(gone), needed };
    let mut participant = Participant::new();
    assert!(old.sweep(&mut participant, &what, &mut || true));
    drop(participant);
    crate::reclaim::free_what_is_left();
}

fn generations(old: &OldImages) -> usize {
    let mut count = 0;
    old.with_sizes(|_, _| count += 1);
    count
}

#[test]
fn a_record_has_the_image_of_each_moment() {
    let old = OldImages::new();
    let mut p = Participant::new();
    assert!(old.is_empty() && find(&old, &mut p, 8, 1).is_none());
    put(&old, &mut p, 8, 1, 3);
    put(&old, &mut p, 16, 0, 2);
    old.seal(CommitTs(3));
    put(&old, &mut p, 8, 3, 4);
    assert_eq!([0, 1, 2, 3, 4].map(|at| find(&old, &mut p, 8, at)), [None, Some(1), Some(1), Some(3), None]);
    assert_eq!([1, 2].map(|at| find(&old, &mut p, 16, at)), [Some(0), None]);
    let mut versions = Vec::new();
    old.for_each(p.guard().pinned(), 8, |begin, end, _| versions.push((begin.0, end.0)));
    assert_eq!(versions, [(3, 4), (1, 3)]);
    assert_eq!(old.memory().versions, 3);
}

#[test]
fn what_all_have_passed_goes_as_a_whole() {
    let old = OldImages::new();
    let mut p = Participant::new();
    let never = |_, _| unreachable!("nothing is looked at");
    for end in 2..8 {
        put(&old, &mut p, 8, end - 1, end);
        old.seal(CommitTs(end));
    }
    let all = old.memory();
    assert_eq!((generations(&old), all.versions), (7, 6));
    sweep(&old, 1, u64::MAX, &never);
    assert_eq!(old.memory().versions, 6);
    sweep(&old, 5, u64::MAX, &never);
    assert_eq!([4, 5, 6].map(|at| find(&old, &mut p, 8, at)), [None, Some(5), Some(6)]);
    assert_eq!(generations(&old), 3);
    sweep(&old, 7, u64::MAX, &never);
    assert_eq!((old.memory(), old.is_empty()), (OldUse::default(), true));
    // Nothing to end; of use again.
    old.seal(CommitTs(7));
    put(&old, &mut p, 8, 7, 8);
    assert_eq!((generations(&old), find(&old, &mut p, 8, 7)), (1, Some(7)));
}

#[test]
fn of_what_few_need_the_rest_is_left_out() {
    let old = OldImages::new();
    let mut p = Participant::new();
    // Somebody reads as of 1, others came and went.
    const ROUNDS: u64 = 40;
    const ROWS: u64 = if cfg!(miri) { 5 } else { 200 };
    let reads_first = |begin: CommitTs, end: CommitTs| begin.0 <= 1 && 1 < end.0;
    let mut last = vec![0; ROWS as usize];
    for round in 1..=ROUNDS {
        let now = 10 * round;
        // In each round some for the first time.
        for row in 0..ROWS.min(round * ROWS / 20) {
            put(&old, &mut p, 8 * (row + 1), last[row as usize], now);
            last[row as usize] = now;
        }
        old.seal(CommitTs(now));
        sweep(&old, 1, now - 10, &reads_first);
        let first_changes = ROWS.min(round * ROWS / 20);
        assert!(old.memory().versions <= (2 + YOUNG_MAX as u64) * first_changes, "round {round}");
        assert!(generations(&old) <= SEALED_MAX + 4, "round {round}");
    }
    for row in 0..ROWS {
        assert_eq!(find(&old, &mut p, 8 * (row + 1), 1), Some(0));
    }
    assert!(!old.sweep(
        &mut p,
        &Forgetting { oldest: CommitTs(1), gone: CommitTs(0), needed: &reads_first },
        &mut || false
    ));
    assert_eq!(find(&old, &mut p, 8, 1), Some(0));
    drop((old, p));
    crate::reclaim::free_what_is_left();
}

#[test]
fn many_versions_and_long_ones_have_room() {
    let old = OldImages::new();
    let mut p = Participant::new();
    let versions: u64 = if cfg!(miri) { 3000 } else { 50_000 };
    for record in 1..=versions {
        let lifetime = (CommitTs(1), CommitTs(2));
        let words = if record % 1000 == 0 { 40_000 } else { record % 50 };
        let image = (0..words).map(|at| at ^ record).collect::<Vec<_>>();
        let guard = p.guard();
        old.try_keeper(guard.pinned(), record as usize).unwrap().put(8 * record, lifetime, image.into_iter());
    }
    assert!(generations(&old) > 1);
    for record in (1..=versions).step_by(if cfg!(miri) { 500 } else { 250 }) {
        let guard = p.guard();
        let image = old.find(guard.pinned(), 8 * record, CommitTs(1)).expect("it was kept");
        assert!((0u64..).zip(image).all(|(at, word)| *word == at ^ record));
    }
    assert_eq!(old.memory().versions, versions);
    old.seal(CommitTs(2));
    {
        // Who looks at one keeps the memory.
        let guard = p.guard();
        let image = old.find(guard.pinned(), 8000, CommitTs(1)).expect("it is there");
        let what = Forgetting { oldest: CommitTs(2), gone: CommitTs(2), needed: &|_, _| false };
        assert!(old.sweep(&mut Participant::new(), &what, &mut || true));
        assert_eq!(image[1], 1 ^ 1000);
        assert_eq!(old.memory(), OldUse::default());
    }
    drop(p);
    crate::reclaim::free_what_is_left();
    // The room that was prepared for as many goes the next time.
    assert!(!old.is_empty() && old.memory() == OldUse::default());
    old.seal(CommitTs(3));
    sweep(&old, 3, 3, &|_, _| false);
    assert!(old.is_empty());
}

#[test]
fn many_put_while_some_is_forgotten() {
    let old = OldImages::new();
    let versions: u64 = if cfg!(miri) { 30 } else { 3000 };
    std::thread::scope(|scope| {
        for writer in 0..4u64 {
            let old = &old;
            scope.spawn(move || {
                let mut p = Participant::new();
                for n in 1..=versions {
                    let (begin, record) = (2 * n, 8 * (writer + 1));
                    put(old, &mut p, record, begin, begin + 2);
                    assert_eq!(find(old, &mut p, record, begin + 1), Some(begin));
                }
            });
        }
        // Without a seal nothing may go; the writers are in no list here.
        let what = Forgetting { oldest: CommitTs(u64::MAX), gone: CommitTs(0), needed: &|_, _| false };
        for _ in 0..20 {
            assert!(old.sweep(&mut Participant::new(), &what, &mut || true));
            std::thread::yield_now();
        }
    });
    assert_eq!(old.memory().versions, 4 * versions);
    let mut p = Participant::new();
    let last = 2 * versions;
    for _ in 0..=YOUNG_MAX {
        old.seal(CommitTs(last + 2));
        put(&old, &mut p, 80, 1, 2);
    }
    old.seal(CommitTs(last + 2));
    sweep(&old, 0, 0, &|begin, _| begin.0 == last);
    assert_eq!([1, 2, 3, 4].map(|record| find(&old, &mut p, 8 * record, last)), [Some(last); 4]);
    assert_eq!(old.memory().versions, 4);
}

#[test]
fn what_came_since_somebody_looked_is_found() {
    let old = OldImages::new();
    let mut p = Participant::new();
    // Two writers at a time, each with a lane; and one that has the lane of another.
    let (mut first, mut second) = (Participant::new(), Participant::new());
    for round in 1..=3 {
        let (one, two) = (first.guard(), second.guard());
        let mut a = old.try_keeper(one.pinned(), 0).unwrap();
        let mut b = old.try_keeper(two.pinned(), LANES).unwrap();
        let lifetime = (CommitTs(round), CommitTs(round + 1));
        a.put(8, lifetime, [round, 8].into_iter());
        b.put(16, lifetime, [round, 16].into_iter());
        assert_eq!(find(&old, &mut p, 8, round), None, "its keeper is still at it");
        drop((a, b));
        assert_eq!([8, 16].map(|record| find(&old, &mut p, record, round)), [Some(round); 2]);
    }
    assert_eq!([1, 2, 3, 4].map(|at| find(&old, &mut p, 16, at)), [Some(1), Some(2), Some(3), None]);
    assert_eq!(old.memory().versions, 6);
}

#[test]
fn memory_is_filled_again_and_given_back() {
    let old = OldImages::new();
    let mut p = Participant::new();
    // More than what chunks have that are not of full size yet.
    let versions = 3 * CHUNK_MAX as u64 / 40;
    let fill = |p: &mut Participant, from: u64| {
        for record in 1..=versions {
            let guard = p.guard();
            let image = [from; 35].into_iter();
            old.try_keeper(guard.pinned(), 0).unwrap().put(
                8 * record,
                (CommitTs(from), CommitTs(from + 1)),
                image,
            );
        }
        old.seal(CommitTs(from + 1));
    };
    fill(&mut p, 1);
    sweep(&old, 2, 2, &|_, _| false);
    assert_eq!(old.memory(), OldUse::default());
    // Other tests are pinned, too.
    while spare_bytes() == 0 {
        crate::reclaim::free_what_is_left();
        std::thread::yield_now();
    }
    fill(&mut p, 2);
    assert_eq!(find(&old, &mut p, 8 * versions, 2), Some(2));
}

#[test]
fn of_spare_memory_what_is_never_needed_goes() {
    let mut spare = Spare { chunks: Vec::new(), least: 0, since: None };
    let began = std::time::Instant::now();
    let later = |times: u32| began + UNUSED * times;
    assert!(spare.unused(began).is_empty());
    assert!((0..4).all(|_| spare.put(new_words(CHUNK_MAX)).is_none()));
    assert!(spare.put(new_words(CHUNK_MAX / 2)).is_some(), "smaller ones are not worth it");
    assert_eq!((spare.chunks.len(), spare.unused(later(1)).len()), (4, 0), "they have just come");
    let taken = [spare.take(), spare.take(), spare.take()];
    assert!(spare.unused(began + UNUSED / 2).is_empty());
    assert!(taken.into_iter().flatten().all(|words| spare.put(words).is_none()));
    assert_eq!(spare.unused(later(2)).len(), 1, "three were needed meanwhile");
    assert_eq!((spare.unused(later(3)).len(), spare.chunks.len()), (3, 0));
    assert!(spare.take().is_none());
}
