//! What transaction blocks of each level see of others: the cases of Hermitage (M. Kleppmann), and what is Planaria's own
//! promise. The answers are PostgreSQL 15's, but where it is said.

use planaria::{Database, Error, Options, ProtocolKind, Session, SqlState};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

on_the_shelf! {
    dirty_writes
    aborted_and_intermediate_reads
    circular_information_flow
    observed_transactions_do_not_vanish
    predicates_and_many_preceders
    lost_updates
    read_skew
    write_skew
    readers_never_fail
    columns_that_were_not_read_may_change
    constraints_hold_at_every_level
    exclusions_hold_at_every_level
    levels_are_what_is_shown
    readers_of_what_is_committed
    what_is_taken_need_not_stay
    parents_by_another_key_may_change
    answers_as_of_now_have_no_place_in_the_past
    skipping_locked_rows_moves_on
}

const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Sessions of a database, each on its thread, so that one can wait for another.
struct Players {
    db: Database,
    players: Vec<(Sender<String>, Receiver<String>)>,
}

/// What psql would show: rows of numbers, or the tag.
fn shown(session: &mut Session, sql: &str) -> Result<String, Error> {
    let command = sql.split(' ').next().unwrap_or_default();
    if command == "SELECT" {
        let rows = session.query(sql, ())?;
        let row = |row: &planaria::Row| {
            let value = |at: usize| row.text(at).unwrap_or_else(|| "null".to_owned());
            let values = (0..row.columns().len()).map(value);
            values.collect::<Vec<_>>().join("=")
        };
        return Ok(rows.iter().map(row).collect::<Vec<_>>().join(" "));
    }
    let count = session.execute(sql, ())?;
    Ok(match command {
        "INSERT" => format!("INSERT 0 {count}"),
        "UPDATE" | "DELETE" => format!("{command} {count}"),
        _ => command.to_owned(),
    })
}

impl Players {
    /// Blocks of these levels are open, on a table with the rows 1=10 and 2=20.
    fn of(protocol: ProtocolKind, levels: &[&str]) -> Players {
        let db = Options::new().protocol(protocol).in_memory().expect("opens");
        db.execute_script(
            "CREATE TABLE test (id int PRIMARY KEY, value int NOT NULL);
             INSERT INTO test VALUES (1, 10), (2, 20);",
        )
        .expect("the schema is accepted");
        let mut players = Players { db, players: Vec::new() };
        for level in levels {
            players.add();
            let begin = format!("BEGIN ISOLATION LEVEL {level}");
            assert_eq!(players.ask(players.players.len(), &begin), "BEGIN");
        }
        players
    }

    fn add(&mut self) {
        let mut session = self.db.session().expect("a seat");
        let ((tell, told), (answer, answers)) = (channel::<String>(), channel());
        thread::spawn(move || {
            for sql in told {
                let said = shown(&mut session, &sql).unwrap_or_else(|e| e.sqlstate().to_string());
                answer.send(said).expect("somebody asks");
            }
        });
        self.players.push((tell, answers));
    }

    /// Player number `who`, from 1, runs a statement: its rows, its tag, or its SQLSTATE.
    fn ask(&self, who: usize, sql: &str) -> String {
        self.tell(who, sql);
        self.answer(who)
    }

    fn tell(&self, who: usize, sql: &str) {
        self.players[who - 1].0.send(sql.to_owned()).expect("it listens");
    }

    fn answer(&self, who: usize) -> String {
        self.players[who - 1].1.recv_timeout(Duration::from_secs(60)).expect("an answer")
    }

