//! A database as its server has it.

use crate::database::Database;
use crate::options::Options;
use crate::sealed::Sealed;
use crate::serving::clients::Clients;
use crate::serving::hold::Hold;
use crate::serving::host::Host;
use crate::serving::role::Role;
use planaria_base::Result;
use std::sync::Arc;

/// A database that is served to others.
pub trait ServedDatabase: Sealed {
    /// A role by name, for those who let clients in.
    fn role(&self, name: &str) -> Option<Role>;
    /// Whether some role has, or ever had, a password: until then nobody can be asked for one. What is true once
    /// stays true, over restarts, in backups, and when the password is taken away.
    fn had_passwords(&self) -> bool;
    /// What only its files tell of it: the same each time it is opened, and in backups. `None` where nothing is
    /// kept on disk. For secrets that are to be the same after a restart.
    fn identity(&self) -> Option<[u8; 16]>;
    /// Memory that is taken on behalf of clients, nothing at first: to count against the memory budget.
    fn hold(&self) -> Hold;
    /// Tells SQL who is connected: `pg_stat_activity` and its like then speak of these, for as long as they
    /// live.
    fn served_to(&self, clients: &Arc<dyn Clients>);
    /// Tells SQL of the server around it, for as long as that lives: its settings, and what statements have taken.
    fn hosted_by(&self, host: &Arc<dyn Host>);
    /// Takes over from options what can change while the database is open: what sessions begin with, for those that begin
    /// from now on, and when checkpoints are written. 42704, 22023 or 55P02, and nothing is changed, for what sessions
    /// cannot begin with.
    fn reconfigure(&self, options: &Options) -> Result<()>;
}

impl ServedDatabase for Database {
    fn role(&self, name: &str) -> Option<Role> {
        self.engine().catalog().role(name).map(Role::from)
    }
    fn had_passwords(&self) -> bool {
        self.engine().catalog().had_passwords
    }
    fn identity(&self) -> Option<[u8; 16]> {
        self.engine().identity()
    }
    fn hold(&self) -> Hold {
        Hold::new(self.engine().clone())
    }
    fn served_to(&self, clients: &Arc<dyn Clients>) {
        self.engine().served_to(clients);
    }
    fn hosted_by(&self, host: &Arc<dyn Host>) {
        self.engine().hosted_by(host);
    }
    fn reconfigure(&self, options: &Options) -> Result<()> {
        self.engine().reconfigure(options)
    }
}
