//! The beginning of a connection: encryption asked for or not, who the client says it is, what it wants set.

use crate::connection::write;
use crate::input::Input;
use crate::read::{Reader, violation};
use crate::reply::{Reply, Severity};
use crate::stream::Stream;
use crate::tls::Tls;
use planaria::{Error, Result, SqlState};
use std::io;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

const CANCEL_REQUEST: i32 = 80_877_102;
const SSL_REQUEST: i32 = 80_877_103;
const GSS_ENCRYPTION_REQUEST: i32 = 80_877_104;

/// As in PostgreSQL.
pub(crate) const PACKET_BYTES_MAX: usize = 10_000;

/// What a startup packet says.
pub(crate) struct Startup {
    pub(crate) user: String,
    pub(crate) database: String,
    /// Settings, in order.
    pub(crate) settings: Vec<(String, String)>,
    /// Options of the protocol that are not known here.
    pub(crate) unknown: Vec<String>,
    pub(crate) minor: i32,
}

/// What a connection wants.
pub(crate) enum Wish {
    /// To be let in.
    Enter(Result<Startup>),
    /// Somebody's statement is to end: process and secret.
    Cancel(i32, i32),
    /// Nothing that anybody understands; or it has left.
    None,
}

/// Hears what a connection wants; encrypts it on the way, if it asks for that.
pub(crate) async fn hear(
    tls: Option<&Tls>,
    mut stream: Stream,
    input: &mut Input,
) -> io::Result<(Stream, Wish)> {
    loop {
        let Some(packet) = packet(&mut stream, input).await? else { return Ok((stream, Wish::None)) };
        let mut body = Reader::new(&packet);
        let code = body.i32().unwrap_or(0);
        match code {
            SSL_REQUEST => match tls {
                Some(tls) if stream.is_plain_tcp() => {
                    if !input.is_empty() {
                        // Whoever sent it cannot have been asked yet: it may be a third party.
                        tracing::warn!(peer = ?stream.peer(), "received unencrypted data after SSL request");
                        return Ok((stream, Wish::None));
                    }
                    stream.write_all(b"S").await?;
                    stream = stream.encrypt(tls).await?;
                }
                _ => stream.write_all(b"N").await?,
            },
            GSS_ENCRYPTION_REQUEST => stream.write_all(b"N").await?,
            CANCEL_REQUEST => {
                let wish = match (body.i32(), body.i32()) {
                    (Ok(process), Ok(secret)) => Wish::Cancel(process, secret),
                    _ => Wish::None,
                };
                return Ok((stream, wish));
            }
            _ => return Ok((stream, Wish::Enter(read(code, body)))),
        }
    }
}

/// Tells a client why it is not let in.
pub(crate) async fn refuse(stream: &mut Stream, error: &Error, timeout: Duration) {
    let mut reply = Reply::default();
    reply.error(Severity::Fatal, error, None);
    // It may be gone already.
    let _ = write(stream, &mut reply, timeout, || {}).await;
    let _ = stream.shutdown().await;
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
