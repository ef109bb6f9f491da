//! What compiled code knows of the catalog: tables, and the text a program came from.

use planaria_base::{ColumnId, Error, SqlState};
use planaria_storage::{ColumnSpec, RowLayout};
use std::sync::{Arc, OnceLock};

/// A table as compiled code needs to know it. Made by the engine once per catalog version.
#[derive(Debug)]
pub struct TableMeta {
    /// Name, for errors.
    pub name: String,
    /// Names of the columns, as the key of an index is shown: in quotes where need be, and computed ones as they are written.
    pub columns: Vec<String>,
    /// Indexes by [`IndexId`].
    pub indexes: Vec<IndexMeta>,
    /// The layout of its rows: the same that its storage has, as both are made from the columns' types.
    pub layout: RowLayout,
    /// Of the root of a partitioned table: whose its rows are.
    pub partitions: Option<super::Partitions>,
}

/// An index as compiled code needs to know it.
#[derive(Clone, Debug)]
pub struct IndexMeta {
    /// Name: that of the constraint, where one made it.
    pub name: String,
    /// Key columns.
    pub columns: Vec<ColumnId>,
}

impl TableMeta {
    /// From names and types; fails for types that cannot be stored.
    pub fn new(
        name: impl Into<String>,
        columns: Vec<(String, ColumnSpec)>,
        indexes: Vec<IndexMeta>,
    ) -> planaria_base::Result<TableMeta> {
        let (columns, specs): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        Ok(TableMeta {
            name: name.into(),
            columns,
            indexes,
            layout: RowLayout::new(&specs)?,
            partitions: None,
        })
    }
}

/// What CONTEXT says of a place in a text.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What stands behind the name of the routine, such as `line 3 at IF`; `None`: the routine is not mentioned.
    pub behind: Option<String>,
    /// A line of its own before that: the SQL statement.
    pub statement: Option<String>,
    /// The text of that statement, or of the expression, and where it would begin if the words before it were as long.
    pub query: Option<(String, i64)>,
}

/// What is told of each position in a text that has been looked at.
pub type Teller = Box<dyn Fn(u32) -> Told + Send + Sync>;

/// Where a program's text came from, for the CONTEXT of errors. The text is looked at when there is one, and once: errors may be
/// a routine's ordinary end.
#[derive(Clone, Debug, Default)]
pub struct Source(Option<Arc<Routine>>);

struct Routine {
    title: String,
    text: String,
    read: fn(&str) -> Teller,
    teller: OnceLock<Teller>,
}

impl std::fmt::Debug for Routine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Routine").field("title", &self.title).finish_non_exhaustive()
    }
}

impl Source {
    /// The source of a routine: what it is called (`PL/pgSQL function name(integer,text)`), the text that operations' positions
    /// refer to, and what reads the text.
    pub fn routine(title: impl Into<String>, text: impl Into<String>, read: fn(&str) -> Teller) -> Source {
        let teller = OnceLock::new();
        Source(Some(Arc::new(Routine { title: title.into(), text: text.into(), read, teller })))
    }

    /// Whether it is that of a routine, not of a statement.
    pub(crate) fn is_routine(&self) -> bool {
        self.0.is_some()
    }

    /// Adds to an error where in the routine it arose.
    #[cold]
    pub fn context(&self, position: u32, mut error: Error) -> Error {
        let Some(routine) = &self.0 else { return error };
        if std::mem::take(&mut error.fields_mut().again) {
            return error;
        }
        let told = routine.teller.get_or_init(|| (routine.read)(&routine.text))(position);
        let found = std::mem::take(&mut error.fields_mut().found);
        // That there was no row for INTO, or more than one, PL/pgSQL says itself, behind the statement.
        // So it does that there is no place for its rows, or for what a procedure gives.
        const SAID: [SqlState; 3] =
            [SqlState::NO_DATA_FOUND, SqlState::TOO_MANY_ROWS, SqlState::SYNTAX_ERROR];
        let behind = SAID.contains(&error.sqlstate()) && error.fields().context.is_none();
        match (told.query.filter(|_| found), told.statement) {
            // What is wrong with the text of a statement is shown there.
            (Some((query, begins)), _) => {
                let fields = error.fields_mut();
                fields.position = u32::try_from(i64::from(position) - begins).ok();
                fields.query = Some(query);
            }
            (None, Some(statement)) if !behind => error = error.context(statement),
            (None, _) => {}
        }
        match told.behind {
            Some(behind) if behind.is_empty() => error.context(&routine.title),
            Some(behind) => error.context(format!("{} {behind}", routine.title)),
            None => error,
        }
    }
}
