//! The client's side: which servers it trusts.

use super::{TlsError, identity, provider, trusted};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use std::path::PathBuf;
use std::sync::Arc;

/// How a client speaks TLS (`tls.enable`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// `tls.client.trustCertPath`: who signs the servers' certificates, PEM. Without it every certificate is
    /// trusted, as the Java client does until `tls.client.authServer` is set.
    pub trust_cert_path: Option<PathBuf>,
    /// `tls.client.keyPath`, PEM, for servers that want to know their clients.
    pub key_path: Option<PathBuf>,
    /// `tls.client.certPath`, PEM.
    pub cert_path: Option<PathBuf>,
}

impl ClientTls {
    pub(crate) fn load(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let trusted = match &self.trust_cert_path {
            None => None,
            Some(path) => {
                let roots = trusted("tls.client.trustCertPath", path)?;
                Some(WebPkiServerVerifier::builder_with_provider(roots, provider()).build()?)
            }
        };
        let verifier = Arc::new(SignedByTrusted { trusted, provider: provider() });
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let identity = identity(
            ("tls.client.certPath", self.cert_path.as_deref()),
            ("tls.client.keyPath", self.key_path.as_deref()),
        )?;
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder.with_client_auth_cert(chain, key)?,
        };
        Ok(Arc::new(config))
    }
}

/// Checks who signed a certificate but not whom it names: servers are reached by addresses that come from routes,
/// and their certificates don't name these. The Java client checks the same.
#[derive(Debug)]
struct SignedByTrusted {
    /// Nobody in particular if empty.
    trusted: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for SignedByTrusted {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(verifier) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        match verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
