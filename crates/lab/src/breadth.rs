//! What many tables and many procedures cost a recovery, beside few of the same kind.
//!
//! A ledger is generated twice, with as many rows and transactions: once in a few tables that a few procedures change,
//! once in many. Half of the tables hold accounts, half entries; a procedure books from an account of one table to one
//! of another and writes an entry into a third, whose key is what the first account counted. Where a recovery spends
//! as much on a transaction of the many as on one of the few, it does not matter how large a schema is.

use crate::Machine;
use crate::recovery::{Experiment, Length, Measured, Watch};
use planaria::{Durability, Error, Result, Scheme};
use planaria_workload::Workload;
use serde::Serialize;
use std::path::Path;

/// Tables and procedures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Width {
    /// Tables, two at least.
    pub tables: u64,
    /// Procedures.
    pub procedures: u64,
}

/// The experiment.
pub struct Breadth {
    /// The few.
    pub few: Width,
    /// The many.
    pub many: Width,
    /// Accounts in all tables together.
    pub accounts: u64,
    /// Calls.
    pub transactions: u64,
    /// Workers of the run.
    pub workers: usize,
    /// Schemes that recover it.
    pub schemes: Vec<Scheme>,
    /// Numbers of threads that recover.
    pub threads: Vec<usize>,
    /// Turns; medians are kept.
    pub repeat: usize,
    /// Seed of the inputs.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Where it was measured.
    pub machine: Machine,
    /// What was compared: the few, the many.
    pub widths: [Width; 2],
    /// One a scheme and number of threads.
    pub compared: Vec<Compared>,
}

/// A scheme with a number of threads on both.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// On the few.
    pub few: Measured,
    /// On the many.
    pub many: Measured,
    /// Times that a transaction of the many takes one of the few.
    pub cost: f64,
}

impl Breadth {
    /// Runs it with its files in new directories under `dir`, which are removed again.
    pub fn run(&self, dir: &Path, watch: &dyn Watch) -> Result<Outcome> {
        let widths = [self.few, self.many];
        let [few, many] = [self.measure(self.few, dir, watch)?, self.measure(self.many, dir, watch)?];
        let compared = few.results.into_iter().zip(many.results).map(|(few, many)| {
            let cost = few.txn_per_s / many.txn_per_s;
            Compared { few, many, cost }
        });
        Ok(Outcome { machine: few.machine, widths, compared: compared.collect() })
    }

    fn measure(&self, width: Width, dir: &Path, watch: &dyn Watch) -> Result<crate::recovery::Outcome> {
        let place = tempfile::tempdir_in(dir).map_err(|e| Error::file("make directory", dir, e))?;
        // The folder's name is the workload's.
        let folder = place.path().join(format!("{}-tables", width.tables));
        std::fs::create_dir(&folder).map_err(|e| Error::file("make directory", &folder, e))?;
        width.write(self.accounts, &folder)?;
        let workload = Workload::find(&folder.display().to_string(), &[], None)?;
        let experiment = Experiment {
            suite: &workload,
            size: workload.default_size,
            length: Length::Transactions(self.transactions),
            workers: self.workers,
            schemes: self.schemes.clone(),
            kinds: None,
            threads: self.threads.clone(),
            repeat: self.repeat,
            ad_hoc: 0.0,
            batch: None,
            durability: Durability::Async,
            seed: self.seed,
            record_tasks: false,
        };
        experiment.run(dir, watch)
    }
}

impl Outcome {
    /// Every recovery that did not end where it must, and what was wrong.
    pub fn wrong(&self) -> Vec<String> {
        self.compared.iter().flat_map(|c| [&c.few, &c.many]).flat_map(Measured::named_wrong).collect()
    }
}

impl Width {
    /// Writes the workload's folder.
    fn write(self, accounts: u64, folder: &Path) -> Result<()> {
        let of_accounts = self.tables.div_ceil(2).max(1);
        let of_entries = (self.tables - of_accounts.min(self.tables)).max(1);
        let rows = accounts.div_ceil(of_accounts);
        let (mut schema, mut procedures) = (String::new(), String::new());
        let mut workload = format!("about = \"A ledger\"\nscale = \"rows\"\n[variables]\nrows = {rows}\n");
        for t in 0..of_accounts {
            schema += &format!(
                "CREATE TABLE account_{t} (id integer PRIMARY KEY, owner text NOT NULL, balance bigint NOT NULL,
                     entries integer NOT NULL);\n"
            );
            workload += &format!(
                "[tables.account_{t}]\nrows = \"rows\"\ncolumns.id = \"row\"\ncolumns.balance = \"0\"\n\
                 columns.entries = \"0\"\ncolumns.owner = {{ format = \"owner{{:08}}\", of = \"row\" }}\n"
            );
        }
        for t in 0..of_entries {
            schema += &format!(
                "CREATE TABLE entry_{t} (account integer, number bigint, amount bigint NOT NULL, note text,
                     PRIMARY KEY (account, number));\n"
            );
        }
        for p in 0..self.procedures {
            let (from, entry) = (p % of_accounts, (p * 11 + p / of_accounts) % of_entries);
            let to = match (p * 7 + 3) % of_accounts {
                same if same == from => (from + 1) % of_accounts,
                other => other,
            };
            // Entries of different procedures do not meet.
            procedures += &format!(
                "CREATE PROCEDURE book_{p}(p_from integer, p_to integer, p_amount bigint, p_note text)
                 LANGUAGE plpgsql AS $$
                 DECLARE n bigint;
                 BEGIN
                     UPDATE account_{from} SET balance = balance - p_amount, entries = entries + 1
                         WHERE id = p_from RETURNING entries INTO n;
                     UPDATE account_{to} SET balance = balance + p_amount, entries = entries + 1 WHERE id = p_to;
                     INSERT INTO entry_{entry} VALUES (p_from, n * 100000 + {p}, p_amount, p_note);
                 END $$;\n"
            );
            workload += &format!(
                "[transactions.book_{p}]\nweight = 1\ncall = \"book_{p}\"\n[transactions.book_{p}.parameters]\n\
                 p_from = {{ uniform = \"rows\" }}\np_to = {{ uniform = \"rows\" }}\n\
                 p_amount = {{ uniform = [1, 1000000] }}\np_note = {{ string = [8, 20] }}\n"
            );
        }
        for (name, text) in
            [("schema.sql", schema), ("procedures.sql", procedures), ("workload.toml", workload)]
        {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|e| Error::file("write file", &path, e))?;
        }
        Ok(())
    }
}
