//! Definitions in PostgreSQL's normal form: *deparsing*, as its `ruleutils.c` has it.
//!
//! The catalog keeps expressions and queries as they were written. Whoever reads one back gets it as PostgreSQL would show it:
//!
//! 1. `analysis`, `calls`, `query`: the syntax tree is understood as PostgreSQL's parser understands it. Names are resolved,
//!    overloads chosen by `pg_proc` and `pg_operator`, implicit conversions put in by `pg_cast` (`coerce`), constants read
//!    by the type that they have. The outcome is a tree of its own (`node`): what a name leads to in the engine matters
//!    nothing here, what PostgreSQL calls it matters alone.
//! 2. `print`, `print_query`: that tree is written in the layout of `ruleutils.c`: each operator in parentheses, or, *pretty*,
//!    only where they are needed; casts as `::`; one line for each output of a query.
//!
//! It is done when somebody asks: old databases show it at once, and a name that has changed needs nothing more. What step 1
//! does not understand is no error: `None`, and the text is shown as it was written, the whole of it.
//!
//! *Invariant*: a text in normal form, made the definition again, has the normal form that it has in PostgreSQL: itself, but for
//! few (an array that is converted whole comes back as one whose elements are).

mod analysis;
mod builtin;
mod calls;
mod coerce;
mod node;
mod print;
mod print_query;
mod query;
mod symbols;
mod uses;

use analysis::{Analysis, Level, columns_of, declared, row_of};
use coerce::{BOOL, Context};
use node::{Node, NodeKind, Relation, RelationKind, Ty};
use planaria_base::{Type, TypeId};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, Mode, Procedure, Table, View};
use planaria_syntax::ast::Query;
use print::Printer;
pub use uses::columns_used;

