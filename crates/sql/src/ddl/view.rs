//! CREATE VIEW: the query is described, so that what is wrong with it shows now, and kept as text.

use super::{Change, names};
use crate::lower::{Lowerer, Scope};
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::{Object, View, key};
use planaria_ir::{Output, ProgramKind};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{AlterView, ExprKind, Name, Query, QueryBody, ViewOptions};

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_TABLE_DEFINITION, message)
}

impl Change {
    /// The columns of a query.
    pub(super) fn describe(&self, query: &Query) -> Result<Vec<Output>> {
        Lowerer::new(&self.catalog.ready(), "view", ProgramKind::Statement)
            .of_kept_text()
            .describe(&Scope::new(), query)
    }

    /// The columns of a query that is kept as text.
    pub(super) fn describe_kept(&self, query: &Query) -> Result<Vec<Output>> {
        Lowerer::new(&self.catalog.at_home(), "view", ProgramKind::Statement)
            .of_kept_text()
            .describe(&Scope::new(), query)
    }

    /// Whether a query names a temporary relation.
    pub(super) fn reads_temporary(&self, query: &Query) -> bool {
        let mut found = false;
        visit::query(query, &mut |node| {
            if let Node::Relation(name) = node {
                let wanted = names::relation_wanted(&self.catalog, name);
                let of = wanted.ok().and_then(|w| w.schema.filter(|_| self.catalog.relation_exists(w)));
                found |= of.is_some_and(|schema| self.catalog.is_temporary(schema));
            }
        });
        found
    }

    pub(super) fn create_view(
        &mut self,
        name: &Name,
        or_replace: bool,
        columns: &[String],
        options: &ViewOptions,
        (query, query_text): (&Query, &str),
    ) -> Result<&'static str> {
        if crate::lower::changes_in_with(query) {
            let message = "views must not contain data-modifying statements in WITH";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        refuse_parameters(query)?;
        let outputs = self.describe(query)?;
        let written = crate::lower::written_out(&self.catalog.ready(), query_text);
        let (_, written) = written.map_err(|e| e.within(query.position))?;
        let written = crate::lower::qualified_query(&self.catalog, &written)?;
        if columns.len() > outputs.len() {
            let message = "CREATE VIEW specifies more column names than columns";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(name.position));
        }
        // Whether it may be made there is asked once it is known what it is.
        let (mut schema, local) = self.new_name(name)?;
        if let Some(temporary) = self.catalog.path().temporary()
            && temporary != schema
            && self.reads_temporary(query)
        {
            self.notice(
                SqlState::SUCCESSFUL_COMPLETION,
                format!("view \"{local}\" will be a temporary view"),
            );
            schema = temporary;
        }
        let key = key(schema, local);
        let mut all: Vec<String> = columns.to_vec();
        all.extend(outputs[columns.len()..].iter().map(|o| o.name.clone()));
        for (i, column) in all.iter().enumerate() {
            if all[..i].contains(column) {
                let message = format!("column \"{column}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(name.position));
            }
        }
        outputs.iter().try_for_each(|output| self.require_types(&output.ty, None))?;
        let pseudo =
            |output: &&Output| matches!(&output.ty, planaria_base::Type::Record(row) if row.of.is_none());
        let of_pseudo = outputs.iter().zip(&all).find(|(output, _)| pseudo(output));
        if let Some((_, column)) = of_pseudo.filter(|_| !self.actor.internal) {
            return Err(invalid(format!("column \"{column}\" has pseudo-type record")));
        }
        if let Some(old) = self.catalog.views.get(&key).filter(|v| !v.stored) {
            if !or_replace {
                return Err(names::relation_exists(local));
            }
            self.catalog.require_owner(self.actor.user, &Object::View(key.clone()))?;
            match self.describe_kept(&super::reparse::query(&old.query)?) {
                Ok(old_types) => replaceable(old, &old_types, &all, &outputs)?,
                // It reads itself, so nobody reads it: that is what is to be mended.
                Err(e) if e.sqlstate() == SqlState::INVALID_OBJECT_DEFINITION => {}
                Err(e) => return Err(e),
            }
        } else if self.catalog.relation_exists((schema, local)) {
            return Err(if or_replace {
                Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{local}\" is not a view"))
            } else {
                names::relation_exists(local)
            });
        }
        let rights = self.new_rights(planaria_catalog::ObjectKind::View, schema);
        let new = || View::new(schema, local.to_owned(), Vec::new(), String::new(), rights);
        // Rights and comments stay with the name.
        let kept = self.catalog.views.get(&key).cloned().unwrap_or_else(new);
        let mut view = View { columns: all, query: written, ..kept };
        view.check_option = options.check.flatten();
        view.security_invoker = options.security_invoker.unwrap_or(false);
        view.security_barrier = options.security_barrier.unwrap_or(false);
        view.option_order.clear();
        view.say_options(&options.order);
        self.check_updatable(&view)?;
        if view.rows.is_some() {
            view.rows = Some(Box::new(self.rows_of_view(&view)?));
        }
        self.catalog.views.insert(key, view);
        Ok("CREATE VIEW")
    }

    /// 0A000 for CHECK OPTION of a view that nobody writes through.
    fn check_updatable(&self, view: &View) -> Result<()> {
        if view.check_option.is_none() {
            return Ok(());
        }
        match crate::lower::writable(&self.catalog.ready(), view) {
            Err(e) if e.sqlstate() == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
                let message = "WITH CHECK OPTION is supported only on automatically updatable views";
                let refused = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                Err(match e.detail() {
                    Some(reason) => refused.with_hint(reason),
                    None => refused,
                })
            }
            other => other,
        }
    }

    pub(super) fn alter_view(
        &mut self,
        name: &Name,
        if_exists: bool,
        action: &AlterView,
        tag: &'static str,
    ) -> Result<&'static str> {
        let local = names::relation_wanted(&self.catalog, name)?;
        let Some(view) = self.catalog.view(local).cloned() else {
            if self.catalog.relation_exists(local) {
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{local}\" is not a view")));
            }
            let mut missing = names::no_relation(name);
            missing.fields_mut().position = None;
            if if_exists {
                self.skip_missing(&missing);
                return Ok(tag);
            }
            return Err(missing);
        };
        self.catalog.require_owner(self.actor.user, &Object::View(view.key()))?;
        let mut new = view.clone();
        match action {
            AlterView::RenameColumn { from, to } => {
                let Some(at) = view.columns.iter().position(|c| c == from) else {
                    let message = format!("column \"{from}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                };
                if view.columns.contains(to) {
                    let message = format!("column \"{to}\" of relation \"{}\" already exists", view.name);
                    return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
                }
                new.columns[at].clone_from(to);
                if let Some(text) = new.defaults.remove(from) {
                    new.defaults.insert(to.clone(), text);
                }
                if let Some(text) = new.column_comments.remove(from) {
                    new.column_comments.insert(to.clone(), text);
                }
                new.rights.move_column(from, Some(to));
                return self.rename_view_column(&view, new, from).map(|()| tag);
            }
            AlterView::Options(options) => {
                new.check_option = options.check.unwrap_or(view.check_option);
                new.security_invoker = options.security_invoker.unwrap_or(view.security_invoker);
                new.security_barrier = options.security_barrier.unwrap_or(view.security_barrier);
                new.say_options(&options.order);
                self.check_updatable(&new)?;
            }
            AlterView::Default { column, default } => {
                let outputs = self.describe_kept(&super::reparse::query(&view.query)?)?;
                let Some(at) = view.columns.iter().position(|c| c == column) else {
                    let message = format!("column \"{column}\" of relation \"{}\" does not exist", view.name);
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                };
                match default {
                    Some((e, text)) => {
                        super::lowering::check_default(&self.catalog, column, &outputs[at].ty, e)?;
                        let text = crate::lower::qualified_expression(&self.catalog, text)?;
                        new.defaults.insert(column.clone(), text);
                    }
                    None => {
                        new.defaults.remove(column);
                    }
                }
            }
        }
        if new.rows.is_some() {
            new.rows = Some(Box::new(self.rows_of_view(&new)?));
        }
        self.catalog.views.insert(view.key(), new);
        Ok(tag)
    }
}

