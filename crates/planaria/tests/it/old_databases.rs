//! Directories that older versions wrote, as they wrote them: `tests/formats`. `before-intervals` is from when an interval was
//! a number of microseconds, 8 bytes in a row; `SCRIPT` made them, with `CALL put(7)` in `call` and `checkpoint`, and with a
//! CHECKPOINT at the end in the latter. `reads-after` is from when what RETURNING and ON CONFLICT ask of the table for each row saw what the
//! statement had changed so far; `READS_AFTER` made it. `former-keys` is from when keys of indexes saw no generated columns, a real was
//! the double precision that its text says, and BETWEEN SYMMETRIC passed over a NULL; `FORMER_KEYS` made it. `renamed-schema` is from
//! when bodies did not follow where a schema was renamed, and `inet_client_port` was nobody's name; `RENAMED_SCHEMA` made it.
//! `rows-of-then` is from when a row of NULLs that a function answers with, or that is passed, was NULL, and AFTER triggers of changes
//! in WITH fired in routines when their part ended; `ROWS_OF_THEN` made it. `elements-of-then` is from when what routines assigned to
//! an element of an array column kept its length and scale; `ELEMENTS_OF_THEN` made it. `windows-of-then` is from when a window could take
//! one with a frame, and DEFAULT VALUES could stand behind a list of columns; `WINDOWS_OF_THEN` made it. (A trigger of a table whose rows a foreign key
//! deletes has the name of a function that is never called in its text: calls that fire it are logged as such.)

mod formats;

use planaria::{Database, Options, Scheme, SqlState};
use std::path::Path;

/// What was executed then.
const SCRIPT: &str = "
    create table t (k int primary key, v interval, w interval not null default '2 hours', n text);
    create index tv on t (v);
    insert into t values (1, '1 day', '25 hours', 'a'), (2, '-3 days 02:30', default, 'b'), (3, null, '0', 'c');
    update t set v = v * 2 where k = 1;
    alter table t add column x interval default '36 hours';
    create procedure put(a int) language plpgsql as $$ begin insert into t (k, n) values (a, 'put'); end $$;
    create table u as select k, v from t;
    delete from t where k = 3;";

/// What was executed in `reads-after`.
const READS_AFTER: &str = "
    create table t (k int primary key, v int);
    create table seen (k int, was bigint);
    create procedure raise_all(more int) language plpgsql as $$
    begin
        with u as (update t set v = v + more returning k, (select sum(x.v) from t x where x.k <= t.k) as was)
        insert into seen select k, was from u;
    end $$;
    create procedure put(n int) language plpgsql as $$
    begin
        insert into t values (n, 1), (n + 1, 1) on conflict (k)
            do update set v = t.v + (select sum(x.v) from t x where x.k <= excluded.k);
    end $$;
    insert into t values (1, 10), (2, 20), (3, 30);
    call raise_all(1);
    call put(2);
    call raise_all(2);";

/// What was executed in `former-keys`.
const FORMER_KEYS: &str = "
    create table g (k int primary key, v int, w int generated always as (v % 5) stored);
    create unique index g_u on g (v) where w > 1;
    create index g_w on g ((w * 2));
    create table h (k int primary key, r real, f float8, s text generated always as (r::float8::text) stored);
    create index h_r on h ((r::float8::text));
    create table notes (what text);
    insert into h (k, r, f) values (7, 0.3, 0.3);
    create procedure keep(x int) language plpgsql as $$
    begin
        insert into g (k, v) values (x, 2);
        insert into notes select 'found ' || count(*) from g where v = 2 and w > 1;
        insert into notes select 'found ' || count(*) from g where w * 2 = 4;
    end $$;
    create procedure reals(x int) language plpgsql as $$
    declare r real := 0.1;
    begin
        insert into h (k, r, f) values (x, r, r);
        insert into notes values (r::float8::text || ' ' || to_json(r::float8) || ' ' || r::float8::numeric);
        update h set f = f + 10 where h.r::float8::text = '0.1';
        delete from h where h.r::float8::text = '0.3';
    end $$;
    create procedure between_bounds(x int, lo int) language plpgsql as $$
    begin insert into notes values (coalesce((x between symmetric lo and 3)::text, 'unknown')); end $$;
    call keep(1);
    call keep(2);
    call reals(1);
    call reals(2);
    call between_bounds(5, null);
    update g set v = 12 where k = 2;";