    /// The same of a statement that has to wait for another's transaction.
    fn waits(&self, who: usize, sql: &str) {
        self.tell(who, sql);
        let until = Instant::now() + Duration::from_secs(60);
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        while self.db.query(waiting, ()).expect("reads")[0].get::<i64>(0).expect("a number") == 0 {
            assert!(Instant::now() < until, "it should wait: {sql}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn play(&self, steps: &[(usize, &str, &str)]) {
        for (who, sql, expected) in steps {
            assert_eq!(self.ask(*who, sql), *expected, "T{who}: {sql}");
        }
    }

    fn value(&self, sql: &str) -> i64 {
        self.db.query(sql, ()).expect("reads")[0].get(0).expect("a number")
    }
}

/// G0: of two that write the same rows, one waits; neither mixes with the other.
fn dirty_writes(protocol: ProtocolKind) {
    for level in LEVELS {
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[(1, "UPDATE test SET value = 11 WHERE id = 1", "UPDATE 1")]);
        p.waits(2, "UPDATE test SET value = 12 WHERE id = 1");
        p.play(&[(1, "UPDATE test SET value = 21 WHERE id = 2", "UPDATE 1"), (1, "COMMIT", "COMMIT")]);
        if level == "REPEATABLE READ" {
            assert_eq!(p.answer(2), "40001");
            continue;
        }
        // Under SERIALIZABLE, too: it had read nothing, so that it goes on as of now (PostgreSQL: 40001).
        assert_eq!(p.answer(2), "UPDATE 1");
        p.play(&[
            (2, "UPDATE test SET value = 22 WHERE id = 2", "UPDATE 1"),
            (2, "COMMIT", "COMMIT"),
            (1, "SELECT * FROM test ORDER BY id", "1=12 2=22"),
        ]);
    }
}

/// G1a, G1b: what is taken back, or is not the end, is seen by nobody.
fn aborted_and_intermediate_reads(protocol: ProtocolKind) {
    for level in LEVELS {
        for end in ["ROLLBACK", "COMMIT"] {
            let p = Players::of(protocol, &[level; 2]);
            p.play(&[
                (1, "UPDATE test SET value = 101 WHERE id = 1", "UPDATE 1"),
                (2, "SELECT * FROM test ORDER BY id", "1=10 2=20"),
                (1, "UPDATE test SET value = 11 WHERE id = 1", "UPDATE 1"),
                (1, end, end),
            ]);
            let fresh = level == "READ COMMITTED" && end == "COMMIT";
            let after = if fresh { "1=11 2=20" } else { "1=10 2=20" };
            p.play(&[(2, "SELECT * FROM test ORDER BY id", after), (2, "COMMIT", "COMMIT")]);
        }
    }
}

/// G1c: no circle of information.
fn circular_information_flow(protocol: ProtocolKind) {
    for level in LEVELS {
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[
            (1, "UPDATE test SET value = 11 WHERE id = 1", "UPDATE 1"),
            (2, "UPDATE test SET value = 22 WHERE id = 2", "UPDATE 1"),
            (1, "SELECT value FROM test WHERE id = 2", "20"),
            (2, "SELECT value FROM test WHERE id = 1", "10"),
            (1, "COMMIT", "COMMIT"),
            (2, "COMMIT", if level == "SERIALIZABLE" { "40001" } else { "COMMIT" }),
        ]);
    }
}

/// OTV: who has seen something of a transaction does not miss the rest.
fn observed_transactions_do_not_vanish(protocol: ProtocolKind) {
    let p = Players::of(protocol, &["READ COMMITTED"; 3]);
    p.play(&[
        (1, "UPDATE test SET value = 11 WHERE id = 1", "UPDATE 1"),
        (1, "UPDATE test SET value = 19 WHERE id = 2", "UPDATE 1"),
    ]);
    p.waits(2, "UPDATE test SET value = 12 WHERE id = 1");
    p.play(&[(1, "COMMIT", "COMMIT")]);
    assert_eq!(p.answer(2), "UPDATE 1");
    p.play(&[
        (3, "SELECT value FROM test WHERE id = 1", "11"),
        (2, "UPDATE test SET value = 18 WHERE id = 2", "UPDATE 1"),
        (3, "SELECT value FROM test WHERE id = 2", "19"),
        (2, "COMMIT", "COMMIT"),
        (3, "SELECT value FROM test ORDER BY id", "12 18"),
        (3, "COMMIT", "COMMIT"),
    ]);
}

