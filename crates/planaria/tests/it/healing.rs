//! Calls that are healed: what has changed under them is run again under locks, and from what they answer, leave behind and
//! log nobody can tell. `docs/design/healing.md` names the requirements (H1 to H17).

use crate::determinism::{KINDS, contents};
use planaria::lab::LabOptions;
use planaria::serving::{Client, ClientState, Clients, ServedDatabase, Signal};
use planaria::{
    Database, Error, Healing, LogKind, Options, ProtocolKind, Scheme, Session, SqlState, Waiting,
};
use planaria_base::{RoleId, WallClock};
use planaria_sim::disk::{SimDisk, Survival};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    /// This thread runs the programs under which something happens. (The log asks for the time, too.)
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// What happens while programs run: each time that one asks for the time, and is not handed out again what it was given
/// before, the next of these jobs is done. (`clock_timestamp()` asks twice, unless `now()` has been asked for.)
#[derive(Clone, Default)]
struct Meanwhile(Arc<Mutex<VecDeque<Job>>>);

impl Meanwhile {
    fn clock(&self) -> WallClock {
        let (jobs, time) = (self.0.clone(), AtomicI64::new(800_000_000_000_000));
        WallClock::new(move || {
            let job = || jobs.lock().expect("no panic").pop_front();
            if let Some(job) = IS_WATCHED.get().then(job).flatten() {
                thread::spawn(job).join().expect("what happens meanwhile goes well");
            }
            time.fetch_add(7, Ordering::Relaxed)
        })
    }

    fn push(&self, job: impl FnOnce() + Send + 'static) {
        self.0.lock().expect("no panic").push_back(Box::new(job));
    }
}

/// A database that heals, as long as it takes.
struct Bench {
    db: Arc<Database>,
    meanwhile: Meanwhile,
}

fn options(meanwhile: &Meanwhile) -> Options {
    let options = Options::new().protocol(ProtocolKind::Healing).wall_clock(meanwhile.clock());
    options.healing_max(Duration::from_secs(600)).heal_always(true)
}

impl Bench {
    fn new(schema: &str) -> Bench {
        Bench::of(schema, |options| options.in_memory().expect("opens"))
    }

    fn of(schema: &str, open: impl FnOnce(Options) -> Database) -> Bench {
        let meanwhile = Meanwhile::default();
        let db = Arc::new(open(options(&meanwhile)));
        db.execute_script(schema).unwrap_or_else(|e| panic!("{e}"));
        Bench { db, meanwhile }
    }

    /// A session of this thread, which is watched.
    fn session(&self) -> Session {
        IS_WATCHED.set(true);
        self.db.session().expect("a seat")
    }

    /// Somebody runs a script in the midst of the next program.
    fn meanwhile(&self, script: &'static str) {
        let db = self.db.clone();
        self.meanwhile.push(move || db.execute_script(script).unwrap_or_else(|e| panic!("{script}: {e}")));
    }

    fn healing(&self) -> Healing {
        self.db.stats().healing
    }

    fn ints(&self, sql: &str) -> Vec<i64> {
        let rows = self.db.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
        rows.iter().map(|row| row.get::<i64>(0).expect("a number")).collect()
    }

    /// Nothing is left to happen, and rows and indexes agree.
    #[track_caller]
    fn check(&self) {
        assert!(self.meanwhile.0.lock().expect("no panic").is_empty(), "it has not happened");
        self.db.check().expect("sound");
    }
}

fn state<T>(outcome: Result<T, Error>) -> SqlState {
    outcome.err().expect("an error").sqlstate()
}

/// A number that programs read, and what they leave.
const RULE: &str = "
    CREATE TABLE rule (id int PRIMARY KEY, n bigint NOT NULL, at timestamptz);
    INSERT INTO rule VALUES (1, 5), (2, 0);
    CREATE TABLE u (id bigint PRIMARY KEY, v bigint NOT NULL DEFAULT 0);
    INSERT INTO u SELECT i, 0 FROM generate_series(1, 9) i;
    CREATE TABLE found (what bigint);";

fn rule(more: &str) -> String {
    format!("{RULE}{more}")
}

