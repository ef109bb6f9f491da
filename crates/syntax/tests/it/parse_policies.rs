//! Row-level security: CREATE, ALTER and DROP POLICY, and what ALTER TABLE has of it.

use planaria_base::SqlState;
use planaria_catalog::PolicyCommand;
use planaria_syntax::ast::*;
use planaria_syntax::parse;

#[track_caller]
fn one(text: &str) -> StatementKind {
    let mut statements = parse::statements(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    assert_eq!(statements.len(), 1, "{text}");
    statements.remove(0).kind
}

#[track_caller]
fn create(text: &str) -> CreatePolicy {
    match one(text) {
        StatementKind::CreatePolicy(create) => *create,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn policies() {
    let p = create("CREATE POLICY p ON s.t");
    assert!(p.permissive && p.command == PolicyCommand::All && p.roles.is_empty());
    assert!(p.using.is_none() && p.check.is_none());
    assert_eq!((p.name.as_str(), p.table.parts.join(".").as_str()), ("p", "s.t"));
    let p = create(
        "CREATE POLICY \"P\" ON t AS RESTRICTIVE FOR UPDATE TO a, CURRENT_USER, PUBLIC USING ((a > 1)) WITH CHECK (b IN (SELECT c FROM d))",
    );
    assert!(!p.permissive && p.command == PolicyCommand::Update);
    let roles: Vec<RoleName> = p.roles.into_iter().map(|r| r.name).collect();
    assert_eq!(roles, [RoleName::Name("a".to_owned()), RoleName::CurrentUser, RoleName::Public]);
    assert_eq!(
        p.using.map(|(_, text)| text).as_deref(),
        Some("a > 1"),
        "printed with parentheses of its own"
    );
    assert_eq!(p.check.map(|(_, text)| text).as_deref(), Some("b IN (SELECT c FROM d)"));
    for (word, command) in [
        ("ALL", PolicyCommand::All),
        ("SELECT", PolicyCommand::Select),
        ("INSERT", PolicyCommand::Insert),
        ("DELETE", PolicyCommand::Delete),
    ] {
        assert_eq!(create(&format!("CREATE POLICY p ON t FOR {word} WITH CHECK (true)")).command, command);
    }
    let p = create("CREATE POLICY p ON t USING ((a) OR (b))");
    assert_eq!(p.using.map(|(_, text)| text).as_deref(), Some("(a) OR (b)"));
}

#[test]
fn changes_of_policies() {
    let table = |position| Name { parts: vec!["t".to_owned()], position };
    let drop = StatementKind::DropPolicy { name: "p".to_owned(), table: table(27), if_exists: true };
    assert_eq!(one("DROP POLICY IF EXISTS p ON t CASCADE"), drop);
    let StatementKind::AlterPolicy { if_exists: true, change, .. } =
        one("ALTER POLICY IF EXISTS p ON t RENAME TO q")
    else {
        panic!("ALTER POLICY");
    };
    assert_eq!(*change, PolicyChange::Rename("q".to_owned()));
    let StatementKind::AlterPolicy { if_exists: false, change, .. } =
        one("ALTER POLICY p ON t TO a USING (true)")
    else {
        panic!("ALTER POLICY");
    };
    assert!(matches!(*change, PolicyChange::Set { roles, using: Some(_), check: None } if roles.len() == 1));
    let StatementKind::Comment { on, .. } = one("COMMENT ON POLICY p ON t IS 'x'") else {
        panic!("COMMENT");
    };
    assert_eq!(on, CommentTarget::Policy("p".to_owned(), table(23)));
    let StatementKind::AlterTable { actions, .. } = one(
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY",
    ) else {
        panic!("ALTER TABLE");
    };
    assert_eq!(
        actions,
        [
            AlterTable::RowSecurity(true),
            AlterTable::RowSecurity(false),
            AlterTable::ForceRowSecurity(true),
            AlterTable::ForceRowSecurity(false),
        ]
    );
}

#[test]
fn what_is_no_policy() {
    for text in [
        "CREATE POLICY ON t",
        "CREATE POLICY p ON t USING true",
        "CREATE POLICY p ON t WITH CHECK (true) USING (true)",
        "CREATE POLICY p ON t FOR MERGE USING (true)",
        "CREATE POLICY p ON t AS 1 USING (true)",
        "CREATE POLICY p ON t AS lenient USING (true)",
        "CREATE OR REPLACE POLICY p ON t",
        "ALTER POLICY IF EXISTS p ON t USING (true)",
        "ALTER TABLE t ENABLE ROW SECURITY",
    ] {
        match parse::statements(text) {
            Err(error) => assert_eq!(error.sqlstate(), SqlState::SYNTAX_ERROR, "{text}"),
            Ok(statements) => {
                // What stands behind ENABLE is told where it is carried out.
                let kind = &statements[0].kind;
                let refused = matches!(kind, StatementKind::AlterTable { actions, .. }
                    if matches!(actions[..], [AlterTable::Unsupported(..)]));
                assert!(refused, "{text}: {kind:?}");
            }
        }
    }
}
