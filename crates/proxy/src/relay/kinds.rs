//! Whether a topic takes the kind of message that is sent to it.

use crate::invoker::{Invoker, NetworkInvoker};
use crate::message::kind;
use crate::refusal::Result;
use roxmq_protocol::code::request::{SEND_BATCH_MESSAGE, SEND_MESSAGE, SEND_MESSAGE_V2};
use roxmq_protocol::command::Command;
use roxmq_protocol::properties::{Properties, name};
use roxmq_protocol::request::send::SendHeader;

/// Refuses a send only for what is known of its topic: whether one that isn't there is made is up to the broker, and so
/// is what to say of a send that can't be read.
pub async fn check(invoker: &NetworkInvoker, request: &Command) -> Result<()> {
    if !matches!(request.code, SEND_MESSAGE | SEND_MESSAGE_V2 | SEND_BATCH_MESSAGE) {
        return Ok(());
    }
    let fields = request.ext_fields();
    let Ok(header) = SendHeader::decode(request.code, &fields) else { return Ok(()) };
    let raw = header.properties.decode();
    let properties = Properties::new(raw.as_bytes());
    // Moved from elsewhere, as it was there.
    if properties.get(name::TRANSFER_FLAG).is_some() {
        return Ok(());
    }
    let Ok(topic) = invoker.topic(&header.topic).await else { return Ok(()) };
    kind::check(&header.topic, &topic, kind::of(properties))
}