/// Orders with numbers from a hot row, lines with numbers from sequences, and whatever else is drawn.
const ORDERS: &str = "
    CREATE TABLE warehouse (id int PRIMARY KEY, rate int NOT NULL, ytd bigint NOT NULL);
    CREATE TABLE district (id int PRIMARY KEY, next int NOT NULL, tax int NOT NULL);
    CREATE TABLE stock (item int PRIMARY KEY, rest int NOT NULL);
    INSERT INTO warehouse VALUES (1, 3, 0);
    INSERT INTO district SELECT i, 1, 0 FROM generate_series(1, 3) i;
    INSERT INTO stock SELECT i, 100 FROM generate_series(0, 4) i;
    CREATE TABLE orders (d int, n int, who uuid, at timestamptz, luck float8, tax int, PRIMARY KEY (d, n));
    CREATE TABLE line (id serial, d int, n int, item int);
    CREATE TABLE payment (d int, n int, at timestamptz, PRIMARY KEY (d, n));
    CREATE PROCEDURE new_order(a int, lines int) LANGUAGE plpgsql AS $$
    DECLARE number int; t int; r int;
    BEGIN
        SELECT rate INTO r FROM warehouse WHERE id = 1;
        SELECT next, tax INTO number, t FROM district WHERE id = a;
        INSERT INTO orders VALUES (a, number, gen_random_uuid(), clock_timestamp(), random(), t + r);
        UPDATE district SET next = number + 1 WHERE id = a;
        FOR i IN 1 .. lines + number % 2 LOOP
            INSERT INTO line (d, n, item) VALUES (a, number, i + number);
            UPDATE stock SET rest = rest - 1 WHERE item = (number + i) % 5;
        END LOOP;
    END $$;
    CREATE PROCEDURE pay(a int) LANGUAGE plpgsql AS $$
    DECLARE number int; r int;
    BEGIN
        SELECT rate INTO r FROM warehouse WHERE id = 1;
        SELECT next INTO number FROM district WHERE id = a;
        INSERT INTO payment VALUES (a, number, clock_timestamp());
        UPDATE district SET next = number + r WHERE id = a;
    END $$;";

/// H3, H4: what is logged is the last run, with what that kept and was given, from every kind of log by every scheme.
#[test]
fn what_was_healed_is_recovered_as_it_was() {
    for kind in KINDS {
        let disk = SimDisk::new(11);
        let bench = Bench::of(ORDERS, |options| {
            options.log(kind).keep_log(true).open_device(disk.device()).expect("opens")
        });
        let mut session = bench.session();
        for round in 1..=6 {
            bench.meanwhile("UPDATE district SET next = next + 1, tax = tax + 1 WHERE id = 1");
            session.call("new_order", (1, 2)).expect("is healed");
            bench.meanwhile("UPDATE district SET next = next + 1 WHERE id = 2");
            session.call("pay", (2,)).expect("is healed");
            // In what it does not read.
            bench.meanwhile("UPDATE warehouse SET ytd = ytd + 1 WHERE id = 1");
            session.call("new_order", (3, 1)).expect("is healed");
            bench.check();
            let healed = bench.healing();
            assert_eq!(
                (healed.commits, healed.runs, healed.false_invalidations),
                (3 * round, 2 * round, round)
            );
        }
        assert_eq!(bench.ints("SELECT next::bigint FROM district ORDER BY id"), [13, 25, 7]);
        let expected = contents(&bench.db);
        disk.crash(Survival::Nothing);
        drop((session, bench));
        for scheme in Scheme::ALL.iter().copied() {
            for protocol in [ProtocolKind::Healing, ProtocolKind::default()] {
                let options = Options::new().log(kind).protocol(protocol).recovery(scheme).keep_log(true);
                let db =
                    options.open_device(disk.device()).unwrap_or_else(|e| panic!("{kind} {scheme}: {e}"));
                assert_eq!(contents(&db), expected, "{kind} by {scheme}");
                let calls = db.recovery().expect("there was a log").calls;
                assert!(kind != LogKind::Command || calls > 0, "calls are logged as calls");
            }
        }
    }
}

/// H3: what a run has drawn that was not the last is nowhere in the log. (With it, a replay must go wrong.)
#[test]
fn what_was_drawn_in_vain_is_not_recorded() {
    let schema = rule(
        "CREATE TABLE got (k bigint, x float8, who uuid);
         CREATE PROCEDURE get() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz; x float8; who uuid;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             IF k % 2 = 1 THEN x := random(); ELSE who := gen_random_uuid(); END IF;
             INSERT INTO got VALUES (k, x, who);
         END $$;",
    );
    let is_recovered = |stale: bool| {
        let disk = SimDisk::new(12);
        let bench = Bench::of(&schema, |options| {
            options.heal_with_stale_inputs(stale).open_device(disk.device()).expect("opens")
        });
        let mut session = bench.session();
        for _ in 0..2 {
            bench.meanwhile("UPDATE rule SET n = n + 1 WHERE id = 1");
            session.call("get", ()).expect("is healed");
        }
        assert_eq!(bench.healing().commits, 2);
        let expected = contents(&bench.db);
        disk.crash(Survival::Nothing);
        drop((session, bench));
        Options::new().open_device(disk.device()).is_ok_and(|db| contents(&db) == expected)
    };
    assert!(is_recovered(false));
    assert!(!is_recovered(true), "nobody has noticed");
}

