//! Logs whose frames check out, but whose records are not what the database wrote: they are written anew,
//! changed, with the log's own writer.

use planaria::log::{LogView, verify};
use planaria::{Database, LogKind, Options, Scheme, SqlState};
use planaria_base::clock::CommitClock;
use planaria_base::{Datum, Epoch};
use planaria_log::{DirectoryDevice, Effect, Keeping, LogReader, PlannerVersion, RecordBody, ValueWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The district's counter is the key of the order, in a table before its own: it is kept.
const SCHEMA: &str = "
    CREATE TABLE orders (district int, id int, item text, PRIMARY KEY (district, id));
    CREATE TABLE journal (district int, id int, at timestamptz, PRIMARY KEY (district, id));
    CREATE TABLE district (id int PRIMARY KEY, next_order int NOT NULL);
    INSERT INTO district VALUES (1, 100), (2, 200);
    CREATE PROCEDURE place(p_district int, p_item text) LANGUAGE plpgsql AS $$
    DECLARE n int;
    BEGIN
        UPDATE district SET next_order = next_order + 1 WHERE id = p_district RETURNING next_order INTO n;
        INSERT INTO orders VALUES (p_district, n, p_item);
    END $$;
    CREATE PROCEDURE write_down(p_district int) LANGUAGE plpgsql AS $$
    DECLARE n int;
    BEGIN
        UPDATE district SET next_order = next_order + 1 WHERE id = p_district RETURNING next_order INTO n;
        INSERT INTO journal VALUES (p_district, n, now());
    END $$;";

/// A database's directory and its digests, after some calls.
fn written(kind: LogKind, calls: &[&str]) -> (TempDir, Vec<(String, u128)>) {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().log(kind).open(dir.path()).unwrap();
    db.execute_script(SCHEMA).unwrap();
    for call in calls {
        db.execute(&format!("CALL {call}"), ()).unwrap();
    }
    let digests = db.digests().unwrap();
    db.close().unwrap();
    (dir, digests)
}

fn open(dir: &Path, scheme: Scheme) -> planaria::Result<Database> {
    Options::new().recovery(scheme).recovery_threads(2).open(dir)
}

/// The planner that wrote a log.
fn planner_of(dir: &Path) -> PlannerVersion {
    PlannerVersion(LogView::open(dir).unwrap().overview().runs[0].planner)
}

/// Writes the log of one directory anew into another, as if by this planner, its records changed.
fn rewrite(from: &Path, to: &Path, planner_version: PlannerVersion, change: &mut dyn FnMut(&mut RecordBody)) {
    let source = LogReader::open(Arc::new(DirectoryDevice::open(from).unwrap())).unwrap();
    let clock = Arc::new(CommitClock::new(Epoch(1)));
    let options =
        planaria_log::Options { threads: false, planner_version, ..planaria_log::Options::default() };
    let target = LogReader::open(Arc::new(DirectoryDevice::open(to).unwrap())).unwrap();
    let log = target.resume(clock.clone(), options).unwrap();
    let mut worker = log.worker().unwrap();
    for batch in source.batches(Epoch(0)) {
        for record in batch.unwrap().records() {
            let mut body = record.decode().unwrap().body;
            change(&mut body);
            let commit = worker.enter().unwrap();
            let ts = clock.draw();
            match body {
                RecordBody::Call(call) => {
                    let (args, inputs) = (call.args.len(), call.inputs.len());
                    let values = |v: &mut ValueWriter<'_>| {
                        call.args.iter().chain(&call.inputs).for_each(|d| v.datum(d));
                    };
                    match call.keeping == Keeping::Yes {
                        true => commit.keeping_call(ts, call.procedure, args, inputs, values),
                        false => commit.call(ts, call.procedure, args, inputs, values),
                    };
                }
                RecordBody::Effects(effects) => {
                    commit.effects(ts, |w| {
                        for effect in &effects {
                            match effect {
                                Effect::Insert { table, row } => w.insert(*table, row),
                                Effect::Update { table, row } => w.update(*table, row),
                                Effect::Delete { table, key } => w.delete(*table, key),
                                Effect::Sequence { sequence, place } => w.sequence(*sequence, *place),
                                Effect::Schema(text) => w.schema(text),
                                Effect::Part => w.part(),
                                Effect::Computed { table, values } => w.computed(*table, values),
                                other => panic!("{other:?} in a command log"),
                            }
                        }
                    });
                }
            }
            log.flush().unwrap();
        }
    }
    drop(worker);
    log.shutdown().unwrap();
}