/// PMP: rows that come into a predicate that was read, and one that writes by it.
fn predicates_and_many_preceders(protocol: ProtocolKind) {
    for level in LEVELS {
        let fresh = level == "READ COMMITTED";
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[
            (1, "SELECT * FROM test WHERE value = 30", ""),
            (2, "INSERT INTO test VALUES (3, 30)", "INSERT 0 1"),
            (2, "COMMIT", "COMMIT"),
            (1, "SELECT * FROM test WHERE value % 3 = 0", if fresh { "3=30" } else { "" }),
            (1, "COMMIT", "COMMIT"),
        ]);
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[(1, "UPDATE test SET value = value + 10", "UPDATE 2")]);
        p.waits(2, "DELETE FROM test WHERE value = 20");
        p.play(&[(1, "COMMIT", "COMMIT")]);
        // The statement begins anew: it deletes the row that is 20 now. (PostgreSQL looks at the one that was 20 alone, and
        // deletes none; under SERIALIZABLE it fails, where this block has read nothing else and goes on as of now.)
        assert_eq!(p.answer(2), if level == "REPEATABLE READ" { "40001" } else { "DELETE 1" });
    }
}

/// P4: no update is lost.
fn lost_updates(protocol: ProtocolKind) {
    for level in LEVELS {
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[
            (1, "SELECT value FROM test WHERE id = 1", "10"),
            (2, "SELECT value FROM test WHERE id = 1", "10"),
            (1, "UPDATE test SET value = 11 WHERE id = 1", "UPDATE 1"),
        ]);
        p.waits(2, "UPDATE test SET value = 11 WHERE id = 1");
        p.play(&[(1, "COMMIT", "COMMIT")]);
        // By its name, READ COMMITTED loses it.
        assert_eq!(p.answer(2), if level == "READ COMMITTED" { "UPDATE 1" } else { "40001" });
    }
}

/// G-single: no skew between what two statements show.
fn read_skew(protocol: ProtocolKind) {
    for level in LEVELS {
        let fresh = level == "READ COMMITTED";
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[
            (1, "SELECT value FROM test WHERE id = 1", "10"),
            (2, "UPDATE test SET value = 12 WHERE id = 1", "UPDATE 1"),
            (2, "UPDATE test SET value = 18 WHERE id = 2", "UPDATE 1"),
            (2, "COMMIT", "COMMIT"),
            (1, "SELECT value FROM test WHERE id = 2", if fresh { "18" } else { "20" }),
            (1, "COMMIT", "COMMIT"),
        ]);
        // By predicates, and one that writes by what it sees.
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[
            (1, "SELECT value FROM test WHERE value % 5 = 0 ORDER BY id", "10 20"),
            (2, "UPDATE test SET value = 12 WHERE value = 10", "UPDATE 1"),
            (2, "COMMIT", "COMMIT"),
            (1, "SELECT * FROM test WHERE value % 3 = 0", if fresh { "1=12" } else { "" }),
        ]);
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[
            (1, "SELECT value FROM test WHERE id = 1", "10"),
            (2, "UPDATE test SET value = 12 WHERE id = 1", "UPDATE 1"),
            (2, "UPDATE test SET value = 18 WHERE id = 2", "UPDATE 1"),
            (2, "COMMIT", "COMMIT"),
            (1, "DELETE FROM test WHERE value = 20", if fresh { "DELETE 0" } else { "40001" }),
        ]);
    }
}

/// G2: skew between what two write, by rows and by predicates.
fn write_skew(protocol: ProtocolKind) {
    for level in LEVELS {
        let second = if level == "SERIALIZABLE" { "40001" } else { "COMMIT" };
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[
            (1, "SELECT value FROM test ORDER BY id", "10 20"),
            (2, "SELECT value FROM test ORDER BY id", "10 20"),
            (1, "UPDATE test SET value = 11 WHERE id = 1", "UPDATE 1"),
            (2, "UPDATE test SET value = 21 WHERE id = 2", "UPDATE 1"),
            (1, "COMMIT", "COMMIT"),
            (2, "COMMIT", second),
        ]);
        let p = Players::of(protocol, &[level; 2]);
        p.play(&[
            (1, "SELECT * FROM test WHERE value % 3 = 0", ""),
            (2, "SELECT * FROM test WHERE value % 3 = 0", ""),
            (1, "INSERT INTO test VALUES (3, 30)", "INSERT 0 1"),
            (2, "INSERT INTO test VALUES (4, 42)", "INSERT 0 1"),
            (1, "COMMIT", "COMMIT"),
            (2, "COMMIT", second),
        ]);
    }
}

