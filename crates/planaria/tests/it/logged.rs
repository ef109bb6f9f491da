//! What the log holds of calls, and that it is enough.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme, SqlState};
use planaria_base::Epoch;
use planaria_log::{Effect, Keeping, LogReader, RecordBody};
use planaria_sim::disk::SimDisk;

/// The records of a log, schema changes aside, one word each.
pub(crate) fn records(disk: &SimDisk) -> Vec<&'static str> {
    let reader = LogReader::open(disk.device()).expect("opens");
    let mut all = Vec::new();
    for batch in reader.batches(Epoch(0)) {
        for record in batch.expect("a batch").records() {
            all.push(match record.decode().expect("a record").body {
                RecordBody::Call(call) if call.keeping == Keeping::Yes => "keeping call",
                RecordBody::Call(_) => "call",
                RecordBody::Effects(effects) if effects.iter().any(|e| matches!(e, Effect::Schema(_))) => {
                    continue;
                }
                RecordBody::Effects(effects)
                    if effects.iter().all(|e| matches!(e, Effect::Sequence { .. })) =>
                {
                    "sequence"
                }
                RecordBody::Effects(_) => "effects",
            });
        }
    }
    all
}

/// Each of these calls is logged as a call, behind a script that makes what they need.
pub(crate) fn stay_calls(script: &str, calls: &[&str]) {
    for call in calls {
        let all = logged(&format!("{script} {call};"));
        // The last one is a number that the test has drawn.
        assert!(all[all.len() - 2].ends_with("call"), "{call}: {all:?}");
    }
}

/// Runs the script on an empty disk; the log's records, after the same rows came back from it.
pub(crate) fn logged(script: &str) -> Vec<&'static str> {
    let disk = SimDisk::new(1);
    let options = || Options::new().log(LogKind::Command);
    let state = |db: &Database| {
        let rows = db.query("SELECT id, v FROM t ORDER BY id", ()).expect("rows");
        let next = db.query("SELECT nextval('s')", ()).expect("a value")[0].get::<i64>(0).expect("a number");
        (format!("{rows:?}"), next)
    };
    let db = options().open_device(disk.device()).expect("opens");
    db.execute_script(script).expect("runs");
    let (rows, next) = state(&db);
    db.check().expect("is whole");
    drop(db);
    let all = records(&disk);
    let db = options().open_device(disk.device()).expect("opens again");
    db.check().expect("is whole again");
    let (rows_again, next_again) = state(&db);
    assert_eq!(rows_again, rows);
    assert!(next_again > next);
    all
}

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE PROCEDURE put(p_id int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, p_v);
    EXCEPTION WHEN unique_violation THEN
        UPDATE t SET v = v + p_v WHERE id = p_id;
    END $$;";