/// The log of a directory in another one, changed.
fn forged(
    from: &Path,
    planner: impl Fn(PlannerVersion) -> PlannerVersion,
    change: &mut dyn FnMut(&mut RecordBody),
) -> (TempDir, PathBuf) {
    let to = tempfile::tempdir().unwrap();
    rewrite(from, to.path(), planner(planner_of(from)), change);
    let path = to.path().to_owned();
    (to, path)
}

/// Records that check out but do not say what happened: a call with an input it did not draw, and rows
/// that could not have been changed.
#[test]
fn records_that_do_not_fit_are_named() {
    let (dir, _) = written(LogKind::Command, &["place(1, 'a')", "write_down(2)", "place(1, 'b')"]);
    let (rows, _) = written(LogKind::Command, &[]);
    let db = open(rows.path(), Scheme::Clr).unwrap();
    db.execute("UPDATE district SET next_order = 0", ()).unwrap();
    db.close().unwrap();
    let verified_from = |from: &TempDir, change: &mut dyn FnMut(&mut RecordBody)| {
        let (_to, path) = forged(from.path(), |planner| planner, change);
        verify(&path, Scheme::default(), 2)
    };
    let verified = |change: &mut dyn FnMut(&mut RecordBody)| verified_from(&dir, change);
    assert!(verified(&mut |_| ()).unwrap().is_clean(), "a faithful copy");
    let error = verified(&mut |body| {
        if let RecordBody::Call(call) = body {
            call.inputs.push(Datum::Int(5));
        }
    })
    .unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
    let context = error.fields().context.clone().unwrap_or_default();
    assert!(context.contains("replay of transaction"), "{error} {context}");
    let error = verified_from(&rows, &mut |body| {
        if let RecordBody::Effects(effects) = body {
            effects.retain(|e| !matches!(e, Effect::Insert { .. }));
        }
    })
    .unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
}

/// A kept value that is not what the call computed: the parallel replay believes it, the serial one does
/// not, and says which call it is, and what it computes.
#[test]
fn a_wrong_kept_value_is_found_and_named() {
    let (dir, digests) = written(LogKind::Command, &["place(1, 'a')", "place(2, 'b')", "place(1, 'c')"]);
    let mut calls = 0;
    let (_to, path) = forged(dir.path(), |planner| planner, &mut |body| {
        if let RecordBody::Call(call) = body {
            calls += 1;
            if calls == 3 {
                assert_eq!((call.keeping, &call.inputs[..]), (Keeping::Yes, &[Datum::Int(102)][..]));
                call.inputs[0] = Datum::Int(103);
            }
        }
    });
    let error = verify(&path, Scheme::Regrow, 2).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
    assert_eq!(error.message(), "replay of procedure place computes Int(102) where the log has Int(103)");
    let context = error.fields().context.clone().unwrap_or_default();
    assert!(context.contains("replay of transaction") && context.contains("replay by clr"), "{context}");
    // It makes a difference: the order has another number.
    let believed = open(&path, Scheme::Regrow).unwrap();
    let differing: Vec<_> =
        digests.iter().zip(believed.digests().unwrap()).filter(|(a, b)| **a != *b).collect();
    assert_eq!(differing.len(), 1);
    assert_eq!(differing[0].0.0, "orders");
}

/// Calls of a planner that kept other values: what they kept is not believed, they run again whole.
#[test]
fn values_that_another_planner_kept_are_not_believed() {
    let calls = ["place(1, 'a')", "place(2, 'b')", "place(1, 'c')"];
    let (dir, digests) = written(LogKind::Command, &calls);
    let other = |p: PlannerVersion| PlannerVersion::new(p.execution(), p.keeping() + 1);
    for scheme in Scheme::ALL {
        let (_to, path) = forged(dir.path(), other, &mut |body| {
            if let RecordBody::Call(call) = body {
                call.inputs = vec![Datum::Text("another".into()), Datum::Int(7)];
            }
        });
        let db = open(&path, *scheme).unwrap();
        assert_eq!(db.digests().unwrap(), digests, "{scheme}");
        let report = db.recovery().unwrap();
        assert!(report.barriers >= calls.len() as u64, "{scheme}: {}", report.barriers);
        // It goes on under our planner, and is recovered again.
        db.execute("CALL place(2, 'd')", ()).unwrap();
        let digests = db.digests().unwrap();
        db.close().unwrap();
        let db = open(&path, *scheme).unwrap();
        assert_eq!(db.digests().unwrap(), digests, "{scheme}");
    }

    // Where inputs are among the values, nobody can tell which is which.
    let (dir, _) = written(LogKind::Command, &["place(1, 'a')", "write_down(2)"]);
    for scheme in Scheme::ALL {
        let (_to, path) = forged(dir.path(), other, &mut |_| ());
        let error = open(&path, *scheme).map(|_| ()).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{scheme}");
        assert_eq!(
            error.message(),
            "the call of procedure write_down kept values that another planner chose"
        );
        assert!(error.fields().hint.as_deref().is_some_and(|h| h.contains("that wrote the log")));
    }
}

