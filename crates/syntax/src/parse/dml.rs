//! INSERT, UPDATE, DELETE, MERGE.

use planaria_base::{Error, Result, SqlState};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    Argument, Assignment, ConflictTarget, ConflictUpdate, Cte, Delete, Expr, ExprKind, FunctionCall, Insert,
    InsertSource, Merge, MergeAction, MergeWhen, Name, OnConflict, PUT, PUT_FIELD, PUT_SLICE, Position,
    SelectItem, Step, Subscript, Update,
};

/// A value with another part, where the steps lead.
fn put(old: Expr, steps: &[Step], value: Expr, position: Position) -> Expr {
    let Some((step, rest)) = steps.split_first() else { return value };
    let make = |kind| Expr { position, kind };
    let (function, place, part) = match step {
        Step::Subscripts(all) => {
            let part = ExprKind::Subscripts(Box::new(old.clone()), all.clone());
            let (function, place) = place(all, position);
            (function, place, part)
        }
        Step::Field(field) => {
            let part = ExprKind::Field(Box::new(old.clone()), field.clone());
            (PUT_FIELD, vec![make(ExprKind::String(field.clone()))], part)
        }
    };
    let value = put(make(part), rest, value, position);
    let args = std::iter::once(old).chain(place).chain([value]);
    let args = args.map(|value| Argument { name: None, value }).collect();
    let call = FunctionCall::plain(Name { parts: vec![function.to_owned()], position }, args);
    make(ExprKind::Call(Box::new(call)))
}

/// The function that assigns to what is in brackets, and what says where that is. Where one is a slice all are.
fn place(all: &[Subscript], position: Position) -> (&'static str, Vec<Expr>) {
    if all.iter().all(|s| matches!(s, Subscript::Element(_))) {
        return (PUT, all.iter().flat_map(Subscript::exprs).cloned().collect());
    }
    let (mut given, mut bounds) = (String::new(), Vec::new());
    for subscript in all {
        match subscript {
            Subscript::Element(upper) => {
                given.push_str("11");
                bounds.push(Expr { position, kind: ExprKind::Integer("1".to_owned()) });
                bounds.push(upper.clone());
            }
            Subscript::Slice(lower, upper) => {
                for bound in [lower, upper] {
                    given.push(if bound.is_some() { '1' } else { '0' });
                    bounds.extend(bound.clone());
                }
            }
        }
    }
    let given = Expr { position, kind: ExprKind::String(given) };
    (PUT_SLICE, std::iter::once(given).chain(bounds).collect())
}

/// The same, made of another value than the column's: what is within it is looked for there, too.
fn put_into(mut whole: Expr, old: &Expr) -> Expr {
    if let ExprKind::Call(call) = &mut whole.kind
        && is_put(call)
    {
        let before = std::mem::replace(&mut call.args[0].value, old.clone());
        let value = call.args.len() - 1;
        if let Some(part) = part_of(&call.args[value].value, &before, old) {
            let inner = std::mem::replace(&mut call.args[value].value, part.clone());
            call.args[value].value = put_into(inner, &part);
        }
    }
    whole
}

/// What a put within a put is made of, taken from another value.
fn part_of(inner: &Expr, before: &Expr, old: &Expr) -> Option<Expr> {
    let ExprKind::Call(call) = &inner.kind else { return None };
    if !is_put(call) {
        return None;
    }
    let kind = match &call.args[0].value.kind {
        ExprKind::Field(of, field) if **of == *before => {
            ExprKind::Field(Box::new(old.clone()), field.clone())
        }
        ExprKind::Subscripts(of, all) if **of == *before => {
            ExprKind::Subscripts(Box::new(old.clone()), all.clone())
        }
        _ => return None,
    };
    Some(Expr { position: inner.position, kind })
}

/// Whether a call is an assignment to a part.
fn is_put(call: &FunctionCall) -> bool {
    matches!(&call.name.parts[..], [name] if name == PUT || name == PUT_SLICE || name == PUT_FIELD)
}

