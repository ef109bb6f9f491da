//! Parameters by name, and any number of them.

use crate::params::{Param, ParamRef, Params};
use crate::session::given::Given;
use planaria_base::{Error, Result, SqlState};
use planaria_syntax::parse::{self, Numbered};
use std::fmt;

/// Parameters by name, as [`named!`](crate::named!) makes them.
#[derive(Clone, Copy)]
pub struct Named<'a, const N: usize> {
    /// Their names.
    pub names: [&'a str; N],
    /// Their values.
    pub values: [&'a dyn Param; N],
}

impl<const N: usize> fmt::Debug for Named<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Named").field(&self.names).finish()
    }
}

impl<const N: usize> Params for Named<'_, N> {
    fn count(&self) -> usize {
        N
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        self.values[i].as_param()
    }
    fn names(&self) -> Option<&[&str]> {
        Some(&self.names)
    }
}

/// Parameters by name: a statement has them as `:name`, a call as the names of the routine's parameters. A name alone is
/// a variable of that name.
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// use planaria::named;
/// let db = planaria::Database::in_memory()?;
/// db.execute_script(
///     "CREATE TABLE t (id int PRIMARY KEY, name text);
///      CREATE PROCEDURE add(p_id int, p_name text DEFAULT 'nobody', p_times int DEFAULT 1) LANGUAGE plpgsql AS $$
///      BEGIN
///          INSERT INTO t SELECT p_id + n, p_name FROM generate_series(0, p_times - 1) n;
///      END $$;",
/// )?;
/// let name = "one";
/// db.execute("INSERT INTO t VALUES (:id, :name)", named! { id: 1, name })?;
/// db.call("add", named! { p_times: 2, p_id: 10 })?;
/// let rows = db.query("SELECT name FROM t WHERE id BETWEEN :from AND :from + :more ORDER BY id", named! { from: 10, more: 5 })?;
/// assert_eq!(rows.len(), 2);
/// # Ok(()) }
/// ```
///
/// Quotes, comments, bodies, casts (`::`) and slices (`a[1:n]`) are left alone. A name that the statement does not have, or
/// one for which there is no value, is an error (42P02).
#[macro_export]
macro_rules! named {
    (@value $name:ident) => { $name };
    (@value $name:ident $value:expr) => { $value };
    ($($name:ident $(: $value:expr)?),* $(,)?) => {
        $crate::Named {
            names: [$($crate::named!(@name $name)),*],
            values: [$(&$crate::named!(@value $name $($value)?) as &dyn $crate::Param),*],
        }
    };
    (@name $name:ident) => {{
        const NAME: &str = $crate::Named::<0>::plain(stringify!($name));
        NAME
    }};
}

/// Any number of parameters of any types, by position.
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// let db = planaria::Database::in_memory()?;
/// let rows = db.query("SELECT $1::int + $2::int, $3::text", planaria::params![1, 2i64, "three"])?;
/// assert_eq!(rows[0].get::<i32>(0)?, 3);
/// # Ok(()) }
/// ```
#[macro_export]
macro_rules! params {
    () => { () };
    ($($value:expr),+ $(,)?) => { &[$(&$value as &dyn $crate::Param),+][..] };
}

impl Named<'_, 0> {
    /// The name without `r#`.
    #[doc(hidden)]
    pub const fn plain(name: &str) -> &str {
        match name.as_bytes() {
            [b'r', b'#', ..] => name.split_at(2).1,
            _ => name,
        }
    }
}

/// Parameters by name, in the order in which a statement has them.
pub(crate) struct InOrder<'a> {
    pub(crate) params: &'a dyn Params,
    pub(crate) order: &'a [usize],
}

impl Params for InOrder<'_> {
    fn count(&self) -> usize {
        self.order.len()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        self.params.param(self.order[i])
    }
}

/// A statement that is given parameters by name.
pub(crate) fn numbered(sql: &str) -> Result<Numbered> {
    Ok(parse::numbered(sql)?.unwrap_or_else(|| Numbered::of(sql)))
}

/// Of each parameter of a statement, which of those given it is.
pub(crate) fn order(given: &[&str], wanted: &[String]) -> Result<Vec<usize>> {
    for (i, name) in given.iter().enumerate() {
        if given[..i].contains(name) {
            let message = format!("parameter :{name} is given twice");
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message));
        }
        if !wanted.iter().any(|wanted| wanted == name) {
            let error =
                Error::new(SqlState::UNDEFINED_PARAMETER, format!("the statement has no parameter :{name}"));
            return Err(match wanted {
                [] => error.with_hint("It has no parameters by name."),
                wanted => error.with_hint(format!("It has {}.", shown(wanted.iter().map(String::as_str)))),
            });
        }
    }
    let place = |name: &String| {
        given.iter().position(|given| given == name).ok_or_else(|| {
            let error =
                Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no value for parameter :{name}"));
            match given {
                [] => error,
                given => error.with_detail(format!("There are {}.", shown(given.iter().copied()))),
            }
        })
    };
    wanted.iter().map(place).collect()
}

fn shown<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!(":{name}")).collect::<Vec<_>>().join(", ")
}

/// An error of the numbered text, where it is in that with names.
#[cold]
pub(crate) fn moved(mut error: Error, numbered: &Numbered) -> Error {
    let position = &mut error.fields_mut().position;
    *position = position.map(|at| u32::try_from(numbered.origin(at as usize)).unwrap_or(at));
    error
}

/// Tells who gave parameters by position to a statement that has them by name.
#[cold]
pub(crate) fn hinted(error: Error, sql: &str) -> Error {
    let by_name = error.sqlstate() == SqlState::SYNTAX_ERROR
        && error.fields().hint.is_none()
        && matches!(parse::numbered(sql), Ok(Some(_)));
    if by_name { error.with_hint("Give parameters by name with planaria::named!.") } else { error }
}

/// 22023 where a prepared call gets other arguments than those it was prepared for.
#[cold]
pub(crate) fn other_arguments(name: &str, given: &Given) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("\"{name}\" was prepared for {given}"))
        .with_hint("Session::prepare_call_named prepares a call for arguments by name, in their order.")
}
