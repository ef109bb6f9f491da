//! A client of PostgreSQL's protocol that waits: one statement at a time, answers as texts.
//!
//! `postgres-protocol` has the messages and SCRAM. What a person needs beside rows is kept: types' alignment, tags, notices,
//! positions of errors, the key that cancels. Encryption is [`super::tls`]'s.

use super::address::{Address, Place};
use super::tls::{self, Binding, SslMode};
use crate::table::{Column, Table};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use planaria::{Error, Result, SqlState};
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long a host may take to answer at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Data of COPY goes out in pieces of this size.
const COPY_BYTES: usize = 64 << 10;

trait Socket: Read + Write + Send {}
impl Socket for TcpStream {}
impl Socket for UnixStream {}
impl Socket for StreamOwned<ClientConnection, TcpStream> {}

/// See the module's head.
pub struct Client {
    socket: Box<dyn Socket>,
    input: BytesMut,
    key: (i32, i32),
    address: Address,
    status: u8,
    /// How the connection is encrypted, if it is.
    encrypted: Option<String>,
    /// What SCRAM can be bound to.
    end_point: Option<Vec<u8>>,
    /// The address of the host.
    peer: Option<IpAddr>,
    on_notice: fn(&Told),
    /// What was said on channels that the session listens to, for people.
    heard: Vec<String>,
}

/// What a server says of an error, or of less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub severity: String,
    pub sqlstate: String,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    pub context: Option<String>,
    /// A text made at run time that the position counts in, in place of the statement.
    pub query: Option<String>,
    /// Characters, from 1 on.
    pub position: Option<usize>,
}

/// Why a statement has no answer.
#[derive(Debug)]
pub enum Failure {
    /// The server says why.
    Told(Box<Told>),
    /// The connection is gone.
    Lost(io::Error),
}

