//! TLS: asked for with SSLRequest, spoken from then on.
//!
//! `tls/` has a certificate of nobody, made for these tests:
//! `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem
//! -days 36500 -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE`

use crate::common;

use common::{Client, Running};
use planaria::Database;
use planaria_server::{Config, Tls};
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_postgres::config::{ChannelBinding, SslMode};
use tokio_postgres::tls;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

const SSL_REQUEST: i32 = 80_877_103;

fn files() -> (std::path::PathBuf, std::path::PathBuf) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    (dir.join("cert.pem"), dir.join("key.pem"))
}

fn encrypting() -> Running {
    let (certificate, key) = files();
    let tls = Tls::from_files(&certificate, &key).expect("a certificate");
    Running::with(Database::in_memory().expect("a database"), Config { tls: Some(tls), ..Config::default() })
}

/// A client that believes the certificate.
fn believing() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(files().0).expect("a certificate")).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

#[test]
fn an_encrypted_client_is_served() {
    let running = encrypting();
    let mut plain = Client::connect(running.address);
    plain.packet(&SSL_REQUEST.to_be_bytes());
    let mut answer = [0];
    plain.socket.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"S");
    let name = "localhost".try_into().expect("a name");
    let connection = ClientConnection::new(believing(), name).expect("a connection");
    let mut stream = StreamOwned::new(connection, plain.socket.try_clone().expect("a socket"));
    let startup = b"\0\x03\0\0user\0postgres\0\0";
    stream.write_all(&(startup.len() as i32 + 4).to_be_bytes()).expect("writes");
    stream.write_all(startup).expect("writes");
    stream.write_all(b"Q\0\0\0\x0dSELECT 7\0").expect("writes");
    stream.write_all(b"X\0\0\0\x04").expect("writes");
    let mut all = Vec::new();
    // The server closes without TLS's own farewell where the client has left first.
    let _ = stream.read_to_end(&mut all);
    assert!(all.windows(7).any(|w| w == b"\0\x01\0\0\0\x017"), "a row with 7: {all:?}");
}

/// An encrypted stream, and the hash of the certificate that the client says it was shown.
struct Bound(TlsStream<TcpStream>, Vec<u8>);

impl AsyncRead for Bound {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Bound {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, buf)
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}

impl tls::TlsStream for Bound {
    fn channel_binding(&self) -> tls::ChannelBinding {
        tls::ChannelBinding::tls_server_end_point(self.1.clone())
    }
}

struct Connector(Vec<u8>);

impl tls::TlsConnect<TcpStream> for Connector {
    type Stream = Bound;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Bound>> + Send>>;

    fn connect(self, stream: TcpStream) -> Self::Future {
        Box::pin(async {
            let name = "localhost".try_into().expect("a name");
            let stream = tokio_rustls::TlsConnector::from(believing()).connect(name, stream).await?;
            Ok(Bound(stream, self.0))
        })
    }
}

#[test]
fn a_login_is_bound_to_the_certificate() {
    let running = encrypting();
    running.db.execute_script("ALTER ROLE postgres PASSWORD 'pencil'").expect("a password");
    let login = async |password: &str, hash: &[u8], binding| {
        let mut config = tokio_postgres::Config::new();
        config
            .user("postgres")
            .password(password)
            .dbname("x")
            .ssl_mode(SslMode::Require)
            .channel_binding(binding);
        let stream = TcpStream::connect(running.address).await.expect("connects");
        let (client, connection) = config.connect_raw(stream, Connector(hash.to_vec())).await?;
        tokio::spawn(connection);
        let row = client.query_one("SELECT 6 * 7", &[]).await?;
        Ok::<i32, tokio_postgres::Error>(row.get(0))
    };
    let refused = |outcome: Result<i32, tokio_postgres::Error>| {
        outcome.expect_err("is refused").code().expect("a code").code().to_owned()
    };
    let certificate = CertificateDer::from_pem_file(files().0).expect("a certificate");
    let hash = Sha256::digest(&certificate);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        for binding in [ChannelBinding::Require, ChannelBinding::Prefer, ChannelBinding::Disable] {
            assert_eq!(login("pencil", &hash, binding).await.expect("is let in"), 42);
        }
        assert_eq!(refused(login("pen", &hash, ChannelBinding::Require).await), "28P01");
        // Somebody stands between them, with a certificate that the client believes.
        assert_eq!(refused(login("pencil", &[7; 32], ChannelBinding::Require).await), "28000");
        assert_eq!(refused(login("pencil", &[7; 32], ChannelBinding::Prefer).await), "28000");
    });
}

#[test]
fn what_was_sent_before_the_encryption_is_not_believed() {
    let running = encrypting();
    let mut client = Client::connect(running.address);
    let mut packet = 8i32.to_be_bytes().to_vec();
    packet.extend_from_slice(&SSL_REQUEST.to_be_bytes());
    packet.extend_from_slice(b"\0\0\0\x16\0\x03\0\0user\0postgres\0\0");
    client.socket.write_all(&packet).expect("writes");
    let mut rest = Vec::new();
    let _ = client.socket.read_to_end(&mut rest);
    assert!(rest.len() <= 1, "{rest:?}");
}

#[test]
fn a_file_that_is_no_certificate_is_named() {
    let (certificate, key) = files();
    let error = Tls::from_files(&key, &key).expect_err("no certificate");
    assert!(error.message().contains("key.pem"), "{error}");
    let error = Tls::from_files(&certificate, &certificate).expect_err("no key");
    assert!(error.message().contains("cert.pem"), "{error}");
}
