//! EXCLUDE constraints: an index under the constraint's name, with the operators that its keys are compared by. Keys that
//! must be equal stand first in it, so that a row's check reads those alone that are equal there
//! ([`crate::lower`], `exclusion`).

use super::alter::Rewrite;
use super::constraint::{check_key, check_width};
use super::index::{labels, printed};
use super::lowering::{self, Made, Promise};
use super::{Change, names};
use crate::lower::qualified_expression;
use planaria_base::types::{PackedKind, TypeClass};
use planaria_base::{Error, Result, SqlState, TableId, Type};
use planaria_catalog::{CheckTime, Exclusion, ExclusionOperator, Index, IndexDefinition, IndexKey};
use planaria_syntax::ast::{Exclude, ExcludeElement, IndexItem, Position};

/// EXCLUDE, as it was said.
pub(super) struct ExcludeDef {
    pub name: Option<String>,
    pub exclude: Exclude,
    pub check: CheckTime,
    pub position: Position,
}

impl Change {
    /// Adds an EXCLUDE constraint with its index. Whether the index's keys have columns of their own, `rewrite` says.
    pub(super) fn add_exclusion(
        &mut self,
        id: TableId,
        def: &ExcludeDef,
        rewrite: &mut Rewrite,
    ) -> Result<(Promise, Option<planaria_base::IndexId>)> {
        let table = self.catalog.table_by_id(id).clone();
        if table.is_partitioned() && !self.actor.internal {
            let message = "exclusion constraints are not supported on partitioned tables";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(def.position));
        }
        let gist = method(&def.exclude)?;
        let mut keys = Vec::new();
        for element in &def.exclude.elements {
            let (key, ty) = self.exclusion_key(&table, element, def.position)?;
            check_key(&ty, element.position)?;
            keys.push((key, operator(element, &ty, gist)?));
        }
        check_width(keys.len(), def.position)?;
        if let Some((expr, _)) = &def.exclude.predicate {
            lowering::check_predicate(&self.catalog, &table, expr, Made::by(&self.actor))?;
        }
        let name = match &def.name {
            Some(name) if self.catalog.relation_exists((table.schema, name.as_str())) => {
                return Err(names::relation_exists(name));
            }
            Some(name) if table.has_constraint(name) => {
                return Err(names::constraint_exists(name, &table.name).at(def.position));
            }
            Some(name) => name.clone(),
            None => {
                let items = def.exclude.elements.iter().map(|e| &e.item);
                let own = labels(items, &[], self.actor.former_labels);
                let own: Vec<&str> = own.iter().map(String::as_str).collect();
                names::relation(&self.catalog, &table, &own, "excl")
            }
        };
        // What must be equal stands first.
        let mut places: Vec<usize> = (0..keys.len()).collect();
        places.sort_by_key(|at| keys[*at].1 != ExclusionOperator::Equal);
        let order = (0..keys.len()).filter_map(|said| places.iter().position(|at| *at == said));
        let exclusion = Exclusion {
            gist,
            operators: places.iter().map(|at| keys[*at].1).collect(),
            order: order.map(|at| at as u16).collect(),
            unique: None,
            check: def.check,
        };
        let keys: Vec<IndexKey> = places.iter().map(|at| keys[*at].0.clone()).collect();
        let predicate = def.exclude.predicate.as_ref();
        let predicate = predicate.map(|(_, text)| qualified_expression(&self.catalog, text)).transpose()?;
        let mut index = Index::new(name.clone(), Vec::new(), false, true);
        index.exclusion = Some(exclusion);
        let columns = keys.iter().filter_map(|key| match key {
            IndexKey::Column(column) => Some(*column),
            IndexKey::Expression(_) => None,
        });
        index.columns = columns.collect();
        let promise = Promise::Exclusion { table: id, name };
        if predicate.is_none() && index.columns.len() == keys.len() {
            return Ok((promise, Some(self.push_index(id, index)?)));
        }
        index.definition = Some(IndexDefinition { keys, predicate, included: Vec::new() });
        self.compute_keys(&table, index, rewrite)?;
        Ok((promise, None))
    }

    /// A key and its type.
    fn exclusion_key(
        &self,
        table: &planaria_catalog::Table,
        element: &ExcludeElement,
        position: Position,
    ) -> Result<(IndexKey, Type)> {
        match &element.item {
            IndexItem::Column(name) => {
                let Some((c, column)) = table.column(name) else {
                    let message = format!("column \"{name}\" named in key does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(position));
                };
                Ok((IndexKey::Column(c), column.ty.clone()))
            }
            IndexItem::Expression(expr, text) => {
                let ty = lowering::index_expression(&self.catalog, table, expr, Made::by(&self.actor))?;
                let text = qualified_expression(&self.catalog, &printed(expr, text))?;
                Ok((IndexKey::Expression(text), ty))
            }
        }
    }

    /// A column of exclusion constraints has another type: their operators must be there for it.
    pub(super) fn recheck_exclusions(
        &self,
        id: TableId,
        column: planaria_base::ColumnId,
    ) -> Result<Vec<Promise>> {
        let table = self.catalog.table_by_id(id);
        let mut promises = Vec::new();
        for index in &table.indexes {
            let Some(exclusion) = &index.exclusion else { continue };
            let Some(at) = index.columns.iter().position(|c| *c == column) else { continue };
            let ty = &table.columns[column.index()].ty;
            supported(exclusion.operators[at], ty)?;
            promises.push(Promise::Exclusion { table: id, name: index.name.clone() });
        }
        Ok(promises)
    }
}