/// What was executed in `renamed-schema`.
const RENAMED_SCHEMA: &str = "
    create schema live;
    create table live.t (a int primary key);
    create table log (what text);
    create function inet_client_port() returns int language sql as $$ select 78 $$;
    create procedure put(x int) begin atomic insert into live.t values (x); end;
    create function rows_there() returns bigint language sql begin atomic select count(*) from live.t; end;
    create procedure note() language plpgsql as $$ begin insert into log values (inet_client_port() || ', ' || rows_there()); end $$;
    call put(1);
    call note();
    alter schema live rename to old;
    create schema live;
    create table live.t (a int primary key);
    call put(2);
    call put(3);
    call note();";

/// What was executed in `rows-of-then`.
const ROWS_OF_THEN: &str = "
    create type st as (a int, b text);
    create table t (k int primary key);
    create table u (k int primary key);
    create table log (what text);
    create function told() returns trigger language plpgsql as $$
    begin
        insert into log values (tg_table_name || ': ' || (select count(*) from t) || ', ' || (select count(*) from u));
        return null;
    end $$;
    create trigger t_after after insert on t for each row execute function told();
    create trigger u_after after insert on u for each row execute function told();
    create function no_row() returns st language plpgsql as $$ begin return null; end $$;
    create function nulls() returns st language sql as $$ select row(null, null)::st $$;
    create function shown(x st) returns text language plpgsql as $$ begin return coalesce(x::text, 'none'); end $$;
    create procedure put(x int) language plpgsql as $$
    begin
        with a as (insert into t values (x) returning k) insert into u select k from a;
    end $$;
    create procedure note() language plpgsql as $$
    declare r record; s st;
    begin
        r := no_row();
        s := row(null, null);
        insert into log values (coalesce(r::text, 'none') || ' ' || coalesce(nulls()::text, 'none') || ' ' || shown(s));
    end $$;
    call put(1);
    call note();
    call put(2);";

/// What was executed in `elements-of-then`.
const ELEMENTS_OF_THEN: &str = "
    create table va (id int primary key, v varchar(3)[], n numeric(4,1)[]);
    create table log (id serial, what text);
    create table t (k int primary key, w int);
    insert into va values (1, '{a}', '{1}');
    insert into t values (1, 1), (2, 2), (3, 3);
    create function noted(k int) returns boolean language plpgsql as $$ begin insert into log (what) values ('asked ' || k); return true; end $$;
    create procedure set_parts(x text, y numeric) language plpgsql as $$ begin update va set v[2] = x, n[2] = y where id = 1; end $$;
    create procedure asks(m int) language plpgsql as $$ begin perform 1 from t where noted(w) and k = w + m - 1 + (select count(*) from log where what = 'go'); delete from t where k = m; end $$;
    create function told() returns trigger language plpgsql as $$ begin insert into log (what) values (tg_op || ' ' || old.k); return old; end $$;
    create trigger told before delete on t for each row execute function told();
    call set_parts('b', 2.345);
    call asks(1);
    create table p (id int primary key);
    create table c (id int primary key, p int references p on delete cascade);
    create function gone() returns trigger language plpgsql as $$ begin
      -- if pg_trigger_depth() > 1 then return old; end if;
      insert into log (what) values ('gone ' || old.id); return old; end $$;
    create trigger gone before delete on c for each row execute function gone();
    create procedure del(n int) language plpgsql as $$ begin delete from p where id = n; end $$;
    insert into p values (1), (2);
    insert into c values (1, 1), (2, 2), (3, 2);
    call del(2);
    insert into log (what) select v::text || n::text from va;";