#[test]
fn a_call_in_which_a_handler_ran_is_logged_by_its_effects() {
    let script = format!(
        "{SCHEMA}
    CREATE PROCEDURE twice(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        CALL put(p_id, 1);
        CALL put(p_id, 1);
    END $$;
    CREATE PROCEDURE perhaps(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, 0);
    EXCEPTION WHEN others THEN
        NULL;
    END $$;
    CREATE PROCEDURE draws() LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM nextval('s');
        INSERT INTO t VALUES (1, 1 / 0);
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END $$;
    CALL put(1, 10);
    CALL put(1, 5);
    CALL twice(2);
    CALL perhaps(3);
    CALL perhaps(3);
    CALL draws();
    CALL put(4, 4);"
    );
    let expected = ["call", "effects", "effects", "call", "sequence", "call", "sequence"];
    assert_eq!(logged(&script), expected, "the last is what looking at the sequence did");
}

/// A call that has changed no row is given a place in the log when it is over, which may be behind others that have changed what
/// it read: as a call it might do something else there.
#[test]
fn a_call_that_has_only_moved_a_sequence_is_logged_by_that() {
    let script = format!(
        "{SCHEMA}
    CREATE PROCEDURE look(p_id int) LANGUAGE plpgsql AS $$
    DECLARE n int := nextval('s');
    BEGIN
        UPDATE t SET v = n WHERE id = p_id;
    END $$;
    CREATE PROCEDURE pass(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, nextval('s'));
        DELETE FROM t WHERE id = p_id;
    END $$;
    CALL look(1);
    CALL pass(1);
    INSERT INTO t VALUES (1, 0);
    CALL look(1);"
    );
    assert_eq!(logged(&script), ["sequence", "sequence", "effects", "call", "sequence"]);
}

#[test]
fn a_procedure_with_sql_made_at_run_time_is_logged_by_its_effects() {
    let script = format!(
        "{SCHEMA}
    CREATE PROCEDURE dynamic(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE 'INSERT INTO t VALUES ($1, 0)' USING p_id;
    END $$;
    CALL dynamic(1);"
    );
    assert_eq!(logged(&script), ["effects", "sequence"]);
}

#[test]
fn a_procedure_that_reads_its_keys_keeps_them() {
    let procedure = "
    CREATE TABLE next (id int PRIMARY KEY, free int NOT NULL);
    INSERT INTO next VALUES (1, 10);
    CREATE FUNCTION half(p_n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN p_n / 2; END $$;
    CREATE PROCEDURE take(p_list int) LANGUAGE plpgsql AS $$
    DECLARE v_id int;
    BEGIN
        SELECT free INTO v_id FROM next WHERE id = p_list;
        UPDATE next SET free = free + 1 WHERE id = p_list;
        INSERT INTO t VALUES (v_id, half(v_id));
    END $$;
    CREATE PROCEDURE take_twice() LANGUAGE plpgsql AS $$
    BEGIN
        CALL take(1);
        CALL take(1);
    END $$;";
    let calls = "CALL take(1); CALL take(1); CALL take_twice();";
    let all = logged(&format!("{SCHEMA}{procedure}{calls}"));
    assert_eq!(all, ["effects", "keeping call", "keeping call", "keeping call", "sequence"]);

    let db = Database::in_memory().expect("opens");
    db.execute_script(&format!("{SCHEMA}{procedure}")).expect("runs");
    let lines = db.query("EXPLAIN PROCEDURE take", ()).expect("explains");
    let lines: Vec<String> = lines.iter().map(|r| r.get(0).expect("a line")).collect();
    let at = lines.iter().position(|l| l.contains("Replayed in pieces")).expect("says how it is replayed");
    assert_eq!(
        lines[at + 1..],
        [
            "    1. next by id",
            "    2. t by id",
            "  So that these can be told apart before anything is replayed, it",
            "    logs v_id"
        ],
        "{lines:#?}"
    );
}

/// What is read when the log is read, and what is logged, is said by the names of tables and columns.
#[test]
fn notes_name_tables_and_columns() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE stock (id int PRIMARY KEY, left_over int NOT NULL);
         CREATE TABLE tariff (kind int PRIMARY KEY, shelf int NOT NULL);
         CREATE TABLE shelf (id int PRIMARY KEY, next int NOT NULL);
         CREATE PROCEDURE put(p_kind int) LANGUAGE plpgsql AS $$
         DECLARE v_shelf int; v_next int;
         BEGIN
             SELECT shelf INTO v_shelf FROM tariff WHERE kind = p_kind;
             UPDATE shelf SET next = next + 1 WHERE id = v_shelf RETURNING next INTO v_next;
             UPDATE stock SET left_over = 0 WHERE id = v_next;
         END $$;",
    )
    .expect("runs");
    let explained = |what: &str| {
        let lines = db.query(what, ()).expect("explains");
        lines.iter().map(|r| r.get::<String>(0).expect("a line")).collect::<Vec<_>>().join("\n")
    };
    let lines = explained("EXPLAIN PROCEDURE put");
    for line in [
        "    reads tariff (shelf) when the log is read: no procedure changes what is read",
        "    logs v_next",
    ] {
        assert!(lines.contains(line), "{line} is not in\n{lines}");
    }
    let by_number = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric()).any(|word| {
            word.strip_prefix('t').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    for text in [lines, explained("EXPLAIN RECOVERY")] {
        assert!(!by_number(&text), "{text}");
    }
}

/// The text of an error in a procedure that runs with its calls inlined is that of the calls.
#[test]
fn errors_in_what_was_inlined_have_their_context() {
    let script = format!(
        "{SCHEMA}
    CREATE TABLE next (id int PRIMARY KEY, free int NOT NULL);
    INSERT INTO next VALUES (1, 0);
    CREATE PROCEDURE inner_most(p_n int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE t SET v = 10 / p_n WHERE id = p_n;
    END $$;
    CREATE PROCEDURE middle(p_n int) LANGUAGE plpgsql AS $$
    DECLARE v_id int;
    BEGIN
        SELECT free INTO v_id FROM next WHERE id = p_n;
        INSERT INTO t VALUES (v_id, 1);

        CALL inner_most(v_id);
    END $$;
    CREATE PROCEDURE outer_most() LANGUAGE plpgsql AS $$
    BEGIN
        CALL middle(1);
    END $$;"
    );
    let fails = |options: Options| {
        let db = options.open_device(SimDisk::new(1).device()).expect("opens");
        db.execute_script(&script).expect("runs");
        let error = db.execute("CALL outer_most()", ()).expect_err("divides by zero");
        format!("{error:?}")
    };
    let as_called = fails(Options::new().log(LogKind::Logical));
    assert!(as_called.contains("inner_most(integer) line 3"), "{as_called}");
    assert_eq!(fails(Options::new().log(LogKind::Command)), as_called);
}

#[test]
fn procedures_that_call_each_other_are_logged_by_their_effects() {
    let script = format!(
        "{SCHEMA}
    CREATE PROCEDURE ping(p_n int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_n, 0);
        IF p_n > 0 THEN CALL pong(p_n - 1); END IF;
    END $$;
    CREATE PROCEDURE pong(p_n int) LANGUAGE plpgsql AS $$
    BEGIN
        IF p_n > 0 THEN CALL ping(p_n - 1); END IF;
    END $$;
    CALL pong(6);"
    );
    assert_eq!(logged(&script), ["effects", "sequence"]);
}

/// The row ids that a table without a primary key goes on with stand in its sequence, which a change of the
/// table numbers anew; one that fails afterwards has to leave it alone.
#[test]
fn a_change_of_a_table_that_fails_leaves_its_row_ids_where_they_stood() {
    let db = Database::in_memory().unwrap();
    db.execute_script(
        "CREATE TABLE t (n int); INSERT INTO t SELECT i FROM generate_series(1, 1000) i;
         DELETE FROM t WHERE n <= 600;",
    )
    .unwrap();
    let failing = "ALTER TABLE t ADD COLUMN extra int DEFAULT 7, ADD CONSTRAINT small CHECK (n < 800)";
    assert_eq!(db.execute(failing, ()).unwrap_err().sqlstate(), SqlState::CHECK_VIOLATION);
    db.execute("INSERT INTO t SELECT i FROM generate_series(1, 600) i", ()).unwrap();
    let count = db.query("SELECT count(*) FROM t", ()).unwrap();
    assert_eq!(count[0].get::<i64>(0).unwrap(), 1000);
    db.check().unwrap();
}

/// A log of calls does not say in which time zone they ran. So a call that looked at one other than UTC is logged by rows;
/// one that did not is a call in whatever session.
#[test]
fn a_call_that_looked_at_a_time_zone_is_logged_by_its_effects() {
    let disk = SimDisk::new(1);
    let mut before = 0;
    for scheme in Scheme::ALL {
        let options = || Options::new().log(LogKind::Command).recovery(*scheme);
        let db = options().open_device(disk.device()).expect("opens");
        if before == 0 {
            db.execute_script(
                "CREATE TABLE t (id serial PRIMARY KEY, x timestamptz, l timestamp, d date, s text);
                 CREATE PROCEDURE put(x timestamptz) LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO t (x, l, d, s) VALUES (x, x, x, x + interval '1 month'); END $$;
                 CREATE PROCEDURE plain(x timestamptz) LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO t (x) VALUES (x + interval '1 hour'); END $$;
                 CREATE PROCEDURE today() LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO t (d, l) VALUES (current_date, localtimestamp); END $$;
                 CREATE PROCEDURE by_template(x text) LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO t (x, d, s) VALUES (to_timestamp(x, 'YYYY-MM-DD'), to_date(x, 'YYYY-MM-DD'),
                         to_char(to_number(x, '9999'), 'FMRN')); END $$",
            )
            .expect("creates");
        }
        for zone in ["UTC", "Pacific/Kiritimati"] {
            let mut session = db.session().expect("a session");
            session.execute(&format!("SET timezone = '{zone}'"), ()).expect("sets");
            for call in [
                "put('2024-01-31 12:00+00')",
                "plain('2024-01-31 12:00+00')",
                "today()",
                "by_template('2024-01-31')",
            ] {
                session.execute(&format!("CALL {call}"), ()).expect(call);
            }
        }
        let digests = db.digests().expect("digests");
        drop(db);
        let call = "call";
        let all = records(&disk);
        assert_eq!(
            all[before..],
            [call, call, call, call, "effects", call, "effects", "effects"],
            "{scheme}"
        );
        before = all.len();
        let db = options().open_device(disk.device()).expect("opens again");
        assert_eq!(db.digests().expect("digests"), digests, "{scheme}");
        let rows =
            db.query("SELECT x::text, l::text, d::text, s FROM t ORDER BY id LIMIT 8", ()).expect("rows");
        let text = |i: usize, at: usize| rows[i].text(at).unwrap_or_default();
        let utc = ["2024-01-31 12:00:00+00", "2024-01-31 12:00:00", "2024-01-31", "2024-02-29 12:00:00+00"];
        assert_eq!([0, 1, 2, 3].map(|at| text(0, at)), utc);
        let there = ["2024-01-31 12:00:00+00", "2024-02-01 02:00:00", "2024-02-01", "2024-03-01 02:00:00+14"];
        assert_eq!([0, 1, 2, 3].map(|at| text(4, at)), there);
        assert_eq!([0, 2, 3].map(|at| text(3, at)), ["2024-01-31 00:00:00+00", "2024-01-31", "MMXXIV"]);
        assert_eq!([0, 2, 3].map(|at| text(7, at)), ["2024-01-30 10:00:00+00", "2024-01-31", "MMXXIV"]);
    }
}

/// Times, reals and timestamps of so many digits are the same behind every log and every scheme, and in a checkpoint.
#[test]
fn clocks_and_reals_come_back() {
    for log in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            let disk = SimDisk::new(1);
            let options = || Options::new().log(log).recovery(*scheme);
            let db = options().open_device(disk.device()).expect("opens");
            db.execute_script(
                "CREATE TABLE t (id int PRIMARY KEY, c time, k time(1) NOT NULL, r real, m timestamp(3), z timestamptz(0), i interval(2));
                 CREATE INDEX ON t (k, r);
                 CREATE INDEX ON t (r);
                 CREATE PROCEDURE put(id int, c time, r real, m timestamp, z timestamptz, i interval) LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO t VALUES (id, c, c, r, m, z, i); END $$;
                 CREATE PROCEDURE move(r1 real, by interval) LANGUAGE plpgsql AS $$ BEGIN
                     UPDATE t SET c = c + by, k = k + by, r = r * 1.1::real, m = m + by, z = z + by, i = i + by WHERE r = r1; END $$",
            )
            .expect("creates");
            for call in [
                "put(1, '10:00:00.26', 1.1, '2024-01-01 10:00:00.0006', '2024-01-01 10:00:00.6+00', '1.005 s')",
                "put(2, '24:00', 3.3, '2024-01-01 10:00:00.0004', '2024-01-01 10:00:00.4+00', '1 mon 2.5 s')",
                "put(3, '23:59:59.99', NULL, NULL, NULL, NULL)",
            ] {
                db.execute(&format!("CALL {call}"), ()).expect(call);
            }
            if *scheme == Scheme::ALL[0] {
                db.checkpoint().expect("a checkpoint");
            }
            db.execute("CALL move(1.1::real, '0.0405 s')", ()).expect("moves");
            db.execute("CALL move(3.3::real, '1 hour 0.24 s')", ()).expect("moves");
            let digests = db.digests().expect("digests");
            drop(db);
            let db = options().open_device(disk.device()).expect("opens again");
            db.check().expect("is whole");
            assert_eq!(db.digests().expect("digests"), digests, "{log} {scheme}");
            let rows = db.query("SELECT t::text FROM t ORDER BY id", ()).expect("rows");
            let texts: Vec<_> = rows.iter().map(|row| row.text(0).unwrap_or_default()).collect();
            assert_eq!(
                texts,
                [
                    "(1,10:00:00.3005,10:00:00.3,1.21,\"2024-01-01 10:00:00.042\",\"2024-01-01 10:00:01+00\",00:00:01.05)",
                    "(2,01:00:00.24,01:00:00.2,3.63,\"2024-01-01 11:00:00.24\",\"2024-01-01 11:00:00+00\",\"1 mon 01:00:02.74\")",
                    "(3,23:59:59.99,24:00:00,,,,)",
                ],
                "{log} {scheme}"
            );
        }
    }
}

/// Documents and arrays are the same behind every log and every scheme, and in a checkpoint.
#[test]
fn documents_and_arrays_come_back() {
    for log in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            let disk = SimDisk::new(1);
            let options = || Options::new().log(log).recovery(*scheme);
            let db = options().open_device(disk.device()).expect("opens");
            db.execute_script(
                "CREATE TABLE t (id int PRIMARY KEY, data jsonb NOT NULL, raw json, keys text[], sums numeric[] DEFAULT '{1}', big int8[] DEFAULT '{100,-70000}',
                                 u uuid[] DEFAULT '{c0c1c2c3-ffff-eeee-8080-c8c9cacbcccd}', f float8[] DEFAULT '{1e300,-1.5}',
                                 n int GENERATED ALWAYS AS IDENTITY);
                 CREATE PROCEDURE put(id int, data jsonb, raw json) LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO t (id, data, raw) VALUES (id, data, raw); END $$;
                 CREATE PROCEDURE add(at int, more jsonb, keys text[]) LANGUAGE plpgsql AS $$
                 DECLARE e record; old jsonb;
                 BEGIN
                     SELECT data INTO old FROM t WHERE id = at;
                     FOR e IN SELECT * FROM jsonb_each(more) LOOP
                         UPDATE t SET data = data || jsonb_build_object(e.key, e.value) WHERE id = at;
                     END LOOP;
                     UPDATE t SET data = t.data - add.keys WHERE data @> old AND id <> at;
                     UPDATE t SET keys = t.keys || add.keys, sums = sums || (sums[1] + at * 1.5) WHERE id = at;
                     IF old ? 'n' THEN UPDATE t SET raw = to_json((old ->> 'n')::int + 1) WHERE id = at; END IF;
                 END $$",
            )
            .expect("creates");
            for call in [
                "put(1, '{\"n\": 1, \"b\": 1.50}', '[ 1 ]')",
                "put(2, '{\"n\": 1, \"b\": 1.50, \"c\": null}', NULL)",
                "put(3, '[]', '{\"a\" : \"\\u00e4\"}')",
            ] {
                db.execute(&format!("CALL {call}"), ()).expect(call);
            }
            if *scheme == Scheme::ALL[0] {
                db.checkpoint().expect("a checkpoint");
            }
            db.execute("CALL add(1, '{\"z\": [1, {\"y\": 1e2}], \"b\": 0}', '{b,z}')", ()).expect("adds");
            db.execute("CALL add(2, '{\"n\": 8}', '{n}')", ()).expect("adds");
            db.execute("ALTER TABLE t ADD COLUMN ids int[] DEFAULT '{7,8}'", ()).expect("a column");
            let digests = db.digests().expect("digests");
            drop(db);
            let db = options().open_device(disk.device()).expect("opens again");
            db.check().expect("is whole");
            assert_eq!(db.digests().expect("digests"), digests, "{log} {scheme}");
            let rows =
                db.query("SELECT id, data, raw, keys, sums, ids FROM t ORDER BY id", ()).expect("rows");
            let texts: Vec<_> = rows
                .iter()
                .map(|row| [0, 1, 2, 3, 4, 5].map(|i| row.text(i).unwrap_or_default()).join(" | "))
                .collect();
            assert_eq!(
                texts,
                [
                    "1 | {\"b\": 0, \"n\": 1, \"z\": [1, {\"y\": 100}]} | 2 | {b,z} | {1,2.5} | {7,8}",
                    "2 | {\"c\": null, \"n\": 8} | 2 | {n} | {1,4.0} | {7,8}",
                    "3 | [] | {\"a\" : \"\\u00e4\"} |  | {1} | {7,8}",
                ],
                "{log} {scheme}"
            );
        }
    }
}

