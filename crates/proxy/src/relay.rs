//! The remoting protocol in front of the brokers of a cluster: a client takes the proxy for its name server, is told that
//! every broker is here, and its requests go to the broker that each of them is for.
//!
//! Nothing is translated: requests and answers go on as they are, but for sends of a kind of message that their topic
//! doesn't take. A client has its own connection to each broker, so
//! whatever a broker asks of it, or tells it, finds it here.

mod answers;
mod asked;
mod destination;
mod kinds;
mod membership;
mod route;
mod session;

use crate::access::AccessControl;
use crate::config::ProxyConfig;
use crate::invoker::NetworkInvoker;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_remoting::{Connection, Output, Service};
use session::Session;
use std::sync::Arc;

/// Serves every remoting connection of a proxy.
pub struct Relay {
    invoker: Arc<NetworkInvoker>,
    /// `remotingAccessAddr` and `remotingListenPort`: where clients are told to find the brokers.
    here: Option<String>,
    check_message_type: bool,
    /// None if everybody may do everything.
    access: Option<Arc<AccessControl>>,
}

impl Relay {
    /// Without `access` everybody may do everything.
    pub fn new(
        invoker: Arc<NetworkInvoker>,
        config: &ProxyConfig,
        access: Option<Arc<AccessControl>>,
    ) -> Self {
        let host = config.remoting_access_addr.as_str();
        let here = (!host.is_empty()).then(|| match host.contains(':') && !host.starts_with('[') {
            true => format!("[{host}]:{}", config.remoting_listen_port),
            false => format!("{host}:{}", config.remoting_listen_port),
        });
        Relay { invoker, here, check_message_type: config.check_message_type, access }
    }
}

impl Service for Relay {
    type Session = Arc<Session>;

    fn open(&self, connection: &Arc<Connection>) -> Arc<Session> {
        Session::open(self, connection)
    }

    fn request(
        &self,
        session: &mut Arc<Session>,
        connection: &Arc<Connection>,
        frame: &Frame<'_>,
        output: &mut Output,
    ) {
        let request = Command::from_frame(&frame.header, frame.body);
        if let Some(answer) = session.serve(connection, request, frame.header.encoding) {
            output.reply(&frame.header, answer);
        }
    }

    fn burst_end(&self, _: &mut Arc<Session>, _: &Arc<Connection>, _: &mut Output) {}

    fn close(&self, session: Arc<Session>, _: &Arc<Connection>) {
        session.link.close();
    }
}
