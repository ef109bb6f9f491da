//! Procedures whose cut once took for granted what need not be so, each in its smallest form: every scheme restores what they did.

use crate::cut_shapes::comes_back;
use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme};
use planaria_sim::disk::SimDisk;

/// Runs a script in one session, `more` behind it, and recovers by every scheme.
fn restored(script: &str, more: &str) {
    let disk = SimDisk::new(5);
    let open = |scheme: Scheme| {
        let options = Options::new().log(LogKind::Command).recovery(scheme).recovery_threads(2);
        options.open_device(disk.device()).unwrap_or_else(|e| panic!("{scheme:?}: {e:?}\n{script}"))
    };
    let db = open(Scheme::Clr);
    let mut session = db.session().expect("a seat");
    session.execute_script(script).unwrap_or_else(|e| panic!("{e:?}\n{script}"));
    session.execute_script(more).unwrap_or_else(|e| panic!("{e:?}\n{more}"));
    drop(session);
    comes_back(db, None, &open, script);
}

/// A guard says something of the calls that have met it: those that left before have not.
#[test]
fn a_guard_behind_a_jump_says_nothing() {
    let table = "CREATE TABLE seen (k int PRIMARY KEY, f bool, t text, n int);";
    restored(
        &format!(
            "{table} CREATE PROCEDURE p(id int, c bool, x bool) LANGUAGE plpgsql AS $$
            DECLARE ok bool;
            BEGIN
                IF c THEN ok := true; INSERT INTO seen VALUES (id, ok, 'good');
                ELSE ok := false; INSERT INTO seen VALUES (id, ok, 'bad'); END IF;
                IF x THEN RETURN; END IF;
                IF NOT ok THEN RAISE EXCEPTION 'refused'; END IF;
            END $$;"
        ),
        "CALL p(1, true, true); CALL p(2, false, true); CALL p(3, true, false); CALL p(4, false, true)",
    );
    restored(
        &format!(
            "{table} CREATE PROCEDURE p(id int, q bool, z int) LANGUAGE plpgsql AS $$
            DECLARE b bool; n int := 0;
            BEGIN
                FOR i IN 1..z LOOP
                    b := q;
                    IF i = 2 THEN b := true; n := n + 1; END IF;
                    CONTINUE WHEN i < 3;
                    IF b THEN RAISE EXCEPTION 'no'; END IF;
                    n := n + 10;
                END LOOP;
                INSERT INTO seen VALUES (id, b, '', n);
            END $$;"
        ),
        "CALL p(1, false, 4); CALL p(2, false, 2); CALL p(3, false, 3)",
    );
    restored(
        &format!(
            "{table} CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t SELECT g, g * 10 FROM generate_series(1, 9) g;
            CREATE PROCEDURE p(id int, k int, x bool) LANGUAGE plpgsql AS $$
            DECLARE v int;
            BEGIN
                LOOP
                    SELECT b INTO v FROM t WHERE a = k;
                    EXIT WHEN x;
                    IF NOT FOUND THEN RAISE EXCEPTION 'no'; END IF;
                    UPDATE t SET b = b + 1 WHERE a = k;
                    EXIT;
                END LOOP;
                INSERT INTO seen VALUES (id, FOUND, '', v);
            END $$;"
        ),
        "CALL p(1, 5, true); CALL p(2, 55, true); CALL p(3, 5, false); CALL p(4, 5, true); CALL p(5, 56, true)",
    );
}

/// A plan runs before the pieces: what a call reads of the rows that it has put in itself is not there yet.
#[test]
fn a_bulk_load_reads_its_own_rows() {
    let tables = "CREATE TABLE s (k int PRIMARY KEY, v int); CREATE TABLE a (k int PRIMARY KEY, v int);
        INSERT INTO a SELECT g, 0 FROM generate_series(1, 30) g;";
    restored(
        &format!(
            "{tables} CREATE PROCEDURE post(e int) LANGUAGE plpgsql AS $$
            DECLARE x int;
            BEGIN SELECT v INTO x FROM s WHERE k = e; UPDATE a SET v = v + 1 WHERE k = x; END $$;
            CREATE PROCEDURE load(f int, n int) LANGUAGE plpgsql AS $$
            BEGIN FOR i IN f..n LOOP INSERT INTO s VALUES (i, i * 2); END LOOP; CALL post(n); END $$;"
        ),
        "CALL load(1, 5); CALL load(6, 8); CALL post(2)",
    );
    restored(
        &format!(
            "{tables} CREATE FUNCTION load(f int, n int) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN FOR i IN f..n LOOP INSERT INTO s VALUES (i, i * 2); END LOOP; END $$;
            CREATE PROCEDURE both_of(f int, n int) LANGUAGE plpgsql AS $$
            DECLARE x int;
            BEGIN PERFORM load(f, n); SELECT v INTO x FROM s WHERE k = n; UPDATE a SET v = v + 1 WHERE k = x; END $$;"
        ),
        "CALL both_of(1, 5); CALL both_of(6, 8)",
    );
    restored(
        &format!(
            "{tables} CREATE FUNCTION after_row() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE x int;
            BEGIN
                SELECT v INTO x FROM s WHERE k = NEW.k - 1;
                UPDATE a SET v = v + 1 WHERE k = x;
                RETURN NEW;
            END $$;
            CREATE TRIGGER t AFTER INSERT ON s FOR EACH ROW EXECUTE FUNCTION after_row();
            CREATE PROCEDURE load(f int, n int) LANGUAGE plpgsql AS $$
            BEGIN FOR i IN f..n LOOP INSERT INTO s VALUES (i, i * 2); END LOOP; END $$;"
        ),
        "CALL load(1, 5); CALL load(6, 8)",
    );
}

