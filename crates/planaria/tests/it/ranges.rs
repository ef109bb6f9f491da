//! Ranges and EXCLUDE constraints are part of programs: how calls with them are logged, what every scheme makes of that, and
//! that rows in each other's way are never both there.

use crate::logged::{logged, replayed_by_all};
use planaria::{Database, SqlState};
use std::thread;

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE booking (id serial PRIMARY KEY, room int NOT NULL, during int4range NOT NULL, price numrange, at tstzrange,
        all_of int4range[], EXCLUDE USING gist (room WITH =, during WITH &&));
    CREATE TABLE offer (room int, begins int, ends int, active bool DEFAULT true,
        EXCLUDE USING gist (room WITH =, int4range(begins, ends) WITH &&) WHERE (active));
    CREATE PROCEDURE book(p_room int, p_during int4range, p_price numeric) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO booking (room, during, price, at, all_of)
            VALUES (p_room, p_during, numrange(p_price, NULL), tstzrange('2024-01-01 00:00+00', NULL), ARRAY[p_during, 'empty']);
    END $$;
    CREATE PROCEDURE try(p_room int, p_during int4range) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO booking (room, during) VALUES (p_room, p_during) ON CONFLICT DO NOTHING;
    END $$;
    CREATE PROCEDURE move(p_room int, p_by int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE booking SET during = int4range(lower(during) + p_by, upper(during) + p_by) WHERE room = p_room;
    END $$;
    CREATE PROCEDURE extend(p_at int, p_to int) LANGUAGE plpgsql AS $$
    DECLARE r int4range;
    BEGIN
        FOR r IN SELECT during FROM booking WHERE during @> p_at ORDER BY room LOOP
            UPDATE booking SET during = r + int4range(p_at, p_to) WHERE during = r;
        END LOOP;
    END $$;
    CREATE PROCEDURE put_offer(p_room int, p_begins int, p_ends int, p_active bool) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO offer VALUES (p_room, p_begins, p_ends, p_active);
    END $$;";

#[test]
fn calls_stay_calls() {
    let all = logged(&format!(
        "{SCHEMA} CALL book(1, '[1,5)', 2); CALL try(1, '[4,8)'); CALL move(1, 10); CALL put_offer(1, 2, 3, true);"
    ));
    let calls: Vec<_> = all.iter().filter(|record| !record.contains("sequence")).collect();
    assert!(calls.iter().rev().take(3).all(|record| record.ends_with("call")), "{all:?}");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for (room, during) in [(1, "[1,5)"), (1, "[5,8)"), (2, "[1,5]"), (3, "(,4)"), (3, "[10,)")] {
                db.call("book", (room, during, 3)).expect("books");
            }
            let taken = db.call("book", (1, "[4,6)", 3)).expect_err("is taken");
            assert_eq!(taken.sqlstate(), SqlState::EXCLUSION_VIOLATION);
            db.call("try", (1, "[4,6)")).expect("does nothing");
            db.call("try", (1, "[8,9)")).expect("books");
            db.call("move", (2, 100)).expect("moves");
            db.call("extend", (8, 12)).expect("extends");
            db.execute("UPDATE booking SET room = 4 WHERE room = 2", ()).expect("changes");
            for (room, begins, ends, active) in [(1, 1, 5, true), (1, 2, 4, false), (2, 2, 4, true)] {
                db.call("put_offer", (room, begins, ends, active)).expect("offers");
            }
            let taken = db.call("put_offer", (1, 3, 4, true)).expect_err("is taken");
            assert_eq!(taken.sqlstate(), SqlState::EXCLUSION_VIOLATION);
        },
        &|db| {
            let text = "SELECT string_agg(concat_ws(' ', room, during, price, at, all_of), '; ' ORDER BY room, during) FROM booking";
            let seen = db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(
                seen,
                "1 [1,5) [3,) [\"2024-01-01 00:00:00+00\",) {\"[1,5)\",empty}; \
                 1 [5,8) [3,) [\"2024-01-01 00:00:00+00\",) {\"[5,8)\",empty}; 1 [8,12); \
                 3 (,4) [3,) [\"2024-01-01 00:00:00+00\",) {\"(,4)\",empty}; \
                 3 [10,) [3,) [\"2024-01-01 00:00:00+00\",) {\"[10,)\",empty}; \
                 4 [101,106) [3,) [\"2024-01-01 00:00:00+00\",) {\"[1,6)\",empty}"
            );
            let offers = "SELECT string_agg(concat_ws(' ', room, begins, ends, active), '; ' ORDER BY room, begins) FROM offer";
            let seen = db.query(offers, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(seen, "1 1 5 t; 1 2 4 f; 2 2 4 t");
            // The constraints are in force.
            for refused in [
                "INSERT INTO booking (room, during) VALUES (1, '[7,9)')",
                "INSERT INTO offer VALUES (2, 3, 9)",
            ] {
                let error = db.execute(refused, ()).expect_err("is in the way");
                assert_eq!(error.sqlstate(), SqlState::EXCLUSION_VIOLATION, "{refused}");
            }
        },
    );
}

/// Many book at the same time: nothing overlaps, and what was refused had a reason.
#[test]
fn nothing_overlaps_whoever_books_at_the_same_time() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    let booked: usize = thread::scope(|scope| {
        let players: Vec<_> = (0..4)
            .map(|player| {
                let db = &db;
                scope.spawn(move || {
                    let mut session = db.session().expect("a seat");
                    let mut booked = 0;
                    for n in 0..150 {
                        let begins = (n * 7 + player * 3) % 100;
                        let during = format!("[{begins},{})", begins + 1 + (n + player) % 5);
                        match session.call("book", (n % 2, during.as_str(), 1)) {
                            Ok(_) => booked += 1,
                            Err(e) => assert_eq!(e.sqlstate(), SqlState::EXCLUSION_VIOLATION, "{e}"),
                        }
                    }
                    booked
                })
            })
            .collect();
        players.into_iter().map(|player| player.join().expect("ends")).sum()
    });
    let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<i64>(0).expect("a number");
    assert_eq!(one("SELECT count(*) FROM booking"), booked as i64);
    let overlapping = "SELECT count(*) FROM booking a JOIN booking b ON a.room = b.room AND a.during && b.during AND a.id < b.id";
    assert_eq!(one(overlapping), 0);
    db.check().expect("is whole");
}
