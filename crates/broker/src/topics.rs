//! The topics of this broker.

pub use crate::model::{DataVersion, TopicConfig};
use crate::state::StateError;
use crate::stats::TopicStats;
use std::ops::Deref;
use std::sync::Arc;

/// A topic: its configuration and its counters.
#[derive(Debug)]
pub struct Topic {
    pub config: TopicConfig,
    /// Survives changes of the configuration.
    pub stats: Arc<TopicStats>,
}

impl Deref for Topic {
    type Target = TopicConfig;

    fn deref(&self) -> &TopicConfig {
        &self.config
    }
}

/// Why a topic is not made for a send.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("topic[{topic}] not exist: the template topic '{template}' doesn't exist")]
    NoTemplate { topic: String, template: String },
    #[error("topic[{topic}] not exist, and autoCreateTopicEnable is false")]
    Disabled { topic: String },
    #[error("topic[{topic}] not exist: the topic '{template}' can't be a template (perm {perm})")]
    NotInheritable { topic: String, template: String, perm: i32 },
    #[error(transparent)]
    State(#[from] StateError),
}

pub struct TopicTable {}

impl TopicTable {
    /// The topic; called for each message.
    pub fn get(&self, topic: &str) -> Option<Arc<Topic>> {
        let _ = topic;
        unimplemented!()
    }

    /// Makes or replaces a topic, in the state log first.
    pub fn put(&self, config: TopicConfig) -> Result<Arc<Topic>, StateError> {
        let _ = config;
        unimplemented!()
    }

    /// Makes a topic for the first message sent to it, after the template the sender names.
    /// `queues` is what the sender's client wants at most. Names were validated by the caller.
    pub fn create_by_send(
        &self,
        topic: &str,
        template: &str,
        queues: i32,
        sys_flag: i32,
    ) -> Result<Arc<Topic>, CreateError> {
        let _ = (topic, template, queues, sys_flag);
        unimplemented!()
    }

    /// The topic as it is, or made with this many queues: retry and dead-letter topics.
    pub fn create_internal(
        &self,
        topic: &str,
        queues: i32,
        perm: i32,
        sys_flag: i32,
    ) -> Result<Arc<Topic>, StateError> {
        let _ = (topic, queues, perm, sys_flag);
        unimplemented!()
    }

    /// Every topic, in order of names.
    pub fn all(&self) -> Vec<Arc<Topic>> {
        unimplemented!()
    }

    pub fn len(&self) -> usize {
        unimplemented!()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn data_version(&self) -> DataVersion {
        unimplemented!()
    }

    /// Whether the topic is one of the broker's own: not to be changed or deleted by requests.
    pub fn is_system(&self, topic: &str) -> bool {
        let _ = topic;
        unimplemented!()
    }

    /// The broker's own topics (request 305), in order of names.
    pub fn system_topics(&self) -> Vec<String> {
        unimplemented!()
    }
}
