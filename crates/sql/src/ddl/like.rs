//! CREATE TABLE (LIKE ..): what another table is, as if it were written out.

use super::{Change, names, reparse};
use planaria_base::{ColumnId, Error, Result, SequenceId, TableId, Type};
use planaria_catalog::{
    CheckTime, Column, ColumnDefault, ColumnTold, Index, IndexKey, Object, Privileges, Requirement, Table,
    UniqueKind,
};
use planaria_syntax::ast::{
    ColumnDef, Constraint, ConstraintKind, CreateIndex, CreateTable, IndexItem, Like, Name, Position,
    SequenceOptions, TypeName, TypeNameKind,
};
use planaria_syntax::ast::{Exclude, ExcludeElement};

/// A table written out, and what no definition of a table says.
pub(super) struct WrittenOut {
    pub create: CreateTable,
    /// Columns that take their numbers from a sequence of another table.
    pub shared: Vec<(usize, SequenceId)>,
    /// Comments of columns.
    pub comments: Vec<(usize, String)>,
    pub indexes: Vec<CreateIndex>,
    /// Tables whose statistics it has, too.
    pub statistics: Vec<TableId>,
}

impl Change {
    /// The definition with the columns of LIKE, and the rest of what it includes, in their places.
    pub(super) fn written_out(&self, create: &CreateTable) -> Result<WrittenOut> {
        let mut out = WrittenOut {
            create: CreateTable { likes: Vec::new(), ..create.clone() },
            shared: Vec::new(),
            comments: Vec::new(),
            indexes: Vec::new(),
            statistics: Vec::new(),
        };
        let mut more = 0;
        for like in &create.likes {
            let source = names::table(&self.catalog, &like.table)?;
            self.require(&Requirement::new(Object::Table(source.id), Privileges::SELECT))?;
            let position = like.table.position;
            for (_, column) in source.visible() {
                let place = like.place + more;
                out.create.columns.insert(place, self.like_column(column, like, position)?);
                if let (ColumnDefault::Sequence(sequence), true) = (&column.default, like.defaults) {
                    out.shared.push((place, *sequence));
                }
                if let (Some(comment), true) = (&column.comment, like.comments) {
                    out.comments.push((place, comment.clone()));
                }
                more += 1;
            }
            if like.constraints {
                for check in &source.checks {
                    let text = self.as_written_here(&check.expression);
                    let expr = reparse::expression(&text)?;
                    let kind = ConstraintKind::Check { expr, text };
                    let name = Some(check.name.clone());
                    let check = CheckTime::NotDeferrable;
                    out.create.constraints.push(Constraint { name, kind, not_valid: false, check, position });
                }
            }
            if like.statistics {
                out.statistics.push(source.id);
            }
            if like.indexes {
                let (schema, local) = names::new(&self.catalog, &create.name)?;
                let parts = vec![self.catalog.schema_name(schema).to_owned(), local.to_owned()];
                let name = Name { parts, position: create.name.position };
                self.like_indexes(source, &name, position, &mut out)?;
            }
        }
        Ok(out)
    }

    fn like_column(&self, column: &Column, like: &Like, position: Position) -> Result<ColumnDef> {
        let kind = match column.domain {
            Some(id) => {
                let ty = self.catalog.type_by_id(id);
                let parts = vec![self.catalog.schema_name(ty.schema).to_owned(), ty.name.clone()];
                let name = Name { parts, position };
                match self.catalog.is_array_of(&column.ty, id) {
                    true => TypeNameKind::NamedArray(name),
                    false => TypeNameKind::Named(name),
                }
            }
            None => TypeNameKind::Known(column.ty.clone()),
        };
        let mut kinds = Vec::new();
        if column.not_null {
            kinds.push(ConstraintKind::NotNull);
        }
        match &column.default {
            ColumnDefault::Expression(text) if like.defaults => {
                let text = self.as_written_here(text);
                kinds.push(ConstraintKind::Default { expr: reparse::expression(&text)?, text });
            }
            ColumnDefault::Generated(text) if like.generated => {
                let text = self.as_written_here(text);
                kinds.push(ConstraintKind::GeneratedStored { expr: reparse::expression(&text)?, text });
            }
            ColumnDefault::Identity { sequence, always } if like.identity => {
                let options = match self.catalog.sequences.get(sequence.index()) {
                    Some(Some(s)) => SequenceOptions {
                        // As in PostgreSQL, whatever the column is.
                        ty: Some(Type::Int8),
                        start: Some(s.start),
                        increment: Some(s.increment),
                        min: Some(Some(s.min)),
                        max: Some(Some(s.max)),
                        cycle: Some(s.cycle),
                        cache: Some(s.cache),
                        ..SequenceOptions::default()
                    },
                    _ => SequenceOptions::default(),
                };
                kinds.push(ConstraintKind::Identity { always: *always, options });
            }
            _ => {}
        }
        let check = CheckTime::NotDeferrable;
        let constraints =
            kinds.into_iter().map(|kind| Constraint { name: None, kind, not_valid: false, check, position });
        Ok(ColumnDef {
            name: column.name.clone(),
            ty: TypeName { position, kind },
            constraints: constraints.collect(),
            told: told_of_like(column, like, self.actor.internal),
            unknown_compression: None,
            position,
        })
    }

