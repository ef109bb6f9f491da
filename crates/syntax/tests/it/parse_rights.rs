//! Roles and rights: what their statements say.

use planaria_syntax::ast::*;
use planaria_syntax::parse;

fn one(text: &str) -> StatementKind {
    let mut all = parse::statements(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0).kind
}

fn grant(text: &str) -> GrantStatement {
    match one(text) {
        StatementKind::Grant(grant) => *grant,
        other => panic!("{text}: {other:?}"),
    }
}

fn fails(text: &str) -> String {
    let error = parse::statements(text).expect_err(text);
    format!("{} {}", error.sqlstate(), error.message())
}

#[test]
fn roles() {
    let StatementKind::CreateRole { name, options } =
        one("CREATE USER \"Anna\" WITH CREATEDB ENCRYPTED PASSWORD 'it''s' CONNECTION LIMIT -1")
    else {
        panic!()
    };
    assert_eq!(name.name, RoleName::Name("Anna".into()));
    assert_eq!(options[0], RoleOption::Login(true));
    assert_eq!(options[1], RoleOption::CreateDb(true));
    // The range of the literal, so that it can be taken out of the text.
    assert_eq!(options[2], RoleOption::Password(Some("it's".into()), 52..59));
    assert_eq!(options[3], RoleOption::ConnectionLimit(-1));
    assert!(matches!(one("CREATE USER a NOLOGIN"), StatementKind::CreateRole { options, .. }
        if options == [RoleOption::Login(false)]));
    assert!(matches!(one("CREATE GROUP g ROLE a, b"), StatementKind::CreateRole { options, .. }
        if matches!(&options[..], [RoleOption::Members(m)] if m.len() == 2)));
    assert!(matches!(
        one("ALTER GROUP g DROP USER a"),
        StatementKind::AlterRole { change: RoleChange::Members(false, _), .. }
    ));
    assert!(matches!(one("ALTER USER current_user PASSWORD NULL"), StatementKind::AlterRole { role, .. }
        if role.name == RoleName::CurrentUser));
    assert!(matches!(one("DROP ROLE IF EXISTS a, b"), StatementKind::DropRole { if_exists: true, .. }));
    assert_eq!(fails("CREATE ROLE a LOGIN LOGIN"), "42601 conflicting or redundant options");
    assert_eq!(fails("CREATE ROLE a FLY"), "42601 unrecognized role option \"fly\"");
}

#[test]
fn grants() {
    let g = grant("GRANT SELECT, insert ON t, public.u TO a, PUBLIC WITH GRANT OPTION");
    assert_eq!(g.privileges.as_ref().map(|p| p[1].0.as_str()), Some("INSERT"));
    assert!(g.option && !g.revoke);
    assert!(matches!(g.target, GrantTarget::Relations(names) if names.len() == 2));
    let g = grant("REVOKE GRANT OPTION FOR ALL PRIVILEGES ON ALL TABLES IN SCHEMA public FROM a CASCADE");
    assert!(g.revoke && g.option && g.cascade && g.privileges.is_none());
    assert!(matches!(g.target, GrantTarget::AllTables(_)));
    let g = grant("GRANT EXECUTE ON FUNCTION f(int, OUT text), g TO a");
    let GrantTarget::Routines(routines) = g.target else { panic!() };
    assert_eq!(routines[0].types.as_ref().map(Vec::len), Some(1));
    assert!(routines[1].types.is_none());
    // Words of kinds are names of tables, too.
    for name in ["sequence", "function", "schema", "database", "all_things"] {
        let g = grant(&format!("GRANT SELECT ON {name} TO a"));
        assert!(matches!(g.target, GrantTarget::Relations(_)), "{name}");
    }
    let StatementKind::GrantRole { roles, members, admin, .. } = one("GRANT a, b TO c WITH ADMIN OPTION")
    else {
        panic!()
    };
    assert_eq!((roles.len(), members.len(), admin), (2, 1, true));
    assert!(matches!(
        one("REVOKE ADMIN OPTION FOR a FROM b"),
        StatementKind::GrantRole { revoke: true, admin: true, .. }
    ));
    let g = grant("GRANT SELECT (a, b), INSERT, UPDATE (c) ON t TO b");
    assert_eq!(g.privileges.unwrap(), [("INSERT".into(), 21)]);
    assert_eq!(g.on_columns.iter().map(|c| c.columns.len()).collect::<Vec<_>>(), [2, 1]);
    let g = grant("GRANT ALL (a) ON t TO b");
    assert!(g.privileges.is_some_and(|p| p.is_empty()) && g.on_columns[0].word.is_none());
    let g =
        grant("ALTER DEFAULT PRIVILEGES FOR ROLE a, b IN SCHEMA s REVOKE ALL ON TABLES FROM PUBLIC CASCADE");
    let GrantTarget::Defaults(of) = g.target else { panic!() };
    assert_eq!((of.roles.len(), of.schemas.len(), g.revoke, g.cascade), (2, 1, true, true));
    assert!(fails("ALTER DEFAULT PRIVILEGES GRANT SELECT ON VIEWS TO a").starts_with("42601 "));
    assert!(fails("GRANT a (b) TO c").starts_with("0LP01 "));
    assert!(fails("GRANT USAGE ON TABLESPACE t TO b").starts_with("0A000 "));
    assert_eq!(fails("GRANT SELECT ON t"), "42601 syntax error at end of input");
}

#[test]
fn who_a_session_is() {
    let role = |text: &str| match one(text) {
        StatementKind::SetRole { name, local } => (name, local),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(role("SET ROLE a"), (Some("a".into()), false));
    assert_eq!(role("SET LOCAL ROLE 'A'"), (Some("A".into()), true));
    assert_eq!(role("SET ROLE NONE"), (None, false));
    assert_eq!(role("SET role = a"), (Some("a".into()), false));
    assert_eq!(role("RESET ROLE"), (None, false));
    let session = |text: &str| match one(text) {
        StatementKind::SetSessionAuthorization { name, local } => (name, local),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(session("SET SESSION AUTHORIZATION a"), (Some("a".into()), false));
    assert_eq!(session("SET LOCAL SESSION AUTHORIZATION DEFAULT"), (None, true));
    assert_eq!(session("RESET SESSION AUTHORIZATION"), (None, false));
}

#[test]
fn owners() {
    assert!(matches!(one("ALTER TABLE t OWNER TO a"), StatementKind::AlterTable { actions, .. }
        if matches!(&actions[..], [AlterTable::OwnerTo(_)])));
    for text in [
        "ALTER VIEW v OWNER TO a",
        "ALTER SEQUENCE s OWNER TO a",
        "ALTER FUNCTION f(int) OWNER TO a",
        "ALTER PROCEDURE f OWNER TO SESSION_USER",
        "ALTER SCHEMA public OWNER TO a",
        "ALTER DATABASE planaria OWNER TO a",
    ] {
        assert!(matches!(one(text), StatementKind::AlterOwner { .. }), "{text}");
    }
    assert!(matches!(one("REASSIGN OWNED BY a TO b"), StatementKind::ReassignOwned { .. }));
    assert!(matches!(one("DROP OWNED BY a CASCADE"), StatementKind::DropOwned { cascade: true, .. }));
}
