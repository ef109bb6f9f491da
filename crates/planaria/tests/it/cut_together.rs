//! Random procedures called by several sessions at once, under every protocol: whatever came between them, every scheme of
//! recovery restores the rows that they left.

use crate::cut_schemas::{World, made};
use crate::cut_shapes::{Dice, comes_back, seeds};
use crate::{cut_bodies, determinism::KINDS};
use planaria::lab::LabOptions;
use planaria::{Database, Error, LogKind, Options, ProtocolKind, Scheme, Session};
use planaria_base::WallClock;
use planaria_sim::disk::SimDisk;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

/// What is there at first, and what each session does.
struct Case {
    schema: Vec<String>,
    orphans: Vec<String>,
    steps: Vec<Vec<Vec<String>>>,
}

const SESSIONS: usize = 3;
const STEPS: usize = 40;

fn bodies(dice: &mut Dice) -> Case {
    let schema = vec![cut_bodies::schema(dice, true)];
    let steps = (0..SESSIONS).map(|_| (0..STEPS).map(|_| vec![cut_bodies::call(dice)]).collect()).collect();
    Case { schema, orphans: Vec::new(), steps }
}

fn schemas(dice: &mut Dice) -> Case {
    let mut world = World::new(dice);
    let changes = dice.below(3) == 0;
    let steps =
        (0..SESSIONS).map(|of| (0..STEPS).map(|_| world.step(dice, changes && of == 0)).collect()).collect();
    let schema = world.schema.iter().map(|one| keeping_parents(one)).collect();
    let steps: Vec<Vec<Vec<String>>> = steps;
    let kept = |step: &Vec<String>| step.iter().map(|one| keeping_parents(one)).collect();
    let steps = steps.iter().map(|steps| steps.iter().map(kept).collect()).collect();
    Case { schema, orphans: world.orphans, steps }
}

/// Where the triggers of foreign keys are disabled, or one takes back what a foreign key does, rows lose their parents, as in
/// PostgreSQL: here they are not, as it is looked whether any has.
fn keeping_parents(text: &str) -> String {
    text.replace("TRIGGER ALL", "TRIGGER USER").replace("IF OLD.w = 3 THEN RETURN NULL; END IF; ", "")
}

/// Whoever asks for the time lets others go on.
fn options(seed: u64, protocol: ProtocolKind) -> Options {
    let time = AtomicI64::new(800_000_000_000_000);
    let clock = WallClock::new(move || {
        let now = time.fetch_add(7, Ordering::Relaxed);
        match now % 4 {
            0 => thread::sleep(Duration::from_micros(100)),
            _ => thread::yield_now(),
        }
        now
    });
    Options::new().protocol(protocol).wall_clock(clock).heal_always(!seed.is_multiple_of(3))
}

fn session(db: &Database) -> Session {
    let mut session = db.session().expect("a seat");
    session.execute("SET statement_timeout = '300s'", ()).expect("sets");
    session
}

/// States that say that a client has to try again.
const AGAIN: [&str; 2] = ["40001", "40P01"];

/// Does a step as a client would: what fails since others were in the way is done again; other errors are an outcome like others,
/// unless they say that something is broken, or has not come to an end.
pub(crate) fn does(session: &mut Session, step: &[String], before: &str) -> Result<(), Error> {
    let mut done = Ok(());
    for _ in 0..10_000 {
        let mut is_saved = false;
        done = step.iter().try_for_each(|one| {
            let mut done = session.execute(one, ()).map(|_| ());
            if matches!(&done, Err(error) if is_saved && !AGAIN.contains(&error.sqlstate().as_str())) {
                done = session.execute("ROLLBACK TO a", ()).map(|_| ());
            }
            is_saved = one == "SAVEPOINT a";
            done
        });
        if done.is_err() && step.len() > 1 {
            // After a COMMIT that failed there is no block: a warning.
            session.execute("ROLLBACK", ()).expect("rolls back");
        }
        match &done {
            Err(error) if AGAIN.contains(&error.sqlstate().as_str()) => {}
            _ => break,
        }
    }
    if let Err(error) = &done {
        let state = error.sqlstate().as_str().to_owned();
        assert!(
            !state.starts_with("XX") && state != "57014" && !AGAIN.contains(&state.as_str()),
            "{step:?}: {error:?}\n{before}"
        );
    }
    done
}

/// A step for people: as a script that does it.
pub(crate) fn said(step: &[String], error: Option<Error>) -> String {
    let failed = error.map_or(String::new(), |e| format!(" -- {}", e.sqlstate().as_str()));
    format!("{};{failed}\n", step.join("; "))
}

fn restored(protocol: ProtocolKind, seed: u64, case: &Case) {
    let kind = if seed.is_multiple_of(2) { LogKind::Command } else { KINDS[seed as usize / 2 % KINDS.len()] };
    let disk = SimDisk::new(seed);
    let open = |scheme: Scheme| {
        let options = options(seed, protocol).log(kind).recovery(scheme).recovery_threads(2);
        options.open_device(disk.device()).unwrap_or_else(|e| panic!("{scheme:?}: {e:?}"))
    };
    let db = open(Scheme::Clr);
    let context = format!("seed {seed}, {protocol}, {kind}");
    let before = match &case.schema[..] {
        [script] => {
            db.execute_script(script).unwrap_or_else(|e| panic!("{context}: {e:?}\n{script}"));
            script.clone()
        }
        all => made(&mut session(&db), all),
    };
    let mut text = format!("{context}:\n{before}");
    let mut db = Some(db);
    // What has been recovered goes on, and is recovered again.
    for round in 0..2 {
        let db = db.take().unwrap_or_else(|| open(Scheme::ALL[seed as usize % Scheme::ALL.len()]));
        let done: Vec<String> = thread::scope(|scope| {
            let threads = case.steps.iter().map(|steps| {
                let (db, before) = (&db, &text);
                scope.spawn(move || {
                    let mut session = session(db);
                    let mut text = String::new();
                    for step in &steps[round * STEPS / 2..(round + 1) * STEPS / 2] {
                        let done = does(&mut session, step, before);
                        text += &said(step, done.err());
                    }
                    text
                })
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|t| t.join().unwrap_or_else(|_| panic!("{context}"))).collect()
        });
        text += &format!("-- round {round}\n{}", done.join("-- beside it\n"));
        for query in &case.orphans {
            assert!(db.query(query, ()).expect("reads").is_empty(), "{query}: {text}");
        }
        // Numbers that are there are not given again: of tables that have any.
        let number = |query: &str| db.query(query, ()).ok().and_then(|rows| rows[0].get::<i64>(0).ok());
        if let Some(last) = number("SELECT max(id)::bigint FROM l") {
            assert!(number("SELECT nextval('l_id_seq')") > Some(last), "{text}");
        }
        comes_back(db, seed.is_multiple_of(3).then_some(&disk), &open, &text);
    }
}

fn under_every_protocol(case: fn(&mut Dice) -> Case) {
    for seed in seeds(1) {
        let case = case(&mut Dice::new(seed));
        for protocol in ProtocolKind::ALL.iter().copied() {
            restored(protocol, seed, &case);
        }
    }
}

#[test]
fn bodies_that_meet_are_restored() {
    under_every_protocol(bodies);
}

#[test]
fn calls_that_meet_over_random_schemas_are_restored() {
    under_every_protocol(schemas);
}
