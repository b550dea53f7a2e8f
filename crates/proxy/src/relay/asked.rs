//! What brokers ask of a client, passed on to it, and its answers passed back.

use super::session::Session;
use crate::invoker::{FromBroker, Link};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_remoting::Connection;
use std::sync::Weak;
use std::time::Duration;
use tokio::runtime::Handle;

/// Longer than any broker waits.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Called on the thread of the broker's connection.
pub fn pass_on(session: &Weak<Session>, connection: &Weak<Connection>, from: FromBroker) {
    let Some(connection) = connection.upgrade() else { return };
    let FromBroker { broker, mut request } = from;
    // The client's answer is a request of its own, and has to find the same broker.
    if request.code == request::CHECK_TRANSACTION_STATE && request.field("bname").is_none() {
        request = request.with("bname", &broker);
    }
    if request.is_oneway() {
        return connection.oneway(request);
    }
    let session = Weak::clone(session);
    // Without a runtime the process ends.
    let Ok(runtime) = Handle::try_current() else { return };
    runtime.spawn(async move {
        let opaque = request.opaque;
        let answer = connection.call(request, TIMEOUT).await.unwrap_or_else(|error| {
            Command::response(response::SYSTEM_ERROR).remark(format!("the client gave no answer: {error}"))
        });
        if let Some(session) = session.upgrade() {
            session.link.answer(&broker, opaque, answer);
        }
    });
}
