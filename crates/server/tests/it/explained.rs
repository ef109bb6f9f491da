//! EXPLAIN of statements with parameters, as drivers prepare them.

use crate::common::Running;
use tokio_postgres::NoTls;
use tokio_postgres::types::Type;

#[test]
fn parameters_of_what_is_explained() {
    let running = Running::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(running.address.port()).user("postgres");
        let (client, connection) = config.connect(NoTls).await.expect("connects");
        tokio::spawn(connection);
        let made = "CREATE TABLE t (id int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y')";
        client.batch_execute(made).await.expect("makes");
        for analyze in ["", "(ANALYZE, SUMMARY OFF, TIMING OFF) "] {
            let text = format!("EXPLAIN {analyze}SELECT b FROM t WHERE id = $1 AND b <> $2");
            let statement = client.prepare(&text).await.expect("prepares");
            assert_eq!(statement.params(), [Type::INT4, Type::TEXT]);
            let rows = client.query(&statement, &[&2, &"x"]).await.expect("explains");
            let first: String = rows[0].get(0);
            assert!(first.starts_with("Index Scan using t_pkey on t"), "{first}");
        }
        let text = "EXPLAIN (ANALYZE) UPDATE t SET b = $1 WHERE id = $2";
        client.query(text, &[&"z", &1]).await.expect("runs");
        let row = client.query_one("SELECT b FROM t WHERE id = 1", &[]).await.expect("reads");
        assert_eq!(row.get::<_, String>(0), "z");
        let error = client.prepare("EXPLAIN SELECT nothing FROM t WHERE id = $1").await.expect_err("fails");
        assert_eq!(error.code().expect("a code").code(), "42703");
    });
}
