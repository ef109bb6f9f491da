//! Chains against a reference: the history of each row, and who reads when.

use super::*;
use crate::row::ColumnSpec;
use crate::table::{IndexSpec, Table, TableSpec};
use planaria_base::{ColumnId, TableId, Type};
use proptest::prelude::*;
use std::collections::BTreeSet;

struct Flag(AtomicU64);
impl Header for Flag {
    type Versions = Append;

    fn absent() -> Self {
        Flag(AtomicU64::new(0))
    }
    fn is_present(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
    fn set_present(&self, present: bool) {
        self.0.store(u64::from(present), Relaxed);
    }
}

/// Some rows that are in no index, and the moments that are read.
struct Rows {
    table: Table<Flag>,
    participant: Participant,
    rows: Vec<Row>,
    clock: u64,
    open: BTreeSet<u64>,
}

struct Row {
    record: RecordPtr<Flag>,
    /// Begin and image of all that it has been.
    history: Vec<(u64, Vec<u64>)>,
}

/// Of a length of its own, so that blocks have many sizes.
fn image(ts: u64) -> Vec<u64> {
    vec![ts; 1 + (ts % 40) as usize]
}

impl Rows {
    fn new() -> Rows {
        let columns = [ColumnSpec { ty: Type::Int8, nullable: false }];
        let indexes = [IndexSpec { columns: vec![ColumnId(0)], unique: true, equal_nulls: false }];
        let spec = TableSpec { columns: &columns, indexes: &indexes };
        let table = Table::new(TableId(1), spec).expect("a table");
        Rows { table, participant: Participant::new(), rows: Vec::new(), clock: 1, open: BTreeSet::new() }
    }

