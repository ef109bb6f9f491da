//! Blocks whose moment is moved on while what they have read changes there and back: values and ranges that are the same again
//! say nothing of what they were in between. Versions of histories are never the same again, so these are cases of their own.

use planaria::{Database, Options, ProtocolKind, Session, SqlState};
use planaria_base::sync::thread;
use planaria_sim::scheduler;
use std::sync::Arc;

/// `t.d` is 1, `r` has rows and `h.v` is odd; or `t.d` is 0, `r` is empty and `h.v` is even. `past` says of each step how many blocks
/// that have put a row into `o` were before it.
const SCHEMA: &str = "
    CREATE TABLE h (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE t (id int PRIMARY KEY, d int NOT NULL);
    CREATE TABLE r (id int PRIMARY KEY);
    CREATE TABLE o (k int PRIMARY KEY, d int NOT NULL);
    CREATE TABLE past (n int PRIMARY KEY, blocks int NOT NULL);
    INSERT INTO h VALUES (1, 0);
    INSERT INTO t VALUES (1, 0);
    INSERT INTO o VALUES (0, 0);
    CREATE PROCEDURE step() LANGUAGE plpgsql AS $$
    DECLARE n int; k int;
    BEGIN
        UPDATE h SET v = v + 1 WHERE id = 1 RETURNING v INTO n;
        UPDATE t SET d = n % 2 WHERE id = 1;
        IF n % 2 = 1 THEN INSERT INTO r VALUES (5); ELSE DELETE FROM r WHERE id = 5; END IF;
        SELECT max(o.k) INTO k FROM o;
        INSERT INTO past VALUES (n, k);
    END $$;";

const STEPS: usize = 8;

fn number(session: &mut Session, sql: &str) -> planaria::Result<i32> {
    session.query(sql, ())?[0].get(0)
}

/// What a block that commits has seen; `None` where it does not.
fn block(session: &mut Session, first: &str, writes: bool) -> Option<(i32, i32)> {
    let mut run = || {
        session.execute("BEGIN ISOLATION LEVEL SERIALIZABLE", ())?;
        let (one, other) = (number(session, first)?, number(session, "SELECT v FROM h WHERE id = 1")?);
        if writes {
            session.execute(&format!("INSERT INTO o SELECT max(k) + 1, {one} FROM o"), ())?;
        }
        session.execute("COMMIT", ())?;
        Ok::<_, planaria::Error>((one, other))
    };
    match run() {
        Ok(seen) => Some(seen),
        Err(error) => {
            assert_eq!(error.sqlstate(), SqlState::SERIALIZATION_FAILURE, "{error}");
            let _ = session.execute("ROLLBACK", ());
            None
        }
    }
}

/// One run; how many blocks have committed.
fn run(protocol: ProtocolKind) -> u32 {
    let db: Arc<Database> = Arc::new(Options::new().protocol(protocol).in_memory().expect("opens"));
    db.execute_script(SCHEMA).expect("the schema");
    let steps = {
        let mut session = db.session().expect("a seat");
        thread::spawn(move || {
            for _ in 0..STEPS {
                session.execute("CALL step()", ()).expect("it is repeated until it has come to pass");
            }
        })
    };
    let kinds = [
        ("SELECT d FROM t WHERE id = 1", false),
        ("SELECT count(*)::int FROM r WHERE id BETWEEN 1 AND 9", false),
        ("SELECT d FROM t WHERE id = 1", true),
    ];
    let blocks = kinds.map(|(first, writes)| {
        let mut session = db.session().expect("a seat");
        thread::spawn(move || {
            let seen = (0..4).filter_map(|_| block(&mut session, first, writes));
            let mut committed = 0;
            for (one, other) in seen {
                assert_eq!(one, other % 2, "{protocol}: {first}: {one}, and v is {other}");
                committed += 1;
            }
            committed
        })
    });
    steps.join().expect("the steps");
    let committed = blocks.into_iter().map(|block| block.join().expect("a block")).sum();
    let wrong = "SELECT count(*)::int FROM o WHERE k > 0
                 AND d <> (SELECT coalesce(max(n), 0) FROM past WHERE blocks < o.k) % 2";
    let mut session = db.session().expect("a seat");
    assert_eq!(
        number(&mut session, wrong).expect("a count"),
        0,
        "{protocol}: a block wrote what did not hold"
    );
    committed
}

/// The seeds, of which `SEEDS` says another number.
fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("SEEDS").map_or(240, |n| n.parse().expect("a number of seeds"))
}

#[test]
fn what_is_the_same_again_may_have_been_otherwise() {
    let mut committed = 0;
    for seed in seeds() {
        for protocol in [ProtocolKind::Silo, ProtocolKind::Mvocc, ProtocolKind::Healing] {
            let done = scheduler::run(scheduler::Options::of_seed(seed), move || run(protocol));
            let done = done.unwrap_or_else(|stuck| panic!("seed {seed}, {protocol}: {stuck}"));
            committed += done.value.unwrap_or_else(|panic| {
                println!("seed {seed}, {protocol}");
                std::panic::resume_unwind(panic)
            });
        }
    }
    assert!(committed > 0, "no block has committed");
}
