//! TLS on the server's and the client's side.

use crate::support::{ECHO, Peer, SOON, options, request, start};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use roxmq_remoting::{
    CallError, Client, ClientAuth, ClientOptions, ClientTls, Server, ServerOptions, ServerTls, TlsMode,
};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Speaks TLS over a peer's connection, trusting everybody.
pub async fn secure(peer: Peer) -> io::Result<Peer<TlsStream<TcpStream>>> {
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};

    #[derive(Debug)]
    struct TrustAll;

    impl ServerCertVerifier for TrustAll {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
        }
    }

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustAll))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    Ok(Peer { io: TlsConnector::from(Arc::new(config)).connect(name, peer.io).await? })
}

fn with_mode(mode: TlsMode) -> ServerOptions {
    ServerOptions { tls: ServerTls { mode, ..ServerTls::default() }, ..options() }
}

#[tokio::test]
async fn permissive_serves_both() {
    let (server, _) = start(with_mode(TlsMode::Permissive)).await;
    let mut plain = Peer::connect(&server).await;
    assert_eq!(plain.ask(&request(ECHO, 1, "")).await.opaque, 1);
    let mut secure = secure(Peer::connect(&server).await).await.unwrap();
    assert_eq!(secure.ask(&request(ECHO, 2, "")).await.opaque, 2);
    let body = "x".repeat(5_000_000);
    assert_eq!(secure.ask(&request(ECHO, 3, &body)).await.body, body);
}

#[tokio::test]
async fn enforcing_closes_plain_connections() {
    let (server, _) = start(with_mode(TlsMode::Enforcing)).await;
    let mut plain = Peer::connect(&server).await;
    plain.send(&request(ECHO, 1, "")).await;
    assert_eq!(plain.rest().await, b"");
    let mut secure = secure(Peer::connect(&server).await).await.unwrap();
    assert_eq!(secure.ask(&request(ECHO, 2, "")).await.opaque, 2);
}

#[tokio::test]
async fn disabled_closes_tls_connections() {
    let (server, _) = start(with_mode(TlsMode::Disabled)).await;
    assert!(secure(Peer::connect(&server).await).await.is_err());
    let mut plain = Peer::connect(&server).await;
    assert_eq!(plain.ask(&request(ECHO, 1, "")).await.opaque, 1);
}

/// A certificate authority and what it signed, as PEM files.
struct Authority {
    dir: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Authority { dir: tempfile::tempdir().unwrap(), issuer }
    }

    fn write(&self, name: &str, pem: &str) -> Option<PathBuf> {
        let path = self.dir.path().join(name);
        std::fs::write(&path, pem).unwrap();
        Some(path)
    }

    fn trust(&self) -> Option<PathBuf> {
        self.write("ca.pem", &self.issuer.pem())
    }

    /// Key and certificate.
    fn sign(&self, name: &str) -> (Option<PathBuf>, Option<PathBuf>) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let key = self.write(&format!("{name}.key"), &key.serialize_pem());
        (key, self.write(&format!("{name}.crt"), &cert.pem()))
    }
}

async fn call(server: &Server, tls: ClientTls) -> Result<i32, CallError> {
    let client = Client::with_options(ClientOptions { tls: Some(tls), ..ClientOptions::default() }).unwrap();
    let answer = client.call(&server.local_addrs()[0].to_string(), request(ECHO, 0, ""), SOON).await?;
    Ok(answer.code)
}

#[tokio::test]
async fn a_client_trusts_all_or_whom_its_file_names() {
    let authority = Authority::new("ours");
    let (key_path, cert_path) = authority.sign("broker.example");
    let tls = ServerTls { mode: TlsMode::Enforcing, key_path, cert_path, ..ServerTls::default() };
    let (server, _) = start(ServerOptions { tls, ..options() }).await;
    assert_eq!(call(&server, ClientTls::default()).await, Ok(0));
    let trusting = |trust_cert_path| ClientTls { trust_cert_path, ..ClientTls::default() };
    assert_eq!(call(&server, trusting(authority.trust())).await, Ok(0));
    let foreign = call(&server, trusting(Authority::new("theirs").trust())).await;
    assert!(matches!(foreign, Err(CallError::Connect { .. })), "{foreign:?}");
}

#[tokio::test]
async fn a_server_asks_clients_for_certificates() {
    let authority = Authority::new("ours");
    let (key_path, cert_path) = authority.sign("broker.example");
    let check = async |client_auth: ClientAuth, tls: ClientTls, served: bool| {
        let server_tls = ServerTls {
            mode: TlsMode::Enforcing,
            key_path: key_path.clone(),
            cert_path: cert_path.clone(),
            client_auth,
            trust_cert_path: authority.trust(),
        };
        let (server, _) = start(ServerOptions { tls: server_tls, ..options() }).await;
        let answer = call(&server, tls.clone()).await;
        assert_eq!(answer.is_ok(), served, "{client_auth:?} {tls:?}: {answer:?}");
    };
    let (key_path, cert_path) = authority.sign("client.example");
    let known = ClientTls { key_path, cert_path, ..ClientTls::default() };
    check(ClientAuth::None, ClientTls::default(), true).await;
    check(ClientAuth::Optional, ClientTls::default(), true).await;
    check(ClientAuth::Require, ClientTls::default(), false).await;
    check(ClientAuth::Optional, known.clone(), true).await;
    check(ClientAuth::Require, known, true).await;
}

#[tokio::test]
async fn wrong_files_are_refused_at_the_start_and_named() {
    let authority = Authority::new("ours");
    let (key_path, cert_path) = authority.sign("broker.example");
    let missing = Some(authority.dir.path().join("missing.pem"));
    let empty = authority.write("empty.pem", "");
    let check = async |tls: ServerTls, expected: &[&str]| {
        let started = Server::start(
            ServerOptions { tls, ..options() },
            Arc::new(crate::support::TestService::default()),
        );
        let error = started.await.unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    };
    let tls = ServerTls { key_path, cert_path, ..ServerTls::default() };
    check(ServerTls { key_path: missing, ..tls.clone() }, &["tls.server.keyPath", "missing.pem"]).await;
    check(ServerTls { cert_path: empty, ..tls.clone() }, &["tls.server.certPath", "empty.pem"]).await;
    check(ServerTls { cert_path: None, ..tls.clone() }, &["tls.server.keyPath", "tls.server.certPath"]).await;
    check(ServerTls { client_auth: ClientAuth::Require, ..tls }, &["tls.server.trustCertPath"]).await;
}