    fn draw(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn insert(&mut self) {
        let ts = self.draw();
        let guard = self.participant.guard();
        let record = self.table.allocate(0, 1);
        // SAFETY: allocated under this pin.
        let shown = unsafe { record.deref(guard.pinned()) };
        assert!(shown.image_now().is_empty());
        self.table.install(shown, &image(ts), CommitTs(ts), 0, guard.pinned());
        self.rows.push(Row { record, history: vec![(ts, image(ts))] });
    }

    /// Keeps what is needed, as a commit does that is about to change the row.
    fn keep(&mut self, at: usize, ts: u64) {
        let open = self.open.clone();
        let needed = |begin: CommitTs, end: CommitTs| open.range(begin.0..end.0).next().is_some();
        let begin = CommitTs(self.rows[at].history.last().expect("it was inserted").0);
        let guard = self.participant.guard();
        // SAFETY: not retired.
        let shown = unsafe { self.rows[at].record.deref(guard.pinned()) };
        if needed(begin, CommitTs(ts)) {
            self.table.keeper(at, guard.pinned()).keep(shown, (begin, CommitTs(ts)), &needed);
        }
    }

    fn update(&mut self, at: usize) {
        let ts = self.draw();
        self.keep(at, ts);
        let guard = self.participant.guard();
        // SAFETY: not retired.
        let shown = unsafe { self.rows[at].record.deref(guard.pinned()) };
        self.table.install(shown, &image(ts), CommitTs(ts), 0, guard.pinned());
        self.rows[at].history.push((ts, image(ts)));
    }

    /// What was needed of it is somewhere else.
    fn delete(&mut self, at: usize) {
        let ts = self.draw();
        self.keep(at, ts);
        let row = self.rows.swap_remove(at);
        // SAFETY: in no index, and not used any more.
        unsafe { self.table.retire(row.record, self.participant.guard().pinned()) };
    }

    fn sweep(&mut self) {
        let (open, until) = (self.open.clone(), CommitTs(self.clock));
        let needed =
            |begin: CommitTs, end: CommitTs| end > until || open.range(begin.0..end.0).next().is_some();
        let oldest = open.first().map_or(until, |oldest| CommitTs(*oldest));
        let what = Forgetting { oldest, gone: until, needed: &needed };
        self.table.forget_sealed(&mut self.participant, &what, &mut || true);
    }

    /// Every reader sees what was there at its moment.
    fn check(&mut self) {
        let guard = self.participant.guard();
        let mut kept = 0;
        for row in &self.rows {
            // SAFETY: not retired.
            let shown = unsafe { row.record.deref(guard.pinned()) };
            let newest = row.history.last().expect("it was inserted");
            assert_eq!(shown.image_now(), newest.1);
            for at in self.open.iter().chain([&self.clock]) {
                let was = row.history.iter().rev().find(|(begin, _)| begin <= at);
                let found = self.table.kept(shown, CommitTs(*at), guard.pinned());
                assert_eq!(found, was.map(|(_, image)| &image[..]), "at {at}");
            }
            let mut versions = Vec::new();
            self.table.for_each_kept(shown, guard.pinned(), |begin, end, words| {
                assert_eq!(words, image(begin.0));
                versions.push((begin.0, end.0));
            });
            // Newest first; no two at a time.
            assert!(versions.windows(2).all(|w| w[1].1 <= w[0].0), "{versions:?}");
            kept += versions.len() as u64;
        }
        assert!(self.table.old_versions().versions >= kept);
    }

    /// After a sweep nothing is kept that nobody needs.
    fn check_swept(&mut self) {
        self.sweep();
        self.check();
        let guard = self.participant.guard();
        let (mut kept, mut bytes) = (0, 0);
        for row in &self.rows {
            // SAFETY: not retired.
            let shown = unsafe { row.record.deref(guard.pinned()) };
            self.table.for_each_kept(shown, guard.pinned(), |begin, end, words| {
                assert!(self.open.range(begin.0..end.0).next().is_some(), "{begin:?} to {end:?}");
                (kept, bytes) = (kept + 1, bytes + ((HEAD_WORDS + words.len()) * 8) as u64);
            });
        }
        drop(guard);
        assert_eq!(self.table.old_versions(), OldUse { versions: kept, bytes });
    }

    fn end(mut self) {
        self.open.clear();
        self.clock += 1;
        self.sweep();
        assert!(!self.table.has_old_versions());
        assert_eq!(self.table.old_versions(), OldUse::default());
        // One version a row.
        let words = |row: &Row| row.history.last().map_or(0, |(_, image)| image.len());
        let at_least: usize = self.rows.iter().map(|row| (words(row) + HEAD_WORDS + 2) * 8).sum();
        let at_most = at_least + self.rows.len() * 64;
        let mut used = self.table.memory().row_bytes as usize;
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while used > at_most && std::time::Instant::now() < until {
            // What was retired is freed when nobody is pinned: other tests are, for moments, or longer where the processors are
            // busy.
            self.participant.flush();
            crate::reclaim::collect();
            std::thread::sleep(std::time::Duration::from_millis(1));
            used = self.table.memory().row_bytes as usize;
        }
        assert!((at_least..=at_most).contains(&used), "{used} not in {at_least}..={at_most}");
        for row in self.rows {
            // SAFETY: in no index, and nobody looks at it.
            unsafe { self.table.free(row.record) };
        }
        drop((self.table, self.participant));
        crate::reclaim::free_what_is_left();
    }
}

impl RecordRef<'_, Flag> {
    fn image_now(self) -> Vec<u64> {
        let mut image = Vec::new();
        self.read_to_vec(&mut image);
        image
    }
}

#[test]
fn without_readers_a_row_has_one_version() {
    let mut rows = Rows::new();
    rows.insert();
    for _ in 0..20 {
        rows.update(0);
        assert_eq!(rows.table.old_versions(), OldUse::default());
    }
    assert!(!rows.table.has_old_versions());
    rows.check();
    rows.end();
}

#[test]
fn a_long_reader_keeps_one_version_of_each_row_whatever_others_come_and_go() {
    const ROWS: usize = 10;
    let mut rows = Rows::new();
    (0..ROWS).for_each(|_| rows.insert());
    let long = rows.clock;
    rows.open.insert(long);
    for round in 0..30 {
        let short = rows.clock;
        rows.open.insert(short);
        for at in 0..ROWS {
            rows.update(at);
        }
        rows.check();
        assert!(rows.table.old_versions().versions <= (ROWS * rows.open.len()) as u64);
        if round % 2 == 0 {
            rows.open.retain(|at| *at == long);
        }
        if round % 5 == 0 {
            rows.check_swept();
        }
    }
    rows.open.retain(|at| *at == long);
    rows.check_swept();
    assert_eq!(rows.table.old_versions().versions, ROWS as u64);
    // Swept again and again, they are not looked at.
    let looked = std::cell::Cell::new(0);
    let needed = |_, _| {
        looked.set(looked.get() + 1);
        true
    };
    let what = Forgetting { oldest: CommitTs(long), gone: CommitTs(long), needed: &needed };
    rows.table.forget_sealed(&mut rows.participant, &what, &mut || true);
    assert_eq!(looked.get(), 0);
    rows.end();
}

#[test]
fn a_sweep_that_is_ended_goes_on_the_next_time() {
    let mut rows = Rows::new();
    let many = if cfg!(miri) { 300 } else { 3 * AT_A_TIME };
    (0..many).for_each(|_| rows.insert());
    rows.open.insert(rows.clock);
    (0..many).for_each(|at| rows.update(at));
    assert_eq!(rows.table.old_versions().versions, many as u64);
    rows.open.clear();
    let until = CommitTs(rows.clock);
    let what = Forgetting { oldest: until, gone: until, needed: &|_, end| end > until };
    rows.table.forget_sealed(&mut rows.participant, &what, &mut || false);
    assert_eq!(rows.table.old_versions().versions, (many - AT_A_TIME) as u64);
    rows.check_swept();
    rows.end();
}

#[test]
fn a_record_that_is_listed_goes_when_it_leaves_the_list() {
    let mut rows = Rows::new();
    (0..3).for_each(|_| rows.insert());
    rows.open.insert(rows.clock);
    rows.update(0);
    rows.update(1);
    rows.delete(0);
    // Kept by a commit that then deletes it.
    rows.delete(1);
    rows.check();
    rows.open.clear();
    rows.check_swept();
    rows.end();
}

#[test]
fn what_was_kept_by_a_commit_that_is_not_through_is_given_up() {
    let mut rows = Rows::new();
    rows.insert();
    rows.open.insert(rows.clock);
    let ts = rows.draw();
    rows.keep(0, ts);
    assert_eq!(rows.table.old_versions().versions, 1);
    rows.open.clear();
    rows.sweep();
    assert!(!rows.table.has_old_versions());
    let guard = rows.participant.guard();
    // SAFETY: not retired.
    let shown = unsafe { rows.rows[0].record.deref(guard.pinned()) };
    rows.table.install(shown, &image(ts), CommitTs(ts), 0, guard.pinned());
    drop(guard);
    rows.rows[0].history.push((ts, image(ts)));
    assert!(!rows.table.has_old_versions());
    rows.check();
    rows.end();
}

#[derive(Clone, Debug)]
enum Step {
    Insert,
    Update(usize),
    Delete(usize),
    Open,
    Close(usize),
    Sweep,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Insert),
        8 => any::<usize>().prop_map(Step::Update),
        1 => any::<usize>().prop_map(Step::Delete),
        2 => Just(Step::Open),
        2 => any::<usize>().prop_map(Step::Close),
        1 => Just(Step::Sweep),
    ];
    prop::collection::vec(step, 1..if cfg!(miri) { 30 } else { 150 })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 200 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chains_are_as_their_history(steps in steps()) {
        let mut rows = Rows::new();
        rows.insert();
        for step in steps {
            match step {
                Step::Insert => rows.insert(),
                Step::Update(n) if !rows.rows.is_empty() => rows.update(n % rows.rows.len()),
                Step::Delete(n) if !rows.rows.is_empty() => rows.delete(n % rows.rows.len()),
                Step::Update(_) | Step::Delete(_) => {}
                Step::Open => {
                    rows.open.insert(rows.clock);
                }
                Step::Close(n) => {
                    let at = rows.open.iter().nth(n % (rows.open.len() + 1)).copied();
                    at.inspect(|at| {
                        rows.open.remove(at);
                    });
                }
                Step::Sweep => rows.check_swept(),
            }
            rows.check();
        }
        rows.check_swept();
        rows.end();
    }
}

