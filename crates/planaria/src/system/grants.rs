//! The views of `information_schema` about what was granted on tables and their columns.

use super::Facts;
use super::rows::Rows;
use planaria_catalog::{ALL_OF_COLUMNS, Catalog, Grant, Object, Privileges, Rights};

/// Whose grants a view shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Those that whoever asks has, gave, or shares with everybody.
    All,
    /// Without everybody's.
    OfRoles,
}

/// Tables and views with their rights.
fn relations(catalog: &Catalog) -> Vec<(Object, &Rights)> {
    let is_table = |t: &&planaria_catalog::Table| !t.composite && t.materialized.is_none();
    let tables = catalog.tables.iter().flatten().map(|t| &**t).filter(is_table);
    let tables = tables.map(|t| (Object::Table(t.id), &t.rights));
    tables.chain(catalog.plain_views().map(|v| (Object::View(v.key()), &v.rights))).collect()
}

impl Shown {
    fn has(self, facts: &Facts<'_>, grant: &Grant) -> bool {
        let own = |role| facts.catalog.has_privileges_of(facts.role, role);
        own(grant.grantor) || grant.grantee.map_or(self == Shown::All, own)
    }
}

/// Adds a row for a privilege: on a column, or on the whole.
fn add(
    facts: &Facts<'_>,
    rows: &mut Rows,
    (object, rights): &(Object, &Rights),
    column: Option<&str>,
    (grant, privilege): (&Grant, &str),
) {
    let catalog = facts.catalog;
    let schema = catalog.schema_of(object).map_or("", |schema| catalog.schema_name(schema));
    let option = Privileges::of_word(privilege).is_some_and(|p| grant.options.contains(p));
    let grantable = option || grant.grantee.is_some_and(|g| catalog.has_privileges_of(g, rights.owner));
    let yes = |is| if is { "YES" } else { "NO" };
    rows.add(|r| {
        r.set("grantor", catalog.role_name(grant.grantor))
            .set("grantee", grant.grantee.map_or("PUBLIC".to_owned(), |g| catalog.role_name(g)))
            .set("table_catalog", facts.settings.database())
            .set("table_schema", schema)
            .set("table_name", catalog.object_name(object))
            .set("privilege_type", privilege)
            .set("is_grantable", yes(grantable));
        match column {
            Some(column) => r.set("column_name", column),
            None => r.set("with_hierarchy", yes(privilege == "SELECT")),
        };
    });
}

/// `table_privileges`, `role_table_grants`
pub(super) fn of_tables(facts: &Facts<'_>, shown: Shown, rows: &mut Rows) {
    for relation in relations(facts.catalog) {
        let grants = relation.1.grants(facts.catalog.object_kind(&relation.0));
        for grant in grants.iter().filter(|grant| shown.has(facts, grant)) {
            for privilege in grant.privileges.words() {
                add(facts, rows, &relation, None, (grant, privilege));
            }
        }
    }
}

/// `column_privileges`, `role_column_grants`
pub(super) fn of_columns(facts: &Facts<'_>, shown: Shown, rows: &mut Rows) {
    for relation in relations(facts.catalog) {
        let grants = relation.1.grants(facts.catalog.object_kind(&relation.0));
        for column in facts.catalog.named_columns(&relation.0) {
            // What is granted on both is shown once, if it may be granted on the same.
            let mut seen: Vec<(Option<_>, _, bool, &str)> = Vec::new();
            for grant in grants.iter().chain(relation.1.on_column(column)) {
                if !shown.has(facts, grant) {
                    continue;
                }
                for privilege in grant.privileges.and(ALL_OF_COLUMNS).words() {
                    let option = Privileges::of_word(privilege).is_some_and(|p| grant.options.contains(p));
                    let this = (grant.grantee, grant.grantor, option, privilege);
                    if !seen.contains(&this) {
                        seen.push(this);
                        add(facts, rows, &relation, Some(column), (grant, privilege));
                    }
                }
            }
        }
    }
}
