//! A client that draws numbers from a sequence, in every way there is: none may be given twice.
//!
//! What is drawn by a transaction that was acknowledged is never given again, also not after a crash; what others
//! drew, not as long as the database is open.

use crate::histories::client::nothing_came_of_it;
use planaria::lab::LabSession;
use planaria::{Database, Result, Session};
use planaria_base::CommitTs;
use planaria_sim::dice::Dice;
use std::collections::{BTreeMap, BTreeSet};

/// What it needs. A row of `drawn` says who drew its number, and as his which.
pub const SCHEMA: &str = "
    CREATE SEQUENCE ticket INCREMENT 3;
    CREATE TABLE drawn (number bigint PRIMARY KEY, who bigint NOT NULL, which bigint NOT NULL);
    CREATE PROCEDURE draw(p_who bigint, p_which bigint, INOUT p_number bigint DEFAULT NULL)
    LANGUAGE plpgsql AS $$
    BEGIN
        p_number := nextval('ticket');
        INSERT INTO drawn VALUES (p_number, p_who, p_which);
    END $$;
    CREATE PROCEDURE draw_again(p_who bigint, p_which bigint, INOUT p_number bigint DEFAULT NULL)
    LANGUAGE plpgsql AS $$
    BEGIN
        BEGIN
            p_number := nextval('ticket');
            RAISE EXCEPTION 'not this one';
        EXCEPTION WHEN raise_exception THEN
            p_number := nextval('ticket');
        END;
        INSERT INTO drawn VALUES (p_number, p_who, p_which);
    END $$;\n";

/// Of a drawer: which it was, and the number.
type Drawn = (i64, i64);

/// What a drawer was told.
#[derive(Default)]
pub struct Told {
    who: i64,
    /// What was committed: numbers in rows, by the commit.
    rows: Vec<(CommitTs, Vec<Drawn>)>,
    /// Numbers that were acknowledged, and are in no row.
    plain: Vec<i64>,
    /// Numbers of what was rolled back.
    lost: Vec<i64>,
    /// Which it drew in a transaction that was committed and not acknowledged.
    doubt: Option<(CommitTs, Vec<i64>)>,
}

/// The client.
pub struct Drawer {
    session: Session,
    dice: Dice,
    which: i64,
    told: Told,
}

impl Drawer {
    /// Number `who` of all there ever were on this database.
    pub fn new(session: Session, dice: Dice, who: i64) -> Drawer {
        Drawer { session, dice, which: 0, told: Told { who, ..Told::default() } }
    }

    /// What it was told.
    pub fn end(self) -> Told {
        self.told
    }

    /// Draws. An error is one that nobody expects.
    pub fn step(&mut self) -> Result<()> {
        let before = self.session.last_commit();
        let first = self.which + 1;
        let mut drawn = Vec::new();
        let outcome = match self.dice.below(6) {
            0 => self.plain(),
            1 => self.call("draw", &mut drawn),
            2 => self.call("draw_again", &mut drawn),
            3 => self.insert(&mut drawn).map(|()| true),
            _ => self.block(&mut drawn),
        };
        let now = self.session.last_commit().filter(|now| before != Some(*now));
        match (outcome, now) {
            (Ok(true), Some((ts, _))) => self.told.rows.push((ts, drawn)),
            (Ok(_), _) => self.told.lost.extend(drawn.iter().map(|(_, number)| number)),
            (Err(error), None) if nothing_came_of_it(&error) => {
                self.told.lost.extend(drawn.iter().map(|(_, number)| number));
                if self.session.in_transaction() {
                    self.session.execute("ROLLBACK", ())?;
                }
            }
            (Err(error), now) => {
                self.told.doubt = now.map(|(ts, _)| (ts, (first..=self.which).collect()));
                return Err(error);
            }
        }
        Ok(())
    }

    fn plain(&mut self) -> Result<bool> {
        let number = self.session.query("SELECT nextval('ticket')", ())?[0].get(0)?;
        self.told.plain.push(number);
        Ok(true)
    }

    fn call(&mut self, name: &str, drawn: &mut Vec<Drawn>) -> Result<bool> {
        self.which += 1;
        let rows = self.session.call(name, (self.told.who, self.which))?;
        drawn.push((self.which, rows[0].get(0)?));
        Ok(true)
    }

    fn insert(&mut self, drawn: &mut Vec<Drawn>) -> Result<()> {
        self.which += 1;
        let insert = "INSERT INTO drawn VALUES (nextval('ticket'), $1, $2) RETURNING number";
        drawn.push((self.which, self.session.query(insert, (self.told.who, self.which))?[0].get(0)?));
        Ok(())
    }

