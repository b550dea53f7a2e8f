//! A queue of a topic on a broker, as bodies name it.

use crate::json::{Fields, FromJson, JsonError, JsonKey, ToJson, Value, Writer, parse};

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageQueue {
    pub topic: String,
    pub broker_name: String,
    pub queue_id: i32,
}

impl MessageQueue {
    pub fn new(topic: impl Into<String>, broker_name: impl Into<String>, queue_id: i32) -> Self {
        MessageQueue { topic: topic.into(), broker_name: broker_name.into(), queue_id }
    }
}

impl ToJson for MessageQueue {
    fn write_json(&self, writer: &mut Writer) {
        writer.object(|writer| {
            writer.field("brokerName", &self.broker_name);
            writer.field("queueId", &self.queue_id);
            writer.field("topic", &self.topic);
        });
    }
}

impl FromJson for MessageQueue {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        Ok(MessageQueue {
            topic: value.need("topic")?,
            broker_name: value.field_or_default("brokerName")?,
            queue_id: value.field_or_default("queueId")?,
        })
    }
}

/// A map's key is the whole object; some old peers write it as a text, which reads the same.
impl JsonKey for MessageQueue {
    fn from_key(key: &str) -> Result<Self, JsonError> {
        MessageQueue::from_json(&parse(key.as_bytes())?)
    }

    fn write_key(&self, writer: &mut Writer) {
        writer.object_key(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn queues_are_keys_bare_or_as_texts() {
        let expected = BTreeMap::from([(MessageQueue::new("T", "b", 3), 5_i64)]);
        let check = |text: &str| {
            assert_eq!(BTreeMap::from_json_bytes(text.as_bytes()), Ok(expected.clone()), "{text}")
        };
        check(r#"{{"brokerName":"b","queueId":3,"topic":"T"}:5}"#);
        check(r#"{"{\"brokerName\":\"b\",\"queueId\":3,\"topic\":\"T\"}":5}"#);
        assert_eq!(expected.to_json_text(), r#"{{"brokerName":"b","queueId":3,"topic":"T"}:5}"#);
    }

    #[test]
    fn a_queue_needs_its_topic() {
        assert_eq!(MessageQueue::from_json_bytes(b"{}"), Err(JsonError::Missing("topic")));
    }
}