/// Enumerated types, with labels that came later, and domains are the same behind every log and every scheme, and in a
/// checkpoint.
#[test]
fn types_of_users_come_back() {
    for log in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            let disk = SimDisk::new(1);
            let options = || Options::new().log(log).recovery(*scheme);
            let db = options().open_device(disk.device()).expect("opens");
            db.execute_script(
                "CREATE TYPE state AS ENUM ('new', 'done');
                 CREATE DOMAIN amount AS numeric(9,2) DEFAULT 1 CHECK (VALUE >= 0);
                 CREATE TABLE job (id int PRIMARY KEY, s state NOT NULL DEFAULT 'new', was state[] DEFAULT '{}', cost amount);
                 CREATE INDEX ON job (s);
                 CREATE TABLE totals (s state PRIMARY KEY, n int);
                 CREATE PROCEDURE put(id int, cost amount) LANGUAGE sql AS 'INSERT INTO job (id, cost) VALUES (id, cost)';
                 CREATE PROCEDURE advance(job_id int, next state) LANGUAGE plpgsql AS $$
                 DECLARE old state; c amount;
                 BEGIN
                     SELECT s, cost INTO old, c FROM job WHERE id = job_id;
                     c := c - 1;
                     UPDATE job SET s = next, was = was || old, cost = c WHERE id = job_id AND s < next;
                     INSERT INTO totals VALUES (next, 1) ON CONFLICT (s) DO UPDATE SET n = totals.n + 1;
                 END $$;
                 CALL put(1, 2); CALL put(2, 0.5); CALL put(3, 9.999);
                 CALL advance(1, 'done')",
            )
            .expect("creates");
            let failed = db.execute("CALL advance(2, 'done')", ()).expect_err("costs less than nothing");
            assert_eq!(failed.sqlstate(), SqlState::CHECK_VIOLATION);
            db.execute("ALTER TYPE state ADD VALUE 'running' BEFORE 'done'", ()).expect("a label");
            if *scheme == Scheme::ALL[0] {
                db.checkpoint().expect("a checkpoint");
            }
            db.execute("CALL advance(3, 'running')", ()).expect("advances");
            db.execute("ALTER TYPE state RENAME VALUE 'done' TO 'finished'", ()).expect("renames");
            db.execute("CALL advance(3, 'finished')", ()).expect("advances");
            db.execute("ALTER TABLE job ADD COLUMN extra amount", ()).expect("a column");
            db.execute("ALTER DOMAIN amount ADD CONSTRAINT most CHECK (VALUE < 100)", ()).expect("holds");
            db.execute("INSERT INTO job (id, s) VALUES (4, 'running')", ()).expect("inserts");
            let digests = db.digests().expect("digests");
            drop(db);
            let db = options().open_device(disk.device()).expect("opens again");
            db.check().expect("is whole");
            assert_eq!(db.digests().expect("digests"), digests, "{log} {scheme}");
            let texts = |sql: &str| -> Vec<String> {
                let rows = db.query(sql, ()).expect("rows");
                rows.iter().map(|row| row.text(0).unwrap_or_default()).collect()
            };
            assert_eq!(
                texts("SELECT (id, s, was, cost, extra)::text FROM job ORDER BY s, id"),
                [
                    "(2,new,{},0.50,1.00)",
                    "(4,running,{},1.00,1.00)",
                    "(1,finished,{new},1.00,1.00)",
                    "(3,finished,\"{new,running}\",8.00,1.00)",
                ],
                "{log} {scheme}"
            );
            assert_eq!(texts("SELECT (s, n)::text FROM totals ORDER BY s"), ["(running,1)", "(finished,2)"]);
            let failed = db.execute("UPDATE job SET cost = 100 WHERE id = 4", ()).expect_err("too much");
            assert_eq!(failed.sqlstate(), SqlState::CHECK_VIOLATION);
        }
    }
}

