//! Rows as values of Rust: `#[derive(FromRow)]` of structs with named fields, and tuples.

use crate::row::{FromDatum, Row, Rows};
use planaria_base::{Error, Result, SqlState};

/// A type that a row of an answer can become. Tuples take the columns in their order, all of them; of structs, which derive it,
/// each field takes the column of its name, wherever that is.
pub trait FromRow: Sized {
    /// Converts; errors are those of [`Row::get`].
    fn from_row(row: &Row) -> Result<Self>;

    /// Converts a row that nobody else needs.
    fn from_owned(row: Row) -> Result<Self> {
        Self::from_row(&row)
    }
}

impl FromRow for Row {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(row.clone())
    }
    fn from_owned(row: Row) -> Result<Self> {
        Ok(row)
    }
}

macro_rules! tuples_from_row {
    ($($n:literal: $($t:ident $i:tt),*;)*) => {
        $(impl<$($t: FromDatum),*> FromRow for ($($t,)*) {
            fn from_row(row: &Row) -> Result<Self> {
                match row.values().len() {
                    $n => Ok(($(row.get::<$t>($i)?,)*)),
                    columns => Err(other_columns(columns, $n)),
                }
            }
        })*
    };
}

#[cold]
fn other_columns(columns: usize, wanted: usize) -> Error {
    let message = format!("a row of {columns} columns cannot be read as a tuple of {wanted}");
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

tuples_from_row! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
    12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
}

impl Rows {
    /// Each row as a value.
    pub fn read<T: FromRow>(&self) -> Result<Vec<T>> {
        self.iter().map(T::from_row).collect()
    }

    /// The only row as a value; `None` where there is none, P0003 where there are several.
    pub fn read_optional<T: FromRow>(&self) -> Result<Option<T>> {
        match self.as_slice() {
            [] => Ok(None),
            [row] => T::from_row(row).map(Some),
            rows => Err(Error::new(
                SqlState::TOO_MANY_ROWS,
                format!("one row was wanted, and there are {}", rows.len()),
            )),
        }
    }

    /// The only row as a value; P0002 where there is none, P0003 where there are several.
    pub fn read_one<T: FromRow>(&self) -> Result<T> {
        let none = || Error::new(SqlState::NO_DATA_FOUND, "one row was wanted, and there is none");
        self.read_optional()?.ok_or_else(none)
    }
}
