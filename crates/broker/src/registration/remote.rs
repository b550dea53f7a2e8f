//! Name servers that are reached over the network (`namesrvAddr`).

use super::{BoxFuture, NameServers};
use crate::config::CurrentConfig;
use roxmq_protocol::command::Command;
use roxmq_remoting::{CallError, Client};
use std::sync::Arc;
use std::time::Duration;

/// Those that the configuration names now: `host:port;host:port`.
pub struct RemoteNameServers {
    client: Client,
    config: Arc<CurrentConfig>,
}

impl RemoteNameServers {
    pub fn new(client: Client, config: Arc<CurrentConfig>) -> Self {
        RemoteNameServers { client, config }
    }
}

impl NameServers for RemoteNameServers {
    fn list(&self) -> Vec<String> {
        split_addresses(&self.config.get().namesrv_addr)
    }

    fn call<'a>(
        &'a self,
        server: &'a str,
        request: Command,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Command, CallError>> {
        Box::pin(self.client.call(server, request, timeout))
    }
}

fn split_addresses(text: &str) -> Vec<String> {
    text.split(';').map(str::trim).filter(|addr| !addr.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_split() {
        assert_eq!(split_addresses("a:9876; b:9876;"), ["a:9876", "b:9876"]);
        assert_eq!(split_addresses(""), Vec::<String>::new());
    }
}
