//! What is kept as text says the schema of what is not in `public`, so that it means the same from everywhere.
//!
//! A text is kept as it was written, but for the names that were found along the path of the session that wrote it: those
//! of another schema get it put before them.

use super::Lowerer;
use super::view_text::{Edit, edited};
use planaria_base::text_io::quote_ident;
use planaria_base::types::SystemType;
use planaria_base::{Error, Result, SchemaId};
use planaria_catalog::{Catalog, Wanted, reg, system};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{Expr, ExprKind, TypeName, TypeNameKind};

/// Functions that take the name of a sequence.
const OF_SEQUENCES: &[&str] = &["nextval", "currval", "setval"];

/// The text of an expression, with schemas.
pub(crate) fn qualified_expression(catalog: &Catalog, text: &str) -> Result<String> {
    if catalog.path().is_home() {
        return Ok(text.to_owned());
    }
    let kept = |schema, _: Kind, _: &str| schema != SchemaId::PUBLIC;
    Writer { catalog, text, needed: &kept, edits: Vec::new(), temporary: false }.expression()
}

/// The text of a query, with schemas.
pub(crate) fn qualified_query(catalog: &Catalog, text: &str) -> Result<String> {
    if catalog.path().is_home() {
        return Ok(text.to_owned());
    }
    let kept = |schema, _: Kind, _: &str| schema != SchemaId::PUBLIC;
    Writer { catalog, text, needed: &kept, edits: Vec::new(), temporary: false }.query()
}

/// The text of statements, with schemas.
pub(crate) fn qualified_statements(catalog: &Catalog, text: &str) -> Result<String> {
    if catalog.path().is_home() {
        return Ok(text.to_owned());
    }
    let kept = |schema, _: Kind, _: &str| schema != SchemaId::PUBLIC;
    Writer { catalog, text, needed: &kept, edits: Vec::new(), temporary: false }.statements()
}

/// Statements that are kept, as they are to be written along the catalog's path.
pub fn shown_statements(catalog: &Catalog, text: &str) -> String {
    if catalog.path().is_home() {
        return text.to_owned();
    }
    let hidden = |schema, kind, name: &str| is_hidden(catalog, schema, kind, name);
    let writer =
        Writer { catalog: catalog.home(), text, needed: &hidden, edits: Vec::new(), temporary: false };
    writer.statements().unwrap_or_else(|_| text.to_owned())
}

/// An expression that is kept, as it is to be written along the catalog's path.
pub fn shown_expression(catalog: &Catalog, text: &str) -> String {
    if catalog.path().is_home() {
        return text.to_owned();
    }
    let hidden = |schema, kind, name: &str| is_hidden(catalog, schema, kind, name);
    let writer =
        Writer { catalog: catalog.home(), text, needed: &hidden, edits: Vec::new(), temporary: false };
    writer.expression().unwrap_or_else(|_| text.to_owned())
}

/// A query that is kept, as it is to be written along the catalog's path.
pub fn shown_query(catalog: &Catalog, text: &str) -> String {
    if catalog.path().is_home() {
        return text.to_owned();
    }
    let hidden = |schema, kind, name: &str| is_hidden(catalog, schema, kind, name);
    let writer =
        Writer { catalog: catalog.home(), text, needed: &hidden, edits: Vec::new(), temporary: false };
    writer.query().unwrap_or_else(|_| text.to_owned())
}

impl Lowerer<'_> {
    /// Looks at the catalog from where what is kept as text does.
    pub(crate) fn at_home<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.catalog;
        let kept = std::mem::replace(&mut self.kept_text, true);
        self.catalog = outer.home();
        let result = f(self);
        (self.catalog, self.kept_text) = (outer, kept);
        result
    }

    /// Stays there: what follows is all kept as text.
    pub(crate) fn look_from_home(&mut self) {
        self.catalog = self.catalog.home();
        self.kept_text = true;
    }
}

/// What a name is of.
#[derive(Clone, Copy)]
enum Kind {
    Relation,
    Type,
    Routine,
}

/// Whether a name leads elsewhere along the path, or nowhere.
fn is_hidden(catalog: &Catalog, schema: SchemaId, kind: Kind, name: &str) -> bool {
    let found = match kind {
        Kind::Relation => schema_of(catalog, name),
        Kind::Type => type_schema(catalog, name),
        Kind::Routine => catalog.procedures_named(name).next().map(|p| p.schema),
    };
    found != Some(schema)
}

/// Puts schemas before names that have none.
struct Writer<'c> {
    /// In which the names mean what they mean.
    catalog: &'c Catalog,
    text: &'c str,
    /// Whether the schema has to be said.
    needed: &'c dyn Fn(SchemaId, Kind, &str) -> bool,
    edits: Vec<Edit>,
    /// A routine of `pg_temp` is called: it goes with the session.
    temporary: bool,
}

