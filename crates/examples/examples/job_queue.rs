//! A queue of jobs in a table, and workers that take them: `FOR UPDATE SKIP LOCKED` gives each worker a job that nobody else
//! has, and a job whose worker fails is free again, as its transaction is rolled back.

use planaria::{Database, Error, Result, SqlState, named};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Makes the queue.
pub fn schema(db: &Database) -> Result<()> {
    db.execute_script(
        "CREATE TABLE job (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             payload text NOT NULL,
             attempts int NOT NULL DEFAULT 0,
             done boolean NOT NULL DEFAULT false,
             answer text
         );
         CREATE INDEX job_open ON job (done, id);",
    )
}

/// Puts a job in; returns its number.
pub fn enqueue(db: &Database, payload: &str) -> Result<i64> {
    let (id,) =
        db.query_one("INSERT INTO job (payload) VALUES (:payload) RETURNING id", named! { payload })?;
    Ok(id)
}

/// Takes a job that nobody has, and does it; false where there is none. The job is done when, and only when, its answer is on disk.
pub fn work_one(db: &Database, work: impl Fn(&str) -> std::result::Result<String, String>) -> Result<bool> {
    db.transaction(|tx| {
        let job: Option<(i64, String)> = tx.query_optional(
            "SELECT id, payload FROM job WHERE NOT done ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
            (),
        )?;
        let Some((id, payload)) = job else { return Ok(false) };
        match work(&payload) {
            Ok(answer) => {
                tx.execute(
                    "UPDATE job SET done = true, answer = :answer WHERE id = :id",
                    named! { id, answer },
                )?;
            }
            // Noted, so that somebody can look after it; and left for the next worker.
            Err(_) => {
                tx.execute("UPDATE job SET attempts = attempts + 1 WHERE id = :id", named! { id })?;
            }
        }
        Ok(true)
    })
}

/// Runs so many workers until the queue is empty; returns how many jobs they took.
pub fn work_all(
    db: &Database,
    workers: usize,
    work: impl Fn(&str) -> std::result::Result<String, String> + Sync,
) -> Result<u32> {
    let taken = AtomicU32::new(0);
    thread::scope(|scope| {
        let worker = || -> Result<()> {
            loop {
                if work_one(db, &work)? {
                    taken.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let (open,): (i64,) = db.query_one("SELECT count(*) FROM job WHERE NOT done", ())?;
                if open == 0 {
                    return Ok(());
                }
                // The rest is in the hands of others.
                thread::yield_now();
            }
        };
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        all.into_iter().try_for_each(|one| {
            one.join().unwrap_or_else(|_| Err(Error::new(SqlState::INTERNAL_ERROR, "a worker panicked")))
        })
    })?;
    Ok(taken.into_inner())
}

fn main() -> Result<()> {
    let db = Database::in_memory()?; // or Database::open("jobs")
    schema(&db)?;
    for n in 0..200 {
        enqueue(&db, &format!("job {n}"))?;
    }
    let failed = AtomicU32::new(0);
    let taken = work_all(&db, 4, |payload| {
        // One of them fails at first.
        if payload == "job 7" && failed.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err("try again".into());
        }
        Ok(payload.to_uppercase())
    })?;
    let (done, attempts): (i64, i64) =
        db.query_one("SELECT count(*) FILTER (WHERE done), sum(attempts) FROM job", ())?;
    println!("{taken} jobs taken, {done} done, {attempts} failed at first");
    assert_eq!((taken, done, attempts), (201, 200, 1));
    Ok(())
}
