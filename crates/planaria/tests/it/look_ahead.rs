//! Lookups that are made ahead: they change no answer and no error, whatever the program does with its keys.

use planaria::{Database, Options, Params, PreparedCall, ProtocolKind, Result};

/// Trees of three levels: lower ones are not walked ahead.
const ROWS: i64 = 12_000;

const SCHEMA: &str = "
CREATE TABLE item (id bigint PRIMARY KEY, name varchar(24) NOT NULL UNIQUE, price bigint NOT NULL);
CREATE TABLE stock (w int, item bigint, quantity int NOT NULL, PRIMARY KEY (w, item));
INSERT INTO item SELECT g, 'item ' || g, g * 10 FROM generate_series(1, 12000) g;
INSERT INTO stock SELECT 1, g, 100 FROM generate_series(1, 12000) g;

-- Keys from arrays, in a loop that a row that is missing ends.
CREATE PROCEDURE buy(p_items bigint[], INOUT total bigint) LANGUAGE plpgsql AS $$
DECLARE v_price bigint; v_quantity int;
BEGIN
    FOR i IN 1 .. array_length(p_items, 1) LOOP
        SELECT price INTO v_price FROM item WHERE id = p_items[i];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no item %', p_items[i] USING ERRCODE = 'P0002';
        END IF;
        SELECT quantity INTO v_quantity FROM stock WHERE w = 1 AND item = p_items[i];
        IF v_quantity < 10 THEN
            v_quantity := v_quantity + 91;
        END IF;
        UPDATE stock SET quantity = v_quantity - 1 WHERE w = 1 AND item = p_items[i];
        total := total + v_price;
    END LOOP;
END $$;

