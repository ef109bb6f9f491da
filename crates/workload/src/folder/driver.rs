//! The driver of a workload from a folder: draws a transaction, its parameters, and submits it.

use super::draw::Generator;
use super::expression::{Number, Scope};
use super::read::hinted;
use super::slot::{Chosen, Slot};
use super::{Body, Folder, Transaction, sql};
use crate::inputs::Inputs;
use crate::parameters::Mix;
use crate::suite::{Draws, Driver};
use planaria::serving::{RowRef, RowSink, ServedSession};
use planaria::{Error, PreparedCall, Result, Session, SqlState, Statement, Submitted, Ticket, Type};

struct Client {
    transactions: Vec<Ready>,
    mix: Mix,
    inputs: Inputs,
    seed: u64,
}

/// A transaction that is prepared.
struct Ready {
    generators: Vec<Generator>,
    slots: Vec<Slot>,
    work: Work,
}

enum Work {
    Call(PreparedCall, Vec<usize>),
    Statement(Statement, Vec<usize>),
    Block { statements: Vec<(Statement, Vec<usize>)>, retries: u32 },
}

pub(super) fn driver(folder: &Folder, session: &mut Session, draws: &Draws<'_>) -> Result<Box<dyn Driver>> {
    let mut variables = folder.variables(Some(draws.size))?;
    variables.push(("driver".to_owned(), Number::Int(draws.number as i64)));
    let mut weights = Vec::new();
    let mut transactions = Vec::new();
    for transaction in &folder.transactions {
        let none = |_: &str| Err(Error::internal("a weight knows no tables"));
        let scope = Scope { source: &folder.toml, variables: &variables, slots: &[], rows: &none };
        let weight = u32::try_from(transaction.weight.whole(&scope)?);
        let wrong = |_| folder.toml.error(transaction.weight.at, "a weight is at least 0");
        weights.push(weight.map_err(wrong)?);
        transactions.push(transaction.ready(folder, session, &variables)?);
    }
    if weights.iter().all(|w| *w == 0) {
        return Err(folder.toml.error(0, "all transactions have weight 0"));
    }
    Ok(Box::new(Client {
        transactions,
        mix: Mix::new(&weights, draws.parameters),
        inputs: Inputs::new(draws.seed),
        seed: draws.seed,
    }))
}

impl Transaction {
    fn ready(&self, folder: &Folder, session: &mut Session, variables: &[(String, Number)]) -> Result<Ready> {
        let of = format!("transaction \"{}\"", self.name);
        let work = match &self.body {
            Body::Call { name, order, at } => {
                let prepared = session.prepare_call(name, order.len()).map_err(|e| {
                    let said = folder.toml.said(*at, &of, &e);
                    signatures(session, name, order.len(), said)
                })?;
                let holes: Vec<String> = (1..=order.len()).map(|n| format!("${n}")).collect();
                let call = format!("{name}({})", holes.join(", "));
                let typed = session
                    .prepare(&format!("CALL {call}"))
                    .or_else(|_| session.prepare(&format!("SELECT {call}")));
                if let Ok(statement) = typed {
                    self.fits(folder, statement.parameters(), order)?;
                }
                Work::Call(prepared, order.clone())
            }
            Body::Statements { texts, retries } => {
                let mut statements = Vec::new();
                for (text, at) in texts {
                    let (text, order) =
                        sql::replaced(&folder.toml, *at, false, text, variables, &self.names)?;
                    let statement = session.prepare(&text).map_err(|e| folder.toml.said(*at, &of, &e))?;
                    self.fits(folder, statement.parameters(), &order)?;
                    statements.push((statement, order));
                }
                match (statements.pop(), statements.is_empty()) {
                    (Some((statement, order)), true) => Work::Statement(statement, order),
                    (Some(last), false) => {
                        statements.push(last);
                        Work::Block { statements, retries: *retries }
                    }
                    (None, _) => return Err(folder.toml.error(self.at, format!("{of} has no statement"))),
                }
            }
        };
        let session = std::cell::RefCell::new(session);
        let rows = |table: &str| folder.rows_of(&mut session.borrow_mut(), table);
        let generators = self
            .specs
            .iter()
            .enumerate()
            .map(|(i, spec)| {
                spec.bind(&Scope { source: &folder.toml, variables, slots: &self.names[..i], rows: &rows })
            })
            .collect::<Result<_>>()?;
        Ok(Ready { generators, slots: vec![Slot::default(); self.specs.len()], work })
    }

