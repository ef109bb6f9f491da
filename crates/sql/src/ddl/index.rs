//! CREATE INDEX.

use super::alter::Rewrite;
use super::constraint::{check_key, check_width};
use super::lowering::{self, Made, RowExpr};
use super::{Change, Work, names};
use crate::lower::CastContext;
use crate::lower::qualified_expression;
use planaria_base::text_io::quote_ident;
use planaria_base::types::PackedType;
use planaria_base::{ColumnId, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{Column, ColumnDefault, Index, IndexDefinition, IndexKey, KeyOrder, Object, Table};
use planaria_syntax::ast::{CreateIndex, Expr, ExprKind, IndexItem};

impl Change {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str> {
        if let Some((what, position)) = &create.unsupported {
            let hint = "Indexes are ordered: leave the method out.";
            return Err(Error::unsupported(format!("{what} is not supported"), hint).at(*position));
        }
        let table = names::table(&self.catalog, &create.table)?;
        self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
        if let Some(method) = &create.unmade {
            // Of gist there are operators of ranges, networks and full-text search alone.
            let of_range = |item: &IndexItem| match item {
                IndexItem::Column(name) => table.column(name).is_none_or(|(_, c)| {
                    use PackedType::{Cidr, Inet, TsQuery, TsVector};
                    matches!(c.ty, Type::Range(_) | Type::Packed(Inet | Cidr | TsVector | TsQuery))
                }),
                IndexItem::Expression(..) => true,
            };
            if method == "gist" && !create.columns.iter().any(|(item, _)| of_range(item)) {
                let hint = "Indexes are ordered: leave the method out.";
                let message =
                    "index method gist is not supported but over ranges, networks, tsvector and tsquery";
                return Err(Error::unsupported(message, hint).at(create.table.position));
            }
            let searches = create.columns.iter().any(|(item, _)| match item {
                IndexItem::Column(name) => table.column(name).is_some_and(|(_, c)| {
                    matches!(c.ty, Type::Packed(PackedType::TsVector | PackedType::TsQuery))
                }),
                IndexItem::Expression(..) => false,
            });
            let mut columns = false;
            for (item, _) in &create.columns {
                match item {
                    IndexItem::Column(_) => columns = true,
                    IndexItem::Expression(expr, _) => {
                        lowering::index_expression(&self.catalog, table, expr, Made::by(&self.actor))?;
                    }
                }
            }
            let operators = match method.as_str() {
                _ if searches => "@@",
                _ if !columns => "its operators",
                "gin" => "@> and ?",
                _ => "&& and @>",
            };
            self.notice(
                SqlState::SUCCESSFUL_COMPLETION,
                format!(
                    "no index of method {method} was made on \"{}\": conditions with {operators} read its rows",
                    table.name
                ),
            );
            return Ok("CREATE INDEX");
        }
        if let Some((method, position)) = &create.ordered {
            // PostgreSQL's words for what these methods cannot do there.
            let cannot = match method.as_str() {
                _ if create.unique => Some("unique indexes"),
                _ if !create.included.is_empty() => Some("included columns"),
                "hash" if create.columns.len() > 1 => Some("multicolumn indexes"),
                _ => None,
            };
            if let Some(what) = cannot {
                let message = format!("access method \"{method}\" does not support {what}");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(*position));
            }
        }
        let table = table.clone();
        let mut keys = Vec::new();
        for (item, position) in &create.columns {
            match item {
                IndexItem::Column(name) => {
                    let Some((c, _)) = table.column(name) else {
                        let message = format!("column \"{name}\" does not exist");
                        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(*position));
                    };
                    check_key(&table.columns[c.index()].ty, *position)?;
                    keys.push(IndexKey::Column(c));
                }
                IndexItem::Expression(expr, text) => {
                    let ty = lowering::index_expression(&self.catalog, &table, expr, Made::by(&self.actor))?;
                    check_key(&ty, *position)?;
                    keys.push(IndexKey::Expression(qualified_expression(
                        &self.catalog,
                        &printed(expr, text),
                    )?));
                }
            }
        }
        check_width(keys.len() + create.included.len(), create.table.position)?;
        if let Some((expr, _)) = &create.predicate {
            lowering::check_predicate(&self.catalog, &table, expr, Made::by(&self.actor))?;
        }
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
                let own = create.columns.iter().map(|(item, _)| label(item));
                let own: Vec<&str> = own.chain(create.included.iter().map(String::as_str)).collect();
                names::relation(&self.catalog, &table, &own, "idx")
            }
        };
        if let Some((method, _)) = &create.ordered {
            let message = format!("index \"{name}\" of method {method} was made as an ordered one (btree)");
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        }
        let mut index = Index::new(name, Vec::new(), create.unique, false);
        index.equal_nulls = create.equal_nulls && create.unique;
        if index.equal_nulls && create.predicate.is_some() {
            let message = "NULLS NOT DISTINCT of an index with a condition is not supported";
            return Err(
                Error::unsupported(message, "Index coalesce(..) of the columns.").at(create.table.position)
            );
        }
        if create.orders.iter().any(|o| *o != KeyOrder::default()) {
            index.orders.clone_from(&create.orders);
        }
        let predicate = create.predicate.as_ref();
        let predicate = predicate.map(|(_, text)| qualified_expression(&self.catalog, text)).transpose()?;
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
            self.out.work.push(Work::CreateIndex(table.id, position));
        } else {
            let mut rewrite = Rewrite::of(&table);
            self.compute_keys(&table, index, &mut rewrite)?;
            self.finish_alter(table.id, rewrite)?;
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
        };
        self.table_mut(id).columns.insert(place, column);
        let (context, domain) = (CastContext::Assignment, None);
        rewrite.compute(place, RowExpr { expr: expr.clone(), kept: true, ty, context, domain, column: name });
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

/// An expression as the catalogs show it.
pub(super) fn printed(expr: &Expr, text: &str) -> String {
    match expr.kind {
        ExprKind::Call(_) => text.to_owned(),
        _ => format!("({text})"),
    }
}

/// What of a key goes into the name that an index is given.
pub(super) fn label(item: &IndexItem) -> &str {
    match item {
        IndexItem::Column(name) => name,
        IndexItem::Expression(expr, _) => match &expr.kind {
            ExprKind::Call(call) => call.name.parts.last().map_or("expr", String::as_str),
            ExprKind::Coalesce(_) => "coalesce",
            _ => "expr",
        },
    }
}
