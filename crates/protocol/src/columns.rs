//! Which columns programs read: a row whose others have changed is still the row that was read.

use planaria_base::{ColumnId, TableId};

/// Columns of one table, as bits.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ColumnSet(Vec<u64>);

impl ColumnSet {
    /// Adds a column.
    pub fn insert(&mut self, column: ColumnId) {
        let (word, bit) = (column.index() / 64, column.index() % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = ColumnId> {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| ColumnId::from(at * 64 + bit))
        })
    }

    fn union(&mut self, other: &ColumnSet) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
}

/// The columns that a program, or a transaction so far, may read, by table. Tables that are not named are not read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ColumnsRead {
    tables: Vec<(TableId, ColumnSet)>,
    /// It cannot be told: all columns of all tables.
    everything: bool,
}

impl ColumnsRead {
    /// Adds columns of a table.
    pub fn insert(&mut self, table: TableId, columns: impl IntoIterator<Item = ColumnId>) {
        let set = self.of_mut(table);
        columns.into_iter().for_each(|column| set.insert(column));
    }

    /// From now on it says nothing.
    pub fn insert_everything(&mut self) {
        self.everything = true;
    }

    /// Adds all of others.
    pub fn union(&mut self, other: &ColumnsRead) {
        self.everything |= other.everything;
        for (table, columns) in &other.tables {
            self.of_mut(*table).union(columns);
        }
    }

    /// Those of a table; `None`: any.
    pub fn of(&self, table: TableId) -> Option<&ColumnSet> {
        let known = self.tables.iter().find(|(known, _)| *known == table);
        known.map(|(_, columns)| columns).filter(|_| !self.everything)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.everything = false;
    }

    fn of_mut(&mut self, table: TableId) -> &mut ColumnSet {
        let at = match self.tables.iter().position(|(known, _)| *known == table) {
            Some(at) => at,
            None => {
                self.tables.push((table, ColumnSet::default()));
                self.tables.len() - 1
            }
        };
        &mut self.tables[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_add_up() {
        let (table, other) = (TableId(3), TableId(4));
        let mut read = ColumnsRead::default();
        read.insert(table, [ColumnId(1), ColumnId(130)]);
        let mut more = ColumnsRead::default();
        more.insert(table, [ColumnId(64)]);
        more.insert(other, []);
        read.union(&more);
        let columns =
            |read: &ColumnsRead, table| Some(read.of(table)?.iter().map(|c| c.0).collect::<Vec<_>>());
        assert_eq!(columns(&read, table), Some(vec![1, 64, 130]));
        assert_eq!(columns(&read, other), Some(vec![]));
        assert_eq!(columns(&read, TableId(5)), None);
        read.insert_everything();
        assert_eq!(columns(&read, table), None);
        read.clear();
        assert_eq!(read, ColumnsRead::default());
    }
}
