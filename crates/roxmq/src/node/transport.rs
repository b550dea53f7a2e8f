//! The keys that say how sockets behave: TLS, the idle time and the threads, for every kind of server.

use crate::settings::last;
use anyhow::{Context, bail};
use roxmq_remoting::options::{ClientAuth, ServerTls, TlsMode};
use roxmq_remoting::{ClientTls, ServerOptions};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

/// Beyond any machine's cores: a slip of the keyboard shall not start so many.
const THREADS_MAX: usize = 1024;

/// How the sockets of a process behave.
#[derive(Debug)]
pub struct Transport {
    pub options: ServerOptions,
    /// That drive connections.
    pub threads: NonZeroUsize,
}

impl Transport {
    /// Reads `tls.server.*`, `serverChannelMaxIdleTimeSeconds` and `serverSelectorThreads`. The Java server takes the
    /// first from system properties; here they stand in the configuration file or behind `--set`.
    pub fn read(pairs: &[(String, String)]) -> anyhow::Result<Self> {
        let mut options = ServerOptions { tls: tls(pairs)?, ..ServerOptions::default() };
        if let Some(seconds) = last(pairs, "serverChannelMaxIdleTimeSeconds") {
            let seconds = seconds.parse().with_context(|| {
                format!("serverChannelMaxIdleTimeSeconds is '{seconds}', which is not a number")
            })?;
            options.idle_timeout = Duration::from_secs(seconds);
        }
        Ok(Transport { options, threads: threads(last(pairs, "serverSelectorThreads").unwrap_or("0"))? })
    }
}

/// 0 stands for half of the cores: what connections cause is as much work for others, the kernel's network and disk and
/// the threads behind the log, and more threads would take turns with them and wake each other.
fn threads(value: &str) -> anyhow::Result<NonZeroUsize> {
    let given = value.parse().ok().filter(|threads| *threads <= THREADS_MAX).with_context(|| {
        format!(
            "serverSelectorThreads is '{value}'; it can be 1 to {THREADS_MAX}, or 0 for half of the cores"
        )
    })?;
    let of_machine = || available_parallelism().map_or(1, |cores| cores.get() / 2);
    let threads = NonZeroUsize::new(given).or_else(|| NonZeroUsize::new(of_machine()));
    Ok(threads.unwrap_or(NonZeroUsize::MIN))
}

/// None if the key isn't there or has no value.
fn path(pairs: &[(String, String)], key: &str) -> Option<PathBuf> {
    last(pairs, key).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn tls(pairs: &[(String, String)]) -> anyhow::Result<ServerTls> {
    Ok(ServerTls {
        mode: match last(pairs, "tls.server.mode") {
            None | Some("permissive") => TlsMode::Permissive,
            Some("enforcing") => TlsMode::Enforcing,
            Some("disabled") => TlsMode::Disabled,
            Some(other) => bail!("tls.server.mode is '{other}'; it can be permissive, enforcing or disabled"),
        },
        key_path: path(pairs, "tls.server.keyPath"),
        cert_path: path(pairs, "tls.server.certPath"),
        client_auth: match last(pairs, "tls.server.need.client.auth") {
            None | Some("none") => ClientAuth::None,
            Some("optional") => ClientAuth::Optional,
            Some("require") => ClientAuth::Require,
            Some(other) => {
                bail!("tls.server.need.client.auth is '{other}'; it can be none, optional or require")
            }
        },
        trust_cert_path: path(pairs, "tls.server.trustCertPath"),
    })
}

/// Reads `tls.enable` and `tls.client.*`: how the process speaks to other servers. Like the Java client it trusts every
/// server until it is told whom to trust.
pub fn client_tls(pairs: &[(String, String)]) -> anyhow::Result<Option<ClientTls>> {
    let flag = |key: &str| match last(pairs, key) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => bail!("{key} is '{other}'; it can be true or false"),
    };
    let trust_cert_path = path(pairs, "tls.client.trustCertPath");
    if flag("tls.client.authServer")? && trust_cert_path.is_none() {
        bail!(
            "tls.client.authServer is true; tls.client.trustCertPath must say who signs the servers' certificates"
        );
    }
    let tls = ClientTls {
        trust_cert_path,
        key_path: path(pairs, "tls.client.keyPath"),
        cert_path: path(pairs, "tls.client.certPath"),
    };
    Ok(flag("tls.enable")?.then_some(tls))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn read(pairs: &[(&str, &str)]) -> Transport {
        Transport::read(&owned(pairs)).expect("all of it is right")
    }

    #[test]
    fn keys_are_read() {
        let given = read(&[
            ("tls.server.mode", "enforcing"),
            ("tls.server.certPath", "/c.pem"),
            ("tls.server.need.client.auth", "require"),
            ("serverChannelMaxIdleTimeSeconds", "7"),
            ("serverSelectorThreads", "5"),
        ]);
        assert_eq!(given.options.tls.mode, TlsMode::Enforcing);
        assert_eq!(given.options.tls.cert_path, Some(PathBuf::from("/c.pem")));
        assert_eq!(given.options.tls.client_auth, ClientAuth::Require);
        assert_eq!(given.options.idle_timeout, Duration::from_secs(7));
        assert_eq!(given.threads.get(), 5);
        assert_eq!(read(&[]).options.tls, ServerTls::default());
    }

    #[test]
    fn threads_are_half_of_the_cores_and_at_least_one() {
        let cores = available_parallelism().expect("the cores are known").get();
        for given in [&[][..], &[("serverSelectorThreads", "0")]] {
            assert_eq!(read(given).threads.get(), (cores / 2).max(1));
        }
    }

    #[test]
    fn tls_to_other_servers_is_asked_for() {
        let tls = |pairs: &[(&str, &str)]| client_tls(&owned(pairs)).expect("all of it is right");
        assert_eq!(tls(&[]), None);
        assert_eq!(tls(&[("tls.enable", "false"), ("tls.client.trustCertPath", "/ca.pem")]), None);
        assert_eq!(tls(&[("tls.enable", "true")]), Some(ClientTls::default()));
        let trusting = ClientTls { trust_cert_path: Some(PathBuf::from("/ca.pem")), ..ClientTls::default() };
        let given = [
            ("tls.enable", "true"),
            ("tls.client.authServer", "true"),
            ("tls.client.trustCertPath", "/ca.pem"),
        ];
        assert_eq!(tls(&given), Some(trusting));
    }

    #[test]
    fn wrong_values_are_named() {
        let check = |key: &str, value: &str| {
            let pairs = owned(&[(key, value)]);
            let error = Transport::read(&pairs).map(drop).and_then(|()| client_tls(&pairs).map(drop));
            let error = error.expect_err(key).to_string();
            assert!(error.contains(key) && error.contains(value), "{error}");
        };
        check("tls.enable", "yes");
        check("tls.client.authServer", "true");
        check("tls.server.mode", "maybe");
        check("tls.server.need.client.auth", "sometimes");
        check("serverChannelMaxIdleTimeSeconds", "soon");
        check("serverSelectorThreads", "-1");
        check("serverSelectorThreads", "1025");
    }
}
