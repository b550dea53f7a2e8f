//! The keys that say how sockets behave: TLS and the idle time, for every kind of server.

use crate::settings::last;
use anyhow::{Context, bail};
use roxmq_remoting::ServerOptions;
use roxmq_remoting::options::{ClientAuth, ServerTls, TlsMode};
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

fn tls(pairs: &[(String, String)]) -> anyhow::Result<ServerTls> {
    let path = |key| last(pairs, key).filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(ServerTls {
        mode: match last(pairs, "tls.server.mode") {
            None | Some("permissive") => TlsMode::Permissive,
            Some("enforcing") => TlsMode::Enforcing,
            Some("disabled") => TlsMode::Disabled,
            Some(other) => bail!("tls.server.mode is '{other}'; it can be permissive, enforcing or disabled"),
        },
        key_path: path("tls.server.keyPath"),
        cert_path: path("tls.server.certPath"),
        client_auth: match last(pairs, "tls.server.need.client.auth") {
            None | Some("none") => ClientAuth::None,
            Some("optional") => ClientAuth::Optional,
            Some("require") => ClientAuth::Require,
            Some(other) => {
                bail!("tls.server.need.client.auth is '{other}'; it can be none, optional or require")
            }
        },
        trust_cert_path: path("tls.server.trustCertPath"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> anyhow::Result<ServerOptions> {
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        server_options(&pairs)
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
    fn wrong_values_are_named() {
        let check = |key: &str, value: &str| {
            let error = options(&[(key, value)]).expect_err(key).to_string();
            assert!(error.contains(key) && error.contains(value), "{error}");
        };
        check("tls.server.mode", "maybe");
        check("tls.server.need.client.auth", "sometimes");
        check("serverChannelMaxIdleTimeSeconds", "soon");
    }
}