/// Generated columns are the same behind every log and every scheme, and in a checkpoint.
#[test]
fn generated_columns_come_back() {
    for log in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            let disk = SimDisk::new(1);
            let options = || Options::new().log(log).recovery(*scheme);
            let db = options().open_device(disk.device()).expect("opens");
            db.execute_script(
                "CREATE TABLE t (id int PRIMARY KEY, a int, b int, prod int GENERATED ALWAYS AS (a * b) STORED,
                                 label text GENERATED ALWAYS AS ('n' || a) STORED UNIQUE);
                 CREATE INDEX ON t (prod);
                 CREATE TABLE c (x int REFERENCES t ON UPDATE CASCADE, y int GENERATED ALWAYS AS (x + 1) STORED);
                 CREATE PROCEDURE put(id int, a int, b int) LANGUAGE sql AS 'INSERT INTO t VALUES (id, a, b); INSERT INTO c VALUES (id)';
                 CREATE PROCEDURE raise_all(by int, from_ int) LANGUAGE plpgsql AS $$
                 BEGIN
                     UPDATE t SET b = b + by WHERE prod >= from_;
                     UPDATE t SET id = id + 100 WHERE label = 'n3';
                 END $$;
                 CALL put(1, 2, 3); CALL put(2, 3, 4); CALL put(3, 5, 6)",
            )
            .expect("creates");
            if *scheme == Scheme::ALL[0] {
                db.checkpoint().expect("a checkpoint");
            }
            db.execute("CALL raise_all(10, 12)", ()).expect("calls");
            db.execute("ALTER TABLE t ADD COLUMN more int GENERATED ALWAYS AS (b - a) STORED", ())
                .expect("a column");
            db.execute("UPDATE t SET a = 9 WHERE id = 1", ()).expect("updates");
            let digests = db.digests().expect("digests");
            drop(db);
            let db = options().open_device(disk.device()).expect("opens again");
            db.check().expect("is whole");
            assert_eq!(db.digests().expect("digests"), digests, "{log} {scheme}");
            let rows =
                db.query("SELECT (id, a, b, prod, label, more)::text FROM t ORDER BY id", ()).expect("rows");
            let texts: Vec<String> = rows.iter().map(|row| row.text(0).unwrap_or_default()).collect();
            assert_eq!(
                texts,
                ["(1,9,3,27,n9,-6)", "(3,5,16,80,n5,11)", "(102,3,14,42,n3,11)"],
                "{log} {scheme}"
            );
            let y = db.query("SELECT sum(y) FROM c", ()).expect("rows");
            assert_eq!(y[0].get::<i64>(0).expect("a sum"), 109);
        }
    }
}

