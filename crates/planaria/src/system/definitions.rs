//! Definitions as SQL, in the forms of PostgreSQL's `pg_get_...` functions.
//!
//! Expressions and queries are shown in its normal form ([`super::shown`]).

use super::shown;
use crate::settings::spelled;
use planaria_base::oid::Oid;
use planaria_base::text_io::{quote_ident, quote_literal};
use planaria_base::{Type, TypeId};
use planaria_catalog::oids::Object;
use planaria_catalog::{
    Catalog, CheckTime, Firing, Index, Language, Mode, Parameter, Procedure, ReferentialAction, Returns,
    StandardBody, Table, TriggerEvent, Volatility, path_names, reg,
};
use planaria_sql::deparse::{self, Over, Wanted};
use planaria_sql::lower::{shown_expression, shown_statements};
use planaria_syntax::ast::ExprKind;
use std::fmt::Write;

/// A language's name.
pub(super) fn language(language: Language) -> &'static str {
    match language {
        Language::PlPgSql => "plpgsql",
        Language::Sql => "sql",
    }
}

fn names(table: &Table, columns: &[planaria_base::ColumnId]) -> String {
    let names = columns.iter().map(|c| quote_ident(&table.columns[c.index()].name));
    names.collect::<Vec<_>>().join(", ")
}

/// The table and index of an OID.
fn find_index(catalog: &Catalog, oid: Oid) -> Option<(&Table, &Index)> {
    let Object::Index(table, name) = catalog.oids.object(oid)? else { return None };
    let table = catalog.table_by_id(*table);
    table.shown_indexes().find(|i| i.name == *name).map(|i| (table, i))
}

/// `pg_get_indexdef`: the statement, or the n-th column.
pub(super) fn index(catalog: &Catalog, oid: Oid, column: i64, pretty: bool) -> Option<String> {
    let (table, index) = find_index(catalog, oid)?;
    if column > 0 {
        let at = column as usize - 1;
        let included =
            index.definition.as_ref().and_then(|d| d.included.get(at.checked_sub(index.key_count())?));
        return Some(match (at < index.key_count(), included) {
            (true, _) => {
                let at = table.said_keys(index).nth(at)?;
                let text = table.key_text(index, at);
                shown::key(catalog, table, &text, pretty).unwrap_or_else(|| shown_expression(catalog, &text))
            }
            (false, Some(c)) => quote_ident(&table.columns[c.index()].name),
            (false, None) => String::new(),
        });
    }
    let unique = if index.is_unique() { "UNIQUE " } else { "" };
    let on = match pretty {
        true => catalog.shown_relation(table.schema, &table.name),
        false => catalog.shown(table.schema, &table.name, None),
    };
    // Those of its partitions are made by statements of their own.
    let only = if table.is_partitioned() { "ONLY " } else { "" };
    let mut text = format!(
        "CREATE {unique}INDEX {} ON {only}{on} USING {} ({})",
        quote_ident(&index.name),
        index.shown_method(),
        keys(catalog, table, index, pretty, false)
    );
    let definition = index.definition.as_ref();
    if let Some(definition) = definition.filter(|d| !d.included.is_empty()) {
        let _ = write!(text, " INCLUDE ({})", names(table, &definition.included));
    }
    if index.equal_nulls {
        text.push_str(" NULLS NOT DISTINCT");
    }
    if !index.options.is_empty() {
        let shown = index.options.iter().map(|option| {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let plain = quote_ident(value) == value;
            format!("{}={}", quote_ident(name), if plain { value.to_owned() } else { quote_literal(value) })
        });
        let _ = write!(text, " WITH ({})", shown.collect::<Vec<_>>().join(", "));
    }
    if let Some(predicate) = definition.and_then(|d| d.predicate.as_ref()) {
        let _ = write!(text, " WHERE {}", shown_predicate(catalog, table, predicate, pretty));
    }
    Some(text)
}

