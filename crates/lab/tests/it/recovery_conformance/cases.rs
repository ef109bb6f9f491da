//! What the conformance suite runs: small schemas, each with transactions of one kind of difficulty.
//!
//! A case is SQL that makes tables, rows and procedures, and a function that draws the `n`-th
//! transaction. It may fail (an abort is part of what is tested); what it must not do is depend on
//! anything but what was drawn.

mod suites;

pub use suites::{SMALLBANK, TPCB, TPCC, VOTER, YCSB};

use planaria::Datum;
use rand::Rng;
use rand::rngs::SmallRng;

/// A transaction.
#[derive(Clone, Debug)]
pub enum Step {
    /// A procedure or function with its arguments.
    Call(&'static str, Vec<Datum>),
    /// Any statement; ad hoc unless it is a single CALL.
    Sql(String),
    /// A schema change: a statement that cannot stand in a transaction block.
    Schema(&'static str),
}

/// See the module's head.
pub struct Case {
    /// The workload whose schema and procedures it uses, if one of those.
    pub suite: Option<&'static str>,
    /// Tables, rows and procedures.
    pub setup: &'static str,
    /// Draws the `n`-th transaction.
    pub draw: fn(&mut SmallRng, u32) -> Step,
    /// Transactions a run.
    pub steps: u32,
}

fn int(n: i64) -> Datum {
    Datum::Int(n)
}

fn text(s: impl Into<String>) -> Datum {
    Datum::Text(s.into())
}

fn sql(s: String) -> Step {
    Step::Sql(s)
}

/// One row that everybody changes, in a way in which the order shows.
pub const HOT_KEY: Case = Case {
    suite: None,
    setup: "CREATE TABLE hot (id int PRIMARY KEY, value bigint NOT NULL, changes int NOT NULL);
        INSERT INTO hot SELECT i, i, 0 FROM generate_series(1, 3) AS g(i);
        CREATE PROCEDURE mix(p_id int, p_by bigint) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE hot SET value = (value * 31 + p_by) % 1000003, changes = changes + 1 WHERE id = p_id;
        END $$;
        CREATE PROCEDURE carry(p_from int, p_to int) LANGUAGE plpgsql AS $$
        DECLARE v bigint;
        BEGIN
            SELECT value INTO STRICT v FROM hot WHERE id = p_from;
            UPDATE hot SET value = (value * 7 + v) % 1000003 WHERE id = p_to;
        END $$;",
    draw: |r, _| match r.random_range(0..10) {
        0 => Step::Call("carry", vec![int(r.random_range(1..4)), int(1)]),
        1 => Step::Call("carry", vec![int(1), int(r.random_range(1..4))]),
        2 => Step::Call("mix", vec![int(r.random_range(2..4)), int(r.random_range(0..1000))]),
        _ => Step::Call("mix", vec![int(1), int(r.random_range(0..1000))]),
    },
    steps: 200,
};

/// Sums that many transactions add to, and that now and then somebody reads.
pub const SUMS: Case = Case {
    suite: None,
    setup: "CREATE TABLE account (id int PRIMARY KEY, n bigint NOT NULL, amount numeric(12,2) NOT NULL, ratio float8 NOT NULL);
        CREATE TABLE audit (id int PRIMARY KEY, n bigint, amount numeric(12,2));
        INSERT INTO account SELECT i, 0, 0, 1 FROM generate_series(1, 12) AS g(i);
        CREATE PROCEDURE add(p_id int, p_n int, p_amount numeric) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE account SET n = n + p_n, amount = amount - p_amount, ratio = ratio * 1.1 + p_n WHERE id = p_id;
        END $$;
        CREATE PROCEDURE look(p_id int, p_into int) LANGUAGE plpgsql AS $$
        DECLARE v account%ROWTYPE;
        BEGIN
            SELECT * INTO STRICT v FROM account WHERE id = p_id;
            INSERT INTO audit VALUES (p_into, v.n, v.amount)
            ON CONFLICT (id) DO UPDATE SET n = audit.n + excluded.n, amount = excluded.amount;
            IF v.n > 500 THEN
                UPDATE account SET n = 0 WHERE id = p_id;
            END IF;
        END $$;",
    draw: |r, _| {
        let id = int(r.random_range(1..13));
        if r.random_range(0..8) == 0 {
            Step::Call("look", vec![id, int(r.random_range(1..20))])
        } else {
            Step::Call("add", vec![id, int(r.random_range(-20..100)), text(format!("{}.{:02}", r.random_range(0..90), r.random_range(0..100)))])
        }
    },
    steps: 250,
};

/// Refusals of every kind: raised, by a check, by a missing row, by a division; none leaves a trace.
pub const ABORTS: Case = Case {
    suite: None,
    setup: "CREATE TABLE account (id int PRIMARY KEY, balance numeric(12,2) NOT NULL CHECK (balance >= 0));
        CREATE TABLE ledger (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int NOT NULL, b int NOT NULL, amount numeric(12,2));
        INSERT INTO account SELECT i, 100 FROM generate_series(1, 10) AS g(i);
        CREATE PROCEDURE transfer(p_from int, p_to int, p_amount numeric) LANGUAGE plpgsql AS $$
        DECLARE v numeric;
        BEGIN
            UPDATE account SET balance = balance + p_amount WHERE id = p_to;
            INSERT INTO ledger (a, b, amount) VALUES (p_from, p_to, p_amount);
            SELECT balance INTO STRICT v FROM account WHERE id = p_from;
            IF v - p_amount < 5 THEN
                RAISE EXCEPTION 'not enough' USING ERRCODE = 'P0100';
            END IF;
            UPDATE account SET balance = balance - p_amount WHERE id = p_from;
        END $$;
        CREATE PROCEDURE take(p_from int, p_amount numeric, p_divisor int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE account SET balance = balance - p_amount / p_divisor WHERE id = p_from;
        END $$;",
    draw: |r, _| {
        let (a, b) = (r.random_range(1..12), r.random_range(1..11));
        let amount = text(format!("{}.5", r.random_range(0..60)));
        match r.random_range(0..4) {
            0 => Step::Call("take", vec![int(a), amount, int(r.random_range(0..3))]),
            _ => Step::Call("transfer", vec![int(a), int(b), amount]),
        }
    },
    steps: 250,
};

/// The same few keys come, go and come again, also within one transaction.
pub const COMING_AND_GOING: Case = Case {
    suite: None,
    setup: "CREATE TABLE item (id int PRIMARY KEY, tag int NOT NULL, n int NOT NULL, note text);
        CREATE INDEX item_by_tag ON item (tag);
        INSERT INTO item SELECT i, i % 3, 0, 'first' FROM generate_series(1, 8) AS g(i);
        CREATE PROCEDURE put(p_id int, p_tag int) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO item VALUES (p_id, p_tag, 1, 'put')
            ON CONFLICT (id) DO UPDATE SET n = item.n + 1, tag = excluded.tag, note = item.note || '+';
        END $$;
        CREATE PROCEDURE insert_only(p_id int, p_tag int) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO item VALUES (p_id, p_tag, 0, 'insert');
        END $$;
        CREATE PROCEDURE remove(p_id int) LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM item WHERE id = p_id;
        END $$;
        CREATE PROCEDURE renew(p_id int) LANGUAGE plpgsql AS $$
        DECLARE v int;
        BEGIN
            DELETE FROM item WHERE id = p_id RETURNING n INTO v;
            INSERT INTO item VALUES (p_id, 9, coalesce(v, 0) + 10, 'renewed');
            UPDATE item SET n = n + 1 WHERE id = p_id;
        END $$;
        CREATE PROCEDURE flash(p_id int) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO item VALUES (p_id + 1000, 5, 0, 'flash');
            DELETE FROM item WHERE id = p_id + 1000;
            UPDATE item SET n = n + 100 WHERE id = p_id;
        END $$;
        CREATE PROCEDURE remove_tag(p_tag int) LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM item WHERE tag = p_tag AND n % 2 = 0;
        END $$;",
    draw: |r, _| {
        let (id, tag) = (int(r.random_range(1..12)), int(r.random_range(0..4)));
        match r.random_range(0..12) {
            0..3 => Step::Call("put", vec![id, tag]),
            3..5 => Step::Call("insert_only", vec![id, tag]),
            5..8 => Step::Call("remove", vec![id]),
            8..10 => Step::Call("renew", vec![id]),
            10 => Step::Call("flash", vec![id]),
            _ => Step::Call("remove_tag", vec![tag]),
        }
    },
    steps: 250,
};

/// Reads and writes of ranges that others add to and remove from.
pub const RANGES: Case = Case {
    suite: None,
    setup: "CREATE TABLE point (grp int, at int, weight int NOT NULL, PRIMARY KEY (grp, at));
        CREATE INDEX point_by_weight ON point (grp, weight);
        CREATE TABLE total (grp int PRIMARY KEY, n bigint NOT NULL, weight bigint NOT NULL, last int);
        INSERT INTO point SELECT i % 3, i, i * 7 % 11 FROM generate_series(1, 40) AS g(i);
        INSERT INTO total SELECT i, 0, 0, NULL FROM generate_series(0, 2) AS g(i);
        CREATE PROCEDURE add(p_grp int, p_at int, p_weight int) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO point VALUES (p_grp, p_at, p_weight) ON CONFLICT DO NOTHING;
        END $$;
        CREATE PROCEDURE tally(p_grp int, p_from int, p_to int) LANGUAGE plpgsql AS $$
        DECLARE v_n bigint; v_w bigint; v_last int;
        BEGIN
            SELECT count(*), coalesce(sum(weight), 0) INTO v_n, v_w FROM point WHERE grp = p_grp AND at BETWEEN p_from AND p_to;
            SELECT at INTO v_last FROM point WHERE grp = p_grp AND at <= p_to ORDER BY at DESC LIMIT 1;
            UPDATE total SET n = v_n, weight = weight + v_w, last = v_last WHERE grp = p_grp;
        END $$;
        CREATE PROCEDURE cut(p_grp int, p_from int, p_to int) LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM point WHERE grp = p_grp AND at > p_from AND at < p_to;
        END $$;
        CREATE PROCEDURE lighten(p_grp int, p_weight int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE point SET weight = weight - 1 WHERE grp = p_grp AND weight >= p_weight;
        END $$;
        CREATE PROCEDURE pop(p_grp int) LANGUAGE plpgsql AS $$
        DECLARE v_at int;
        BEGIN
            SELECT at INTO v_at FROM point WHERE grp = p_grp ORDER BY at LIMIT 1;
            IF FOUND THEN
                DELETE FROM point WHERE grp = p_grp AND at = v_at;
                INSERT INTO point VALUES ((p_grp + 1) % 3, v_at + 100, 3) ON CONFLICT DO NOTHING;
            END IF;
        END $$;",
    draw: |r, n| {
        let (grp, at) = (int(r.random_range(0..3)), r.random_range(1..60));
        match r.random_range(0..10) {
            0..3 => Step::Call("add", vec![grp, int(i64::from(n) + 50), int(r.random_range(0..12))]),
            3..6 => Step::Call("tally", vec![grp, int(at), int(at + r.random_range(0..200))]),
            6 => Step::Call("cut", vec![grp, int(at), int(at + r.random_range(0..10))]),
            7 => Step::Call("lighten", vec![grp, int(r.random_range(3..12))]),
            _ => Step::Call("pop", vec![grp]),
        }
    },
    steps: 220,
};

/// A value read decides the next key.
pub const CHAINS: Case = Case {
    suite: None,
    setup: "CREATE TABLE node (id int PRIMARY KEY, next int NOT NULL, value bigint NOT NULL);
        CREATE TABLE name (name text PRIMARY KEY, id int NOT NULL);
        INSERT INTO node SELECT i, i * 7 % 20 + 1, i FROM generate_series(1, 20) AS g(i);
        INSERT INTO name SELECT 'n' || i, i FROM generate_series(1, 20) AS g(i);
        CREATE PROCEDURE follow(p_from int, p_hops int, p_by int) LANGUAGE plpgsql AS $$
        DECLARE v int := p_from;
        BEGIN
            FOR i IN 1..p_hops LOOP
                SELECT next INTO STRICT v FROM node WHERE id = v;
            END LOOP;
            UPDATE node SET value = (value * 13 + p_by) % 10007 WHERE id = v;
        END $$;
        CREATE PROCEDURE turn(p_id int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE node SET next = (value % 20)::int + 1 WHERE id = p_id;
        END $$;
        CREATE PROCEDURE by_name(p_name text, p_by int) LANGUAGE plpgsql AS $$
        DECLARE v int; v_next int;
        BEGIN
            SELECT id INTO STRICT v FROM name WHERE name = p_name;
            UPDATE node SET value = value + p_by WHERE id = v RETURNING next INTO v_next;
            UPDATE name SET id = v_next WHERE name = p_name;
        END $$;",
    draw: |r, _| {
        let id = r.random_range(1..21);
        match r.random_range(0..4) {
            0 => Step::Call("turn", vec![int(id)]),
            1 => Step::Call("by_name", vec![text(format!("n{id}")), int(r.random_range(1..9))]),
            _ => Step::Call("follow", vec![int(id), int(r.random_range(0..5)), int(r.random_range(0..99))]),
        }
    },
    steps: 220,
};

/// Unique secondary keys that wander from row to row.
pub const WANDERING_KEYS: Case = Case {
    suite: None,
    setup: "CREATE TABLE person (id int PRIMARY KEY, mail text UNIQUE, badge int UNIQUE, n int NOT NULL);
        INSERT INTO person SELECT i, 'm' || i, i, 0 FROM generate_series(1, 10) AS g(i);
        CREATE PROCEDURE swap(p_a int, p_b int) LANGUAGE plpgsql AS $$
        DECLARE v_a text; v_b text;
        BEGIN
            SELECT mail INTO STRICT v_a FROM person WHERE id = p_a;
            SELECT mail INTO STRICT v_b FROM person WHERE id = p_b;
            UPDATE person SET mail = NULL WHERE id = p_a;
            UPDATE person SET mail = v_a, n = n + 1 WHERE id = p_b;
            UPDATE person SET mail = v_b WHERE id = p_a;
        END $$;
        CREATE PROCEDURE take_badge(p_id int, p_badge int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE person SET badge = NULL WHERE badge = p_badge;
            UPDATE person SET badge = p_badge WHERE id = p_id;
        END $$;
        CREATE PROCEDURE grab_badge(p_id int, p_badge int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE person SET badge = p_badge, n = n + 1 WHERE id = p_id;
        END $$;
        CREATE PROCEDURE replace(p_old int, p_new int) LANGUAGE plpgsql AS $$
        DECLARE v person%ROWTYPE;
        BEGIN
            DELETE FROM person WHERE id = p_old RETURNING * INTO v;
            INSERT INTO person VALUES (p_new, v.mail, v.badge, coalesce(v.n, 0));
        END $$;
        CREATE PROCEDURE by_badge(p_badge int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE person SET n = n * 2 + 1 WHERE badge = p_badge AND n < 100000;
        END $$;",
    draw: |r, _| {
        let (a, b) = (int(r.random_range(1..13)), int(r.random_range(1..13)));
        match r.random_range(0..6) {
            0 | 1 => Step::Call("swap", vec![a, b]),
            2 => Step::Call("take_badge", vec![a, b]),
            3 => Step::Call("grab_badge", vec![a, b]),
            4 => Step::Call("replace", vec![a, b]),
            _ => Step::Call("by_badge", vec![b]),
        }
    },
    steps: 250,
};

/// Primary keys that change: rows move.
pub const MOVING_ROWS: Case = Case {
    suite: None,
    setup: "CREATE TABLE seat (hall int, n int, who text, PRIMARY KEY (hall, n));
        CREATE INDEX seat_by_who ON seat (who);
        INSERT INTO seat SELECT i % 2, i, 'p' || i FROM generate_series(1, 20) AS g(i);
        CREATE PROCEDURE move(p_hall int, p_n int, p_to_hall int, p_to int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE seat SET hall = p_to_hall, n = p_to WHERE hall = p_hall AND n = p_n;
        END $$;
        CREATE PROCEDURE shift(p_hall int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE seat SET n = n + 100 WHERE hall = p_hall AND n < 100;
            UPDATE seat SET n = n - 99 WHERE hall = p_hall AND n >= 100 AND n < 125;
        END $$;
        CREATE PROCEDURE rename(p_hall int, p_n int, p_who text) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE seat SET who = p_who || who WHERE hall = p_hall AND n = p_n AND length(who) < 40;
        END $$;",
    draw: |r, _| {
        let mut seat = || [int(r.random_range(0..2)), int(r.random_range(1..26))];
        let (a, b) = (seat(), seat());
        match r.random_range(0..8) {
            0 => Step::Call("shift", vec![a[0].clone()]),
            1 | 2 => Step::Call(
                "rename",
                vec![a[0].clone(), a[1].clone(), text(format!("q{}", r.random_range(0..9)))],
            ),
            _ => Step::Call("move", [a, b].concat()),
        }
    },
    steps: 200,
};

/// EXCEPTION blocks: what was done before the error is undone, what the handler does is kept.
pub const HANDLERS: Case = Case {
    suite: None,
    setup: "CREATE TABLE slot (id int PRIMARY KEY, owner int NOT NULL);
        CREATE TABLE refused (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, slot int NOT NULL, why text NOT NULL);
        CREATE TABLE stats (id int PRIMARY KEY, tries bigint NOT NULL, wins bigint NOT NULL);
        INSERT INTO stats VALUES (1, 0, 0);
        CREATE PROCEDURE book(p_slot int, p_owner int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE stats SET tries = tries + 1 WHERE id = 1;
            BEGIN
                UPDATE stats SET wins = wins + 1 WHERE id = 1;
                INSERT INTO slot VALUES (p_slot, p_owner);
            EXCEPTION WHEN unique_violation THEN
                INSERT INTO refused (slot, why) VALUES (p_slot, 'taken');
            END;
        END $$;
        CREATE PROCEDURE free(p_slot int, p_divisor int) LANGUAGE plpgsql AS $$
        DECLARE v int;
        BEGIN
            BEGIN
                DELETE FROM slot WHERE id = p_slot RETURNING owner / p_divisor INTO STRICT v;
                UPDATE stats SET wins = wins + v WHERE id = 1;
            EXCEPTION
                WHEN no_data_found THEN
                    UPDATE stats SET tries = tries + 1000 WHERE id = 1;
                WHEN division_by_zero THEN
                    BEGIN
                        INSERT INTO refused (slot, why) VALUES (p_slot, SQLERRM);
                        RAISE EXCEPTION 'again' USING ERRCODE = 'P0200';
                    EXCEPTION WHEN SQLSTATE 'P0200' THEN
                        UPDATE stats SET tries = -tries WHERE id = 1;
                    END;
            END;
        END $$;",
    draw: |r, _| {
        let slot = int(r.random_range(1..25));
        match r.random_range(0..3) {
            0 => Step::Call("free", vec![slot, int(r.random_range(0..3))]),
            _ => Step::Call("book", vec![slot, int(r.random_range(1..50))]),
        }
    },
    steps: 200,
};

/// Loops, arrays, nested and recursive calls.
pub const NESTED: Case = Case {
    suite: None,
    setup: "CREATE TABLE cell (x int, y int, value bigint NOT NULL, PRIMARY KEY (x, y));
        CREATE TABLE log (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text);
        INSERT INTO cell SELECT i / 6, i % 6, i FROM generate_series(0, 35) AS g(i);
        CREATE FUNCTION weigh(p_x int, p_y int) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE v bigint;
        BEGIN
            SELECT value INTO v FROM cell WHERE x = p_x AND y = p_y;
            RETURN coalesce(v, -1);
        END $$;
        CREATE PROCEDURE bump(p_x int, p_y int, p_by bigint, INOUT p_new bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE cell SET value = (value * 3 + p_by) % 100003 WHERE x = p_x AND y = p_y RETURNING value INTO p_new;
        END $$;
        CREATE PROCEDURE sweep(p_x int, p_ys int[]) LANGUAGE plpgsql AS $$
        DECLARE v_y int; v_new bigint; v_sum bigint := 0;
        BEGIN
            FOREACH v_y IN ARRAY p_ys LOOP
                CONTINUE WHEN v_y = 3;
                CALL bump(p_x, v_y, v_sum, v_new);
                v_sum := v_sum + coalesce(v_new, 0) + weigh(v_y, p_x);
                EXIT WHEN v_sum > 300000;
            END LOOP;
            INSERT INTO log (what) VALUES ('sweep ' || v_sum);
        END $$;
        CREATE PROCEDURE dig(p_x int, p_depth int) LANGUAGE plpgsql AS $$
        DECLARE v_new bigint;
        BEGIN
            IF p_depth > 0 THEN
                CALL bump(p_x, p_depth, weigh(p_x, p_depth - 1), v_new);
                CALL dig((p_x + 1) % 6, p_depth - 1);
            END IF;
        END $$;
        CREATE PROCEDURE row_by_row(p_x int) LANGUAGE plpgsql AS $$
        DECLARE v cell%ROWTYPE; v_n int := 0;
        BEGIN
            FOR v IN SELECT * FROM cell WHERE x = p_x ORDER BY y DESC LOOP
                v_n := v_n + 1;
                UPDATE cell SET value = v.value + v_n WHERE x = v.y AND y = v.x;
                WHILE v_n % 3 <> 0 LOOP
                    v_n := v_n + 1;
                END LOOP;
            END LOOP;
        END $$;",
    draw: |r, _| {
        let x = int(r.random_range(0..6));
        match r.random_range(0..4) {
            0 => {
                let ys: Vec<Datum> = (0..r.random_range(0..7)).map(|_| int(r.random_range(0..7))).collect();
                Step::Call("sweep", vec![x, Datum::Array(ys)])
            }
            1 => Step::Call("dig", vec![x, int(r.random_range(0..5))]),
            2 => Step::Call("row_by_row", vec![x]),
            _ => Step::Call("bump", vec![x, int(r.random_range(0..6)), int(r.random_range(0..1000))]),
        }
    },
    steps: 160,
};

/// Cursors: with arguments, changed under their eyes, moved about, left open, and one whose name leaves its routine.
pub const CURSORS: Case = Case {
    suite: None,
    setup: "CREATE TABLE line (id int PRIMARY KEY, n bigint NOT NULL);
        CREATE TABLE heap (what text, n bigint);
        INSERT INTO line SELECT i, i FROM generate_series(0, 19) AS g(i);
        INSERT INTO heap SELECT 'h' || i % 3, i FROM generate_series(1, 12) AS g(i);
        CREATE PROCEDURE pay(p_low int, p_high int, p_by bigint) LANGUAGE plpgsql AS $$
        DECLARE c CURSOR (low int, high int) FOR SELECT * FROM line WHERE id BETWEEN low AND high ORDER BY id;
        BEGIN
            FOR r IN c(p_low, p_high) LOOP
                UPDATE line SET n = r.n + p_by WHERE CURRENT OF c;
                UPDATE line SET n = n + 1 WHERE id = r.id + 1;
                EXIT WHEN r.n % 7 = 0;
            END LOOP;
        END $$;
        CREATE PROCEDURE ends(p_n bigint) LANGUAGE plpgsql AS $$
        DECLARE
            c SCROLL CURSOR FOR SELECT id, n FROM line ORDER BY n, id;
            low int; high int; x bigint;
        BEGIN
            OPEN c;
            FETCH c INTO low, x;
            FETCH LAST FROM c INTO high, x;
            UPDATE line SET n = n + p_n WHERE id = low;
            MOVE RELATIVE -3 FROM c;
            FETCH PRIOR FROM c INTO high, x;
            IF FOUND THEN
                UPDATE line SET n = x - p_n WHERE CURRENT OF c;
            END IF;
        END $$;
        CREATE PROCEDURE thin(p_what text) LANGUAGE plpgsql AS $$
        DECLARE r refcursor; k bigint;
        BEGIN
            OPEN r FOR SELECT n FROM heap WHERE what = p_what ORDER BY n;
            LOOP
                FETCH r INTO k;
                EXIT WHEN NOT FOUND;
                IF k % 2 = 0 THEN
                    DELETE FROM heap WHERE CURRENT OF r;
                    INSERT INTO heap VALUES (p_what, k * 3 + 1);
                END IF;
            END LOOP;
            CLOSE r;
        END $$;
        CREATE PROCEDURE shared(p_id int) LANGUAGE plpgsql AS $$
        DECLARE r refcursor := 'shared'; x bigint;
        BEGIN
            OPEN r FOR SELECT n FROM line WHERE id >= p_id ORDER BY id;
            FETCH r INTO x;
            FETCH r INTO x;
            UPDATE line SET n = coalesce(x, 0) + 1 WHERE id = p_id;
            CLOSE r;
        END $$;",
    draw: |r, _| {
        let id = int(r.random_range(0..20));
        match r.random_range(0..4) {
            0 => Step::Call("pay", vec![id, int(r.random_range(5..20)), int(r.random_range(0..9))]),
            1 => Step::Call("ends", vec![int(r.random_range(1..50))]),
            2 => Step::Call("thin", vec![text(format!("h{}", r.random_range(0..3)))]),
            _ => Step::Call("shared", vec![id]),
        }
    },
    steps: 120,
};

/// Sequences, serial columns, tables without a primary key, the time, random numbers.
pub const INPUTS: Case = Case {
    suite: None,
    setup: "CREATE SEQUENCE ticket START 10 INCREMENT 3;
        CREATE TABLE serials (id serial PRIMARY KEY, n bigint UNIQUE, what text NOT NULL);
        CREATE TABLE heap (at timestamp, what text, x float8, u uuid);
        CREATE INDEX heap_by_what ON heap (what);
        INSERT INTO heap (what) SELECT 'old' || i % 4 FROM generate_series(1, 20) AS g(i);
        CREATE PROCEDURE draw(p_what text) LANGUAGE plpgsql AS $$
        DECLARE v bigint := nextval('ticket');
        BEGIN
            INSERT INTO serials (n, what) VALUES (v, p_what);
            INSERT INTO heap VALUES (localtimestamp, p_what || v, random(), gen_random_uuid());
            IF random() < 0.3 THEN
                INSERT INTO heap VALUES (clock_timestamp()::timestamp, 'again', 0, NULL);
            END IF;
            IF v % 7 = 0 THEN
                RAISE EXCEPTION 'a number is lost';
            END IF;
        END $$;
        CREATE PROCEDURE forget(p_what text) LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM heap WHERE what = p_what;
            DELETE FROM serials WHERE n % 5 = 0;
        END $$;
        CREATE PROCEDURE mark(p_what text) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE heap SET what = 'marked' || length(what), x = x / 2 WHERE what = p_what;
        END $$;
        CREATE PROCEDURE leap() LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM setval('ticket', currval('ticket') + 9);
        END $$;",
    draw: |r, _| match r.random_range(0..12) {
        0 => Step::Call("forget", vec![text(format!("old{}", r.random_range(0..4)))]),
        1 => Step::Call("mark", vec![text(["again", "marked5", "old1"][r.random_range(0..3)])]),
        2 => Step::Call("leap", vec![]),
        3 => sql("INSERT INTO heap (what) VALUES ('by hand') RETURNING what".into()),
        4 => sql("SELECT nextval('ticket')".into()),
        _ => Step::Call("draw", vec![text(format!("w{}", r.random_range(0..5)))]),
    },
    steps: 200,
};

/// Rows of all types that grow and shrink, with NULLs.
pub const WIDE_ROWS: Case = Case {
    suite: None,
    setup: "CREATE TABLE wide (id int PRIMARY KEY, b boolean, s smallint, l bigint, n numeric(10,3), big numeric(30,5), f float8,
            t text, v varchar(900), c char(5), y bytea, d date, ts timestamp, i interval, u uuid);
        CREATE INDEX wide_by_text ON wide (t, d);
        INSERT INTO wide (id, t) SELECT i, 't' || i FROM generate_series(1, 8) AS g(i);
        CREATE PROCEDURE fill(p_id int, p_n int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE wide SET b = p_n % 2 = 0, s = p_n % 100, l = p_n::bigint * 1000000007, n = p_n / 7.0, big = p_n * 123456789012345.67891,
                f = p_n / 3.0, t = repeat('x', p_n % 40), v = repeat('long ', p_n % 170), c = p_n % 1000, y = NULL,
                d = date '2026-01-01' + p_n, ts = timestamp '2026-01-01 00:00:00' + p_n * interval '1 minute',
                i = p_n * interval '1 second', u = NULL
            WHERE id = p_id;
        END $$;
        CREATE PROCEDURE empty(p_id int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE wide SET b = NULL, s = NULL, l = NULL, n = NULL, t = NULL, v = NULL, c = NULL, d = NULL, ts = NULL WHERE id = p_id;
        END $$;
        CREATE PROCEDURE grow(p_id int, p_text text) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE wide SET t = left(coalesce(t, '') || p_text, 90), n = coalesce(n, 0) + 0.125, f = f * 1.5 + length(t) WHERE id = p_id;
        END $$;",
    draw: |r, _| {
        let id = int(r.random_range(1..9));
        match r.random_range(0..4) {
            0 => Step::Call("empty", vec![id]),
            1 => Step::Call("grow", vec![id, text("ab".repeat(r.random_range(0..20)))]),
            _ => Step::Call("fill", vec![id, int(r.random_range(0..5000))]),
        }
    },
    steps: 160,
};

/// Foreign keys with their actions.
pub const FAMILIES: Case = Case {
    suite: None,
    setup: "CREATE TABLE parent (id int PRIMARY KEY, n int NOT NULL);
        CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent (id) ON DELETE CASCADE, n int NOT NULL);
        CREATE TABLE pet (id int PRIMARY KEY, child int REFERENCES child (id) ON DELETE SET NULL);
        CREATE TABLE guard (id int PRIMARY KEY, parent int NOT NULL REFERENCES parent (id));
        INSERT INTO parent SELECT i, 0 FROM generate_series(1, 10) AS g(i);
        INSERT INTO child SELECT i, i % 10 + 1, 0 FROM generate_series(1, 20) AS g(i);
        INSERT INTO pet SELECT i, i FROM generate_series(1, 20) AS g(i);
        INSERT INTO guard VALUES (1, 1), (2, 2);
        CREATE PROCEDURE birth(p_id int, p_parent int) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO child VALUES (p_id, p_parent, 0);
            UPDATE parent SET n = n + 1 WHERE id = p_parent;
        END $$;
        CREATE PROCEDURE arrive(p_id int) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO parent VALUES (p_id, 0) ON CONFLICT (id) DO UPDATE SET n = parent.n * 2;
        END $$;
        CREATE PROCEDURE leave(p_id int) LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM parent WHERE id = p_id;
        END $$;
        CREATE PROCEDURE adopt(p_pet int, p_child int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE pet SET child = p_child WHERE id = p_pet;
        END $$;",
    draw: |r, _| {
        let (id, other) = (int(r.random_range(1..24)), int(r.random_range(1..12)));
        match r.random_range(0..4) {
            0 => Step::Call("birth", vec![id, other]),
            1 => Step::Call("arrive", vec![other]),
            2 => Step::Call("leave", vec![other]),
            _ => Step::Call("adopt", vec![id.clone(), id]),
        }
    },
    steps: 200,
};

/// Schema changes, replaced procedures and TRUNCATE between calls: each call replays as it ran.
pub const SCHEMA_CHANGES: Case = Case {
    suite: None,
    setup: "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
        INSERT INTO t SELECT i, 0 FROM generate_series(1, 10) AS g(i);
        CREATE TABLE side (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int);
        CREATE PROCEDURE work(p_id int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE t SET n = n + 1 WHERE id = p_id;
        END $$;
        CREATE PROCEDURE note(p_n int) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO side (n) VALUES (p_n);
        END $$;",
    draw: |r, n| match n % 90 {
        15 => Step::Schema(
            "CREATE OR REPLACE PROCEDURE work(p_id int) LANGUAGE plpgsql AS $$
             BEGIN
                 UPDATE t SET n = n * 2 + 1 WHERE id = p_id AND n < 100000;
             END $$",
        ),
        25 => Step::Schema("CREATE INDEX t_by_n ON t (n)"),
        35 => Step::Schema("ALTER TABLE t ADD COLUMN more int NOT NULL DEFAULT 5"),
        45 => Step::Schema(
            "CREATE OR REPLACE PROCEDURE work(p_id int) LANGUAGE plpgsql AS $$
             BEGIN
                 UPDATE t SET n = n + more, more = more + 1 WHERE id = p_id;
             END $$",
        ),
        50 => sql("TRUNCATE side".into()),
        55 => Step::Schema("CREATE TABLE made AS SELECT id, n FROM t WHERE id <= 5"),
        65 => Step::Schema("DROP TABLE made"),
        70 => Step::Schema("DROP INDEX t_by_n"),
        75 => Step::Schema(
            "CREATE OR REPLACE PROCEDURE work(p_id int) LANGUAGE plpgsql AS $$
             BEGIN
                 UPDATE t SET n = n - 1 WHERE id = p_id;
             END $$",
        ),
        78 => Step::Schema("ALTER TABLE t DROP COLUMN more"),
        80 => sql("UPDATE t SET n = n + 3 WHERE id > 5".into()),
        _ if r.random_range(0..4) == 0 => Step::Call("note", vec![int(i64::from(n))]),
        _ => Step::Call("work", vec![int(r.random_range(1..12))]),
    },
    steps: 200,
};

/// Statements by hand, many rows at once.
pub const BY_HAND: Case = Case {
    suite: None,
    setup: "CREATE TABLE t (id int PRIMARY KEY, grp int NOT NULL, n bigint NOT NULL);
        CREATE INDEX t_by_grp ON t (grp);
        INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 60) AS g(i);
        CREATE PROCEDURE step(p_grp int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE t SET n = n + 1 WHERE grp = p_grp;
        END $$;",
    draw: |r, n| {
        let (a, grp) = (r.random_range(1..70), r.random_range(0..6));
        match r.random_range(0..8) {
            0 => sql(format!("UPDATE t SET n = n * 2 % 10007 WHERE id > {a}")),
            1 => sql(format!("DELETE FROM t WHERE grp = {grp} AND id % 3 = 0")),
            2 => sql(format!(
                "INSERT INTO t SELECT i, {grp}, {n} FROM generate_series({a}, {a} + 9) AS g(i) ON CONFLICT DO NOTHING"
            )),
            3 => sql(format!("UPDATE t SET grp = {grp} WHERE id BETWEEN {a} AND {a} + 4")),
            4 => sql(format!("CALL step({grp})")),
            _ => Step::Call("step", vec![int(grp)]),
        }
    },
    steps: 150,
};

/// Procedures whose rows are often one row, read and written in every order.
pub const MEETING_ROWS: Case = Case {
    suite: None,
    setup: "CREATE TABLE acc (id int PRIMARY KEY, bal int NOT NULL, n int NOT NULL);
        INSERT INTO acc SELECT i, 100 * i, 0 FROM generate_series(1, 4) AS g(i);
        CREATE PROCEDURE read_then_write(p_a int, p_b int) LANGUAGE plpgsql AS $$
        DECLARE v_a int; v_b int;
        BEGIN
            SELECT bal INTO STRICT v_a FROM acc WHERE id = p_a;
            SELECT bal INTO STRICT v_b FROM acc WHERE id = p_b;
            UPDATE acc SET bal = v_a - 7 WHERE id = p_a;
            UPDATE acc SET bal = v_b + 7 WHERE id = p_b;
        END $$;
        CREATE PROCEDURE one_after_the_other(p_a int, p_b int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE acc SET bal = bal * 2, n = n + 1 WHERE id = p_a;
            UPDATE acc SET bal = bal - 9 WHERE id = p_b;
            UPDATE acc SET bal = bal % 1000 WHERE id = p_a;
        END $$;
        CREATE PROCEDURE inside_a_branch(p_a int, p_b int) LANGUAGE plpgsql AS $$
        DECLARE v int;
        BEGIN
            SELECT bal INTO STRICT v FROM acc WHERE id = p_a;
            IF p_b % 2 = 0 THEN
                UPDATE acc SET bal = v / 2 WHERE id = p_a;
                UPDATE acc SET bal = bal + 5 WHERE id = p_b;
            ELSE
                UPDATE acc SET bal = bal + 3 WHERE id = p_b;
                UPDATE acc SET n = v WHERE id = p_a;
            END IF;
        END $$;
        CREATE PROCEDURE in_a_loop(p_a int, p_b int) LANGUAGE plpgsql AS $$
        DECLARE v int;
        BEGIN
            FOR i IN 1..3 LOOP
                SELECT n INTO v FROM acc WHERE id = p_a;
                UPDATE acc SET n = n + i WHERE id = (p_b + i) % 4 + 1;
                UPDATE acc SET n = coalesce(v, 0) * 2 % 100 WHERE id = p_a;
            END LOOP;
            UPDATE acc SET bal = bal + n WHERE id = p_b;
        END $$;
        CREATE PROCEDURE away_and_back(p_a int, p_b int) LANGUAGE plpgsql AS $$
        DECLARE v int;
        BEGIN
            SELECT bal INTO v FROM acc WHERE id = p_b;
            DELETE FROM acc WHERE id = p_a;
            UPDATE acc SET n = n + 1 WHERE id = p_b;
            INSERT INTO acc VALUES (p_a, coalesce(v, 1) + 1, 0);
            UPDATE acc SET n = n + 10 WHERE id = p_a;
        END $$;",
    draw: |r, _| {
        let (a, b) = (int(r.random_range(1..5)), int(r.random_range(1..5)));
        let names =
            ["read_then_write", "one_after_the_other", "inside_a_branch", "in_a_loop", "away_and_back"];
        Step::Call(names[r.random_range(0..names.len())], vec![a, b])
    },
    steps: 250,
};

/// Procedures whose writes fire triggers: before and after rows and statements, some that change other tables and some
/// that change the row, or keep it from being changed; and the triggers change meanwhile.
pub const TRIGGERS: Case = Case {
    suite: None,
    setup: "CREATE TABLE acc (id int PRIMARY KEY, owner int NOT NULL, bal int NOT NULL, version int NOT NULL DEFAULT 0);
        CREATE TABLE owner (id int PRIMARY KEY, accounts int NOT NULL, total bigint NOT NULL);
        CREATE TABLE trail (n serial PRIMARY KEY, op text NOT NULL, id int, was int, is_now int);
        CREATE TABLE runs (what text PRIMARY KEY, n int NOT NULL);
        CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.bal < -100 THEN RETURN NULL; END IF;
            NEW.version := OLD.version + TG_ARGV[0]::int;
            RETURN NEW;
        END $$;
        CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP <> 'INSERT' THEN
                UPDATE owner SET accounts = accounts - 1, total = total - OLD.bal WHERE id = OLD.owner;
            END IF;
            IF TG_OP <> 'DELETE' THEN
                UPDATE owner SET accounts = accounts + 1, total = total + NEW.bal WHERE id = NEW.owner;
            END IF;
            RETURN NULL;
        END $$;
        CREATE FUNCTION trail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO trail (op, id, was, is_now) VALUES (TG_OP, COALESCE(NEW.id, OLD.id), OLD.bal, NEW.bal);
            RETURN NULL;
        END $$;
        CREATE FUNCTION count_runs() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE runs SET n = n + 1 WHERE what = TG_OP;
            RETURN NULL;
        END $$;
        CREATE TRIGGER stamp BEFORE UPDATE ON acc FOR EACH ROW EXECUTE FUNCTION stamp(1);
        CREATE TRIGGER follow AFTER INSERT OR DELETE OR UPDATE OF bal, owner ON acc FOR EACH ROW EXECUTE FUNCTION follow();
        CREATE TRIGGER trail AFTER INSERT OR UPDATE OR DELETE ON acc FOR EACH ROW EXECUTE FUNCTION trail();
        CREATE TRIGGER runs AFTER INSERT OR UPDATE OR DELETE ON acc EXECUTE FUNCTION count_runs();
        INSERT INTO runs VALUES ('INSERT', 0), ('UPDATE', 0), ('DELETE', 0);
        INSERT INTO owner SELECT i, 0, 0 FROM generate_series(1, 3) AS g(i);
        INSERT INTO acc SELECT i, i % 3 + 1, 100 * i FROM generate_series(1, 8) AS g(i);
        CREATE PROCEDURE pay(p_from int, p_to int, p_n int) LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE acc SET bal = bal - p_n WHERE id = p_from;
            UPDATE acc SET bal = bal + p_n WHERE id = p_to;
        END $$;
        CREATE PROCEDURE all_of(p_owner int, p_n int) LANGUAGE plpgsql AS $$
        BEGIN UPDATE acc SET bal = bal + p_n WHERE owner = p_owner; END $$;
        CREATE PROCEDURE move(p_id int, p_owner int) LANGUAGE plpgsql AS $$
        BEGIN UPDATE acc SET owner = p_owner WHERE id = p_id; END $$;
        CREATE PROCEDURE anew(p_id int, p_owner int) LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM acc WHERE id = p_id;
            INSERT INTO acc VALUES (p_id, p_owner, 50)
                ON CONFLICT (id) DO UPDATE SET bal = acc.bal + excluded.bal;
        END $$;",
    draw: |r, n| {
        let (a, b) = (int(r.random_range(1..9)), int(r.random_range(1..9)));
        let owner = int(r.random_range(1..4));
        match (n, r.random_range(0..10)) {
            (60, _) => Step::Schema("ALTER TABLE acc DISABLE TRIGGER trail"),
            (90, _) => Step::Schema("CREATE OR REPLACE TRIGGER stamp BEFORE UPDATE ON acc FOR EACH ROW WHEN (new.bal <> 77) EXECUTE FUNCTION stamp(3)"),
            (120, _) => Step::Schema("ALTER TABLE acc ENABLE TRIGGER trail"),
            (150, _) => Step::Schema(
                "CREATE OR REPLACE FUNCTION trail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    INSERT INTO trail (op, id) VALUES (lower(TG_OP), NEW.version); RETURN NULL; END $$",
            ),
            (180, _) => Step::Schema("DROP TRIGGER IF EXISTS follow ON acc"),
            (_, 0..4) => Step::Call("pay", vec![a, b, int(r.random_range(-60..60))]),
            (_, 4..6) => Step::Call("all_of", vec![owner, int(r.random_range(-40..50))]),
            (_, 6..8) => Step::Call("move", vec![a, owner]),
            _ => Step::Call("anew", vec![a, owner]),
        }
    },
    steps: 220,
};
