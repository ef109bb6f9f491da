//! What compiled code knows of the catalog: tables, and the text a program came from.

use planaria_base::ColumnId;
use planaria_storage::{ColumnSpec, RowLayout};

/// A table as compiled code needs to know it. Made by the engine once per catalog version.
#[derive(Debug)]
pub struct TableMeta {
    /// Name, for errors.
    pub name: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Indexes by [`IndexId`].
    pub indexes: Vec<IndexMeta>,
    /// The layout of its rows: the same that its storage has, as both are made from the columns' types.
    pub layout: RowLayout,
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
        Ok(TableMeta { name: name.into(), columns, indexes, layout: RowLayout::new(&specs)? })
    }
}

/// Where a program's text came from, for the CONTEXT of errors.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// `name(integer,text)`, as PostgreSQL prints a function; empty for statements.
    pub signature: String,
    /// Positions at which the lines of the text begin, line 2 first.
    line_starts: Box<[u32]>,
}

impl Source {
    /// The source of a routine: its signature and the text that operations' positions refer to.
    pub fn routine(signature: impl Into<String>, text: &str) -> Source {
        let line_starts =
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1).collect();
        Source { signature: signature.into(), line_starts }
    }
    /// The line (from 1) of a position.
    pub fn line(&self, position: u32) -> usize {
        self.line_starts.partition_point(|start| *start <= position) + 1
    }
}
