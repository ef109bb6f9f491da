//! The beginning of a connection: encryption asked for or not, who the client is, what it wants set.

use crate::auth::{self, Exchange};
use crate::backend::Backend;
use crate::connection::{End, write};
use crate::input::{Front, Input};
use crate::read::{Reader, violation};
use crate::reply::{Reply, Severity};
use crate::server::Shared;
use crate::stream::Stream;
use planaria::scram::Verifier;
use planaria::{Error, Result, SqlState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};
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
            SSL_REQUEST => match &shared.config.tls {
                Some(tls) if stream.is_plain_tcp() => {
                    if !input.is_empty() {
                        // Whoever sent it cannot have been asked yet: it may be a third party.
                        tracing::warn!(peer = ?stream.peer(), "received unencrypted data after SSL request");
                        return Ok(None);
                    }
                    stream.write_all(b"S").await?;
                    stream = stream.encrypt(tls).await?;
                }
                _ => stream.write_all(b"N").await?,
            },
            GSS_ENCRYPTION_REQUEST => stream.write_all(b"N").await?,
            CANCEL_REQUEST => {
                if let (Ok(process), Ok(secret)) = (body.i32(), body.i32()) {
                    let found = shared.clients.cancel(process, secret);
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
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
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
    mut input: Input,
    startup: Result<Startup>,
) -> io::Result<Option<Opened>> {
    let peer = stream.peer();
    let outcome = match startup {
        Ok(startup) => match authenticate(shared, &mut stream, &mut input, &startup).await? {
            Some(Ok(())) => admit(shared, startup, peer),
            Some(Err(error)) => Err(error),
            None => return Ok(None),
        },
        Err(error) => Err(error),
    };
    match outcome {
        Ok(backend) => Ok(Some(Opened { stream, input, backend })),
        Err(error) => {
            shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
            tracing::info!(peer = ?peer, sqlstate = %error.sqlstate(), "refused: {}", error.message());
            let mut reply = Reply::default();
            reply.error(Severity::Fatal, &error, None);
            // It may be gone already.
            let _ = write(&mut stream, &mut reply, shared.config.write_timeout, || {}).await;
            let _ = stream.shutdown().await;
            Ok(None)
        }
    }
}

/// Has the client show that it is who it says. `None`: it has left.
///
/// As long as no role has a password there is nothing to ask for: clients of this machine are trusted, others
/// are refused. From the first password on everybody is asked.
async fn authenticate(
    shared: &Arc<Shared>,
    stream: &mut Stream,
    input: &mut Input,
    startup: &Startup,
) -> io::Result<Option<Result<()>>> {
    let db = shared.seats.database();
    let local = stream.peer().is_none_or(|p| p.ip().is_loopback());
    if !db.has_passwords() {
        let error = Error::new(
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "connections from other machines are not accepted as long as no role has a password",
        )
        .hint("On the server's machine: ALTER ROLE postgres PASSWORD '...'.");
        return Ok(Some(if local { Ok(()) } else { Err(error) }));
    }
    if !local && shared.config.require_tls && !stream.is_encrypted() {
        return Ok(Some(Err(Error::new(
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "connections from other machines must be encrypted",
        )
        .hint("Connect with sslmode=require."))));
    }
    let role = db.role(&startup.user);
    let holds = |until: Option<i64>| until.is_none_or(|until| until > now_micros());
    let verifier = role
        .as_ref()
        .filter(|r| holds(r.valid_until))
        .and_then(|r| r.verifier.as_deref())
        .and_then(|v| v.parse::<Verifier>().ok());
    let real = verifier.is_some();
    let verifier = verifier.unwrap_or_else(|| auth::mock(&startup.user, &shared.secret));
    let mut reply = Reply::default();
    reply.authentication_sasl(&[auth::MECHANISM]);
    send(shared, stream, &mut reply).await?;
    let Some(first) = password_message(stream, input).await? else { return Ok(None) };
    let (exchange, server_first) = match first.and_then(|m| Exchange::begin(Reader::new(&m), verifier, real))
    {
        Ok(begun) => begun,
        Err(error) => return Ok(Some(Err(error))),
    };
    reply.authentication_sasl_data(SASL_CONTINUE, &server_first);
    send(shared, stream, &mut reply).await?;
    let Some(last) = password_message(stream, input).await? else { return Ok(None) };
    let outcome = last.and_then(|m| exchange.end(Reader::new(&m)));
    Ok(Some(match outcome {
        Ok(Some(server_final)) => {
            reply.authentication_sasl_data(SASL_FINAL, &server_final);
            send(shared, stream, &mut reply).await?;
            Ok(())
        }
        Ok(None) => {
            let message = format!("password authentication failed for user \"{}\"", startup.user);
            Err(Error::new(auth::INVALID_PASSWORD, message))
        }
        Err(error) => Err(error),
    }))
}

const SASL_CONTINUE: i32 = 11;
const SASL_FINAL: i32 = 12;

/// Microseconds since 2000-01-01 UTC.
fn now_micros() -> i64 {
    const SECONDS_TO_2000: i64 = 946_684_800;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since_1970.as_micros() as i64 - SECONDS_TO_2000 * 1_000_000
}

async fn send(shared: &Shared, stream: &mut Stream, reply: &mut Reply) -> io::Result<()> {
    match write(stream, reply, shared.config.write_timeout, || {}).await {
        Ok(()) => Ok(()),
        Err(End::Lost(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// The body of a message of type `p`; `None`: the client has left.
async fn password_message(stream: &mut Stream, input: &mut Input) -> io::Result<Option<Result<Vec<u8>>>> {
    loop {
        match input.front(PACKET_BYTES_MAX) {
            Front::Message(b'p') => {
                let body = input.body().rest().to_vec();
                input.advance();
                return Ok(Some(Ok(body)));
            }
            Front::Message(b'X') => return Ok(None),
            Front::Message(tag) | Front::BadLength(tag, _) => {
                let message = format!("expected SASL response, got message type {tag}");
                return Ok(Some(Err(violation(message))));
            }
            Front::Incomplete => {
                if input.fill(stream).await? == 0 {
                    return Ok(None);
                }
            }
        }
    }
}

fn admit(shared: &Arc<Shared>, startup: Startup, peer: Option<SocketAddr>) -> Result<Backend> {
    let role = shared.seats.database().role(&startup.user).ok_or_else(|| {
        let message = format!("role \"{}\" does not exist", startup.user);
        Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message)
    })?;
    let limit = usize::try_from(role.connection_limit).ok().filter(|_| !role.superuser);
    if limit.is_some_and(|limit| shared.clients.of_role(role.id) >= limit) {
        return Err(Error::new(
            SqlState::TOO_MANY_CONNECTIONS,
            format!("too many connections for role \"{}\"", startup.user),
        ));
    }
    let mut backend = Backend::new(shared.clone(), shared.clients.open(role.id, peer));
    backend.session()?.log_in_as(&startup.user)?;
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
