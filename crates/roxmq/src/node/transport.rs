//! The keys that say how sockets behave: TLS and the idle time, for every kind of server.

use crate::settings::last;
use anyhow::{Context, bail};
use roxmq_remoting::options::{ClientAuth, ServerTls, TlsMode};
use roxmq_remoting::{ClientTls, ServerOptions};
use std::path::PathBuf;
use std::time::Duration;

/// Reads `tls.server.*` and `serverChannelMaxIdleTimeSeconds`. The Java server takes the former from system
/// properties; here they stand in the configuration file or behind `--set`.
pub fn server_options(pairs: &[(String, String)]) -> anyhow::Result<ServerOptions> {
    let mut options = ServerOptions { tls: tls(pairs)?, ..ServerOptions::default() };
    if let Some(seconds) = last(pairs, "serverChannelMaxIdleTimeSeconds") {
        let seconds = seconds.parse().with_context(|| {
            format!("serverChannelMaxIdleTimeSeconds is '{seconds}', which is not a number")
        })?;
        options.idle_timeout = Duration::from_secs(seconds);
    }
    Ok(options)
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

    fn options(pairs: &[(&str, &str)]) -> anyhow::Result<ServerOptions> {
        server_options(&owned(pairs))
    }

    #[test]
    fn keys_are_read() {
        let given = options(&[
            ("tls.server.mode", "enforcing"),
            ("tls.server.certPath", "/c.pem"),
            ("tls.server.need.client.auth", "require"),
            ("serverChannelMaxIdleTimeSeconds", "7"),
        ])
        .expect("all of it is right");
        assert_eq!(given.tls.mode, TlsMode::Enforcing);
        assert_eq!(given.tls.cert_path, Some(PathBuf::from("/c.pem")));
        assert_eq!(given.tls.client_auth, ClientAuth::Require);
        assert_eq!(given.idle_timeout, Duration::from_secs(7));
        assert_eq!(options(&[]).expect("nothing given").tls, ServerTls::default());
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
            let error = server_options(&pairs).map(drop).and_then(|()| client_tls(&pairs).map(drop));
            let error = error.expect_err(key).to_string();
            assert!(error.contains(key) && error.contains(value), "{error}");
        };
        check("tls.enable", "yes");
        check("tls.client.authServer", "true");
        check("tls.server.mode", "maybe");
        check("tls.server.need.client.auth", "sometimes");
        check("serverChannelMaxIdleTimeSeconds", "soon");
    }
}
