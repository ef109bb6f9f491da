//! A catalog from CREATE statements, enough of them for tests.

use planaria_syntax::ast::{
    ColumnDef, ConstraintKind, CreateRoutine, IndexItem, RoutineReturns, Statement, StatementKind,
    TypeNameKind,
};
use planaria_syntax::parse;

use crate::lower::types;
use planaria_base::{ColumnId, IndexId, ProcedureId, SequenceId, TableId, Type};
use planaria_catalog::*;

/// The definitions of a script; statements that define nothing are skipped.
pub(super) fn catalog(text: &str) -> Catalog {
    let mut catalog = Catalog::default();
    define(&mut catalog, text);
    catalog
}

pub(super) fn define(catalog: &mut Catalog, text: &str) {
    for statement in parse::statements(text).expect(text) {
        apply(catalog, &statement);
    }
}

fn sequence(catalog: &mut Catalog, name: String, hidden: bool) -> SequenceId {
    let id = SequenceId::from(catalog.sequences.len());
    let sequence = Sequence {
        id,
        schema: Default::default(),
        name,
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        owner: None,
        hidden,
        rights: Rights::default(),
        comment: None,
    };
    catalog.sequences.push(Some(sequence.into()));
    id
}

fn apply(catalog: &mut Catalog, statement: &Statement) {
    match &statement.kind {
        StatementKind::CreateTable(create) => {
            let id = TableId::from(catalog.tables.len());
            let name = create.name.parts.last().expect("a name").clone();
            let mut table = Table {
                id,
                schema: Default::default(),
                on_commit: Default::default(),
                materialized: None,
                composite: false,
                partitioning: None,
                partition: None,
                name: name.clone(),
                columns: Vec::new(),
                indexes: Vec::new(),
                has_primary_key: false,
                checks: Vec::new(),
                foreign_keys: Vec::new(),
                triggers: Vec::new(),
                row_security: false,
                force_row_security: false,
                policies: Vec::new(),
                generation: 0,
                rights: Rights::default(),
                comment: None,
            };
            for column in &create.columns {
                add_column(catalog, &mut table, column);
            }
            let all = create
                .columns
                .iter()
                .flat_map(|c| c.constraints.iter().map(move |k| (Some(&c.name), &k.kind)))
                .chain(create.constraints.iter().map(|k| (None, &k.kind)));
            for (own, kind) in all {
                constraint(catalog, &mut table, own, kind);
            }
            if !table.has_primary_key {
                let rows = sequence(catalog, format!("{name}_rows"), true);
                table.columns.push(Column {
                    name: "rowid".into(),
                    ty: Type::Int8,
                    not_null: true,
                    default: ColumnDefault::Sequence(rows),
                    domain: None,
                    hidden: true,
                    comment: None,
                });
                let columns = vec![ColumnId::from(table.columns.len() - 1)];
                table.indexes.insert(0, Index::new(format!("{name}_rowid"), columns, true, false));
            }
            catalog.tables.push(Some(table.into()));
        }
        StatementKind::CreateIndex(create) => {
            let name = create.table.parts.last().expect("a name");
            let table = catalog.table(name).expect("the table").clone();
            let column = |item: &IndexItem| match item {
                IndexItem::Column(name) => table.column(name).expect("a column").0,
                IndexItem::Expression(..) => panic!("an index over columns"),
            };
            let columns = create.columns.iter().map(|(item, _)| column(item)).collect();
            let index = Index::new(create.name.clone().unwrap_or_default(), columns, create.unique, false);
            let table = catalog.tables[table.id.index()].as_mut().expect("the table");
            table.indexes.push(index);
        }
        StatementKind::CreateView { name, columns, query_text, .. } => {
            let name = name.parts.last().expect("a name").clone();
            let (query, rights) = (query_text.clone(), Rights::default());
            let view = View::new(Default::default(), name.clone(), columns.clone(), query, rights);
            catalog.views.insert(name, view);
        }
        StatementKind::CreateRoutine(create) => routine(catalog, create),
        _ => {}
    }
}

fn add_column(catalog: &mut Catalog, table: &mut Table, def: &ColumnDef) {
    let ty = types::resolve(catalog, &def.ty).expect("a type");
    let (name, default) = (def.name.clone(), ColumnDefault::None);
    let mut column =
        Column { name, ty, not_null: false, default, domain: None, hidden: false, comment: None };
    if matches!(def.ty.kind, TypeNameKind::Serial(_)) {
        let s = sequence(catalog, format!("{}_{}_seq", table.name, def.name), false);
        column.default = ColumnDefault::Sequence(s);
        column.not_null = true;
    }
    for constraint in &def.constraints {
        match &constraint.kind {
            ConstraintKind::NotNull => column.not_null = true,
            ConstraintKind::Default { text, .. } => column.default = ColumnDefault::Expression(text.clone()),
            ConstraintKind::Identity { always, .. } => {
                let s = sequence(catalog, format!("{}_{}_seq", table.name, def.name), false);
                column.default = ColumnDefault::Identity { sequence: s, always: *always };
                column.not_null = true;
            }
            _ => {}
        }
    }
    table.columns.push(column);
}

