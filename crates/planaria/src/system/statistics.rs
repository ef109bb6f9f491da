//! `pg_statistic_ext`, and statistics as statements.

use super::Facts;
use super::rows::Rows;
use super::shown;
use planaria_base::oid::Oid;
use planaria_base::text_io::quote_ident;
use planaria_catalog::{Catalog, STATISTICS_KINDS, Statistics, Table};
use planaria_syntax::ast::ExprKind;

/// `pg_statistic_ext`
pub(super) fn statistics(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for (table, of) in catalog.all_statistics() {
        let keys: Vec<i16> = of.columns_in_order(table).iter().map(|(at, _)| *at as i16).collect();
        let expressions = expressions(catalog, table, of);
        rows.add(|r| {
            r.set("oid", catalog.statistics_oid(table, of))
                .set("stxrelid", catalog.table_oid(table.id))
                .set("stxname", &of.name)
                .set("stxnamespace", catalog.schema_oid(of.schema))
                .set("stxowner", catalog.role_oid(of.owner))
                .set("stxstattarget", of.target)
                .set("stxkeys", keys)
                .set("stxkind", of.letters())
                .set("stxexprs", (!expressions.is_empty()).then(|| expressions.join(", ")));
        });
    }
}

/// The expressions as PostgreSQL shows them.
fn expressions(catalog: &Catalog, table: &Table, of: &Statistics) -> Vec<String> {
    of.expressions.iter().map(|text| shown::expression(catalog, table, text)).collect()
}

/// What `pg_get_statisticsobjdef` (0), its variant of columns (1) and that of expressions (2: with a byte 1 between them) answer.
pub(super) fn definition(catalog: &Catalog, oid: Oid, what: i64) -> Option<String> {
    let (table, of) = catalog.statistics_of_oid(oid)?;
    if what == 2 {
        let all = expressions(catalog, table, of);
        return (!all.is_empty()).then(|| all.join("\u{1}"));
    }
    let mut items: Vec<String> =
        of.columns_in_order(table).into_iter().map(|(_, name)| quote_ident(name)).collect();
    for text in &of.expressions {
        let shown = shown::plain_expression(catalog, table, text);
        let call =
            planaria_syntax::parse::expression(&shown).is_ok_and(|e| matches!(e.kind, ExprKind::Call(_)));
        items.push(if call { shown } else { format!("({shown})") });
    }
    let items = items.join(", ");
    if what == 1 {
        return Some(items);
    }
    let letters = of.letters();
    let asked = STATISTICS_KINDS.iter().filter(|(letter, _)| letters.contains(letter));
    let asked: Vec<&str> = asked.map(|(_, word)| *word).collect();
    let kinds = match asked.len() {
        0 | 3 => String::new(),
        _ => format!(" ({})", asked.join(", ")),
    };
    let name = catalog.shown(of.schema, &of.name, None);
    let relation = catalog.shown_relation(table.schema, &table.name);
    Some(format!("CREATE STATISTICS {name}{kinds} ON {items} FROM {relation}"))
}
