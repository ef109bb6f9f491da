//! Procedures over tables of random shapes, whose statements find their rows by every kind of predicate over the
//! key: each can be called, is logged as a call or by its rows, and every scheme of recovery restores the same.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme};
use planaria_sim::disk::{SimDisk, Survival};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// xorshift: the same shapes for a seed everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
    pub(crate) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A table with one to three key columns and values, and what is known of it.
struct Shape {
    name: String,
    keys: usize,
}

const KEYS: [&str; 3] = ["k", "j", "i"];

impl Shape {
    fn make(dice: &mut Dice, number: usize) -> (Shape, String) {
        let shape = Shape { name: format!("t{number}"), keys: 1 + dice.below(3) };
        let columns: Vec<String> = KEYS[..shape.keys].iter().map(|k| format!("{k} bigint")).collect();
        let mut ddl = format!(
            "CREATE TABLE {} ({}, v bigint, w bigint, PRIMARY KEY ({}));\n",
            shape.name,
            columns.join(", "),
            KEYS[..shape.keys].join(", ")
        );
        if dice.below(3) == 0 {
            ddl += &format!("CREATE INDEX ON {} (v);\n", shape.name);
        }
        let series: Vec<String> =
            KEYS[..shape.keys].iter().map(|k| format!("generate_series(1, 6) AS {k}")).collect();
        let keys = KEYS[..shape.keys].join(", ");
        ddl += &format!("INSERT INTO {} SELECT {keys}, k * 3, 0 FROM {};\n", shape.name, series.join(", "));
        (shape, ddl)
    }

    /// What a key or a value is compared with.
    fn operand(&self, dice: &mut Dice) -> String {
        let n = dice.below(8);
        match dice.below(7) {
            0 | 1 => "a".to_owned(),
            2 => "b".to_owned(),
            3 => format!("{n}"),
            4 => format!("a + {n}"),
            5 => format!("{n} - 1"),
            _ => format!("x + {n}"),
        }
    }

    fn predicate(&self, dice: &mut Dice) -> String {
        let mut all = Vec::new();
        for key in &KEYS[..self.keys] {
            let operand = self.operand(dice);
            let other = self.operand(dice);
            match dice.below(9) {
                0 => {}
                1..=4 => all.push(format!("{key} = {operand}")),
                5 => all.push(format!("{key} > {operand}")),
                6 => all.push(format!("{key} BETWEEN {operand} AND {other}")),
                7 => all.push(format!("{key} <= {operand} AND {key} >= {other} - 4")),
                _ => all.push(format!("{key} IN ({operand}, {other})")),
            }
        }
        if dice.below(5) == 0 || all.is_empty() {
            all.push(format!("v {} {}", dice.one(&["=", ">", "<", "<>"]), self.operand(dice)));
        }
        all.join(" AND ")
    }

    fn statement(&self, dice: &mut Dice, depth: usize) -> String {
        let (name, predicate) = (&self.name, self.predicate(dice));
        let value = dice.one(&["v + 1", "w + a", "v + x", "b", "v * 2 - w"]).to_owned();
        match dice.below(if depth == 0 { 9 } else { 6 }) {
            0..=2 => format!("UPDATE {name} SET w = {value} WHERE {predicate};"),
            3 => format!("UPDATE {name} SET v = {value}, w = 1 WHERE {predicate};"),
            4 => format!("DELETE FROM {name} WHERE {predicate} AND v > 9;"),
            5 => format!("SELECT coalesce(sum(v), 0) INTO x FROM {name} WHERE {predicate};"),
            6 => format!("IF {} > x THEN {} END IF;", self.operand(dice), self.statement(dice, 1)),
            7 => format!(
                "FOR r IN SELECT k, v FROM {name} WHERE {predicate} LOOP x := r.v; {} END LOOP;",
                self.statement(dice, 1)
            ),
            _ => {
                let keys = KEYS[1..self.keys].iter().fold("a + 100".to_owned(), |all, _| all + ", b");
                format!("INSERT INTO {name} VALUES ({keys}, x, b) ON CONFLICT DO NOTHING;")
            }
        }
    }
}

#[test]
fn calls_over_every_shape_of_key_are_restored() {
    restored_by_every_scheme(40, fill);
}

/// The seeds to try: from 1 on, so many; `SEED` and `SEEDS` say others.
pub(crate) fn seeds(count: u64) -> Range<u64> {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name)
            .map_or(otherwise, |n| n.parse().unwrap_or_else(|_| panic!("{name}={n} is no number")))
    };
    let from = number("SEED", 1);
    from..from + number("SEEDS", count)
}

