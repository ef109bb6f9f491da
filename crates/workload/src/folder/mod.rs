//! Workloads of one's own: a folder with SQL and `workload.toml`, which says what is called, how often, with which
//! parameters, and what must hold afterwards (`docs/guide/workloads.md`).
//!
//! 1. The file is read with the places of its keys ([`read`]), so that whatever is wrong is told with its line.
//! 2. An empty database is made from `schema.sql` and `procedures.sql`, and every call, statement, check and column is
//!    prepared on it: names, numbers of parameters and types are wrong before anything is loaded.
//! 3. Loading: rows by generators, in pieces of their own seeds (the same rows on any number of threads), then `load.sql`.
//! 4. A driver binds the expressions to the size and draws, allocating nothing where it can be helped ([`draw`]).

mod class;
mod draw;
mod driver;
mod expression;
mod generator;
mod load;
mod read;
mod slot;
mod sql;
#[cfg(test)]
mod tests;

use crate::Violation;
use crate::suite::{Draws, Driver, Suite};
use expression::{Expression, Number, Scope};
use generator::Spec;
use load::Rows;
use planaria::{Database, Error, Result, Session};
use read::{Source, Table, hinted};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A workload from a folder.
pub(crate) struct Folder {
    toml: Source,
    /// `schema.sql` and `procedures.sql`, those that there are.
    definitions: Vec<Source>,
    load: Option<Source>,
    variables: Vec<(String, Given)>,
    scale: String,
    tables: Vec<Rows>,
    transactions: Vec<Transaction>,
    checks: Vec<Check>,
    /// Rows of tables, as counted after loading: the same for all drivers.
    counted: Mutex<BTreeMap<String, i64>>,
}

/// A variable: as the file has it, or the command line.
enum Given {
    File(Expression),
    Set(Number),
}

/// A transaction of the file.
struct Transaction {
    name: String,
    at: usize,
    weight: Expression,
    names: Vec<String>,
    specs: Vec<Spec>,
    body: Body,
}

enum Body {
    /// A procedure or function, and the parameters that it is given, in order.
    Call { name: String, order: Vec<usize>, at: usize },
    /// Statements, of which several are a transaction block, which is begun again so often where it cannot be serialized.
    Statements { texts: Vec<(String, usize)>, retries: u32 },
}

struct Check {
    name: String,
    at: usize,
    sql: (String, usize),
    expect: Option<Vec<Vec<String>>>,
    after_run: bool,
}

/// Variables set on the command line: `--set name=value`.
pub type Set = (String, String);

impl Folder {
    fn variables(&self, size: Option<u64>) -> Result<Vec<(String, Number)>> {
        let mut bound: Vec<(String, Number)> = Vec::new();
        for (name, given) in &self.variables {
            let number = match (given, size) {
                (_, Some(size)) if *name == self.scale => {
                    Number::Int(i64::try_from(size).unwrap_or(i64::MAX))
                }
                (Given::Set(number), _) => *number,
                (Given::File(of), _) => of.number(&Scope {
                    source: &self.toml,
                    variables: &bound,
                    slots: &[],
                    rows: &|_| Err(Error::internal("variables know no tables")),
                })?,
            };
            bound.push((name.clone(), number));
        }
        Ok(bound)
    }

    /// Rows of a table: as counted before, or now.
    fn rows_of(&self, session: &mut Session, table: &str) -> Result<i64> {
        // Who counts first counts for all; by then nobody has a driver, and so nothing has been run.
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(n) = counted.get(table) {
            return Ok(*n);
        }
        let name = load::quoted(table);
        let n: i64 = session.query(&format!("SELECT count(*) FROM {name}"), ())?[0].get(0)?;
        // An empty table is no range.
        let n = n.max(1);
        counted.insert(table.to_owned(), n);
        Ok(n)
    }