/// Whoever reads only never fails, and sees one state, whatever is committed meanwhile.
fn readers_never_fail(protocol: ProtocolKind) {
    let p = Players::of(protocol, &["SERIALIZABLE"]);
    for turn in 1..20 {
        p.play(&[(1, "SELECT sum(value) FROM test", "30")]);
        let others = [
            "UPDATE test SET value = value - 5 WHERE id = 1".to_owned(),
            "UPDATE test SET value = value + 7 WHERE id = 2".to_owned(),
            format!("INSERT INTO test VALUES ({}, 100)", 10 + turn),
            format!("DELETE FROM test WHERE id = {}", 10 + turn / 2),
        ];
        for sql in &others {
            p.db.execute(sql, ()).expect("nobody is in its way");
        }
        p.play(&[(1, "SELECT count(*), min(value), max(value) FROM test", "2=10=20")]);
    }
    p.play(&[(1, "COMMIT", "COMMIT")]);
}

/// A row of which only columns have changed that nobody has read is as it was read.
fn columns_that_were_not_read_may_change(protocol: ProtocolKind) {
    let p = Players::of(protocol, &["SERIALIZABLE"]);
    p.db.execute_script(
        "CREATE TABLE warehouse (id int PRIMARY KEY, tax int, total int, name text);
         CREATE INDEX ON warehouse (total);
         INSERT INTO warehouse VALUES (1, 7, 0, 'a'), (2, 8, 0, 'b');
         CREATE TABLE orders (id int PRIMARY KEY, tax int);",
    )
    .expect("the schema is accepted");
    let pays = "UPDATE warehouse SET total = total + 1, name = name || '!'";
    p.play(&[
        (1, "COMMIT", "COMMIT"),
        (1, "BEGIN", "BEGIN"),
        (1, "SELECT tax FROM warehouse WHERE id = 1", "7"),
        (1, "INSERT INTO orders VALUES (1, 7)", "INSERT 0 1"),
    ]);
    p.db.execute(pays, ()).expect("nobody is in its way");
    p.play(&[(1, "SELECT sum(tax) FROM warehouse", "15"), (1, "UPDATE orders SET tax = 8", "UPDATE 1")]);
    p.db.execute(pays, ()).expect("nobody is in its way");
    p.play(&[(1, "COMMIT", "COMMIT"), (1, "BEGIN", "BEGIN")]);
    // One that was read.
    p.play(&[
        (1, "SELECT tax FROM warehouse WHERE id = 1", "7"),
        (1, "SELECT total FROM warehouse WHERE id = 2", "2"),
        (1, "INSERT INTO orders VALUES (2, 7)", "INSERT 0 1"),
    ]);
    p.db.execute(pays, ()).expect("nobody is in its way");
    p.play(&[(1, "COMMIT", "40001"), (1, "BEGIN", "BEGIN")]);
    // One that was looked up by, or compared.
    for condition in ["total = 3", "total + 0 = 3", "name LIKE 'b%' AND tax = 8"] {
        let sql = format!("SELECT tax FROM warehouse WHERE {condition} AND id = 2");
        assert_eq!(p.ask(1, &sql), "8", "{condition}");
        p.play(&[(1, "INSERT INTO orders VALUES (2, 7)", "INSERT 0 1")]);
        p.db.execute(pays, ()).expect("nobody is in its way");
        p.play(&[(1, "COMMIT", "40001")]);
        p.db.execute("UPDATE warehouse SET total = 3, name = left(name, 1)", ()).expect("as before");
        p.play(&[(1, "BEGIN", "BEGIN")]);
    }
    // A key that was found taken is all that was read of its row, which is not one of the table read before.
    p.db.execute_script("CREATE TABLE narrow (id int PRIMARY KEY, n int); INSERT INTO narrow VALUES (1, 1);")
        .expect("the schema is accepted");
    for (order, changes, commit) in [(3, "n = n + 1", "COMMIT"), (4, "id = id + 1", "40001")] {
        p.play(&[
            (1, "SELECT tax, name FROM warehouse WHERE id = 1", "7=a"),
            (1, "SAVEPOINT s", "SAVEPOINT"),
            (1, "INSERT INTO narrow VALUES (1, 2)", "23505"),
            (1, "ROLLBACK TO s", "ROLLBACK"),
            (1, &format!("INSERT INTO orders VALUES ({order}, 7)"), "INSERT 0 1"),
        ]);
        p.db.execute(&format!("UPDATE narrow SET {changes}"), ()).expect("nobody is in its way");
        p.play(&[(1, "COMMIT", commit), (1, "BEGIN", "BEGIN")]);
    }
    // What is read by SQL made at run time is not known: any column counts.
    p.db.execute_script(
        "CREATE FUNCTION tax(n int) RETURNS int AS $$ DECLARE found int; BEGIN
           EXECUTE 'SELECT tax FROM warehouse WHERE id = $1' INTO found USING n; RETURN found; END $$ LANGUAGE plpgsql",
    )
    .expect("a function");
    p.play(&[(1, "ROLLBACK", "ROLLBACK"), (1, "BEGIN", "BEGIN"), (1, "SELECT tax(1)", "7")]);
    p.play(&[(1, "INSERT INTO orders VALUES (2, 7)", "INSERT 0 1")]);
    p.db.execute(pays, ()).expect("nobody is in its way");
    p.play(&[(1, "COMMIT", "40001")]);
}

