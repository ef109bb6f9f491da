//! Rows of tables by generators, in pieces that depend on nothing but their number.

use super::Folder;
use super::expression::{Expression, Scope};
use super::generator::Spec;
use super::read::Item;
use super::slot::{Items, Slot};
use crate::inputs::Inputs;
use planaria::{Database, Error, ParamRef, Params, Result, Session, SqlState};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows that are made from one seed.
const PIECE: i64 = 10_000;
/// Rows of a statement.
const BATCH: usize = 1_000;

/// A table of the file.
pub(crate) struct Rows {
    name: String,
    at: usize,
    rows: Expression,
    columns: Vec<(String, Spec)>,
}

/// An identifier as it is written: `schema.table`, quoted where it has to be.
pub(crate) fn quoted(name: &str) -> String {
    let part = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    name.split('.').map(part).collect::<Vec<_>>().join(".")
}

impl Rows {
    pub(crate) fn of(name: &str, at: usize, item: Item<'_>) -> Result<Rows> {
        let table = item.table(&format!("table \"{name}\""))?.only(&["rows", "columns"])?;
        let mut columns = Vec::new();
        for ((column, at), value) in table.required("columns")?.table("columns")?.entries() {
            let spec = Spec::of(value)?;
            if spec.counts() {
                return Err(item
                    .source
                    .error(at, "rows are made in any order: there is no sequence among them")
                    .with_hint("\"row\" is the number of the row, from 1."));
            }
            if spec.is_array() {
                return Err(item
                    .source
                    .error(at, "columns of rows that are made are no arrays")
                    .with_hint("Fill them in load.sql."));
            }
            columns.push((column.to_owned(), spec));
        }
        Ok(Rows { name: name.to_owned(), at, rows: Expression::of(table.required("rows")?)?, columns })
    }

    fn statement(&self, session: &mut Session) -> Result<String> {
        let (mut names, mut arrays) = (Vec::new(), Vec::new());
        for (i, (column, _)) in self.columns.iter().enumerate() {
            let sql = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute
                       WHERE attrelid = $1::text::regclass AND attname = $2";
            let rows = session.query(sql, (quoted(&self.name), column.as_str()))?;
            let Some(row) = rows.iter().next() else {
                let what = format!("table \"{}\" has no column \"{column}\"", self.name);
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, what));
            };
            names.push(quoted(column));
            arrays.push(format!("${}::{}[]", i + 1, row.get::<String>(0)?));
        }
        let (table, names) = (quoted(&self.name), names.join(", "));
        Ok(format!("INSERT INTO {table} ({names}) SELECT * FROM unnest({})", arrays.join(", ")))
    }

    /// Whether the columns are there, and of types that their generators draw.
    pub(crate) fn check(&self, folder: &Folder, session: &mut Session, size: u64) -> Result<()> {
        let said = |e: Error| folder.toml.said(self.at, "rows", &e);
        let text = self.statement(session).map_err(said)?;
        let statement = session.prepare(&text).map_err(said)?;
        for ((column, spec), ty) in self.columns.iter().zip(statement.parameters()) {
            if let planaria::Type::Array(ty) = ty
                && let Some(why) = spec.unfit(ty)
            {
                return Err(folder.toml.error(spec.at, format!("column \"{column}\": {why}")));
            }
        }
        self.count(folder, session, size)?;
        let mut few = Piece::new(self, folder, session, size)?;
        few.draw(1, 1)
    }

    fn count(&self, folder: &Folder, session: &mut Session, size: u64) -> Result<i64> {
        let variables = folder.variables(Some(size))?;
        let session = std::cell::RefCell::new(session);
        let rows = |table: &str| folder.rows_of(&mut session.borrow_mut(), table);
        self.rows.whole(&Scope { source: &folder.toml, variables: &variables, slots: &[], rows: &rows })
    }
}

/// What makes rows: generators, and the columns of a batch.
struct Piece {
    generators: Vec<super::draw::Generator>,
    columns: Vec<Items>,
    /// The row's number, then its values.
    slots: Vec<Slot>,
    inputs: Inputs,
}

impl Piece {
    fn new(rows: &Rows, folder: &Folder, session: &mut Session, size: u64) -> Result<Piece> {
        let variables = folder.variables(Some(size))?;
        let session = std::cell::RefCell::new(session);
        let count = |table: &str| folder.rows_of(&mut session.borrow_mut(), table);
        let (mut slots, mut generators) = (vec!["row".to_owned()], Vec::new());
        for (column, spec) in &rows.columns {
            let scope = Scope { source: &folder.toml, variables: &variables, slots: &slots, rows: &count };
            generators.push(spec.bind(&scope)?);
            slots.push(column.clone());
        }
        Ok(Piece {
            columns: vec![Items::default(); generators.len()],
            generators,
            slots: vec![Slot::default(); slots.len()],
            inputs: Inputs::new(0),
        })
    }

    /// Fills the columns with rows `from` to `upto`.
    fn draw(&mut self, from: i64, upto: i64) -> Result<()> {
        for column in &mut self.columns {
            column.used = 0;
        }
        for row in from..=upto {
            self.slots[0].set_int(row);
            for (i, generator) in self.generators.iter_mut().enumerate() {
                let (before, rest) = self.slots.split_at_mut(i + 1);
                generator.draw(&mut rest[0], before, &mut self.inputs, 0)?;
                let column = &mut self.columns[i];
                if column.slots.len() == column.used {
                    column.slots.push(Slot::default());
                }
                column.slots[column.used].clone_from(&rest[0]);
                column.used += 1;
            }
        }
        Ok(())
    }
}

impl Params for Piece {
    fn count(&self) -> usize {
        self.columns.len()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        ParamRef::Array(&self.columns[i])
    }
}

impl Folder {
    /// Loads it on so many threads, telling after each piece how many of how many are done.
    pub(crate) fn load(
        &self,
        db: &Database,
        size: u64,
        threads: usize,
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<()> {
        let mut session = db.session()?;
        let mut plans = Vec::new();
        for table in &self.tables {
            plans.push(table.count(self, &mut session, size)?.max(0));
        }
        let pieces = |rows: i64| (rows as u64).div_ceil(PIECE as u64) as usize;
        let all: usize = plans.iter().map(|rows| pieces(*rows)).sum();
        let done = AtomicUsize::new(0);
        // One table after the other: later ones may refer to earlier ones.
        for (number, (table, rows)) in self.tables.iter().zip(plans).enumerate() {
            let said = |e: Error| self.toml.said(table.at, &format!("rows of \"{}\"", table.name), &e);
            let text = table.statement(&mut session).map_err(said)?;
            let next = AtomicUsize::new(0);
            let work = || -> Result<()> {
                let mut session = db.session()?;
                let statement = session.prepare(&text)?;
                loop {
                    let piece = next.fetch_add(1, Ordering::Relaxed);
                    if piece >= pieces(rows) {
                        return Ok(());
                    }
                    let mut made = Piece::new(table, self, &mut session, size)?;
                    made.inputs = Inputs::new(((number as u64 + 1) << 40) + piece as u64);
                    let first = piece as i64 * PIECE + 1;
                    let last = rows.min(first + PIECE - 1);
                    for from in (first..=last).step_by(BATCH) {
                        made.draw(from, last.min(from + BATCH as i64 - 1))?;
                        session.execute_prepared(&statement, &made)?;
                    }
                    tell(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                }
            };
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
                let panicked = || Err(Error::new(SqlState::INTERNAL_ERROR, "a thread that loads panicked"));
                workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|_| panicked()))
            })
            .map_err(said)?;
        }
        self.load_sql(db, size)
    }
}
