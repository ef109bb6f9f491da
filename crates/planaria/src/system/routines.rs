//! `pg_proc`.

use super::rows::{Rows, fixed};
use super::types::declared_oid;
use super::{Facts, definitions};
use crate::settings::spelled;
use planaria_base::oid::{self, Oid};
use planaria_base::types::RowType;
use planaria_base::{Datum, Type};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, Language, Mode, Parameter, Procedure, Returns, SupportFunction, Volatility};

/// `internal` in `pg_language`: that of aggregates.
const INTERNAL: Oid = 12;

/// `trigger` in `pg_type`.
const TRIGGER: Oid = 2279;

/// The OID of a language.
fn language(language: Language) -> Oid {
    let name = definitions::language(language);
    let row = fixed("pg_language").find(|l| l.value("lanname") == Datum::Text(name.to_owned()));
    row.map_or(0, |l| l.int("oid") as Oid)
}

/// `prosrc`
fn source(p: &Procedure) -> &str {
    match (&p.aggregate, p.standard) {
        (Some(_), _) => "aggregate_dummy",
        (None, Some(_)) => "",
        (None, None) => &p.body,
    }
}

/// The operator of SORTOP.
fn sort_operator(name: &str, ty: Oid) -> Oid {
    let found = fixed("pg_operator").find(|o| {
        o.value("oprname") == Datum::Text(name.to_owned())
            && o.int("oprleft") as Oid == ty
            && o.int("oprright") as Oid == ty
    });
    found.map_or(0, |o| o.int("oid") as Oid)
}

/// `pg_aggregate`
pub(super) fn aggregates(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for p in catalog.procedures.iter().filter(|p| p.current) {
        let Some(of) = &p.aggregate else { continue };
        let function = |f: &Option<SupportFunction>| f.as_ref().map_or(0, |f| f.oid(catalog));
        let modify = of.modify.unwrap_or('r');
        let moving = of.moving.as_deref();
        let first = p.inputs().next().map_or(0, |q| oid::of(&q.ty));
        rows.add(|r| {
            r.set("aggfnoid", catalog.routine_oid(p))
                .set("aggkind", of.kind())
                .set("aggnumdirectargs", of.direct.map_or(0, i32::from))
                .set("aggtransfn", of.transition.oid(catalog))
                .set("aggfinalfn", function(&of.last))
                .set("aggcombinefn", function(&of.combine))
                .set("aggserialfn", 0)
                .set("aggdeserialfn", 0)
                .set("aggmtransfn", moving.map_or(0, |m| m.transition.oid(catalog)))
                .set("aggminvtransfn", moving.map_or(0, |m| m.inverse.oid(catalog)))
                .set("aggmfinalfn", moving.map_or(0, |m| function(&m.last)))
                .set("aggfinalextra", of.extra)
                .set("aggmfinalextra", moving.is_some_and(|m| m.extra))
                .set("aggfinalmodify", modify)
                .set("aggmfinalmodify", moving.and_then(|m| m.modify).unwrap_or('r'))
                .set("aggsortop", of.sort.as_ref().map_or(0, |name| sort_operator(name, first)))
                .set("aggtranstype", oid::of(&of.state))
                .set("aggtransspace", i64::from(of.space))
                .set("aggmtranstype", moving.map_or(0, |m| oid::of(&m.state)))
                .set("aggmtransspace", moving.map_or(0, |m| i64::from(m.space)))
                .set("agginitval", of.initial.clone())
                .set("aggminitval", moving.and_then(|m| m.initial.clone()));
        });
    }
}

/// `prorettype`
pub(super) fn result(catalog: &Catalog, p: &Procedure) -> Oid {
    let record = || {
        let outputs: Vec<&Parameter> = p.outputs().collect();
        match outputs[..] {
            [one] if !p.is_procedure() => catalog.declared_oid(&one.ty, one.domain),
            _ => oid::of(&Type::Record(RowType::default())),
        }
    };
    if let (Some(_), Returns::Scalar(ty) | Returns::SetOf(ty)) = (p.returns_domain, &p.returns) {
        return catalog.declared_oid(ty, p.returns_domain);
    }
    match &p.returns {
        Returns::Procedure if p.outputs().next().is_none() => oid::of(&Type::Void),
        Returns::Scalar(ty) | Returns::SetOf(ty) => oid::of(ty),
        Returns::SetOfTable(table) | Returns::RowOf(table) => {
            let table = catalog.table_by_id(*table);
            catalog.oids.of(&Object::RowType(planaria_catalog::key(table.schema, &table.name)))
        }
        Returns::Trigger => TRIGGER,
        Returns::Record { .. } => oid::of(&Type::Record(RowType::default())),
        Returns::Procedure | Returns::Table | Returns::OutRow | Returns::SetOfOutRow => record(),
    }
}