    /// An expression that is kept, as the statement could have it.
    fn as_written_here(&self, text: &str) -> String {
        crate::lower::shown_expression(&self.catalog.ready(), text)
    }

    /// An EXCLUDE constraint as it was said.
    fn exclusion_like(&self, source: &Table, index: &Index, position: Position) -> Result<ConstraintKind> {
        let written = |text: &str| -> Result<_> {
            let text = self.as_written_here(text);
            Ok((reparse::expression(&text)?, text))
        };
        let exclusion =
            index.exclusion.as_ref().ok_or_else(|| Error::internal("an index that excludes nothing"))?;
        let definition = index.definition.as_ref();
        let mut elements = Vec::new();
        for at in source.said_keys(index) {
            let item = match definition.map(|d| &d.keys[at]) {
                Some(IndexKey::Expression(text)) => {
                    let (expr, text) = written(text)?;
                    IndexItem::Expression(Box::new(expr), text)
                }
                Some(IndexKey::Column(c)) => IndexItem::Column(source.columns[c.index()].name.clone()),
                None => IndexItem::Column(source.columns[index.columns[at].index()].name.clone()),
            };
            let operator = exclusion.operators[at].symbol().to_owned();
            elements.push(ExcludeElement { item, position, operator, operator_position: position });
        }
        let predicate =
            definition.and_then(|d| d.predicate.as_ref()).map(|text| written(text)).transpose()?;
        let method = exclusion.gist.then(|| ("gist".to_owned(), position));
        Ok(ConstraintKind::Exclude(Box::new(Exclude { method, elements, predicate })))
    }

    /// Keys become constraints, other indexes indexes; their names are made anew.
    fn like_indexes(
        &self,
        source: &Table,
        name: &Name,
        position: Position,
        out: &mut WrittenOut,
    ) -> Result<()> {
        let label = |c: &ColumnId| source.columns[c.index()].name.clone();
        for (at, index) in source.all_indexes().enumerate() {
            let columns: Vec<String> = index.columns.iter().map(label).collect();
            if source.index_form(at).is_none() {
                continue;
            }
            if index.constraint {
                let check = index.check();
                let included = index.definition.iter().flat_map(|d| &d.included).map(label).collect();
                let kind = match at {
                    _ if index.unique_later() == Some(UniqueKind::Primary) => {
                        ConstraintKind::PrimaryKey { columns, included }
                    }
                    _ if index.excludes() => self.exclusion_like(source, index, position)?,
                    0 => ConstraintKind::PrimaryKey { columns, included },
                    _ => ConstraintKind::Unique { columns, equal_nulls: index.equal_nulls, included },
                };
                out.create.constraints.push(Constraint {
                    name: None,
                    kind,
                    not_valid: false,
                    check,
                    position,
                });
                continue;
            }
            out.indexes.extend(self.indexes_like(source, at, name)?);
        }
        Ok(())
    }

    /// An index that is no constraint's as a statement that makes one like it on another table.
    pub(super) fn indexes_like(&self, source: &Table, at: usize, name: &Name) -> Result<Vec<CreateIndex>> {
        let label = |c: &ColumnId| source.columns[c.index()].name.clone();
        let position = name.position;
        let index = source.index_at(at);
        let columns: Vec<String> = index.columns.iter().map(label).collect();
        let definition = index.definition.as_ref();
        let mut items = Vec::new();
        match definition {
            None => items.extend(columns.into_iter().map(|name| (IndexItem::Column(name), position))),
            Some(definition) => {
                for key in &definition.keys {
                    let item = match key {
                        IndexKey::Column(c) => IndexItem::Column(label(c)),
                        IndexKey::Expression(text) => {
                            let text = self.as_written_here(text);
                            IndexItem::Expression(Box::new(reparse::expression(&text)?), text)
                        }
                    };
                    items.push((item, position));
                }
            }
        }
        let predicate = match definition.and_then(|d| d.predicate.as_ref()) {
            Some(text) => {
                let text = self.as_written_here(text);
                Some((reparse::expression(&text)?, text))
            }
            None => None,
        };
        Ok(vec![CreateIndex {
            name: None,
            unique: index.unique,
            if_not_exists: false,
            table: name.clone(),
            only: false,
            columns: items,
            orders: index.orders.clone(),
            included: definition.map_or(Vec::new(), |d| d.included.iter().map(label).collect()),
            predicate,
            equal_nulls: index.equal_nulls,
            method: index.method.clone().map(|method| (method, position)),
            parameters: Vec::new(),
        }])
    }
}

/// What LIKE takes of what is said of a column.
fn told_of_like(column: &Column, like: &Like, logged: bool) -> Option<Box<ColumnTold>> {
    let told = column.told.as_deref()?;
    // Values of some types have none of it, and nobody looked at what older versions were told.
    let collates = logged || super::index::has_collation(&column.ty);
    let compresses = like.compression && (logged || !super::told::is_plain(&column.ty));
    let told = ColumnTold {
        collation: told.collation.clone().filter(|_| collates),
        storage: told.storage.filter(|_| like.storage),
        compression: told.compression.filter(|_| compresses),
        ..ColumnTold::default()
    };
    (told != ColumnTold::default()).then(|| Box::new(told))
}