fn constraint(catalog: &Catalog, table: &mut Table, own: Option<&String>, kind: &ConstraintKind) {
    let ids = |table: &Table, names: &[String]| -> Vec<ColumnId> {
        let names: Vec<&String> =
            if names.is_empty() { own.into_iter().collect() } else { names.iter().collect() };
        names.into_iter().map(|n| table.column(n).expect("a column").0).collect()
    };
    match kind {
        ConstraintKind::PrimaryKey { columns } => {
            let columns = ids(table, columns);
            for c in &columns {
                table.columns[c.index()].not_null = true;
            }
            table.has_primary_key = true;
            let name = format!("{}_pkey", table.name);
            table.indexes.insert(0, Index::new(name, columns, true, true));
        }
        ConstraintKind::Unique { columns, .. } => {
            let columns = ids(table, columns);
            let name = format!("{}_key{}", table.name, table.indexes.len());
            table.indexes.push(Index::new(name, columns, true, true));
        }
        ConstraintKind::Check { text, .. } => {
            let name = format!("{}_check{}", table.name, table.checks.len());
            table.checks.push(Check { name, expression: text.clone(), not_valid: false, comment: None });
        }
        ConstraintKind::ForeignKey {
            columns, parent, parent_columns, on_delete, on_update, check, ..
        } => {
            let columns = ids(table, columns);
            let name = parent.parts.last().expect("a name");
            let parent = if *name == table.name { &*table } else { catalog.table(name).expect("a parent") };
            let parent_columns = if parent_columns.is_empty() {
                parent.indexes[0].columns.clone()
            } else {
                parent_columns.iter().map(|n| parent.column(n).expect("a column").0).collect()
            };
            let key = ForeignKey {
                name: format!("{}_fkey{}", table.name, table.foreign_keys.len()),
                columns,
                parent: parent.id,
                parent_index: IndexId::PRIMARY,
                parent_columns,
                on_delete: on_delete.unwrap_or(ReferentialAction::Restrict),
                set_columns: Vec::new(),
                on_update: on_update.unwrap_or(ReferentialAction::Restrict),
                check: *check,
                match_full: false,
                not_valid: false,
                comment: None,
            };
            table.foreign_keys.push(key);
        }
        _ => {}
    }
}

fn routine(catalog: &mut Catalog, create: &CreateRoutine) {
    let id = ProcedureId::from(catalog.procedures.len());
    let parameters = create
        .parameters
        .iter()
        .map(|p| Parameter {
            name: p.name.clone(),
            ty: types::resolve(catalog, &p.ty).expect("a type").base(),
            domain: None,
            mode: p.mode,
            default: p.default.as_ref().map(|(_, text)| text.clone()),
        })
        .collect();
    let returns = match &create.returns {
        _ if create.procedure => Returns::Procedure,
        Some(RoutineReturns::Table) => Returns::Table,
        Some(RoutineReturns::Type { ty, setof }) => match (&ty.kind, setof) {
            (TypeNameKind::Named(name), true) => {
                Returns::SetOfTable(catalog.table(name.parts.last().expect("a name")).expect("a table").id)
            }
            (_, false) => Returns::Scalar(types::resolve(catalog, ty).expect("a type").base()),
            (_, true) => Returns::SetOf(types::resolve(catalog, ty).expect("a type").base()),
        },
        None => Returns::Scalar(Type::Void),
    };
    let name = create.name.parts.last().expect("a name").clone();
    catalog.procedures.change_where(|p| p.name == name, |p| p.current = false);
    let procedure = Procedure {
        id,
        schema: Default::default(),
        name,
        parameters,
        returns,
        language: if create.language.as_deref() == Some("sql") { Language::Sql } else { Language::PlPgSql },
        volatility: create.volatility.unwrap_or(Volatility::Volatile),
        strict: create.strict,
        body: create.body.clone(),
        body_position: create.body_position,
        current: true,
        returns_domain: None,
        instance_of: None,
        fires: None,
        fires_view: None,
        security_definer: false,
        settings: Vec::new(),
        rights: Rights::default(),
        comment: None,
    };
    catalog.procedures.push(procedure.into());
}
