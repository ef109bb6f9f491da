//! What is done with a database whose answers depend on who asks, and when.

use super::definitions::{block, definition, sequence, table};
use super::routines::{change, claim, function, procedure, view};
use super::world::{Function, World, any};
use planaria_sim::dice::Dice;
use planaria_sim::disk::Survival;
use std::fmt;

/// Who is at work: the superuser that every database has, two that may do little, and another superuser.
pub const WHO: &[&str] = &["postgres", "app", "clerk", "boss"];

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A session says this. If one of several statements is refused, the others are not said, and its block is
    /// rolled back.
    Say { who: usize, texts: Vec<String> },
    /// The database is closed and opened again.
    Close,
    /// The machine stops; of what was not synced survives this. Or the process dies, and nothing is lost.
    Stop(Option<Survival>),
    /// A backup is taken and opened.
    Backup,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Say { who, texts } => {
                let words = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
                let texts: Vec<_> = texts.iter().map(words).collect();
                write!(f, "{}: {};", WHO[*who], texts.join("; "))
            }
            Step::Close => f.write_str("-- closed and opened"),
            Step::Stop(Some(survival)) => write!(f, "-- power fails ({survival:?}), and it is opened"),
            Step::Stop(None) => f.write_str("-- the process dies, and it is opened"),
            Step::Backup => f.write_str("-- a backup is taken and opened"),
        }
    }
}

const SETUP: &[&str] = &[
    "CREATE ROLE boss SUPERUSER LOGIN",
    "CREATE ROLE app LOGIN",
    "CREATE ROLE clerk LOGIN",
    "GRANT app TO clerk",
    "CREATE SEQUENCE ids",
    "GRANT ALL ON SEQUENCE ids TO PUBLIC",
    "CREATE TABLE note (id bigint PRIMARY KEY DEFAULT nextval('ids'), txt text, at timestamptz DEFAULT now(),
     who text DEFAULT current_user)",
    "GRANT ALL ON note TO PUBLIC",
    "CREATE SEQUENCE s1",
    "GRANT ALL ON SEQUENCE s1 TO PUBLIC",
    // A statement timeout ends who asks for this again and again.
    "CREATE FUNCTION slow(n bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.002); RETURN n; END $$",
    "CREATE SEQUENCE s2 MAXVALUE 5 CYCLE",
    "GRANT ALL ON SEQUENCE s2 TO PUBLIC",
];

fn say(who: usize, text: impl Into<String>) -> Step {
    Step::Say { who, texts: vec![text.into()] }
}

/// So often of a hundred each kind of step comes, one after the other as in [`Drawing::step`].
type Weights = [u64; 9];

/// What a script is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theme {
    /// Everything.
    All,
    /// Schema changes, above all.
    Schema,
    /// Routines that ask, and no schema change that fills rows.
    Routines,
    /// Sequences, in the same way.
    Sequences,
}

impl Theme {
    /// Every theme.
    pub const ALL: &[Theme] = &[Theme::All, Theme::Schema, Theme::Routines, Theme::Sequences];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Theme::All => "all",
            Theme::Schema => "schema",
            Theme::Routines => "routines",
            Theme::Sequences => "sequences",
        }
    }

    fn weights(self) -> Weights {
        match self {
            Theme::All => [20, 14, 6, 12, 14, 12, 6, 8, 8],
            Theme::Schema => [6, 34, 22, 6, 6, 6, 4, 10, 6],
            Theme::Routines => [14, 0, 0, 28, 32, 4, 4, 14, 4],
            Theme::Sequences => [4, 0, 0, 4, 8, 50, 24, 2, 8],
        }
    }
}

/// A script of so many steps after its setup, about any theme if not this one. `across`: with blocks that go on while
/// others are at work.
pub fn script(dice: &mut Dice, steps: usize, across: bool, theme: Option<Theme>) -> Vec<Step> {
    let mut script: Vec<Step> = SETUP.iter().map(|text| say(0, *text)).collect();
    let world = World { sequences: vec!["s1".into(), "s2".into()], names: 2, ..World::default() };
    let drawn = dice.of(Theme::ALL);
    let weights = theme.unwrap_or(drawn).weights();
    let mut drawing = Drawing { world, weights, across, blocks: [false; WHO.len()] };
    for _ in 0..1 + dice.below(2) {
        script.extend(table(&mut drawing.world, dice).into_iter().map(|text| say(0, text)));
    }
    let until = script.len() + steps;
    while script.len() < until {
        drawing.step(dice, &mut script);
    }
    script.truncate(until);
    script
}

struct Drawing {
    world: World,
    weights: Weights,
    across: bool,
    /// Whether a session is in a block that goes on over the steps.
    blocks: [bool; WHO.len()],
}

