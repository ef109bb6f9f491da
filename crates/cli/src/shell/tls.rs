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
//! The roots are those of `sslrootcert`, by default `~/.postgresql/root.crt`, as PostgreSQL's own clients have it. A server that asks
//! for the client's certificate gets that of `sslcert` and `sslkey`, by default `~/.postgresql/postgresql.crt` and `.key`, if it is there.
//!
//! SCRAM over an encrypted connection is bound to the server's certificate (RFC 5929, `tls-server-end-point`) where the server can do
//! that, so that nobody in the middle can hand the exchange on: see [`Binding`].

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme, StreamOwned,
};
use std::io;
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
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

/// Whether SCRAM is bound to the encrypted connection: `channel_binding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    Disable,
    #[default]
    Prefer,
    Require,
}

impl Binding {
    /// By its name.
    pub fn parse(text: &str) -> Option<Binding> {
        Some(match text {
            "disable" => Binding::Disable,
            "prefer" => Binding::Prefer,
            "require" => Binding::Require,
            _ => return None,
        })
    }
}

/// Files of a connection, all in PEM form; where one is not named it is the usual one, which need not be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Certificates that the server's is to be signed by.
    pub roots: Option<PathBuf>,
    /// The client's own certificate, with those that it was signed by.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
}

/// The file where none is named.
fn usual(name: &str) -> PathBuf {
    std::env::home_dir().map(|home| home.join(".postgresql").join(name)).unwrap_or_default()
}

fn other(message: String) -> io::Error {
    io::Error::other(message)
}

/// Speaks TLS over a socket from here on. What the server shows is checked before anything else is sent.
pub fn begin(
    mut socket: TcpStream,
    host: &str,
    mode: SslMode,
    files: &Files,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let provider = Arc::new(ring::default_provider());
    let roots = read_roots(mode, files.roots.as_deref())?;
    let verifier = Verifier { roots, mode, provider: provider.clone() };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let config = match read_identity(files)? {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(io::Error::other)?,
        None => builder.with_no_client_auth(),
    };
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| other(format!("\"{host}\" is not a name that a certificate could have")))?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(|e| other(format!("SSL error: {e}")))?;
    }
    Ok(StreamOwned::new(connection, socket))
}

/// The certificates that others are checked against; `None`: any is taken.
fn read_roots(mode: SslMode, file: Option<&Path>) -> io::Result<Option<Roots>> {
    let file = file.map_or_else(|| usual("root.crt"), Path::to_owned);
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

/// A certificate, those that it was signed by, and its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// What says who the client is; `None`: there is nothing.
fn read_identity(files: &Files) -> io::Result<Option<Identity>> {
    let file = files.certificate.clone().unwrap_or_else(|| usual("postgresql.crt"));
    let cannot = |what: &str, file: &Path, e: &dyn std::fmt::Display| {
        other(format!("could not load {what} file \"{}\": {e}", file.display()))
    };
    if files.certificate.is_none() && !file.exists() {
        return Ok(None);
    }
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&file)
        .and_then(Iterator::collect)
        .map_err(|e| cannot("certificate", &file, &e))?;
    if chain.is_empty() {
        return Err(cannot("certificate", &file, &"there is no certificate in it"));
    }
    let file = files.key.clone().unwrap_or_else(|| usual("postgresql.key"));
    let known = std::fs::metadata(&file).map_err(|_| {
        other(format!("certificate present, but not private key file \"{}\"", file.display()))
    })?;
    // A system's own key may be for a group.
    let forbidden = if known.uid() == 0 { 0o037 } else { 0o077 };
    if known.mode() & forbidden != 0 {
        return Err(other(format!(
            "private key file \"{}\" has group or world access; file must have permissions u=rw (0600) or less if owned by the current user, or permissions u=rw,g=r (0640) or less if owned by root",
            file.display()
        )));
    }
    let key = PrivateKeyDer::from_pem_file(&file).map_err(|e| cannot("private key", &file, &e))?;
    Ok(Some((chain, key)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
    use rustls::{DistinguishedName, ServerConfig, ServerConnection};
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;

    /// Takes whoever has a certificate at all, and can sign with its key.
    #[derive(Debug)]
    struct Anybody(Arc<CryptoProvider>);

    impl ClientCertVerifier for Anybody {
        fn root_hint_subjects(&self) -> &[DistinguishedName] {
            &[]
        }

        fn verify_client_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: UnixTime,
        ) -> Result<ClientCertVerified, rustls::Error> {
            Ok(ClientCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }

    /// What a server that asks for certificates has been shown, or why there is no connection.
    fn shown(files: &Files) -> Result<Vec<CertificateDer<'static>>, String> {
        let provider = Arc::new(ring::default_provider());
        let (chain, key) = read_identity(&own(files.key.as_deref())).expect("reads").expect("is there");
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(Arc::new(Anybody(provider)))
            .with_single_cert(chain, key)
            .expect("a certificate");
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = listener.local_addr().expect("an address");
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            let mut connection = ServerConnection::new(Arc::new(config)).expect("a connection");
            while connection.is_handshaking() {
                connection.complete_io(&mut socket).map_err(|e| e.to_string())?;
            }
            Ok(connection
                .peer_certificates()
                .unwrap_or_default()
                .iter()
                .cloned()
                .map(CertificateDer::into_owned)
                .collect())
        });
        let socket = TcpStream::connect(address).expect("connects");
        let began = begin(socket, "localhost", SslMode::Require, files);
        let seen = server.join().expect("ends");
        began.map_err(|e| e.to_string()).and(seen)
    }

    /// A certificate of nobody, and its key, which is copied to where only its owner may read it.
    fn own(key: Option<&Path>) -> Files {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/tls");
        Files {
            roots: Some(dir.join("cert.pem")),
            certificate: Some(dir.join("cert.pem")),
            key: key.map(Path::to_owned),
        }
    }

    #[test]
    fn a_client_says_who_it_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let key = dir.path().join("key.pem");
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/tls/key.pem"), &key)
            .expect("copies");
        let allow = |mode| std::fs::set_permissions(&key, PermissionsExt::from_mode(mode)).expect("sets");
        allow(0o600);
        let files = own(Some(&key));
        let seen = shown(&files).expect("is let in");
        assert_eq!(seen, read_identity(&files).expect("reads").expect("is there").0);

        // There is none.
        let refused = |files: &Files| read_identity(files).map(drop).expect_err("is refused").to_string();
        let nowhere = Some(dir.path().join("nowhere"));
        let without = Files { certificate: nowhere.clone(), ..files.clone() };
        assert!(refused(&without).starts_with("could not load certificate file \""), "{}", refused(&without));
        let keyless = Files { key: nowhere, ..files.clone() };
        assert!(refused(&keyless).starts_with("certificate present, but not private key file \""));
        let of_none = Files { key: files.certificate.clone(), ..files.clone() };
        assert!(refused(&of_none).contains("private key file"), "{}", refused(&of_none));
        allow(0o644);
        assert!(refused(&files).contains("has group or world access"), "{}", refused(&files));
    }
}