-- A parameter that is changed, a branch that is known and one that is not, a loop that ends by what it reads.
CREATE FUNCTION follow(p_id bigint, p_turns int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint := 0; v_price bigint;
BEGIN
    IF p_turns > 100 THEN
        RETURN (SELECT price FROM item WHERE id = 1) + (SELECT price FROM item WHERE id = 2);
    ELSIF p_turns < 0 THEN
        RETURN (SELECT price FROM item WHERE id = p_id) / 0;
    END IF;
    LOOP
        SELECT price INTO v_price FROM item WHERE id = p_id;
        EXIT WHEN v_price IS NULL OR v_price > 119000;
        v := v + v_price;
        IF v_price % 20 = 0 THEN
            p_id := p_id + 7;
            CONTINUE;
        END IF;
        p_id := p_id + 1000;
    END LOOP;
    p_id := p_id - 20000;
    RETURN v + coalesce((SELECT price FROM item WHERE id = p_id), -1);
END $$;

-- What computes a key fails, or would not end if nothing were read.
CREATE FUNCTION odd(p_id bigint, p_by bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint := 0; k bigint := p_id; v_price bigint;
BEGIN
    WHILE k <> -1 LOOP
        SELECT price INTO v_price FROM item WHERE id = p_id / p_by + (k % 2) * 0;
        v := v + v_price;
        IF v > 100000 THEN
            k := -1;
        END IF;
    END LOOP;
    RETURN v;
EXCEPTION WHEN division_by_zero THEN
    RETURN -1;
END $$;
";

fn answers(db: &Database) -> Vec<Result<i64>> {
    let mut session = db.session().unwrap();
    let mut all = Vec::new();
    let mut ask = |sql: &str| {
        let rows = session.query(sql, ());
        all.push(rows.and_then(|rows| rows[0].get::<i64>(0)));
    };
    for items in ["1, 2, 3", "12000, 7, 7, 11999", "5, 99999, 6"] {
        ask(&format!("CALL buy(ARRAY[{items}]::bigint[], 0)"));
    }
    // More than a group.
    let many: Vec<String> = (1..=100).map(|i| (i * 119 % ROWS + 1).to_string()).collect();
    ask(&format!("CALL buy(ARRAY[{}]::bigint[], 0)", many.join(", ")));
    ask("CALL buy(NULL, 0)");
    for args in ["1, 1", "1, 101", "1, -1", "11999, 0", "NULL, NULL"] {
        ask(&format!("SELECT follow({args})"));
    }
    for args in ["500, 1", "500, 0", "0, 1"] {
        if args != "0, 1" {
            ask(&format!("SELECT odd({args})"));
        }
    }
    ask("SELECT sum(quantity)::bigint FROM stock");
    all
}

#[test]
fn it_changes_no_answer() {
    let of = |on: bool| {
        let db = Options::new().look_ahead(on).in_memory().unwrap();
        db.execute_script(SCHEMA).unwrap();
        answers(&db)
    };
    let texts = |answers: Vec<Result<i64>>| -> Vec<String> {
        answers
            .into_iter()
            .map(|a| a.map_or_else(|e| format!("{} {e}", e.sqlstate()), |n| n.to_string()))
            .collect()
    };
    let (with, without) = (texts(of(true)), texts(of(false)));
    assert_eq!(with, without);
    assert_eq!(with[0], "60");
    assert!(with[2].starts_with("P0002"), "{}", with[2]);
}

/// What computes keys may take its time, and is ended like anything else.
#[test]
fn it_ends_in_time() {
    let db = Database::in_memory().unwrap();
    db.execute_script(SCHEMA).unwrap();
    db.execute_script(
        "CREATE FUNCTION slow(n int) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE k bigint; v bigint := 0;
         BEGIN
             FOR i IN 1 .. n LOOP
                 k := length(repeat('x', 20000 + i % 10));
                 IF k < 0 THEN
                     SELECT price INTO v FROM item WHERE id = k;
                 END IF;
             END LOOP;
             RETURN v;
         END $$;",
    )
    .unwrap();
    let mut session = db.session().unwrap();
    assert_eq!(session.query("SELECT slow(10)", ()).unwrap()[0].get::<i64>(0).unwrap(), 0);
    session.execute("SET statement_timeout = '2ms'", ()).unwrap();
    for _ in 0..3 {
        let ended = session.query("SELECT slow(100000000)", ()).expect_err("it takes for ever");
        assert_eq!(ended.sqlstate().as_str(), "57014", "{ended}");
    }
}

#[test]
fn explain_says_which() {
    let db = Database::in_memory().unwrap();
    db.execute_script(SCHEMA).unwrap();
    let lines = |name: &str| -> Vec<String> {
        let rows = db.query(&format!("EXPLAIN PROCEDURE {name}"), ()).unwrap();
        rows.iter().map(|row| row.get::<String>(0).unwrap()).collect()
    };
    let ahead = |name: &str| lines(name).into_iter().find(|line| line.contains("Fetched before"));
    let buy = ahead("buy").expect("its keys are known");
    assert_eq!(buy.matches("in each turn").count(), 3, "{buy}");
    db.execute_script(ACCOUNTS).unwrap();
    let together = |name: &str| {
        let line =
            lines(name).into_iter().find(|line| line.contains("submitted together")).unwrap_or_default();
        line.split(": ").skip(1).map(|numbers| numbers.split(", ").count()).collect::<Vec<usize>>()
    };
    // Both names, then the row of each; the updates look up what has been read by then.
    assert_eq!(together("move").first(), Some(&2), "{:?}", lines("move"));
    assert_eq!(together("half"), [1, 1], "{:?}", lines("half"));
    assert!(ahead("move").is_none() && together("buy").is_empty());
}

/// Joins by key and lists of keys, in trees high enough: rows that are there, that are not, twice the same, NULLs.
#[test]
fn joins_and_lists_answer_the_same() {
    let of = |on: bool| {
        let db = Options::new().look_ahead(on).in_memory().unwrap();
        db.execute_script(SCHEMA).unwrap();
        db.execute_script(
            "CREATE TABLE line (n int PRIMARY KEY, item bigint, w int);
             INSERT INTO line SELECT g, CASE WHEN g % 7 = 0 THEN NULL WHEN g % 5 = 0 THEN -g ELSE g * 37 % 12000 + 1 END, g % 3
             FROM generate_series(1, 1000) g;
             CREATE FUNCTION joined(lo int, hi int) RETURNS bigint LANGUAGE sql STABLE AS
             'SELECT count(*) * 1000000 + sum(s.quantity) + sum(l.n) FROM line l JOIN stock s ON s.w = l.w AND s.item = l.item
              WHERE l.n BETWEEN lo AND hi';
             CREATE FUNCTION listed(ids bigint[]) RETURNS bigint LANGUAGE sql STABLE AS
             'SELECT count(*) * 1000000 + sum(price) FROM item WHERE id = ANY (ids)';
             -- What is looked up ahead has been changed by the call itself.
             CREATE PROCEDURE change(INOUT sum bigint) LANGUAGE plpgsql AS $$
             BEGIN
                 DELETE FROM stock WHERE item BETWEEN 1 AND 40;
                 UPDATE stock SET quantity = quantity + 1 WHERE item BETWEEN 41 AND 60;
                 INSERT INTO stock SELECT 1, g, 7 FROM generate_series(1, 20) g;
                 sum := joined(1, 1000);
                 UPDATE stock SET item = -item WHERE item BETWEEN 1 AND 10;
                 sum := sum * 3 + joined(1, 1000);
             END $$;",
        )
        .unwrap();
        let mut session = db.session().unwrap();
        let mut all = Vec::new();
        let mut ask = |sql: &str| all.push(session.query(sql, ()).unwrap()[0].get::<Option<i64>>(0).unwrap());
        for sql in [
            "SELECT joined(1, 1000)",
            "SELECT joined(6, 7)",
            "SELECT joined(7, 7)",
            "SELECT listed(ARRAY[1, 1, 7, NULL, 99999, 12000, 7])",
            "SELECT listed((SELECT array_agg(g * 119 % 12000) FROM generate_series(1, 200) g))",
            "SELECT listed('{}')",
            "CALL change(0)",
            "SELECT joined(1, 1000)",
            "SELECT sum(price)::bigint FROM item WHERE id IN (5, 4, 5, 11999, 12001, -1)",
        ] {
            ask(sql);
        }
        all
    };
    let with = of(true);
    assert_eq!(with, of(false));
    assert_eq!(with[3], Some(3_120_080));
}

const ACCOUNTS: &str = "
CREATE TABLE account (name varchar(24) PRIMARY KEY, id bigint NOT NULL);
CREATE TABLE saving (id bigint PRIMARY KEY, amount bigint NOT NULL, remark text);
INSERT INTO account SELECT 'account ' || g, g FROM generate_series(1, 12000) g;
INSERT INTO saving SELECT g, 100, repeat('of some length ', g % 40) FROM generate_series(1, 12000) g;

CREATE PROCEDURE move(p_from text, p_to text, p_amount bigint, INOUT rest bigint) LANGUAGE plpgsql AS $$
DECLARE v_from bigint; v_to bigint;
BEGIN
    SELECT id INTO v_from FROM account WHERE name = p_from;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no account %', p_from USING ERRCODE = 'P0002';
    END IF;
    SELECT id INTO v_to FROM account WHERE name = p_to;
    SELECT amount INTO rest FROM saving WHERE id = v_from;
    IF rest < p_amount THEN
        RETURN;
    END IF;
    UPDATE saving SET amount = amount - p_amount WHERE id = v_from RETURNING amount INTO rest;
    UPDATE saving SET amount = amount + p_amount, remark = upper(remark) WHERE id = v_to;
END $$;

-- A key that fails when it is made.
CREATE FUNCTION half(p_name text, p_by bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint;
BEGIN
    SELECT id INTO v FROM account WHERE name = p_name;
    RETURN (SELECT amount FROM saving WHERE id = v / p_by);
END $$;
";

/// Calls that are submitted together answer, fail and leave behind what they would one by one, under each scheme.
#[test]
fn calls_together_do_what_they_would_do_alone() {
    enum One {
        Move((String, String, i64, i64)),
        Half((String, i64)),
    }
    let name = |n: i64| format!("account {n}");
    let calls: Vec<One> = (0..400)
        .map(|i| match i % 9 {
            // The same ones again and again: each finds what the one before has left.
            0 => One::Half((name(i % 5 + 1), i / 9 % 3)),
            1 => One::Half((name(i + 1), 1)),
            2 => One::Move((name(20_000), name(1), 1, 0)),
            3 => One::Move((name(i), name(20_000 + i), 1, 0)),
            n => One::Move((name(n), name(i * 29 % 12_000 + 1), 30, 0)),
        })
        .collect();
    let run = |options: Options, together: usize| {
        let db = options.in_memory().unwrap();
        db.execute_script(ACCOUNTS).unwrap();
        let mut session = db.session().unwrap();
        let transfer = session.prepare_call("move", 4).unwrap();
        let half = session.prepare_call("half", 2).unwrap();
        let all: Vec<(&PreparedCall, &dyn Params)> = calls
            .iter()
            .map(|one| match one {
                One::Move(params) => (&transfer, params as &dyn Params),
                One::Half(params) => (&half, params as &dyn Params),
            })
            .collect();
        let mut answers = Vec::new();
        for some in all.chunks(together) {
            for outcome in session.submit_all(some) {
                answers.push(match outcome {
                    Ok(submitted) => format!("{:?}", submitted.rows[0].values()),
                    Err(error) => format!("{} {error}", error.sqlstate()),
                });
            }
        }
        (answers, db.digests().unwrap())
    };
    let alone = run(Options::new().look_ahead(false), 1);
    assert!(alone.0.iter().any(|a| a.starts_with("P0002")) && alone.0.iter().any(|a| a.starts_with("22012")));
    for protocol in ProtocolKind::ALL {
        assert_eq!(run(Options::new().protocol(*protocol), 37), alone, "{protocol:?}");
    }
    assert_eq!(run(Options::new(), 400), alone);
}

/// In a block, of calls that are wrong, and after the schema has changed.
#[test]
fn calls_together_in_a_block_and_after_a_change() {
    let db = Database::in_memory().unwrap();
    db.execute_script(ACCOUNTS).unwrap();
    let mut session = db.session().unwrap();
    let half = session.prepare_call("half", 2).unwrap();
    let (good, few, odd) = (("account 7", 1_i64), ("account 7",), ("account 7", "x"));
    let calls: [(&PreparedCall, &dyn Params); 3] = [(&half, &good), (&half, &few), (&half, &odd)];
    let states = |outcomes: Vec<Result<planaria::Submitted>>| -> Vec<String> {
        outcomes.into_iter().map(|o| o.map_or_else(|e| e.sqlstate().to_string(), |_| "ok".into())).collect()
    };
    assert_eq!(states(session.submit_all(&calls)), ["ok", "22023", "22P02"]);
    session.execute_script("BEGIN; UPDATE saving SET amount = 5 WHERE id = 7").unwrap();
    let inside = session.submit_all(&calls[..1]).remove(0).unwrap();
    assert_eq!(inside.rows[0].get::<i64>(0).unwrap(), 5);
    session.execute_script("ROLLBACK").unwrap();
    db.execute_script("DROP TABLE saving").unwrap();
    assert_eq!(states(session.submit_all(&[calls[0], calls[0]])), ["42P01", "42P01"]);
    assert_eq!(states(session.submit_all(&[])), Vec::<String>::new());
}