/// The condition of an index, in parentheses where PostgreSQL has them.
fn shown_predicate(catalog: &Catalog, table: &Table, predicate: &str, pretty: bool) -> String {
    if let Some(condition) = shown::condition(catalog, table, predicate, pretty) {
        return condition;
    }
    let predicate = shown_expression(catalog, predicate);
    let simple = planaria_syntax::parse::expression(&predicate)
        .is_ok_and(|e| matches!(e.kind, ExprKind::Column(_) | ExprKind::Call(_)));
    if pretty || simple { predicate } else { format!("({predicate})") }
}

/// The columns of an index with their order; of an exclusion constraint, if asked for, with their operators.
fn keys(catalog: &Catalog, table: &Table, index: &Index, pretty: bool, operators: bool) -> String {
    let key = |at: usize| {
        let kept = table.key_text(index, at);
        let mut text = shown::key(catalog, table, &kept, pretty).unwrap_or_else(|| {
            let text = shown_expression(catalog, &kept);
            if !pretty && text.starts_with('(') { format!("({text})") } else { text }
        });
        if let Some(order) = index.orders.get(at) {
            if let Some(collation) = &order.collation
                && table.key_collation(index, at) != Some(collation)
            {
                let _ = write!(text, " COLLATE {}", quote_ident(collation));
            }
            if let Some(class) = &order.class {
                let _ = write!(text, " {}", shown_class(catalog, class));
            }
            text.push_str(match (order.descending, order.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            });
        }
        if let Some(exclusion) = index.exclusion.as_ref().filter(|_| operators) {
            let _ = write!(text, " WITH {}", exclusion.operators[at].symbol());
        }
        text
    };
    table.said_keys(index).map(key).collect::<Vec<_>>().join(", ")
}

/// An operator class; one of an extension with its schema where the path does not lead there.
fn shown_class(catalog: &Catalog, class: &str) -> String {
    let of_trigrams = ["gin_trgm_ops", "gist_trgm_ops"].iter().any(|name| class.starts_with(name));
    let extension = catalog.extension("pg_trgm").filter(|_| of_trigrams);
    match extension.filter(|e| !catalog.path().schemas().contains(&e.schema)) {
        Some(e) => format!("{}.{class}", quote_ident(catalog.schema_name(e.schema))),
        None => class.to_owned(),
    }
}

/// `pg_get_constraintdef`
pub(super) fn constraint(catalog: &Catalog, oid: Oid, pretty: bool) -> Option<String> {
    let (table, name) = match catalog.oids.object(oid)? {
        Object::Constraint(table, name) => (table, name),
        Object::DomainConstraint(domain, name) => {
            let domain = catalog.domain(*domain);
            let check = domain.checks.iter().find(|c| c.name == *name)?;
            let over = Over::Value(&domain.base, domain.over);
            return Some(shown::check_text(catalog, over, check, pretty));
        }
        _ => return None,
    };
    let table = catalog.table_by_id(*table);
    if let Some(index) = table.shown_indexes().find(|i| i.constraint && i.name == *name) {
        if index.excludes() {
            let keys = keys(catalog, table, index, pretty, true);
            let mut text = format!("EXCLUDE USING {} ({keys})", index.shown_method());
            if let Some(predicate) = index.definition.as_ref().and_then(|d| d.predicate.as_ref()) {
                let _ = write!(text, " WHERE ({})", shown_predicate(catalog, table, predicate, pretty));
            }
            text.push_str(deferrable(index.check()));
            return Some(text);
        }
        let what = if super::relations::is_primary(table, index) { "PRIMARY KEY" } else { "UNIQUE" };
        let nulls = if index.equal_nulls { " NULLS NOT DISTINCT" } else { "" };
        let deferrable = deferrable(index.check());
        let included = match index.definition.as_ref().filter(|d| !d.included.is_empty()) {
            Some(definition) => format!(" INCLUDE ({})", names(table, &definition.included)),
            None => String::new(),
        };
        return Some(format!("{what}{nulls} ({}){included}{deferrable}", names(table, &index.columns)));
    }
    if let Some(check) = table.checks.iter().find(|c| c.name == *name) {
        return Some(shown::check_text(catalog, Over::Table(table), check, pretty));
    }
    if table.trigger(name).is_some_and(|t| t.constraint.is_some()) {
        let check = table.trigger(name).and_then(|t| t.constraint).unwrap_or_default();
        return Some(format!("TRIGGER{}", deferrable(check)));
    }
    let key = table.foreign_keys.iter().find(|k| k.name == *name)?;
    let parent = catalog.table_by_id(key.parent);
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({})",
        names(table, &key.columns),
        catalog.shown_relation(parent.schema, &parent.name),
        names(parent, &key.parent_columns)
    );
    if key.match_full {
        text.push_str(" MATCH FULL");
    }
    let actions =
        [("UPDATE", key.on_update, key.restricts_update), ("DELETE", key.on_delete, key.restricts_delete)];
    for (event, action, restricts) in actions {
        let action = match action {
            ReferentialAction::Restrict if restricts => "RESTRICT",
            ReferentialAction::Restrict => continue,
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        };
        let _ = write!(text, " ON {event} {action}");
        if event == "DELETE" && !key.set_columns.is_empty() {
            let _ = write!(text, " ({})", names(table, &key.set_columns));
        }
    }
    text.push_str(deferrable(key.check));
    if key.not_valid {
        text.push_str(" NOT VALID");
    }
    Some(text)
}

