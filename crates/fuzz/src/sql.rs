//! SQL text: whatever it says, it is carried out or refused; the session goes on, and no error is an internal one.

use crate::chance::{below, once_in};
use planaria::serving::ServedSession;
use planaria::{Database, Session, SqlState};
use planaria_sim::dice::Dice;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Something for statements to be about.
const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, name text UNIQUE, amount numeric(12,2) DEFAULT 0 CHECK (amount >= 0),
        at timestamptz DEFAULT now(), flag bool);
    CREATE TABLE u (t_id int REFERENCES t, n bigint, data bytea, x float8, PRIMARY KEY (t_id, n));
    CREATE INDEX u_by_x ON u (x);
    CREATE SEQUENCE s;
    CREATE VIEW v AS SELECT t.id, name, n FROM t JOIN u ON t_id = t.id;
    INSERT INTO t (id, name) SELECT i, 'name ' || i FROM generate_series(1, 20) i;
    INSERT INTO u SELECT i % 20 + 1, i, '\\x00ff', i / 3.0 FROM generate_series(1, 60) i;
    CREATE PROCEDURE p(a int, INOUT b text DEFAULT 'x') LANGUAGE plpgsql AS $$
    DECLARE r record;
    BEGIN
        FOR r IN SELECT * FROM t WHERE id < a ORDER BY id LOOP
            UPDATE t SET amount = amount + 1 WHERE id = r.id;
        END LOOP;
        b := b || a;
    EXCEPTION WHEN unique_violation THEN b := 'twice';
    END $$;
    CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN IF a <= 1 THEN RETURN 1; END IF; RETURN a * f(a - 1); END $$;";

/// Words to put into texts.
pub const WORDS: &[&str] = &[
    " t ",
    " u ",
    " v ",
    " s ",
    "p(",
    "f(",
    " id ",
    " name ",
    " amount ",
    "SELECT ",
    "INSERT INTO ",
    "UPDATE ",
    "DELETE ",
    "FROM ",
    "WHERE ",
    "GROUP BY ",
    "HAVING ",
    "ORDER BY ",
    "LIMIT ",
    "UNION ",
    "EXCEPT ",
    "INTERSECT ALL ",
    "JOIN ",
    "LEFT JOIN ",
    "ON ",
    "USING (id) ",
    "WITH RECURSIVE w AS (",
    "VALUES (",
    "RETURNING *",
    "CASE WHEN ",
    " THEN ",
    " END",
    "NULL",
    "'a'",
    "1",
    "-1",
    "0",
    "9223372036854775807",
    "1e400",
    "(",
    ")",
    ",",
    "*",
    "::numeric",
    "::int4[]",
    "::text",
    "::date",
    "::interval",
    " || ",
    " IS NULL ",
    " IN (",
    " BETWEEN ",
    "EXISTS (SELECT ",
    "DISTINCT ",
    "count(*)",
    "sum(",
    "over (partition by ",
    "coalesce(",
    "nextval('s')",
    "now()",
    "CALL ",
    "BEGIN;",
    "COMMIT;",
    "ROLLBACK;",
    "SAVEPOINT a;",
    "ROLLBACK TO a;",
    "CREATE TABLE ",
    "ALTER TABLE ",
    "DROP TABLE ",
    "CREATE INDEX ON ",
    "ADD COLUMN c int ",
    "DROP COLUMN ",
    "FOR UPDATE ",
    "ON CONFLICT DO NOTHING ",
    "PREPARE q AS ",
    "EXECUTE q",
    "$1",
    "$$",
    "DECLARE c CURSOR FOR ",
    "FETCH 2 FROM c;",
    "EXPLAIN ",
    "LOOP ",
    "END LOOP;",
    "RAISE EXCEPTION 'x';",
    "RETURN ",
    "TRUNCATE ",
    "COPY t TO STDOUT",
    "SET ",
    "SHOW ",
    "CHECKPOINT",
    "LATERAL ",
    "CAST(",
    " AS ",
    ";",
    "--",
    "/*",
    "E'\\",
];

