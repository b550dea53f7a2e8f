//! Locks on queues (codes 41 and 42).

use crate::message_queue::MessageQueue;
use std::collections::BTreeSet;

json_object! {
    /// What a client wants locked or unlocked.
    pub struct LockBatchRequest {
        "clientId" client_id: Option<String>,
        "consumerGroup" consumer_group: Option<String>,
        "mqSet" mq_set: BTreeSet<MessageQueue>,
        "onlyThisBroker" only_this_broker: bool,
    }
}

json_object! {
    pub struct LockBatchResponse {
        "lockOKMQSet" lock_ok_mq_set: BTreeSet<MessageQueue>,
    }
}