/// What was executed in `windows-of-then`.
const WINDOWS_OF_THEN: &str = "
    create table t (k int primary key, v int);
    insert into t values (1, 10), (2, 20), (3, 30), (4, 40);
    create table s as select k, sum(v) over (w) as total from t window w as (order by k rows 1 preceding);
    create materialized view m as select k, sum(v) over (w) as total from t window w as (order by k rows 1 preceding);
    create table i (a int default 7, b int default 8);
    create table d as with x as (insert into i (a) default values returning a, b) select * from x;
    insert into t values (5, 50);
    refresh materialized view m;
    create policy p on t using (v in (select max(total) over (w) from s window w as (order by k rows 1 preceding)));";

fn copy_of(name: &str) -> tempfile::TempDir {
    copy_from(&format!("before-intervals/{name}"))
}

fn copy_from(directory: &str) -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(directory);
    let to = tempfile::tempdir().expect("a directory");
    for file in std::fs::read_dir(from).expect("the directory is there") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), to.path().join(file.file_name())).expect("copies");
    }
    to
}

fn open(path: &Path, scheme: Scheme) -> planaria::Result<Database> {
    Options::new().recovery(scheme).open(path)
}

fn rows(db: &Database, query: &str) -> Vec<String> {
    let rows = db.query(query, ()).expect(query);
    rows.iter()
        .map(|row| {
            (0..row.values().len()).map(|i| row.text(i).unwrap_or_default()).collect::<Vec<_>>().join("|")
        })
        .collect()
}

const T: &str = "SELECT k, v, w, n, x FROM t ORDER BY k";

#[test]
fn intervals_of_before_are_read_and_gone_on_with() {
    for (name, put) in [("log", false), ("checkpoint", true)] {
        for scheme in [Scheme::Clr, Scheme::Regrow] {
            let dir = copy_of(name);
            let db = open(dir.path(), scheme).expect(name);
            let mut expected = vec![
                "1|2 days|1 day 01:00:00|a|1 day 12:00:00",
                "2|-2 days -21:30:00|02:00:00|b|1 day 12:00:00",
            ];
            if put {
                expected.push("7||02:00:00|put|1 day 12:00:00");
            }
            assert_eq!(rows(&db, T), expected, "{name}");
            assert_eq!(rows(&db, "SELECT k FROM t WHERE v = '48 hours'"), ["1"]);
            assert_eq!(rows(&db, "SELECT k FROM t WHERE v < '1 mon' ORDER BY v"), ["2", "1"]);
            assert_eq!(rows(&db, "SELECT count(*), sum(v) FROM u").len(), 1);
            // There is no room for months, but for all else.
            let error = db.execute("UPDATE t SET v = '1 mon' WHERE k = 1", ()).expect_err("no room");
            assert_eq!(error.sqlstate(), SqlState::INTERVAL_FIELD_OVERFLOW);
            assert!(error.fields().hint.is_some());
            db.execute("UPDATE t SET v = v + '30 hours', w = '1 day' WHERE k = 1", ()).expect("updates");
            db.execute("CALL put(8)", ()).expect("calls");
            db.execute("ALTER TABLE u ALTER COLUMN v TYPE interval", ()).expect("makes room");
            db.execute("UPDATE u SET v = '1 year 25 hours' WHERE k = 2", ()).expect("there is room");
            db.execute("CREATE TABLE s (v interval)", ()).expect("creates");
            db.execute("INSERT INTO s SELECT '14 mons' FROM t WHERE k = 1", ()).expect("inserts");
            let (t, u) = (rows(&db, T), rows(&db, "SELECT k, v FROM u ORDER BY k"));
            assert!(t.contains(&"1|3 days 06:00:00|1 day|a|1 day 12:00:00".to_owned()), "{t:?}");
            assert!(t.contains(&"8||02:00:00|put|1 day 12:00:00".to_owned()), "{t:?}");
            assert!(u.contains(&"2|1 year 25:00:00".to_owned()), "{u:?}");
            db.close().expect("closes");
            for scheme in [Scheme::Regrow, Scheme::Clr] {
                let db = open(dir.path(), scheme).expect("opens again");
                assert_eq!(
                    (rows(&db, T), rows(&db, "SELECT k, v FROM u ORDER BY k")),
                    (t.clone(), u.clone())
                );
                assert_eq!(rows(&db, "SELECT v FROM s"), ["1 year 2 mons"]);
                db.execute("CHECKPOINT", ()).expect("a checkpoint");
                db.close().expect("closes");
            }
        }
    }
}