impl Failure {
    /// As an error of the library.
    pub fn into_error(self) -> Error {
        match self {
            Failure::Told(told) => told.into_error(),
            Failure::Lost(error) => {
                Error::new(SqlState::new("08006"), format!("connection to server was lost: {error}"))
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Lost(error)
    }
}

/// What comes of a statement.
pub enum Answer {
    /// Rows, and the command tag.
    Rows(Table, String),
    /// The command tag alone.
    Done(String),
    /// The command tag of a COPY whose data has gone out.
    CopiedOut(String),
    /// Nothing was asked.
    Empty,
}

/// Ends what a client runs, from another thread.
#[derive(Clone)]
pub struct Canceller {
    address: Address,
    key: (i32, i32),
}

impl Canceller {
    /// Nobody says whether it has come in time.
    pub fn cancel(&self) {
        let mut request = BytesMut::new();
        frontend::cancel_request(self.key.0, self.key.1, &mut request);
        if let Ok((mut socket, ..)) = connect(&self.address, self.address.ssl) {
            let _ = socket.write_all(&request);
        }
    }
}

/// Names of the mechanisms of SASL, the second bound to the encrypted connection.
const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// In libpq's words.
fn unbound(why: &str) -> Failure {
    io::Error::other(format!("channel binding is required, but {why}")).into()
}

/// A socket, how it is encrypted, and where it leads; what stands for the server's certificate.
type Connected = (Box<dyn Socket>, Option<String>, Option<IpAddr>, Option<Vec<u8>>);

fn connect(address: &Address, mode: SslMode) -> io::Result<Connected> {
    use std::net::ToSocketAddrs;
    match &address.place {
        // Nobody else hears what goes through one of these.
        Place::Unix(path) => Ok((Box::new(UnixStream::connect(path)?), None, None, None)),
        Place::Tcp(host, port) => {
            let mut last = io::Error::from(io::ErrorKind::NotFound);
            for at in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&at, CONNECT_TIMEOUT) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        return encrypt(stream, host, address, mode);
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// Asks the server for encryption, where that is wanted.
fn encrypt(mut socket: TcpStream, host: &str, address: &Address, mode: SslMode) -> io::Result<Connected> {
    let peer = socket.peer_addr().ok().map(|at| at.ip());
    if mode <= SslMode::Allow {
        return Ok((Box::new(socket), None, peer, None));
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    socket.write_all(&request)?;
    let mut answer = [0];
    socket.read_exact(&mut answer)?;
    match answer[0] {
        b'S' => {
            let stream = tls::begin(socket, host, mode, &address.files)?;
            let version = match stream.conn.protocol_version() {
                Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
                _ => "TLSv1.3",
            };
            let cipher = stream.conn.negotiated_cipher_suite().map(|s| format!("{:?}", s.suite()));
            let cipher = cipher.unwrap_or_default().replacen("TLS13", "TLS", 1);
            let shown = stream.conn.peer_certificates().and_then(|chain| chain.first());
            let end_point = shown.and_then(|certificate| planaria_server::tls_server_end_point(certificate));
            let encrypted = format!("protocol: {version}, cipher: {cipher}, compression: off");
            Ok((Box::new(stream), Some(encrypted), peer, end_point))
        }
        b'N' if mode == SslMode::Prefer => Ok((Box::new(socket), None, peer, None)),
        b'N' => Err(io::Error::other("server does not support SSL, but SSL was required")),
        _ => Err(violation("no answer to the request for SSL")),
    }
}

fn told(mut fields: ErrorFields<'_>) -> io::Result<Told> {
    let mut told = Told::default();
    while let Some(field) = fields.next()? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'S' => told.severity = value,
            b'C' => told.sqlstate = value,
            b'M' => told.message = value,
            b'D' => told.detail = Some(value),
            b'H' => told.hint = Some(value),
            b'W' => told.context = Some(value),
            b'P' | b'p' => told.position = value.parse().ok(),
            b'q' => told.query = Some(value),
            _ => {}
        }
    }
    Ok(told)
}

fn violation(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server does not speak the protocol: {what}"))
}

/// Whether nobody listens.
fn is_nobody(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound, TimedOut};
    matches!(error.kind(), ConnectionRefused | NotFound | TimedOut)
}

/// Whether encryption has failed.
fn is_of_tls(failure: &Failure) -> bool {
    matches!(failure, Failure::Lost(error) if error.to_string().starts_with("SSL error"))
}

/// OIDs of the types whose values stand at the right, as in psql: integers, floats, numeric, oid, money.
fn is_right_aligned(oid: u32) -> bool {
    matches!(oid, 20 | 21 | 23 | 26 | 700 | 701 | 790 | 1700)
}

impl Client {
    /// Connects and logs in; `ask` is asked for a password where the server wants one and the address has none. 08001 where
    /// nobody answers.
    pub fn connect(
        address: &Address,
        on_notice: fn(&Told),
        ask: &mut dyn FnMut(&str) -> io::Result<String>,
    ) -> Result<Client> {
        let place = match &address.place {
            Place::Tcp(host, port) => format!("{host}:{port}"),
            Place::Unix(path) => path.display().to_string(),
        };
        let cannot = |e: &dyn std::fmt::Display| {
            Error::new(SqlState::new("08001"), format!("could not connect to {place}: {e}"))
        };
        let mut attempt = |mode: SslMode| -> Result<Client, Failure> {
            let (socket, encrypted, peer, end_point) = connect(address, mode)?;
            let (input, status) = (BytesMut::new(), b'I');
            let address = address.clone();
            let mut client = Client {
                socket,
                input,
                key: (0, 0),
                address,
                status,
                encrypted,
                end_point,
                peer,
                on_notice,
                heard: Vec::new(),
            };
            client.log_in(ask)?;
            Ok(client)
        };
        let refused = |failure: &Failure| matches!(failure, Failure::Told(told) if told.sqlstate.starts_with("28") && told.sqlstate != "28P01");
        let outcome = match (address.ssl, attempt(address.ssl)) {
            // What was tried may be what the server does not want.
            (SslMode::Allow, Err(failure)) if refused(&failure) => {
                attempt(SslMode::Require).map_err(|_| failure)
            }
            (SslMode::Prefer, Err(failure)) if refused(&failure) || is_of_tls(&failure) => {
                attempt(SslMode::Disable).map_err(|_| failure)
            }
            (_, outcome) => outcome,
        };
        outcome.map_err(|failure| match failure {
            Failure::Lost(e) if is_nobody(&e) => {
                cannot(&e).with_hint("Is the server running and listening on that address?")
            }
            Failure::Lost(e) => cannot(&e),
            Failure::Told(told) => told.into_error(),
        })
    }

    fn log_in(&mut self, ask: &mut dyn FnMut(&str) -> io::Result<String>) -> Result<(), Failure> {
        let address = self.address.clone();
        let own = [("client_encoding", "UTF8"), ("user", &address.user), ("database", &address.database)];
        let named = address.options.iter().any(|(name, _)| name == "application_name");
        let name = (!named).then_some(("application_name", "planaria shell"));
        let given = address.options.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        let mut out = BytesMut::new();
        frontend::startup_message(own.into_iter().chain(name).chain(given), &mut out)?;
        self.socket.write_all(&out)?;
        let mut password = address.password.clone();
        let mut kept = None;
        let mut password = || -> io::Result<String> {
            match password.take() {
                Some(password) => Ok(password),
                None => {
                    let asked = ask(&address.user)?;
                    // For whoever connects again.
                    kept = Some(asked.clone());
                    Ok(asked)
                }
            }
        };
        let (mut scram, mut binds, mut bound) = (None, false, false);
        let required = address.binding == Binding::Require;
        let end_point = self.end_point.take().filter(|_| address.binding != Binding::Disable);
        loop {
            let mut out = BytesMut::new();
            match self.read()? {
                Message::AuthenticationOk if required && !bound => {
                    return Err(unbound("server authenticated client without channel binding"));
                }
                Message::AuthenticationOk | Message::ParameterStatus(_) => continue,
                Message::AuthenticationCleartextPassword if required => {
                    return Err(unbound("not supported by server's authentication request"));
                }
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(password()?.as_bytes(), &mut out)?;
                }
                Message::AuthenticationSasl(body) => {
                    let offered: Vec<String> = body.mechanisms().map(|m| Ok(m.to_owned())).collect()?;
                    let offers = |name: &str| offered.iter().any(|offer| offer == name);
                    let (name, binding) = match end_point.clone() {
                        Some(hash) if offers(SCRAM_PLUS) => {
                            binds = true;
                            (SCRAM_PLUS, ChannelBinding::tls_server_end_point(hash))
                        }
                        _ if required => {
                            return Err(unbound(
                                "server did not offer an authentication method that supports channel binding",
                            ));
                        }
                        _ if !offers(SCRAM) => {
                            return Err(violation("it offers no SCRAM-SHA-256").into());
                        }
                        // A server that had offered it would know that somebody has taken the offer away.
                        Some(_) => (SCRAM, ChannelBinding::unrequested()),
                        None => (SCRAM, ChannelBinding::unsupported()),
                    };
                    let started = ScramSha256::new(password()?.as_bytes(), binding);
                    frontend::sasl_initial_response(name, started.message(), &mut out)?;
                    scram = Some(started);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or_else(|| violation("SASL out of order"))?;
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut out)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.as_mut().ok_or_else(|| violation("SASL out of order"))?.finish(body.data())?;
                    bound = binds;
                    continue;
                }
                Message::BackendKeyData(body) => {
                    self.key = (body.process_id(), body.secret_key());
                    continue;
                }
                Message::NoticeResponse(body) => {
                    (self.on_notice)(&told(body.fields())?);
                    continue;
                }
                Message::ErrorResponse(body) => return Err(Failure::Told(Box::new(told(body.fields())?))),
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    if kept.is_some() {
                        self.address.password = kept;
                    }
                    return Ok(());
                }
                _ => return Err(violation("it asks for a password in a way that is not known here").into()),
            }
            self.socket.write_all(&out)?;
        }
    }

    fn read(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.input)? {
                return Ok(message);
            }
            let mut chunk = [0; 16 << 10];
            let n = self.socket.read(&mut chunk)?;
            if n == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
            }
            self.input.extend_from_slice(&chunk[..n]);
        }
    }

    /// What ends a statement of this client.
    pub fn canceller(&self) -> Canceller {
        Canceller { address: self.address.clone(), key: self.key }
    }

    /// What was said on channels that the session listens to since it was last asked for, a line each.
    pub fn take_heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }

    /// Who is connected, to what.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The address of the host.
    pub fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// How the connection is encrypted, if it is.
    pub fn encrypted(&self) -> Option<&str> {
        self.encrypted.as_deref()
    }

    /// `I`, `T` or `E`: outside a transaction block, inside, inside one that has failed.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// Runs a text; what comes of each of its statements goes to `each`. COPY takes its data from `input` and gives its own to
    /// `output`.
    pub fn run(
        &mut self,
        text: &str,
        input: &mut dyn Read,
        output: &mut dyn Write,
        each: &mut dyn FnMut(Answer),
    ) -> Result<(), Failure> {
        let mut out = BytesMut::new();
        frontend::query(text, &mut out)?;
        self.socket.write_all(&out)?;
        self.socket.flush()?;
        let (mut table, mut copied): (Option<Table>, bool) = (None, false);
        let mut failed = None;
        loop {
            match self.read()? {
                Message::RowDescription(body) => {
                    let columns = body.fields().map(|f| {
                        Ok(Column { name: f.name().to_owned(), right: is_right_aligned(f.type_oid()) })
                    });
                    table = Some(Table { columns: columns.collect()?, rows: Vec::new() });
                }
                Message::DataRow(body) => {
                    let buffer = body.buffer();
                    let cell = |range: Option<std::ops::Range<usize>>| {
                        Ok(range.map(|range| String::from_utf8_lossy(&buffer[range]).into_owned()))
                    };
                    let row = body.ranges().map(cell).collect()?;
                    table.as_mut().ok_or_else(|| violation("rows of nothing"))?.rows.push(row);
                }
                Message::CommandComplete(body) => {
                    let tag = body.tag()?.to_owned();
                    each(match table.take() {
                        Some(table) => Answer::Rows(table, tag),
                        None if std::mem::take(&mut copied) => Answer::CopiedOut(tag),
                        None => Answer::Done(tag),
                    });
                }
                Message::EmptyQueryResponse => each(Answer::Empty),
                Message::CopyInResponse(_) => self.send_copy(input)?,
                Message::CopyOutResponse(_) => copied = true,
                Message::CopyData(body) => {
                    // Whoever reads it may have enough.
                    let _ = output.write_all(body.data());
                }
                Message::NoticeResponse(body) => (self.on_notice)(&told(body.fields())?),
                Message::NotificationResponse(body) => {
                    let with = match body.message()? {
                        "" => String::new(),
                        payload => format!(" with payload \"{payload}\""),
                    };
                    self.heard.push(format!(
                        "Asynchronous notification \"{}\"{with} received from server process with PID {}.",
                        body.channel()?,
                        body.process_id()
                    ));
                }
                Message::ErrorResponse(body) => {
                    let told = told(body.fields())?;
                    if matches!(told.severity.as_str(), "FATAL" | "PANIC") {
                        return Err(Failure::Told(Box::new(told)));
                    }
                    failed = Some(told);
                }
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    let _ = output.flush();
                    return failed.map_or(Ok(()), |told| Err(Failure::Told(Box::new(told))));
                }
                _ => {}
            }
        }
    }

    /// Data for COPY FROM STDIN: all that there is.
    fn send_copy(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut chunk = vec![0; COPY_BYTES];
        let mut out = BytesMut::new();
        loop {
            out.clear();
            match input.read(&mut chunk) {
                Ok(0) => {
                    frontend::copy_done(&mut out);
                    return self.socket.write_all(&out);
                }
                Ok(n) => frontend::CopyData::new(&chunk[..n])?.write(&mut out),
                Err(error) => {
                    frontend::copy_fail(&error.to_string(), &mut out)?;
                    return self.socket.write_all(&out);
                }
            }
            self.socket.write_all(&out)?;
        }
    }

    /// The rows of one query that cannot take long.
    pub fn query(&mut self, text: &str) -> Result<Table, Failure> {
        let mut found = Table::default();
        self.run(text, &mut io::empty(), &mut io::sink(), &mut |answer| {
            if let Answer::Rows(table, _) = answer {
                found = table;
            }
        })?;
        Ok(found)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut out = BytesMut::new();
        frontend::terminate(&mut out);
        let _ = self.socket.write_all(&out);
    }
}

impl Told {
    fn into_error(self) -> Error {
        let state: &str = &self.sqlstate;
        let mut error = Error::new(SqlState::parse(state).unwrap_or(SqlState::INTERNAL_ERROR), self.message);
        if let Some(detail) = self.detail {
            error = error.with_detail(detail);
        }
        if let Some(hint) = self.hint {
            error = error.with_hint(hint);
        }
        error
    }
}
