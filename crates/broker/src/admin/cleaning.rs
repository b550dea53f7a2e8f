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
        if broker.topics.get(&topic).is_none() && !broker.topics.is_system(&topic) && !is_of_broker(&topic) {
            tracing::info!(%topic, "the queues of an unknown topic are deleted on demand");
            broker.delete_topic(&topic)?;
            removed += 1;
        }
    }
    Ok(success().remark(format!("the queues of {removed} topics were deleted")))
}

/// Whether the queues are there although nobody made a topic of that name.
fn is_of_broker(topic: &str) -> bool {
    topic == STATE_TOPIC || names::is_retry_topic(topic) || names::is_dlq_topic(topic) || names::is_lmq(topic)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cleaning once took what groups still had to retry, and what the system keeps for itself.
    #[test]
    fn only_queues_of_users_topics_are_unused() {
        for topic in [STATE_TOPIC, "%RETRY%g", "%RETRY%g_T", "%DLQ%g", "%LMQ%q"] {
            assert!(is_of_broker(topic), "{topic}");
        }
        for topic in ["T", "ns%T", "RETRY", "DLQ%g"] {
            assert!(!is_of_broker(topic), "{topic}");
        }
    }
}
