//! The server's side: its certificate, from files that may be replaced while it runs or made by itself.

use super::{TlsError, identity, provider, trusted};
use crate::options::{ClientAuth, ServerTls};
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The files are looked at when somebody connects, but not more often than this.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct TlsServer {
    tls: ServerTls,
    /// Without files nothing is made before the first peer speaks TLS.
    loaded: Mutex<Option<Loaded>>,
}

#[derive(Debug)]
struct Loaded {
    config: Arc<ServerConfig>,
    /// When each of the files was last changed.
    changed: [Option<SystemTime>; 3],
    looked: Instant,
}

impl TlsServer {
    /// Reads the files, if there are any, so that wrong ones are noticed at the start.
    pub fn new(tls: ServerTls) -> Result<Self, TlsError> {
        let server = TlsServer { tls, loaded: Mutex::new(None) };
        if server.tls.cert_path.is_some() || server.tls.key_path.is_some() {
            server.config()?;
        }
        Ok(server)
    }

    /// What a new connection is to be served with.
    pub fn config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let mut loaded = self.loaded.lock();
        match &mut *loaded {
            None => {
                let changed = self.changed();
                let config = Arc::new(self.load()?);
                *loaded = Some(Loaded { config: config.clone(), changed, looked: Instant::now() });
                Ok(config)
            }
            Some(loaded) => {
                if loaded.looked.elapsed() >= LOOK_INTERVAL {
                    loaded.looked = Instant::now();
                    self.refresh(loaded);
                }
                Ok(loaded.config.clone())
            }
        }
    }

    /// Takes files that were replaced; bad ones leave everything as it was.
    fn refresh(&self, loaded: &mut Loaded) {
        let changed = self.changed();
        if changed == loaded.changed {
            return;
        }
        match self.load() {
            Ok(config) => {
                loaded.config = Arc::new(config);
                loaded.changed = changed;
                tracing::info!("TLS certificates replaced");
            }
            Err(error) => tracing::warn!(%error, "the new TLS certificates aren't used, the old ones stay"),
        }
    }

    fn changed(&self) -> [Option<SystemTime>; 3] {
        [&self.tls.key_path, &self.tls.cert_path, &self.tls.trust_cert_path]
            .map(|path| std::fs::metadata(path.as_ref()?).and_then(|metadata| metadata.modified()).ok())
    }

    fn load(&self) -> Result<ServerConfig, TlsError> {
        let identity = identity(
            ("tls.server.certPath", self.tls.cert_path.as_deref()),
            ("tls.server.keyPath", self.tls.key_path.as_deref()),
        )?;
        let (chain, key) = match identity {
            Some(identity) => identity,
            None => self_signed()?,
        };
        let builder =
            ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
        let builder = match self.tls.client_auth {
            ClientAuth::None => builder.with_no_client_auth(),
            asked => {
                let path = self.tls.trust_cert_path.as_deref().ok_or(TlsError::NoTrust)?;
                let roots = trusted("tls.server.trustCertPath", path)?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                let verifier = match asked {
                    ClientAuth::Require => verifier,
                    ClientAuth::Optional | ClientAuth::None => verifier.allow_unauthenticated(),
                };
                builder.with_client_cert_verifier(verifier.build()?)
            }
        };
        let mut config = builder.with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn self_signed() -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    tracing::warn!(
        "TLS uses a certificate that this server made for itself, which nobody can check; \
         set tls.server.certPath and tls.server.keyPath"
    );
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    Ok((vec![made.cert.der().clone()], key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn write(path: &Option<PathBuf>, text: &str, changed: SystemTime) {
        let path = path.as_ref().unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::File::options().write(true).open(path).unwrap().set_modified(changed).unwrap();
    }

    #[test]
    fn replaced_files_are_taken_and_broken_ones_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| Some(dir.path().join(name));
        let tls = ServerTls { key_path: file("key"), cert_path: file("cert"), ..ServerTls::default() };
        let replace = |changed: u64| {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(changed);
            write(&tls.key_path, &made.signing_key.serialize_pem(), changed);
            write(&tls.cert_path, &made.cert.pem(), changed);
        };
        replace(1);
        let server = TlsServer::new(tls.clone()).unwrap();
        let first = server.config().unwrap();
        let refreshed = || {
            let mut loaded = server.loaded.lock();
            let loaded = loaded.as_mut().unwrap();
            server.refresh(loaded);
            loaded.config.clone()
        };
        assert!(Arc::ptr_eq(&refreshed(), &first), "nothing was changed");
        replace(2);
        let second = refreshed();
        assert!(!Arc::ptr_eq(&second, &first), "the new files weren't taken");
        write(&tls.cert_path, "no certificate", SystemTime::UNIX_EPOCH + Duration::from_secs(3));
        assert!(Arc::ptr_eq(&refreshed(), &second), "a broken file was taken");
        replace(4);
        assert!(!Arc::ptr_eq(&refreshed(), &second), "the mended files weren't taken");
    }
}
