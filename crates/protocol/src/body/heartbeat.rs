//! A client's heartbeat (code 34).

use crate::subscription::SubscriptionData;

json_object! {
    pub struct HeartbeatData {
        "clientID" client_id: String,
        "consumerDataSet" consumer_data_set: Vec<ConsumerData>,
        /// Of the subscriptions; 0 with clients that don't have it.
        "heartbeatFingerprint" heartbeat_fingerprint: i32,
        "producerDataSet" producer_data_set: Vec<ProducerData>,
        /// The subscriptions are as they were and left out.
        "withoutSub" without_sub: bool,
    }
}

json_object! {
    pub struct ProducerData {
        "groupName" group_name: String,
    }
}

json_object! {
    pub struct ConsumerData {
        "consumeFromWhere" consume_from_where: ConsumeFromWhere,
        "consumeType" consume_type: ConsumeType,
        "groupName" group_name: String,
        "messageModel" message_model: MessageModel,
        "subscriptionDataSet" subscription_data_set: Vec<SubscriptionData>,
        "unitMode" unit_mode: bool,
    }
}

json_enum! {
    pub enum ConsumeType {
        /// Pull.
        Actively "CONSUME_ACTIVELY",
        /// Push.
        Passively "CONSUME_PASSIVELY",
        Pop "CONSUME_POP",
    }
}

json_enum! {
    pub enum MessageModel {
        Broadcasting "BROADCASTING",
        Clustering "CLUSTERING",
        LiteSelective "LITE_SELECTIVE",
    }
}

json_enum! {
    pub enum ConsumeFromWhere {
        LastOffset "CONSUME_FROM_LAST_OFFSET",
        LastOffsetAndFromMin "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
        MinOffset "CONSUME_FROM_MIN_OFFSET",
        MaxOffset "CONSUME_FROM_MAX_OFFSET",
        FirstOffset "CONSUME_FROM_FIRST_OFFSET",
        Timestamp "CONSUME_FROM_TIMESTAMP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::FromJson;

    #[test]
    fn a_heartbeat_of_java_is_read() {
        let text = br#"{"clientID":"10.0.0.1@7#1","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",
            "consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":[
            {"classFilterMode":false,"codeSet":[2598919],"expressionType":"TAG","subString":"TagA","subVersion":5,
            "tagsSet":["TagA"],"topic":"T"}],"unitMode":false}],"heartbeatFingerprint":0,
            "producerDataSet":[{"groupName":"PG"}],"withoutSub":false}"#;
        let heartbeat = HeartbeatData::from_json_bytes(text).expect("a heartbeat");
        assert_eq!(heartbeat.client_id, "10.0.0.1@7#1");
        assert_eq!(heartbeat.producer_data_set[0].group_name, "PG");
        let consumer = &heartbeat.consumer_data_set[0];
        assert_eq!(consumer.consume_type, ConsumeType::Passively);
        assert_eq!(consumer.message_model, MessageModel::Clustering);
        assert!(consumer.subscription_data_set[0].matches_tags_code(2_598_919));
    }

    #[test]
    fn a_heartbeat_of_go_is_read() {
        let text = br#"{"clientID":"c","producerDataSet":null,"consumerDataSet":[{"groupName":"G",
            "consumeType":"CONSUME_PASSIVELY","messageModel":"Clustering","consumeFromWhere":"SOMETHING_NEW",
            "subscriptionDataSet":[{"topic":"T","subString":"*","tagsSet":null,"codeSet":null,"subVersion":"5"}]}]}"#;
        let heartbeat = HeartbeatData::from_json_bytes(text).expect("a heartbeat");
        let consumer = &heartbeat.consumer_data_set[0];
        assert_eq!(consumer.message_model, MessageModel::Clustering);
        assert_eq!(consumer.consume_from_where, ConsumeFromWhere::Unknown);
        assert_eq!(consumer.subscription_data_set[0].sub_version, 5);
    }
}