/// The assignment to a column, or a part of it, of the table that goes by a name.
fn assigned(
    table: &str,
    (column, steps): ((String, Position), Vec<Step>),
    value: Option<Expr>,
) -> Result<Assignment> {
    let Some(first) = steps.first() else { return Ok(Assignment { columns: vec![column], value }) };
    let position = column.1;
    let Some(value) = value else {
        let message = match first {
            Step::Subscripts(_) => "cannot set an array element to DEFAULT",
            Step::Field(_) => "cannot set a subfield to DEFAULT",
        };
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
    };
    let old = Name { parts: vec![table.to_owned(), column.0.clone()], position };
    let old = Expr { position, kind: ExprKind::Column(old) };
    let value = Some(put(old, &steps, value, position));
    Ok(Assignment { columns: vec![column], value })
}

impl Parser<'_> {
    /// `INSERT INTO ..`
    pub(crate) fn insert(&mut self, (with, recursive): (Vec<Cte>, bool)) -> Result<Insert> {
        self.expect_words(&["insert", "into"])?;
        let table = self.qualified_name()?;
        let alias = match self.eat_word("as") {
            true => Some(self.name()?),
            false => None,
        };
        let (columns, parts) = match self.at_kind(Kind::LeftParen) && !self.at_paren_query() {
            true => self.given_columns()?,
            false => Default::default(),
        };
        let overriding = self.overriding()?;
        let source = self.insert_source()?;
        let on_conflict = match self.at_words(&["on", "conflict"]) {
            true => {
                let known = alias.as_ref().or(table.parts.last()).cloned();
                Some(self.on_conflict(known.as_deref().unwrap_or_default())?)
            }
            false => None,
        };
        let returning = self.returning()?;
        Ok(Insert {
            with,
            recursive,
            table,
            alias,
            columns,
            parts,
            overriding,
            source,
            on_conflict,
            returning,
            into: None,
            copied: false,
        })
    }

    /// `[OVERRIDING {SYSTEM | USER} VALUE]`
    fn overriding(&mut self) -> Result<Option<bool>> {
        if !self.eat_word("overriding") {
            return Ok(None);
        }
        let system = self.eat_word("system");
        if !system {
            self.expect_word("user")?;
        }
        self.expect_word("value")?;
        Ok(Some(system))
    }

    fn insert_source(&mut self) -> Result<InsertSource> {
        let position = self.position();
        if self.eat_words(&["default", "values"]) {
            return Ok(InsertSource::Default(position));
        }
        if !self.at_word("values") {
            return Ok(InsertSource::Query(Box::new(self.query()?)));
        }
        let position = self.bump().start;
        let rows = self.list(|p| p.paren_list(Self::value_or_default))?;
        if !self.at_query_rest() {
            let rows = rows.into_iter().map(|row| row.into_iter().map(Result::ok).collect()).collect();
            return Ok(InsertSource::Values(rows));
        }
        let mut values = Vec::with_capacity(rows.len());
        for row in rows {
            let row: std::result::Result<Vec<Expr>, Position> = row.into_iter().collect();
            values.push(row.map_err(|at| self.default_not_allowed(at))?);
        }
        Ok(InsertSource::Query(Box::new(self.query_of_values(values, position)?)))
    }

    /// An expression, or the place of DEFAULT.
    fn value_or_default(&mut self) -> Result<std::result::Result<Expr, Position>> {
        let position = self.position();
        if self.at_word("default") {
            self.bump();
            return Ok(Err(position));
        }
        Ok(Ok(self.expr()?))
    }

    fn default_not_allowed(&self, at: Position) -> planaria_base::Error {
        self.syntax_error("DEFAULT is not allowed in this context", at)
    }

    /// The columns of an INSERT, and the ways into them where parts are given.
    #[allow(clippy::type_complexity)]
    fn given_columns(&mut self) -> Result<(Vec<(String, Position)>, Vec<Vec<Step>>)> {
        let (columns, parts): (Vec<_>, Vec<Vec<Step>>) = self.paren_list(Self::target)?.into_iter().unzip();
        let any = parts.iter().any(|steps| !steps.is_empty());
        Ok((columns, if any { parts } else { Vec::new() }))
    }

    /// A column, or an element or field of it, that is assigned to.
    fn target(&mut self) -> Result<((String, Position), Vec<Step>)> {
        let position = self.position();
        let name = self.name()?;
        let mut steps = Vec::new();
        loop {
            match self.peek().kind {
                Kind::LeftBracket => steps.push(Step::Subscripts(self.subscripts()?)),
                Kind::Dot => {
                    self.bump();
                    steps.push(Step::Field(self.label()?));
                }
                _ => return Ok(((name, position), steps)),
            }
            self.grow()?;
        }
    }

    fn on_conflict(&mut self, table: &str) -> Result<OnConflict> {
        let position = self.position();
        self.expect_words(&["on", "conflict"])?;
        let target = if self.eat_words(&["on", "constraint"]) {
            Some(ConflictTarget::Constraint(self.name()?))
        } else if self.at_kind(Kind::LeftParen) {
            let items = self.paren_list(|p| p.index_column().map(|(item, ..)| item))?;
            let predicate = self.where_clause()?.map(Box::new);
            Some(ConflictTarget::Columns { items, predicate })
        } else {
            None
        };
        self.expect_word("do")?;
        let update = match self.eat_word("nothing") {
            true => None,
            false => {
                self.expect_words(&["update", "set"])?;
                let set = self.assignments(table)?;
                Some(ConflictUpdate { set, filter: self.where_clause()? })
            }
        };
        if update.is_some() && target.is_none() {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            let hint = "For example, ON CONFLICT (column_name).";
            return Err(self.syntax_error(message, position).with_hint(hint));
        }
        Ok(OnConflict { target, update, position })
    }

    /// What follows SET: `a = e, (b, c) = (..), ...`
    pub(crate) fn assignments(&mut self, table: &str) -> Result<Vec<Assignment>> {
        let items = self.list(|p| p.assignment(table))?;
        let mut all: Vec<Assignment> = Vec::new();
        for item in items.into_iter().flatten() {
            // Several parts of one value are put into it one after the other.
            if let Some(ExprKind::Call(call)) = item.value.as_ref().map(|e| &e.kind)
                && is_put(call)
                && let Some(before) = all.iter_mut().find(|a| a.columns[0].0 == item.columns[0].0)
                && let Some(Expr { kind: ExprKind::Call(earlier), .. }) = &before.value
                && is_put(earlier)
            {
                let old = before.value.take().expect("just seen");
                before.value = item.value.map(|value| put_into(value, &old));
                continue;
            }
            all.push(item);
        }
        Ok(all)
    }

    /// One item of SET. A list of values is split into single assignments. A part of a value is assigned by assigning
    /// the value with that part: `a[i] = e` is `a = put(table.a, i, e)`, `a.f = e` is `a = put_field(table.a, 'f', e)`.
    fn assignment(&mut self, table: &str) -> Result<Vec<Assignment>> {
        if !self.at_kind(Kind::LeftParen) {
            let target = self.target()?;
            self.expect_equals()?;
            let value = self.value_or_default()?.ok();
            return Ok(vec![assigned(table, target, value)?]);
        }
        let position = self.position();
        let targets = self.paren_list(Self::target)?;
        self.expect_equals()?;
        if self.at_paren_query() {
            if let Some(((_, position), _)) = targets.iter().find(|(_, steps)| !steps.is_empty()) {
                return self.unsupported("assigning a query to parts of columns", *position);
            }
            let columns = targets.into_iter().map(|(column, _)| column).collect();
            let at = self.position();
            let query = Box::new(self.paren_query()?);
            let value = Some(Expr { position: at, kind: ExprKind::Subquery(query) });
            return Ok(vec![Assignment { columns, value }]);
        }
        let (row, at) = (self.eat_word("row"), self.position());
        let values = self.paren_list(Self::value_or_default)?;
        // How many values `x.*` is, is known where it is bound.
        let is_star = |value: &std::result::Result<Expr, Position>| {
            matches!(value, Ok(Expr { kind: ExprKind::Star(Some(_)) | ExprKind::Fields(_), .. }))
        };
        let whole = targets.iter().all(|(_, steps)| steps.is_empty()) && values.iter().all(|v| v.is_ok());
        if whole && (row || values.len() > 1) && values.iter().any(is_star) {
            let columns = targets.into_iter().map(|(column, _)| column).collect();
            let kind = ExprKind::Row(values.into_iter().filter_map(|value| value.ok()).collect());
            return Ok(vec![Assignment { columns, value: Some(Expr { position: at, kind }) }]);
        }
        if !row && values.len() == 1 && targets.len() > 1 {
            let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at + 1));
        }
        if values.len() != targets.len() {
            let message = "number of columns does not match number of values";
            return Err(self.syntax_error(message, position));
        }
        targets.into_iter().zip(values).map(|(target, value)| assigned(table, target, value.ok())).collect()
    }

    fn expect_equals(&mut self) -> Result<()> {
        if self.eat_operator("=") { Ok(()) } else { self.fail() }
    }

    /// `UPDATE ..`
    pub(crate) fn update(&mut self, (with, recursive): (Vec<Cte>, bool)) -> Result<Update> {
        self.expect_word("update")?;
        let only = self.at_word("only");
        let table = self.relation_name()?;
        let alias = self.target_alias()?;
        self.expect_word("set")?;
        let known = alias.as_ref().or(table.parts.last());
        let set = self.assignments(known.map_or("", String::as_str))?;
        let from = match self.eat_word("from") {
            true => self.list(Self::table_ref)?,
            false => Vec::new(),
        };
        let filter = self.where_of_change()?;
        let returning = self.returning()?;
        Ok(Update { with, recursive, table, only, alias, set, from, filter, returning, into: None })
    }

    /// `DELETE FROM ..`
    pub(crate) fn delete(&mut self, (with, recursive): (Vec<Cte>, bool)) -> Result<Delete> {
        self.expect_words(&["delete", "from"])?;
        let only = self.at_word("only");
        let table = self.relation_name()?;
        let alias = self.target_alias()?;
        let using = match self.eat_word("using") {
            true => self.list(Self::table_ref)?,
            false => Vec::new(),
        };
        let filter = self.where_of_change()?;
        let returning = self.returning()?;
        Ok(Delete { with, recursive, table, only, alias, using, filter, returning, into: None })
    }

    /// `MERGE INTO ..`
    pub(crate) fn merge(&mut self, with: Vec<Cte>) -> Result<Merge> {
        self.expect_words(&["merge", "into"])?;
        let table = self.relation_name()?;
        let alias = self.target_alias()?;
        self.expect_word("using")?;
        let source = self.table_ref()?;
        self.expect_word("on")?;
        let on = self.expr()?;
        let known = alias.as_ref().or(table.parts.last()).cloned().unwrap_or_default();
        let mut whens = vec![self.merge_when(&table, &known)?];
        while self.at_word("when") {
            whens.push(self.merge_when(&table, &known)?);
        }
        Ok(Merge { with, table, alias, source, on, whens })
    }

    /// `WHEN [NOT] MATCHED ..`; `known`: the name that the table goes by.
    fn merge_when(&mut self, table: &Name, known: &str) -> Result<MergeWhen> {
        self.expect_word("when")?;
        let matched = !self.eat_word("not");
        self.expect_word("matched")?;
        let condition = if self.eat_word("and") { Some(self.expr()?) } else { None };
        self.expect_word("then")?;
        let action = if self.eat_words(&["do", "nothing"]) {
            MergeAction::Nothing
        } else if !matched {
            MergeAction::Insert(Box::new(self.merge_insert(table)?))
        } else if self.eat_word("delete") {
            MergeAction::Delete
        } else {
            self.expect_words(&["update", "set"])?;
            MergeAction::Update(self.assignments(known)?)
        };
        Ok(MergeWhen { matched, condition, action })
    }

    /// The INSERT of a MERGE: of one row.
    fn merge_insert(&mut self, table: &Name) -> Result<Insert> {
        let position = self.position();
        self.expect_word("insert")?;
        let (mut columns, mut parts) = (Vec::new(), Vec::new());
        let mut overriding = None;
        let mut source = InsertSource::Default(self.position());
        if !self.eat_words(&["default", "values"]) {
            if self.at_kind(Kind::LeftParen) {
                (columns, parts) = self.given_columns()?;
            }
            overriding = self.overriding()?;
            self.expect_word("values")?;
            let row = self.paren_list(Self::value_or_default)?;
            source = InsertSource::Values(vec![row.into_iter().map(Result::ok).collect()]);
        }
        Ok(Insert {
            with: Vec::new(),
            recursive: false,
            table: Name { parts: table.parts.clone(), position },
            alias: None,
            columns,
            parts,
            overriding,
            source,
            on_conflict: None,
            returning: Vec::new(),
            into: None,
            copied: false,
        })
    }

    fn returning(&mut self) -> Result<Vec<SelectItem>> {
        if self.eat_word("returning") { self.list(Self::select_item) } else { Ok(Vec::new()) }
    }
}
