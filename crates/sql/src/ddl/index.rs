//! CREATE INDEX.

use super::alter::Rewrite;
use super::constraint::{check_key, check_width};
use super::depend::References;
use super::lowering::{self, Made, RowExpr};
use super::unmade::{self, Remembered};
use super::{Change, Work, names};
use crate::lower::CastContext;
use crate::lower::qualified_expression;
use planaria_base::text_io::quote_ident;
use planaria_base::{ColumnId, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{Column, ColumnDefault, Index, IndexDefinition, IndexKey, KeyOrder, Object, Table};
use planaria_syntax::ast::{CreateIndex, Expr, ExprKind, IndexItem};

impl Change {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str> {
        let table = names::table(&self.catalog, &create.table)?;
        self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
        let method = create.method.as_ref().map_or("btree", |(method, _)| method.as_str());
        let mut remembered = unmade::is_unmade(method);
        if !self.actor.forgets_indexes {
            unmade::check_method(create)?;
        } else if remembered {
            return Ok("CREATE INDEX");
        }
        let table = table.clone();
        if let Some((expr, _)) = &create.predicate {
            lowering::check_predicate(&self.catalog, &table, expr, Made::by(&self.actor))?;
        }
        let (mut keys, mut types) = (Vec::new(), Vec::new());
        for (item, position) in &create.columns {
            match item {
                IndexItem::Column(name) => {
                    let Some((c, _)) = table.column(name) else {
                        let message = format!("column \"{name}\" does not exist");
                        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(*position));
                    };
                    types.push((table.columns[c.index()].ty.clone(), *position));
                    keys.push(IndexKey::Column(c));
                }
                IndexItem::Expression(expr, text) => {
                    let ty = lowering::index_expression(&self.catalog, &table, expr, Made::by(&self.actor))?;
                    types.push((ty, *position));
                    keys.push(IndexKey::Expression(qualified_expression(
                        &self.catalog,
                        &printed(expr, text),
                    )?));
                }
            }
        }
        // What no ordered index can have as a key may be one of these: it is remembered as they are.
        let not_made = |ty: &Type, at| {
            matches!(ty, Type::Jsonb | Type::Array(_) | Type::Record(_)) || check_key(ty, at).is_err()
        };
        remembered |= method != "btree" && types.iter().any(|(ty, at)| not_made(ty, *at));
        let orders = match method {
            "btree" => in_bytes(&create.orders),
            _ => self.check_classes(method, &create.orders, &types)?,
        };
        if !remembered {
            types.iter().try_for_each(|(ty, at)| check_key(ty, *at))?;
        }
        for (order, (ty, _)) in create.orders.iter().zip(&types) {
            if order.collation.is_some() && !has_collation(ty) && !self.actor.internal {
                let name = crate::lower::type_in_message(&self.catalog.as_shown(ty));
                let message = format!("collations are not supported by type {name}");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
        }
        check_width(keys.len() + create.included.len(), create.table.position)?;
        let mut included = Vec::new();
        for name in &create.included {
            let Some((c, _)) = table.column(name) else {
                let message = format!("column \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(create.table.position));
            };
            included.push(c);
        }
        let name = match &create.name {
            Some(name) if self.catalog.relation_exists((table.schema, name.as_str())) => {
                let exists = names::relation_exists(name);
                if !create.if_not_exists {
                    return Err(exists);
                }
                self.skip_existing(&exists);
                return Ok("CREATE INDEX");
            }
            Some(name) => name.clone(),
            None => {
                let items = create.columns.iter().map(|(item, _)| item);
                let own = labels(items, &create.included, self.actor.former_labels);
                let own: Vec<&str> = own.iter().map(String::as_str).collect();
                names::relation(&self.catalog, &table, &own, "idx")
            }
        };
        let predicate = create.predicate.as_ref();
        let predicate = predicate.map(|(_, text)| qualified_expression(&self.catalog, text)).transpose()?;
        if remembered {
            let definition = IndexDefinition { keys, predicate, included };
            let types = types.into_iter().map(|(ty, _)| ty).collect();
            let kept = Remembered { create, name, definition, types };
            self.remember_index(table.id, method, orders, kept)?;
            return Ok("CREATE INDEX");
        }
        if method != "btree" && create.table.position != 0 {
            let message = format!("index \"{name}\" of method {method} was made as an ordered one (btree)");
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        }
        let mut index = Index::new(name, Vec::new(), create.unique, false);
        index.options = self.index_parameters(method, &create.parameters)?;
        index.equal_nulls = create.equal_nulls && create.unique;
        if index.equal_nulls && create.predicate.is_some() {
            let message = "NULLS NOT DISTINCT of an index with a condition is not supported";
            return Err(
                Error::unsupported(message, "Index coalesce(..) of the columns.").at(create.table.position)
            );
        }
        if orders.iter().any(|o| *o != KeyOrder::default()) {
            index.orders = orders;
        }
        index.method = (method != "btree").then(|| method.to_owned());
        let plain = predicate.is_none() && keys.iter().all(|key| matches!(key, IndexKey::Column(_)));
        if !plain || !included.is_empty() {
            index.definition = Some(IndexDefinition { keys: keys.clone(), predicate, included });
        }
        let columns = keys.iter().filter_map(|key| match key {
            IndexKey::Column(column) => Some(*column),
            IndexKey::Expression(_) => None,
        });
        index.columns = columns.collect();
        if plain {
            let position = self.push_index(table.id, index)?;
            let work = Work::CreateIndex(table.id, position);
            match self.indexing.as_mut().filter(|(id, _)| *id == table.id) {
                Some((_, rewrite)) => rewrite.index(work),
                None => self.out.work.push(work),
            }
        } else {
            let together = self.indexing.take_if(|(id, _)| *id == table.id);
            let alone = together.is_none();
            let mut rewrite = together.map_or_else(|| Rewrite::of(&table), |(_, rewrite)| rewrite);
            self.compute_keys(&table, index, &mut rewrite)?;
            match alone {
                true => self.finish_alter(table.id, rewrite)?,
                false => self.indexing = Some((table.id, rewrite)),
            }
        }
        self.check_keys_of(table.id)?;
        self.check_indexes_of_partition(table.id)?;
        if !create.only {
            self.index_partitions(table.id)?;
        }
        Ok("CREATE INDEX")
    }

    /// An index with keys that are computed: each has a hidden column, so the rows are written anew.
    pub(super) fn compute_keys(
        &mut self,
        table: &Table,
        mut index: Index,
        rewrite: &mut Rewrite,
    ) -> Result<()> {
        let definition = index.definition.clone().ok_or_else(|| Error::internal("an index over columns"))?;
        let mut columns: Vec<Option<ColumnId>> = Vec::new();
        let mut hidden = 0;
        for (at, key) in definition.keys.iter().enumerate() {
            let base = match key {
                IndexKey::Column(column) if at > 0 || definition.predicate.is_none() => {
                    columns.push(Some(*column));
                    continue;
                }
                IndexKey::Column(column) => quote_ident(&table.columns[column.index()].name),
                IndexKey::Expression(text) => text.clone(),
            };
            let text = match &definition.predicate {
                Some(predicate) if at == 0 => format!("CASE WHEN {predicate} THEN {base} END"),
                _ => base,
            };
            let expr = super::reparse::expression(&text)?;
            let ty = lowering::index_expression(&self.catalog.at_home(), table, &expr, Made::Before)?;
            let name = table.key_text(&index, at);
            self.add_hidden(table.id, name, ty, &expr, text, rewrite);
            hidden += 1;
            columns.push(None);
        }
        // They stand side by side before the row id; nothing that has a place of its own moved.
        let end = self.catalog.table_by_id(table.id).columns.len() - usize::from(!table.has_primary_key);
        let mut next = end - hidden;
        index.columns = columns
            .into_iter()
            .map(|column| {
                column.unwrap_or_else(|| {
                    next += 1;
                    ColumnId::from(next - 1)
                })
            })
            .collect();
        self.push_index(table.id, index).map(|_| ())
    }

    /// A hidden column with a computed key, the last one before a row id.
    fn add_hidden(
        &mut self,
        id: TableId,
        name: String,
        ty: Type,
        expr: &Expr,
        text: String,
        rewrite: &mut Rewrite,
    ) {
        let table = self.catalog.table_by_id(id);
        let place = table.columns.len() - usize::from(!table.has_primary_key);
        self.make_room(id, place);
        let column = Column {
            name: name.clone(),
            ty: ty.clone(),
            not_null: false,
            default: ColumnDefault::Generated(text),
            domain: None,
            hidden: true,
            comment: None,
            computed_anew: !self.actor.reads_after,
            told: None,
        };
        self.table_mut(id).columns.insert(place, column);
        let (context, domain) = (CastContext::Assignment, None);
        rewrite.compute(
            place,
            RowExpr { expr: expr.clone(), kept: true, ty, context, domain, column: name, over_new: true },
        );
    }

    /// The hidden columns of an index that goes: they go with it.
    pub(super) fn hidden_columns(&self, table: TableId, index: &Index) -> Vec<ColumnId> {
        let table = self.catalog.table_by_id(table);
        let computed = |c: &ColumnId| {
            let column = &table.columns[c.index()];
            column.hidden && column.generated().is_some()
        };
        index.columns.iter().copied().filter(computed).collect()
    }
}

/// Whether values of a type have an order that a collation says.
pub(super) fn has_collation(ty: &Type) -> bool {
    match ty {
        Type::Array(of) => has_collation(of),
        Type::Text | Type::Varchar(_) | Type::Char(_) | Type::Citext | &Type::NAME => true,
        _ => false,
    }
}

/// How keys are ordered, without the operator classes that order as the types do.
fn in_bytes(orders: &[KeyOrder]) -> Vec<KeyOrder> {
    let mut all = orders.to_vec();
    for order in &mut all {
        order.class = order.class.take().filter(|class| class.ends_with("_pattern_ops"));
    }
    all
}

/// Whether an index is computed from a column.
pub(super) fn mentions(index: &Index, column: ColumnId, name: &str) -> Result<bool> {
    let Some(definition) = &index.definition else { return Ok(false) };
    if definition.included.contains(&column) {
        return Ok(true);
    }
    for key in &definition.keys {
        let named = match key {
            IndexKey::Column(c) => *c == column,
            IndexKey::Expression(text) => References::of_text(text)?.columns.contains(name),
        };
        if named {
            return Ok(true);
        }
    }
    match &definition.predicate {
        Some(text) => Ok(References::of_text(text)?.columns.contains(name)),
        None => Ok(false),
    }
}

/// Whether texts of an index name a column: expressions and the condition.
pub(super) fn mentions_text(index: &Index, name: &str) -> Result<bool> {
    let Some(definition) = &index.definition else { return Ok(false) };
    let keys = definition.keys.iter().filter_map(|key| match key {
        IndexKey::Expression(text) => Some(text),
        IndexKey::Column(_) => None,
    });
    for text in keys.chain(&definition.predicate) {
        if References::of_text(text)?.columns.contains(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An expression as the catalogs show it.
pub(super) fn printed(expr: &Expr, text: &str) -> String {
    match expr.kind {
        ExprKind::Call(_) => text.to_owned(),
        _ => format!("({text})"),
    }
}

/// What of keys, and of columns that are included, goes into the name that an index is given: nothing twice. `former`: as it was
/// before expressions had the names that they have as outputs, for logs that drop indexes by such names.
pub(super) fn labels<'a>(
    items: impl Iterator<Item = &'a IndexItem>,
    included: &'a [String],
    former: bool,
) -> Vec<String> {
    let own = items.map(|item| match item {
        IndexItem::Expression(expr, _) if !former => {
            let name = crate::lower::output_name(expr);
            if name == "?column?" { "expr".to_owned() } else { name }
        }
        item => label(item).to_owned(),
    });
    let mut all: Vec<String> = Vec::new();
    for label in own.chain(included.iter().cloned()) {
        let numbered = (1..).map(|n| format!("{label}{n}"));
        let free = |name: &String| former || !all.contains(name);
        let name = std::iter::once(label.clone()).chain(numbered).find(free);
        all.push(name.unwrap_or(label));
    }
    all
}

/// What of a key went into that name once.
fn label(item: &IndexItem) -> &str {
    match item {
        IndexItem::Column(name) => name,
        IndexItem::Expression(expr, _) => match &expr.kind {
            ExprKind::Call(call) => call.name.parts.last().map_or("expr", String::as_str),
            ExprKind::Coalesce(_) => "coalesce",
            _ => "expr",
        },
    }
}
