//! A database comes back with the same rows whatever its log holds: calls, after-images, locations or
//! changed words, by one kind throughout or another after each restart.

use planaria::lab::LabOptions;
use planaria::{Database, Durability, LogKind, Options, ProtocolKind, Session, SqlState};

const KINDS: [LogKind; 5] =
    [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological, LogKind::Adaptive];

const SCHEMA: &str = "
    CREATE TABLE item (id int PRIMARY KEY, tag int UNIQUE, name text, price numeric(10,2) NOT NULL,
                       wide numeric, stamp timestamp, flag bool NOT NULL DEFAULT false);
    CREATE INDEX item_by_name ON item (name, price);
    CREATE TABLE note (author text, line text);
    CREATE SEQUENCE numbers START 10;
    CREATE PROCEDURE put(p_id int, p_tag int, p_name text, p_price numeric) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO item (id, tag, name, price, stamp) VALUES (p_id, p_tag, p_name, p_price, now())
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, price = item.price + excluded.price;
    END $$;
    CREATE PROCEDURE swap(p_a int, p_b int) LANGUAGE plpgsql AS $$
    DECLARE t int; u int;
    BEGIN
        SELECT tag INTO t FROM item WHERE id = p_a;
        SELECT tag INTO u FROM item WHERE id = p_b;
        UPDATE item SET tag = NULL WHERE id = p_a;
        UPDATE item SET tag = t WHERE id = p_b;
        UPDATE item SET tag = u WHERE id = p_a;
    END $$;
    CREATE PROCEDURE replace_it(p_id int, p_name text) LANGUAGE plpgsql AS $$
    DECLARE t int;
    BEGIN
        SELECT tag INTO t FROM item WHERE id = p_id;
        DELETE FROM item WHERE id = p_id;
        INSERT INTO item (id, tag, name, price) VALUES (p_id, t, p_name, 1);
        INSERT INTO note VALUES (p_name, 'replaced ' || p_id);
    END $$;";

/// A number that looks random, always the same for a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Steps that insert, grow, shrink, swap unique values, delete and insert again, roll back.
fn work(session: &mut Session, dice: &mut Dice) {
    for _ in 0..120 {
        let (a, b) = (dice.below(12), dice.below(12));
        let name = "x".repeat(dice.below(60) as usize);
        let sql = match dice.below(11) {
            0..=2 => format!("CALL put({a}, {}, '{name}', {}.5)", 100 + a, b),
            3 => format!("CALL swap({a}, {b})"),
            4 => format!("CALL replace_it({a}, '{name}')"),
            5 => format!("UPDATE item SET name = NULL, wide = {b} * 1.5, flag = NOT flag WHERE id = {a}"),
            6 => format!("DELETE FROM item WHERE id = {a}"),
            7 => format!("INSERT INTO note VALUES ('{name}', '{}')", dice.below(1000)),
            8 => format!("UPDATE note SET line = line || '{name}' WHERE author = '{name}'"),
            9 => "SELECT nextval('numbers')".to_owned(),
            _ => format!(
                "BEGIN; CALL put({a}, {}, 'kept', 1); SAVEPOINT s; DELETE FROM item;
                 UPDATE note SET line = 'gone'; ROLLBACK TO s; UPDATE item SET price = price + 1 WHERE id < {b};
                 DELETE FROM note WHERE line LIKE '%{b}'; COMMIT",
                100 + a
            ),
        };
        if let Err(error) = session.execute_script(&sql) {
            let expected = [SqlState::UNIQUE_VIOLATION, SqlState::NOT_NULL_VIOLATION];
            assert!(expected.contains(&error.sqlstate()), "{sql}: {error}");
            if session.in_transaction() {
                session.execute_script("ROLLBACK").unwrap();
            }
        }
    }
}

fn state(db: &Database) -> Vec<(String, u128)> {
    db.check().unwrap();
    db.digests().unwrap()
}

/// Works through `kinds`, a restart after each; what was there before a restart is there after it.
fn restarts(kinds: impl IntoIterator<Item = LogKind>, protocol: ProtocolKind, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut dice = Dice(seed);
    let mut before: Option<Vec<(String, u128)>> = None;
    let mut next = 0;
    for kind in kinds {
        let db = Options::new().protocol(protocol).log(kind).durability(Durability::Async);
        let db = db.open(dir.path()).unwrap();
        match &before {
            None => db.execute_script(SCHEMA).unwrap(),
            Some(before) => assert_eq!(&state(&db), before, "seed {seed}, before {kind}"),
        }
        let value: i64 = db.query("SELECT nextval('numbers')", ()).unwrap()[0].get(0).unwrap();
        assert!(value > next, "{value} after {next}");
        work(&mut db.session().unwrap(), &mut dice);
        next = db.query("SELECT nextval('numbers')", ()).unwrap()[0].get(0).unwrap();
        before = Some(state(&db));
        db.close().unwrap();
    }
    let db = Options::new().protocol(protocol).open(dir.path()).unwrap();
    assert_eq!(Some(state(&db)), before, "seed {seed}, at the end");
}

#[test]
fn every_kind_brings_the_rows_back() {
    for (seed, kind) in (0..).zip(KINDS) {
        for (n, protocol) in (0..).zip(ProtocolKind::ALL) {
            restarts([kind; 3], *protocol, seed + n * 10);
        }
    }
}

#[test]
fn kinds_mix_in_one_log() {
    for (n, protocol) in (0..).zip(ProtocolKind::ALL) {
        restarts(KINDS, *protocol, 77 + n * 10);
        restarts(KINDS.into_iter().rev(), *protocol, 78 + n * 10);
    }
}

/// Under a scheme that promises no order of commits in which calls repeat, calls are logged by the rows they change.
#[test]
fn calls_without_an_order_are_logged_by_values() {
    use planaria::log::{Body, Filter};
    type WithoutOrder = planaria_protocol::silo::SiloWith<true, true, false>;
    let disk = planaria_sim::disk::SimDisk::new(1);
    let db = Options::new().open_device_over::<WithoutOrder>(disk.device()).unwrap();
    db.execute_script(SCHEMA).unwrap();
    db.call("put", (1, 10, "one", "1.50")).unwrap();
    db.call("put", (1, 10, "uno", "1.50")).unwrap();
    let lines = db.query("EXPLAIN PROCEDURE put", ()).unwrap();
    let line = |at: usize| lines[at].get::<String>(0).unwrap();
    assert_eq!(line(1), "  Logged as: values (after-images of the rows it changes)");
    assert_eq!(
        line(2),
        "  Why: Under protocol silo, replaying calls in commit order need not give the same result."
    );
    let before = db.digests().unwrap();
    db.close().unwrap();

    let mut images = 0;
    let view = planaria::lab::open_log(disk.device()).unwrap();
    view.read(&Filter::default(), usize::MAX, &mut |entry| match entry.body {
        Body::Call { procedure, .. } => panic!("{procedure} is logged as a call"),
        Body::Effects { changes } => images += changes.iter().filter(|c| c.object == "item").count(),
    })
    .unwrap();
    assert_eq!(images, 2);
    drop(view);
    let db = Options::new().open_device(disk.device()).unwrap();
    assert_eq!(db.digests().unwrap(), before);
}
