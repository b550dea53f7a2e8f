//! Gives a group the offsets of another (314).

use super::is_read_by;
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use std::collections::BTreeSet;

/// Of one topic, or of all that the source has offsets of. Topics that are gone, and those that an online source
/// doesn't read any more, are left out unless `offline` says that it doesn't matter who is online.
pub(crate) fn handle(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let source = fields.need_str("srcGroup")?;
    let target = fields.need_str("destGroup")?;
    let offline = fields.bool("offline").unwrap_or(false);
    let topics: BTreeSet<String> = match fields.str("topic").filter(|topic| !topic.trim().is_empty()) {
        Some(topic) => BTreeSet::from([topic.into_owned()]),
        None => broker.offsets.of_group(&source).into_keys().collect(),
    };
    for topic in topics {
        if broker.topics.get(&topic).is_some() && (offline || is_read_by(broker, &topic, &source)) {
            broker.offsets.clone_offsets(&source, &target, &topic);
        }
    }
    tracing::info!(%source, %target, "offsets of a group were given to another");
    Ok(Command::response(response::SUCCESS))
}
