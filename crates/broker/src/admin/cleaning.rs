//! Cleaning on demand: expired queues (306), expired log files (329), queues of unknown topics (316).

use super::success;
use crate::Broker;
use crate::refusal::Refusal;
use crate::state::STATE_TOPIC;
use roxmq_protocol::command::Command;
use roxmq_protocol::names;

/// Log files that are expired go, whatever the hour, and with them what queues and index hold of them.
pub(crate) fn expired(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    let files = broker.store.delete_expired_now()?;
    tracing::info!(files, "expired log files were deleted on demand");
    Ok(success().remark(format!("{files} log files were deleted")))
}

/// Queues go whose topics nobody knows any more. Those of the system and of groups stay: they come and go with their
/// messages.
pub(crate) fn unused_topics(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    let mut removed = 0;
    for topic in broker.store.topics() {
        let kept = *topic == *STATE_TOPIC
            || broker.topics.get(&topic).is_some()
            || broker.topics.is_system(&topic)
            || names::is_retry_topic(&topic)
            || names::is_dlq_topic(&topic)
            || names::is_lmq(&topic);
        if !kept {
            tracing::info!(%topic, "the queues of an unknown topic are deleted on demand");
            broker.delete_topic(&topic)?;
            removed += 1;
        }
    }
    Ok(success().remark(format!("the queues of {removed} topics were deleted")))
}
