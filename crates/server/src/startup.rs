//! The beginning of a connection: encryption asked for or not, who the client is, what it wants set.

use crate::backend::Backend;
use crate::connection::write;
use crate::input::Input;
use crate::read::{Reader, violation};
use crate::reply::{Reply, Severity};
use crate::server::Shared;
use crate::stream::Stream;
use planaria::{Error, Result, SqlState};
use std::io;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;

const CANCEL_REQUEST: i32 = 80_877_102;
const SSL_REQUEST: i32 = 80_877_103;
const GSS_ENCRYPTION_REQUEST: i32 = 80_877_104;

/// As in PostgreSQL.
const PACKET_BYTES_MAX: usize = 10_000;

/// A client that is let in.
pub(crate) struct Opened {
    pub(crate) stream: Stream,
    pub(crate) input: Input,
    pub(crate) backend: Backend,
}

/// What a startup packet says.
struct Startup {
    user: String,
    database: String,
    /// Settings, in order.
    settings: Vec<(String, String)>,
    /// Options of the protocol that are not known here.
    unknown: Vec<String>,
    minor: i32,
}

/// Lets a client in; `None`: it has been answered, and that is all.
pub(crate) async fn open(shared: &Arc<Shared>, mut stream: Stream) -> io::Result<Option<Opened>> {
    let mut input = Input::default();
    loop {
        let Some(packet) = packet(&mut stream, &mut input).await? else { return Ok(None) };
        let mut body = Reader::new(&packet);
        let code = body.i32().unwrap_or(0);
        match code {
            SSL_REQUEST | GSS_ENCRYPTION_REQUEST => {
                stream.write_all(b"N").await?;
            }
            CANCEL_REQUEST => {
                if let (Ok(process), Ok(secret)) = (body.i32(), body.i32()) {
                    let found = shared.cancellation.cancel(process, secret);
                    tracing::debug!(connection = process, found, "cancel request");
                }
                return Ok(None);
            }
            _ => {
                let startup = read(code, body);
                return enter(shared, stream, input, startup).await;
            }
        }
    }
}

/// A packet without a type, without its length; `None` at the end, or where it is garbage.
async fn packet(stream: &mut Stream, input: &mut Input) -> io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(head) = input.peek(4) {
            let len = i32::from_be_bytes([head[0], head[1], head[2], head[3]]);
            let len = usize::try_from(len).ok().filter(|n| (8..=PACKET_BYTES_MAX).contains(n));
            let Some(len) = len else {
                tracing::info!(peer = ?stream.peer(), "invalid length of startup packet: not a client of PostgreSQL");
                return Ok(None);
            };
            if let Some(packet) = input.peek(len) {
                let packet = packet[4..].to_vec();
                input.take(len);
                return Ok(Some(packet));
            }
        }
        if input.fill(stream).await? == 0 {
            return Ok(None);
        }
    }
}

fn read(code: i32, mut body: Reader<'_>) -> Result<Startup> {
    let (major, minor) = (code >> 16, code & 0xFFFF);
    if major != 3 {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"),
        ));
    }
    let mut startup = Startup {
        user: String::new(),
        database: String::new(),
        settings: Vec::new(),
        unknown: Vec::new(),
        minor,
    };
    loop {
        let name = body.string()?;
        if name.is_empty() {
            break;
        }
        let value = body.string()?;
        match name {
            "user" => value.clone_into(&mut startup.user),
            "database" => value.clone_into(&mut startup.database),
            "replication" if !matches!(value, "false" | "off" | "no" | "0") => {
                return Err(Error::unsupported(
                    "replication connections are not supported",
                    "Connect without.",
                ));
            }
            "replication" => {}
            "options" => options(value, &mut startup.settings)?,
            _ if name.starts_with("_pq_.") => startup.unknown.push(name.to_owned()),
            _ => startup.settings.push((name.to_owned(), value.to_owned())),
        }
    }
    body.end().map_err(|_| violation("invalid startup packet layout: expected terminator as last byte"))?;
    if startup.user.is_empty() {
        return Err(Error::new(
            SqlState::new("28000"),
            "no PostgreSQL user name specified in startup packet",
        ));
    }
    if startup.database.is_empty() {
        startup.database.clone_from(&startup.user);
    }
    Ok(startup)
}

