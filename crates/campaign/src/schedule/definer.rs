//! A client that changes the schema, by statements and in transaction blocks, and what must be there of it.
//!
//! Each has tables of its own, so that what it was told says what they are. The first one also changes what all
//! clients use: an index and columns of their table, and the procedure that copies rows, whose *generation* they
//! are answered with.

use crate::histories::client::nothing_came_of_it;
use crate::histories::program;
use planaria::lab::LabSession;
use planaria::{Database, Result, Session};
use planaria_base::CommitTs;
use planaria_sim::dice::Dice;
use std::collections::{BTreeMap, BTreeSet};

/// A table: `id`, and columns that have their number in their name and, unless a row says otherwise, as their value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Table {
    columns: Vec<i64>,
    indexes: BTreeSet<i64>,
    rows: BTreeMap<i64, Vec<i64>>,
}

/// What all clients use, as far as it is changed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Shared {
    index: bool,
    columns: BTreeSet<i64>,
    generation: i64,
}

/// What belongs to a definer, and, of the first one, what all use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owned {
    number: u64,
    tables: BTreeMap<i64, Table>,
    shared: Option<Shared>,
}

impl Owned {
    /// Of definer number `number`, before it does anything.
    pub fn new(number: u64) -> Owned {
        let shared = Shared { index: false, columns: BTreeSet::new(), generation: 1 };
        Owned { number, tables: BTreeMap::new(), shared: (number == 0).then_some(shared) }
    }

    /// Whose it is.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The generation of the procedure that copies rows, if this is who changes it.
    pub fn generation(&self) -> Option<i64> {
        self.shared.as_ref().map(|shared| shared.generation)
    }

    /// What a database has of it.
    pub fn read(db: &Database, number: u64) -> Result<Owned> {
        let prefix = format!("own{number}_");
        let mut owned = Owned::new(number);
        let tables = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'";
        for name in texts(db, tables)? {
            let Some(table) = name.strip_prefix(&prefix).and_then(|n| n.parse().ok()) else { continue };
            owned.tables.insert(table, Table::read(db, &name)?);
        }
        if let Some(shared) = &mut owned.shared {
            let indexes = "SELECT indexname::text FROM pg_indexes WHERE tablename = 't'";
            shared.index = texts(db, indexes)?.iter().any(|name| name == "t_more");
            shared.columns = numbered(columns(db, "t")?, "more_").collect();
            for column in &shared.columns {
                // Its default is in all rows, those of before and those of after.
                let strange = format!("SELECT id::text FROM t WHERE more_{column} IS DISTINCT FROM {column}");
                if let Some(id) = texts(db, &strange)?.first() {
                    shared.columns = BTreeSet::from([-1, id.parse().unwrap_or(-1)]);
                    break;
                }
            }
            let source = texts(db, "SELECT prosrc FROM pg_proc WHERE proname = 'copy_row'")?.concat();
            let says = source.lines().find_map(|line| line.trim().strip_prefix("p_generation := "));
            shared.generation = says.and_then(|n| n.trim_end_matches(';').parse().ok()).unwrap_or(-1);
        }
        Ok(owned)
    }
}

impl Table {
    fn read(db: &Database, name: &str) -> Result<Table> {
        let indexes =
            texts(db, &format!("SELECT indexname::text FROM pg_indexes WHERE tablename = '{name}'"))?;
        let mut table = Table {
            columns: numbered(columns(db, name)?, "c").collect(),
            indexes: numbered(indexes, &format!("{name}_i")).collect(),
            rows: BTreeMap::new(),
        };
        for row in &db.query(&format!("SELECT * FROM {name}"), ())? {
            let values = (0..table.columns.len()).map(|i| row.get::<i64>(i + 1)).collect::<Result<_>>()?;
            table.rows.insert(row.get(0)?, values);
        }
        Ok(table)
    }
}

fn texts(db: &Database, sql: &str) -> Result<Vec<String>> {
    db.query(sql, ())?.iter().map(|row| row.get::<String>(0)).collect()
}

fn columns(db: &Database, table: &str) -> Result<Vec<String>> {
    let columns = "SELECT column_name::text FROM information_schema.columns WHERE table_name = '$'";
    texts(db, &(columns.replace('$', table) + " ORDER BY ordinal_position"))
}

/// The numbers behind a prefix.
fn numbered(names: Vec<String>, prefix: &str) -> impl Iterator<Item = i64> {
    names.into_iter().filter_map(move |name| name.strip_prefix(prefix)?.parse().ok())
}

/// What a definer was told.
pub struct Told {
    /// What it had when it began, then after each commit.
    pub states: Vec<(CommitTs, Owned)>,
    /// What there is if its last commit, which was not acknowledged, is there.
    pub doubt: Option<(CommitTs, Owned)>,
}

/// The client.
pub struct Definer {
    session: Session,
    dice: Dice,
    told: Told,
    /// Names are given once.
    numbers: i64,
    /// Its blocks are none: so that this is noticed.
    in_pieces: bool,
}

