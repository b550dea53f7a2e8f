//! What the members of a consumer group say about how it consumes.
//!
//! They should all say the same; where they don't, the last one counts, as with the Java server.

use roxmq_protocol::body::heartbeat::{ConsumeFromWhere, ConsumeType, MessageModel};
use roxmq_protocol::subscription::SubscriptionData;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct Consuming {
    pub consume_type: ConsumeType,
    pub message_model: MessageModel,
    pub consume_from_where: ConsumeFromWhere,
    subscriptions: BTreeMap<String, Arc<SubscriptionData>>,
    /// Of the heartbeat the subscriptions came with; none before the first.
    fingerprint: Option<i32>,
}

impl Consuming {
    pub fn is_broadcasting(&self) -> bool {
        self.message_model == MessageModel::Broadcasting
    }

    pub fn subscription(&self, topic: &str) -> Option<&Arc<SubscriptionData>> {
        self.subscriptions.get(topic)
    }

    /// By topic, in order of topics.
    pub fn subscriptions(&self) -> &BTreeMap<String, Arc<SubscriptionData>> {
        &self.subscriptions
    }

    /// Takes the subscriptions of a whole heartbeat; true if topics came or went. Of two versions of a
    /// subscription the newer stays.
    pub(super) fn subscribe(&mut self, announced: &[SubscriptionData]) -> bool {
        let mut changed = false;
        for subscription in announced {
            match self.subscriptions.get(&subscription.topic) {
                Some(known) if subscription.sub_version <= known.sub_version => {}
                known => {
                    changed |= known.is_none();
                    self.subscriptions.insert(subscription.topic.clone(), Arc::new(subscription.clone()));
                }
            }
        }
        let before = self.subscriptions.len();
        self.subscriptions
            .retain(|topic, _| announced.iter().any(|subscription| subscription.topic == *topic));
        changed || self.subscriptions.len() < before
    }

    /// Notes a heartbeat's fingerprint (0 for a client that has none), and says whether the client has to send its
    /// subscriptions again: another client of the group sent others, or they aren't known here.
    pub(super) fn note_fingerprint(&mut self, fingerprint: i32) -> bool {
        let known = self.fingerprint.replace(fingerprint);
        known.is_some_and(|known| known != fingerprint) || self.subscriptions.is_empty()
    }
}
