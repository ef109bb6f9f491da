//! A database that is served to its own process: by a socket in a directory that only its owner may enter.
//!
//! Whoever opens the database has its files, so nobody is asked for a password, or whether he may log in: he is the first
//! superuser, as in [`planaria::Database::session`].

use super::address::{Address, Place};
use super::tls::{Binding, Files, SslMode};
use planaria::{Database, Error, Result};
use planaria_server::{Authentication, Config, Server, Stopper};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// See the module's head.
pub struct Served {
    db: Arc<Database>,
    address: Address,
    stopper: Stopper,
    thread: JoinHandle<Result<()>>,
    _directory: tempfile::TempDir,
}

/// Serves a database.
pub fn serve(db: Database) -> Result<Served> {
    let directory = tempfile::tempdir()?;
    let config = Config {
        listen: Vec::new(),
        socket_dir: Some(directory.path().to_owned()),
        authentication: Authentication::Owner,
        // Who cannot be served any more is this process.
        write_timeout: Duration::from_secs(86_400),
        drain_timeout: Duration::ZERO,
        ..Config::default()
    };
    let user = db.query("SELECT current_user", ())?[0].get::<String>(0)?;
    let db = Arc::new(db);
    let server = Server::bind(db.clone(), config)?;
    let address = Address {
        place: Place::Unix(directory.path().join(".s.PGSQL.5432")),
        user,
        password: None,
        database: "planaria".to_owned(),
        options: Vec::new(),
        ssl: SslMode::Disable,
        files: Files::default(),
        binding: Binding::Disable,
    };
    let stopper = server.stopper();
    let thread = std::thread::Builder::new().name("planaria-serve".into()).spawn(move || server.run())?;
    Ok(Served { db, address, stopper, thread, _directory: directory })
}

impl Served {
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Closes the database: what was committed is on disk then.
    pub fn close(self) -> Result<()> {
        self.stopper.stop();
        self.thread.join().map_err(|_| Error::internal("a thread panicked"))??;
        match Arc::try_unwrap(self.db) {
            Ok(db) => db.close(),
            Err(db) => db.flush(),
        }
    }
}
