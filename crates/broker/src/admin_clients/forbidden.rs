//! Forbids a group to read a topic, or allows it again (353).

use super::answer;
use crate::Broker;
use crate::admin_rights;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::group_table::GroupForbidden;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::sys_flag::perm;

/// Answers with what holds afterwards; a request that doesn't say `readable` only asks.
pub(crate) fn handle(broker: &Broker, caller: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let fields = &frame.header.ext;
    let group = fields.need_str("group")?;
    let topic = fields.need_str("topic")?;
    let bits = broker.groups.forbidden(&group, &topic);
    let wanted = match fields.bool("readable") {
        Some(true) => bits & !perm::READ,
        Some(false) => bits | perm::READ,
        None => bits,
    };
    if wanted != bits {
        admin_rights::check(broker, caller.connection, frame.header.code, fields)?;
        broker
            .groups
            .set_forbidden(&group, &topic, wanted)
            .map_err(|error| Refusal::failed(error.to_string()))?;
        tracing::info!(%group, %topic, readable = wanted & perm::READ == 0, "what a group may read was changed");
    }
    Ok(answer(&GroupForbidden {
        group: group.into_owned(),
        readable: wanted & perm::READ == 0,
        topic: topic.into_owned(),
    }))
}