/// What they computed with intervals they would compute otherwise today.
#[test]
fn calls_of_before_that_compute_with_intervals_are_refused() {
    let dir = copy_of("call");
    let error = open(dir.path(), Scheme::Regrow).map(drop).expect_err("refused");
    assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
    assert!(error.message().contains("calls of put"), "{error}");
    assert!(error.fields().hint.as_deref().is_some_and(|hint| hint.contains("CHECKPOINT")));
}

#[test]
fn the_script_makes_the_same_today() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCRIPT).expect("the script");
    // Hours are no days any more.
    assert_eq!(rows(&db, T), ["1|2 days|25:00:00|a|36:00:00", "2|-3 days +02:30:00|02:00:00|b|36:00:00"]);
}

/// Calls of routines from then are replayed as they ran, and these routines go on so until they are created anew.
#[test]
fn what_returning_asked_saw_the_changes_then() {
    let dir = copy_from("reads-after");
    const T: &str = "SELECT k, v FROM t ORDER BY k";
    const SEEN: &str = "SELECT k, was FROM seen ORDER BY k, was";
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(dir.path(), scheme).expect("opens");
        assert_eq!(rows(&db, T), ["1|13", "2|55", "3|128"], "{scheme:?}");
        assert_eq!(rows(&db, SEEN), ["1|11", "1|13", "2|32", "2|68", "3|63", "3|196"], "{scheme:?}");
        db.close().expect("closes");
    }
    let db = open(dir.path(), Scheme::Regrow).expect("opens");
    db.execute_script("DELETE FROM seen; CALL raise_all(1)").expect("calls");
    let after = ["1|14", "2|70", "3|199"];
    assert_eq!(rows(&db, SEEN), after);
    db.execute("CHECKPOINT", ()).expect("a checkpoint");
    db.close().expect("closes");
    let db = open(dir.path(), Scheme::Regrow).expect("opens");
    assert_eq!(rows(&db, SEEN), after);
    let anew = READS_AFTER.split("create procedure").nth(1).expect("it is there");
    db.execute_script(&format!("DELETE FROM seen; CREATE OR REPLACE PROCEDURE{anew} CALL raise_all(0)"))
        .expect("anew");
    db.close().expect("closes");
    let db = open(dir.path(), Scheme::Clr).expect("opens");
    assert_eq!(rows(&db, SEEN), ["1|14", "2|70", "3|199"]);
    db.execute_script("DELETE FROM seen; CALL raise_all(1)").expect("calls");
    assert_eq!(rows(&db, SEEN), ["1|14", "2|70", "3|199"]);
}

#[test]
fn what_returning_asks_is_of_before_today() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(READS_AFTER).expect("the script");
    assert_eq!(rows(&db, "SELECT k, v FROM t ORDER BY k"), ["1|13", "2|55", "3|96"]);
    let seen = rows(&db, "SELECT k, was FROM seen ORDER BY k, was");
    assert_eq!(seen, ["1|10", "1|11", "2|30", "2|64", "3|60", "3|158"]);
}

