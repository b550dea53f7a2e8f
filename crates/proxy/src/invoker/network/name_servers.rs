//! The name servers: each call goes to the one that answered the last, and on to the next if that doesn't.

use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use roxmq_protocol::command::Command;
use roxmq_remoting::Client;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// For each of them.
const TIMEOUT: Duration = Duration::from_secs(2);

pub struct NameServers {
    client: Client,
    addresses: Vec<String>,
    current: AtomicUsize,
}

impl NameServers {
    /// `addresses` as in `namesrvAddr`: `host:port;host:port`.
    pub fn new(client: Client, addresses: &str) -> Self {
        let addresses = addresses.split(';').map(str::trim).filter(|address| !address.is_empty());
        NameServers {
            client,
            addresses: addresses.map(str::to_owned).collect(),
            current: AtomicUsize::new(0),
        }
    }

    pub async fn call(&self, request: Command) -> Result<Command> {
        let mut failures = String::new();
        let first = self.current.load(Ordering::Relaxed);
        for step in 0..self.addresses.len() {
            let index = (first + step) % self.addresses.len();
            let address = &self.addresses[index];
            match self.client.call(address, request.clone(), TIMEOUT).await {
                Ok(answer) => {
                    self.current.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) => {
                    let separator = if failures.is_empty() { "" } else { "; " };
                    // Writing to a text can't fail.
                    let _ = write!(failures, "{separator}{address}: {error}");
                }
            }
        }
        let text = match failures.as_str() {
            "" => "no name server is configured (namesrvAddr)".to_owned(),
            failures => format!("no name server answers ({failures})"),
        };
        Err(Refusal::new(Code::InternalServerError, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_split() {
        let servers = NameServers::new(Client::new(), "a:9876; b:9876;");
        assert_eq!(servers.addresses, ["a:9876", "b:9876"]);
    }

    #[tokio::test]
    async fn who_does_not_answer_is_named() {
        let call = |addresses: &'static str| async move {
            let servers = NameServers::new(Client::new(), addresses);
            servers.call(Command::request(1)).await.expect_err("nobody is there").text
        };
        assert!(call("").await.contains("namesrvAddr"));
        let text = call("127.0.0.1:1;127.0.0.1:2").await;
        assert!(text.contains("127.0.0.1:1: ") && text.contains("127.0.0.1:2: "), "{text}");
    }
}
