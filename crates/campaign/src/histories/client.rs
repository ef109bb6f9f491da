//! A client that writes down what it does and what it is answered.

use super::program::{Do, Operation};
use planaria::lab::LabSession;
use planaria::{Error, Result, Rows, Session, SqlState};
use planaria_base::sync::thread;
use planaria_base::{CommitTs, Isolation};
use planaria_sim::dice::Dice;
use planaria_sim::history::{By, Op, RowState, Transaction, Version, keep_effects, writes};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// One thread's session.
pub struct Client<'a> {
    session: Session,
    dice: Dice,
    ids: &'a AtomicU32,
    committed: Vec<Transaction>,
    conflicts: u64,
    /// It runs against [`SAID`](super::program::SAID), and may be cut short: whether it was.
    says: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// What was committed but not acknowledged when it was cut short.
    doubt: Option<Doubt>,
    /// What the transaction under way does.
    under_way: Known,
    /// Of the procedure that it called, if it called that.
    generation: Option<i64>,
    /// Generations of the procedure that copies rows, by the commit of who called it.
    copies: Vec<(CommitTs, i64)>,
    /// What blocks were shown that should have seen one state, however they ended.
    shown: Vec<Transaction>,
}

/// A transaction that was committed in memory, and not acknowledged.
pub struct Doubt {
    id: u32,
    ts: CommitTs,
    drew: bool,
    known: Known,
}

/// What is known of a transaction without its answer.
#[derive(Default)]
enum Known {
    /// That it changes nothing.
    #[default]
    Nothing,
    /// The operations of a call.
    Program(Vec<Operation>, Version),
    /// The keys of a call.
    Copy(i64, i64, Version),
    /// All of it.
    All(Vec<Op>),
}

impl Doubt {
    /// The number of the transaction.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The transaction, which turned out to be there; `said` is what it wrote down. Nothing if it changed nothing.
    pub fn resolve(self, said: &[i64]) -> Result<Option<Transaction>> {
        let Doubt { id, ts, drew, known } = self;
        let ops = match known {
            Known::Nothing => return Ok(None),
            Known::Program(program, version) => answers(&program, version, said)?,
            Known::Copy(from, to, version) => {
                let generation = said.first().copied().unwrap_or(1);
                copied(from, to, version, said.get(1).copied(), generation)
            }
            Known::All(ops) => ops,
        };
        Ok(Some(Transaction { id, ts, drew, ops }))
    }
}

/// Rows as (key, version).
type Seen = Vec<(i64, Version)>;

fn pairs(rows: &Rows) -> Result<Seen> {
    rows.iter().map(|row| Ok((row.get::<i64>(0)?, Version(row.get::<i64>(1)? as u64)))).collect()
}

fn pause(micros: i64) {
    match micros {
        0 => {}
        1..20 => thread::yield_now(),
        _ => thread::sleep(Duration::from_micros(micros as u64)),
    }
}

/// What a read operation is in a history.
fn read(op: &Operation, rows: Seen) -> Op {
    let scan = |by, descending, rows| Op::Scan { table: 0, by, low: op.a, high: op.b, descending, rows };
    match op.what {
        Do::GetByTag => Op::Get { table: 0, by: By::Tag, value: op.a, found: rows.first().copied() },
        Do::ScanKeys => scan(By::Key, false, rows),
        Do::ScanKeysDown => scan(By::Key, true, rows),
        Do::ScanGroups => scan(By::Group, false, rows),
        Do::ScanTagsDown => scan(By::Tag, true, rows),
        _ => Op::Get { table: 0, by: By::Key, value: op.a, found: rows.first().copied() },
    }
}

