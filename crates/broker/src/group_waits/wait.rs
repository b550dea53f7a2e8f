//! What is known of everything that waits.

use crate::groups::SubscriptionGroupConfig;
use crate::hold_table::Asker;
use crate::topics::Topic;
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Encoding;
use roxmq_remoting::Connection;
use roxmq_store::{Millis, QueueId};
use std::sync::Arc;

/// Whose messages a request wants, until when, and where its answer goes.
pub(crate) struct Wait {
    pub(crate) group: Arc<SubscriptionGroupConfig>,
    /// Never a retry topic because of what comes again: that is the topic's own matter.
    pub(crate) topic: Arc<Topic>,
    /// None for any queue.
    pub(crate) queue_id: Option<QueueId>,
    /// A time that has passed if the client doesn't wait.
    pub(crate) deadline: Millis,
    pub(crate) connection: Arc<Connection>,
    pub(crate) opaque: i32,
    pub(crate) encoding: Encoding,
}

impl Wait {
    pub(crate) fn group_name(&self) -> &str {
        &self.group.group_name
    }

    pub(crate) fn topic_name(&self) -> &str {
        &self.topic.topic_name
    }

    pub(crate) fn asker(&self) -> Asker {
        Asker { connection: self.connection.id(), opaque: self.opaque }
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.connection.is_given_up(self.opaque)
    }

    pub(crate) fn respond(&self, answer: Command) {
        self.connection.respond(self.opaque, self.encoding, answer);
    }
}
