//! What a large schema costs: making it, restarting from the log of its changes, restarting from a checkpoint.
//!
//! Tables with indexes, and procedures that change them, are made one statement at a time, in quarters of equal
//! size: where a change costs as much in a large schema as in a small one, all quarters take the same time.

use crate::machine::Machine;
use crate::recovery::Watch;
use planaria::{Database, Durability, Options, Result};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// The experiment.
pub struct Schema {
    /// Tables.
    pub tables: u64,
    /// Indexes of each, beside its primary key.
    pub indexes: u64,
    /// Procedures, each of which changes a table.
    pub procedures: u64,
    /// Whether each change is waited for until it is on disk.
    pub durability: Durability,
}

/// A restart.
#[derive(Clone, Debug, Serialize)]
pub struct Restart {
    /// Seconds that the database foretold.
    pub predicted_seconds: f64,
    /// Seconds that opening took.
    pub seconds: f64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Where it was measured.
    pub machine: Machine,
    /// Seconds for each quarter of the statements.
    pub quarter_seconds: Vec<f64>,
    /// Seconds for writing the checkpoint.
    pub checkpoint_seconds: f64,
    /// From the log of the changes; with rates that are assumed.
    pub from_log: Restart,
    /// The same once more; with what was measured.
    pub from_log_again: Restart,
    /// From the checkpoint.
    pub from_checkpoint: Restart,
}

impl Schema {
    /// Runs it in a new directory under `dir`, which is removed again.
    pub fn run(&self, dir: &Path, watch: &dyn Watch) -> Result<Outcome> {
        let place = tempfile::tempdir_in(dir)
            .map_err(|e| planaria::Error::new(planaria::SqlState::IO_ERROR, e.to_string()))?;
        let open = || Options::new().durability(self.durability).open(place.path());
        let db = open()?;
        let quarter_seconds = self.make(&db, watch)?;
        watch.step("restarting from the log", 0);
        let restart = |db: Database| -> Result<(Database, Restart)> {
            let predicted_seconds = db.stats().checkpoint.restart.total().as_secs_f64();
            db.close()?;
            let start = Instant::now();
            let db = open()?;
            Ok((db, Restart { predicted_seconds, seconds: start.elapsed().as_secs_f64() }))
        };
        let (db, from_log) = restart(db)?;
        let (db, from_log_again) = restart(db)?;
        watch.step("writing a checkpoint", 0);
        let start = Instant::now();
        db.checkpoint()?;
        let checkpoint_seconds = start.elapsed().as_secs_f64();
        watch.step("restarting from the checkpoint", 0);
        let (db, from_checkpoint) = restart(db)?;
        db.close()?;
        let machine = Machine::this();
        Ok(Outcome {
            machine,
            quarter_seconds,
            checkpoint_seconds,
            from_log,
            from_log_again,
            from_checkpoint,
        })
    }

    fn make(&self, db: &Database, watch: &dyn Watch) -> Result<Vec<f64>> {
        watch.step("making the schema", self.tables);
        let mut session = db.session()?;
        let mut quarters = Vec::new();
        let mut start = Instant::now();
        for table in 0..self.tables {
            let columns = "id bigint primary key, a integer, b text, c numeric(12,2) default 0";
            session.execute(&format!("CREATE TABLE t{table} ({columns})"), ())?;
            for index in 0..self.indexes {
                let column = ["a", "b", "c"][index as usize % 3];
                session.execute(&format!("CREATE INDEX ON t{table} ({column}, id)"), ())?;
            }
            // Spread over the tables.
            let of = |table: u64| table * self.procedures / self.tables;
            for procedure in of(table)..of(table + 1) {
                session.execute(
                    &format!(
                        "CREATE PROCEDURE p{procedure}(k bigint) LANGUAGE plpgsql AS \
                         $$ BEGIN UPDATE t{table} SET a = a + 1 WHERE id = k; END $$"
                    ),
                    (),
                )?;
            }
            watch.at(table + 1);
            if (table + 1) * 4 / self.tables > quarters.len() as u64 {
                quarters.push(start.elapsed().as_secs_f64());
                start = Instant::now();
            }
        }
        Ok(quarters)
    }
}
