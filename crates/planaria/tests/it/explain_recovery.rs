//! EXPLAIN RECOVERY.

use planaria::{Database, LogKind, Options, Scheme};

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
    CREATE TABLE history (id serial PRIMARY KEY, account int NOT NULL, left_over int);
    CREATE TABLE message (text text);
    CREATE PROCEDURE take(p_id int, p_amount int) LANGUAGE plpgsql AS $$
    DECLARE v int;
    BEGIN
        UPDATE account SET balance = balance - p_amount WHERE id = p_id RETURNING balance INTO v;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no account %', p_id;
        END IF;
        INSERT INTO history (account, left_over) VALUES (p_id, v);
    END $$;
    CREATE FUNCTION look(p_id int) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN RETURN (SELECT balance FROM account WHERE id = p_id); END $$;
    CREATE PROCEDURE say(p_text text) LANGUAGE plpgsql AS $$
    BEGIN EXECUTE 'INSERT INTO message VALUES ($1)' USING p_text; END $$;
    CREATE PROCEDURE again() LANGUAGE plpgsql AS $$
    BEGIN PERFORM setval('history_id_seq', 1); END $$;";

fn explained(options: Options) -> Vec<String> {
    let db = options.in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    lines(&db)
}

fn lines(db: &Database) -> Vec<String> {
    let rows = db.query("EXPLAIN RECOVERY", ()).expect("explains");
    rows.iter().map(|r| r.get::<String>(0).expect("text")).collect()
}

fn has(lines: &[String], words: &[&str]) -> bool {
    lines.iter().any(|l| words.iter().all(|w| l.contains(w)))
}

#[test]
fn it_says_what_would_happen() {
    let lines = explained(Options::new().recovery(Scheme::Clr).recovery_threads(2));
    assert_eq!(lines[0], "Recovery by clr on 2 threads; log: command");
    assert!(has(&lines, &["take", "call", "2 slices"]), "{lines:#?}");
    assert!(has(&lines, &["say", "rows it changes", "SQL text built at run time"]), "{lines:#?}");
    assert!(!has(&lines, &["look"]), "it changes nothing: {lines:#?}");
    assert!(has(&lines, &["b0", "account (changed)", "take.s0"]), "{lines:#?}");
    assert!(has(&lines, &["b1", "history (changed)", "take.s1", "after b0"]), "{lines:#?}");
    assert!(has(&lines, &["again", "rows it changes", "It sets a sequence"]), "{lines:#?}");
    assert!(has(&lines, &["k0", "account", "by id", "take.1"]), "{lines:#?}");
    assert!(has(&lines, &["k1", "history", "by id", "take.2"]), "{lines:#?}");
    let lines = explained(Options::new().log(LogKind::Logical));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    let lines = explained(Options::new().log(LogKind::Off));
    assert!(has(&lines, &["Nothing is logged"]), "{lines:#?}");
    // A procedure whose table is gone.
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    db.execute("DROP TABLE account", ()).expect("drops");
    assert!(has(&self::lines(&db), &["take", "has a statement that fails", "account"]));
}