/// Indexes over expressions and over some of the rows are the same behind every log and every scheme, and in a checkpoint.
#[test]
fn computed_indexes_come_back() {
    for log in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            let disk = SimDisk::new(1);
            let options = || Options::new().log(log).recovery(*scheme);
            let db = options().open_device(disk.device()).expect("opens");
            db.execute_script(
                "CREATE TABLE t (id int PRIMARY KEY, email text, gone boolean DEFAULT false, n int);
                 CREATE TABLE free (a text, b int);
                 CREATE UNIQUE INDEX by_email ON t (lower(email)) WHERE NOT gone;
                 CREATE UNIQUE INDEX ON free (upper(a), b);
                 CREATE PROCEDURE put(id int, email text) LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO t (id, email, n) VALUES (id, email, id) ON CONFLICT (lower(email)) WHERE NOT gone DO UPDATE SET n = t.n + 100;
                     INSERT INTO free VALUES (email, id);
                 END $$;
                 CREATE PROCEDURE drop_one(mail text) LANGUAGE sql AS 'UPDATE t SET gone = true WHERE lower(email) = lower(mail) AND NOT gone';
                 CALL put(1, 'Ann'); CALL put(2, 'bob'); CALL put(3, 'ANN'); CALL drop_one('aNN'); CALL put(4, 'ann')",
            )
            .expect("creates");
            if *scheme == Scheme::ALL[0] {
                db.checkpoint().expect("a checkpoint");
            }
            db.execute("CREATE INDEX later ON t ((n % 10)) INCLUDE (email)", ()).expect("an index");
            db.execute("CALL put(5, 'BOB')", ()).expect("calls");
            db.execute("ALTER TABLE t ADD COLUMN more int DEFAULT 3", ()).expect("a column");
            db.execute("CALL put(6, 'cy')", ()).expect("calls");
            db.execute("DROP INDEX later", ()).expect("drops");
            db.execute("CALL drop_one('CY')", ()).expect("calls");
            let digests = db.digests().expect("digests");
            drop(db);
            let db = options().open_device(disk.device()).expect("opens again");
            db.check().expect("is whole");
            assert_eq!(db.digests().expect("digests"), digests, "{log} {scheme}");
            let rows =
                db.query("SELECT (id, email, gone, n, more)::text FROM t ORDER BY id", ()).expect("rows");
            let texts: Vec<String> = rows.iter().map(|row| row.text(0).unwrap_or_default()).collect();
            let expected = ["(1,Ann,t,101,3)", "(2,bob,f,102,3)", "(4,ann,f,4,3)", "(6,cy,t,6,3)"];
            assert_eq!(texts, expected, "{log} {scheme}");
            let failed = db.execute("INSERT INTO t (id, email) VALUES (9, 'BOB')", ()).expect_err("is taken");
            assert_eq!(failed.sqlstate(), SqlState::UNIQUE_VIOLATION);
        }
    }
}

