//! Commands about the connection: `\c`, `\conninfo`, `\password`.

use super::address::{self, Address, Place};
use super::client::{Client, Failure};
use super::lines::{self, Lines};
use super::variables::quoted;
use super::{Next, Shell, notice, passfile, place};
use planaria::{Error, Result, SqlState};

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Shell {
    /// `\c [URL | DATABASE|- [USER|- [HOST|- [PORT|-]]]]`
    pub(super) fn connect(&mut self, arguments: &[String]) -> Next {
        let connected = self
            .other_address(arguments)
            .and_then(|address| Client::connect(&address, notice, &mut lines::ask_password));
        match connected {
            Ok(client) => {
                let moved = client.address().place != self.client.address().place;
                self.client = client;
                self.names_changed = true;
                self.connected();
                let address = self.client.address();
                let place = if moved { self.place() } else { String::new() };
                let (database, user) = (&address.database, &address.user);
                self.say(&format!(
                    "You are now connected to database \"{database}\" as user \"{user}\"{place}."
                ));
                Next::Line
            }
            Err(error) => {
                place::tell(format_args!("\\connect: {}", crate::print::error(&error, None)));
                if self.interactive {
                    eprintln!("Previous connection kept");
                    return Next::Failed;
                }
                // What a script says next is not meant for where it was before.
                Next::Lost
            }
        }
    }

    /// What is meant: what is not said is as it is.
    fn other_address(&self, arguments: &[String]) -> Result<Address> {
        let now = self.client.address();
        let said = |at: usize| arguments.get(at).map(String::as_str).filter(|text| *text != "-");
        if let Some(url) = said(0).filter(|text| address::is_url(text)) {
            return Address::parse(url, &env);
        }
        let (host, port) = now.host_and_port();
        let mut to = Address {
            database: said(0).unwrap_or(&now.database).to_owned(),
            user: said(1).unwrap_or(&now.user).to_owned(),
            ..now.clone()
        };
        if said(2).is_some() || said(3).is_some() {
            let port = said(3).unwrap_or(&port);
            let number = port.parse().map_err(|_| {
                Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid port number: \"{port}\""))
            })?;
            to.place = Address::place_of(said(2).unwrap_or(&host), number);
        }
        if (&to.user, &to.place) != (&now.user, &now.place) {
            // A password is for a user of a server.
            to.password = env("PGPASSWORD");
            if let Some(file) = passfile::path(&env).filter(|_| to.password.is_none()) {
                to.look_up_password(&file);
            }
        }
        Ok(to)
    }

    /// ` on host "h" at port "p"`, and so on.
    fn place(&self) -> String {
        let address = self.client.address();
        let (host, port) = address.host_and_port();
        match &address.place {
            Place::Tcp(..) => {
                let peer = self.client.peer().map(|ip| ip.to_string()).filter(|ip| *ip != host);
                let at = peer.map_or(String::new(), |ip| format!(" (address \"{ip}\")"));
                format!(" on host \"{host}\"{at} at port \"{port}\"")
            }
            Place::Unix(_) => format!(" via socket in \"{host}\" at port \"{port}\""),
        }
    }

    /// `\conninfo`
    pub(super) fn conninfo(&mut self) -> Next {
        let address = self.client.address();
        let place = if self.embedded { " in this process".to_owned() } else { self.place() };
        println!(
            "You are connected to database \"{}\" as user \"{}\"{place}.",
            address.database, address.user
        );
        if let Some(encrypted) = self.client.encrypted() {
            println!("SSL connection ({encrypted})");
        }
        Next::Line
    }

    /// `\password [USER]`: the server gets a verifier, and never sees the password itself.
    pub(super) fn password(&mut self, argument: &str, lines: &mut dyn Lines) -> Next {
        let user = match argument {
            "" => match self.client.query("SELECT current_user") {
                Ok(table) => table.rows.into_iter().flatten().flatten().next().unwrap_or_default(),
                Err(failure) => return self.after::<()>(Err(failure), None),
            },
            user => user.trim_matches('"').to_owned(),
        };
        let asked = lines::ask(&format!("Enter new password for user \"{user}\": "), lines)
            .and_then(|first| Ok((first, lines::ask("Enter it again: ", lines)?)));
        let (first, second) = match asked {
            Ok(both) => both,
            Err(error) => return self.refuse(&error.to_string()),
        };
        if first != second {
            return self.refuse("Passwords didn't match.");
        }
        let verifier = postgres_protocol::password::scram_sha_256(first.as_bytes());
        let statement = format!("ALTER USER {} PASSWORD {}", quoted(&user, '"'), quoted(&verifier, '\''));
        match self.client.query(&statement) {
            // The statement is not what was typed.
            Err(Failure::Told(mut told)) => {
                told.position = None;
                self.after::<()>(Err(Failure::Told(told)), None)
            }
            outcome => self.after(outcome, None),
        }
    }
}
