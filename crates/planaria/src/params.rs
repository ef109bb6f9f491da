//! Parameters: how Rust values become arguments of calls and `$n` of statements.
//!
//! ```
//! # fn main() -> planaria::Result<()> {
//! let db = planaria::Database::in_memory()?;
//! let rows = db.query("SELECT $1 + $2, upper($3)", (1, 2, "abc"))?;
//! assert_eq!(rows[0].get::<i32>(0)?, 3);
//! assert_eq!(rows[0].get::<String>(1)?, "ABC");
//! # Ok(()) }
//! ```
//!
//! Nothing is allocated on the way: a parameter lends itself as a [`ParamRef`], and the engine
//! writes it straight into the call's registers, converted to the declared type.

use planaria_base::datetime::Interval;
use planaria_base::numeric::Long;
use planaria_base::shape::Shaped;
use planaria_base::{Datum, Numeric, SqlState};
use std::fmt;

/// A borrowed parameter.
#[derive(Clone, Copy)]
pub enum ParamRef<'a> {
    /// NULL
    Null,
    /// boolean
    Bool(bool),
    /// any integer
    Int(i64),
    /// an integer, or a date or a time by the number that it is kept as: what a [`Datum`] holds
    Stored(i64),
    /// double precision
    Float(f64),
    /// numeric
    Numeric(Numeric),
    /// numeric of more than 35 digits, NaN or an infinity
    Long(&'a Long),
    /// text; also the text form of any other type
    Text(&'a str),
    /// bytea
    Bytes(&'a [u8]),
    /// uuid
    Uuid([u8; 16]),
    /// interval
    Interval(Interval),
    /// array; one of arrays that are alike has them as its rows
    Array(&'a dyn Params),
    /// array of several dimensions, or whose first element is not number 1
    Shaped(&'a Shaped),
    /// date, in days from 2000-01-01
    Date(i64),
    /// time, in microseconds from midnight
    Time(i64),
    /// timestamp, in microseconds from 2000-01-01 00:00
    Timestamp(i64),
    /// timestamp with time zone, in microseconds from 2000-01-01 00:00 UTC
    TimestampTz(i64),
    /// json or jsonb, as it writes itself; a [`fmt::Error`] refuses it
    Json(&'a dyn fmt::Display),
    /// A value that no SQL value can be: the statement fails with this.
    Refused(SqlState, &'static str),
}

/// A value that can be a parameter.
pub trait Param {
    /// Lends the value.
    fn as_param(&self) -> ParamRef<'_>;

    /// Lends a vector of such values: an array, but for bytes.
    #[doc(hidden)]
    fn vec_as_param(values: &Vec<Self>) -> ParamRef<'_>
    where
        Self: Sized,
    {
        ParamRef::Array(values)
    }
}

/// A list of parameters: tuples, slices and arrays of [`Param`]s, `()` for none; [`params!`](crate::params!) for any number
/// of them, [`named!`](crate::named!) and `#[derive(Params)]` for those with names.
pub trait Params {
    /// How many.
    fn count(&self) -> usize;
    /// The `i`-th, from 0; `i` is below `count`.
    fn param(&self, i: usize) -> ParamRef<'_>;
    /// Their names, if they are not by position: a statement says `:name`, and a call gives each argument to the parameter
    /// of that name.
    #[inline]
    fn names(&self) -> Option<&[&str]> {
        None
    }
}

macro_rules! simple_params {
    ($($ty:ty => |$v:ident| $e:expr;)*) => {
        $(impl Param for $ty { #[inline] fn as_param(&self) -> ParamRef<'_> { let $v = self; $e } })*
    };
}

simple_params! {
    bool => |v| ParamRef::Bool(*v);
    i8 => |v| ParamRef::Int(i64::from(*v));
    i16 => |v| ParamRef::Int(i64::from(*v));
    i32 => |v| ParamRef::Int(i64::from(*v));
    u16 => |v| ParamRef::Int(i64::from(*v));
    u32 => |v| ParamRef::Int(i64::from(*v));
    i64 => |v| ParamRef::Int(*v);
    isize => |v| ParamRef::Int(*v as i64);
    u64 => |v| whole(*v);
    usize => |v| whole(*v as u64);
    f32 => |v| ParamRef::Float(f64::from(*v));
    f64 => |v| ParamRef::Float(*v);
    Numeric => |v| ParamRef::Numeric(*v);
    str => |v| ParamRef::Text(v);
    String => |v| ParamRef::Text(v);
    [u8; 16] => |v| ParamRef::Uuid(*v);
    Interval => |v| ParamRef::Interval(*v);
    [u8] => |v| ParamRef::Bytes(v);
}

/// What is too large for an integer is a numeric.
fn whole<'a>(n: u64) -> ParamRef<'a> {
    let large = |_| ParamRef::Numeric(Numeric::from_i128(i128::from(n)).expect("it has at most 20 digits"));
    i64::try_from(n).map_or_else(large, ParamRef::Int)
}

impl Param for u8 {
    #[inline]
    fn as_param(&self) -> ParamRef<'_> {
        ParamRef::Int(i64::from(*self))
    }
    fn vec_as_param(bytes: &Vec<u8>) -> ParamRef<'_> {
        ParamRef::Bytes(bytes)
    }
}

impl<P: Param + ?Sized> Param for &P {
    #[inline]
    fn as_param(&self) -> ParamRef<'_> {
        (**self).as_param()
    }
}

impl<P: Param> Param for Option<P> {
    #[inline]
    fn as_param(&self) -> ParamRef<'_> {
        self.as_ref().map_or(ParamRef::Null, Param::as_param)
    }
}

/// A Rust vector is a SQL array; one of bytes, as a slice of them, is `bytea`.
impl<P: Param> Param for Vec<P> {
    fn as_param(&self) -> ParamRef<'_> {
        P::vec_as_param(self)
    }
}

/// `bytea`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Param for Bytes<'_> {
    fn as_param(&self) -> ParamRef<'_> {
        ParamRef::Bytes(self.0)
    }
}

impl Param for Datum {
    fn as_param(&self) -> ParamRef<'_> {
        match self {
            Datum::Null => ParamRef::Null,
            Datum::Bool(b) => ParamRef::Bool(*b),
            Datum::Int(i) => ParamRef::Stored(*i),
            Datum::Float(f) => ParamRef::Float(*f),
            Datum::Numeric(n) => ParamRef::Numeric(*n),
            Datum::Long(n) => ParamRef::Long(n),
            Datum::Text(t) | Datum::Jsonb(t) | Datum::Citext(t) => ParamRef::Text(t),
            Datum::Bytea(b) => ParamRef::Bytes(b),
            Datum::Uuid(u) => ParamRef::Uuid(*u),
            Datum::Interval(i) => ParamRef::Interval(*i),
            Datum::Reg(oid, _) => ParamRef::Int(i64::from(*oid)),
            Datum::Array(a) => ParamRef::Array(a),
            Datum::Shaped(a) => ParamRef::Shaped(a),
        }
    }
}