/// The same of keys for which NULLs are equal, of tables like others, of keys that set some columns, of elements of arrays
/// and of what a handler asks of an error.
#[test]
fn equal_nulls_elements_and_diagnostics_come_back() {
    for log in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            let disk = SimDisk::new(1);
            let options = || Options::new().log(log).recovery(*scheme);
            let db = options().open_device(disk.device()).expect("opens");
            db.execute_script(
                "CREATE TABLE proto (id serial PRIMARY KEY, a int, b text DEFAULT 'd', hits int[] DEFAULT '{0,0}', UNIQUE NULLS NOT DISTINCT (a, b));
                 CREATE TABLE t (LIKE proto INCLUDING ALL);
                 CREATE TABLE owner (tenant int, id int, PRIMARY KEY (tenant, id));
                 CREATE TABLE thing (id int PRIMARY KEY, tenant int, o int, FOREIGN KEY (tenant, o) REFERENCES owner ON DELETE SET NULL (o));
                 CREATE TABLE told (n int GENERATED ALWAYS AS IDENTITY, what text);
                 INSERT INTO owner VALUES (1, 1), (1, 2);
                 INSERT INTO thing VALUES (1, 1, 1), (2, 1, 2);
                 CREATE PROCEDURE put(x int, y text) LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO t (a, b) VALUES (x, y) ON CONFLICT (a, b) DO UPDATE SET hits[1] = t.hits[1] + 1, hits[2] = t.id;
                 END $$;
                 CREATE PROCEDURE must(x int, y text) LANGUAGE plpgsql AS $$ DECLARE c text; d text; BEGIN
                     INSERT INTO t (a, b) VALUES (x, y);
                 EXCEPTION WHEN unique_violation THEN
                     GET STACKED DIAGNOSTICS c = CONSTRAINT_NAME, d = PG_EXCEPTION_DETAIL;
                     INSERT INTO told (what) VALUES (c || ': ' || d);
                 END $$;
                 CREATE PROCEDURE gone(x int) LANGUAGE sql AS 'DELETE FROM owner WHERE id = x';
                 CALL put(1, NULL); CALL put(NULL, NULL); CALL put(1, NULL); CALL must(NULL, NULL); CALL gone(1)",
            )
            .expect("creates");
            if *scheme == Scheme::ALL[0] {
                db.checkpoint().expect("a checkpoint");
            }
            db.execute_script(
                "CALL put(NULL, NULL); CALL put(NULL, 'x'); CALL must(1, NULL); CALL must(2, NULL)",
            )
            .expect("calls");
            db.execute("ALTER TABLE t ADD COLUMN more int DEFAULT 3", ()).expect("a column");
            db.execute_script("CALL put(NULL, NULL); CALL put(1, NULL); CALL gone(2)").expect("calls");
            let digests = db.digests().expect("digests");
            drop(db);
            let db = options().open_device(disk.device()).expect("opens again");
            db.check().expect("is whole");
            assert_eq!(db.digests().expect("digests"), digests, "{log} {scheme}");
            let texts = |sql: &str| -> Vec<String> {
                let rows = db.query(sql, ()).expect("rows");
                rows.iter().map(|row| row.text(0).unwrap_or_default()).collect()
            };
            let rows = texts("SELECT (a, b, hits, more)::text FROM t ORDER BY a NULLS FIRST, b NULLS FIRST");
            let expected = ["(,,\"{2,2}\",3)", "(,x,\"{0,0}\",3)", "(1,,\"{2,1}\",3)", "(2,,\"{0,0}\",3)"];
            assert_eq!(rows, expected, "{log} {scheme}");
            let told = texts("SELECT what FROM told ORDER BY n");
            let expected = [
                "t_a_b_key: Key (a, b)=(null, null) already exists.",
                "t_a_b_key: Key (a, b)=(1, null) already exists.",
            ];
            assert_eq!(told, expected, "{log} {scheme}");
            assert_eq!(texts("SELECT (tenant, o)::text FROM thing"), ["(1,)", "(1,)"], "{log} {scheme}");
        }
    }
}