/// Fills databases by seeds, and recovers each by every scheme. `fill` answers what it did.
pub(crate) fn restored_by_every_scheme(count: u64, fill: fn(&Database, &mut Dice, u64) -> String) {
    for seed in seeds(count) {
        let disk = SimDisk::new(seed);
        let open = |scheme: Scheme| {
            let options = Options::new().log(LogKind::Command).recovery(scheme).recovery_threads(2);
            options.open_device(disk.device()).unwrap_or_else(|e| panic!("seed {seed}, {scheme:?}: {e:?}"))
        };
        let db = open(Scheme::Clr);
        let text = fill(&db, &mut Dice::new(seed), seed);
        comes_back(db, None, &open, &format!("seed {seed}:\n{text}"));
    }
}

/// Closes a database, or crashes, and opens it again by every scheme: the rows are the same.
pub(crate) fn comes_back(
    db: Database,
    crashes: Option<&SimDisk>,
    open: &dyn Fn(Scheme) -> Database,
    context: &str,
) {
    let digests = db.digests().expect("reads");
    db.check().unwrap_or_else(|e| panic!("before: {e:?}, {context}"));
    match crashes {
        Some(disk) => {
            disk.crash(Survival::Nothing);
            drop(db);
        }
        None => db.close().expect("closes"),
    }
    for scheme in Scheme::ALL.iter().copied() {
        let db = catch_unwind(AssertUnwindSafe(|| open(scheme)));
        let db = db.unwrap_or_else(|_| panic!("{scheme:?}, {context}"));
        assert_eq!(db.digests().expect("reads"), digests, "{scheme:?}, {context}");
        db.check().unwrap_or_else(|e| panic!("{scheme:?}: {e:?}, {context}"));
        db.close().expect("closes");
    }
}

/// Tables, procedures, and calls of them.
fn fill(db: &Database, dice: &mut Dice, seed: u64) -> String {
    let mut text = String::new();
    let mut shapes = Vec::new();
    for number in 0..2 {
        let (shape, ddl) = Shape::make(dice, number);
        text += &ddl;
        shapes.push(shape);
    }
    for number in 0..6 {
        let body: Vec<String> = (0..1 + dice.below(3))
            .map(|_| {
                let at = dice.below(shapes.len());
                shapes[at].statement(dice, 0)
            })
            .collect();
        text += &format!(
            "CREATE PROCEDURE p{number}(a bigint, b bigint) LANGUAGE plpgsql AS $$ DECLARE x bigint := 2; r record; BEGIN {} END $$;\n",
            body.join(" ")
        );
    }
    db.execute_script(&text).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"));
    for _ in 0..20 {
        let call = format!("CALL p{}({}, {})", dice.below(6), dice.below(8), dice.below(8));
        // A value out of range, a key that is there: errors of its own.
        if let Err(error) = db.execute(&call, ()) {
            let state = error.sqlstate().as_str().to_owned();
            assert!(!state.starts_with("XX"), "seed {seed}: {call}: {error:?}\n{text}");
        }
    }
    text
}

/// The bound of a range that is a constant: the analysis took it for something taken in, and panicked.
#[test]
fn a_constant_bound_below_a_key_prefix_is_cut() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE b (k bigint, j bigint, v bigint, PRIMARY KEY (k, j));
         INSERT INTO b VALUES (3, 4, 0), (3, 5, 0), (4, 5, 0);
         CREATE PROCEDURE p(a bigint) LANGUAGE plpgsql AS $$ BEGIN UPDATE b SET v = v + 1 WHERE k = a AND j > 4; END $$;
         CALL p(3); CALL p(3)",
    )
    .expect("it runs");
    let rows = db.query("SELECT sum(v * 10 + j)::bigint FROM b", ()).expect("reads");
    assert_eq!(rows[0].get::<i64>(0).expect("a number"), 34);
}

/// A value that an index wants twice: the planner took it from the condition once, and panicked.
#[test]
fn an_index_may_have_a_column_twice() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE b (k bigint PRIMARY KEY, v bigint, w bigint);
         CREATE INDEX ON b (v, v, w); CREATE UNIQUE INDEX ON b (w, w);
         INSERT INTO b SELECT k, k % 3, k FROM generate_series(1, 9) k;
         CREATE PROCEDURE p(a bigint) LANGUAGE plpgsql AS $$ BEGIN
             UPDATE b SET k = k + 100 WHERE v = a; DELETE FROM b WHERE v IN (a, 7) AND w >= 7; DELETE FROM b WHERE w = 4;
         END $$;
         CALL p(1); CALL p(2)",
    )
    .expect("it runs");
    let rows = db.query("SELECT string_agg(k::text, ' ' ORDER BY k) FROM b WHERE v >= 0", ()).expect("reads");
    assert_eq!(rows[0].get::<String>(0).expect("a text"), "3 6 9 101 102 105");
    db.check().expect("rows and indexes agree");
}