/// `-c name=value` and `--name=value`, as the command line of PostgreSQL takes them.
fn options(text: &str, settings: &mut Vec<(String, String)>) -> Result<()> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.extend(chars.next()),
            c if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let assignment = match word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
            Some("") => words.next().unwrap_or_default(),
            Some(rest) => rest.to_owned(),
            None => word.clone(),
        };
        let (name, value) =
            assignment.split_once('=').filter(|_| word.starts_with('-')).ok_or_else(|| {
                Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("invalid command-line argument for server process: {word}"),
                )
            })?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(())
}

/// Decides whether the client is let in, and says so.
async fn enter(
    shared: &Arc<Shared>,
    mut stream: Stream,
    input: Input,
    startup: Result<Startup>,
) -> io::Result<Option<Opened>> {
    let peer = stream.peer();
    let outcome = match startup {
        Ok(startup) => admit(shared, peer.is_none_or(|p| p.ip().is_loopback()), startup),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(backend) => Ok(Some(Opened { stream, input, backend })),
        Err(error) => {
            tracing::info!(peer = ?peer, sqlstate = %error.sqlstate(), "refused: {}", error.message());
            let mut reply = Reply::default();
            reply.error(Severity::Fatal, &error, None);
            // It may be gone already.
            let _ = write(&mut stream, &mut reply, shared.config.write_timeout).await;
            let _ = stream.shutdown().await;
            Ok(None)
        }
    }
}

fn admit(shared: &Arc<Shared>, loopback: bool, startup: Startup) -> Result<Backend> {
    if !loopback {
        return Err(Error::new(
            SqlState::new("28000"),
            "connections from other machines need a role with a password",
        ));
    }
    let mut backend = Backend::new(shared.clone(), shared.cancellation.open());
    if startup.minor > 0 || !startup.unknown.is_empty() {
        let unknown: Vec<&str> = startup.unknown.iter().map(String::as_str).collect();
        backend.reply.negotiate_protocol_version(&unknown);
    }
    backend.reply.authentication_ok();
    for (name, value) in &startup.settings {
        let outcome = backend.session()?.set(name, value);
        match outcome {
            Ok(()) => {}
            // A client's own time zone is no reason to refuse it; it is told that times are in UTC.
            Err(error) if name.eq_ignore_ascii_case("timezone") => {
                backend.reply.warning(error.sqlstate(), error.message(), error.fields().hint.as_deref());
            }
            Err(error) => return Err(error),
        }
    }
    backend.report_all_settings()?;
    backend.reply.backend_key_data(backend.key.process, backend.key.secret);
    backend.ready();
    tracing::info!(
        connection = backend.key.process,
        user = startup.user,
        database = startup.database,
        "connected"
    );
    Ok(backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_a_command_line() {
        let mut settings = Vec::new();
        options("-c a=1 -cb=2 --my-own=x\\ y", &mut settings).expect("well-formed");
        let wanted = [("a", "1"), ("b", "2"), ("my_own", "x y")];
        assert_eq!(settings, wanted.map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert!(options("a=1", &mut settings).is_err());
        assert!(options("-c a", &mut settings).is_err());
    }

    #[test]
    fn a_startup_packet_names_a_user() {
        let packet = |body: &[u8]| read(3 << 16, Reader::new(body));
        let startup = packet(b"user\0me\0application_name\0x\0\0").expect("well-formed");
        assert_eq!((startup.user.as_str(), startup.database.as_str()), ("me", "me"));
        assert_eq!(startup.settings, [("application_name".to_owned(), "x".to_owned())]);
        assert!(packet(b"database\0me\0\0").is_err());
        assert!(packet(b"user\0me").is_err());
        assert!(packet(b"user\0me\0\0rest").is_err());
        assert!(read(2 << 16, Reader::new(b"")).is_err());
    }
}
