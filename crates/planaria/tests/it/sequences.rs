//! Sequences over rollbacks, clean restarts, checkpoints and crashes: what was given is not given again.

use planaria::lab::LabOptions;
use planaria::{Database, Error, LogKind, Options, Scheme, Session, SqlState};
use planaria_sim::dice::Dice;
use planaria_sim::disk::{SimDisk, Survival};

const KINDS: [LogKind; 4] = [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological];

const SCHEMA: &str = "
    CREATE TABLE got (number bigint NOT NULL);
    CREATE SEQUENCE s;
    CREATE SEQUENCE up START 5 MINVALUE 2 MAXVALUE 6 CYCLE;
    CREATE SEQUENCE down INCREMENT -3 MINVALUE -10 MAXVALUE -1 CYCLE;
    CREATE SEQUENCE ends MAXVALUE 30;
    CREATE PROCEDURE draw_s(INOUT n bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
    BEGIN n := nextval('s'); INSERT INTO got VALUES (n); END $$;
    CREATE PROCEDURE draw_up(INOUT n bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
    BEGIN n := nextval('up'); INSERT INTO got VALUES (n); END $$;
    CREATE PROCEDURE draw_down(INOUT n bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
    BEGIN n := nextval('down'); INSERT INTO got VALUES (n); END $$;
    CREATE PROCEDURE draw_ends(INOUT n bigint DEFAULT NULL) LANGUAGE plpgsql AS $$
    BEGIN n := nextval('ends'); INSERT INTO got VALUES (n); END $$;";

fn int(rows: Result<planaria::Rows, Error>) -> Result<i64, Error> {
    rows.map(|rows| rows[0].get(0).expect("a number"))
}

fn next(session: &mut Session, sequence: &str) -> Result<i64, Error> {
    int(session.query(&format!("SELECT nextval('{sequence}')"), ()))
}

/// Every kind of log with every scheme that is made for it.
fn everywhere(mut test: impl FnMut(&SimDisk, &dyn Fn() -> Database, &str)) {
    for kind in KINDS {
        let replays_calls =
            |scheme: &Scheme| ["clr", "regrow"].iter().any(|s| scheme.to_string().starts_with(s));
        for scheme in Scheme::ALL.iter().filter(|s| replays_calls(s) == (kind == LogKind::Command)) {
            let disk = SimDisk::new(1);
            let open = || {
                let options = Options::new().log(kind).recovery(*scheme).recovery_threads(2);
                options.open_device(disk.device()).expect("opens")
            };
            open().execute_script(SCHEMA).expect("the schema");
            test(&disk, &open, &format!("{kind}, {scheme}"));
        }
    }
}

/// Draws of others after a `setval` whose transaction commits after them, or never.
#[test]
fn what_was_drawn_after_an_uncommitted_setval_stays_drawn() {
    everywhere(|disk, open, at| {
        for commits in [true, false] {
            let db = open();
            let (mut a, mut b) = (db.session().expect("one"), db.session().expect("another"));
            b.execute_script("BEGIN; SELECT setval('s', 1000)").expect("sets");
            for n in 1001..1004 {
                assert_eq!(int(a.call("draw_s", (None::<i64>,))), Ok(n), "{at}");
            }
            assert_eq!((next(&mut a, "s"), next(&mut a, "s")), (Ok(1004), Ok(1005)), "{at}");
            if commits {
                b.execute_script("COMMIT").expect("commits");
            }
            disk.crash(Survival::Nothing);
            drop((a, b, db));
            let db = open();
            assert_eq!(next(&mut db.session().expect("a session"), "s"), Ok(1006), "{at}");
            db.execute_script("SELECT setval('s', 10)").expect("sets back");
            disk.crash(Survival::Nothing);
            drop(db);
            assert_eq!(next(&mut open().session().expect("a session"), "s"), Ok(11), "{at}");
        }
    });
}

#[test]
fn a_cycle_goes_on_where_it_was() {
    everywhere(|disk, open, at| {
        let up = [5, 6, 2, 3, 4, 5, 6, 2, 3];
        let down = [-1, -4, -7, -10, -1, -4, -7, -10, -1];
        for i in 0..9 {
            let db = open();
            let mut session = db.session().expect("a session");
            let drawn = match i % 2 {
                0 => (next(&mut session, "up"), int(session.call("draw_down", (None::<i64>,)))),
                _ => (int(session.call("draw_up", (None::<i64>,))), next(&mut session, "down")),
            };
            assert_eq!(drawn, (Ok(up[i]), Ok(down[i])), "{at}");
            if i % 4 == 3 {
                db.checkpoint().expect("a checkpoint");
            }
            if i % 3 == 1 {
                disk.crash(Survival::Nothing);
            }
        }
    });
}

/// What a client has seen of a transaction that came to nothing.
#[test]
fn what_was_rolled_back_stays_drawn() {
    everywhere(|disk, open, at| {
        let db = open();
        let mut session = db.session().expect("a session");
        session.execute_script("BEGIN; SELECT nextval('s'); SELECT nextval('s'); ROLLBACK").expect("draws");
        drop((session, db));
        let db = open();
        assert_eq!(next(&mut db.session().expect("a session"), "s"), Ok(3), "closed; {at}");
        db.execute_script("BEGIN; SAVEPOINT a; SELECT nextval('s'); ROLLBACK TO a; COMMIT").expect("draws");
        db.execute("SELECT 1 / (nextval('s') - 5)", ()).expect_err("divides by zero");
        db.execute("INSERT INTO got SELECT NULL FROM (SELECT nextval('s')) AS t", ()).expect_err("is null");
        db.execute_script(
            "BEGIN; CREATE TABLE u (a serial); CREATE SEQUENCE v; SELECT nextval('s'), nextval('v'); ROLLBACK;
             CREATE SEQUENCE v",
        )
        .expect("draws");
        db.execute("CREATE TABLE u AS SELECT 1 / (nextval('s') - 8) AS x", ()).expect_err("divides by zero");
        // Acknowledged: so is all that came before.
        db.execute("INSERT INTO got VALUES (0)", ()).expect("inserts");
        disk.crash(Survival::Nothing);
        drop(db);
        let db = open();
        let mut session = db.session().expect("a session");
        assert_eq!((next(&mut session, "s"), next(&mut session, "v")), (Ok(9), Ok(1)), "crashed; {at}");
        // One that was open, seen by a client, before something that is durable.
        let mut other = db.session().expect("another");
        other.execute_script("BEGIN; SELECT setval('s', 50); SELECT nextval('s')").expect("draws");
        session.execute("INSERT INTO got VALUES (0)", ()).expect("inserts");
        disk.crash(Survival::Nothing);
        drop((session, other, db));
        let db = open();
        assert_eq!(next(&mut db.session().expect("a session"), "s"), Ok(52), "open; {at}");
        db.execute_script("ALTER SEQUENCE s RESTART 7; SELECT nextval('s')").expect("restarts");
        db.execute_script("BEGIN; ALTER SEQUENCE s RESTART 100; SELECT nextval('s'); ROLLBACK").expect("not");
        disk.crash(Survival::Nothing);
        drop(db);
        assert_eq!(next(&mut open().session().expect("a session"), "s"), Ok(8), "restarted; {at}");
    });
}

/// What a statement drew before it had to wait for somebody, and was ended while it waited.
#[test]
fn what_was_drawn_by_who_waited_in_vain_stays_drawn() {
    everywhere(|disk, open, at| {
        let db = open();
        let (mut holder, mut waits) = (db.session().expect("one"), db.session().expect("another"));
        holder
            .execute_script("CREATE TABLE k (n bigint PRIMARY KEY); BEGIN; INSERT INTO k VALUES (1)")
            .expect("holds");
        waits.execute_script("SET lock_timeout = 20").expect("sets");
        let insert = "INSERT INTO k SELECT 1 + 0 * nextval('s') FROM generate_series(1, 2)";
        let error = waits.execute(insert, ()).expect_err("nobody lets go");
        assert_eq!(error.sqlstate(), SqlState::LOCK_NOT_AVAILABLE, "{at}");
        assert_eq!(waits.query("SELECT currval('s')", ()).expect("drawn")[0].get::<i64>(0), Ok(1), "{at}");
        drop((holder, waits, db));
        let db = open();
        assert_eq!(next(&mut db.session().expect("a session"), "s"), Ok(2), "closed; {at}");
        disk.crash(Survival::Nothing);
    });
}

/// Of a change of the schema, in a block: its rows and sequences are gone, what it drew from others is not given again.
#[test]
fn what_a_schema_change_drew_stays_drawn_when_it_is_rolled_back() {
    everywhere(|disk, open, at| {
        let change = "ALTER TABLE got ADD COLUMN x bigint DEFAULT nextval('s'), ADD COLUMN y serial";
        let db = open();
        db.execute_script(&format!("INSERT INTO got VALUES (1), (2); BEGIN; {change}; ROLLBACK"))
            .expect("draws");
        drop(db);
        let db = open();
        assert_eq!(next(&mut db.session().expect("a session"), "s"), Ok(3), "closed; {at}");
        db.execute_script(&format!("BEGIN; {change}; SELECT 1 / 0")).expect_err("divides by zero");
        db.execute_script(&format!("BEGIN; {change}; SAVEPOINT a; {change}; COMMIT"))
            .expect_err("x is there");
        db.execute("INSERT INTO got VALUES (3)", ()).expect("inserts");
        disk.crash(Survival::Nothing);
        drop(db);
        let db = open();
        assert_eq!(next(&mut db.session().expect("a session"), "s"), Ok(8), "crashed; {at}");
        // The sequence itself is changed and taken back, or is of the block; what was drawn before is drawn.
        let changes = "SELECT nextval('s'); ALTER SEQUENCE s RESTART 500; SELECT nextval('s'); \
                       CREATE SEQUENCE fresh START 70; SELECT nextval('fresh'); ALTER TABLE got ADD COLUMN z serial";
        db.execute_script(&format!("BEGIN; {changes}; ROLLBACK; CREATE SEQUENCE another")).expect("draws");
        disk.crash(Survival::Nothing);
        drop(db);
        let db = open();
        let mut session = db.session().expect("a session");
        assert_eq!(next(&mut session, "s"), Ok(10), "crashed; {at}");
        assert_eq!(next(&mut session, "another"), Ok(1), "crashed; {at}");
    });
}

/// A sequence as PostgreSQL has it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Model {
    increment: i64,
    min: i64,
    max: i64,
    cycle: bool,
    /// Given last (`true`), or next.
    last: (i64, bool),
}

impl Model {
    fn next(&mut self) -> Option<i64> {
        let value = match self.last {
            (next, false) => next,
            (last, true) => {
                let after = last + self.increment;
                match (self.min..=self.max).contains(&after) {
                    true => after,
                    false if self.cycle && self.increment > 0 => self.min,
                    false if self.cycle => self.max,
                    false => return None,
                }
            }
        };
        self.last = (value, true);
        Some(value)
    }
}

/// A sequence, all places it came to since what was durable, and the last of these that is durable.
struct Followed {
    name: &'static str,
    history: Vec<Model>,
    durable: usize,
}

impl Followed {
    fn new(name: &'static str, increment: i64, start: i64, bounds: (i64, i64), cycle: bool) -> Followed {
        let (min, max) = bounds;
        Followed {
            name,
            history: vec![Model { increment, min, max, cycle, last: (start, false) }],
            durable: 0,
        }
    }

    fn now(&self) -> Model {
        *self.history.last().expect("a place")
    }

    /// A value was given.
    fn gave(&mut self, value: Result<i64, Error>, at: &str) {
        let mut model = self.now();
        assert_eq!(value.as_ref().ok(), model.next().as_ref(), "{} after {:?}, {at}", self.name, self.now());
        self.history.push(model);
    }

    fn set(&mut self, value: i64, called: bool) {
        self.history.push(Model { last: (value, called), ..self.now() });
    }

    /// It was recovered, and gives this.
    fn came_back(&mut self, value: Result<i64, Error>, at: &str) {
        let places = self.history[self.durable..].to_vec();
        let gives =
            |place: &&Model| Some(**place).as_mut().and_then(Model::next) == value.as_ref().ok().copied();
        let Some(place) = places.iter().find(gives) else {
            panic!("{} gives {value:?} after one of {places:?}, {at}", self.name);
        };
        let mut model = *place;
        model.next();
        (self.history, self.durable) = (vec![model], 0);
    }
}

/// Draws, settings, rollbacks, restarts, checkpoints and crashes in any order. What was acknowledged, and whatever
/// came before it, is where the sequences stand afterwards, or behind it; after a clean end exactly.
#[test]
fn sequences_never_go_back() {
    let mut seed = 0;
    everywhere(|disk, open, at| {
        seed += 1;
        let mut dice = Dice::of_seed(seed);
        let at = &format!("{at}, seed {seed}");
        let mut all = [
            Followed::new("s", 1, 1, (1, i64::MAX - 1), false),
            Followed::new("up", 1, 5, (2, 6), true),
            Followed::new("down", -3, -1, (-10, -1), true),
            Followed::new("ends", 1, 1, (1, 30), false),
        ];
        for _ in 0..4 {
            let db = open();
            let mut sessions = [db.session().expect("one"), db.session().expect("another")];
            let mut in_block = [false; 2];
            for _ in 0..30 {
                let who = dice.below(2) as usize;
                let session = &mut sessions[who];
                let it = &mut all[dice.below(4) as usize];
                let mut durable = false;
                match dice.below(12) {
                    0..4 => {
                        let drawn = next(session, it.name);
                        durable = drawn.is_ok() && !in_block[who];
                        let failed = drawn.is_err() && in_block[who];
                        it.gave(drawn, at);
                        if failed {
                            session.execute_script("ROLLBACK").expect("rolls back");
                            in_block[who] = false;
                        }
                    }
                    4 | 5 if !in_block[who] => {
                        let drawn = int(session.call(&format!("draw_{}", it.name), (None::<i64>,)));
                        durable = drawn.is_ok();
                        it.gave(drawn, at);
                    }
                    6 => {
                        let (value, called) = (it.now().min + dice.below(5) as i64, dice.chance(50));
                        let value = value.min(it.now().max);
                        let text = format!("SELECT setval('{}', {value}, {called})", it.name);
                        session.query(&text, ()).expect("within");
                        it.set(value, called);
                        durable = !in_block[who];
                    }
                    7 if !in_block[who] => {
                        let text = format!("SELECT 1 / (nextval('{}') * 0)", it.name);
                        session.query(&text, ()).expect_err("divides by zero, or there is none left");
                        let mut model = it.now();
                        model.next();
                        it.history.push(model);
                    }
                    8 | 9 => {
                        let word = match in_block[who] {
                            false => "BEGIN",
                            true => dice.of(&["COMMIT", "ROLLBACK"]),
                        };
                        session.execute_script(word).expect("a block");
                        in_block[who] = !in_block[who];
                    }
                    10 if in_block == [false; 2] => {
                        let first = it.now().min + 1;
                        let text = format!("ALTER SEQUENCE {} RESTART WITH {first}", it.name);
                        session.execute_script(&text).expect("restarts");
                        it.set(first, false);
                        durable = true;
                    }
                    11 if in_block == [false; 2] && dice.chance(30) => {
                        db.checkpoint().expect("a checkpoint");
                    }
                    _ => {}
                }
                if durable {
                    all.iter_mut().for_each(|it| it.durable = it.history.len() - 1);
                }
            }
            let crashes = dice.chance(60);
            if crashes {
                disk.crash(Survival::Chance);
            } else {
                all.iter_mut().for_each(|it| it.durable = it.history.len() - 1);
            }
            drop((sessions, db));
            let db = open();
            let mut session = db.session().expect("a session");
            for it in &mut all {
                it.came_back(next(&mut session, it.name), at);
            }
        }
    });
}