impl<P: Param> Params for Vec<P> {
    fn count(&self) -> usize {
        self.len()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        self[i].as_param()
    }
}

impl<P: Param> Params for &[P] {
    fn count(&self) -> usize {
        self.len()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        self[i].as_param()
    }
}

impl<P: Param, const N: usize> Params for [P; N] {
    fn count(&self) -> usize {
        N
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        self[i].as_param()
    }
}

impl<P: Params + ?Sized> Params for &P {
    fn count(&self) -> usize {
        (**self).count()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        (**self).param(i)
    }
    #[inline]
    fn names(&self) -> Option<&[&str]> {
        (**self).names()
    }
}

impl Params for () {
    fn count(&self) -> usize {
        0
    }
    fn param(&self, _: usize) -> ParamRef<'_> {
        ParamRef::Null
    }
}

macro_rules! tuple_params {
    ($($n:literal: $($t:ident $i:tt),*;)*) => {
        $(impl<$($t: Param),*> Params for ($($t,)*) {
            fn count(&self) -> usize { $n }
            #[inline]
            fn param(&self, i: usize) -> ParamRef<'_> {
                match i { $($i => self.$i.as_param(),)* _ => ParamRef::Null }
            }
        })*
    };
}

tuple_params! {
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
    13: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12;
    14: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13;
    15: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14;
    16: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15;
}