impl Drawing {
    fn step(&mut self, dice: &mut Dice, script: &mut Vec<Step>) {
        let mut at = dice.below(100);
        let kind = self.weights.iter().position(|weight| {
            let here = at < *weight;
            at = at.saturating_sub(*weight);
            here
        });
        // Whoever may change the schema does it outside of blocks that go on.
        let definer = if dice.chance(60) || self.blocks[3] { 0 } else { 3 };
        let who = dice.below(WHO.len() as u64) as usize;
        let world = &mut self.world;
        match kind.unwrap_or(0) {
            0 => script.push(say(who, change(world, dice, &format!("{}", dice_key(script.len()))))),
            1 => script.extend(definition(world, dice).into_iter().map(|text| say(definer, text))),
            2 => script.push(Step::Say { who: definer, texts: block(world, dice) }),
            3 => {
                let texts = match dice.below(5) {
                    0 | 1 => function(world, dice),
                    2 => vec![view(world, dice)],
                    _ => vec![procedure(world, dice)],
                };
                script.extend(texts.into_iter().map(|text| say(definer, text)));
            }
            4 => script.push(say(who, call(world, dice))),
            5 if dice.chance(15) => {
                script.extend(sequence(world, dice).into_iter().map(|text| say(definer, text)));
            }
            5 => script.push(say(who, draw(world, dice))),
            6 if self.across => self.across(dice, who, script),
            6 => {
                let texts = ["BEGIN".into(), change(world, dice, "5"), draw(world, dice), "COMMIT".into()];
                script.push(Step::Say { who, texts: texts.into() });
            }
            7 if dice.chance(25) => {
                let (who, texts) = match dice.below(3) {
                    0 => (definer, definition(world, dice)),
                    1 => (who, vec![call(world, dice)]),
                    _ => (who, vec![slow(world, dice)]),
                };
                script.push(say(who, "SET statement_timeout = '5ms'"));
                script.extend(texts.into_iter().map(|text| say(who, text)));
            }
            7 => script.push(say(who, setting(dice))),
            _ => script.push(match dice.below(10) {
                0..3 => say(0, "CHECKPOINT"),
                3..6 => Step::Close,
                6 => Step::Backup,
                7 => Step::Stop(None),
                _ => Step::Stop(Some(dice.of(&[Survival::Nothing, Survival::Everything, Survival::Chance]))),
            }),
        }
        if matches!(script.last(), Some(Step::Close | Step::Stop(_))) {
            self.blocks = [false; WHO.len()];
        }
    }

    /// A step of a block that goes on while others are at work.
    fn across(&mut self, dice: &mut Dice, who: usize, script: &mut Vec<Step>) {
        // The superuser's session changes the schema.
        let who = who.max(1);
        if !self.blocks[who] {
            self.blocks[who] = true;
            script.push(say(who, "BEGIN"));
        }
        for _ in 0..1 + dice.below(2) {
            let key = dice_key(script.len());
            let text = match dice.below(5) {
                0 => change(&self.world, dice, &key.to_string()),
                1 => call(&self.world, dice),
                2 => claim(dice),
                _ => draw(&self.world, dice),
            };
            script.push(say(who, text));
        }
        if dice.chance(55) {
            self.blocks[who] = false;
            script.push(say(who, if dice.chance(75) { "COMMIT" } else { "ROLLBACK" }));
        }
    }
}

/// Keys come again now and then.
fn dice_key(step: usize) -> usize {
    step % 11
}

fn call(world: &World, dice: &mut Dice) -> String {
    match (any(dice, &world.procedures).cloned(), any(dice, &world.functions).cloned()) {
        // Some of them by the library's own way: see `carried_out`.
        (Some(procedure), _) if dice.chance(70) => {
            format!("{} {procedure}({})", dice.of(&["CALL", "CALL", "call"]), dice.below(12))
        }
        (_, Some(Function { name, .. })) => match dice.below(10) {
            0 => format!("call {name}()"),
            1..5 => format!("SELECT {name}()"),
            5..8 => format!("DO $$ BEGIN INSERT INTO note (txt) VALUES ({name}()::text); END $$"),
            8 => format!("UPDATE note SET txt = {name}()::text WHERE id % 2 = 0"),
            _ => format!("INSERT INTO note (txt) SELECT {name}()::text FROM generate_series(1, 2)"),
        },
        _ => change(world, dice, "3"),
    }
}

/// Somebody draws numbers from a sequence, or says where it goes on.
fn draw(world: &World, dice: &mut Dice) -> String {
    let s = world.sequence(dice);
    match dice.below(13) {
        0..6 => format!("SELECT nextval('{s}')"),
        // What fails has drawn.
        11 => format!("SELECT 1 / (nextval('{s}') * 0)"),
        12 => format!("INSERT INTO note (id, txt) SELECT 1, nextval('{s}') FROM generate_series(1, 2)"),
        6 => format!("SELECT nextval('{s}') FROM generate_series(1, {})", 1 + dice.below(6)),
        7 | 8 => format!("SELECT setval('{s}', {}, {})", 2 + dice.below(4), dice.chance(70)),
        9 if dice.chance(30) => format!("INSERT INTO note (txt) VALUES (currval('{s}'))"),
        9 => format!("SELECT setval('{s}', {})", 1000 + dice.below(1000)),
        _ => format!("INSERT INTO note (txt) VALUES ('n' || nextval('{s}'))"),
    }
}

/// Somebody changes and draws, and may not come to the end.
fn slow(world: &World, dice: &mut Dice) -> String {
    let s = world.sequence(dice);
    match dice.below(3) {
        0 => format!(
            "INSERT INTO note (txt) SELECT slow(nextval('{s}')) FROM generate_series(1, {})",
            1 + dice.below(6)
        ),
        1 => "UPDATE note SET txt = slow(id) || current_user".to_owned(),
        _ => format!("SELECT slow(nextval('{s}')) FROM generate_series(1, {})", 1 + dice.below(6)),
    }
}

/// Who a session works as, and how.
fn setting(dice: &mut Dice) -> String {
    match dice.below(12) {
        0..2 => format!("SET ROLE {}", dice.of(&["app", "boss", "clerk"])),
        2..4 => "RESET ROLE".to_owned(),
        4 => format!("SET SESSION AUTHORIZATION {}", dice.of(&["app", "boss", "clerk"])),
        5 => "RESET SESSION AUTHORIZATION".to_owned(),
        6..9 => format!("SET app.tag = '{}'", dice.of(&["a", "b", "c"])),
        9 => format!("SET statement_timeout = '{}ms'", dice.of(&[3, 10])),
        10 => dice.of(&["RESET statement_timeout", "RESET ALL"]).to_owned(),
        _ => "SELECT pg_sleep(0.05)".to_owned(),
    }
}