    fn fits(&self, folder: &Folder, types: &[Type], order: &[usize]) -> Result<()> {
        for (slot, ty) in order.iter().zip(types) {
            if let Some(why) = self.specs[*slot].unfit(ty) {
                let what = format!("parameter \"{}\" of \"{}\": {why}", self.names[*slot], self.name);
                return Err(folder.toml.error(self.specs[*slot].at, what));
            }
        }
        Ok(())
    }
}

/// The error with what the procedure wants, or with the name of another one.
fn signatures(session: &mut Session, name: &str, given: usize, error: Error) -> Error {
    let sql = "SELECT proname::text, pg_get_function_arguments(oid) FROM pg_proc
               WHERE pronamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'information_schema'))";
    let Ok(rows) = session.query(sql, ()) else { return error };
    let all: Vec<(String, String)> = rows
        .iter()
        .filter_map(|row| Some((row.get(0).ok()?, row.get::<Option<String>>(1).ok()?.unwrap_or_default())))
        .collect();
    let found: Vec<String> =
        all.iter().filter(|(n, _)| n == name).map(|(n, arguments)| format!("{n}({arguments})")).collect();
    if found.is_empty() {
        let names: Vec<&String> = all.iter().map(|(n, _)| n).collect();
        return hinted(error, name, &names);
    }
    let plural = if given == 1 { "" } else { "s" };
    error.with_hint(format!("It is {}; the workload gives it {given} parameter{plural}.", found.join(" or ")))
}

/// Rows are read, and not kept.
struct Unread;

impl RowSink for Unread {
    fn restart(&mut self) {}
    fn row(&mut self, _: RowRef<'_>) -> Result<()> {
        Ok(())
    }
}

impl Driver for Client {
    fn next(&mut self, session: &mut Session) -> (usize, Result<Submitted>) {
        let kind = self.mix.draw(&mut self.inputs);
        let ready = &mut self.transactions[kind];
        for (i, generator) in ready.generators.iter_mut().enumerate() {
            let (before, rest) = ready.slots.split_at_mut(i);
            if let Err(error) = generator.draw(&mut rest[0], before, &mut self.inputs, self.seed) {
                return (kind, Err(error));
            }
        }
        let slots = &ready.slots;
        let outcome = match &ready.work {
            Work::Call(call, order) => session.submit(call, Chosen { slots, order }),
            Work::Statement(statement, order) => session
                .start(statement, &Chosen { slots, order }, &mut Unread)
                .map(|done| submitted(done.ticket)),
            Work::Block { statements, retries } => block(session, statements, *retries, slots),
        };
        (kind, outcome)
    }
}

fn submitted(ticket: Ticket) -> Submitted {
    Submitted { rows: planaria::Rows::default(), ticket }
}

/// Several statements: a transaction block, or part of one that is open.
fn block(
    session: &mut Session,
    statements: &[(Statement, Vec<usize>)],
    retries: u32,
    slots: &[Slot],
) -> Result<Submitted> {
    let run = |session: &mut Session| {
        statements.iter().try_for_each(|(statement, order)| {
            session.start(statement, &Chosen { slots, order }, &mut Unread).map(|_| ())
        })
    };
    if session.in_transaction() {
        return run(session).map(|()| submitted(Ticket::done()));
    }
    let mut left = retries;
    loop {
        session.begin()?;
        let outcome = run(session).and_then(|()| session.commit());
        match outcome {
            Ok(ticket) => return Ok(submitted(ticket)),
            Err(error) => {
                if session.in_transaction() {
                    session.rollback()?;
                }
                let again = [SqlState::SERIALIZATION_FAILURE, SqlState::DEADLOCK_DETECTED]
                    .contains(&error.sqlstate());
                if !again || left == 0 {
                    return Err(error);
                }
                left -= 1;
            }
        }
    }
}
