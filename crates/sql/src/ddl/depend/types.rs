//! What depends on types: on rows of tables and composite types, on enumerated types and domains.

use super::{Change, Object, References, age, mention, of_view, policies_with};
use planaria_base::{Result, TableId, Type, TypeId};
use planaria_catalog::{Catalog, ColumnDefault, Returns, TypeKind, is_made_of, oids};

/// What depends on the row type of a table, or on that of its arrays: columns, routines, texts that name it.
pub(super) fn of_row_type(
    catalog: &Catalog,
    id: TableId,
    own: &str,
    name: &str,
    found: &mut Vec<(Object, String)>,
) -> Result<()> {
    let mut all: Vec<(Object, String)> = Vec::new();
    let of_it = |ty: &Type| ty.row_of().is_some_and(|of| of.table == id);
    let on = |ty: &Type| match ty {
        Type::Array(_) => format!("{own}[]"),
        _ => own.to_owned(),
    };
    for table in catalog.tables.iter().flatten() {
        for (c, column) in table.visible() {
            if table.id != id && column.domain.is_none() && of_it(&column.ty) {
                all.push((Object::Column(table.id, c), on(&column.ty)));
            } else if let ColumnDefault::Expression(text) = &column.default
                && References::of_text(text)?.types.contains(name)
            {
                all.push((Object::Default(table.id, c), own.to_owned()));
            }
        }
        for check in &table.checks {
            if References::of_text(&check.expression)?.types.contains(name) {
                all.push((Object::Constraint(table.id, check.name.clone()), own.to_owned()));
            }
        }
    }
    for other in catalog.types.iter().flatten() {
        if let Some(domain) = other.domain().filter(|d| d.over.is_none() && of_it(&d.base)) {
            all.push((Object::Type(other.id), on(&domain.base)));
        }
    }
    for p in catalog.procedures.iter().filter(|p| p.current) {
        // What is of a domain over it depends on that.
        let result = match &p.returns {
            Returns::Scalar(ty) | Returns::SetOf(ty) => Some(ty).filter(|_| p.returns_domain.is_none()),
            _ => None,
        };
        let given = p.parameters.iter().filter(|q| q.domain.is_none()).map(|q| &q.ty);
        if matches!(p.returns, Returns::SetOfTable(t) | Returns::RowOf(t) if t == id) {
            all.push((Object::Routine(p.id), own.to_owned()));
        } else if let Some(ty) = given.chain(result).find(|ty| of_it(ty)) {
            all.push((Object::Routine(p.id), on(ty)));
        }
    }
    for view in catalog.views.values() {
        if References::of_view(view)?.types.contains(name) {
            all.push((of_view(catalog, view), own.to_owned()));
        }
    }
    let table = catalog.table_by_id(id);
    let row_type = catalog.oids.of(&oids::Object::RowType(planaria_catalog::key(table.schema, &table.name)));
    let casts = Change::casts_of(catalog, row_type);
    all.extend(casts.into_iter().map(|cast| (cast, own.to_owned())));
    all.sort_by_key(|(object, on)| (*on == own, age(catalog, object)));
    found.extend(all);
    Ok(())
}

/// What depends on a type: columns, routines and domains of it or of arrays of it, and texts that name it; in PostgreSQL's
/// order, those of the arrays first.
pub(super) fn of_type(catalog: &Catalog, id: TypeId, own: &str) -> Result<Vec<(Object, String)>> {
    let ty = catalog.type_by_id(id);
    let name = &mention(catalog, ty.schema, &ty.name);
    let mut all: Vec<(Object, String)> = Vec::new();
    let arrays = format!("{own}[]");
    let made_of = |other: &Type| match &ty.kind {
        TypeKind::Enum(of) => is_made_of(other, of),
        TypeKind::Domain(_) => false,
    };
    let on = |other: &Type| if matches!(other, Type::Array(_)) { arrays.clone() } else { own.to_owned() };
    let of_domain = |ty: &Type| if catalog.is_array_of(ty, id) { arrays.clone() } else { own.to_owned() };
    for table in catalog.tables.iter().flatten() {
        for (c, column) in table.visible() {
            if column.domain == Some(id) {
                all.push((Object::Column(table.id, c), of_domain(&column.ty)));
            } else if column.domain.is_none() && made_of(&column.ty) {
                all.push((Object::Column(table.id, c), on(&column.ty)));
            } else if let ColumnDefault::Expression(text) = &column.default
                && References::of_text(text)?.types.contains(name)
            {
                all.push((Object::Default(table.id, c), own.to_owned()));
            }
        }
        for check in &table.checks {
            if References::of_text(&check.expression)?.types.contains(name) {
                all.push((Object::Constraint(table.id, check.name.clone()), own.to_owned()));
            }
        }
        for trigger in &table.triggers {
            if let Some(text) = &trigger.condition
                && References::of_text(text)?.types.contains(name)
            {
                all.push((Object::Trigger(table.id, trigger.name.clone()), own.to_owned()));
            }
        }
    }
    for other in catalog.types.iter().flatten() {
        if let TypeKind::Domain(domain) = &other.kind
            && (domain.over == Some(id) || (domain.over.is_none() && made_of(&domain.base)))
        {
            all.push((Object::Type(other.id), on(&domain.base)));
        }
    }
    for p in catalog.procedures.iter().filter(|p| p.current) {
        let result = match &p.returns {
            Returns::Scalar(ty) | Returns::SetOf(ty) => Some(ty),
            _ => None,
        };
        let mut domains = p.parameters.iter().map(|p| (&p.ty, p.domain));
        let answered = result.filter(|_| p.returns_domain == Some(id));
        let mut types = p.parameters.iter().map(|p| &p.ty).chain(result);
        if let Some(ty) = domains.find(|(_, d)| *d == Some(id)).map(|(ty, _)| ty).or(answered) {
            all.push((Object::Routine(p.id), of_domain(ty)));
        } else if let Some(ty) = types.find(|ty| made_of(ty)) {
            all.push((Object::Routine(p.id), on(ty)));
        }
    }
    let casts = Change::casts_of(catalog, catalog.type_oid(id));
    all.extend(casts.into_iter().map(|cast| (cast, own.to_owned())));
    policies_with(catalog, own, |_, r| r.types.contains(name), &mut all)?;
    for view in catalog.views.values() {
        if References::of_view(view)?.types.contains(name) {
            all.push((of_view(catalog, view), own.to_owned()));
        }
    }
    all.sort_by_key(|(object, on)| (*on == own, age(catalog, object)));
    Ok(all)
}