/// Writers of rows of their own, readers of all, and somebody who collects: every reader sees one version of each row, that
/// of its moment, or one that is as new as the row was then.
#[test]
fn readers_beside_writers_and_a_collector() {
    const ROWS: usize = 4;
    let rounds: u64 = if cfg!(miri) { 10 } else { 2000 };
    let mut rows = Rows::new();
    (0..ROWS).for_each(|_| rows.insert());
    let moment = CommitTs(rows.clock);
    let Rows { table, rows: all, .. } = &rows;
    let first: Vec<u64> = all.iter().map(|row| row.history[0].0).collect();
    let needed = |begin: CommitTs, end: CommitTs| begin <= moment && moment < end;
    std::thread::scope(|scope| {
        for (at, row) in all.iter().enumerate().take(2) {
            let first = first[at];
            scope.spawn(move || {
                let mut participant = Participant::new();
                let mut last = first;
                for round in 1..=rounds {
                    let ts = moment.0 + 2 * round + at as u64;
                    let guard = participant.guard();
                    // SAFETY: it is not retired before the threads have ended.
                    let shown = unsafe { row.record.deref(guard.pinned()) };
                    // One in two believes that all of them are needed.
                    let lifetime = (CommitTs(last), CommitTs(ts));
                    table.keeper(at, guard.pinned()).keep(shown, lifetime, &|_, _| true);
                    table.install(shown, &image(ts), CommitTs(ts), at, guard.pinned());
                    last = ts;
                }
            });
        }
        scope.spawn(|| {
            let mut participant = Participant::new();
            for _ in 0..rounds / 4 {
                let what = Forgetting { oldest: moment, gone: moment, needed: &needed };
                table.forget_sealed(&mut participant, &what, &mut || true);
            }
        });
        scope.spawn(|| {
            let mut participant = Participant::new();
            for round in 0..rounds {
                let guard = participant.guard();
                for (row, first) in all.iter().zip(&first) {
                    // SAFETY: as above.
                    let shown = unsafe { row.record.deref(guard.pinned()) };
                    let seen = table.kept(shown, moment, guard.pinned()).expect("somebody reads it");
                    assert_eq!(seen, image(*first), "round {round}");
                    let now = shown.image_now();
                    assert_eq!(now, image(now[0]), "of one version");
                }
            }
        });
    });
    rows.open.insert(moment.0);
    rows.clock += 2 * rounds + 2;
    for at in 0..2 {
        rows.rows[at]
            .history
            .push((moment.0 + 2 * rounds + at as u64, image(moment.0 + 2 * rounds + at as u64)));
    }
    rows.check_swept();
    assert_eq!(rows.table.old_versions().versions, 2);
    rows.end();
}
