//! What a scripted run does: steps of one session, drawn by seed, each at most one commit.

mod latest;
mod more;
mod objects;

use planaria::{Database, Error, Result, Session};
use planaria_sim::dice::Dice;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// What one session does, step by step.
pub struct Script {
    /// The steps.
    pub steps: Vec<Step>,
}

/// One thing to do: afterwards its effects are there as a whole, or not at all.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its statements: one, or a transaction block with its BEGIN and its end.
    pub statements: Vec<String>,
    /// What the clock says meanwhile: microseconds since 2000-01-01 UTC.
    pub time: i64,
}

/// What every run begins with.
const SCHEMA: &[&str] = &[
    "CREATE TABLE account (id int PRIMARY KEY, balance numeric(12,2) NOT NULL CHECK (balance >= 0), note text)",
    "CREATE TABLE journal (at timestamp, what text)",
    "CREATE TABLE item (id int PRIMARY KEY, name text UNIQUE, grp int NOT NULL, at timestamptz)",
    "CREATE SEQUENCE ticket INCREMENT 3",
    "INSERT INTO account SELECT i, 100.00, 'new' FROM generate_series(1, 8) AS g(i)",
    "CREATE PROCEDURE pay(p_from int, p_to int, p_amount numeric, INOUT p_ticket bigint DEFAULT NULL)
     LANGUAGE plpgsql AS $$
     BEGIN
         UPDATE account SET balance = balance - p_amount WHERE id = p_from;
         UPDATE account SET balance = balance + p_amount WHERE id = p_to;
         p_ticket := nextval('ticket');
         INSERT INTO journal VALUES (localtimestamp, p_from || ' to ' || p_to || ': ' || p_amount);
     END $$",
    "CREATE PROCEDURE add_item(p_id int, p_name text, p_grp int) LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO item VALUES (p_id, p_name, p_grp, now());
     END $$",
    "CREATE PROCEDURE add_or_move(p_id int, p_name text, p_grp int) LANGUAGE plpgsql AS $$
     BEGIN
         INSERT INTO item VALUES (p_id, p_name, p_grp, now());
     EXCEPTION WHEN unique_violation THEN
         UPDATE item SET grp = p_grp WHERE id = p_id;
     END $$",
    "CREATE PROCEDURE sweep(p_grp int) LANGUAGE plpgsql AS $$
     BEGIN
         DELETE FROM item WHERE grp = p_grp;
     END $$",
    "CREATE PROCEDURE lift(p_low int, p_high int) LANGUAGE plpgsql AS $$
     DECLARE r record;
     BEGIN
         FOR r IN SELECT id, balance FROM account WHERE id BETWEEN p_low AND p_high ORDER BY id LOOP
             UPDATE account SET balance = r.balance + r.id, note = repeat('n', r.id * 9) WHERE id = r.id;
         END LOOP;
     END $$",
];

impl Script {
    /// Draws one with so many steps after the schema. `jumps`: the clock goes back and forth by days.
    pub fn draw(seed: u64, steps: usize, jumps: bool) -> Script {
        let mut dice = Dice::new(seed, 1);
        let mut time = 800_000_000_000_000;
        let mut script = Script { steps: Vec::new() };
        let mut objects = Objects::default();
        let mut schema: Vec<Vec<String>> = SCHEMA.iter().map(|s| vec![(*s).to_owned()]).collect();
        let more = objects::OBJECTS.iter().chain(more::MORE).chain(latest::LATEST);
        let more: Vec<String> = more.map(|s| (*s).to_owned()).collect();
        if dice.chance(60) {
            schema.push([vec!["BEGIN".to_owned()], more, vec!["COMMIT".to_owned()]].concat());
        } else {
            schema.extend(more.into_iter().map(|s| vec![s]));
        }
        for number in 0..schema.len() + steps {
            time += 1_000 + dice.below(1_000_000) as i64;
            if jumps && dice.chance(40) {
                time += (dice.below(400) as i64 - 200) * 86_400_000_000;
            }
            let statements = match schema.get(number) {
                Some(statements) => statements.clone(),
                None => objects.step(&mut dice),
            };
            script.steps.push(Step { statements, time });
        }
        script
    }
}

/// What there is besides the schema.
#[derive(Default)]
struct Objects {
    index: bool,
    view: bool,
    extra: Option<u64>,
    extras: u64,
    columns: u64,
    versions: u64,
    later: objects::Later,
}

impl Objects {
    fn step(&mut self, dice: &mut Dice) -> Vec<String> {
        match dice.below(10) {
            0..3 => return vec![objects::change(dice)],
            3 if dice.chance(50) => return more::change(dice),
            3 => return latest::change(dice),
            4 => return self.later.define(dice),
            _ => {}
        }
        match dice.below(100) {
            0..24 => vec![pay(dice)],
            24..40 => vec![item(dice)],
            40..46 => vec![format!("CALL sweep({})", dice.below(4))],
            46..52 => vec![format!("CALL lift({}, {})", dice.below(5), 2 + dice.below(7))],
            52..64 => block(dice),
            64..70 => vec![ad_hoc(dice)],
            70..74 => vec!["SELECT nextval('ticket')".to_owned()],
            74..76 => vec![format!("SELECT setval('ticket', {})", 1000 + 3 * dice.below(100))],
            76..84 => vec!["CHECKPOINT".to_owned()],
            _ => vec![self.define(dice)],
        }
    }

