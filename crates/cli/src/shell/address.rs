//! Where a server is: `postgres://user:password@host:port/database`, with what it leaves out from the environment, as
//! psql has it (`PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE`, `PGSSLMODE`, `PGSSLROOTCERT`, `PGSSLCERT`,
//! `PGSSLKEY`, `PGCHANNELBINDING`, `PGAPPNAME`, `PGOPTIONS`), and a password from a file of passwords ([`super::passfile`]).

use super::passfile::{self, Wanted};
use super::tls::{Binding, Files, SslMode};
use planaria::{Error, Result, SqlState};
use std::path::PathBuf;

/// What a client connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host and its port.
    Tcp(String, u16),
    /// A socket of this machine.
    Unix(PathBuf),
}

/// See the module's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub place: Place,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    /// Settings that the session is to begin with.
    pub options: Vec<(String, String)>,
    pub ssl: SslMode,
    pub files: Files,
    pub binding: Binding,
}

/// Whether a text is meant as one, if perhaps of another kind of server: no directory is called so.
pub fn is_url(text: &str) -> bool {
    text.contains("://")
}

fn invalid(text: &str, why: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("\"{text}\" is not a server address: {why}"))
        .with_hint("One looks like postgres://user@host:5432/database.")
}

/// `%41` is A.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}

impl Address {
    /// Reads one. `env` looks variables up.
    pub fn parse(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Address> {
        let wrong = |why: &str| invalid(text, why);
        let part =
            |part: &str| decoded(part).ok_or_else(|| wrong("a % is not followed by two hexadecimal digits"));
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| wrong("it does not begin with postgres://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user_part, host_part) = match authority.rsplit_once('@') {
            Some((user, host)) => (user, host),
            None => ("", authority),
        };
        let (user, password) = match user_part.split_once(':') {
            Some((user, password)) => (part(user)?, Some(part(password)?)),
            None => (part(user_part)?, None),
        };
        // An address of IPv6 stands in brackets.
        let (host, port) = match host_part.strip_prefix('[').and_then(|h| h.split_once(']')) {
            Some((host, rest)) => (host.to_owned(), rest.trim_start_matches(':')),
            None => {
                let (host, port) = host_part.rsplit_once(':').unwrap_or((host_part, ""));
                (part(host)?, port)
            }
        };
        let mut found = Parts {
            host,
            port: port.to_owned(),
            user,
            password,
            database: part(database)?,
            ssl: String::new(),
            roots: String::new(),
            certificate: String::new(),
            key: String::new(),
            binding: String::new(),
        };
        let mut options = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| wrong("what stands behind ? is NAME=VALUE"))?;
            let value = part(value)?;
            match name {
                "host" => found.host = value,
                "port" => found.port = value,
                "user" => found.user = value,
                "password" => found.password = Some(value),
                "dbname" => found.database = value,
                "application_name" | "options" => options.push((name.to_owned(), value)),
                "sslmode" => found.ssl = value,
                "sslrootcert" => found.roots = value,
                "sslcert" => found.certificate = value,
                "sslkey" => found.key = value,
                "channel_binding" => found.binding = value,
                other => return Err(wrong(&format!("there is no parameter \"{other}\""))),
            }
        }
        let or_env = |value: String, name: &str| {
            if value.is_empty() { env(name).unwrap_or_default() } else { value }
        };
        let port = or_env(found.port, "PGPORT");
        let port = if port.is_empty() {
            5432
        } else {
            port.parse().map_err(|_| wrong("the port is not a number"))?
        };
        let host = or_env(found.host, "PGHOST");
        let mut user = or_env(found.user, "PGUSER");
        if user.is_empty() {
            user = env("USER").filter(|user| !user.is_empty()).unwrap_or_else(|| "postgres".to_owned());
        }
        let mut database = or_env(found.database, "PGDATABASE");
        if database.is_empty() {
            database.clone_from(&user);
        }
        let place = Address::place_of(&host, port);
        let mode = or_env(found.ssl, "PGSSLMODE");
        let ssl = match mode.as_str() {
            "" => SslMode::default(),
            mode => {
                SslMode::parse(mode).ok_or_else(|| wrong(&format!("invalid sslmode value: \"{mode}\"")))?
            }
        };
        let file = |value: String, name: &str| {
            Some(or_env(value, name)).filter(|file| !file.is_empty()).map(PathBuf::from)
        };
        let files = Files {
            roots: file(found.roots, "PGSSLROOTCERT"),
            certificate: file(found.certificate, "PGSSLCERT"),
            key: file(found.key, "PGSSLKEY"),
        };
        let binding = match or_env(found.binding, "PGCHANNELBINDING").as_str() {
            "" => Binding::default(),
            text => Binding::parse(text)
                .ok_or_else(|| wrong(&format!("invalid channel_binding value: \"{text}\"")))?,
        };
        for (name, variable) in [("application_name", "PGAPPNAME"), ("options", "PGOPTIONS")] {
            if let Some(value) = env(variable).filter(|v| !v.is_empty())
                && !options.iter().any(|(given, _)| given == name)
            {
                options.push((name.to_owned(), value));
            }
        }
        let password = found.password.or_else(|| env("PGPASSWORD"));
        let mut address = Address { place, user, password, database, options, ssl, files, binding };
        if address.password.is_none()
            && let Some(file) = passfile::path(env)
        {
            address.look_up_password(&file);
        }
        Ok(address)
    }

    /// Takes the password from a file, if it is there.
    pub fn look_up_password(&mut self, file: &std::path::Path) {
        let (host, port) = self.host_and_port();
        let wanted = Wanted { host: &host, port: &port, database: &self.database, user: &self.user };
        self.password = passfile::look_up(file, &wanted);
    }

    /// The host, or the directory of the socket, and the port.
    pub fn host_and_port(&self) -> (String, String) {
        match &self.place {
            Place::Tcp(host, port) => (host.clone(), port.to_string()),
            Place::Unix(path) => {
                let port = path.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
                (path.parent().map(|dir| dir.display().to_string()).unwrap_or_default(), port)
            }
        }
    }

    /// A place by its host and port.
    pub fn place_of(host: &str, port: u16) -> Place {
        match host {
            dir if dir.starts_with('/') => Place::Unix(PathBuf::from(dir).join(format!(".s.PGSQL.{port}"))),
            "" => Place::Tcp("127.0.0.1".to_owned(), port),
            host => Place::Tcp(host.to_owned(), port),
        }
    }
}

