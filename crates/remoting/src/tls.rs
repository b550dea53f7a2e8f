//! TLS on both sides, and the PEM files it needs.

pub(crate) mod client;
pub(crate) mod server;

pub use client::ClientTls;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{key} names {}, which can't be used: {reason}", path.display())]
    File { key: &'static str, path: PathBuf, reason: pem::Error },
    #[error("{key} names {}, which holds no certificate", path.display())]
    NoCertificate { key: &'static str, path: PathBuf },
    #[error("{there} is set but {missing} isn't; a certificate needs both")]
    HalfPair { there: &'static str, missing: &'static str },
    #[error("tls.server.need.client.auth needs tls.server.trustCertPath, which isn't set")]
    NoTrust,
    #[error("no self-signed certificate could be made: {0}")]
    SelfSigned(#[from] rcgen::Error),
    #[error("the certificates can't be used: {0}")]
    Rejected(#[from] rustls::Error),
    #[error("the trusted certificates can't be used: {0}")]
    Verifier(#[from] rustls::client::VerifierBuilderError),
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn certificates(key: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unusable = |reason| TlsError::File { key, path: path.to_owned(), reason };
    let certificates: Vec<_> =
        CertificateDer::pem_file_iter(path).map_err(unusable)?.collect::<Result<_, _>>().map_err(unusable)?;
    if certificates.is_empty() {
        return Err(TlsError::NoCertificate { key, path: path.to_owned() });
    }
    Ok(certificates)
}

fn private_key(key: &'static str, path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|reason| TlsError::File { key, path: path.to_owned(), reason })
}

/// A setting that names a file: its key and its value.
type Named<'a> = (&'static str, Option<&'a Path>);

/// The certificates that one shows and the key to them, if they are set.
fn identity(
    (cert_key, cert): Named<'_>,
    (key_key, key): Named<'_>,
) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, TlsError> {
    match (cert, key) {
        (None, None) => Ok(None),
        (Some(cert), Some(key)) => Ok(Some((certificates(cert_key, cert)?, private_key(key_key, key)?))),
        (Some(_), None) => Err(TlsError::HalfPair { there: cert_key, missing: key_key }),
        (None, Some(_)) => Err(TlsError::HalfPair { there: key_key, missing: cert_key }),
    }
}

fn trusted(key: &'static str, path: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(key, path)? {
        roots.add(certificate)?;
    }
    Ok(Arc::new(roots))
}