/// Whether the method is gist; others than that and btree are refused.
fn method(exclude: &Exclude) -> Result<bool> {
    match &exclude.method {
        None => Ok(false),
        Some((method, _)) if method == "btree" => Ok(false),
        Some((method, _)) if method == "gist" => Ok(true),
        Some((method, position)) => {
            let message = format!("EXCLUDE with index method {method} is not supported");
            Err(Error::unsupported(message, "Say USING gist.").at(*position))
        }
    }
}

/// The operator of an element, which its type must have, and its method.
fn operator(element: &ExcludeElement, ty: &Type, gist: bool) -> Result<ExclusionOperator> {
    let symbol = if element.operator == "!=" { "<>" } else { element.operator.as_str() };
    let Some(operator) = ExclusionOperator::ALL.into_iter().find(|op| op.symbol() == symbol) else {
        let message = format!("operator {symbol} is not supported in EXCLUDE");
        return Err(Error::unsupported(message, "Use =, <> or &&.").at(element.operator_position));
    };
    supported(operator, ty).map_err(|e| e.at(element.operator_position))?;
    if !gist && operator != ExclusionOperator::Equal {
        let shown = match ty {
            Type::Range(_) if operator == ExclusionOperator::Overlaps => "anyrange".to_owned(),
            ty => crate::lower::type_in_message(ty),
        };
        let message = format!(
            "operator {symbol}({shown},{shown}) is not a member of operator family \"{}\"",
            family(ty)
        );
        let detail = "The exclusion operator must be related to the index operator class for the constraint.";
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail));
    }
    Ok(operator)
}

/// 42883 where a type has no such operator.
fn supported(operator: ExclusionOperator, ty: &Type) -> Result<()> {
    match (operator, ty) {
        (ExclusionOperator::Overlaps, Type::Range(_)) => Ok(()),
        (ExclusionOperator::Overlaps, Type::Packed(of)) if of.kind() == PackedKind::Network => {
            let hint = "Use =, <> or, of ranges, &&.";
            Err(Error::unsupported(format!("operator && of {ty} is not supported in EXCLUDE"), hint))
        }
        (ExclusionOperator::Overlaps, ty) => {
            let shown = crate::lower::type_in_message(ty);
            let message = format!("operator does not exist: {shown} && {shown}");
            Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(
                "No operator matches the given name and argument types. You might need to add explicit type casts.",
            ))
        }
        _ => Ok(()),
    }
}

/// The operator family of a type's order.
fn family(ty: &Type) -> &'static str {
    if let Type::Packed(of) = ty {
        return of.operator_family();
    }
    match ty.class() {
        TypeClass::Integer if ty.is_oid() => "oid_ops",
        TypeClass::Integer => "integer_ops",
        TypeClass::Bool => "bool_ops",
        TypeClass::Numeric => "numeric_ops",
        TypeClass::Float => "float_ops",
        TypeClass::Text => "text_ops",
        TypeClass::Bytea => "bytea_ops",
        TypeClass::DateTime => "datetime_ops",
        TypeClass::Interval => "interval_ops",
        TypeClass::Time => "time_ops",
        TypeClass::Uuid => "uuid_ops",
        TypeClass::Json => "jsonb_ops",
        TypeClass::Citext => "citext_ops",
        TypeClass::Range => "range_ops",
        TypeClass::Enum => "enum_ops",
        TypeClass::Array | TypeClass::Packed | TypeClass::Other => "array_ops",
    }
}
