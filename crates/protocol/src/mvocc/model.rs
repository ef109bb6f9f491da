//! Every interleaving of a reader that meets the locks of commits, and those.

use super::*;
use crate::door::Met;
use crate::footprint::word::Locking;
use crate::snapshot::{Moment, Snapshots};
use loom::sync::Arc;
use loom::thread;
use planaria_base::clock::CommitClock;
use planaria_base::{ColumnId, Epoch, TableId, Type};
use planaria_storage::reclaim::{Participant, Pinned};
use planaria_storage::{ColumnSpec, IndexSpec, RecordRef, Table, TableSpec};

type Head = MvoccHeader<Append>;

struct Subject {
    clock: CommitClock,
    snapshots: Snapshots,
    table: Table<Head>,
    record: Met<Head>,
}

impl Subject {
    fn new() -> Arc<Subject> {
        let columns = [ColumnSpec { ty: Type::Int8, nullable: false }];
        let indexes = [IndexSpec { columns: vec![ColumnId(0)], unique: true, equal_nulls: false }];
        let spec = TableSpec { columns: &columns, indexes: &indexes };
        let table = Table::<Head>::new(TableId(0), spec).expect("a table");
        let mut participant = Participant::new();
        let guard = participant.guard();
        let record = Met::allocate(&table, 0, 1);
        let subject =
            Subject { clock: CommitClock::new(Epoch(1)), snapshots: Snapshots::new(), table, record };
        let shown = subject.shown(guard.pinned());
        subject.table.write(shown, &[0], 0, guard.pinned());
        shown.header().set_present(true);
        drop(guard);
        Arc::new(subject)
    }

    fn shown<'p>(&self, pin: Pinned<'p>) -> RecordRef<'p, Head> {
        crate::footprint::record::found(self.record, pin)
    }

    /// Locks, draws, keeps, installs an image of so many words, and unlocks; or draws, and fails.
    fn commit(&self, words: usize, fails: bool) -> CommitTs {
        let mut participant = Participant::new();
        let guard = participant.guard();
        let (pin, shown) = (guard.pinned(), self.shown(guard.pinned()));
        let header = shown.header();
        let version = header.word.load();
        assert_eq!(header.word.try_lock(version), Locking::Done, "it is alone");
        header.begin_drawing();
        let ts = self.clock.draw();
        header.has_drawn(ts);
        if fails {
            header.word.publish(version);
            return ts;
        }
        if let Some(older) = self.snapshots.older_than(ts)
            && older.may_see(TableId(0), CommitTs(version))
        {
            let needed = |begin, end| older.may_see_until(TableId(0), begin, end);
            self.table.keeper(0, pin).keep(shown, (CommitTs(version), ts), &needed);
        }
        VersionWord::before_images();
        self.table.install(shown, &vec![0; words], ts, 0, pin);
        header.word.publish(ts.0);
        ts
    }

    /// How many words the row had, as the reader of snapshots finds out.
    fn read(&self, at: CommitTs) -> usize {
        let mut participant = Participant::new();
        let guard = participant.guard();
        let (pin, shown) = (guard.pinned(), self.shown(guard.pinned()));
        loop {
            match shown.header().glance() {
                Glance::Busy if shown.header().changes_after(at) => break,
                Glance::Busy => thread::yield_now(),
                Glance::Absent => unreachable!("it was always there"),
                Glance::Row(since, _) if since > at => break,
                Glance::Row(_, word) => {
                    let mut image = Vec::new();
                    shown.read_to_vec(&mut image);
                    if shown.header().holds(word) {
                        return image.len();
                    }
                }
            }
        }
        self.table.kept(shown, at, pin).expect("it was always there").len()
    }
}

fn a_reader_beside(commits: &'static [(usize, bool)]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.max_branches = 50_000;
    model.check(move || {
        let subject = Subject::new();
        let writer = thread::spawn({
            let subject = subject.clone();
            move || {
                let done =
                    commits.iter().map(|(words, fails)| (subject.commit(*words, *fails), *words, *fails));
                done.collect::<Vec<_>>()
            }
        });
        let opened = subject.snapshots.announce(&subject.clock, Moment::Now);
        let seen = subject.read(opened.at);
        let done = writer.join().unwrap();
        let last = done.iter().rev().find(|(ts, _, fails)| !fails && *ts <= opened.at);
        let expected = last.map_or(1, |(_, words, _)| *words);
        assert_eq!((seen, subject.read(opened.at)), (expected, expected));
        subject.snapshots.close_later(opened);
        drop(subject);
        let mut participant = Participant::new();
        for _ in 0..4 {
            participant.flush();
        }
    });
}

#[test]
fn a_reader_sees_what_drew_before_it_began() {
    a_reader_beside(&[(2, false), (3, false)]);
}

#[test]
fn a_commit_that_fails_is_nothing_to_a_reader() {
    a_reader_beside(&[(2, true), (3, false)]);
}