/// H3: more is drawn in the end, or less; and `currval` says what the session would have drawn by one run.
#[test]
fn sequences_are_drawn_from_as_by_one_run() {
    let schema = rule(
        "CREATE SEQUENCE s; CREATE TABLE drawn (n bigint, c bigint);
         CREATE PROCEDURE draw() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             FOR i IN 1 .. k LOOP
                 INSERT INTO drawn VALUES (nextval('s'), currval('s'));
             END LOOP;
         END $$;
         CREATE PROCEDURE look_back() LANGUAGE plpgsql AS $$
         DECLARE k bigint; last bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             last := currval('s');
             INSERT INTO found VALUES (last), (nextval('s')), (currval('s')), (k);
             at := clock_timestamp();
         END $$;",
    );
    let bench = Bench::new(&schema);
    let mut session = bench.session();
    let drawn = |bench: &Bench| bench.ints("SELECT n * 100 + c FROM drawn ORDER BY n");
    bench.meanwhile("UPDATE rule SET n = 7 WHERE id = 1");
    session.call("draw", ()).expect("is healed");
    assert_eq!(drawn(&bench), [101, 202, 303, 404, 505, 606, 707]);
    bench.meanwhile("UPDATE rule SET n = 2 WHERE id = 1");
    session.call("draw", ()).expect("is healed");
    assert_eq!(drawn(&bench)[7..], [808, 909]);
    let current = session.query("SELECT currval('s')", ()).expect("is defined")[0].get::<i64>(0);
    assert_eq!(current.expect("a number"), 9);
    // The others were drawn in vain.
    bench.meanwhile("UPDATE rule SET n = 0 WHERE id = 1");
    session.call("look_back", ()).expect("is healed");
    assert_eq!(bench.ints("SELECT what FROM found ORDER BY what"), [0, 9, 15, 15]);
    assert_eq!(bench.healing().commits, 3);
    bench.check();
}

/// H3: behind a `setval`, nothing can be handed out again.
#[test]
fn who_sets_a_sequence_begins_anew() {
    let schema = rule(
        "CREATE SEQUENCE s;
         CREATE PROCEDURE put() LANGUAGE plpgsql AS $$
         DECLARE k bigint; n bigint; at timestamptz;
         BEGIN
             SELECT r.n INTO k FROM rule r WHERE id = 1;
             at := clock_timestamp();
             IF k > 6 THEN n := setval('s', 10 * k); END IF;
             INSERT INTO found VALUES (nextval('s'));
         END $$;",
    );
    let bench = Bench::new(&schema);
    let mut session = bench.session();
    // It comes to do so as it is healed, and then from the beginning.
    bench.meanwhile("UPDATE rule SET n = 7 WHERE id = 1");
    session.call("put", ()).expect("is tried again");
    bench.meanwhile("UPDATE rule SET n = 8 WHERE id = 1");
    session.call("put", ()).expect("is tried again");
    assert_eq!(bench.ints("SELECT what FROM found ORDER BY what"), [71, 81]);
    assert_eq!(bench.healing().commits, 0);
    bench.check();
}

/// H4: a run that wrote is followed by one that only reads, and the other way round.
#[test]
fn whether_it_has_only_read_is_decided_at_last() {
    let schema = rule(
        "CREATE PROCEDURE mark() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             IF k > 0 THEN INSERT INTO found VALUES (k); END IF;
         END $$;",
    );
    let disk = SimDisk::new(12);
    let bench = Bench::of(&schema, |options| options.open_device(disk.device()).expect("opens"));
    let mut session = bench.session();
    let records = |bench: &Bench| bench.db.stats().log_records;
    let before = records(&bench);
    bench.meanwhile("UPDATE rule SET n = 0 WHERE id = 1");
    session.call("mark", ()).expect("is healed");
    assert_eq!(records(&bench), before + 1, "only what happened meanwhile");
    assert!(bench.ints("SELECT what FROM found").is_empty());
    bench.meanwhile("UPDATE rule SET n = 4 WHERE id = 1");
    session.call("mark", ()).expect("is healed");
    assert_eq!(records(&bench), before + 3);
    assert_eq!(bench.healing().commits, 2);
    bench.check();
    let expected = contents(&bench.db);
    disk.crash(Survival::Nothing);
    drop((session, bench));
    let db = Options::new().open_device(disk.device()).expect("recovers");
    assert_eq!(contents(&db), expected);
}

