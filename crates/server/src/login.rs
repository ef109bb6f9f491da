//! Who is let in, and as whom.
//!
//! Whether a client is asked for a password is the configuration's to say ([`Authentication`]), and, where it says
//! nothing, whether a role of the database ever had one: never whether one has one now.

use crate::auth::{self, Exchange};
use crate::backend::Backend;
use crate::config::Authentication;
use crate::connection::{End, write};
use crate::input::{Front, Input};
use crate::lobby::origin;
use crate::read::{Reader, violation};
use crate::reply::Reply;
use crate::server::{Place, Shared};
use crate::startup::{PACKET_BYTES_MAX, Startup, Wish, hear, refuse};
use crate::stream::Stream;
use crate::throttle::Tried;
use planaria::serving::scram::Verifier;
use planaria::serving::{ServedDatabase, ServedSession};
use planaria::{Error, Result, SqlState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// A client that is let in.
pub(crate) struct Opened {
    pub(crate) stream: Stream,
    pub(crate) input: Input,
    pub(crate) backend: Backend,
    pub(crate) place: Place,
}

/// Lets a client in; `None`: it has been answered, and that is all.
pub(crate) async fn open(shared: &Arc<Shared>, stream: Stream) -> io::Result<Option<Opened>> {
    let mut input = Input::default();
    let (mut stream, wish) = hear(shared.config().tls.as_ref(), stream, &mut input).await?;
    let startup = match wish {
        Wish::Enter(startup) => startup,
        Wish::Cancel(process, secret) => {
            let found = shared.clients.cancel(process, secret);
            tracing::debug!(connection = process, found, "cancel request");
            return Ok(None);
        }
        Wish::None => return Ok(None),
    };
    let peer = stream.peer();
    let outcome = match startup.and_then(|startup| shared.has_place().map(|()| startup)) {
        Ok(startup) => match authenticate(shared, &mut stream, &mut input, &startup).await? {
            Some(Ok(())) => admit(shared, startup, peer),
            Some(Err(error)) => Err(error),
            None => return Ok(None),
        },
        Err(error) => Err(error),
    };
    match outcome {
        Ok((backend, place)) => Ok(Some(Opened { stream, input, backend, place })),
        Err(error) => {
            shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
            tracing::info!(peer = ?peer, sqlstate = %error.sqlstate(), "refused: {}", error.message());
            refuse(&mut stream, &error, shared.config().write_timeout).await;
            Ok(None)
        }
    }
}

/// Whether a client is let in as whoever it says it is; 28000 where it cannot be let in at all.
fn is_trusted(shared: &Shared, local: bool, encrypted: bool) -> Result<bool> {
    let refused = |message| Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message);
    let trusts = match shared.config().authentication {
        Authentication::Auto => !shared.sessions.database().had_passwords(),
        Authentication::Trust | Authentication::Owner => local,
        Authentication::Password => false,
    };
    if trusts && !local {
        let message = "connections from other machines are not accepted until a role has had a password";
        return Err(
            refused(message).with_hint("On the server's machine, run ALTER ROLE postgres PASSWORD '...'.")
        );
    }
    if !local && shared.config().require_tls && !encrypted {
        let message = "connections from other machines must be encrypted";
        return Err(refused(message).with_hint("Connect with sslmode=require."));
    }
    Ok(trusts)
}

/// Has the client show that it is who it says, if it is to. `None`: it has left.
async fn authenticate(
    shared: &Arc<Shared>,
    stream: &mut Stream,
    input: &mut Input,
    startup: &Startup,
) -> io::Result<Option<Result<()>>> {
    let peer = stream.peer();
    let local = peer.is_none_or(|p| p.ip().to_canonical().is_loopback());
    match is_trusted(shared, local, stream.is_encrypted()) {
        Ok(true) => return Ok(Some(Ok(()))),
        Ok(false) => {}
        Err(error) => return Ok(Some(Err(error))),
    }
    let role = shared.sessions.database().role(&startup.user);
    let holds = |until: Option<i64>| until.is_none_or(|until| until > now_micros());
    let verifier = role
        .as_ref()
        .filter(|r| holds(r.valid_until))
        .and_then(|r| r.verifier.as_deref())
        .and_then(|v| v.parse::<Verifier>().ok());
    let real = verifier.is_some();
    // Made for all, so that it takes as long for all.
    let mock = auth::mock(&startup.user, &shared.secret);
    let verifier = verifier.unwrap_or(mock);
    let mut reply = Reply::default();
    let binding = stream.binding();
    reply.authentication_sasl(auth::mechanisms(binding.is_some()));
    send(shared, stream, &mut reply).await?;
    let Some(first) = password_message(stream, input).await? else { return Ok(None) };
    let begin = |m: Vec<u8>| Exchange::begin(Reader::new(&m), verifier, real, binding.as_deref());
    let (exchange, server_first) = match first.and_then(begin) {
        Ok(begun) => begun,
        Err(error) => return Ok(Some(Err(error))),
    };
    reply.authentication_sasl_data(SASL_CONTINUE, &server_first);
    send(shared, stream, &mut reply).await?;
    let Some(last) = password_message(stream, input).await? else { return Ok(None) };
    let look = || last.and_then(|m| exchange.end(Reader::new(&m)));
    let tried = shared.throttle.try_proof(origin(peer), &startup.user, look).await;
    Ok(Some(match tried {
        Ok(Tried::Right(server_final)) => {
            reply.authentication_sasl_data(SASL_FINAL, &server_final);
            send(shared, stream, &mut reply).await?;
            Ok(())
        }
        Ok(Tried::Wrong(failures)) => {
            shared.metrics.failed_logins.fetch_add(1, Ordering::Relaxed);
            let message = format!("password authentication failed for user \"{}\"", startup.user);
            tracing::warn!(peer = ?peer, failures, "{message}");
            Err(Error::new(auth::INVALID_PASSWORD, message))
        }
        Err(error) => {
            shared.metrics.failed_logins.fetch_add(1, Ordering::Relaxed);
            Err(error)
        }
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
    match write(stream, reply, shared.config().write_timeout, || {}).await {
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

fn admit(shared: &Arc<Shared>, startup: Startup, peer: Option<SocketAddr>) -> Result<(Backend, Place)> {
    let role = shared.sessions.database().role(&startup.user).ok_or_else(|| {
        let message = format!("role \"{}\" does not exist", startup.user);
        Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message)
    })?;
    let place = Place::take(shared, role.superuser)?;
    let limit = usize::try_from(role.connection_limit).ok().filter(|_| !role.superuser);
    if limit.is_some_and(|limit| shared.clients.of_role(role.id) >= limit) {
        return Err(Error::new(
            SqlState::TOO_MANY_CONNECTIONS,
            format!("too many connections for role \"{}\"", startup.user),
        ));
    }
    let mut backend = Backend::new(shared.clone(), shared.clients.open(role.id, peer));
    if shared.config().authentication != Authentication::Owner {
        backend.session()?.log_in_as(&startup.user)?;
    }
    backend.session()?.call_database(&startup.database);
    if startup.minor > 0 || !startup.unknown.is_empty() {
        let unknown: Vec<&str> = startup.unknown.iter().map(String::as_str).collect();
        backend.reply.negotiate_protocol_version(&unknown);
    }
    backend.reply.authentication_ok();
    for (name, value) in &startup.settings {
        let outcome = backend.session()?.begin_with(name, value);
        match outcome {
            Ok(()) => {}
            // A time zone that nobody knows is no reason to refuse a client; it is told that times are in UTC.
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
    Ok((backend, place))
}
