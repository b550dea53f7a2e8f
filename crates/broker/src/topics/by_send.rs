//! Topics that are made by the first message sent to them.

use super::{Topic, TopicConfig, TopicTable, topic_config};
use crate::state::StateError;
use roxmq_protocol::names;
use roxmq_protocol::sys_flag::perm;
use std::sync::Arc;

/// Why a topic is not made for a send.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("topic[{topic}] not exist, and its template '{template}' doesn't exist either")]
    NoTemplate { topic: String, template: String },
    #[error("topic[{topic}] not exist, and autoCreateTopicEnable is false")]
    Disabled { topic: String },
    #[error("topic[{topic}] not exist, and '{template}' (perm {perm}) is no template for others")]
    NotInheritable { topic: String, template: String, perm: i32 },
    #[error(transparent)]
    State(#[from] StateError),
}

impl TopicTable {
    /// Makes a topic for the first message sent to it, after the template that the sender names. `queues` is what the
    /// sender's client wants at most. The name is valid: the caller has checked it.
    pub fn create_by_send(
        &self,
        topic: &str,
        template: &str,
        queues: i32,
        sys_flag: i32,
    ) -> Result<Arc<Topic>, CreateError> {
        let mut turn = self.log.turn();
        if let Some(existing) = self.get(topic) {
            return Ok(existing);
        }
        let config = self.after_template(topic, template, queues, sys_flag)?;
        tracing::info!(topic, template, queues = config.write_queue_nums, "created a topic by a send");
        Ok(self.put_in(&mut turn, config)?)
    }

    fn after_template(
        &self,
        topic: &str,
        template: &str,
        queues: i32,
        sys_flag: i32,
    ) -> Result<TopicConfig, CreateError> {
        // A template of the namespace's own goes before the one of all.
        let template =
            match names::is_auto_create_topic_of_namespace(template) && self.get(template).is_none() {
                true => names::AUTO_CREATE_TOPIC,
                false => template,
            };
        if template == names::AUTO_CREATE_TOPIC && !self.config.get().auto_create_topic_enable {
            return Err(CreateError::Disabled { topic: topic.to_owned() });
        }
        let Some(model) = self.get(template) else {
            return Err(CreateError::NoTemplate { topic: topic.to_owned(), template: template.to_owned() });
        };
        if !perm::is_inherited(model.perm) {
            return Err(CreateError::NotInheritable {
                topic: topic.to_owned(),
                template: template.to_owned(),
                perm: model.perm,
            });
        }
        let queues = queues.min(model.write_queue_nums).max(0);
        Ok(TopicConfig {
            topic_sys_flag: sys_flag,
            topic_filter_type: model.topic_filter_type,
            ..topic_config(topic, queues, model.perm & !perm::INHERIT)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BrokerConfig;
    use crate::topics::tests::table;

    #[test]
    fn a_send_makes_a_topic_after_its_template() {
        let (table, journal) = table(BrokerConfig::default());
        let check = |topic: &str, queues: i32, expected: i32| {
            let topic = table.create_by_send(topic, "TBW102", queues, 0).expect("a topic");
            assert_eq!((topic.read_queue_nums, topic.write_queue_nums, topic.perm), (expected, expected, 6));
        };
        check("Four", 4, 4);
        check("Many", 100, 8);
        check("None", -1, 0);
        check("Four", 7, 4);
        assert_eq!(journal.changes.lock().len(), 3);
        assert_eq!(table.data_version().counter, 3);
    }

    /// Clients with a namespace name `ns%TBW102` as the template, which no broker had: their topics were never made.
    #[test]
    fn a_template_with_a_namespace_is_the_template_of_all() {
        let (table, _) = table(BrokerConfig::default());
        let made = table.create_by_send("ns%T", "ns%TBW102", 16, 0).expect("a topic");
        assert_eq!((made.write_queue_nums, made.perm), (8, 6));
        table.put(topic_config("ns%TBW102", 2, 7)).expect("a template of its own");
        let made = table.create_by_send("ns%U", "ns%TBW102", 16, 0).expect("a topic");
        assert_eq!(made.write_queue_nums, 2);
    }

    #[test]
    fn a_send_makes_no_topic_without_a_template() {
        let (table, _) = table(BrokerConfig { auto_create_topic_enable: false, ..BrokerConfig::default() });
        let check = |template: &str, expected: &str| {
            let error = table.create_by_send("New", template, 4, 0).expect_err(template);
            assert!(error.to_string().contains(expected), "{error}");
            assert!(table.get("New").is_none());
        };
        check("TBW102", "autoCreateTopicEnable is false");
        check("ns%TBW102", "autoCreateTopicEnable is false");
        check("Absent", "'Absent' doesn't exist");
        check("BenchmarkTest", "'BenchmarkTest' (perm 6) is no template");
    }
}
