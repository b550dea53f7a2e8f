//! What proves to a server with access control who the load comes from.

use jiff::Timestamp;
use roxmq_protocol::command::Command;
use roxmq_protocol::signature::SigningKey;

pub struct Signer {
    user: String,
    key: SigningKey,
}

impl Signer {
    pub fn new(user: &str, password: &str) -> Self {
        Signer { user: user.to_owned(), key: SigningKey::new(password) }
    }

    /// The request as it is to be sent over the remoting protocol.
    pub fn sign(&self, request: Command) -> Command {
        self.key.sign_command(&self.user, request)
    }

    /// The metadata of gRPC calls that start now.
    pub fn metadata(&self) -> [(&'static str, String); 2] {
        let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let (user, signature) = (&self.user, self.key.sign(now.as_bytes()).hex());
        let authorization =
            format!("MQv2-HMAC-SHA1 Credential={user}, SignedHeaders=x-mq-date-time, Signature={signature}");
        [("x-mq-date-time", now), ("authorization", authorization)]
    }
}
