//! The database as tasks have it.

use planaria_tokio::{Database, SqlState};
use std::time::Duration;

async fn database(sessions: usize) -> Database {
    let db = Database::with_sessions(planaria::Database::in_memory().unwrap(), sessions);
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL); INSERT INTO t VALUES (1, 0), (2, 0);
         CREATE FUNCTION add(p int) RETURNS int LANGUAGE plpgsql AS $$
         DECLARE m int;
         BEGIN
             UPDATE t SET n = n + p WHERE id = 1 RETURNING n INTO m;
             RETURN m;
         END $$;",
    )
    .await
    .unwrap();
    db
}

async fn value(db: &Database, id: i32) -> i32 {
    let (n,): (i32,) = db.query_one("SELECT n FROM t WHERE id = $1", (id,)).await.unwrap();
    n
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_share_it() {
    let db = database(4).await;
    let tasks: Vec<_> = (0..32)
        .map(|i| {
            let db = db.clone();
            tokio::spawn(async move {
                if i % 2 == 0 {
                    return db.call("add", (1,)).await.map(drop);
                }
                db.transaction(async |tx| {
                    let (n,): (i32,) = tx.query_one("SELECT n FROM t WHERE id = $1", (1,)).await?;
                    tx.execute("UPDATE t SET n = $1 WHERE id = 1", (n + 1,)).await.map(drop)
                })
                .await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(value(&db, 1).await, 32);
}

#[tokio::test]
async fn on_disk_when_it_returns() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path()).await.unwrap();
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY); CREATE PROCEDURE p(i int) LANGUAGE sql AS $$ INSERT INTO t VALUES (i) $$")
        .await
        .unwrap();
    for i in 0..10 {
        db.call("p", (i,)).await.unwrap();
    }
    db.close().await.unwrap();
    let db = Database::open(directory.path()).await.unwrap();
    let (count,): (i64,) = db.query_one("SELECT count(*) FROM t", ()).await.unwrap();
    assert_eq!(count, 10);
}

#[tokio::test]
async fn what_is_dropped_is_rolled_back() {
    let db = database(1).await;
    let mut tx = db.begin().await.unwrap();
    tx.execute("UPDATE t SET n = 7", ()).await.unwrap();
    drop(tx);
    // There is one session alone, which has to come back.
    assert_eq!(value(&db, 1).await, 0);
    let failed = db
        .transaction(async |tx| {
            tx.execute("UPDATE t SET n = 7", ()).await?;
            tx.execute("INSERT INTO t VALUES (1, 1)", ()).await
        })
        .await;
    assert_eq!(failed.unwrap_err().sqlstate(), SqlState::UNIQUE_VIOLATION);
    let ignored = db
        .transaction(async |tx| {
            let _ = tx.execute("INSERT INTO t VALUES (1, 1)", ()).await;
            Ok(())
        })
        .await;
    assert_eq!(ignored.unwrap_err().sqlstate(), SqlState::IN_FAILED_SQL_TRANSACTION);
    let open = db.execute_script("BEGIN; UPDATE t SET n = 7").await.unwrap_err();
    assert_eq!(open.sqlstate(), SqlState::INVALID_TRANSACTION_STATE);
    assert_eq!((value(&db, 1).await, value(&db, 2).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_waits_for_is_cancelled() {
    let db = database(1).await;
    let for_ever = "DO $$ BEGIN LOOP NULL; END LOOP; END $$";
    let soon = Duration::from_millis(50);
    assert!(tokio::time::timeout(soon, db.execute(for_ever, ())).await.is_err());
    // The only session is free again.
    assert_eq!(value(&db, 1).await, 0);
    let mut tx = db.begin().await.unwrap();
    tx.execute("UPDATE t SET n = 7", ()).await.unwrap();
    assert!(tokio::time::timeout(soon, tx.execute(for_ever, ())).await.is_err());
    let lost = tx.execute("SELECT 1", ()).await.unwrap_err();
    assert_eq!(lost.sqlstate(), SqlState::IN_FAILED_SQL_TRANSACTION);
    drop(tx);
    assert_eq!(value(&db, 1).await, 0);
}

#[tokio::test]
async fn rows_come_as_a_stream() {
    let db = database(1).await;
    let mut rows = db.stream::<(i64,)>("SELECT n FROM generate_series(1, $1) n", (100_000,)).await.unwrap();
    let mut sum = 0;
    while let Some(row) = rows.next().await {
        sum += row.unwrap().0;
    }
    assert_eq!(sum, 5_000_050_000);
    let mut rows = db.stream::<(i64,)>("SELECT n FROM generate_series(1, 1000000000) n", ()).await.unwrap();
    assert_eq!(rows.next().await.unwrap().unwrap(), (1,));
    drop(rows);
    assert_eq!(value(&db, 1).await, 0);
    let mut rows = db.stream::<(i32,)>("SELECT 1 / (2 - n) FROM generate_series(1, 3) n", ()).await.unwrap();
    assert_eq!(rows.next().await.unwrap().unwrap(), (1,));
    let error = rows.next().await.unwrap().unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DIVISION_BY_ZERO);
    assert!(rows.next().await.is_none());
}
