//! Answers: rows, columns, and how values become Rust types.

use planaria_base::datetime::{Forms, Interval, Styles, Zone};
use planaria_base::shape::{Dimension, Shape};
use planaria_base::{Datum, Error, Numeric, Result, SqlState, Type};
use planaria_exec::Heap;
use std::sync::Arc;

/// A column of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// The column of a table that it is, where it is known to be nothing else.
    pub origin: Option<Origin>,
}

/// A column of a table, as the system catalogs have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `pg_class.oid`
    pub table: u32,
    /// `pg_attribute.attnum`
    pub column: i16,
}

/// Columns that answers share. Of answers that have none nobody counts how many there are: most calls are such.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Columns(Option<Arc<[Column]>>);

impl Columns {
    /// For others.
    pub(crate) fn shared(self) -> Arc<[Column]> {
        self.0.unwrap_or_default()
    }
}

impl std::ops::Deref for Columns {
    type Target = [Column];
    #[inline]
    fn deref(&self) -> &[Column] {
        self.0.as_deref().unwrap_or(&[])
    }
}

impl From<Arc<[Column]>> for Columns {
    fn from(columns: Arc<[Column]>) -> Columns {
        Columns((!columns.is_empty()).then_some(columns))
    }
}

impl FromIterator<Column> for Columns {
    fn from_iter<I: IntoIterator<Item = Column>>(columns: I) -> Columns {
        columns.into_iter().collect::<Arc<[Column]>>().into()
    }
}

/// One row of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub(crate) columns: Columns,
    pub(crate) values: Vec<Datum>,
    /// The session's time zone, if it is not UTC.
    pub(crate) zone: Option<Arc<Zone>>,
    /// Its styles of dates and intervals.
    pub(crate) styles: Styles,
}

/// The rows of an answer, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pub(crate) columns: Columns,
    pub(crate) rows: Vec<Row>,
}

impl Rows {
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// The rows as a slice.
    pub fn as_slice(&self) -> &[Row] {
        &self.rows
    }
}

impl std::ops::Deref for Rows {
    type Target = [Row];
    fn deref(&self) -> &[Row] {
        &self.rows
    }
}

impl IntoIterator for Rows {
    type Item = Row;
    type IntoIter = std::vec::IntoIter<Row>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<'a> IntoIterator for &'a Rows {
    type Item = &'a Row;
    type IntoIter = std::slice::Iter<'a, Row>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

/// A column by position (from 0) or name.
pub trait ColumnIndex {
    /// The position among `columns`.
    fn position(&self, columns: &[Column]) -> Option<usize>;
    /// For errors.
    fn describe(&self) -> String;
}

impl ColumnIndex for usize {
    fn position(&self, columns: &[Column]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }
    fn describe(&self) -> String {
        format!("number {self}")
    }
}

impl ColumnIndex for &str {
    fn position(&self, columns: &[Column]) -> Option<usize> {
        columns.iter().position(|c| c.name == *self)
    }
    fn describe(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Row {
    /// Values that were computed in a heap, whose zone and styles show them.
    pub(crate) fn of(columns: &Columns, values: Vec<Datum>, heap: &Heap) -> Row {
        Row { columns: columns.clone(), values, zone: heap.shared_zone(), styles: heap.styles() }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// The values in order.
    pub fn values(&self) -> &[Datum] {
        &self.values
    }
    /// A value as a Rust type. Errors: 42703 where there is no such column, 42804 where the value
    /// is not of that type, 22004 for NULL where the type is no `Option`, 22003 out of range.
    pub fn get<T: FromDatum>(&self, column: impl ColumnIndex) -> Result<T> {
        let i = column.position(&self.columns).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_COLUMN, format!("the answer has no column {}", column.describe()))
        })?;
        T::from_datum(&self.values[i], &self.columns[i].ty)
    }
    /// A value as PostgreSQL prints it, in the time zone and the styles of the session; `None` for NULL.
    pub fn text(&self, column: usize) -> Option<String> {
        let (value, ty) = (&self.values[column], &self.columns[column].ty);
        if value.is_null() {
            return None;
        }
        let mut text = Vec::new();
        value.write_in(ty, self.forms(), &mut text);
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// The forms in which [`Row::text`] shows dates, times and intervals.
    pub fn forms(&self) -> Forms<'_> {
        Forms { zone: self.zone.as_deref(), styles: self.styles }
    }

    /// The time zone in which [`Row::text`] shows timestamps with time zone; `None` is UTC.
    pub fn zone(&self) -> Option<&Zone> {
        self.zone.as_deref()
    }
}

/// A Rust type that a SQL value can become.
pub trait FromDatum: Sized {
    /// Converts.
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self>;
}

#[cold]
pub(crate) fn mismatch<T>(value: &Datum, ty: &Type, wanted: &str) -> Result<T> {
    if value.is_null() {
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, format!("NULL cannot be read as {wanted}"))
            .with_hint(format!("Read it as Option<{wanted}>.")));
    }
    Err(Error::new(SqlState::DATATYPE_MISMATCH, format!("a value of type {ty} cannot be read as {wanted}")))
}