    /// A change of the schema.
    fn define(&mut self, dice: &mut Dice) -> String {
        match dice.below(8) {
            0 => {
                self.index = !self.index;
                match self.index {
                    true => "CREATE INDEX item_by_grp ON item (grp, name)".to_owned(),
                    false => "DROP INDEX item_by_grp".to_owned(),
                }
            }
            1 => {
                self.view = !self.view;
                match self.view {
                    true => "CREATE VIEW rich AS SELECT id FROM account WHERE balance > 100".to_owned(),
                    false => "DROP VIEW rich".to_owned(),
                }
            }
            2 | 3 => match self.extra.take() {
                Some(number) => format!("DROP TABLE extra_{number}"),
                None => {
                    self.extras += 1;
                    self.extra = Some(self.extras);
                    format!(
                        "CREATE TABLE extra_{} (a serial, b text DEFAULT 'b', UNIQUE (b, a))",
                        self.extras
                    )
                }
            },
            4 => {
                self.columns += 1;
                format!("ALTER TABLE journal ADD COLUMN more_{} int DEFAULT {}", self.columns, self.columns)
            }
            5 => "TRUNCATE journal".to_owned(),
            6 => {
                self.versions += 1;
                format!(
                    "CREATE OR REPLACE PROCEDURE sweep(p_grp int) LANGUAGE plpgsql AS $$
                     BEGIN
                         DELETE FROM item WHERE grp = p_grp AND id % {} <> 1;
                     END $$",
                    2 + self.versions
                )
            }
            _ => match self.extra {
                Some(number) => format!("INSERT INTO extra_{number} (b) VALUES ('x'), (repeat('y', 300))"),
                None => "UPDATE account SET note = NULL WHERE id > 4".to_owned(),
            },
        }
    }
}

fn pay(dice: &mut Dice) -> String {
    // Some cannot be paid.
    let amount = if dice.chance(10) { 900 } else { dice.below(30) };
    format!("CALL pay({}, {}, {amount}.25)", 1 + dice.below(8), 1 + dice.below(8))
}

fn item(dice: &mut Dice) -> String {
    let how = if dice.chance(50) { "add_item" } else { "add_or_move" };
    let (id, length, grp) = (dice.below(30), dice.below(60), dice.below(4));
    format!("CALL {how}({id}, 'item {id} ' || repeat('i', {length}), {grp})")
}

fn ad_hoc(dice: &mut Dice) -> String {
    match dice.below(5) {
        0 => {
            format!("UPDATE account SET balance = balance + 1, note = 'raised' WHERE id = {}", dice.below(9))
        }
        1 => format!("INSERT INTO journal (what) VALUES ('step'), (repeat('w', {}))", dice.below(2000)),
        2 => format!("DELETE FROM journal WHERE what LIKE '{}%'", 1 + dice.below(8)),
        3 => format!("UPDATE item SET id = id + 100 WHERE id = {}", dice.below(30)),
        _ => format!("DELETE FROM item WHERE id >= {}", 100 + dice.below(30)),
    }
}

/// A transaction block, committed or not.
fn block(dice: &mut Dice) -> Vec<String> {
    let mut statements = vec!["BEGIN".to_owned()];
    let commits = dice.chance(80);
    for number in 0..1 + dice.below(5) {
        statements.push(match dice.below(4) {
            0 | 1 => item(dice),
            2 => format!("SELECT * FROM account WHERE id = {} FOR UPDATE", dice.below(9)),
            _ => ad_hoc(dice),
        });
        if dice.chance(20) {
            statements.push(format!("SAVEPOINT s{number}"));
            statements.push(ad_hoc(dice));
            statements.push(format!("ROLLBACK TO s{number}"));
        }
    }
    if commits && dice.chance(50) {
        // Last: were it rolled back, the number it draws would be given again after a crash, or not.
        statements.push(pay(dice));
    }
    statements.push(if commits { "COMMIT" } else { "ROLLBACK" }.to_owned());
    statements
}

/// A clock that says what the step says.
#[derive(Clone, Default)]
pub struct StepClock(Arc<AtomicI64>);

impl StepClock {
    /// For the options of a database.
    pub fn wall_clock(&self) -> planaria_base::WallClock {
        let now = self.0.clone();
        planaria_base::WallClock::new(move || now.load(Ordering::Relaxed))
    }
}

/// Whether an error is the answer to a statement, and not that something has failed.
fn is_answer(error: &Error) -> bool {
    matches!(&error.sqlstate().as_str()[..2], "22" | "23" | "24" | "42" | "44" | "55" | "P0")
}

impl Step {
    /// Does it. What a statement is refused for is an answer: the step is done without effect.
    pub fn run(&self, session: &mut Session, clock: &StepClock) -> Result<()> {
        clock.0.store(self.time, Ordering::Relaxed);
        for statement in &self.statements {
            match session.execute(statement, ()) {
                Ok(_) => {}
                Err(error) if is_answer(&error) => {
                    if self.statements.len() > 1 {
                        session.execute("ROLLBACK", ())?;
                    }
                    return Ok(());
                }
                Err(error) => return Err(error.context(format!("step {statement:?}"))),
            }
        }
        Ok(())
    }
}

impl Script {
    /// Does the steps from `done` on, counting those that were answered.
    pub fn run(&self, db: &Database, clock: &StepClock, done: &mut usize) -> Result<()> {
        self.run_to(self.steps.len(), db, clock, done)
    }

    /// The same, until so many are done.
    pub fn run_to(&self, until: usize, db: &Database, clock: &StepClock, done: &mut usize) -> Result<()> {
        let mut session = db.session()?;
        while *done < until {
            let step = &self.steps[*done];
            step.run(&mut session, clock)?;
            *done += 1;
        }
        Ok(())
    }
}