/// Keys of then stay what they were, which nothing of today asks any more; calls are replayed as they ran.
#[test]
fn keys_and_reals_of_then_go_on_as_they_were() {
    let dir = copy_from("former-keys");
    const G: &str = "SELECT k, v, w FROM g ORDER BY k";
    const H: &str = "SELECT k, r, f, s FROM h ORDER BY k";
    const NOTES: &str = "SELECT what FROM notes";
    let found = ["found 0", "found 0", "found 0", "found 0", "0.1 0.1 0.1", "0.1 0.1 0.1", "false"];
    let of_h = ["1|0.1|20.100000001490116|0.1", "2|0.1|10.100000001490116|0.1"];
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(dir.path(), scheme).expect("opens");
        assert_eq!(rows(&db, G), ["1|2|2", "2|12|2"], "{scheme:?}");
        assert_eq!(rows(&db, H), of_h, "{scheme:?}");
        assert_eq!(rows(&db, NOTES), found, "{scheme:?}");
        db.close().expect("closes");
    }
    for checkpointed in [false, true] {
        let db = open(dir.path(), Scheme::Regrow).expect("opens");
        // What is asked today is right, whatever the keys are.
        assert_eq!(rows(&db, "SELECT k FROM g WHERE v = 2 AND w > 1"), ["1"], "{checkpointed}");
        assert_eq!(rows(&db, "SELECT k FROM g WHERE w * 2 = 4 ORDER BY k"), ["1", "2"], "{checkpointed}");
        let exact = "SELECT k FROM h WHERE r::float8::text = '0.10000000149011612' ORDER BY k";
        assert_eq!(rows(&db, exact), ["1", "2"], "{checkpointed}");
        assert_eq!(rows(&db, "SELECT k FROM h WHERE r::float8::text = '0.1'"), [""; 0], "{checkpointed}");
        db.execute("CHECKPOINT", ()).expect("a checkpoint");
        db.close().expect("closes");
    }
    // An index that is made anew has the keys of today.
    let db = open(dir.path(), Scheme::Regrow).expect("opens");
    db.execute_script(
        "DROP INDEX g_u; CREATE UNIQUE INDEX g_u ON g (v) WHERE w > 1; INSERT INTO g (k, v) VALUES (3, 7)",
    )
    .expect("anew");
    let error = db.execute("INSERT INTO g (k, v) VALUES (4, 7)", ()).expect_err("it is there");
    assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION);
}

#[test]
fn keys_and_reals_are_of_today() {
    let db = Database::in_memory().expect("opens");
    let (made, calls) = FORMER_KEYS.split_once("call keep(2)").expect("it is there");
    db.execute_script(made).expect("the script");
    let error = db.execute("CALL keep(2)", ()).expect_err("its key is there");
    assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION);
    db.execute_script(calls.trim_start_matches(';')).expect("the rest");
    assert_eq!(
        rows(&db, "SELECT what FROM notes"),
        [
            "found 1",
            "found 1",
            "0.10000000149011612 0.10000000149011612 0.100000001490116",
            "0.10000000149011612 0.10000000149011612 0.100000001490116",
            "unknown"
        ]
    );
    assert_eq!(
        rows(&db, "SELECT k, s FROM h ORDER BY k"),
        ["1|0.10000000149011612", "2|0.10000000149011612", "7|0.30000001192092896"]
    );
}

/// Calls of before and after the schema was renamed, of routines that name it.
#[test]
fn bodies_did_not_follow_where_a_schema_was_renamed() {
    let tables = |db: &Database| {
        [
            "SELECT a FROM old.t ORDER BY a",
            "SELECT a FROM live.t ORDER BY a",
            "SELECT what FROM log ORDER BY what",
        ]
        .map(|query| rows(db, query))
    };
    let dir = copy_from("renamed-schema");
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(dir.path(), scheme).expect("opens");
        assert_eq!(tables(&db), [vec!["1"], vec!["2", "3"], vec!["78, 1", "78, 2"]], "{scheme:?}");
        // Today they do.
        let db = Database::in_memory().expect("opens");
        db.execute_script(RENAMED_SCHEMA).expect("the script");
        assert_eq!(tables(&db), [vec!["1", "2", "3"], vec![], vec!["78, 1", "78, 3"]]);
    }
}

/// Calls of routines that pass rows of NULLs, and change two tables in one statement, of which each has a trigger.
#[test]
fn rows_of_nulls_were_none_and_parts_fired_their_triggers() {
    let said = |db: &Database| rows(db, "SELECT what FROM log");
    let dir = copy_from("rows-of-then");
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(dir.path(), scheme).expect("opens");
        let then = ["t: 1, 0", "u: 1, 1", "(,) none none", "t: 2, 1", "u: 2, 2"];
        assert_eq!(said(&db), then, "{scheme:?}");
        // A routine goes on so until it is created again.
        db.execute_script("DELETE FROM log; CALL put(3); CALL note();").expect("calls");
        assert_eq!(said(&db), ["t: 3, 2", "u: 3, 3", "(,) none none"], "{scheme:?}");
        db.execute_script(
            "DELETE FROM log; DELETE FROM u; DELETE FROM t; CALL put(1); CALL note(); CALL put(2);",
        )
        .expect("calls");
        assert_eq!(said(&db), then, "{scheme:?}");
    }
    // Those of today tell them apart, and are replayed so.
    let dir = tempfile::tempdir().expect("a directory");
    let db = open(dir.path(), Scheme::Clr).expect("opens");
    db.execute_script(ROWS_OF_THEN).expect("the script");
    let today = ["t: 1, 1", "u: 1, 1", "none (,) (,)", "t: 2, 2", "u: 2, 2"];
    assert_eq!(said(&db), today);
    drop(db);
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(dir.path(), scheme).expect("opens");
        assert_eq!(said(&db), today, "{scheme:?}");
    }
}

