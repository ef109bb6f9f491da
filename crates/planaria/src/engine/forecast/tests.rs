use super::*;

fn replay(bytes_done: u64, bytes_total: u64) -> RecoveryProgress {
    RecoveryProgress { stage: RecoveryStage::Replay, bytes_done, bytes_total, ..Default::default() }
}

/// Milliseconds since replay began, and thousands of transactions replayed: TPC-C by `regrow` on two busy cores, 668,000 in
/// 15.66 s.
const SERIES: [(u64, u64); 31] = [
    (0, 0),
    (549, 8),
    (1020, 16),
    (1490, 29),
    (2030, 55),
    (2550, 68),
    (3010, 81),
    (3559, 106),
    (4110, 132),
    (4640, 158),
    (5100, 171),
    (5660, 197),
    (6119, 210),
    (6670, 236),
    (7160, 261),
    (7619, 287),
    (8070, 313),
    (8660, 339),
    (9180, 364),
    (9640, 377),
    (10190, 403),
    (10740, 429),
    (11220, 455),
    (11680, 468),
    (12140, 493),
    (12600, 519),
    (13050, 532),
    (13629, 558),
    (14100, 584),
    (14660, 609),
    (15129, 635),
];
const SERIES_END_MS: f64 = 15660.0;

/// How far off, as a share of the true rest, what is foretold in a series is at most, between shares of its time.
fn worst(series: impl Iterator<Item = (u64, u64)>, total: u64, end_ms: f64, between: (f64, f64)) -> f64 {
    let mut forecast = Forecast::default();
    let mut worst: f64 = 0.0;
    for (ms, done) in series {
        let left = forecast.left(Duration::from_millis(ms), &replay(done, total));
        let at = ms as f64 / end_ms;
        if at >= between.0 && at <= between.1 {
            let rest = end_ms - ms as f64;
            let left = left.expect("the time is foretold by then").as_secs_f64() * 1000.0;
            worst = worst.max((left / rest - 1.0).abs());
        }
    }
    worst
}

#[test]
fn a_recorded_replay_is_foretold_within_thirty_percent() {
    let off = worst(SERIES.into_iter(), 668, SERIES_END_MS, (0.22, 0.9));
    assert!(off < 0.3, "{off}");
}

#[test]
fn calls_that_stand_for_whole_tables_do_not_spoil_what_follows() {
    // The same behind 13 s in which a few large calls were replayed.
    let stalled = (0..13).map(|s| (s * 1000, 0));
    let then = SERIES.into_iter().map(|(ms, done)| (13_000 + ms, done));
    let off = worst(stalled.chain(then), 668, 13_000.0 + SERIES_END_MS, (0.75, 0.9));
    assert!(off < 0.3, "{off}");
}

#[test]
fn the_log_behind_a_checkpoint_counts_by_former_openings() {
    let load = |done| RecoveryProgress {
        stage: RecoveryStage::Load,
        rows: done,
        rows_total: 100,
        load_bytes: done * 7,
        load_bytes_total: 700,
        ..Default::default()
    };
    let seconds = |s| Some(Duration::from_secs(s));
    let at = Duration::from_secs;
    let mut alone = Forecast::default();
    assert_eq!(alone.left(at(0), &load(0)), None);
    assert_eq!(alone.left(at(1), &load(25)), seconds(3));
    // A log that nobody has measured.
    let mut unknown = Forecast::default();
    unknown.expect(1000, 0.0);
    assert_eq!((unknown.left(at(0), &load(0)), unknown.left(at(1), &load(25))), (None, None));
    let check = RecoveryProgress::default();
    assert_eq!(unknown.left(at(4), &check), None);
    let mut known = Forecast::default();
    known.expect(1000, 100.0);
    assert_eq!((known.left(at(0), &load(0)), known.left(at(1), &load(25))), (None, seconds(13)));
    // The check of the log is part of what replay took.
    assert_eq!(known.left(at(4), &check), seconds(10));
    assert_eq!(known.left(at(5), &check), seconds(9));
    assert_eq!(
        (known.left(at(6), &replay(0, 1000)), known.left(at(8), &replay(250, 1000))),
        (None, seconds(6))
    );
    assert_eq!(known.left(at(14), &replay(1000, 1000)), seconds(0));
}

#[test]
fn indexes_that_are_built_in_the_end_are_foretold_by_their_entries() {
    let index = |done| RecoveryProgress {
        stage: RecoveryStage::Index,
        index_entries: done,
        index_entries_total: 100,
        ..replay(9, 9)
    };
    let mut forecast = Forecast::default();
    let at = Duration::from_secs;
    assert_eq!(forecast.left(at(0), &replay(9, 9)), Some(Duration::ZERO));
    assert_eq!(forecast.left(at(1), &index(0)), None);
    assert_eq!(forecast.left(at(2), &index(20)), Some(at(4)));
}
