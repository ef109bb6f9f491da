//! Who is let in, by what.

use crate::common;

use common::{Client, Running};
use planaria::Database;
use planaria_server::Config;
use tokio_postgres::NoTls;

fn with_passwords() -> Running {
    let db = Database::in_memory().expect("a database");
    db.execute_script(
        "ALTER ROLE postgres PASSWORD 'master';
         CREATE ROLE shop LOGIN PASSWORD 'pencil' CONNECTION LIMIT 1;
         CREATE ROLE late LOGIN PASSWORD 'x' VALID UNTIL '2001-01-01';
         CREATE ROLE group_only PASSWORD 'x';
         CREATE ROLE bare LOGIN;",
    )
    .expect("roles");
    Running::with(db, Config::default())
}

/// The SQLSTATE that a login ends with; `None`: it works.
fn login(running: &Running, user: &str, password: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let text =
        format!("host=127.0.0.1 port={} user={user} password={password} dbname=x", running.address.port());
    runtime.block_on(async {
        match tokio_postgres::connect(&text, NoTls).await {
            Ok((client, connection)) => {
                let driver = tokio::spawn(connection);
                let row = client.query_one("SELECT current_user::text", &[]).await.expect("a row");
                assert_eq!(row.get::<_, String>(0), user);
                drop(client);
                driver.await.expect("it ends").expect("well");
                None
            }
            Err(error) => Some(error.code().map_or_else(|| error.to_string(), |c| c.code().to_owned())),
        }
    })
}

#[test]
fn a_password_opens_its_role_and_no_other() {
    let running = with_passwords();
    assert_eq!(login(&running, "shop", "pencil"), None);
    assert_eq!(login(&running, "postgres", "master"), None);
    for (user, password) in
        [("shop", "Pencil"), ("shop", "master"), ("late", "x"), ("bare", "x"), ("nobody", "pencil")]
    {
        assert_eq!(login(&running, user, password).as_deref(), Some("28P01"), "{user} {password}");
    }
    assert_eq!(login(&running, "group_only", "x").as_deref(), Some("28000"));
}

#[test]
fn who_is_there_cannot_be_found_out() {
    let running = with_passwords();
    let asked = |user: &str| {
        let mut client = Client::connect(running.address);
        client.startup(&[("user", user)]);
        let first = client.next().expect("a question");
        let message = b"n,,n=,r=abc";
        let mut body = b"SCRAM-SHA-256\0".to_vec();
        body.extend_from_slice(&(message.len() as i32).to_be_bytes());
        body.extend_from_slice(message);
        client.message('p', &body).send();
        let second = client.next().expect("a question").text();
        let salt = second.split(",s=").nth(1).expect("a salt").to_owned();
        (first, second.len(), salt)
    };
    let (real, mock) = (asked("shop"), asked("nobody"));
    assert_eq!((&real.0, real.1), (&mock.0, mock.1));
    assert_eq!(asked("nobody").2, mock.2, "the same each time");
}

#[test]
fn rights_are_those_of_the_role() {
    let running = with_passwords();
    running.db.execute_script("CREATE TABLE secret (n int)").expect("a table");
    let refused = async |client: &tokio_postgres::Client| {
        let error = client.query("SELECT * FROM secret", &[]).await.expect_err("refused");
        assert_eq!(error.code().expect("a code").code(), "42501");
    };
    running.drive_as("shop", "pencil", async |client| {
        refused(&client).await;
        // Another user's connection, on what may be the same session of the engine.
        let elsewhere = |f: &(dyn Fn() + Sync)| std::thread::scope(|s| s.spawn(f).join().expect("well"));
        elsewhere(&|| {
            running.drive_as("postgres", "master", async |master| {
                assert_eq!(master.query("SELECT * FROM secret", &[]).await.expect("rows").len(), 0);
            });
        });
        refused(&client).await;
        elsewhere(&|| assert_eq!(login(&running, "shop", "pencil").as_deref(), Some("53300")));
    });
}

/// What a client says as it connects counts before what is set of its role, and is what RESET goes back to.
#[test]
fn settings_of_the_startup_packet_come_first() {
    let db = Database::in_memory().expect("a database");
    db.execute_script(
        "CREATE ROLE app LOGIN; ALTER ROLE app SET default_transaction_isolation = 'read committed';
         ALTER ROLE app SET lock_timeout = '3s'",
    )
    .expect("roles");
    let running = Running::with(db, Config::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let connect = async |options: &str| {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(running.address.port()).user("app").dbname("x").options(options);
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok::<_, tokio_postgres::Error>(client)
    };
    runtime.block_on(async {
        let level =
            "-c default_transaction_isolation=repeatable\\ read -c transaction_isolation=serializable";
        let client = connect(level).await.expect("connects");
        let show = async |name: &str| -> String {
            client.query_one(&format!("SHOW {name}"), &[]).await.expect("a row").get(0)
        };
        assert_eq!(show("transaction_isolation").await, "repeatable read");
        assert_eq!(show("lock_timeout").await, "3s");
        client.batch_execute("SET default_transaction_isolation = 'serializable'").await.expect("sets");
        client.batch_execute("BEGIN").await.expect("begins");
        assert_eq!(show("transaction_isolation").await, "serializable");
        client.batch_execute("COMMIT").await.expect("ends");
        client.batch_execute("RESET ALL").await.expect("resets");
        client.batch_execute("BEGIN").await.expect("begins");
        assert_eq!(show("transaction_isolation").await, "repeatable read");
        let refused = connect("-c work_mem=much").await.expect_err("is refused");
        assert_eq!(refused.code().expect("a code").code(), "22023");
    });
}