/// Constraints hold at every level.
fn constraints_hold_at_every_level(protocol: ProtocolKind) {
    for level in LEVELS {
        for deferred in ["", " DEFERRABLE INITIALLY DEFERRED"] {
            let p = Players::of(protocol, &[level; 2]);
            p.db.execute_script(&format!(
                "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES test{deferred});
                 INSERT INTO child VALUES (1, 1)"
            ))
            .expect("the schema is accepted");
            p.play(&[
                (1, "ROLLBACK", "ROLLBACK"),
                (2, "ROLLBACK", "ROLLBACK"),
                (1, &format!("BEGIN ISOLATION LEVEL {level}"), "BEGIN"),
                (2, &format!("BEGIN ISOLATION LEVEL {level}"), "BEGIN"),
                (1, "SELECT count(*) FROM test", "2"),
                (2, "SELECT count(*) FROM test", "2"),
                (1, "INSERT INTO child VALUES (2, 2)", "INSERT 0 1"),
            ]);
            // Whoever deletes the parent waits, or fails; or the child does.
            p.tell(2, "DELETE FROM test WHERE id = 2");
            thread::sleep(Duration::from_millis(20));
            p.ask(1, "COMMIT");
            p.answer(2);
            p.ask(2, "COMMIT");
            assert_eq!(
                p.value("SELECT count(*) FROM child WHERE parent NOT IN (SELECT id FROM test)"),
                0,
                "{level}"
            );
            // A unique key that the moment does not show.
            p.play(&[
                (1, &format!("BEGIN ISOLATION LEVEL {level}"), "BEGIN"),
                (1, "SELECT count(*) FROM child WHERE id = 9", "0"),
            ]);
            p.db.execute("INSERT INTO child VALUES (9, 1)", ()).expect("nobody is in its way");
            let refused = p.ask(1, "INSERT INTO child VALUES (9, 1)");
            assert!(["23505", "40001"].contains(&refused.as_str()), "{level}: {refused}");
            p.play(&[(1, "ROLLBACK", "ROLLBACK")]);
            // ON CONFLICT sees what is there.
            p.play(&[
                (1, &format!("BEGIN ISOLATION LEVEL {level}"), "BEGIN"),
                (1, "SELECT count(*) FROM child WHERE id = 10", "0"),
            ]);
            p.db.execute("INSERT INTO child VALUES (10, 1)", ()).expect("nobody is in its way");
            let upsert = "INSERT INTO child VALUES (10, 1) ON CONFLICT (id) DO UPDATE SET parent = NULL";
            let fresh = level == "READ COMMITTED";
            p.play(&[(1, upsert, if fresh { "INSERT 0 1" } else { "40001" }), (1, "ROLLBACK", "ROLLBACK")]);
        }
    }
}