impl Writer<'_> {
    fn expression(mut self) -> Result<String> {
        let expr = planaria_syntax::parse::expression(self.text)?;
        visit::expr(&expr, &mut |node| self.note(node));
        self.done()
    }

    fn query(mut self) -> Result<String> {
        let query = planaria_syntax::parse::query(self.text)?;
        visit::query(&query, &mut |node| self.note(node));
        self.done()
    }

    fn done(self) -> Result<String> {
        if self.temporary {
            let what = "a definition that calls a routine of pg_temp is not supported";
            return Err(Error::unsupported(what, "Create the routine in a permanent schema."));
        }
        Ok(edited(self.text, self.edits))
    }

    fn statements(mut self) -> Result<String> {
        for statement in planaria_syntax::parse::statements(self.text)? {
            visit::statement(&statement, &mut |node| self.note(node));
        }
        self.done()
    }

    fn note(&mut self, node: Node<'_>) {
        match node {
            Node::Relation(name) => {
                if let [local] = &name.parts[..]
                    && let Some(schema) = schema_of(self.catalog, local)
                {
                    self.put(schema, Kind::Relation, local, name.position);
                }
            }
            Node::Call(call) => {
                if matches!(&call.name.parts[..], [schema, _] if schema == planaria_catalog::TEMPORARY) {
                    self.temporary = true;
                }
                if let [local] = &call.name.parts[..]
                    && !reg::is_built_in(local)
                    && let Some(routine) = self.catalog.procedures_named(local).next()
                {
                    self.put(routine.schema, Kind::Routine, local, call.name.position);
                }
                let last = call.name.parts.last().map_or("", String::as_str);
                if OF_SEQUENCES.contains(&last)
                    && let Some(argument) = call.args.first()
                {
                    self.literal(&argument.value);
                }
            }
            Node::Expr(Expr { kind: ExprKind::Cast(value, ty), .. }) if is_regclass(ty) => {
                self.literal(value)
            }
            Node::Type(ty) => {
                if let TypeNameKind::Named(name) | TypeNameKind::NamedArray(name) | TypeNameKind::RowOf(name) =
                    &ty.kind
                    && let [local] = &name.parts[..]
                    && let Some(schema) = type_schema(self.catalog, local)
                {
                    self.put(schema, Kind::Type, local, name.position);
                }
            }
            Node::Expr(_) | Node::Enter(_) | Node::Leave => {}
        }
    }

    /// Puts the schema of something before its name.
    fn put(&mut self, schema: SchemaId, kind: Kind, local: &str, position: u32) {
        if (self.needed)(schema, kind, local) {
            let at = position as usize;
            self.edits.push((at, at, format!("{}.", quote_ident(self.catalog.schema_name(schema)))));
        }
    }

    /// `'sequence'`, where it is written so.
    fn literal(&mut self, value: &Expr) {
        let ExprKind::String(name) = &value.kind else { return };
        let at = value.position as usize;
        let Ok(parts) = reg::split_name(name) else { return };
        if let [local] = &parts[..]
            && let Some(schema) = schema_of(self.catalog, local)
            && (self.needed)(schema, Kind::Relation, local)
            && self.text[at..].starts_with('\'')
        {
            let prefix = format!("{}.", quote_ident(self.catalog.schema_name(schema))).replace('\'', "''");
            self.edits.push((at + 1, at + 1, prefix));
        }
    }
}

fn is_regclass(ty: &TypeName) -> bool {
    matches!(&ty.kind, TypeNameKind::Known(ty) if *ty == planaria_base::Type::System(SystemType::RegClass))
}

/// The schema in which a relation of that name is found.
fn schema_of(catalog: &Catalog, local: &str) -> Option<SchemaId> {
    if system::unqualified(local).is_some() {
        return None;
    }
    let located: Wanted<'_> = catalog.located(local.into());
    let first = catalog.path().schemas().first().copied();
    located.schema.or(first).filter(|schema| catalog.relation_exists((*schema, local)))
}

/// The schema in which a type of that name is found, or a relation whose rows are of it.
fn type_schema(catalog: &Catalog, local: &str) -> Option<SchemaId> {
    let relation = || catalog.of_rows(catalog.located(local.into())).map(|t| t.schema);
    let extension =
        || catalog.extension_type(local.into()).and(catalog.extension("citext")).map(|e| e.schema);
    catalog.user_type(local).map(|t| t.schema).or_else(relation).or_else(extension)
}
