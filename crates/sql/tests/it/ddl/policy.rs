//! CREATE, ALTER and DROP POLICY, and what they keep from being changed.

use super::{notices, refused, run, schema};
use planaria_catalog::{Catalog, PolicyCommand};

const SCHEMA: &str = "
    CREATE ROLE r; CREATE ROLE s;
    CREATE TABLE t (a int PRIMARY KEY, b text);
    CREATE TABLE other (a int, c int);
    CREATE VIEW v AS SELECT a FROM other;
    CREATE POLICY plain ON t TO r, s, r USING (a > 1 AND t.b <> 'x');
    CREATE POLICY reads ON t AS RESTRICTIVE FOR SELECT USING (a IN (SELECT other.a FROM other WHERE c = 1));
    CREATE POLICY looks ON other USING (a IN (SELECT a FROM v));";

fn text(catalog: &Catalog, policy: &str) -> Option<String> {
    catalog.table("t").and_then(|t| t.policy(policy)).and_then(|p| p.using.clone())
}

#[test]
fn policies_are_definitions_of_their_table() {
    let mut c = schema(SCHEMA);
    let table = c.table("t").expect("is there");
    assert!(!table.row_security && !table.force_row_security);
    let names: Vec<(&str, usize)> = table.policies.iter().map(|p| (p.name.as_str(), p.roles.len())).collect();
    assert_eq!(names, [("plain", 2), ("reads", 0)]);
    assert_eq!(table.policies_for(PolicyCommand::Update).count(), 1);
    run(&mut c, "ALTER TABLE t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY");
    run(&mut c, "ALTER POLICY reads ON t RENAME TO early");
    let table = c.table("t").expect("is there");
    assert!(table.row_security && table.force_row_security);
    let names: Vec<&str> = table.policies.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["early", "plain"], "in the order of their names");
    run(
        &mut c,
        "DROP POLICY early ON t; ALTER TABLE t DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY",
    );
    let table = c.table("t").expect("is there");
    assert!(!table.row_security && !table.force_row_security && table.policies.len() == 1);
}

#[test]
fn names_in_policies_are_followed_or_stay() {
    let mut c = schema(SCHEMA);
    const HINT: &str = "Drop the policy, make the change, create the policy again.";
    let names = |policy: &str, table: &str| {
        format!(
            "Policy \"{policy}\" of table \"{table}\" names it in a query, and policies are kept as text. / {HINT}"
        )
    };
    for (statement, message, detail) in [
        (
            "ALTER TABLE t RENAME COLUMN a TO x",
            "column \"a\" of table \"t\" cannot be renamed",
            names("reads", "t"),
        ),
        (
            "ALTER TABLE other RENAME COLUMN c TO x",
            "column \"c\" of table \"other\" cannot be renamed",
            names("reads", "t"),
        ),
        ("ALTER TABLE other RENAME TO x", "table \"other\" cannot be renamed", names("reads", "t")),
        ("ALTER TABLE t RENAME TO x", "table \"t\" cannot be renamed", names("reads", "t")),
        ("ALTER VIEW v RENAME TO x", "view \"v\" cannot be renamed", names("looks", "other")),
    ] {
        refused(&c, statement, &format!("0A000 {message} / {detail}"));
    }
    run(&mut c, "DROP POLICY reads ON t; ALTER TABLE t RENAME COLUMN a TO \"A\"; ALTER TABLE t RENAME TO u");
    let table = c.table("u").expect("is there");
    let plain = table.policy("plain").and_then(|p| p.using.clone());
    assert_eq!(plain.as_deref(), Some("\"A\" > 1 AND u.b <> 'x'"));
    assert_eq!(text(&c, "plain"), None);
}

#[test]
fn what_policies_name_stays() {
    let mut c = schema(SCHEMA);
    const HINT: &str = "Use DROP ... CASCADE to drop the dependent objects too.";
    for (statement, message) in [
        (
            "DROP VIEW v",
            "cannot drop view v because other objects depend on it / policy looks on table other depends on view v",
        ),
        (
            "ALTER TABLE t DROP COLUMN b",
            "cannot drop column b of table t because other objects depend on it / \
             policy plain on table t depends on column b of table t",
        ),
    ] {
        refused(&c, statement, &format!("2BP01 {message} / {HINT}"));
    }
    refused(
        &c,
        "DROP ROLE r",
        "2BP01 role \"r\" cannot be dropped because some objects depend on it / target of policy plain on table t",
    );
    refused(
        &c,
        "ALTER TABLE t ALTER COLUMN b TYPE varchar(9)",
        "0A000 cannot alter type of a column used in a policy definition / policy plain on table t depends on column \"b\"",
    );
    let said = notices(&mut c, "DROP TABLE other CASCADE");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(text(&c, "reads").is_none() && text(&c, "plain").is_some());
    run(&mut c, "DROP OWNED BY r; DROP ROLE r");
    assert!(text(&c, "plain").is_some(), "it is for another role, too");
    run(&mut c, "DROP OWNED BY s; DROP ROLE s");
    assert!(text(&c, "plain").is_none());
}

#[test]
fn what_is_no_policy_is_refused() {
    let c = schema(&format!("{SCHEMA} CREATE SCHEMA far; CREATE TABLE far.away (a int);"));
    for (statement, expected) in [
        ("CREATE POLICY p ON t USING (a)", "42804 argument of POLICY must be type boolean, not type integer"),
        ("CREATE POLICY p ON t USING (z > 1)", "42703 column \"z\" does not exist"),
        (
            "CREATE POLICY p ON t USING (a IN (SELECT x FROM nowhere))",
            "42P01 relation \"nowhere\" does not exist",
        ),
        ("CREATE POLICY p ON v USING (true)", "42809 \"v\" is not a table"),
        ("CREATE POLICY plain ON t", "42710 policy \"plain\" for table \"t\" already exists"),
        ("CREATE POLICY p ON t TO nobody", "42704 role \"nobody\" does not exist"),
        ("ALTER POLICY p ON t USING (true)", "42704 policy \"p\" for table \"t\" does not exist"),
        ("DROP POLICY p ON t", "42704 policy \"p\" for table \"t\" does not exist"),
        ("ALTER SCHEMA far RENAME TO near", ""),
    ] {
        if expected.is_empty() {
            let mut changed = c.clone();
            run(&mut changed, statement);
            run(&mut changed, "CREATE POLICY p ON t USING (a IN (SELECT a FROM near.away))");
            run(&mut changed, "ALTER SCHEMA near RENAME TO far");
            let text = text(&changed, "p").expect("it is there");
            assert!(text.contains("far.away") && !text.contains("near"), "{text}");
            continue;
        }
        refused(&c, statement, expected);
    }
}