/// What an expression is over.
#[derive(Clone, Copy)]
pub enum Over<'c> {
    /// Nothing.
    Nothing,
    /// The columns of a table.
    Table(&'c Table),
    /// The old and the new row of a trigger.
    Rows(&'c Table),
    /// The parameters of a routine that have names.
    Parameters(&'c Procedure),
    /// VALUE, of a domain over that type.
    Value(&'c Type, Option<TypeId>),
}

/// What becomes of an expression's value.
#[derive(Clone, Copy)]
pub enum Wanted<'c> {
    /// It is what it is.
    Any,
    /// It is a condition.
    Condition,
    /// It is stored as that type, or in that domain.
    Stored(&'c Type, Option<TypeId>),
}

/// An expression in normal form.
pub struct Deparsed {
    /// The text.
    pub text: String,
    /// Whether it is a call: an index has those without parentheses around them.
    pub call: bool,
    /// Whether it is nothing but a column.
    pub column: bool,
}

impl Analysis<'_> {
    /// A relation that the text is over, by that name.
    fn over(&mut self, table: &Table, name: &str, alone: bool) {
        let columns = columns_of(self.catalog, table);
        let number = self.relations.len();
        self.relations.push(Relation {
            name: name.to_owned(),
            aliased: false,
            columns: Vec::new(),
            shows_columns: false,
            lateral: false,
            row: row_of(self.catalog, table.schema, &table.name),
            kind: RelationKind::Cte(name.to_owned()),
        });
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let level = &mut self.levels[0];
        if alone {
            let column = |(n, ty): &(String, Ty)| {
                (n.clone(), Node { ty: *ty, kind: NodeKind::Column(Some(number), n.clone()) })
            };
            level.visible.extend(columns.iter().map(column));
        }
        level.relations.push((name.to_owned(), number, columns));
    }
}

/// An expression that is kept, in normal form; `None` where it cannot be had. Its names are those of home.
pub fn expression(
    catalog: &Catalog,
    text: &str,
    over: Over<'_>,
    wanted: Wanted<'_>,
    pretty: bool,
) -> Option<Deparsed> {
    expression_from(catalog.home(), catalog, text, over, wanted, pretty)
}

/// An expression that has been shown, without the parentheses that nobody needs.
pub fn plain(catalog: &Catalog, text: &str, over: Over<'_>) -> Option<String> {
    expression_from(catalog, catalog, text, over, Wanted::Any, true).map(|e| e.text)
}

/// An expression whose names are found along the path of the first catalog, to be shown along that of the second.
fn expression_from(
    names: &Catalog,
    catalog: &Catalog,
    text: &str,
    over: Over<'_>,
    wanted: Wanted<'_>,
    pretty: bool,
) -> Option<Deparsed> {
    let expr = planaria_syntax::parse::expression(text).ok()?;
    let mut analysis = Analysis::new(names, catalog, text);
    match over {
        Over::Nothing => {}
        Over::Table(table) => analysis.over(table, &table.name, true),
        Over::Rows(table) => {
            analysis.over(table, "old", false);
            analysis.over(table, "new", false);
        }
        Over::Parameters(procedure) => {
            let mut level = Level::default();
            for p in procedure.parameters.iter().filter(|p| !p.name.is_empty() && p.mode != Mode::Table) {
                let ty = declared(catalog, &p.ty, p.domain);
                let kind = NodeKind::Column(None, p.name.clone());
                level.visible.push((p.name.clone(), Node { ty, kind }));
            }
            analysis.levels.push(level);
        }
        Over::Value(ty, domain) => analysis.value = Some(declared(catalog, ty, domain)),
    }
    let node = analysis.expr(&expr)?;
    let node = match wanted {
        Wanted::Any => analysis.known(node)?,
        Wanted::Condition => analysis.coerce(node, Ty::plain(BOOL), Context::Assignment)?,
        Wanted::Stored(ty, domain) => {
            analysis.coerce(node, declared(catalog, ty, domain), Context::Assignment)?
        }
    };
    let mut printer = Printer::new(&analysis, pretty);
    for (number, relation) in analysis.relations.iter().enumerate().take(2) {
        if matches!(relation.kind, RelationKind::Cte(_)) && number < names_of(over) {
            printer.names.insert(number, relation.name.clone());
            printer.taken.push(relation.name.clone());
        }
    }
    printer.qualified = matches!(over, Over::Rows(_));
    printer.expr(&node, false);
    let (call, column) = (is_call(&node), matches!(node.kind, NodeKind::Column(..)));
    (!printer.failed).then_some(Deparsed { text: printer.out, call, column })
}

/// How many relations an expression is over.
fn names_of(over: Over<'_>) -> usize {
    match over {
        Over::Nothing | Over::Parameters(_) | Over::Value(..) => 0,
        Over::Table(_) => 1,
        Over::Rows(_) => 2,
    }
}

/// Whether something looks like a call: what an index or a key needs no parentheses around.
fn is_call(node: &Node) -> bool {
    matches!(
        &node.kind,
        NodeKind::Call(_)
            | NodeKind::Coalesce(_)
            | NodeKind::MinMax(..)
            | NodeKind::NullIf(..)
            | NodeKind::SqlValue(_)
            | NodeKind::Worded(..)
    )
}

/// The domains that the columns of a query have, or their elements, where they have some; `None` where it cannot be said. Of a
/// query in `text`.
pub fn domains_of_columns(catalog: &Catalog, query: &Query, text: &str) -> Option<Vec<Option<TypeId>>> {
    let node = Analysis::new(catalog, catalog, text).query(query)?;
    let domain = |(_, ty): (String, Ty)| match catalog.oids.object(ty.oid)? {
        Object::Type(id) | Object::TypeArray(id) => {
            catalog.types.get(id.index())?.as_deref()?.domain().map(|_| *id)
        }
        _ => None,
    };
    Some(node.columns.into_iter().map(domain).collect())
}

/// A view's query in normal form, without the semicolon; `None` where it cannot be had.
pub fn view(catalog: &Catalog, view: &View, pretty: bool) -> Option<String> {
    // What a word there says of how it is computed is not kept.
    if view.query.to_ascii_lowercase().contains("materialized") {
        return None;
    }
    let query = planaria_syntax::parse::query(&view.query).ok()?;
    let mut analysis = Analysis::new(catalog.home(), catalog, &view.query);
    let node = analysis.query(&query)?;
    let mut printer = Printer::new(&analysis, pretty);
    printer.taken.extend(print_query::OF_VIEWS.map(str::to_owned));
    printer.query(&node, Some(&view.columns), true);
    (!printer.failed).then_some(printer.out)
}