fn deferrable(check: CheckTime) -> &'static str {
    match check {
        CheckTime::NotDeferrable => "",
        CheckTime::Deferrable => " DEFERRABLE",
        CheckTime::Deferred => " DEFERRABLE INITIALLY DEFERRED",
    }
}

/// `pg_get_ruledef` of the rule that a view is.
pub(super) fn rule(catalog: &Catalog, oid: Oid) -> Option<String> {
    let Object::Rule(name) = catalog.oids.object(oid)? else { return None };
    let view = catalog.views.get(name)?;
    Some(format!(
        "CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {} DO INSTEAD {}",
        catalog.shown(view.schema, &view.name, None),
        shown::view(catalog, view, false)
    ))
}

/// The routine of an OID.
pub(super) fn routine(catalog: &Catalog, oid: Oid) -> Option<&Procedure> {
    match catalog.oids.object(oid)? {
        Object::Routine(identity) => catalog.routine_by_identity(identity),
        _ => None,
    }
}

/// A type as a definition names it: a domain by its own name.
fn declared(catalog: &Catalog, ty: &Type, domain: Option<TypeId>) -> String {
    let oid = super::types::declared_oid(catalog, ty, domain);
    let in_schema = |ty: &Type| matches!(ty, Type::Enum(_) | Type::Record(_) | Type::Citext);
    let of_citext = ty.element() == Some(Type::Citext);
    match domain.is_some() || in_schema(ty) || of_citext || ty.row_of().is_some() {
        true => reg::type_name(catalog, oid).unwrap_or_default(),
        false => ty.to_string(),
    }
}

fn parameter(catalog: &Catalog, p: &Procedure, parameter: &Parameter, default: bool) -> String {
    let mode = match parameter.mode {
        // Procedures say so, since their OUT parameters belong to their signature.
        Mode::In if p.is_procedure() => "IN ",
        Mode::In | Mode::Table => "",
        Mode::Out => "OUT ",
        Mode::InOut => "INOUT ",
        Mode::Variadic => "VARIADIC ",
    };
    let mut text = mode.to_owned();
    if !parameter.name.is_empty() {
        let _ = write!(text, "{} ", quote_ident(&parameter.name));
    }
    text.push_str(&declared(catalog, &parameter.ty, parameter.domain));
    if let Some(e) = parameter.default.as_deref().filter(|_| default) {
        let _ = write!(text, " DEFAULT {}", shown::parameter_default(catalog, parameter, e));
    }
    text
}

/// `pg_get_function_arguments`, or, without defaults, `..._identity_arguments`.
pub(super) fn arguments(catalog: &Catalog, p: &Procedure, defaults: bool) -> String {
    let shown = p.parameters.iter().filter(|q| q.mode != Mode::Table);
    let shown: Vec<String> = shown.map(|q| parameter(catalog, p, q, defaults)).collect();
    match p.aggregate.as_ref().and_then(|of| of.direct) {
        None => shown.join(", "),
        Some(direct) => {
            let (direct, ordered) = shown.split_at(usize::from(direct).min(shown.len()));
            let between = if direct.is_empty() { "" } else { " " };
            format!("{}{between}ORDER BY {}", direct.join(", "), ordered.join(", "))
        }
    }
}

