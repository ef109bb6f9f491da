//! Calls of functions, aggregates and window functions.

use super::{Expr, Name, OrderItem, Window};

/// A call.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionCall {
    /// Function.
    pub name: Name,
    /// Arguments with their names in `name => value` notation.
    pub args: Vec<Argument>,
    /// `count(*)`
    pub star: bool,
    /// `DISTINCT`
    pub distinct: bool,
    /// `ORDER BY` inside an aggregate, or of WITHIN GROUP
    pub order_by: Vec<OrderItem>,
    /// `WITHIN GROUP (ORDER BY ..)`
    pub within_group: bool,
    /// `FILTER (WHERE ..)`
    pub filter: Option<Expr>,
    /// `OVER (..)`
    pub over: Option<Window>,
    /// `VARIADIC` before the last argument
    pub variadic: bool,
    /// Words stood between the arguments: `extract(f FROM e)`, `trim(e)`
    pub worded: bool,
}

impl FunctionCall {
    /// A call without anything but arguments.
    pub fn plain(name: Name, args: Vec<Argument>) -> FunctionCall {
        FunctionCall {
            name,
            args,
            star: false,
            distinct: false,
            order_by: Vec::new(),
            within_group: false,
            filter: None,
            over: None,
            variadic: false,
            worded: false,
        }
    }
}

/// An argument.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    /// `name =>`
    pub name: Option<String>,
    /// Value.
    pub value: Expr,
}
