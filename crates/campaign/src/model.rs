//! What must be there after each step: the same steps, done in memory, without a log.

use crate::script::{Script, StepClock};
use planaria::lab::LabOptions;
use planaria::{Database, Options, ProtocolKind, Result};
use std::hash::{DefaultHasher, Hash, Hasher};

/// All that can be seen of a database: equal for equal ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    tables: Vec<(String, u128)>,
    sequences: Vec<String>,
    objects: Vec<String>,
}

const OBJECTS: &str = "
    SELECT 'index ' || indexname || ': ' || indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'view ' || viewname FROM pg_views WHERE schemaname = 'public'
    UNION ALL SELECT 'stored ' || matviewname || ispopulated::text FROM pg_matviews WHERE schemaname = 'public'
    UNION ALL SELECT 'trigger ' || tgenabled::text || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'policy ' || policyname || qual FROM pg_policies
    UNION ALL SELECT 'partition ' || relname || pg_get_expr(relpartbound, oid) FROM pg_class
              WHERE relispartition AND relkind IN ('r', 'p')
    UNION ALL SELECT 'extension ' || extname FROM pg_extension WHERE extname <> 'plpgsql'
    UNION ALL SELECT 'type ' || relname FROM pg_class WHERE relkind = 'c'
    UNION ALL SELECT 'aggregate ' || aggfnoid::regproc::text FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid
              WHERE p.pronamespace = 'public'::regnamespace
    UNION ALL SELECT 'label ' || enumlabel || enumsortorder::text FROM pg_enum
    UNION ALL SELECT 'constraint ' || conname || pg_get_constraintdef(oid) FROM pg_constraint
    UNION ALL SELECT 'routine ' || p.proname || ': ' || p.prosrc FROM pg_proc p
              JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'
    UNION ALL SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
              FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
              WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0";

const SEQUENCES: &str =
    "SELECT sequencename || ' ' || coalesce(last_value, 0) FROM pg_sequences ORDER BY sequencename";

const KEYED: &str = "
    SELECT c.relname::text FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid WHERE k.contype = 'p'";

/// What has columns and no rows.
const COMPOSITES: &str = "SELECT relname::text FROM pg_class WHERE relkind = 'c'";

/// A digest of a table's rows as they can be asked for.
fn content(db: &Database, table: &str) -> Result<u128> {
    let rows = db.query(&format!("SELECT * FROM {table}"), ())?;
    let columns = rows.columns().len();
    let mut texts: Vec<Vec<Option<String>>> =
        rows.iter().map(|row| (0..columns).map(|i| row.text(i)).collect()).collect();
    texts.sort();
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    Ok(u128::from(texts.len() as u64) << 64 | u128::from(hasher.finish()))
}

impl State {
    /// Of a database with nobody in it; its indexes are compared with its rows on the way.
    pub fn of(db: &Database) -> Result<State> {
        db.check()?;
        let lines = |sql: &str| -> Result<Vec<String>> {
            let mut lines = Vec::new();
            for row in &db.query(sql, ())? {
                lines.push(row.get::<String>(0)?);
            }
            lines.sort();
            Ok(lines)
        };
        // Hidden row ids, which stand in for a primary key, may have gaps after a crash.
        let keyed = lines(KEYED)?;
        let mut tables = db.digests()?;
        let composites = lines(COMPOSITES)?;
        tables.retain(|(name, _)| !composites.contains(name));
        for (name, digest) in tables.iter_mut().filter(|(name, _)| !keyed.contains(name)) {
            *digest = content(db, name)?;
        }
        Ok(State { tables, sequences: lines(SEQUENCES)?, objects: lines(OBJECTS)? })
    }

    /// How it differs from another.
    pub fn difference(&self, other: &State) -> String {
        fn of<T: PartialEq + std::fmt::Debug>(what: &str, mine: &[T], theirs: &[T]) -> String {
            let only =
                |a: &[T], b: &[T]| format!("{:?}", a.iter().filter(|x| !b.contains(x)).collect::<Vec<_>>());
            match mine == theirs {
                true => String::new(),
                false => format!("{what}: {} instead of {}; ", only(mine, theirs), only(theirs, mine)),
            }
        }
        of("tables", &self.tables, &other.tables)
            + &of("sequences", &self.sequences, &other.sequences)
            + &of("objects", &self.objects, &other.objects)
    }
}

/// The states that a script leads through.
pub struct Model {
    /// After no step, one, and so on.
    states: Vec<State>,
}

impl Model {
    /// Does the script in memory.
    pub fn of(script: &Script) -> Result<Model> {
        let clock = StepClock::default();
        let options = Options::new().protocol(ProtocolKind::Serial).wall_clock(clock.wall_clock());
        let db = options.in_memory()?;
        let mut states = vec![State::of(&db)?];
        let mut session = db.session()?;
        for step in &script.steps {
            step.run(&mut session, &clock)?;
            states.push(State::of(&db)?);
        }
        Ok(Model { states })
    }

    /// Of these numbers of steps, one after which the database is as it is; what is wrong if there is none.
    pub fn find(&self, state: &State, allowed: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
        let last = (*allowed.end()).min(self.states.len() - 1);
        let first = *allowed.start();
        if let Some(found) = (first..=last).rev().find(|&n| self.states[n] == *state) {
            return Ok(found);
        }
        let elsewhere: Vec<usize> = (0..self.states.len()).filter(|&n| self.states[n] == *state).collect();
        Err(format!(
            "the state is that after steps {elsewhere:?}, not after {first} to {last}; {}",
            state.difference(&self.states[first])
        ))
    }

    /// The last number of steps below `n` with another state than after `n`.
    pub fn before(&self, n: usize) -> usize {
        (0..n).rev().find(|&i| self.states[i] != self.states[n]).unwrap_or(0)
    }
}