impl Change {
    /// A view with a column of another name takes its place. 0A000 where something names the column: what does is kept as
    /// text.
    fn rename_view_column(&mut self, old: &View, mut new: View, from: &str) -> Result<()> {
        let message = format!("column \"{from}\" of view \"{}\" cannot be renamed", old.name);
        let mentioned = super::schema::mention(&self.catalog, old.schema, &old.name);
        self.refuse_named_by_policies(None, &mentioned, Some(from), &message)?;
        self.refuse_named_by_routines(&mentioned, &message)?;
        let before = self.views_over(&mentioned)?;
        if new.rows.is_some() {
            new.rows = Some(Box::new(self.rows_of_view(&new)?));
        }
        self.catalog.views.insert(old.key(), new);
        self.refuse_changed_views(before, &message)
    }
}

/// A view may be replaced by one with the same first columns.
fn replaceable(old: &View, old_types: &[Output], new: &[String], outputs: &[Output]) -> Result<()> {
    if new.len() < old.columns.len() {
        return Err(invalid("cannot drop columns from view".into()));
    }
    for (i, (was, is)) in old.columns.iter().zip(new).enumerate() {
        if was != is {
            return Err(invalid(format!("cannot change name of view column \"{was}\" to \"{is}\""))
                .with_hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."));
        }
        let (was, ty) = (&old_types[i].ty, &outputs[i].ty);
        if was != ty {
            return Err(invalid(format!(
                "cannot change data type of view column \"{is}\" from {was} to {ty}"
            )));
        }
    }
    Ok(())
}

/// `$1` and INTO have no place in a view.
pub(super) fn refuse_parameters(query: &Query) -> Result<()> {
    if let QueryBody::Select(select) = &query.body
        && let Some(into) = &select.into
    {
        let message = "views must not contain SELECT INTO";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(into.position));
    }
    let mut found = None;
    visit::query(query, &mut |node| {
        if let Node::Expr(e) = node
            && let ExprKind::Parameter(n) = e.kind
        {
            found.get_or_insert((n, e.position));
        }
    });
    match found {
        Some((n, position)) => {
            Err(Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${n}")).at(position))
        }
        None => Ok(()),
    }
}
