//! Procedures with random bodies (branches, blocks and loops that are left, variables of all kinds that may be NULL, calls with OUT
//! parameters, handlers): whatever the analysis makes of them, every scheme of recovery restores what they did.

use crate::cut_shapes::{Dice, restored_by_every_scheme};
use planaria::Database;

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int, n numeric(10,2), s text, b bool);
    INSERT INTO t SELECT i, i * 3, i + 0.25, 'x' || i, i % 2 = 0 FROM generate_series(0, 7) i;
    CREATE TABLE o (id int, place int, v int, n numeric(8,2), s text, b bool, PRIMARY KEY (id, place));
    CREATE PROCEDURE five(OUT r int) LANGUAGE plpgsql AS $$ BEGIN r := 5; END $$;
    CREATE PROCEDURE half(INOUT r numeric, y int) LANGUAGE plpgsql AS $$
    BEGIN
        IF y > 3 THEN r := 0.5; RETURN; END IF;
        r := coalesce(r, 1) + 0.25;
    END $$;
    CREATE PROCEDURE marks(y int, OUT f bool, OUT w text) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE t SET v = v + 1 WHERE id = y RETURNING t.b, t.s INTO f, w;
        IF NOT FOUND THEN w := 'none'; END IF;
    END $$;";

/// A body in the making.
struct Body<'d> {
    dice: &'d mut Dice,
    text: String,
    /// Variables of the loops around.
    loops: Vec<String>,
    labels: usize,
    places: usize,
    /// Plain statements alone, whose keys are arguments: most of such bodies are cut.
    plain: bool,
    /// It asks for the time now and then.
    waits: bool,
}

/// Variables of each kind: so many that many of them are written once.
const OF_A_KIND: usize = 4;