/// H5: whoever runs again has no epoch of the log open: others' commits reach the disk meanwhile.
#[test]
fn who_is_healed_keeps_no_epoch_open() {
    let schema = rule(
        "CREATE PROCEDURE wait() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := now();
             IF k = 6 THEN at := clock_timestamp(); END IF;
             INSERT INTO found VALUES (k);
         END $$;",
    );
    let disk = SimDisk::new(13);
    let bench = Bench::of(&schema, |options| options.open_device(disk.device()).expect("opens"));
    bench.meanwhile("UPDATE rule SET n = 6 WHERE id = 1");
    // It waits for the disk.
    bench.meanwhile("INSERT INTO u VALUES (100)");
    bench.session().call("wait", ()).expect("is healed");
    assert_eq!((bench.ints("SELECT what FROM found"), bench.healing().commits), (vec![6], 1));
    bench.check();
}

/// H8, H10: a key that is taken is the statement's error, caught or not, and only if it is so in the last run.
#[test]
fn handlers_are_entered_as_by_the_last_run() {
    let schema = rule(
        "CREATE TABLE refused (id serial PRIMARY KEY, n bigint);
         CREATE PROCEDURE add() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             INSERT INTO u VALUES (k);
         END $$;
         CREATE PROCEDURE try_add() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             BEGIN
                 INSERT INTO u VALUES (k);
             EXCEPTION WHEN unique_violation THEN
                 INSERT INTO refused (n) VALUES (k);
             END;
         END $$;",
    );
    for kind in [LogKind::Command, LogKind::Physiological] {
        let disk = SimDisk::new(14);
        let bench = Bench::of(&schema, |options| {
            options.log(kind).keep_log(true).open_device(disk.device()).expect("opens")
        });
        let mut session = bench.session();
        // The key is taken for the first run alone.
        bench.meanwhile("UPDATE rule SET n = 20 WHERE id = 1");
        session.call("add", ()).expect("is healed");
        bench.meanwhile("UPDATE rule SET n = 5 WHERE id = 1");
        assert_eq!(state(session.call("add", ())), SqlState::UNIQUE_VIOLATION);
        bench.meanwhile("UPDATE rule SET n = 21 WHERE id = 1");
        session.call("try_add", ()).expect("is healed");
        bench.meanwhile("UPDATE rule SET n = 6 WHERE id = 1");
        session.call("try_add", ()).expect("is healed");
        // Two that are taken, one after the other.
        bench.meanwhile("UPDATE rule SET n = 7 WHERE id = 1");
        session.call("try_add", ()).expect("is healed");
        // The row is put in by another.
        bench.meanwhile("UPDATE rule SET n = 22 WHERE id = 1; INSERT INTO u VALUES (22)");
        session.call("try_add", ()).expect("is healed");
        bench.check();
        assert_eq!(bench.ints("SELECT id FROM u WHERE id > 9 ORDER BY id"), [20, 21, 22]);
        assert_eq!(bench.ints("SELECT n FROM refused ORDER BY n"), [6, 7, 22]);
        assert_eq!(bench.healing().commits, 5);
        let expected = contents(&bench.db);
        disk.crash(Survival::Nothing);
        drop((session, bench));
        for scheme in Scheme::ALL.iter().copied() {
            let options = Options::new().log(kind).recovery(scheme).keep_log(true);
            assert_eq!(
                contents(&options.open_device(disk.device()).expect("recovers")),
                expected,
                "{scheme}"
            );
        }
    }
}

/// H9: an error that was computed from what does not hold is none.
#[test]
fn errors_of_stale_reads_are_none() {
    let schema = rule(
        "CREATE PROCEDURE share() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             INSERT INTO found VALUES (100 / (k - 5));
         END $$;",
    );
    let bench = Bench::new(&schema);
    let mut session = bench.session();
    bench.meanwhile("UPDATE rule SET n = 15 WHERE id = 1");
    session.call("share", ()).expect("is healed");
    bench.meanwhile("UPDATE rule SET n = 5 WHERE id = 1");
    assert_eq!(state(session.call("share", ())), SqlState::DIVISION_BY_ZERO);
    assert_eq!((bench.ints("SELECT what FROM found"), bench.healing().commits), (vec![10], 1));
    bench.check();
}

