use super::*;

fn sequence(start: i64, increment: i64, min: i64, max: i64, cycle: bool) -> SequenceState {
    SequenceState::new(Sequence {
        schema: Default::default(),
        id: SequenceId(0),
        name: "s".into(),
        start,
        increment,
        min,
        max,
        cycle,
        cache: 1,
        ty: None,
        owner: None,
        hidden: false,
        rights: planaria_catalog::Rights::default(),
        comment: None,
    })
}

fn value(s: &SequenceState) -> Result<i64> {
    s.next().map(|place| place.value)
}

#[test]
fn a_sequence_ends_at_its_maximum() {
    let s = sequence(1, 2, 1, 4, false);
    assert_eq!((value(&s), value(&s)), (Ok(1), Ok(3)));
    let error = s.next().expect_err("the end");
    assert_eq!(error.sqlstate(), SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED);
    assert_eq!(error.message(), "nextval: reached maximum value of sequence \"s\" (4)");
    assert_eq!(s.last_value(), Some(3));
}

#[test]
fn a_cycling_sequence_starts_over() {
    let s = sequence(3, 1, 1, 4, true);
    let drawn: Vec<_> = (0..5).map(|_| s.next().expect("cycles")).collect();
    let places = [(0, 3), (0, 4), (1, 1), (1, 2), (1, 3)];
    assert_eq!(drawn, places.map(|(generation, value)| SequencePlace::given(generation, value)));
    let s = sequence(-1, -2, -4, -1, true);
    let drawn: Vec<_> = (0..4).map(|_| value(&s).expect("cycles")).collect();
    assert_eq!(drawn, [-1, -3, -1, -3]);
}

#[test]
fn setval_says_where_to_go_on() {
    let s = sequence(1, 1, 1, 100, false);
    s.set(42, true).expect("within");
    assert_eq!(value(&s), Ok(43));
    s.set(42, false).expect("within");
    assert_eq!(value(&s), Ok(42));
    s.set(100, true).expect("within");
    assert_eq!(s.last_value(), Some(100));
    assert!(s.next().is_err());
    assert_eq!(s.set(101, true).expect_err("outside").sqlstate().as_str(), "22003");
}

/// Whatever was done, and in whatever order the log has it.
#[test]
fn places_in_any_order_lead_to_the_last() {
    for (start, increment, min, max) in [(1, 1, 1, 4), (4, -1, 1, 4), (2, 2, 1, 7), (-1, -3, -9, -1)] {
        let s = sequence(start, increment, min, max, true);
        let mut places = Vec::new();
        for step in 0..40 {
            places.push(match step % 17 {
                5 => s.set(min, true).expect("within"),
                11 => s.set(max, step % 2 == 0).expect("within"),
                _ => s.next().expect("cycles"),
            });
            for turn in 0..places.len() {
                let replayed = sequence(start, increment, min, max, true);
                let (before, after) = places.split_at(turn);
                after.iter().rev().chain(before).for_each(|place| replayed.observe(*place));
                assert_eq!(replayed.position(), s.position(), "{places:?} from {turn}");
            }
        }
    }
}

/// What logs of before had: values alone, and settings that hold for what comes after them.
#[test]
fn places_in_the_order_of_commits_are_taken_so() {
    let s = sequence(1, 1, 1, i64::MAX, false);
    s.observe(SequencePlace::given(0, 10));
    s.observe(SequencePlace::given(0, 4));
    assert_eq!(s.position().next, 11);
    s.observe(SequencePlace { generation: 0, value: 3, called: false });
    s.observe(SequencePlace::given(0, 3));
    assert_eq!(value(&s), Ok(4));
}

#[test]
fn a_change_of_the_definition_goes_on_behind_the_last_value() {
    let s = sequence(1, 1, 1, 3, false);
    (0..3).for_each(|_| drop(s.next()));
    let wider = s.redefined(sequence(1, 1, 1, 9, false).definition().clone());
    assert_eq!(value(&wider), Ok(4));
    let steps = wider.redefined(sequence(1, 3, 1, 9, false).definition().clone());
    assert_eq!((value(&steps), value(&steps).is_err()), (Ok(7), true));
    let s = sequence(1, 1, 1, 9, false);
    (0..3).for_each(|_| drop(s.next()));
    assert!(s.redefined(sequence(1, 1, 1, 3, false).definition().clone()).next().is_err());
}

#[test]
fn numbers_drawn_while_it_is_set_are_of_one_generation() {
    let s = sequence(1, 1, 1, 50, true);
    let drawn: Vec<_> = std::thread::scope(|scope| {
        let draw = || (0..2_000).map(|_| s.next().expect("cycles")).collect::<Vec<_>>();
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(draw)).collect();
        for i in 0..500 {
            s.set(1 + i % 40, false).expect("within");
        }
        threads.into_iter().flat_map(|t| t.join().expect("draws")).collect()
    });
    let mut places: Vec<_> = drawn.iter().map(|place| (place.generation, place.value)).collect();
    places.sort_unstable();
    assert!(places.windows(2).all(|two| two[0] != two[1]));
    let replayed = sequence(1, 1, 1, 50, true);
    drawn.iter().for_each(|place| replayed.observe(*place));
    let (here, there) = (replayed.position(), s.position());
    assert!(s.is_later(there, here) || there == here);
}
