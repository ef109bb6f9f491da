//! `pg_policy`.

use super::rows::Rows;
use super::{Facts, shown};
use planaria_base::Datum;
use planaria_catalog::{Catalog, Policy};
use planaria_sql::lower::shown_expression;

/// `polroles`: OIDs; 0 is everybody.
fn roles(catalog: &Catalog, policy: &Policy) -> Vec<i64> {
    if policy.roles.is_empty() {
        return vec![0];
    }
    policy.roles.iter().map(|role| i64::from(catalog.role_oid(*role))).collect()
}

/// With parentheses around it, but for a constant, a column or a call.
fn parenthesized(text: String) -> String {
    use planaria_syntax::ast::ExprKind::{Bool, Call, Column};
    match planaria_syntax::parse::expression(&text).map(|e| e.kind) {
        Ok(Bool(_) | Call(_) | Column(_)) => text,
        _ => format!("({text})"),
    }
}

/// `pg_policy`
pub(super) fn policies(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for table in catalog.tables.iter().flatten() {
        for policy in &table.policies {
            let shown = |text: &Option<String>| match text {
                Some(text) => Datum::Text(
                    shown::condition(catalog, table, text, false)
                        .unwrap_or_else(|| parenthesized(shown_expression(catalog, text))),
                ),
                None => Datum::Null,
            };
            rows.add(|r| {
                r.set("oid", catalog.policy_oid(table.id, &policy.name))
                    .set("polname", &policy.name)
                    .set("polrelid", catalog.table_oid(table.id))
                    .set("polcmd", policy.command.letter())
                    .set("polpermissive", policy.permissive)
                    .set("polroles", roles(catalog, policy))
                    .set("polqual", shown(&policy.using))
                    .set("polwithcheck", shown(&policy.check));
            });
        }
    }
}
