//! Rights: that they are recovered with the log, that no password is in it, that calls of those who
//! have all rights are logged as calls, and that a revoked right is missed at once.

use planaria::lab::LabOptions;
use planaria::serving::scram::Verifier;
use planaria::serving::{ServedDatabase, ServedSession, SessionState};
use planaria::{Database, Error, Options, Result, SqlState};
use planaria_sim::disk::SimDisk;

fn denied(outcome: Result<impl Sized>) -> String {
    let error = outcome.err().expect("refused");
    assert_eq!(error.sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
    error.message().to_owned()
}

fn one(db: &Database, role: &str, query: &str) -> Result<String> {
    let rows = db.session_as(role)?.query(query, ())?;
    Ok(rows[0].text(0).unwrap_or_default())
}

const SCHEMA: &str = "
    CREATE ROLE app LOGIN PASSWORD 'correct horse battery staple';
    CREATE ROLE owner LOGIN;
    GRANT CREATE ON SCHEMA public TO owner;
    SET SESSION AUTHORIZATION owner;
    CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
    INSERT INTO account VALUES (1, 100), (2, 0);
    CREATE PROCEDURE pay(a int, b int, n int) LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        UPDATE account SET balance = balance - n WHERE id = a;
        UPDATE account SET balance = balance + n WHERE id = b;
    END $$;
    REVOKE ALL ON PROCEDURE pay FROM PUBLIC;
    GRANT EXECUTE ON PROCEDURE pay TO app;
    RESET SESSION AUTHORIZATION;";

#[test]
fn rights_are_recovered_and_no_password_is_logged() -> Result<()> {
    let disk = SimDisk::new(1);
    {
        let db = Options::new().open_device(disk.device())?;
        db.execute_script(SCHEMA)?;
        let mut app = db.session_as("app")?;
        app.call("pay", (1, 2, 30))?;
        app.execute("CALL pay(1, 2, 3)", ())?;
        app.execute("ALTER ROLE app PASSWORD 'hunter2 and more'", ())?;
        db.execute("CREATE ROLE other ENCRYPTED PASSWORD E'a\\x62c-secret' LOGIN", ())?;
        db.close()?;
    }
    let secrets = ["correct horse", "hunter2", "abc-secret", "x62c-secret"];
    let device = disk.device();
    for name in device.list()? {
        let file = device.open(&name)?;
        let mut bytes = vec![0; file.size()? as usize];
        file.read_at(&mut bytes, 0)?;
        for secret in secrets {
            let found = bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
            assert!(!found, "\"{secret}\" is in {name}");
        }
    }
    let db = Options::new().open_device(disk.device())?;
    assert_eq!(db.recovery().expect("something to recover").calls, 2, "calls are logged as calls");
    let app = db.role("app").expect("is there");
    assert!(app.login && !app.superuser);
    let verifier: Verifier = app.verifier.expect("has a password").parse()?;
    assert!(verifier.matches("hunter2 and more") && !verifier.matches("correct horse battery staple"));
    assert_eq!(denied(one(&db, "app", "SELECT balance FROM account")), "permission denied for table account");
    assert_eq!(one(&db, "owner", "SELECT balance FROM account WHERE id = 2")?, "33");
    db.session_as("app")?.call("pay", (1, 2, 1))?;
    assert_eq!(
        denied(db.session_as("app")?.execute("DROP TABLE account", ())),
        "must be owner of table account"
    );
    Ok(())
}

#[test]
fn who_may_log_in() -> Result<()> {
    let db = Database::in_memory()?;
    db.execute_script("CREATE ROLE team; CREATE USER anna; REVOKE CONNECT ON DATABASE planaria FROM PUBLIC")?;
    let refused = |role: &str| -> Error { db.session_as(role).err().expect("refused") };
    for (role, message) in
        [("nobody", "role \"nobody\" does not exist"), ("team", "role \"team\" is not permitted to log in")]
    {
        let error = refused(role);
        assert_eq!((error.sqlstate().as_str(), error.message()), ("28000", message));
    }
    assert_eq!(refused("anna").message(), "permission denied for database planaria");
    assert!(db.role("nobody").is_none() && !db.had_passwords());
    assert_eq!(one(&db, "postgres", "SELECT current_user")?, "postgres");
    Ok(())
}

#[test]
fn a_right_is_missed_as_soon_as_it_is_revoked() -> Result<()> {
    let db = Database::in_memory()?;
    db.execute_script(
        "CREATE ROLE app LOGIN;
         CREATE TABLE t (id int PRIMARY KEY, n int);
         CREATE FUNCTION put(p_id int, p_n int) RETURNS int LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO t VALUES (p_id, p_n); RETURN p_n; END $$;
         GRANT INSERT, SELECT ON t TO app;",
    )?;
    let mut app = db.session_as("app")?;
    let insert = app.prepare("INSERT INTO t VALUES ($1, $2)")?;
    let call = app.prepare_call("put", 2)?;
    app.execute_prepared(&insert, (1, 1))?;
    app.submit(&call, (2, 2))?;
    db.execute("REVOKE INSERT ON t FROM app", ())?;
    assert_eq!(denied(app.execute_prepared(&insert, (3, 3))), "permission denied for table t");
    assert_eq!(denied(app.submit(&call, (4, 4))), "permission denied for table t");
    db.execute("GRANT INSERT ON t TO app", ())?;
    app.execute_prepared(&insert, (5, 5))?;
    app.submit(&call, (6, 6))?;
    db.execute("REVOKE EXECUTE ON FUNCTION put FROM PUBLIC", ())?;
    assert_eq!(denied(app.submit(&call, (7, 7))), "permission denied for function put");
    // What one role prepared another may not run.
    app.execute("RESET ROLE", ())?;
    db.execute("CREATE ROLE other LOGIN", ())?;
    app.log_in_as("other")?;
    assert_eq!(denied(app.execute_prepared(&insert, (8, 8))), "permission denied for table t");
    assert_eq!(
        db.query("SELECT string_agg(id::text, ' ' ORDER BY id) FROM t", ())?[0].get::<String>(0)?,
        "1 2 5 6"
    );
    Ok(())
}

#[test]
fn a_state_carries_its_user_along() -> Result<()> {
    let db = Database::in_memory()?;
    db.execute_script("CREATE ROLE app LOGIN; CREATE TABLE t (id int PRIMARY KEY)")?;
    let mut session = db.session()?;
    let mut state = SessionState::default();
    session.swap_state(&mut state);
    session.log_in_as("app")?;
    assert_eq!(session.setting("session_authorization")?, "app");
    assert_eq!(session.setting("is_superuser")?, "off");
    assert_eq!(denied(session.query("SELECT * FROM t", ())), "permission denied for table t");
    session.swap_state(&mut state);
    assert_eq!(session.setting("is_superuser")?, "on");
    session.query("SELECT * FROM t", ())?;
    session.swap_state(&mut state);
    assert_eq!(denied(session.query("SELECT * FROM t", ())), "permission denied for table t");
    Ok(())
}

#[test]
fn calls_that_ask_who_calls_are_replayed_in_their_names() -> Result<()> {
    let disk = SimDisk::new(2);
    {
        let db = Options::new().open_device(disk.device())?;
        db.execute_script(
            "CREATE ROLE app LOGIN;
             CREATE TABLE log (id serial PRIMARY KEY, who text DEFAULT current_user, n int);
             CREATE PROCEDURE note(p_n int) LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO log (n) VALUES (p_n); END $$;
             GRANT INSERT ON log TO app; GRANT USAGE ON SEQUENCE log_id_seq TO app;",
        )?;
        db.session_as("app")?.call("note", (1,))?;
        db.call("note", (2,))?;
        db.close()?;
    }
    let db = Options::new().open_device(disk.device())?;
    assert_eq!(db.recovery().expect("recovered").calls, 2);
    let rows = db.query("SELECT who FROM log ORDER BY id", ())?;
    assert_eq!((rows[0].text(0).as_deref(), rows[1].text(0).as_deref()), (Some("app"), Some("postgres")));
    Ok(())
}

#[test]
fn rights_on_columns_and_default_rights_are_recovered() -> Result<()> {
    const RIGHTS: &str = "
        CREATE ROLE reader LOGIN; CREATE ROLE maker LOGIN; GRANT CREATE ON SCHEMA public TO maker;
        CREATE TABLE wages (id int PRIMARY KEY, name text, amount int);
        INSERT INTO wages VALUES (1, 'a', 10);
        GRANT SELECT (id, name), UPDATE (name) ON wages TO reader;
        ALTER DEFAULT PRIVILEGES FOR ROLE maker GRANT SELECT ON TABLES TO reader;
        ALTER TABLE wages RENAME name TO title;";
    let check = |db: &Database| -> Result<()> {
        assert_eq!(one(db, "reader", "SELECT title FROM wages")?, "a");
        assert_eq!(
            denied(one(db, "reader", "SELECT amount FROM wages")),
            "permission denied for table wages"
        );
        assert_eq!(
            denied(db.session_as("reader")?.execute("UPDATE wages SET id = 2", ())),
            "permission denied for table wages"
        );
        assert_eq!(one(db, "reader", "SELECT count(*)::text FROM made")?, "0");
        Ok(())
    };
    let disk = SimDisk::new(2);
    {
        let db = Options::new().open_device(disk.device())?;
        db.execute_script(RIGHTS)?;
        db.session_as("maker")?.execute("CREATE TABLE made (a int)", ())?;
        check(&db)?;
    }
    let db = Options::new().open_device(disk.device())?;
    check(&db)?;
    // From a checkpoint, too.
    db.checkpoint()?;
    db.close()?;
    let db = Options::new().open_device(disk.device())?;
    check(&db)?;
    db.session_as("maker")?.execute("CREATE TABLE more (a int)", ())?;
    assert_eq!(one(&db, "reader", "SELECT count(*)::text FROM more")?, "0");
    Ok(())
}

#[test]
fn what_the_end_of_a_block_empties_is_emptied_by_its_owner() {
    let db = Database::in_memory().expect("opens");
    let schema = "CREATE ROLE app LOGIN; CREATE ROLE other; GRANT other TO app; CREATE TABLE held (a int); INSERT INTO held VALUES (1)";
    db.execute_script(schema).expect("runs");
    let mut app = db.session_as("app").expect("a session");
    app.execute_script(
        "CREATE TEMP TABLE plain (a int) ON COMMIT DELETE ROWS; CREATE TEMP TABLE told (a int) ON COMMIT DELETE ROWS;
         CREATE FUNCTION pg_temp.takes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM held; RETURN OLD; END $$;
         CREATE TRIGGER takes BEFORE DELETE ON told FOR EACH ROW EXECUTE FUNCTION pg_temp.takes()",
    )
    .expect("runs");
    // Whatever role the session has by then.
    app.execute_script("BEGIN; INSERT INTO plain VALUES (1); SET LOCAL ROLE other; COMMIT").expect("runs");
    assert_eq!(app.query("SELECT a FROM plain", ()).expect("rows").len(), 0);
    denied(app.execute_script("BEGIN; INSERT INTO told VALUES (1); COMMIT"));
    assert_eq!(one(&db, "postgres", "SELECT count(*)::text FROM held").expect("rows"), "1");
}