impl Body<'_> {
    /// A variable of a kind: `a` integers, `f` booleans, `m` numerics, `q` of two digits, `s` texts.
    fn variable(&mut self, kind: &str) -> String {
        format!("{kind}{}", self.dice.below(OF_A_KIND))
    }

    fn one_of(&mut self, of: &[&str]) -> String {
        let one = self.dice.one(of);
        if matches!(one, "a" | "f" | "m" | "q" | "s") { self.variable(one) } else { one.to_owned() }
    }

    fn int(&mut self, depth: usize) -> String {
        let leaf = depth == 0 || self.dice.below(3) == 0;
        if leaf {
            return match self.dice.below(9) {
                0..=2 => self.dice.below(10).to_string(),
                3 if !self.loops.is_empty() => {
                    let at = self.dice.below(self.loops.len());
                    self.loops[at].clone()
                }
                _ => self.one_of(&["pk", "px", "a", "a", "a"]),
            };
        }
        let (a, b) = (self.int(depth - 1), self.int(depth - 1));
        match self.dice.below(10) {
            0 | 1 => format!("({a} + {b})"),
            2 => format!("({a} - {b})"),
            3 => format!("({a} * 2)"),
            4 => format!("({a} % 7)"),
            5 => format!("coalesce({a}, {b})"),
            6 => format!("CASE WHEN {} THEN {a} ELSE {b} END", self.condition(depth - 1)),
            7 => format!("greatest({a}, {b})"),
            8 => format!("length({})", self.words(depth - 1)),
            _ => format!("nullif({a}, {b})"),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth == 0 || self.dice.below(4) == 0 {
            return self.one_of(&["f", "f", "pc", "pk < 4", "pk % 2 = 0", "f", "true", "false"]);
        }
        match self.dice.below(10) {
            0 | 1 => format!("{} < {}", self.int(depth - 1), self.int(depth - 1)),
            2 => format!("{} = {}", self.int(depth - 1), self.int(depth - 1)),
            3 => format!("{} >= {}", self.int(depth - 1), self.int(depth - 1)),
            4 => format!("NOT ({})", self.condition(depth - 1)),
            5 => format!("({} AND {})", self.condition(depth - 1), self.condition(depth - 1)),
            6 => format!("({} OR {})", self.condition(depth - 1), self.condition(depth - 1)),
            7 => format!("({}) IS NULL", self.int(depth - 1)),
            8 => format!("{} > {}", self.number(depth - 1), self.number(depth - 1)),
            _ => format!("{} = {}", self.words(depth - 1), self.words(depth - 1)),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.dice.below(3) == 0 {
            return self.one_of(&["1.50", "0.25", "2", "m", "q", "pz", "q"]);
        }
        let (a, b) = (self.number(depth - 1), self.number(depth - 1));
        match self.dice.below(7) {
            0 | 1 => format!("({a} + {b})"),
            2 => format!("({a} - {b})"),
            3 => format!("({a} * 1.5)"),
            4 => format!("({a})::numeric(9,2)"),
            5 => format!("coalesce({a}, {b})"),
            _ => format!("({})::numeric", self.int(depth - 1)),
        }
    }

    fn words(&mut self, depth: usize) -> String {
        if depth == 0 || self.dice.below(3) == 0 {
            return self.one_of(&["s", "pw", "'x1'", "s", "''"]);
        }
        match self.dice.below(4) {
            0 => format!("('x' || {})", self.int(depth - 1)),
            1 => format!("coalesce({}, 'none')", self.words(depth - 1)),
            2 => format!("substr({}, 1, 2)", self.words(depth - 1)),
            _ => format!("({} || {})", self.words(depth - 1), self.words(depth - 1)),
        }
    }

    fn key(&mut self) -> String {
        match self.dice.below(if self.plain { 4 } else { 5 }) {
            0 | 1 => "pk".to_owned(),
            2 => "px".to_owned(),
            3 => self.dice.below(9).to_string(),
            _ => format!("abs({}) % 8", self.int(1)),
        }
    }

    fn value_of(&mut self, column: &str) -> String {
        match column {
            "v" => self.int(2),
            "n" => self.number(2),
            "s" => self.words(2),
            _ => self.condition(2),
        }
    }

    /// The same, or what a row's own value becomes.
    fn change_of(&mut self, column: &str) -> String {
        if self.dice.below(2) == 0 {
            return self.value_of(column);
        }
        match column {
            "v" => format!("v + {}", self.int(1)),
            "n" => format!("n + {}", self.number(1)),
            "s" => "substr(s, 1, 20) || 'z'".to_owned(),
            _ => "NOT b".to_owned(),
        }
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..1 + self.dice.below(3) {
            if self.waits && self.dice.below(2) == 0 {
                self.line("at := clock_timestamp();");
            }
            self.statement(depth);
        }
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn statement(&mut self, depth: usize) {
        match self.dice.below(match (depth, self.plain) {
            (0, _) => 13,
            (_, true) => 20,
            (_, false) => 21,
        }) {
            0..=4 => {
                let kind = self.dice.one(&["a", "a", "f", "f", "m", "q", "s"]);
                let depth = self.dice.below(3);
                let value = match kind {
                    "a" => self.int(depth),
                    "f" => self.condition(depth),
                    "m" | "q" => self.number(depth),
                    _ => self.words(depth),
                };
                let variable = self.variable(kind);
                self.line(&format!("{variable} := {value};"));
            }
            5 | 6 => {
                let mut columns = ["v", "n", "s", "b"];
                columns.rotate_left(self.dice.below(4));
                let set: Vec<String> = columns[..1 + self.dice.below(3)]
                    .iter()
                    .map(|column| format!("{column} = {}", self.change_of(column)))
                    .collect();
                let (set, key) = (set.join(", "), self.key());
                let place = (self.dice.below(self.places + 1) * 100).to_string();
                let line = match self.dice.below(6) {
                    0 => format!("UPDATE o SET {set} WHERE id = {key} AND place = {place};"),
                    1 => format!("UPDATE o SET {set} WHERE id = {key};"),
                    _ => format!("UPDATE t SET {set} WHERE id = {key};"),
                };
                self.line(&line);
            }
            7 | 8 => {
                self.places += 1;
                let place = match self.loops.last() {
                    Some(variable) => format!("{} + {variable}", self.places * 100),
                    None => (self.places * 100).to_string(),
                };
                let values: Vec<String> =
                    ["v", "n", "s", "b"].iter().map(|column| self.value_of(column)).collect();
                let end = self.dice.one(&["", " ON CONFLICT DO NOTHING"]);
                self.line(&format!("INSERT INTO o VALUES (pk, {place}, {}){end};", values.join(", ")));
            }
            9 => {
                let key = self.key();
                let (a, f, q, s) =
                    (self.variable("a"), self.variable("f"), self.variable("q"), self.variable("s"));
                let into = match self.dice.below(4) {
                    0 => format!("v INTO {a}"),
                    1 => format!("v, n INTO {a}, {q}"),
                    2 => format!("b, s INTO {f}, {s}"),
                    _ => format!("1, 0.5::numeric(10,2) INTO {a}, {q}"),
                };
                self.line(&format!("SELECT {into} FROM t WHERE id = {key};"));
            }
            10 => {
                let key = self.key();
                let (a, f, m, s) =
                    (self.variable("a"), self.variable("f"), self.variable("m"), self.variable("s"));
                let call = match self.dice.below(if self.plain { 3 } else { 4 }) {
                    0 => format!("five({a})"),
                    1 => format!("half({m}, px)"),
                    2 => format!("half({m}, 1)"),
                    _ => format!("marks({key}, {f}, {s})"),
                };
                self.line(&format!("CALL {call};"));
            }
            11 => {
                let (a, b) = (self.key(), self.key());
                self.line(&format!("PERFORM 1 FROM t WHERE id IN ({a}, {b}) ORDER BY id FOR UPDATE;"));
            }
            12 if !self.plain && self.dice.below(2) == 0 => {
                let key = self.key();
                self.line(&format!("DELETE FROM t WHERE id = {key};"));
            }
            12 => {
                let variable = self.variable("f");
                self.line(&format!("{variable} := FOUND;"));
            }
            13..=15 => {
                let condition = self.condition(2);
                self.line(&format!("IF {condition} THEN"));
                self.statements(depth - 1);
                if self.dice.below(6) == 0 {
                    self.line("RETURN;");
                }
                if self.dice.below(3) == 0 {
                    let condition = self.condition(1);
                    self.line(&format!("ELSIF {condition} THEN"));
                    self.statements(depth - 1);
                }
                if self.dice.below(2) == 0 {
                    self.line("ELSE");
                    self.statements(depth - 1);
                }
                self.line("END IF;");
            }
            16 | 17 => {
                self.labels += 1;
                let label = format!("l{}", self.labels);
                self.line(&format!("<<{label}>> BEGIN"));
                self.statements(depth - 1);
                let condition = self.condition(1);
                self.line(&format!("EXIT {label} WHEN {condition};"));
                self.statements(depth - 1);
                self.line("END;");
            }
            18 => {
                self.labels += 1;
                let variable = format!("i{}", self.labels);
                let to = self.dice.one(&["2", "3", "least(px, 3)"]);
                self.line(&format!("FOR {variable} IN 1..{to} LOOP"));
                self.loops.push(variable);
                self.statements(depth - 1);
                let (how, condition) = (self.dice.one(&["EXIT", "CONTINUE"]), self.condition(1));
                self.line(&format!("{how} WHEN {condition};"));
                self.statements(depth - 1);
                self.loops.pop();
                self.line("END LOOP;");
            }
            19 => {
                self.labels += 1;
                let (row, key) = (format!("r{}", self.labels), self.key());
                let order = self.dice.one(&["", " ORDER BY place", " ORDER BY place DESC"]);
                self.line(&format!(
                    "DECLARE {row} record; BEGIN FOR {row} IN SELECT place, v, n, s FROM o WHERE id = {key}{order} LOOP"
                ));
                let (a, s) = (self.variable("a"), self.variable("s"));
                self.line(&format!("{a} := {row}.v; {s} := substr({row}.s, 1, 9);"));
                if self.dice.below(2) == 0 {
                    let change = self.change_of("v");
                    self.line(&format!(
                        "UPDATE o SET v = {change} WHERE id = {key} AND place = {row}.place;"
                    ));
                }
                self.statements(depth - 1);
                let condition = self.condition(1);
                self.line(&format!("EXIT WHEN {condition};"));
                self.line("END LOOP; END;");
            }
            _ => {
                self.line("BEGIN");
                self.statements(depth - 1);
                self.line("EXCEPTION WHEN unique_violation OR numeric_value_out_of_range THEN");
                self.statements(depth - 1);
                self.line("END;");
            }
        }
    }
}

fn procedure(dice: &mut Dice, number: usize, waits: bool) -> String {
    let (text, loops, plain) = (String::new(), Vec::new(), number > 0);
    let mut body = Body { dice, text, loops, labels: 0, places: 0, plain, waits };
    for _ in 0..2 + body.dice.below(4) {
        body.statement(3);
    }
    let mut declared = "at timestamptz;\n".to_owned();
    for n in 0..OF_A_KIND {
        for (kind, ty) in
            [("a", "int"), ("f", "bool"), ("m", "numeric"), ("q", "numeric(10,2)"), ("s", "text")]
        {
            let first = match (kind, body.dice.below(4)) {
                ("a", 0) => " := 7",
                ("f", 0) => " := true",
                ("m" | "q", 0) => " := 0.75",
                ("s", 0) => " := 'x1'",
                _ => "",
            };
            declared += &format!("{kind}{n} {ty}{first};\n");
        }
    }
    let text = body.text;
    format!(
        "CREATE PROCEDURE p{number}(pk int, px int, pc bool, pz numeric, pw text) LANGUAGE plpgsql AS $$\n\
         DECLARE {declared}BEGIN\n{text}END $$;\n"
    )
}

/// Tables and procedures; `waits`: these ask for the time now and then.
pub(crate) fn schema(dice: &mut Dice, waits: bool) -> String {
    (0..5).fold(SCHEMA.to_owned(), |text, number| text + &procedure(dice, number, waits))
}

pub(crate) fn call(dice: &mut Dice) -> String {
    format!(
        "CALL p{}({}, {}, {}, {}, {})",
        dice.below(5),
        dice.below(9),
        dice.below(6),
        dice.one(&["true", "false", "NULL"]),
        dice.one(&["0", "1.25", "-3", "NULL"]),
        dice.one(&["'x1'", "''", "'y'", "NULL"]),
    )
}

fn fill(db: &Database, dice: &mut Dice, seed: u64) -> String {
    let mut text = schema(dice, false);
    db.execute_script(&text).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"));
    for _ in 0..40 {
        let call = call(dice);
        // A value out of range, a key that is there: errors of its own.
        if let Err(error) = db.execute(&call, ()) {
            let state = error.sqlstate().as_str().to_owned();
            assert!(!state.starts_with("XX"), "seed {seed}: {call}: {error:?}\n{text}");
        }
        text += &format!("{call};\n");
    }
    text
}

#[test]
fn calls_of_random_procedures_are_restored() {
    restored_by_every_scheme(40, fill);
}
