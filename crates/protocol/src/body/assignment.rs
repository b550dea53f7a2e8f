//! Which queues a client of a group reads, and whether it pulls or pops them (codes 400, 401, 402).

use super::heartbeat::MessageModel;
use crate::message_queue::MessageQueue;
use std::collections::BTreeMap;

json_enum! {
    pub enum MessageRequestMode {
        Pull "PULL",
        Pop "POP",
    }
}

json_object! {
    /// How a group reads a topic, as an operator has set it.
    pub struct MessageRequestModeSetting {
        "consumerGroup" consumer_group: String,
        "mode" mode: MessageRequestMode = MessageRequestMode::Pull,
        /// Of how many other clients each client pops the queues, too; 0 or less for all queues.
        "popShareQueueNum" pop_share_queue_num: i32,
        "topic" topic: String,
    }
}

json_object! {
    /// Topic to group to setting; also the file `messageRequestMode.json`.
    pub struct MessageRequestModeTable {
        "messageRequestModeMap" message_request_mode_map: RequestModesByTopic,
    }
}

pub type RequestModesByTopic = BTreeMap<String, BTreeMap<String, MessageRequestModeSetting>>;

json_object! {
    /// A client asks for its queues.
    pub struct QueryAssignment {
        "clientId" client_id: String,
        "consumerGroup" consumer_group: String,
        "messageModel" message_model: MessageModel,
        "strategyName" strategy_name: Option<String>,
        "topic" topic: String,
    }
}

json_object! {
    pub struct AssignmentAnswer {
        /// None at all means: keep what you have. An empty list means: drop everything.
        "messageQueueAssignments" message_queue_assignments: Option<Vec<MessageQueueAssignment>>,
    }
}

json_object! {
    pub struct MessageQueueAssignment {
        "messageQueue" message_queue: MessageQueue,
        "mode" mode: MessageRequestMode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    #[test]
    fn an_answer_tells_nothing_from_none() {
        let check = |assignments: Option<Vec<MessageQueueAssignment>>, expected: &str| {
            let answer = AssignmentAnswer { message_queue_assignments: assignments };
            assert_eq!(answer.to_json_text(), expected);
            assert_eq!(AssignmentAnswer::from_json_bytes(expected.as_bytes()), Ok(answer));
        };
        check(None, "{}");
        check(Some(Vec::new()), r#"{"messageQueueAssignments":[]}"#);
        let queue = MessageQueue::new("T", "b", -1);
        check(
            Some(vec![MessageQueueAssignment { message_queue: queue, mode: MessageRequestMode::Pop }]),
            r#"{"messageQueueAssignments":[{"messageQueue":{"brokerName":"b","queueId":-1,"topic":"T"},"mode":"POP"}]}"#,
        );
    }

    #[test]
    fn a_setting_without_a_mode_is_to_pull() {
        let setting = MessageRequestModeSetting::from_json_bytes(br#"{"topic":"T","consumerGroup":"G"}"#);
        let expected = r#"{"consumerGroup":"G","mode":"PULL","popShareQueueNum":0,"topic":"T"}"#;
        assert_eq!(setting.expect("a setting").to_json_text(), expected);
    }

    #[test]
    fn the_java_clients_question_is_read() {
        let text = br#"{"clientId":"c@1","consumerGroup":"G","messageModel":"CLUSTERING","strategyName":"AVG","topic":"T"}"#;
        let question = QueryAssignment::from_json_bytes(text).expect("a question");
        assert_eq!(question.message_model, MessageModel::Clustering);
        assert_eq!(question.strategy_name.as_deref(), Some("AVG"));
    }
}
