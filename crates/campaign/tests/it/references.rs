//! Foreign keys in a crowd: parents are deleted while children come, by statements, blocks and procedures.
//! No child may be left without its parent, and none may be there twice. Procedures pause behind their checks, so
//! that they meet.

use planaria::lab::LabOptions;
use planaria::{Database, Error, Options, ProtocolKind, Session};
use planaria_protocol::silo::SiloWith;
use planaria_sim::dice::Dice;

const SCHEMA: &str = "
    CREATE TABLE parent (id int PRIMARY KEY, name text UNIQUE);
    CREATE TABLE child (id int PRIMARY KEY, parent int NOT NULL REFERENCES parent);
    CREATE TABLE dependent (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE);
    CREATE INDEX child_by_parent ON child (parent);
    CREATE INDEX dependent_by_parent ON dependent (parent);
    CREATE PROCEDURE adopt(p_child int, p_parent int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO parent VALUES (p_parent, 'parent ' || p_parent) ON CONFLICT (id) DO NOTHING;
        INSERT INTO child VALUES (p_child, p_parent);
        PERFORM pg_sleep(0.0002);
    END $$;
    CREATE PROCEDURE leave(p_parent int) LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM child WHERE parent = p_parent;
        DELETE FROM parent WHERE id = p_parent;
        PERFORM pg_sleep(0.0002);
    END $$;";

const ORPHANS: &str = "
    SELECT (SELECT count(*) FROM child c WHERE NOT EXISTS (SELECT 1 FROM parent p WHERE p.id = c.parent))
         + (SELECT count(*) FROM dependent d WHERE NOT EXISTS (SELECT 1 FROM parent p WHERE p.id = d.parent))";

fn one(session: &mut Session, dice: &mut Dice) -> Result<(), Error> {
    let (parent, child) = (dice.below(4), dice.below(12));
    let statement = match dice.below(10) {
        0 | 1 => format!("INSERT INTO child VALUES ({child}, {parent})"),
        2 => format!("INSERT INTO dependent VALUES ({child}, {parent})"),
        3 => format!("DELETE FROM parent WHERE id = {parent}"),
        4 => format!("INSERT INTO parent VALUES ({parent}, 'parent {parent}')"),
        5 => format!("UPDATE child SET parent = {parent} WHERE id = {child}"),
        6 => format!("DELETE FROM child WHERE id = {child}"),
        7 => format!("CALL adopt({child}, {parent})"),
        8 => format!("CALL leave({parent})"),
        _ => format!(
            "BEGIN; INSERT INTO dependent VALUES ({child}, {parent}); DELETE FROM child WHERE parent = {parent};
             DELETE FROM parent WHERE id = {}; COMMIT",
            (parent + 1) % 4
        ),
    };
    let outcome = session.execute_script(&statement);
    if session.in_transaction() {
        session.execute("ROLLBACK", ())?;
    }
    match outcome {
        // Refused, or not to be serialized.
        Err(e) if matches!(&e.sqlstate().as_str()[..2], "23" | "40") => Ok(()),
        other => other,
    }
}

/// Children without a parent after so many rounds of the crowd; it ends with the first.
fn orphans(db: &Database, rounds: u64) -> i64 {
    db.execute_script(SCHEMA).expect("the schema");
    for round in 0..rounds {
        std::thread::scope(|scope| {
            for thread in 0..3 {
                scope.spawn(move || {
                    let mut session = db.session().expect("a session");
                    let mut dice = Dice::new(round, thread);
                    for _ in 0..40 {
                        one(&mut session, &mut dice).expect("an answer");
                        if dice.chance(20) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
        });
        db.check().expect("indexes agree with rows");
        let orphans: i64 = db.query(ORPHANS, ()).expect("counts")[0].get(0).expect("a count");
        if orphans > 0 {
            return orphans;
        }
    }
    0
}

#[test]
fn no_child_is_left_without_its_parent() {
    for protocol in ProtocolKind::ALL {
        let db = Options::new().protocol(*protocol).in_memory().expect("opens");
        assert_eq!(orphans(&db, 60), 0, "{protocol}");
    }
}

/// The same crowd under a protocol that does not look for phantoms: a parent's deletion scans for children.
#[test]
fn a_broken_protocol_leaves_some() {
    let db = Options::new().in_memory_over::<SiloWith<true, false>>().expect("opens");
    assert!(orphans(&db, 1000) > 0);
}