    /// Creates tables and procedures.
    pub(crate) fn install_schema(&self, db: &Database, size: u64) -> Result<()> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let variables = self.variables(Some(size))?;
        self.definitions.iter().try_for_each(|file| script(db, file, &variables))
    }

    /// Runs `load.sql`, after the rows of generators.
    fn load_sql(&self, db: &Database, size: u64) -> Result<()> {
        let variables = self.variables(Some(size))?;
        self.load.iter().try_for_each(|file| script(db, file, &variables))
    }

    /// Its checks.
    pub(crate) fn violations(&self, db: &Database, size: u64, after_run: bool) -> Result<Vec<Violation>> {
        let (mut session, variables) = (db.session()?, self.variables(Some(size))?);
        let mut violations = Vec::new();
        for check in self.checks.iter().filter(|c| c.after_run || !after_run) {
            let (text, _) = sql::replaced(&self.toml, check.sql.1, false, &check.sql.0, &variables, &[])?;
            let said = |e: Error| self.toml.said(check.at, &format!("check \"{}\"", check.name), &e);
            let rows = session.query(&text, ()).map_err(said)?;
            let found: Vec<Vec<String>> = rows
                .iter()
                .map(|row| {
                    (0..row.values().len())
                        .map(|i| row.text(i).unwrap_or_else(|| "NULL".to_owned()))
                        .collect()
                })
                .collect();
            match &check.expect {
                Some(expected) if *expected != found => violations.push(Violation {
                    condition: format!(
                        "{}: {} expected, {} found",
                        check.name,
                        shown(expected),
                        shown(&found)
                    ),
                    count: 1,
                }),
                Some(_) => {}
                None => {
                    // A number of violations, or the violations.
                    let count = match found.as_slice() {
                        [row] if row.len() == 1 => row[0].parse().unwrap_or(1),
                        rows => rows.len() as i64,
                    };
                    if count != 0 {
                        violations.push(Violation { condition: check.name.clone(), count });
                    }
                }
            }
        }
        Ok(violations)
    }

    /// A driver.
    pub(crate) fn driver(&self, session: &mut Session, draws: &Draws<'_>) -> Result<Box<dyn Driver>> {
        driver::driver(self, session, draws)
    }

    /// Prepares all of it on an empty database.
    fn check(&self, size: u64) -> Result<()> {
        let db = Database::in_memory()?;
        self.install_schema(&db, size)?;
        let mut session = db.session()?;
        for table in &self.tables {
            table.check(self, &mut session, size)?;
        }
        self.driver(&mut session, &Draws { size, seed: 1, number: 0, parameters: &Default::default() })?;
        let variables = self.variables(Some(size))?;
        for check in &self.checks {
            let (text, _) = sql::replaced(&self.toml, check.sql.1, false, &check.sql.0, &variables, &[])?;
            let said = |e: Error| self.toml.said(check.sql.1, &format!("check \"{}\"", check.name), &e);
            session.prepare(&text).map_err(said)?;
        }
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }
}

fn shown(rows: &[Vec<String>]) -> String {
    let rows: Vec<String> = rows.iter().take(3).map(|row| row.join(", ")).collect();
    if rows.is_empty() { "no row".to_owned() } else { rows.join("; ") }
}

/// Runs a file, with variables in it; what fails is told with its line.
fn script(db: &Database, file: &Source, variables: &[(String, Number)]) -> Result<()> {
    let (text, _) = sql::replaced(file, 0, true, &file.text, variables, &[])?;
    let outcome = db.session()?.execute_each(&text, &mut |_| {});
    outcome.map_err(|(error, position)| {
        // Names that were replaced have moved what comes behind them, but no lines.
        let line = text.as_bytes()[..position.min(text.len())].iter().filter(|b| **b == b'\n').count();
        let at = file.text.split_inclusive('\n').take(line).map(str::len).sum();
        file.said(at, "SQL", &error)
    })
}

const KEYS: &[&str] = &["about", "scale", "variables", "tables", "transactions", "checks"];

/// Reads the folder; `set` are variables that are to be other ones.
pub(crate) fn open(dir: &Path, set: &[Set]) -> Result<Suite> {
    let toml = Source::read(&dir.join("workload.toml")).map_err(|e| {
        e.with_hint("A workload is a folder with workload.toml in it; planaria bench --new DIR writes one.")
    })?;
    let optional = |name: &str| -> Result<Option<Source>> {
        let path = dir.join(name);
        if path.exists() { Source::read(&path).map(Some) } else { Ok(None) }
    };
    let definitions = [optional("schema.sql")?, optional("procedures.sql")?].into_iter().flatten().collect();
    let load = optional("load.sql")?;
    let parsed = ::toml::de::DeTable::parse(&toml.text).map_err(|e| {
        toml.error(e.span().map_or(0, |s| s.start), e.message().lines().next().unwrap_or("this is no TOML"))
    })?;
    let root = Table::root(&toml, &parsed).only(KEYS)?;
    let about = root.get("about").map_or(Ok(""), |v| v.str())?.to_owned();
    let mut variables = Vec::new();
    for ((name, _), value) in root.tables("variables")? {
        variables.push((name.to_owned(), Given::File(Expression::of(value)?)));
    }
    for (name, value) in set {
        let number = value.parse().map(Number::Int).or_else(|_| value.parse().map(Number::Float));
        let number = number.map_err(|_| toml.error(0, format!("\"{value}\" is no number for {name}")))?;
        let names: Vec<String> = variables.iter().map(|(n, _)| n.clone()).collect();
        match variables.iter_mut().find(|(n, _)| n == name) {
            Some((_, given)) => *given = Given::Set(number),
            None => {
                return Err(hinted(toml.error(0, format!("there is no variable \"{name}\"")), name, &names));
            }
        }
    }
    let scale = root
        .required("scale")
        .map_err(|e| e.with_hint("It names the variable that sets the size of the workload."))?;
    let scale_at = scale.at;
    let scale = scale.str()?.to_owned();
    if !variables.iter().any(|(n, _)| *n == scale) {
        let names: Vec<String> = variables.iter().map(|(n, _)| n.clone()).collect();
        return Err(hinted(
            toml.error(scale_at, format!("there is no variable \"{scale}\"")),
            &scale,
            &names,
        ));
    }
    let tables = root
        .tables("tables")?
        .into_iter()
        .map(|((name, at), v)| Rows::of(name, at, v))
        .collect::<Result<_>>()?;
    let transactions: Vec<Transaction> = (root.required("transactions")?.table("transactions")?.entries())
        .into_iter()
        .map(|((name, at), v)| transaction(name, at, v))
        .collect::<Result<_>>()?;
    if transactions.is_empty() {
        return Err(toml.error(0, "a workload needs a transaction"));
    }
    let checks = root
        .tables("checks")?
        .into_iter()
        .map(|((name, at), v)| check(name, at, v))
        .collect::<Result<_>>()?;
    drop(root);
    drop(parsed);
    let folder = Folder {
        toml,
        definitions,
        load,
        variables,
        scale,
        tables,
        transactions,
        checks,
        counted: Mutex::default(),
    };
    let size = match folder.variables(None)?.iter().find(|(n, _)| *n == folder.scale) {
        Some((_, Number::Int(n))) if *n > 0 => *n as u64,
        _ => return Err(folder.toml.error(scale_at, "the size is a whole number above 0")),
    };
    folder.check(size)?;
    let name = dir.canonicalize().ok().and_then(|d| Some(d.file_name()?.to_string_lossy().into_owned()));
    Ok(Suite::of_folder(name.unwrap_or_else(|| "workload".to_owned()), about, size, folder))
}