macro_rules! integers_from_datum {
    ($($ty:ty)*) => {
        $(impl FromDatum for $ty {
            fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
                match value {
                    Datum::Int(i) => <$ty>::try_from(*i).map_err(|_| Error::new(
                        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                        format!("{i} does not fit {}", stringify!($ty)),
                    )),
                    Datum::Reg(oid, _) => Self::from_datum(&Datum::Int(i64::from(*oid)), ty),
                    other => mismatch(other, ty, stringify!($ty)),
                }
            }
        })*
    };
}
integers_from_datum!(i8 i16 i32 i64 u8 u16 u32 u64);

impl FromDatum for bool {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match value {
            Datum::Bool(b) => Ok(*b),
            other => mismatch(other, ty, "bool"),
        }
    }
}

impl FromDatum for f64 {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match value {
            Datum::Float(f) => Ok(*f),
            Datum::Int(i) if ty.class() == planaria_base::types::TypeClass::Integer => Ok(*i as f64),
            Datum::Numeric(n) => Ok(n.to_f64()),
            Datum::Long(n) => Ok(n.to_f64()),
            other => mismatch(other, ty, "f64"),
        }
    }
}

impl FromDatum for Numeric {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match value {
            Datum::Numeric(n) => Ok(*n),
            Datum::Int(i) if ty.class() == planaria_base::types::TypeClass::Integer => {
                Ok(Numeric::from_i64(*i))
            }
            Datum::Long(_) => Err(crate::convert::out_of_range(value, ty, "Numeric")),
            other => mismatch(other, ty, "Numeric"),
        }
    }
}

/// Text types as they are; every other type as PostgreSQL prints it.
impl FromDatum for String {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match value {
            Datum::Null => mismatch(value, ty, "String"),
            other => Ok(other.display(ty)),
        }
    }
}

impl FromDatum for [u8; 16] {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match value {
            Datum::Uuid(u) => Ok(*u),
            other => mismatch(other, ty, "[u8; 16]"),
        }
    }
}

impl FromDatum for Interval {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match value {
            Datum::Interval(i) => Ok(*i),
            other => mismatch(other, ty, "Interval"),
        }
    }
}

impl<T: FromDatum> FromDatum for Vec<T> {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match (value, ty) {
            (Datum::Array(items), Type::Array(of)) => items.iter().map(|i| T::from_datum(i, of)).collect(),
            (Datum::Array(items), ty) if ty.element().is_some() => {
                let of = ty.element().unwrap_or(Type::Unknown);
                items.iter().map(|i| T::from_datum(i, &of)).collect()
            }
            (Datum::Shaped(array), Type::Array(of)) => {
                let elements = array.elements();
                match array.shape().dimensions() {
                    [_] => elements.iter().map(|i| T::from_datum(i, of)).collect(),
                    // Vectors of its rows, which may be of several dimensions themselves.
                    [_, inner @ ..] => {
                        let inner: Vec<Dimension> =
                            inner.iter().map(|d| Dimension { lower: 1, len: d.len }).collect();
                        let shape = Shape::new(&inner)?;
                        let rows = elements.chunks(array.shape().part(1));
                        rows.map(|row| T::from_datum(&Datum::array(shape, row.to_vec()), ty)).collect()
                    }
                    [] => mismatch(value, ty, "Vec"),
                }
            }
            (Datum::Bytea(bytes), Type::Bytea | Type::Unknown) => {
                bytes.iter().map(|b| T::from_datum(&Datum::Int(i64::from(*b)), &Type::Int2)).collect()
            }
            (other, _) => mismatch(other, ty, "Vec"),
        }
    }
}

impl<T: FromDatum> FromDatum for Option<T> {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        if value.is_null() { Ok(None) } else { T::from_datum(value, ty).map(Some) }
    }
}

impl FromDatum for Datum {
    fn from_datum(value: &Datum, _: &Type) -> Result<Self> {
        Ok(value.clone())
    }
}

/// No rows, no columns.
impl Default for Rows {
    fn default() -> Rows {
        Rows::empty()
    }
}

impl Rows {
    /// No rows, no columns.
    pub(crate) fn empty() -> Rows {
        Rows { columns: Columns::default(), rows: Vec::new() }
    }
}

impl Column {
    /// Whether people expect it flush right: numbers.
    pub fn is_right_aligned(&self) -> bool {
        use planaria_base::types::TypeClass::{Float, Integer, Numeric};
        matches!(self.ty.class(), Integer | Numeric | Float)
    }
}
