//! Encryption: TLS 1.2 and 1.3 by rustls.

use crate::binding;
use planaria::{Error, Result, SqlState};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate and its key, ready to be used.
#[derive(Clone)]
pub struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    /// What a login can be bound to the certificate by.
    pub(crate) binding: Option<Arc<[u8]>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// From files in PEM form: the certificate with those that it was signed by, and its private key.
    /// 22023 with the file where one cannot be used.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Tls> {
        let bad = |file: &Path, why: &dyn std::fmt::Display| {
            let message = format!("{} cannot be used for TLS: {why}", file.display());
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect)
            .map_err(|e| bad(certificate, &e))?;
        if chain.is_empty() {
            return Err(bad(certificate, &"there is no certificate in it"));
        }
        let binding = binding::of_certificate(&chain[0]).map(Arc::from);
        let key_of = PrivateKeyDer::from_pem_file(key).map_err(|e| bad(key, &e))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| bad(certificate, &e))?
            .with_no_client_auth()
            .with_single_cert(chain, key_of)
            .map_err(|e| bad(key, &e))?;
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), binding })
    }
}