/// Of two blocks that store rows in each other's way one fails, whatever they see; and a row that the moment does not show
/// is in the way.
fn exclusions_hold_at_every_level(protocol: ProtocolKind) {
    for level in LEVELS {
        for constraint in ["room WITH =, during WITH &&", "during WITH &&"] {
            let p = Players::of(protocol, &[level; 2]);
            p.play(&[(1, "ROLLBACK", "ROLLBACK"), (2, "ROLLBACK", "ROLLBACK")]);
            p.db.execute_script(&format!(
                "CREATE TABLE booking (id int PRIMARY KEY, room int, during int4range, EXCLUDE USING gist ({constraint}));
                 INSERT INTO booking VALUES (1, 1, '[1,5)'), (2, 1, '[50,60)')"
            ))
            .expect("the schema is accepted");
            let begin = format!("BEGIN ISOLATION LEVEL {level}");
            p.play(&[
                (1, &begin, "BEGIN"),
                (2, &begin, "BEGIN"),
                (1, "SELECT count(*) FROM booking", "2"),
                (2, "SELECT count(*) FROM booking", "2"),
                (1, "INSERT INTO booking VALUES (3, 1, '[10,20)')", "INSERT 0 1"),
            ]);
            // Another row, which overlaps; whoever is second fails, now or when it commits.
            p.tell(2, "INSERT INTO booking VALUES (4, 1, '[15,30)')");
            thread::sleep(Duration::from_millis(20));
            p.ask(1, "COMMIT");
            p.answer(2);
            p.ask(2, "COMMIT");
            let overlapping =
                "SELECT count(*) FROM booking a JOIN booking b ON a.during && b.during AND a.id < b.id";
            assert_eq!(p.value(overlapping), 0, "{level} {constraint}");
            // The same where rows that are there are moved.
            p.play(&[(1, &begin, "BEGIN"), (2, &begin, "BEGIN")]);
            p.ask(1, "UPDATE booking SET during = '[100,110)' WHERE id = 1");
            p.tell(2, "UPDATE booking SET during = '[105,106)' WHERE id = 2");
            thread::sleep(Duration::from_millis(20));
            p.ask(1, "COMMIT");
            p.answer(2);
            p.ask(2, "COMMIT");
            assert_eq!(p.value(overlapping), 0, "{level} {constraint}");
            // A row that the moment does not show.
            p.play(&[(1, &begin, "BEGIN"), (1, "SELECT count(*) FROM booking WHERE id = 9", "0")]);
            p.db.execute("INSERT INTO booking VALUES (9, 1, '[200,210)')", ()).expect("nobody is in its way");
            let refused = p.ask(1, "INSERT INTO booking VALUES (10, 1, '[205,206)')");
            assert!(["23P01", "40001"].contains(&refused.as_str()), "{level}: {refused}");
            p.play(&[(1, "ROLLBACK", "ROLLBACK"), (1, &begin, "BEGIN")]);
            p.ask(1, "SELECT count(*) FROM booking");
            p.db.execute("INSERT INTO booking VALUES (11, 1, '[300,310)')", ())
                .expect("nobody is in its way");
            let skipped = p.ask(1, "INSERT INTO booking VALUES (12, 1, '[305,306)') ON CONFLICT DO NOTHING");
            assert!(["INSERT 0 0", "40001"].contains(&skipped.as_str()), "{level}: {skipped}");
            p.play(&[(1, "ROLLBACK", "ROLLBACK")]);
        }
    }
}

