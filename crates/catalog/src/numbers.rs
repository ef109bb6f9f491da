//! Numbers of columns, as `pg_attribute` has them: a column keeps the one that it was made with. Numbers of dropped columns
//! are not given again, so whoever has remembered a number never means another column by it.

use crate::{Column, Table};
use planaria_base::{ColumnId, Type};
use serde::{Deserialize, Serialize};

/// A column that was dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DroppedColumn {
    /// Its number.
    pub number: u16,
    /// Its type.
    pub ty: Type,
}

impl DroppedColumn {
    /// The name that the catalogs show.
    pub fn name(&self) -> String {
        format!("........pg.dropped.{}........", self.number)
    }
}

impl Table {
    /// `attnum` of a column that users see. Those are before the hidden ones, in the order in which they were made.
    pub fn number(&self, column: ColumnId) -> i16 {
        let mut number = column.index() as u16 + 1;
        for dropped in &self.dropped {
            if dropped.number > number {
                break;
            }
            number += 1;
        }
        number as i16
    }

    /// The column of a number.
    pub fn column_numbered(&self, number: i64) -> Option<(ColumnId, &Column)> {
        self.visible().find(|(id, _)| i64::from(self.number(*id)) == number)
    }

    /// The largest number that a column has or had.
    pub fn numbers(&self) -> usize {
        self.visible().count() + self.dropped.len()
    }

    /// Takes a column out. Its number is kept if users saw it.
    pub fn take_column(&mut self, column: ColumnId) -> Column {
        let number = self.number(column) as u16;
        let gone = self.columns.remove(column.index());
        if !gone.hidden {
            let place = self.dropped.partition_point(|d| d.number < number);
            self.dropped.insert(place, DroppedColumn { number, ty: gone.ty.clone() });
        }
        gone
    }
}