/// What a call keeps depends on what all procedures do: on what they do from home, where replay looks from, and not along the path of
/// a session, where another one may change another table, or a temporary one.
#[test]
fn a_session_keeps_what_replay_expects_whatever_its_path() {
    let tables = "CREATE TABLE st (k int PRIMARY KEY, x int); CREATE TABLE a (k int PRIMARY KEY, v int);
        INSERT INTO st SELECT g, g FROM generate_series(1, 9) g; INSERT INTO a SELECT g, g FROM generate_series(1, 20) g;";
    restored(
        &format!(
            "{tables} CREATE TEMP TABLE work (k int PRIMARY KEY, d int);
            CREATE PROCEDURE q() LANGUAGE plpgsql AS $$
            BEGIN UPDATE st SET x = x + work.d FROM work WHERE st.k = work.k; END $$;
            CREATE PROCEDURE p(e int) LANGUAGE plpgsql AS $$
            DECLARE n int;
            BEGIN SELECT x INTO n FROM st WHERE k = e; UPDATE a SET v = v + 100 WHERE k = n; END $$;
            INSERT INTO work VALUES (1, 4);"
        ),
        "CALL q(); CALL p(1); CALL p(2)",
    );
    restored(
        &format!(
            "{tables} CREATE SCHEMA s2; CREATE TABLE s2.st (k int PRIMARY KEY, x int);
            INSERT INTO s2.st SELECT g, g + 3 FROM generate_series(1, 9) g;
            CREATE PROCEDURE q(e int) LANGUAGE plpgsql AS $$ BEGIN UPDATE st SET x = x + 1 WHERE k = e; END $$;
            CREATE PROCEDURE p(e int) LANGUAGE plpgsql AS $$
            DECLARE n int; m int;
            BEGIN
                SELECT x INTO n FROM s2.st WHERE k = e; SELECT x INTO m FROM public.st WHERE k = e;
                UPDATE public.a SET v = v + 100 WHERE k = n; UPDATE public.a SET v = v + 1000 WHERE k = m;
            END $$;"
        ),
        "CALL p(2); SET search_path = s2, public; CALL p(1); CALL q(1); CALL p(1)",
    );
}

/// Whose time is over leaves no plan behind that others would keep values by: here it is over while a long procedure is read.
#[test]
fn a_statement_that_is_out_of_time_decides_nothing_for_others() {
    let branch = |n: usize| {
        format!(
            "IF e = {n} THEN UPDATE st SET x = x + (SELECT count(*) FROM a WHERE v > {n}
             AND k IN (SELECT k FROM st2 WHERE x = {n})) WHERE k = e; END IF;\n"
        )
    };
    let long: String = (0..150).map(branch).collect();
    let script = format!(
        "CREATE TABLE st (k int PRIMARY KEY, x int); CREATE TABLE st2 (k int PRIMARY KEY, x int);
         CREATE TABLE a (k int PRIMARY KEY, v int);
         INSERT INTO st SELECT g, g FROM generate_series(1, 9) g; INSERT INTO st2 SELECT g, g + 2 FROM generate_series(1, 9) g;
         INSERT INTO a SELECT g, g FROM generate_series(1, 20) g;
         CREATE PROCEDURE p(e int) LANGUAGE plpgsql AS $$
         DECLARE n int; m int;
         BEGIN
             SELECT x INTO n FROM st WHERE k = e; SELECT x INTO m FROM st2 WHERE k = e;
             UPDATE a SET v = v + 100 WHERE k = n; UPDATE a SET v = v + 1000 WHERE k = m;
         END $$;
         CREATE PROCEDURE r(e int) LANGUAGE plpgsql AS $$ BEGIN UPDATE st2 SET x = x + 1 WHERE k = e; END $$;
         CREATE PROCEDURE q(e int) LANGUAGE plpgsql AS $$ BEGIN {long} END $$;
         -- All programs are made anew.
         CREATE TABLE another (k int);"
    );
    let disk = SimDisk::new(6);
    let open = |scheme: Scheme| -> Database {
        let options = Options::new().log(LogKind::Command).recovery(scheme).recovery_threads(2);
        options.open_device(disk.device()).unwrap_or_else(|e| panic!("{scheme:?}: {e:?}"))
    };
    let db = open(Scheme::Clr);
    let mut session = db.session().expect("a seat");
    session.execute_script(&script).expect("the schema");
    session.execute_script("SET statement_timeout = '1ms'").expect("a setting");
    // In time or not: nobody hears of it later.
    let _ = session.execute("CALL r(1)", ());
    session
        .execute_script("RESET statement_timeout; CALL p(2); CALL p(3); CALL q(1)")
        .expect("there is time");
    drop(session);
    comes_back(db, None, &open, "a long procedure");
}