struct Parts {
    host: String,
    port: String,
    user: String,
    password: Option<String>,
    database: String,
    ssl: String,
    roots: String,
    certificate: String,
    key: String,
    binding: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address> {
        Address::parse(text, &|name| (name == "PGUSER").then(|| "me".to_owned()))
    }

    #[test]
    fn addresses_are_read() {
        let a = parse("postgres://a%40b:p%3A@[::1]:7/shop?application_name=x").expect("an address");
        assert_eq!((a.place, a.user.as_str()), (Place::Tcp("::1".into(), 7), "a@b"));
        assert_eq!((a.password.as_deref(), a.database.as_str()), (Some("p:"), "shop"));
        assert_eq!(a.options, [("application_name".to_owned(), "x".to_owned())]);
        let a = parse("postgresql://").expect("an address");
        assert_eq!(
            (a.place, a.user, a.database),
            (Place::Tcp("127.0.0.1".into(), 5432), "me".into(), "me".into())
        );
        let a = parse("postgres://%2Ftmp:6/x").expect("an address");
        assert_eq!(a.place, Place::Unix("/tmp/.s.PGSQL.6".into()));
        assert_eq!(parse("postgres:///x?host=/tmp&port=6").expect("an address").place, a.place);
        let a = parse("postgres://h/?sslmode=verify-full&sslrootcert=/r.pem&sslcert=/c.pem&sslkey=/k.pem")
            .expect("an address");
        let file = |name: &str| Some(PathBuf::from(name));
        let files = Files { roots: file("/r.pem"), certificate: file("/c.pem"), key: file("/k.pem") };
        assert_eq!((a.ssl, a.files), (SslMode::VerifyFull, files));
        for wrong in [
            "mysql://h",
            "postgres://h:port",
            "postgres://h/?x=1",
            "postgres://%4/",
            "postgres://h/?sslmode=perhaps",
            "postgres://h/?channel_binding=perhaps",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
