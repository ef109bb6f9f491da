//! The examples do what they say.

#[allow(dead_code, unreachable_pub, reason = "an example is a program")]
#[path = "../examples/job_queue.rs"]
mod job_queue;
#[allow(dead_code, unreachable_pub, reason = "an example is a program")]
#[path = "../examples/ledger.rs"]
mod ledger;
#[allow(dead_code, unreachable_pub, reason = "an example is a program")]
#[path = "../examples/testing.rs"]
mod testing;

use planaria_tokio::Database;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[test]
fn job_queue_does_each_job_once() {
    let db = planaria::Database::in_memory().unwrap();
    job_queue::schema(&db).unwrap();
    for n in 0..50 {
        job_queue::enqueue(&db, &format!("job {n}")).unwrap();
    }
    let taken = job_queue::work_all(&db, 3, |payload| Ok(payload.to_uppercase())).unwrap();
    assert_eq!(taken, 50);
    let (done,): (i64,) =
        db.query_one("SELECT count(*) FROM job WHERE done AND answer LIKE 'JOB %'", ()).unwrap();
    assert_eq!(done, 50);
}

#[test]
fn testing_has_a_database_for_each_test() {
    let db = testing::test_database().unwrap();
    assert!(testing::book(&db, "green", "2026-12-24", "Ada").unwrap());
    assert!(!testing::book(&db, "green", "2026-12-24", "Grace").unwrap());
    let all = testing::bookings(&db, "2026-12-24").unwrap();
    assert_eq!(all, [testing::Booking { room: "green".into(), guest: "Ada".into() }]);
    assert!(testing::book(&db, "green", "tomorrow or so", "Ada").is_err());
}

/// Asks the ledger; the status and the body of its answer.
async fn ask(at: std::net::SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: ledger\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn ledger_keeps_accounts() {
    let db = Database::new(planaria::Database::in_memory().unwrap());
    ledger::migrate(&db).await.unwrap();
    ledger::migrate(&db).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, ledger::app(db)).await });
    let opened = ask(at, "POST", "/accounts", r#"{"owner": "Ada", "balance": "100.00"}"#).await;
    assert_eq!(opened, (201, r#"{"id":1,"owner":"Ada","balance":"100.00"}"#.into()));
    assert_eq!(ask(at, "POST", "/accounts", r#"{"owner": "Grace", "balance": "0"}"#).await.0, 201);
    assert_eq!(ask(at, "POST", "/transfers", r#"{"from": 1, "to": 2, "amount": "40.00"}"#).await.0, 204);
    // Not more than there is, and not to nowhere.
    assert_eq!(ask(at, "POST", "/transfers", r#"{"from": 1, "to": 2, "amount": "60.01"}"#).await.0, 409);
    assert_eq!(ask(at, "POST", "/transfers", r#"{"from": 1, "to": 9, "amount": "1"}"#).await.0, 404);
    assert_eq!(ask(at, "GET", "/accounts/9", "").await.0, 404);
    let shown = ask(at, "GET", "/accounts/2", "").await;
    assert_eq!(shown, (200, r#"{"id":2,"owner":"Grace","balance":"40.00"}"#.into()));
    assert_eq!(ask(at, "GET", "/audit", "").await, (200, "100.00 after 1 transfers".into()));
}