/// The statement of an operation that is one.
fn statement(op: &Operation, version: u64) -> String {
    let Operation { a, b, group, tag, .. } = *op;
    let tag = tag.map_or("NULL".to_owned(), |tag| tag.to_string());
    match op.what {
        Do::GetByKey => format!("SELECT id, version FROM t WHERE id = {a}"),
        Do::GetByTag => format!("SELECT id, version FROM t WHERE tag = {a}"),
        Do::GetForUpdate => format!("SELECT id, version FROM t WHERE id = {a} FOR UPDATE"),
        Do::ScanKeys => format!("SELECT id, version FROM t WHERE id BETWEEN {a} AND {b} ORDER BY id"),
        Do::ScanKeysDown => {
            format!("SELECT id, version FROM t WHERE id BETWEEN {a} AND {b} ORDER BY id DESC")
        }
        Do::ScanGroups => format!("SELECT id, version FROM t WHERE grp BETWEEN {a} AND {b} ORDER BY grp, id"),
        Do::ScanTagsDown => {
            format!("SELECT id, version FROM t WHERE tag BETWEEN {a} AND {b} ORDER BY tag DESC")
        }
        Do::Insert => format!("INSERT INTO t VALUES ({a}, {version}, {group}, {tag}) RETURNING id, version"),
        Do::Update => format!(
            "UPDATE t SET version = {version}, grp = {group}, tag = {tag} WHERE id = {a} RETURNING id, version"
        ),
        Do::UpdateUndone => format!("UPDATE t SET version = {version}, grp = {group} WHERE id = {a}"),
        Do::Delete => format!("DELETE FROM t WHERE id = {a} RETURNING id, version"),
        Do::UpdateGroups => format!(
            "UPDATE t SET version = {version} + id, grp = {group} WHERE grp BETWEEN {a} AND {b}
             RETURNING id, version, coalesce(tag, -1)"
        ),
        Do::DeleteGroups => format!("DELETE FROM t WHERE grp BETWEEN {a} AND {b} RETURNING id, version"),
    }
}

/// Whether an error says that the transaction met others, or was cancelled: then it has done nothing.
pub fn nothing_came_of_it(error: &Error) -> bool {
    matches!(error.sqlstate().as_str(), "40001" | "40P01" | "57014")
}