/// `pg_get_function_result`; `None` for procedures.
pub(super) fn result(catalog: &Catalog, p: &Procedure) -> Option<String> {
    let table_name = |id: &planaria_base::TableId| {
        let table = catalog.table_by_id(*id);
        catalog.shown_type(table.schema, &table.name)
    };
    let one = || match p.outputs().collect::<Vec<_>>()[..] {
        [one] => declared(catalog, &one.ty, one.domain),
        _ => "record".to_owned(),
    };
    let of_columns = p.parameters.iter().any(|q| q.mode == Mode::Table);
    Some(match &p.returns {
        Returns::Procedure => return None,
        Returns::Scalar(ty) => declared(catalog, ty, p.returns_domain),
        Returns::SetOf(ty) => format!("SETOF {}", declared(catalog, ty, p.returns_domain)),
        Returns::SetOfTable(id) if !of_columns => format!("SETOF {}", table_name(id)),
        Returns::RowOf(id) => table_name(id),
        Returns::SetOfTable(_) | Returns::Table => {
            let columns = p
                .outputs()
                .map(|q| format!("{} {}", quote_ident(&q.name), declared(catalog, &q.ty, q.domain)));
            format!("TABLE({})", columns.collect::<Vec<_>>().join(", "))
        }
        Returns::OutRow => one(),
        Returns::Trigger => "trigger".to_owned(),
        Returns::Record { set: false, .. } => "record".to_owned(),
        Returns::Record { set: true, .. } => "SETOF record".to_owned(),
        Returns::SetOfOutRow => format!("SETOF {}", one()),
    })
}

/// `pg_get_function_arg_default`
pub(super) fn argument_default(catalog: &Catalog, p: &Procedure, n: i64) -> Option<String> {
    let at = usize::try_from(n).ok()?.checked_sub(1)?;
    let parameter = p.parameters.get(at)?;
    parameter.default.as_deref().map(|e| shown::parameter_default(catalog, parameter, e))
}

/// A text as a literal.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `pg_get_triggerdef`
pub(super) fn trigger(catalog: &Catalog, oid: Oid, pretty: bool) -> Option<String> {
    let (table, name) = match catalog.oids.object(oid)? {
        Object::Trigger(table, name) => (catalog.tables.get(table.index())?.as_deref()?, name),
        Object::ViewTrigger(view, name) => (catalog.views.get(view)?.rows.as_deref()?, name),
        _ => return None,
    };
    let trigger = table.trigger(name)?;
    let constraint = if trigger.constraint.is_some() { "CONSTRAINT " } else { "" };
    let time = trigger.time.word();
    let event = |firing: &Firing| match firing.event {
        TriggerEvent::Update if !trigger.columns.is_empty() => {
            format!("UPDATE OF {}", names(table, &trigger.columns))
        }
        other => other.word().to_owned(),
    };
    let events = trigger.firings.iter().map(event).collect::<Vec<_>>().join(" OR ");
    let on = match pretty {
        true => catalog.shown_relation(table.schema, &table.name),
        false => catalog.shown(table.schema, &table.name, None),
    };
    let mut text =
        format!("CREATE {constraint}TRIGGER {} {time} {events} ON {on} ", quote_ident(&trigger.name),);
    match trigger.constraint {
        None => {}
        Some(CheckTime::NotDeferrable) => text.push_str("NOT DEFERRABLE INITIALLY IMMEDIATE "),
        Some(CheckTime::Deferrable) => text.push_str("DEFERRABLE INITIALLY IMMEDIATE "),
        Some(CheckTime::Deferred) => text.push_str("DEFERRABLE INITIALLY DEFERRED "),
    }
    let (old, new) = (&trigger.old_table, &trigger.new_table);
    if old.is_some() || new.is_some() {
        text.push_str("REFERENCING ");
    }
    for (word, name) in [("OLD", old), ("NEW", new)] {
        if let Some(name) = name {
            let _ = write!(text, "{word} TABLE AS {} ", quote_ident(name));
        }
    }
    text.push_str(if trigger.each_row { "FOR EACH ROW " } else { "FOR EACH STATEMENT " });
    if let Some(condition) = &trigger.condition {
        let _ = write!(text, "WHEN ({}) ", shown::trigger_condition(catalog, table, condition, pretty));
    }
    let arguments: Vec<String> = trigger.arguments.iter().map(|a| literal(a)).collect();
    let function = catalog.shown_routine(catalog.procedure(trigger.function));
    let _ = write!(text, "EXECUTE FUNCTION {function}({})", arguments.join(", "));
    Some(text)
}

