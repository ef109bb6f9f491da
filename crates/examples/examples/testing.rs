//! Code over a database, tested on databases in memory: one for each test, made in less than a millisecond.
//!
//! The code takes a `&Database` and does not know where that lives. `schema` is what the program itself opens with.

use planaria::{Database, FromRow, Result, SqlState, named};

/// What the program runs once, on a new database.
pub fn schema(db: &Database) -> Result<()> {
    db.execute_script(
        "CREATE TABLE IF NOT EXISTS booking (
             room text NOT NULL,
             day date NOT NULL,
             guest text NOT NULL,
             PRIMARY KEY (room, day)
         );",
    )
}

/// A room that is taken.
#[derive(Debug, PartialEq, FromRow)]
pub struct Booking {
    /// Which room.
    pub room: String,
    /// By whom.
    pub guest: String,
}

/// Books a room for a day; false where it is taken.
pub fn book(db: &Database, room: &str, day: &str, guest: &str) -> Result<bool> {
    match db.execute("INSERT INTO booking VALUES (:room, :day, :guest)", named! { room, day, guest }) {
        Ok(_) => Ok(true),
        Err(taken) if taken.sqlstate() == SqlState::UNIQUE_VIOLATION => Ok(false),
        Err(other) => Err(other),
    }
}

/// The bookings of a day, by room.
pub fn bookings(db: &Database, day: &str) -> Result<Vec<Booking>> {
    db.query_as("SELECT room, guest FROM booking WHERE day = :day ORDER BY room", named! { day })
}

/// A database for one test.
pub fn test_database() -> Result<Database> {
    let db = Database::in_memory()?;
    schema(&db)?;
    Ok(db)
}

fn main() -> Result<()> {
    let db = test_database()?;
    assert!(book(&db, "green", "2026-12-24", "Ada")?);
    assert!(!book(&db, "green", "2026-12-24", "Grace")?, "it is taken");
    assert!(book(&db, "blue", "2026-12-24", "Grace")?);
    for Booking { room, guest } in bookings(&db, "2026-12-24")? {
        println!("{room}: {guest}");
    }
    // Another test has another database, and may run at the same time.
    assert_eq!(bookings(&test_database()?, "2026-12-24")?, []);
    Ok(())
}