/// H11: foreign keys are looked at again, at once or at commit.
#[test]
fn foreign_keys_are_looked_at_again() {
    for when in ["", "DEFERRABLE INITIALLY DEFERRED"] {
        let schema = rule(&format!(
            "CREATE TABLE child (id bigint PRIMARY KEY, u bigint REFERENCES u {when});
             CREATE PROCEDURE adopt(c bigint) LANGUAGE plpgsql AS $$
             DECLARE k bigint; at timestamptz;
             BEGIN
                 SELECT n INTO k FROM rule WHERE id = 1;
                 INSERT INTO child VALUES (c, k);
                 at := clock_timestamp();
             END $$;"
        ));
        let bench = Bench::new(&schema);
        let mut session = bench.session();
        bench.meanwhile("UPDATE rule SET n = 6 WHERE id = 1");
        session.call("adopt", (1i64,)).expect("is healed");
        bench.meanwhile("UPDATE rule SET n = 60 WHERE id = 1");
        assert_eq!(state(session.call("adopt", (2i64,))), SqlState::FOREIGN_KEY_VIOLATION, "{when}");
        bench.db.execute("UPDATE rule SET n = 6 WHERE id = 1", ()).expect("changes");
        bench.meanwhile("UPDATE rule SET n = 7 WHERE id = 1");
        session.call("adopt", (2i64,)).expect("is healed");
        // The parent goes.
        bench.meanwhile("UPDATE rule SET n = 8 WHERE id = 1; DELETE FROM u WHERE id = 8");
        assert_eq!(state(session.call("adopt", (3i64,))), SqlState::FOREIGN_KEY_VIOLATION, "{when}");
        bench.db.execute("UPDATE rule SET n = 9 WHERE id = 1", ()).expect("changes");
        bench.meanwhile("DELETE FROM u WHERE id = 9");
        assert_eq!(state(session.call("adopt", (4i64,))), SqlState::FOREIGN_KEY_VIOLATION, "{when}");
        assert_eq!(bench.ints("SELECT u FROM child ORDER BY id"), [6, 7], "{when}");
        assert_eq!(bench.healing().commits, 2, "{when}");
        bench.check();
    }
}

/// H12: rows that come into a range, and keys that come into its leaf and go.
#[test]
fn ranges_are_read_again() {
    let schema = rule(
        "CREATE PROCEDURE count_up() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT count(*) INTO k FROM u WHERE id >= 9;
             at := clock_timestamp();
             INSERT INTO found VALUES (k);
         END $$;",
    );
    let bench = Bench::new(&schema);
    let mut session = bench.session();
    for script in [
        "INSERT INTO u VALUES (100)",
        "DELETE FROM u WHERE id = 9",
        "INSERT INTO u VALUES (101); DELETE FROM u WHERE id = 101",
        "INSERT INTO u VALUES (-7)",
    ] {
        bench.meanwhile(script);
        session.call("count_up", ()).expect("is healed");
    }
    assert_eq!(bench.ints("SELECT what FROM found ORDER BY what"), [1, 1, 1, 2]);
    assert_eq!(bench.healing().commits, 4);
    bench.check();
}

/// H13: what is healed is a call, or a statement that is a transaction of its own, whose answer nobody has seen.
#[test]
fn statements_are_healed_and_blocks_are_not() {
    let bench = Bench::new(RULE);
    let mut session = bench.session();
    bench.meanwhile("UPDATE rule SET n = 10 WHERE id = 1");
    let changed = session.execute("UPDATE rule SET n = n + 1, at = clock_timestamp() WHERE id = 1", ());
    assert_eq!(changed.expect("is healed"), 1);
    assert_eq!((bench.ints("SELECT n FROM rule WHERE id = 1"), bench.healing().commits), (vec![11], 1));
    session
        .execute_script("BEGIN; SELECT n FROM rule WHERE id = 1; UPDATE u SET v = 1 WHERE id = 1")
        .expect("runs");
    bench.db.execute("UPDATE rule SET n = 12 WHERE id = 1", ()).expect("changes");
    assert_eq!(state(session.execute("COMMIT", ())), SqlState::SERIALIZATION_FAILURE);
    assert_eq!((bench.ints("SELECT v FROM u WHERE id = 1"), bench.healing().commits), (vec![0], 1));
    bench.check();
}