    /// A transaction block; whether it is committed.
    fn block(&mut self, drawn: &mut Vec<Drawn>) -> Result<bool> {
        self.session.execute("BEGIN", ())?;
        for _ in 0..1 + self.dice.below(3) {
            self.insert(drawn)?;
        }
        let commits = self.dice.chance(70);
        self.session.execute(if commits { "COMMIT" } else { "ROLLBACK" }, ())?;
        Ok(commits)
    }
}

/// What is known of a sequence since its database began.
#[derive(Default)]
pub struct Numbers {
    /// Which of whom, by the number, with the commit.
    rows: BTreeMap<i64, (CommitTs, i64, i64)>,
    /// The greatest that was acknowledged.
    greatest: i64,
}

impl Numbers {
    /// Checks what is there after drawers were told this, and a recovery. `again`: the sequence is set back before.
    pub fn check(&mut self, db: &Database, told: Vec<Told>, again: bool) -> Result<(), String> {
        let say = |e: planaria::Error| crate::faults::setting::text(&e);
        let there = read(db).map_err(say)?;
        let of = |who, which| there.iter().find(|(_, at)| **at == (who, which)).map(|(number, _)| *number);
        let (mut given, before) = (BTreeSet::new(), self.greatest);
        for Told { who, rows, plain, lost, doubt } in told {
            let in_rows = rows.iter().flat_map(|(_, drawn)| drawn).map(|(_, number)| *number);
            for number in in_rows.chain(plain.iter().copied()).chain(lost) {
                if number <= before {
                    return Err(format!("number {number} is given after {before} was"));
                }
                if !given.insert(number) {
                    return Err(format!("number {number} is given twice"));
                }
            }
            self.greatest = plain.into_iter().fold(self.greatest, i64::max);
            for (ts, drawn) in rows {
                for (which, number) in drawn {
                    self.rows.insert(number, (ts, who, which));
                }
            }
            if let Some((ts, which)) = doubt {
                let found: Vec<_> = which.iter().filter_map(|n| Some((of(who, *n)?, *n))).collect();
                if !found.is_empty() && found.len() < which.len() {
                    return Err(format!("of a transaction that drew {which:?} there is {found:?}"));
                }
                self.rows.extend(found.into_iter().map(|(number, n)| (number, (ts, who, n))));
            }
        }
        self.is_at(&there, |_| true)?;
        self.greatest = self.rows.keys().copied().fold(self.greatest, i64::max);
        if again {
            db.query("SELECT setval('ticket', 1)", ()).map_err(say)?;
        }
        let rows = db.query("SELECT nextval('ticket')", ()).map_err(say)?;
        let next = rows[0].get::<i64>(0).map_err(say)?;
        if next <= self.greatest {
            return Err(format!("after {} was acknowledged, number {next} is given", self.greatest));
        }
        self.greatest = next;
        Ok(())
    }

    /// Checks that a database has the rows of these commits.
    pub fn check_at(&self, db: &Database, committed: impl Fn(CommitTs) -> bool) -> Result<(), String> {
        let say = |e: planaria::Error| crate::faults::setting::text(&e);
        self.is_at(&read(db).map_err(say)?, committed)?;
        let greatest = read(db).map_err(say)?.into_keys().max().unwrap_or(0);
        let rows = db.query("SELECT nextval('ticket')", ()).map_err(say)?;
        match rows[0].get::<i64>(0).map_err(say)? {
            next if next <= greatest => Err(format!("with {greatest} in a row, number {next} is given")),
            _ => Ok(()),
        }
    }

    fn is_at(
        &self,
        there: &BTreeMap<i64, (i64, i64)>,
        committed: impl Fn(CommitTs) -> bool,
    ) -> Result<(), String> {
        let expected = self.rows.iter().filter(|(_, (ts, ..))| committed(*ts));
        let expected = expected.map(|(number, (_, who, which))| (*number, (*who, *which)));
        let expected: BTreeMap<_, _> = expected.collect();
        match expected == *there {
            true => Ok(()),
            false => {
                let only = |a: &BTreeMap<i64, (i64, i64)>, b: &BTreeMap<i64, (i64, i64)>| {
                    a.iter()
                        .filter(|(number, at)| b.get(number) != Some(at))
                        .map(|(n, at)| (*n, *at))
                        .collect()
                };
                let (lost, strange): (Vec<_>, Vec<_>) = (only(&expected, there), only(there, &expected));
                Err(format!("numbers were acknowledged and are lost: {lost:?}; nobody knows of {strange:?}"))
            }
        }
    }
}

/// Who drew a number, and as his which.
fn read(db: &Database) -> Result<BTreeMap<i64, (i64, i64)>> {
    let rows = db.query("SELECT number, who, which FROM drawn", ())?;
    rows.iter().map(|row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))).collect()
}