/// Statements all of whose ways through end in RETURN: of `x` and of what a row says.
fn returns(dice: &mut Dice, depth: usize) -> String {
    let condition = |dice: &mut Dice| {
        let (modulus, rest) = (2 + dice.below(3), dice.below(2));
        format!("(x + {}) % {modulus} = {rest}", dice.one(&["0", "1", "i", "v"]))
    };
    let value = |dice: &mut Dice| format!("{} + {}", dice.one(&["x", "i", "v", "x * i"]), dice.below(50));
    if depth == 0 {
        return format!("RETURN {};", value(dice));
    }
    let inner = |dice: &mut Dice| returns(dice, depth - 1);
    match dice.below(8) {
        0 => format!("IF {} THEN {} ELSE {} END IF;", condition(dice), inner(dice), inner(dice)),
        1 => {
            let (first, second) = (condition(dice), condition(dice));
            let ways = [inner(dice), inner(dice), inner(dice)];
            format!("IF {first} THEN {} ELSIF {second} THEN {} ELSE {} END IF;", ways[0], ways[1], ways[2])
        }
        2 => format!("CASE WHEN {} THEN {} ELSE {} END CASE;", condition(dice), inner(dice), inner(dice)),
        3 => format!("CASE x % 2 WHEN 0 THEN {} WHEN 1 THEN {} END CASE;", inner(dice), inner(dice)),
        4 => format!(
            "FOR i IN 1..3 LOOP IF {} THEN {} END IF; EXIT WHEN {}; END LOOP; {}",
            condition(dice),
            inner(dice),
            condition(dice),
            inner(dice)
        ),
        5 => {
            let label = format!("b{}", dice.0 % 1_000_000);
            let left = condition(dice);
            format!(
                "<<{label}>> BEGIN IF {left} THEN EXIT {label}; END IF; {} END; {}",
                inner(dice),
                inner(dice)
            )
        }
        6 => format!("SELECT s.v INTO v FROM s WHERE s.k = x % 5; {}", inner(dice)),
        _ => format!("IF {} THEN {} END IF; {}", condition(dice), inner(dice), inner(dice)),
    }
}

/// What follows a function whose branches all return is done, whichever did: the error behind its last branch, which
/// is never reached, once stood for the end of the call.
#[test]
fn what_follows_a_function_that_returns_in_all_branches_is_restored() {
    for seed in 1..=6u64 {
        let mut dice = Dice::new(seed);
        let mut text =
            "CREATE TABLE s (k int PRIMARY KEY, v int); CREATE TABLE t (k int PRIMARY KEY, a int, b int);
            INSERT INTO s SELECT k, k * 7 FROM generate_series(0, 4) AS k;\n"
                .to_owned();
        for number in 0..3 {
            let depth = 1 + dice.below(3);
            let body = returns(&mut dice, depth);
            text += &format!(
                "CREATE FUNCTION f{number}(x int) RETURNS int LANGUAGE plpgsql AS
                 $$ DECLARE i int := 3; v int := 1; BEGIN {body} END $$;\n"
            );
        }
        text += "CREATE PROCEDURE p(n int) LANGUAGE plpgsql AS $$ DECLARE one int; two int; BEGIN
            one := f0(n); INSERT INTO t VALUES (n, one, 0); two := f1(one % 9);
            UPDATE s SET v = v + two % 3 WHERE k = n % 5; UPDATE t SET b = two + f2(n) WHERE k = n; END $$;";
        crate::logged::replayed_by_all(
            &text,
            &|db| {
                for n in 0..12 {
                    db.execute("CALL p($1)", (n,)).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"));
                }
            },
            &|db| {
                let rows = db.query("SELECT count(*) FROM t WHERE b IS NOT NULL", ()).expect("reads");
                assert_eq!(rows[0].get::<i64>(0).expect("a number"), 12, "seed {seed}:\n{text}");
            },
        );
    }
}

/// A NaN is no equal of itself: a pass over programs that went on until nothing differed went on for ever.
#[test]
fn a_program_with_a_nan_is_cut() {
    let script = "CREATE TABLE n (k int PRIMARY KEY, v float8, w numeric, r real[]);
        CREATE PROCEDURE p(a int) LANGUAGE plpgsql AS $$ DECLARE x float8 := 'NaN'; BEGIN
            FOR i IN 1..a LOOP INSERT INTO n VALUES (i, 'NaN', 'NaN', '{NaN}') ON CONFLICT DO NOTHING; END LOOP;
            UPDATE n SET v = 'NaN'::float8, w = w + 'NaN' WHERE k = a AND v = x;
        END $$;";
    crate::logged::replayed_by_all(
        script,
        &|db| {
            for n in 1..4 {
                db.execute("CALL p($1)", (n,)).expect("it is called");
            }
        },
        &|db| {
            let rows = db.query("SELECT count(*) FROM n WHERE v = 'NaN' AND w = 'NaN'", ()).expect("reads");
            assert_eq!(rows[0].get::<i64>(0).expect("a number"), 3);
        },
    );
}
