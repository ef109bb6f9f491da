//! What a client calls the database. There is one, and whatever name a client connects to is a name of it.

use crate::settings::Settings;
use planaria_catalog::DATABASE;

impl Settings {
    /// The same, with the database called as by others.
    pub(crate) fn of_database(self, like: &Settings) -> Settings {
        Settings { database: like.database.clone(), replays: like.replays, ..self }
    }

    /// `current_database()`
    pub(crate) fn database(&self) -> &str {
        self.database.as_deref().unwrap_or(DATABASE)
    }

    /// Whether the database is called so.
    pub(crate) fn is_database(&self, name: &str) -> bool {
        name == self.database() || name == DATABASE
    }

    /// What the client calls the database, as it connects: the first 63 bytes of it.
    pub(crate) fn call_database(&mut self, name: &str) {
        let name = &name[..name.floor_char_boundary(63)];
        self.database = (name != DATABASE).then(|| name.into());
    }
}