/// What SET and SHOW say is so.
fn levels_are_what_is_shown(protocol: ProtocolKind) {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    let mut session = db.session().expect("a seat");
    let show = |session: &mut Session| {
        session.query("SHOW transaction_isolation", ()).expect("shows")[0].get::<String>(0).expect("text")
    };
    let mut run = |sql: &str, expected: &str| {
        session.execute_script(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert_eq!(show(&mut session), expected, "{sql}");
    };
    run("SELECT 1", "serializable");
    run("BEGIN ISOLATION LEVEL READ COMMITTED", "read committed");
    run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "repeatable read");
    run("ROLLBACK", "serializable");
    run("SET default_transaction_isolation = 'read committed'", "read committed");
    run("BEGIN", "read committed");
    run(
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
        "read committed",
    );
    run("COMMIT", "repeatable read");
    run("BEGIN; SET transaction_isolation TO 'serializable'", "serializable");
    run("COMMIT; RESET default_transaction_isolation", "serializable");
    run("START TRANSACTION READ ONLY, ISOLATION LEVEL READ COMMITTED; SELECT 1", "read committed");
    run("COMMIT", "serializable");
    let late = "BEGIN; SELECT count(*) FROM pg_class; SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
    let error = session.execute_script(late).expect_err("too late");
    assert_eq!(error.sqlstate().to_string(), "25001");
    session.execute_script("ROLLBACK").expect("it ends");
    // A function is asked by a query, so it is too late for any level but the one that holds.
    let set = "SELECT set_config('transaction_isolation', 'read committed', true)";
    for script in [set, &format!("BEGIN; {set}")] {
        let error = session.execute_script(script).expect_err("too late");
        assert_eq!(error.sqlstate().to_string(), "25001", "{script}");
    }
    session.execute_script("ROLLBACK").expect("it ends");
    session
        .execute_script(&format!("BEGIN ISOLATION LEVEL READ COMMITTED; {set}; COMMIT"))
        .expect("it holds");
    assert_eq!(show(&mut session), "serializable");
}

/// READ ONLY, READ COMMITTED: each statement shows what is committed.
fn readers_of_what_is_committed(protocol: ProtocolKind) {
    let p = Players::of(protocol, &["READ COMMITTED, READ ONLY"]);
    p.play(&[(1, "SELECT sum(value) FROM test", "30")]);
    p.db.execute("UPDATE test SET value = value + 1", ()).expect("nobody is in its way");
    p.play(&[(1, "SELECT sum(value) FROM test", "32"), (1, "INSERT INTO test VALUES (5, 5)", "25006")]);
}

/// That a key is taken is an answer like any other: below SERIALIZABLE it need not hold, whatever becomes of the row.
fn what_is_taken_need_not_stay(protocol: ProtocolKind) {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        for change in ["UPDATE test SET value = 11 WHERE id = 1", "DELETE FROM test WHERE id = 1"] {
            let p = Players::of(protocol, &[level]);
            p.play(&[
                (1, "SAVEPOINT a", "SAVEPOINT"),
                (1, "INSERT INTO test VALUES (1, 30)", "23505"),
                (1, "ROLLBACK TO SAVEPOINT a", "ROLLBACK"),
                (1, "INSERT INTO test VALUES (1, 40) ON CONFLICT DO NOTHING", "INSERT 0 0"),
                (1, "UPDATE test SET value = 21 WHERE id = 2", "UPDATE 1"),
            ]);
            p.db.execute(change, ()).expect("nobody has locked it");
            p.play(&[(1, "COMMIT", "COMMIT")]);
        }
    }
}

