//! TLS: asked for with SSLRequest, spoken from then on.
//!
//! `tls/` has a certificate of nobody, made for these tests:
//! `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem
//! -days 36500 -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE`

use crate::common;

use common::{Client, Running};
use planaria::Database;
use planaria_server::{Config, Tls};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
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

#[test]
fn an_encrypted_client_is_served() {
    let running = encrypting();
    let mut plain = Client::connect(running.address);
    plain.packet(&SSL_REQUEST.to_be_bytes());
    let mut answer = [0];
    plain.socket.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"S");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(files().0).expect("a certificate")).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
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