/// H13: who meets a row that a block has claimed lets go of its locks, and waits without them.
#[test]
fn claimed_rows_are_waited_for_without_locks() {
    let schema = rule(
        "CREATE PROCEDURE add() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             UPDATE u SET v = v + 10 WHERE id = k;
         END $$;
         CREATE PROCEDURE pass_over() LANGUAGE plpgsql AS $$
         DECLARE k bigint; f bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             SELECT id INTO f FROM u WHERE id = k FOR UPDATE SKIP LOCKED;
             INSERT INTO found VALUES (f);
         END $$;",
    );
    let bench = Bench::new(&schema);
    // This thread, which is going to look at locks, is not watched.
    let mut block = bench.db.session().expect("a seat");
    block.execute_script("BEGIN; UPDATE u SET v = 1 WHERE id = 7").expect("claims it");
    bench.meanwhile("UPDATE rule SET n = 7 WHERE id = 1");
    thread::scope(|scope| {
        let bench = &bench;
        let call = scope.spawn(move || bench.session().call("add", ()).map(drop));
        while bench.ints("SELECT count(*) FROM pg_locks WHERE NOT granted") != [1] {
            thread::yield_now();
        }
        // What it had locked is free.
        bench.db.execute("UPDATE rule SET at = now() WHERE id = 1", ()).expect("is free");
        block.execute("COMMIT", ()).expect("commits");
        call.join().expect("no panic").expect("gets through");
    });
    assert_eq!(bench.ints("SELECT v FROM u WHERE id = 7"), [11]);
    bench.db.execute("UPDATE rule SET n = 6 WHERE id = 1", ()).expect("changes");
    block.execute_script("BEGIN; UPDATE u SET v = 1 WHERE id = 7").expect("claims it");
    bench.meanwhile("UPDATE rule SET n = 7 WHERE id = 1");
    bench.session().call("pass_over", ()).expect("does not wait");
    block.execute("ROLLBACK", ()).expect("ends");
    assert_eq!(bench.ints("SELECT coalesce(what, -1) FROM found"), [-1]);
    bench.check();
}

/// H15: locks are not held for long, whatever the program catches.
#[test]
fn who_takes_too_long_lets_go_and_begins_anew() {
    let schema = rule(
        "CREATE PROCEDURE think(stubborn bool) LANGUAGE plpgsql AS $$
         DECLARE k bigint; x bigint = 0; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := clock_timestamp();
             IF stubborn THEN
                 BEGIN
                     FOR i IN 1 .. 100000 LOOP x := x + i; END LOOP;
                 EXCEPTION WHEN query_canceled OR others THEN
                     k := -1;
                 END;
             ELSE
                 FOR i IN 1 .. 100000 LOOP x := x + i; END LOOP;
             END IF;
             INSERT INTO found VALUES (k);
         END $$;",
    );
    let bench = Bench::of(&schema, |options| options.healing_max(Duration::ZERO).in_memory().expect("opens"));
    let mut session = bench.session();
    bench.meanwhile("UPDATE rule SET n = 6 WHERE id = 1");
    session.call("think", (false,)).expect("is tried again");
    bench.meanwhile("UPDATE rule SET n = 7 WHERE id = 1");
    session.call("think", (true,)).expect("is tried again");
    assert_eq!(bench.ints("SELECT what FROM found ORDER BY what"), [6, 7]);
    let healing = bench.healing();
    assert_eq!((healing.commits, healing.runs), (0, 2));
    let aborts: u64 = bench.db.stats().aborts.iter().map(|(_, n)| n).sum();
    assert_eq!(aborts, 2);
    bench.check();
}

/// H15: who is cancelled while it is healed ends, and has done nothing.
#[test]
fn who_is_healed_can_be_cancelled() {
    let schema = rule(
        "CREATE PROCEDURE hang() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := now();
             INSERT INTO found VALUES (k);
             IF k = 6 THEN
                 at := clock_timestamp();
                 LOOP k := k + 1; END LOOP;
             END IF;
         END $$;",
    );
    let bench = Bench::new(&schema);
    let mut session = bench.session();
    bench.meanwhile("UPDATE rule SET n = 6 WHERE id = 1");
    let canceller = session.canceller();
    bench.meanwhile.push(move || canceller.cancel());
    assert_eq!(state(session.call("hang", ())), SqlState::QUERY_CANCELED);
    assert!(bench.ints("SELECT what FROM found").is_empty());
    bench.db.execute("UPDATE rule SET n = 7 WHERE id = 1", ()).expect("nothing is locked");
    session.call("hang", ()).expect("the session goes on");
    assert_eq!(bench.ints("SELECT what FROM found"), [7]);
    bench.check();
}