/// Who refers to a row by a key of its that is not the primary one is not in the way of who changes the rest of it.
fn parents_by_another_key_may_change(protocol: ProtocolKind) {
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let p = Players::of(protocol, &[level]);
        p.play(&[(1, "ROLLBACK", "ROLLBACK")]);
        p.db.execute_script(
            "CREATE TABLE parent (id int PRIMARY KEY, code int NOT NULL UNIQUE, value int NOT NULL);
                 CREATE TABLE child (id int PRIMARY KEY, code int REFERENCES parent (code));
                 INSERT INTO parent VALUES (1, 7, 10)",
        )
        .expect("the schema is accepted");
        p.play(&[
            (1, &format!("BEGIN ISOLATION LEVEL {level}"), "BEGIN"),
            (1, "SELECT count(*) FROM child", "0"),
            (1, "INSERT INTO child VALUES (1, 7)", "INSERT 0 1"),
        ]);
        let mut other = p.db.session().expect("a seat");
        other.execute("SET lock_timeout = 20", ()).expect("a setting");
        let mut update = |change| other.execute(&format!("UPDATE parent SET {change}"), ());
        update("value = 11").expect("its key stays");
        for change in ["code = 8", "id = 2"] {
            let refused = update(change).expect_err("it is referred to");
            assert_eq!(refused.sqlstate(), SqlState::LOCK_NOT_AVAILABLE);
        }
        p.play(&[(1, "COMMIT", "COMMIT")]);
        assert_eq!(update("code = 8").expect_err("the same").sqlstate(), SqlState::FOREIGN_KEY_VIOLATION);
        let orphans = "SELECT count(*) FROM child WHERE code NOT IN (SELECT code FROM parent)";
        assert_eq!(p.value(orphans), 0, "{level}");
    }
}

/// That a key is taken is told as of now: a block that has heard so cannot have been before the row came, though it has changed nothing.
/// (PostgreSQL says 40001 at once.)
fn answers_as_of_now_have_no_place_in_the_past(protocol: ProtocolKind) {
    for insert in [
        "INSERT INTO test VALUES (100, 5) ON CONFLICT DO NOTHING",
        "INSERT INTO test VALUES (100, 5) ON CONFLICT (id) DO UPDATE SET value = 7 WHERE test.value < 0",
    ] {
        let players = Players::of(protocol, &["SERIALIZABLE", "SERIALIZABLE"]);
        assert_eq!(players.ask(1, "SELECT count(*) FROM test"), "2");
        assert_eq!(players.ask(2, "SELECT value FROM test WHERE id = 1"), "10");
        players.db.execute("INSERT INTO test VALUES (100, 1)", ()).expect("it is new");
        assert_eq!(players.ask(1, insert), "INSERT 0 0");
        assert_eq!(players.ask(2, insert), "INSERT 0 0");
        assert_eq!(players.ask(1, "COMMIT"), "40001", "{insert}");
        assert_eq!(players.ask(2, "COMMIT"), "COMMIT", "{insert}: what it has read holds with the row");
    }
    // A key that is taken by what the block cannot have seen is no 23505.
    let players = Players::of(protocol, &["SERIALIZABLE"]);
    assert_eq!(players.ask(1, "SELECT count(*) FROM test"), "2");
    players.db.execute("INSERT INTO test VALUES (100, 1)", ()).expect("it is new");
    assert_eq!(players.ask(1, "INSERT INTO test VALUES (100, 5)"), "40001");
}

/// SKIP LOCKED meets rows as they are now: with what was read before, they are of one state.
fn skipping_locked_rows_moves_on(protocol: ProtocolKind) {
    let skip = "SELECT id, value FROM test ORDER BY id FOR UPDATE SKIP LOCKED";
    let players = Players::of(protocol, &["SERIALIZABLE"]);
    assert_eq!(players.ask(1, "SELECT value FROM test WHERE id = 1"), "10");
    players.db.execute("UPDATE test SET value = 21 WHERE id = 2", ()).expect("it is free");
    assert_eq!(players.ask(1, skip), "1=10 2=21");
    assert_eq!(players.ask(1, "COMMIT"), "COMMIT");
    let players = Players::of(protocol, &["SERIALIZABLE"]);
    assert_eq!(players.ask(1, "SELECT value FROM test WHERE id = 1"), "10");
    players.db.execute("UPDATE test SET value = value + 1", ()).expect("they are free");
    let (skipped, ended) = (players.ask(1, skip), players.ask(1, "COMMIT"));
    assert!(skipped == "40001" || ended == "40001", "{skipped}, {ended}");
}