impl<'a> Client<'a> {
    pub fn new(session: Session, dice: Dice, ids: &'a AtomicU32) -> Client<'a> {
        let (committed, doubt, under_way) = (Vec::new(), None, Known::Nothing);
        let (generation, copies) = (None, Vec::new());
        Client {
            session,
            dice,
            ids,
            committed,
            conflicts: 0,
            says: None,
            doubt,
            under_way,
            generation,
            copies,
            shown: Vec::new(),
        }
    }

    /// Of a database that has [`SAID`](super::program::SAID), and may fail at any time: whether it has. There is a
    /// pause behind each operation.
    pub fn saying(self, failed: &'a (dyn Fn() -> bool + Sync)) -> Client<'a> {
        Client { says: Some(failed), ..self }
    }

    /// What is in doubt.
    pub fn doubt(&mut self) -> Option<Doubt> {
        self.doubt.take()
    }

    /// Which generation of the procedure that copies rows was called, by the commit of who called it.
    pub fn copies(&mut self) -> Vec<(CommitTs, i64)> {
        std::mem::take(&mut self.copies)
    }

    fn draw_some(&mut self, writes: bool) -> Vec<Operation> {
        let mut program = Operation::draw_some(&mut self.dice, writes);
        if self.says.is_some() {
            program.iter_mut().for_each(|op| op.pause = op.pause.max(1));
        }
        program
    }

    /// What was committed, how many attempts were not, and what blocks were shown that should have seen one state.
    pub fn end(self) -> (Vec<Transaction>, u64, Vec<Transaction>) {
        (self.committed, self.conflicts, self.shown)
    }

    /// Runs one; an error is one that nobody expects.
    pub fn transaction(&mut self) -> Result<()> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let before = self.session.last_commit();
        (self.under_way, self.generation) = (Known::Nothing, None);
        let ops = match self.dice.below(100) {
            0..32 => self.program(id).map(Some),
            32..45 => self.copy(id).map(Some),
            // It could not be said what became of it.
            45..56 if self.says.is_none() => self.single(id),
            56..88 => self.block(id),
            _ => self.reader().map(Some),
        };
        match ops {
            // Refused: nothing was committed.
            Ok(None) => {}
            Ok(Some(ops)) => {
                let Some((ts, drew)) = self.session.last_commit() else {
                    return Err(Error::internal("a commit without a place"));
                };
                // Reads go on when nothing can be written any more; what they saw then need not stay.
                if matches!(self.under_way, Known::Nothing) && self.says.is_some_and(|failed| failed()) {
                    return Ok(());
                }
                self.copies.extend(self.generation.map(|generation| (ts, generation)));
                self.committed.push(Transaction { id, ts, drew, ops });
            }
            Err(error) if nothing_came_of_it(&error) => {
                if self.session.last_commit() != before {
                    return Err(error.context("a transaction that was committed"));
                }
                self.conflicts += 1;
                if self.session.in_transaction() {
                    self.session.execute("ROLLBACK", ())?;
                }
            }
            Err(error) => {
                if let Some((ts, drew)) = self.session.last_commit().filter(|now| before != Some(*now)) {
                    self.doubt = Some(Doubt { id, ts, drew, known: std::mem::take(&mut self.under_way) });
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// A call of the procedure that does anything.
    fn program(&mut self, id: u32) -> Result<Vec<Op>> {
        let program = self.draw_some(true);
        let numbers: Vec<i64> = program.iter().flat_map(Operation::numbers).collect();
        let version = Version::new(id, 0);
        self.under_way = Known::Program(program.clone(), version);
        let rows = self.session.call("program", (version.0 as i64, numbers))?;
        let log: Vec<i64> = rows[0].get(0)?;
        answers(&program, version, &log)
    }

    /// A call whose effects a parallel replay can foresee.
    fn copy(&mut self, id: u32) -> Result<Vec<Op>> {
        let (from, to) = (self.dice.below(10) as i64, self.dice.below(10) as i64);
        let version = Version::new(id, 1);
        self.under_way = Known::Copy(from, to, version);
        let rows = self.session.call("copy_row", (from, to, version.0 as i64))?;
        let generation = rows[0].get(1)?;
        self.generation = Some(generation);
        Ok(copied(from, to, version, rows[0].get(0)?, generation))
    }

    /// A statement of its own; none where it is refused.
    fn single(&mut self, id: u32) -> Result<Option<Vec<Op>>> {
        let mut op = Operation::draw(&mut self.dice, true);
        if op.what == Do::UpdateUndone {
            // Nothing could take it back.
            op.what = Do::GetByKey;
        }
        let version = Version::new(id, 64);
        let mut ops = Vec::new();
        match self.session.query(&statement(&op, version.0), ()) {
            Ok(rows) => self.done(&op, version, &rows, &mut ops).map(|()| Some(ops)),
            Err(error) if error.sqlstate() == SqlState::UNIQUE_VIOLATION => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A transaction block of any level; none where it is rolled back. What one below SERIALIZABLE has read has no
    /// place in the order, nor what it has undone: the rows were anybody's again.
    fn block(&mut self, id: u32) -> Result<Option<Vec<Op>>> {
        // What becomes of those that are cut short is told by their reads.
        let level = match self.dice.below(5) {
            0 if self.says.is_none() => Isolation::ReadCommitted,
            1 if self.says.is_none() => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        };
        let mut ops = Vec::new();
        let outcome = self.block_at(id, level, &mut ops);
        let refused = ops.iter().any(|op| matches!(op, Op::Refused { .. }));
        if level != Isolation::ReadCommitted && self.says.is_none() && !refused {
            // Whether a key is free is looked at as of now.
            self.shown.push(Transaction { id, ts: CommitTs(0), drew: false, ops: ops.clone() });
        }
        let committed = outcome?;
        if level != Isolation::Serializable {
            keep_effects(&mut ops);
        }
        Ok(committed.then_some(ops))
    }

    fn block_at(&mut self, id: u32, level: Isolation, ops: &mut Vec<Op>) -> Result<bool> {
        let program = self.draw_some(true);
        self.session.execute(&format!("BEGIN ISOLATION LEVEL {}", level.name()), ())?;
        for (n, op) in program.iter().enumerate() {
            let version = Version::new(id, (n as u32 + 1) * 64);
            let undone = self.dice.chance(15) || op.what == Do::UpdateUndone;
            let guarded = undone || matches!(op.what, Do::Insert | Do::Update);
            let before = ops.len();
            if guarded {
                self.session.execute("SAVEPOINT s", ())?;
            }
            match self.session.query(&statement(op, version.0), ()) {
                Ok(rows) => self.done(op, version, &rows, ops)?,
                Err(error) if error.sqlstate() == SqlState::UNIQUE_VIOLATION => {
                    self.session.execute("ROLLBACK TO s", ())?;
                    let by_key = error.fields().constraint.as_deref() == Some("t_pkey");
                    one(op, version, if by_key { 1 } else { 2 }, ops);
                }
                Err(error) => return Err(error),
            }
            if undone {
                self.session.execute("ROLLBACK TO s", ())?;
                ops.push(Op::Undone { to: before });
            }
            if guarded {
                self.session.execute("RELEASE s", ())?;
            }
            pause(op.pause);
        }
        if self.says.is_some() && writes(ops) {
            self.session.execute("INSERT INTO said VALUES ($1, '')", (i64::from(id),))?;
            self.under_way = Known::All(ops.clone());
        }
        let commits = self.says.is_some() || self.dice.chance(85);
        self.session.execute(if commits { "COMMIT" } else { "ROLLBACK" }, ())?;
        Ok(commits)
    }

    /// What a statement's answer is in a history.
    fn done(&self, op: &Operation, version: Version, rows: &Rows, ops: &mut Vec<Op>) -> Result<()> {
        match op.what {
            Do::Insert | Do::Update => one(op, version, i64::from(rows.is_empty()), ops),
            Do::UpdateUndone => {}
            Do::UpdateGroups => {
                for row in rows {
                    let (key, version) = (row.get::<i64>(0)?, Version(row.get::<i64>(1)? as u64));
                    let tag = Some(row.get::<i64>(2)?).filter(|t| *t >= 0);
                    ops.push(Op::Put { table: 0, key, row: RowState { version, group: op.group, tag } });
                }
            }
            Do::Delete | Do::DeleteGroups => {
                let seen = pairs(rows)?;
                if seen.is_empty() && op.what == Do::Delete {
                    one(op, version, 1, ops);
                }
                for (key, version) in seen {
                    ops.push(Op::Get { table: 0, by: By::Key, value: key, found: Some((key, version)) });
                    ops.push(Op::Remove { table: 0, key });
                }
            }
            _ => ops.push(read(op, pairs(rows)?)),
        }
        Ok(())
    }

    /// A block that reads a snapshot.
    fn reader(&mut self) -> Result<Vec<Op>> {
        let program = self.draw_some(false);
        let mut ops = Vec::new();
        self.session.execute("BEGIN READ ONLY", ())?;
        for op in &program {
            let rows = self.session.query(&statement(op, 0), ())?;
            ops.push(read(op, pairs(&rows)?));
            pause(op.pause);
        }
        self.session.execute("COMMIT", ())?;
        Ok(ops)
    }
}

/// The write of one row: `answer` 0 if it was made, 1 if the key was in the way or missing, 2 if the tag was.
fn one(op: &Operation, version: Version, answer: i64, ops: &mut Vec<Op>) {
    let refused = |by, value| Op::Refused { table: 0, by, value };
    ops.push(match (op.what, answer) {
        (Do::Insert, 1) => refused(By::Key, op.a),
        (_, 1) => Op::Get { table: 0, by: By::Key, value: op.a, found: None },
        (_, 2) => refused(By::Tag, op.tag.unwrap_or(-1)),
        (Do::Delete, _) => Op::Remove { table: 0, key: op.a },
        _ => {
            let row = RowState { version, group: op.group, tag: op.tag };
            Op::Put { table: 0, key: op.a, row }
        }
    });
}

/// What a copy did that saw this version.
fn copied(from: i64, to: i64, version: Version, seen: Option<i64>, group: i64) -> Vec<Op> {
    let found = seen.map(|v| (from, Version(v as u64)));
    vec![
        Op::Get { table: 0, by: By::Key, value: from, found },
        Op::Put { table: 0, key: to, row: RowState { version, group, tag: None } },
    ]
}

/// What a program did that answered so.
fn answers(program: &[Operation], version: Version, log: &[i64]) -> Result<Vec<Op>> {
    let mut log = log.iter().copied();
    let mut ops = Vec::new();
    for (n, op) in program.iter().enumerate() {
        let version = Version(version.0 + (n as u64 + 1) * 64);
        let mut next = || log.next().ok_or_else(|| Error::internal("the answer is too short"));
        let k = next()?;
        let mut seen = Vec::new();
        let is_one = matches!(op.what, Do::Insert | Do::Update | Do::Delete | Do::UpdateUndone);
        for _ in 0..if is_one { 0 } else { k } {
            seen.push((next()?, next()?));
        }
        let rows = || seen.iter().map(|(key, v)| (*key, Version(*v as u64))).collect::<Seen>();
        match op.what {
            Do::Insert | Do::Update | Do::Delete => one(op, version, k, &mut ops),
            // Whether there was a row to update is not said, and nothing is left of it.
            Do::UpdateUndone => {}
            Do::UpdateGroups => {
                for (i, (key, tag)) in seen.iter().enumerate() {
                    let version = Version(version.0 + i as u64);
                    let row = RowState { version, group: op.group, tag: Some(*tag).filter(|t| *t >= 0) };
                    ops.push(Op::Put { table: 0, key: *key, row });
                }
            }
            Do::DeleteGroups => {
                // In the order of the keys: none was shown twice.
                for (key, version) in rows() {
                    ops.push(Op::Get { table: 0, by: By::Key, value: key, found: Some((key, version)) });
                    ops.push(Op::Remove { table: 0, key });
                }
            }
            _ => ops.push(read(op, rows())),
        }
    }
    Ok(ops)
}