impl Folder {
    /// What its size counts.
    pub(crate) fn unit(&self) -> String {
        self.scale.clone()
    }

    /// Names of its transactions.
    pub(crate) fn names(&self) -> Vec<String> {
        self.transactions.iter().map(|t| t.name.clone()).collect()
    }
}

fn transaction(name: &str, at: usize, item: read::Item<'_>) -> Result<Transaction> {
    let table = item.table(&format!("transaction \"{name}\""))?;
    let table = table.only(&["weight", "call", "sql", "retries", "parameters"])?;
    let weight = table.get("weight").map_or_else(|| Ok(Expression::int(1, at)), Expression::of)?;
    let (mut names, mut specs) = (Vec::new(), Vec::new());
    for ((name, _), value) in table.tables("parameters")? {
        names.push(name.to_owned());
        specs.push(Spec::of(value)?);
    }
    let body = match (table.get("call"), table.get("sql")) {
        (Some(call), None) => {
            let text = call.str()?;
            let (name, listed) = match text.split_once('(') {
                None => (text, None),
                Some((name, rest)) => {
                    let inner =
                        rest.trim_end().strip_suffix(')').ok_or_else(|| call.error("\")\" is missing"))?;
                    (name, Some(inner))
                }
            };
            let order = match listed {
                None => (0..names.len()).collect(),
                Some(inner) => (inner.split(',').map(str::trim).filter(|n| !n.is_empty()))
                    .map(|n| {
                        let place = names.iter().position(|p| p == n);
                        place.ok_or_else(|| {
                            hinted(call.error(format!("there is no parameter \"{n}\"")), n, &names)
                        })
                    })
                    .collect::<Result<_>>()?,
            };
            Body::Call { name: name.trim().to_owned(), order, at: call.at }
        }
        (None, Some(sql)) => {
            let texts = sql
                .one_or_more()?
                .into_iter()
                .map(|s| Ok((s.str()?.to_owned(), s.at)))
                .collect::<Result<_>>()?;
            let retries = match table.get("retries") {
                None => 100,
                Some(n) => n.scalar()?.parse().map_err(|_| n.error("a number of retries is wanted here"))?,
            };
            Body::Statements { texts, retries }
        }
        _ => {
            return Err(item
                .source
                .error(at, format!("transaction \"{name}\" needs one of the keys \"call\" and \"sql\"")));
        }
    };
    Ok(Transaction { name: name.to_owned(), at, weight, names, specs, body })
}

fn check(name: &str, at: usize, item: read::Item<'_>) -> Result<Check> {
    let table = item.table(&format!("check \"{name}\""))?.only(&["sql", "expect", "after_run"])?;
    let sql = table.required("sql")?;
    let expect = match table.get("expect") {
        None => None,
        Some(rows) => {
            let mut all = Vec::new();
            for row in rows.one_or_more()? {
                all.push(row.one_or_more()?.iter().map(read::Item::scalar).collect::<Result<Vec<_>>>()?);
            }
            Some(all)
        }
    };
    let after_run = table.get("after_run").map_or(Ok(true), |v| v.bool())?;
    Ok(Check { name: name.to_owned(), at, sql: (sql.str()?.to_owned(), sql.at), expect, after_run })
}
