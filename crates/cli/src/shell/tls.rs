//! TLS as a client has it: what `sslmode` asks for, by rustls.
//!
//! | `sslmode` | |
//! |---|---|
//! | `disable` | never |
//! | `allow` | where a server refuses to go without |
//! | `prefer` | where a server offers it, and it works |
//! | `require` | always; with a file of roots as `verify-ca` |
//! | `verify-ca` | always, and the certificate is signed by one of the roots, or is one of them |
//! | `verify-full` | also its name is that of the host |
//!
//! The roots are those of `sslrootcert`, by default `~/.postgresql/root.crt`, as PostgreSQL's own clients have it.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme, StreamOwned,
};
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is asked of a connection: see the module's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    Disable,
    Allow,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl SslMode {
    /// By its name.
    pub fn parse(text: &str) -> Option<SslMode> {
        Some(match text {
            "disable" => SslMode::Disable,
            "allow" => SslMode::Allow,
            "prefer" => SslMode::Prefer,
            "require" => SslMode::Require,
            "verify-ca" => SslMode::VerifyCa,
            "verify-full" => SslMode::VerifyFull,
            _ => return None,
        })
    }
}

/// The file of roots where none is named.
fn usual_roots() -> Option<PathBuf> {
    std::env::home_dir().map(|home| home.join(".postgresql/root.crt"))
}

fn other(message: String) -> io::Error {
    io::Error::other(message)
}

/// Speaks TLS over a socket from here on. What the server shows is checked before anything else is sent.
pub fn begin(
    mut socket: TcpStream,
    host: &str,
    mode: SslMode,
    roots: Option<&Path>,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier { roots: read_roots(mode, roots)?, mode, provider: provider.clone() };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| other(format!("\"{host}\" is no name that a certificate could have")))?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(|e| other(format!("SSL error: {e}")))?;
    }
    Ok(StreamOwned::new(connection, socket))
}

/// The certificates that others are checked against; `None`: any is taken.
fn read_roots(mode: SslMode, file: Option<&Path>) -> io::Result<Option<Roots>> {
    let file = file.map(Path::to_owned).or_else(usual_roots).unwrap_or_default();
    if mode < SslMode::Require || (mode == SslMode::Require && !file.exists()) {
        return Ok(None);
    }
    if !file.exists() {
        return Err(other(format!(
            "root certificate file \"{}\" does not exist\nEither provide the file or change sslmode to disable server certificate verification.",
            file.display()
        )));
    }
    let cannot = |e: &dyn std::fmt::Display| {
        other(format!("could not read root certificate file \"{}\": {e}", file.display()))
    };
    let all: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(&file).and_then(Iterator::collect).map_err(|e| cannot(&e))?;
    let mut store = RootCertStore::empty();
    for certificate in &all {
        store.add(certificate.clone()).map_err(|e| cannot(&e))?;
    }
    if all.is_empty() {
        return Err(cannot(&"there is no certificate in it"));
    }
    Ok(Some(Roots { all, store }))
}

#[derive(Debug)]
struct Roots {
    all: Vec<CertificateDer<'static>>,
    store: RootCertStore,
}

#[derive(Debug)]
struct Verifier {
    roots: Option<Roots>,
    mode: SslMode,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        let parsed = ParsedCertificate::try_from(certificate)?;
        // The very certificate that somebody has put in the file needs nobody's signature; one that may sign others is refused as
        // that of a server by the check of chains.
        if !roots.all.contains(certificate) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &roots.store, between, now, algorithms)?;
        }
        if self.mode == SslMode::VerifyFull {
            verify_server_name(&parsed, host)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