/// A number of COST or ROWS.
fn said(number: &Option<String>) -> Option<f64> {
    number.as_ref()?.parse().ok()
}

/// `pg_proc`
pub(super) fn routines(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for p in catalog.procedures.iter().filter(|p| p.current) {
        let inputs: Vec<&Parameter> = p.inputs().collect();
        let only_in = p.parameters.iter().all(|q| q.mode == Mode::In);
        let all = (!only_in).then_some(&p.parameters);
        let mode = |q: &Parameter| match q.mode {
            Mode::In => 'i',
            Mode::Out => 'o',
            Mode::InOut => 'b',
            Mode::Variadic => 'v',
            Mode::Table => 't',
        };
        let named = p.parameters.iter().any(|q| !q.name.is_empty());
        let variadic = p.parameters.iter().find(|q| q.mode == Mode::Variadic).and_then(|q| q.ty.element());
        let defaults: Vec<&str> = inputs.iter().filter_map(|q| q.default.as_deref()).collect();
        rows.add(|r| {
            r.set("oid", catalog.routine_oid(p))
                .set("proname", &p.name)
                .set("pronamespace", catalog.schema_oid(p.schema))
                .set("proowner", catalog.role_oid(p.rights.owner))
                .set("proacl", p.rights.display(catalog))
                .set("prosecdef", p.security_definer)
                .set("prolang", if p.aggregate.is_some() { INTERNAL } else { language(p.language) })
                .set("prorows", if p.returns_set() { said(&p.hints.rows).unwrap_or(1000.0) } else { 0.0 })
                .set(
                    "procost",
                    said(&p.hints.cost).unwrap_or(if p.aggregate.is_some() { 1.0 } else { 100.0 }),
                )
                .set("proleakproof", p.hints.leakproof)
                .set("provariadic", variadic.map_or(0, |ty| oid::of(&ty)))
                .set(
                    "prokind",
                    if p.aggregate.is_some() {
                        'a'
                    } else if p.is_procedure() {
                        'p'
                    } else {
                        'f'
                    },
                )
                .set(
                    "proparallel",
                    p.aggregate.as_ref().and_then(|of| of.parallel).or(p.hints.parallel).unwrap_or('u'),
                )
                .set("proisstrict", p.strict)
                .set("proretset", p.returns_set())
                .set(
                    "provolatile",
                    match p.volatility {
                        Volatility::Immutable => 'i',
                        Volatility::Stable => 's',
                        Volatility::Volatile => 'v',
                    },
                )
                .set("pronargs", inputs.len())
                .set("pronargdefaults", defaults.len())
                .set("prorettype", result(catalog, p))
                .set(
                    "proargtypes",
                    inputs.iter().map(|q| declared_oid(catalog, &q.ty, q.domain)).collect::<Vec<_>>(),
                )
                .set(
                    "proallargtypes",
                    all.map(|all| {
                        all.iter().map(|q| declared_oid(catalog, &q.ty, q.domain)).collect::<Vec<_>>()
                    }),
                )
                .set("proargmodes", all.map(|all| all.iter().map(mode).collect::<Vec<_>>()))
                .set("proargnames", named.then(|| p.parameters.iter().map(|q| &q.name).collect::<Vec<_>>()))
                .set("proargdefaults", Some(defaults.join(", ")).filter(|d| !d.is_empty()))
                .set("prosrc", source(p))
                .set("prosqlbody", p.standard_text())
                .set(
                    "proconfig",
                    (!p.settings.is_empty()).then(|| {
                        let shown = |(name, value): &(String, String)| format!("{}={value}", spelled(name));
                        p.settings.iter().map(shown).collect::<Vec<_>>()
                    }),
                );
        });
    }
}