/// The planner before this one kept the same for nearly all procedures: their calls are replayed in pieces, inputs and all. Those of the
/// others run again whole.
#[test]
fn what_the_former_planner_kept_is_believed_where_this_one_keeps_the_same() {
    let former = |p: PlannerVersion| PlannerVersion::new(p.execution(), 4);
    let calls = ["place(1, 'a')", "write_down(2)", "place(2, 'b')", "write_down(1)"];
    let (dir, digests) = written(LogKind::Command, &calls);
    for scheme in Scheme::ALL {
        let (_to, path) = forged(dir.path(), former, &mut |_| ());
        let db = open(&path, *scheme).unwrap();
        assert_eq!(db.digests().unwrap(), digests, "{scheme}");
        db.execute("CALL place(2, 'd')", ()).unwrap();
        let digests = db.digests().unwrap();
        db.close().unwrap();
        assert_eq!(open(&path, *scheme).unwrap().digests().unwrap(), digests, "{scheme}");
    }
    let regrow = |dir: &Path| open(dir, Scheme::Regrow).unwrap().recovery().unwrap().barriers;
    let (_to, path) = forged(dir.path(), former, &mut |_| ());
    assert_eq!(
        regrow(&path),
        regrow(dir.path()),
        "no call runs whole that would not run so under this planner"
    );

    // What a bulk load reads of its own rows was not kept then.
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), Scheme::Clr).unwrap();
    db.execute_script(
        "CREATE TABLE s (k int PRIMARY KEY, v int); CREATE TABLE a (k int PRIMARY KEY, v int);
         INSERT INTO a SELECT g, 0 FROM generate_series(1, 30) g;
         CREATE PROCEDURE post(e int) LANGUAGE plpgsql AS $$
         DECLARE x int;
         BEGIN SELECT v INTO x FROM s WHERE k = e; UPDATE a SET v = v + 1 WHERE k = x; END $$;
         CREATE PROCEDURE load(f int, n int) LANGUAGE plpgsql AS $$
         BEGIN FOR i IN f..n LOOP INSERT INTO s VALUES (i, i * 2); END LOOP; CALL post(n); END $$;
         CALL load(1, 5); CALL load(6, 8)",
    )
    .unwrap();
    let digests = db.digests().unwrap();
    db.close().unwrap();
    for scheme in Scheme::ALL {
        let (_to, path) = forged(dir.path(), former, &mut |body| {
            if let RecordBody::Call(call) = body {
                call.inputs.clear();
                call.keeping = Keeping::No;
            }
        });
        assert_eq!(open(&path, *scheme).unwrap().digests().unwrap(), digests, "{scheme}");
    }
}

/// Calls that ran under other plans cannot run again; rows can be put back whoever wrote them.
#[test]
fn calls_of_another_execution_are_refused() {
    let other = |p: PlannerVersion| PlannerVersion::new(p.execution() + 1, p.keeping());
    let (dir, _) = written(LogKind::Command, &["place(1, 'a')"]);
    let (_to, path) = forged(dir.path(), other, &mut |_| ());
    let before = std::fs::read(path.join("manifest")).unwrap();
    for outcome in [open(&path, Scheme::Regrow).map(|_| ()), verify(&path, Scheme::Regrow, 2).map(|_| ())] {
        let error = outcome.unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
        assert!(error.message().starts_with("the calls in run 1 of the log ran under planner 2."), "{error}");
    }
    assert_eq!(std::fs::read(path.join("manifest")).unwrap(), before, "the log was changed");

    let (dir, digests) = written(LogKind::Logical, &["place(1, 'a')"]);
    let (_to, path) = forged(dir.path(), other, &mut |_| ());
    assert_eq!(open(&path, Scheme::Regrow).unwrap().digests().unwrap(), digests);
}