/// Calls of a routine that assigns an element that has too many digits, of one with a trigger and a condition that calls, and of
/// one whose deletion cascades.
#[test]
fn elements_kept_their_digits() {
    let said = |db: &Database| rows(db, "SELECT what FROM log ORDER BY id");
    let asked = ["asked 1", "asked 2", "asked 3", "DELETE 1", "gone 2", "gone 3"];
    let then = [&asked[..], &["{a,b}{1.0,2.345}"]].concat();
    let dir = copy_from("elements-of-then");
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(dir.path(), scheme).expect("opens");
        assert_eq!(said(&db)[..7], then, "{scheme:?}");
        // A routine goes on so until it is created again.
        db.execute_script("CALL set_parts('b', 4.567);").expect("calls");
        assert_eq!(rows(&db, "SELECT n::text FROM va"), ["{1.0,4.567}"], "{scheme:?}");
    }
    // Those of today do not, and are replayed so.
    let dir = tempfile::tempdir().expect("a directory");
    let db = open(dir.path(), Scheme::Clr).expect("opens");
    db.execute_script(ELEMENTS_OF_THEN).expect("the script");
    let today = [&asked[..], &["{a,b}{1.0,2.3}"]].concat();
    assert_eq!(said(&db), today);
    drop(db);
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(dir.path(), scheme).expect("opens");
        assert_eq!(said(&db), today, "{scheme:?}");
    }
}

#[test]
fn changes_of_the_schema_are_taken_as_they_were() {
    let totals =
        |db: &Database, of: &str| rows(db, &format!("SELECT k || ' ' || total FROM {of} ORDER BY k"));
    let check = |db: &Database, what: &str| {
        assert_eq!(totals(db, "s"), ["1 10", "2 30", "3 50", "4 70"], "{what}");
        assert_eq!(totals(db, "m"), ["1 10", "2 30", "3 50", "4 70", "5 90"], "{what}");
        assert_eq!(rows(db, "SELECT a || ' ' || b FROM d"), ["7 8"], "{what}");
    };
    let dir = copy_from("windows-of-then");
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(dir.path(), scheme).expect("opens");
        check(&db, &format!("{scheme:?}"));
    }
    let db = open(dir.path(), Scheme::Clr).expect("opens");
    db.execute_script("REFRESH MATERIALIZED VIEW m").expect("its query is what it was");
    check(&db, "refreshed");
    drop(db);
    // Those of today as well, as long as logs cannot tell.
    let dir = tempfile::tempdir().expect("a directory");
    let db = open(dir.path(), Scheme::Clr).expect("opens");
    db.execute_script(WINDOWS_OF_THEN).expect("the script");
    check(&db, "today");
    drop(db);
    check(&open(dir.path(), Scheme::Clr).expect("opens"), "today, replayed");
    // A statement is told.
    let db = Database::in_memory().expect("opens");
    db.execute_script("CREATE TABLE t (k int, v int)").expect("a table");
    for (sql, state) in [
        ("SELECT sum(v) OVER (w) FROM t WINDOW w AS (ORDER BY k ROWS 1 PRECEDING)", "42P20"),
        ("INSERT INTO t (k) DEFAULT VALUES", "42601"),
    ] {
        assert_eq!(db.execute(sql, ()).expect_err(sql).sqlstate().as_str(), state, "{sql}");
    }
}