#[test]
fn what_functions_and_sequences_say_of_themselves_comes_back() {
    let shown = |db: &Database| -> Vec<String> {
        let rows = db.query(
            "SELECT pg_get_functiondef('f(int)'::regprocedure) || (SELECT string_agg(seqcache::text, ',' ORDER BY seqrelid) FROM pg_sequence)
             || string_agg(s::text, ',') || f(1) FROM kept",
            (),
        );
        rows.expect("rows").iter().map(|row| row.text(0).unwrap_or_default()).collect()
    };
    for with_checkpoint in [false, true] {
        let disk = SimDisk::new(1);
        let options = || Options::new().log(LogKind::Command);
        let db = options().open_device(disk.device()).expect("opens");
        db.execute_script(
            "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 2.5 LEAKPROOF AS 'SELECT $1';
             ALTER FUNCTION f(int) PARALLEL RESTRICTED;
             CREATE AGGREGATE f(text) (SFUNC = textcat, STYPE = text);
             CREATE SEQUENCE s CACHE 7;
             CREATE TABLE kept (id int GENERATED ALWAYS AS IDENTITY (CACHE 3) PRIMARY KEY, s bytea);
             CREATE PROCEDURE put(a bytea, b text) LANGUAGE plpgsql AS $$ BEGIN
                 INSERT INTO kept (s) SELECT string_agg(x, btrim(a, '\\x00'::bytea) ORDER BY x) FROM (VALUES (a), ('\\x02')) v(x);
                 INSERT INTO kept (s) SELECT convert_to(unistr(parse_ident[1]), 'UTF8') FROM parse_ident(b) WHERE f(pg_size_bytes('1 kB')::int) = 1024;
             END $$",
        )
        .expect("creates");
        if with_checkpoint {
            db.checkpoint().expect("a checkpoint");
        }
        db.execute_script("ALTER SEQUENCE s CACHE 9; CALL put('\\x0001', 'A.b')").expect("a call");
        let before = shown(&db);
        assert!(before[0].contains("PARALLEL RESTRICTED LEAKPROOF COST 2.5"), "{before:?}");
        assert!(before[0].contains("$function$\n9,3"), "{before:?}");
        drop(db);
        assert_eq!(records(&disk).last(), Some(&"call"), "with a checkpoint: {with_checkpoint}");
        let db = options().open_device(disk.device()).expect("opens again");
        db.check().expect("is whole");
        assert_eq!(shown(&db), before, "with a checkpoint: {with_checkpoint}");
    }
}

/// Runs a script and then `run`, under a log of calls and one of rows; every scheme brings the same rows back, and `check` is
/// asked of each.
pub(crate) fn replayed_by_all(script: &str, run: &dyn Fn(&Database), check: &dyn Fn(&Database)) {
    for kind in [LogKind::Command, LogKind::Logical] {
        let disk = SimDisk::new(7);
        let open = |scheme: Scheme| {
            let options = Options::new().log(kind).recovery(scheme).recovery_threads(2);
            options.open_device(disk.device()).unwrap_or_else(|e| panic!("{kind:?}, {scheme:?}: {e:?}"))
        };
        let db = open(Scheme::Clr);
        db.execute_script(script).expect("runs");
        run(&db);
        check(&db);
        let digests = db.digests().expect("reads");
        db.close().expect("closes");
        for scheme in Scheme::ALL.iter().copied() {
            let db = open(scheme);
            assert_eq!(db.digests().expect("reads"), digests, "{kind:?}, {scheme:?}");
            db.check().expect("rows and indexes agree");
            check(&db);
        }
    }
}