/// H1, H7, H14, H17: calls that meet all the time, in transactions that move keys of unique indexes.
#[test]
fn calls_that_meet_all_the_time_lose_nothing() {
    const CLIENTS: i64 = 3;
    const CALLS: i64 = 100;
    let schema = rule(
        "CREATE TABLE seat (id int PRIMARY KEY, who bigint UNIQUE, moves bigint NOT NULL);
         INSERT INTO seat SELECT i, i, 0 FROM generate_series(1, 3) i;
         CREATE PROCEDURE move(a int, b int) LANGUAGE plpgsql AS $$
         DECLARE one bigint; other bigint;
         BEGIN
             SELECT who INTO one FROM seat WHERE id = a;
             SELECT who INTO other FROM seat WHERE id = b;
             UPDATE seat SET who = NULL WHERE id = a;
             UPDATE seat SET who = one, moves = moves + 1 WHERE id = b;
             UPDATE seat SET who = other, moves = moves + 1 WHERE id = a;
         END $$;",
    );
    let bench = Bench::new(&schema);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let bench = &bench;
            scope.spawn(move || {
                let mut session = bench.session();
                for call in 0..CALLS {
                    let (a, b) = ((call + client) % 3 + 1, (call * client + 1) % 3 + 1);
                    let b = if a == b { a % 3 + 1 } else { b };
                    session.call("move", (a as i32, b as i32)).expect("gets through");
                }
            });
        }
    });
    assert_eq!(bench.ints("SELECT who FROM seat ORDER BY who"), [1, 2, 3]);
    assert_eq!(bench.ints("SELECT sum(moves)::bigint FROM seat"), [2 * CLIENTS * CALLS]);
    bench.check();
    let stats = bench.db.stats();
    let told = stats.healing.counters();
    assert_eq!(told[0], ("commits", stats.healing.commits));
    assert!(stats.healing.commits <= (CLIENTS * CALLS) as u64);
}

/// A server's clients, as far as `pg_stat_activity` needs any: a session of this number.
struct One(i32);

impl Clients for One {
    fn list(&self) -> Vec<Client> {
        vec![Client {
            number: self.0,
            role: RoleId(0),
            application_name: String::new(),
            address: None,
            connected: 0,
            state: ClientState::Active,
            state_since: 0,
            transaction_since: None,
            statement_since: None,
            statement: Arc::from(""),
            waits_for: None,
        }]
    }
    fn signal(&self, _: i32, _: Signal) -> bool {
        false
    }
    fn role(&self, _: i32) -> Option<RoleId> {
        None
    }
}

const EVENTS: &str = "SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity";

/// The only session that is served.
fn serves(bench: &Bench, session: &mut Session) -> Arc<dyn Clients> {
    let number = session.query("SELECT pg_backend_pid()", ()).expect("tells")[0].get::<i64>(0);
    let clients: Arc<dyn Clients> = Arc::new(One(number.expect("a number") as i32));
    bench.db.served_to(&clients);
    clients
}

/// Who is healed shows as somebody who does not go on, and as nobody afterwards.
#[test]
fn who_is_healed_is_seen() {
    let schema = rule(
        "CREATE PROCEDURE look() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := now();
             IF k = 6 THEN at := clock_timestamp(); END IF;
             INSERT INTO found VALUES (k);
         END $$;",
    );
    let bench = Bench::new(&schema);
    let mut session = bench.session();
    let _clients = serves(&bench, &mut session);
    bench.meanwhile("UPDATE rule SET n = 6 WHERE id = 1");
    let db = bench.db.clone();
    bench.meanwhile.push(move || {
        let seen = db.query(EVENTS, ()).expect("reads")[0].text(0);
        assert_eq!(seen.as_deref(), Some("Extension TransactionHeal"));
        assert_eq!(db.stats().waiting.counts(), [("lock", 0), ("retry", 0), ("heal", 1)]);
    });
    session.call("look", ()).expect("is healed");
    assert_eq!(bench.healing().commits, 1);
    assert_eq!(bench.db.query(EVENTS, ()).expect("reads")[0].text(0), None);
    assert_eq!(bench.db.stats().waiting, Waiting::default());
    bench.check();
}