const BIG: &str = "CREATE TABLE t (k int PRIMARY KEY, n numeric, s text, c int NOT NULL);
    INSERT INTO t SELECT g, g, 'none', 0 FROM generate_series(1, 20) g;
    CREATE PROCEDURE one(id int) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET c = c + 1 WHERE k = id; END $$;";

/// A call that hands over more than there is memory for: it is replayed as it was called, in its place.
#[test]
fn a_call_comes_to_more_than_a_part_may_hold() {
    let script = format!(
        "{BIG} CREATE PROCEDURE fill(w int, turns int) LANGUAGE plpgsql AS $$
        DECLARE v text := repeat('xyz', w);
        BEGIN FOR i IN 1..turns LOOP UPDATE t SET s = v, c = c * 2 + i WHERE k = 1 + i % 7; END LOOP; END $$;
        CREATE PROCEDURE fill_and_ask(w int, turns int) LANGUAGE plpgsql AS $$
        DECLARE v text := repeat('abc', w);
        BEGIN
            FOR i IN 1..turns LOOP UPDATE t SET s = v, c = c % 1000 + i WHERE k = 1 + i % 7; END LOOP;
        EXCEPTION WHEN OTHERS THEN UPDATE t SET s = 'caught' WHERE k = 20;
        END $$;"
    );
    // Of 20 MB of operands, and some that fit, between others.
    let calls = "CALL one(1); CALL one(9); CALL fill(20, 100); CALL fill(2000, 60); CALL one(2); CALL one(19); CALL fill_and_ask(10000, 700);
        CALL one(3); CALL fill_and_ask(10, 40); CALL one(4); CALL fill(10000, 15); CALL one(2)";
    let disk = SimDisk::new(5);
    let open = |scheme: Scheme, threads: usize| {
        let options = Options::new().log(LogKind::Command).recovery(scheme).recovery_threads(threads);
        options.open_device(disk.device()).unwrap_or_else(|e| panic!("{scheme:?}: {e:?}"))
    };
    let db = open(Scheme::Clr, 1);
    let mut session = db.session().expect("a seat");
    session.execute_script(&script).expect("a schema");
    session.execute_script(calls).expect("calls");
    for i in 0..3000 {
        session.execute("CALL one($1)", (1 + i % 20,)).expect("more");
    }
    drop(session);
    let planned = |db: &Database| db.recovery().map(|report| report.transactions - report.barriers);
    comes_back(db, None, &|scheme| open(scheme, 2), &script);
    for threads in [1, 2] {
        let db = open(Scheme::Regrow, threads);
        assert!(planned(&db).is_some_and(|planned| planned > 0), "what fits is planned all the same");
    }
}

/// Long numbers that the turns of a loop leave behind are tidied away, and what is still wanted stays.
#[test]
fn long_numbers_pile_up() {
    let script = format!(
        "{BIG} CREATE PROCEDURE of_rows(id int, turns int) LANGUAGE plpgsql AS $$
        DECLARE x numeric; y numeric;
        BEGIN
            SELECT n, n * 3 INTO x, y FROM t WHERE k = id;
            FOR i IN 1..turns LOOP x := x + 1; END LOOP;
            UPDATE t SET n = x - y, c = c + 1 WHERE k = id;
        END $$;
        CREATE PROCEDURE of_arguments(id int, a numeric[], x numeric, turns int) LANGUAGE plpgsql AS $$
        DECLARE y numeric := x * 7;
        BEGIN
            FOR i IN 1..turns LOOP
                x := x + a[1 + i % 3];
                IF i % 1000 = 0 THEN UPDATE t SET n = x WHERE k = 1 + i / 1000; END IF;
            END LOOP;
            UPDATE t SET n = n + y + a[2], c = c + 1 WHERE k = id;
        END $$;"
    );
    restored(
        &script,
        "CALL of_rows(1, 10); UPDATE t SET n = power(10::numeric, 3000) WHERE k IN (2, 3); CALL of_rows(2, 4000); CALL of_rows(3, 7000);
        CALL of_rows(2, 3); CALL of_arguments(4, ARRAY[1, 2.5, power(10::numeric, 900)], power(10::numeric, 2500), 5000);
        CALL of_arguments(5, ARRAY[1, 2.5, 7], 3, 2000); CALL of_rows(6, 9)",
    );
}