impl Definer {
    /// One that begins with what there is. `round` is another number each time.
    pub fn new(session: Session, dice: Dice, owned: Owned, round: i64, in_pieces: bool) -> Definer {
        let told = Told { states: vec![(CommitTs(0), owned)], doubt: None };
        Definer { session, dice, told, numbers: round * 1000, in_pieces }
    }

    /// What it was told.
    pub fn end(self) -> Told {
        self.told
    }

    /// Does something. An error is one that nobody expects.
    pub fn step(&mut self) -> Result<()> {
        let before = self.session.last_commit();
        let mut state = self.told.states.last().expect("it began with one").1.clone();
        let outcome = match self.dice.chance(40) {
            true => self.block(&mut state),
            false => {
                let statement = self.change(&mut state);
                self.session.execute(&statement, ()).map(|_| true)
            }
        };
        let now = self.session.last_commit().filter(|now| before != Some(*now));
        match (outcome, now) {
            (Ok(true), Some((ts, _))) => self.told.states.push((ts, state)),
            (Ok(_), _) => {}
            (Err(error), None) if nothing_came_of_it(&error) => {
                if self.session.in_transaction() {
                    self.session.execute("ROLLBACK", ())?;
                }
            }
            (Err(error), now) => {
                self.told.doubt = now.map(|(ts, _)| (ts, state));
                return Err(error);
            }
        }
        Ok(())
    }

    /// A transaction block; whether it is committed.
    fn block(&mut self, state: &mut Owned) -> Result<bool> {
        let commits = self.in_pieces || self.dice.chance(75);
        self.control("BEGIN")?;
        for _ in 0..1 + self.dice.below(3) {
            let statement = self.change(state);
            self.session.execute(&statement, ())?;
            if self.dice.chance(20) && !self.in_pieces {
                self.session.execute("SAVEPOINT s", ())?;
                let statement = self.change(&mut state.clone());
                self.session.execute(&statement, ())?;
                self.session.execute("ROLLBACK TO s", ())?;
            }
        }
        self.control(if commits { "COMMIT" } else { "ROLLBACK" })?;
        Ok(commits)
    }

    fn control(&mut self, statement: &str) -> Result<()> {
        match self.in_pieces {
            true => Ok(()),
            false => self.session.execute(statement, ()).map(drop),
        }
    }

    /// Draws a statement, and does to `owned` what it does.
    fn change(&mut self, owned: &mut Owned) -> String {
        let (dice, owner) = (&mut self.dice, owned.number);
        self.numbers += 1;
        let number = self.numbers;
        if let Some(shared) = &mut owned.shared
            && dice.chance(35)
        {
            return shared.change(dice, number);
        }
        let tables: Vec<i64> = owned.tables.keys().copied().collect();
        if tables.is_empty() || dice.chance(15) {
            owned.tables.insert(number, Table { columns: vec![7], ..Table::default() });
            return format!("CREATE TABLE own{owner}_{number} (id bigint PRIMARY KEY, c7 bigint DEFAULT 7)");
        }
        let at = dice.of(&tables);
        let name = format!("own{owner}_{at}");
        if dice.chance(15) {
            owned.tables.remove(&at);
            return format!("DROP TABLE {name}");
        }
        match owned.tables.get_mut(&at) {
            Some(table) => table.change(&name, dice, number),
            None => "CHECKPOINT".to_owned(),
        }
    }
}

impl Shared {
    fn change(&mut self, dice: &mut Dice, number: i64) -> String {
        match dice.below(4) {
            0 | 1 => {
                self.index = !self.index;
                match self.index {
                    true => "CREATE INDEX t_more ON t (version, id)".to_owned(),
                    false => "DROP INDEX t_more".to_owned(),
                }
            }
            2 => {
                self.columns.insert(number);
                format!("ALTER TABLE t ADD COLUMN more_{number} bigint DEFAULT {number}")
            }
            _ => {
                self.generation = number;
                program::saying_copy(number)
            }
        }
    }
}

impl Table {
    fn change(&mut self, name: &str, dice: &mut Dice, number: i64) -> String {
        match dice.below(8) {
            0 => {
                self.columns.push(number);
                self.rows.values_mut().for_each(|row| row.push(number));
                format!("ALTER TABLE {name} ADD COLUMN c{number} bigint DEFAULT {number}")
            }
            1 | 2 => match self.indexes.pop_first() {
                Some(index) if dice.chance(60) => format!("DROP INDEX {name}_i{index}"),
                other => {
                    self.indexes.extend(other.into_iter().chain([number]));
                    format!("CREATE INDEX {name}_i{number} ON {name} (c{})", dice.of(&self.columns))
                }
            },
            3 if self.rows.len() > 4 => {
                self.rows.clear();
                format!("TRUNCATE {name}")
            }
            4 => {
                let at = dice.below(self.columns.len() as u64) as usize;
                self.rows.values_mut().for_each(|row| row[at] += 1);
                format!("UPDATE {name} SET c{0} = c{0} + 1", self.columns[at])
            }
            _ => {
                self.rows.insert(number, self.columns.clone());
                format!("INSERT INTO {name} (id) VALUES ({number})")
            }
        }
    }
}