/// `pg_get_functiondef`
pub(super) fn routine_statement(catalog: &Catalog, p: &Procedure) -> String {
    let kind = if p.is_procedure() { "procedure" } else { "function" };
    let mut text = format!(
        "CREATE OR REPLACE {} {}({})\n",
        kind.to_uppercase(),
        catalog.shown(p.schema, &p.name, None),
        arguments(catalog, p, true)
    );
    if let Some(result) = result(catalog, p) {
        let _ = writeln!(text, " RETURNS {result}");
    }
    let _ = writeln!(text, " LANGUAGE {}", language(p.language));
    let volatility = match p.volatility {
        Volatility::Immutable => "IMMUTABLE",
        Volatility::Stable => "STABLE",
        Volatility::Volatile => "",
    };
    let strict = if p.strict { "STRICT" } else { "" };
    let definer = if p.security_definer { "SECURITY DEFINER" } else { "" };
    let parallel = match p.hints.parallel {
        Some('s') => "PARALLEL SAFE",
        Some('r') => "PARALLEL RESTRICTED",
        _ => "",
    };
    let leakproof = if p.hints.leakproof { "LEAKPROOF" } else { "" };
    let [cost, rows] = [("COST", &p.hints.cost), ("ROWS", &p.hints.rows)]
        .map(|(word, number)| number.as_ref().map_or(String::new(), |number| format!("{word} {number}")));
    let words: Vec<&str> = [volatility, parallel, strict, definer, leakproof, &cost, &rows]
        .into_iter()
        .filter(|w| !w.is_empty())
        .collect();
    if !words.is_empty() {
        let _ = writeln!(text, " {}", words.join(" "));
    }
    for (name, value) in &p.settings {
        let values = match name.as_str() {
            "search_path" => path_names(value),
            _ => vec![value.clone()],
        };
        let values: Vec<String> = values.iter().map(|value| quote_literal(value)).collect();
        let _ = writeln!(text, " SET {} TO {}", quote_ident(spelled(name)), values.join(", "));
    }
    if let Some(body) = standard_body(catalog, p) {
        return text + &body + "\n";
    }
    // A tag that the body does not hold.
    let mut tag = kind.to_owned();
    while p.body.contains(&format!("${tag}$")) {
        tag.push('x');
    }
    let _ = writeln!(text, "AS ${tag}${}${tag}$", p.body);
    text
}

/// `pg_get_function_sqlbody`
pub(super) fn standard_body(catalog: &Catalog, p: &Procedure) -> Option<String> {
    if let (StandardBody::Return, Some(expression)) = (p.standard?, p.body.get("SELECT".len()..)) {
        let wanted = match &p.returns {
            Returns::Scalar(ty) => Wanted::Stored(ty, p.returns_domain),
            _ => Wanted::Any,
        };
        // A parameter within a query would be shown with the name of its function.
        let simple = !expression.to_ascii_lowercase().contains("select");
        if let Some(e) = simple
            .then(|| deparse::expression(catalog, expression, Over::Parameters(p), wanted, false))
            .flatten()
        {
            return Some(format!("RETURN {}", e.text));
        }
    }
    let shown = Procedure { body: shown_statements(catalog, &p.body), ..p.clone() };
    shown.standard_text()
}

/// `pg_get_serial_sequence(table, column)`: of the column's serial or identity sequence.
pub(super) fn serial_sequence(catalog: &Catalog, table: &Table, column: &str) -> Option<String> {
    let (id, _) = table.column(column)?;
    let owned = catalog.sequences.iter().flatten().find(|s| !s.hidden && s.owner == Some((table.id, id)))?;
    Some(catalog.shown(owned.schema, &owned.name, None))
}