/// Who waits to be tried again is seen, too; and the causes are counted.
#[test]
fn who_is_repeated_is_seen() {
    let schema = rule(
        "CREATE PROCEDURE look() LANGUAGE plpgsql AS $$
         DECLARE k bigint; at timestamptz;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             at := now();
             INSERT INTO found VALUES (k);
         END $$;",
    );
    let bench =
        Bench::of(&schema, |options| options.protocol(ProtocolKind::Silo).in_memory().expect("opens"));
    let mut session = bench.session();
    let _clients = serves(&bench, &mut session);
    let seen = Arc::new(AtomicBool::new(false));
    // As often as it takes: attempts wait for some microseconds.
    for _ in 0..900 {
        let (db, seen) = (bench.db.clone(), seen.clone());
        bench.meanwhile.push(move || {
            if !seen.load(Ordering::Relaxed) {
                db.execute_script("UPDATE rule SET n = n + 1 WHERE id = 1").expect("commits");
            }
        });
    }
    let stop = Arc::new(AtomicBool::new(false));
    let watcher = thread::spawn({
        let (db, seen, stop) = (bench.db.clone(), seen.clone(), stop.clone());
        move || {
            while !stop.load(Ordering::Relaxed) {
                let counted = db.stats().waiting.counts()[1] == ("retry", 1);
                let event = db.query(EVENTS, ()).expect("reads")[0].text(0);
                if counted || event.is_some() {
                    assert!(event.is_none_or(|event| event == "Timeout TransactionRetry"));
                    seen.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    session.call("look", ()).expect("commits in the end");
    stop.store(true, Ordering::Relaxed);
    watcher.join().expect("no panic");
    assert!(seen.load(Ordering::Relaxed));
    assert_eq!(bench.db.query(EVENTS, ()).expect("reads")[0].text(0), None);
    let counted = "SELECT count FROM planaria_transactions WHERE about = 'aborts' AND name = 'validation'";
    assert!(bench.ints(counted)[0] > 0);
    assert_eq!(bench.ints("SELECT count FROM planaria_transactions WHERE about = 'healing'"), [0; 6]);
}

/// `EXPLAIN PROCEDURE` says what a stale read repeats: what depends on it, through tables as well.
#[test]
fn what_a_stale_read_repeats_is_explained() {
    let schema = rule(
        "CREATE TABLE other (id bigint PRIMARY KEY, v bigint);
         CREATE PROCEDURE steps() LANGUAGE plpgsql AS $$
         DECLARE k bigint; c bigint; w bigint;
         BEGIN
             SELECT n INTO k FROM rule WHERE id = 1;
             SELECT v INTO c FROM u WHERE id = 3;
             UPDATE other SET v = k WHERE id = 7;
             INSERT INTO found VALUES (c);
             SELECT v INTO w FROM other WHERE id = 7;
             UPDATE u SET v = w WHERE id = 4;
         END $$;",
    );
    let bench = Bench::new(&schema);
    let lines = |db: &Database| -> Vec<String> {
        let rows = db.query("EXPLAIN PROCEDURE steps", ()).expect("explains");
        rows.iter().map(|row| row.text(0).expect("a line")).collect()
    };
    let explained = lines(&bench.db);
    let of = |read: usize| {
        let begin = format!("    read by {read}: ");
        explained
            .iter()
            .find_map(|line| line.strip_prefix(&begin))
            .unwrap_or_else(|| panic!("{explained:#?}"))
    };
    // What the rule says comes to `u` by way of `other`; what was read of `u` comes to `found` alone.
    assert!(explained.contains(&"    1. read rule where id = 1 -> n".to_owned()), "{explained:#?}");
    assert_eq!((of(1), of(2)), ("1, 4, 6, 8, 9", "2, 5"), "{explained:#?}");
    let plain = Database::in_memory().expect("opens");
    plain.execute_script(&schema).expect("the schema");
    assert!(!lines(&plain).iter().any(|line| line.contains("read by")));
}

/// A value that a loop turns to and fro, and others have turned: it reads the same values in another order. (Debug builds took that
/// for a run that had changed for no reason, and panicked.)
#[test]
fn a_value_that_is_turned_in_a_loop_is_read_again() {
    let bench = Bench::new(&rule(
        "CREATE PROCEDURE turn() LANGUAGE plpgsql AS $$
         DECLARE at timestamptz;
         BEGIN
             FOR i IN 1 .. 3 LOOP UPDATE rule SET n = - n WHERE id = 1; END LOOP;
             at := clock_timestamp();
         END $$;",
    ));
    let mut session = bench.session();
    bench.meanwhile("UPDATE rule SET n = - n WHERE id = 1");
    session.call("turn", ()).expect("is healed");
    assert_eq!(bench.ints("SELECT n FROM rule WHERE id = 1"), [5]);
    assert_eq!(bench.healing().commits, 1);
    bench.check();
}