/// A database for texts, with somebody who breaks off what takes too long.
pub struct Subject {
    session: Session,
    _db: Database,
    began: Arc<AtomicU64>,
    cancel: Arc<AtomicBool>,
}

impl Subject {
    /// A small database.
    pub fn new() -> Subject {
        let db = Database::in_memory().expect("a database");
        db.execute_script(SCHEMA).expect("the schema");
        let mut session = db.session().expect("a session");
        let (began, cancel) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        session.cancelled_by(&cancel);
        let (watched, flag) = (Arc::downgrade(&began), cancel.clone());
        std::thread::spawn(move || {
            let mut seen = (0, Instant::now());
            while let Some(now) = watched.upgrade().map(|began| began.load(Ordering::Acquire)) {
                if now != seen.0 {
                    seen = (now, Instant::now());
                } else if now % 2 == 1 && seen.1.elapsed() > Duration::from_millis(100) {
                    flag.store(true, Ordering::Release);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Subject { session, _db: db, began, cancel }
    }

    /// Runs a text.
    pub fn run(&mut self, text: &str) {
        self.began.fetch_add(1, Ordering::AcqRel);
        let prepared = self.session.prepare(text).map(|_| ());
        let outcome = self.session.execute_script(text);
        self.began.fetch_add(1, Ordering::AcqRel);
        self.cancel.store(false, Ordering::Release);
        for error in [prepared.err(), outcome.err()].into_iter().flatten() {
            assert_ne!(error.sqlstate(), SqlState::INTERNAL_ERROR, "{error} of {text:?}");
            let position = error.fields().position.unwrap_or(0) as usize;
            assert!(position <= text.len(), "{error} at {position} of {text:?}");
        }
        let _ = self.session.execute_script("ROLLBACK; RESET ALL");
        self.session.take_notices();
        let rows = self.session.query("SELECT 40 + 2", ()).expect("the session goes on");
        assert_eq!(rows[0].get::<i64>(0).ok().or(rows[0].get::<i32>(0).ok().map(i64::from)), Some(42));
    }
}

impl Default for Subject {
    fn default() -> Subject {
        Subject::new()
    }
}

/// The statements of the scripts in these folders of `crates/`.
pub fn statements(folders: &[&str]) -> Vec<String> {
    let rooms = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files: Vec<_> = folders.iter().map(|folder| rooms.join(folder)).collect();
    let mut all = Vec::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path()));
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            let text = std::fs::read_to_string(&path).expect("a script");
            match planaria::serving::parse(&text) {
                Ok(statements) => all.extend(statements.iter().map(|s| s.text().to_owned())),
                // One that is wrong on purpose.
                Err(_) => all.extend(text.split(";\n").map(str::to_owned)),
            }
        }
    }
    all.sort();
    all.retain(|text| text.len() < 3000);
    assert!(all.len() > 50, "the scripts are found");
    all
}

/// A text by chance.
pub fn text(dice: &mut Dice, corpus: &[String]) -> String {
    let mut text = if once_in(dice, 4) { String::new() } else { corpus[below(dice, corpus.len())].clone() };
    for _ in 0..1 + below(dice, 6) {
        let word = if once_in(dice, 3) {
            let other = &corpus[below(dice, corpus.len())];
            let from = other.floor_char_boundary(below(dice, other.len()));
            let to = other.floor_char_boundary((from + 1 + below(dice, 40)).min(other.len()));
            other[from..to].to_owned()
        } else {
            dice.of(WORDS).to_owned()
        };
        let at = text.floor_char_boundary(below(dice, text.len() + 1));
        let end = if once_in(dice, 2) {
            at
        } else {
            text.floor_char_boundary((at + below(dice, 12)).min(text.len()))
        };
        text.replace_range(at..end, &word);
    }
    text
}
