//! Procedures that take the first rows of an order, and the best of many: what every scheme makes of their calls.

use crate::logged::replayed_by_all;
use planaria::Database;

/// More rows than are kept for the first few, with values that tie.
const SCHEMA: &str = "
    CREATE TABLE item (id int PRIMARY KEY, weight int, price numeric(8, 2) NOT NULL, name text NOT NULL);
    INSERT INTO item SELECT g, NULLIF(g * 7919 % 41, 7), g * 17 % 1000 / 10.0, 'item ' || g % 50 FROM generate_series(1, 1500) g;
    CREATE TABLE shelf (at int, id int, weight int, name text, PRIMARY KEY (at, id));
    CREATE TABLE tally (at int PRIMARY KEY, lightest int, heaviest int, dearest numeric, last text);
    CREATE PROCEDURE pick(place int, so_many bigint, behind bigint, which text) LANGUAGE plpgsql AS $$
    DECLARE
        r record;
    BEGIN
        FOR r IN SELECT id, weight, name FROM item WHERE name LIKE which AND price > 5
            ORDER BY weight DESC NULLS LAST, price, id LIMIT so_many OFFSET behind
        LOOP
            INSERT INTO shelf VALUES (place, r.id, r.weight, r.name);
            UPDATE item SET weight = weight - 1, price = price + 1 WHERE id = r.id;
        END LOOP;
        INSERT INTO tally SELECT place, min(weight), max(weight), max(price), max(name) FROM item
            WHERE name LIKE which AND price > 5;
    END $$;
    CREATE PROCEDURE ties(place int, so_many int) LANGUAGE sql AS $$
        INSERT INTO shelf SELECT place, id, weight, name FROM item ORDER BY weight NULLS FIRST FETCH FIRST so_many ROWS WITH TIES;
        UPDATE item SET weight = 0 WHERE id = (SELECT id FROM item ORDER BY price DESC, id LIMIT 1)
    $$;
";

const CALLS: [&str; 6] = [
    "CALL pick(1, 5, 0, 'item%')",
    "CALL pick(2, 3, 4, 'item 1%')",
    "CALL ties(3, 1)",
    "CALL pick(4, NULL, 1425, 'item%')",
    "CALL ties(5, 40)",
    "CALL pick(6, 2, NULL, '%7')",
];

/// Everything there is, in short.
fn rows(db: &Database) -> String {
    let text = "SELECT (SELECT string_agg(at || ' ' || n || ' ' || ids || ' ' || weights, ', ' ORDER BY at) FROM
        (SELECT at, count(*) n, sum(id) ids, COALESCE(sum(weight), 0) weights FROM shelf GROUP BY at) s)
        || '; ' || (SELECT string_agg(concat_ws(' ', at, lightest, heaviest, dearest, last), ', ' ORDER BY at) FROM tally)
        || '; ' || (SELECT sum(id * weight) || ' ' || sum(id * price) FROM item)";
    db.query(text, ()).expect("reads")[0].get::<String>(0).expect("a text")
}

#[test]
fn every_scheme_picks_the_same_rows() {
    let before = Database::in_memory().expect("opens");
    before.execute_script(SCHEMA).expect("runs");
    for call in CALLS {
        before.execute(call, ()).expect(call);
    }
    let expected = rows(&before);
    assert!(expected.starts_with("1 5 "), "{expected}");
    replayed_by_all(
        SCHEMA,
        &|db| {
            for call in CALLS {
                db.execute(call, ()).expect(call);
            }
        },
        &|db| assert_eq!(rows(db), expected),
    );
}
