//! The name under which the proxy itself asks brokers, and what it proves it with.

use crate::config::ProxyConfig;
use roxmq_protocol::command::Command;
use roxmq_protocol::signature::SigningKey;

/// Signs what goes to brokers, in the place of whoever it was signed by before. By then it was checked, if anything is.
pub struct Signer(Option<Identity>);

struct Identity {
    user: String,
    key: SigningKey,
}

impl Signer {
    pub fn of(config: &ProxyConfig) -> Self {
        Signer(config.own_credentials().map(|credentials| Identity {
            user: credentials.access_key.clone(),
            key: SigningKey::new(&credentials.secret_key),
        }))
    }

    /// The request as it is to be sent: no field may be added any more.
    pub fn sign(&self, request: Command) -> Command {
        match &self.0 {
            Some(Identity { user, key }) => key.sign_command(user, request),
            None => request,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_access::Credentials;
    use roxmq_protocol::signature::{ACCESS_KEY, SIGNATURE};

    #[test]
    fn requests_are_signed_if_there_is_something_to_sign_with() {
        let check = |credentials: Option<&str>, sign_requests: Option<bool>, expected: &str| {
            let inner_credentials = credentials
                .map(|name| Credentials { access_key: name.to_owned(), secret_key: "secret".to_owned() });
            let signer =
                Signer::of(&ProxyConfig { inner_credentials, sign_requests, ..ProxyConfig::default() });
            let sent = signer.sign(Command::request(10).with(ACCESS_KEY, "client").with(SIGNATURE, "its"));
            assert_eq!(sent.field(ACCESS_KEY), Some(expected));
            assert_eq!(sent.field(SIGNATURE) == Some("its"), expected == "client");
        };
        check(Some("proxy"), None, "proxy");
        check(Some("proxy"), Some(true), "proxy");
        check(Some("proxy"), Some(false), "client");
        check(None, None, "client");
    }
}
