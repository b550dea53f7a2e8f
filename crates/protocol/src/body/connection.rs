//! Who is connected (codes 203, 204, 328).

use super::heartbeat::{ConsumeFromWhere, ConsumeType, MessageModel};
use crate::json::{FromJson, JsonError, ToJson, Value, Writer};
use crate::language::Language;
use crate::subscription::SubscriptionData;
use std::collections::BTreeMap;

json_object! {
    pub struct Connection {
        "clientAddr" client_addr: String,
        "clientId" client_id: String,
        "language" language: Language,
        "version" version: i32,
    }
}

json_object! {
    pub struct ConsumerConnection {
        "connectionSet" connection_set: Vec<Connection>,
        "consumeFromWhere" consume_from_where: ConsumeFromWhere,
        "consumeType" consume_type: ConsumeType,
        "messageModel" message_model: MessageModel,
        "subscriptionTable" subscription_table: BTreeMap<String, SubscriptionData>,
    }
}

json_object! {
    pub struct ProducerConnection {
        "connectionSet" connection_set: Vec<Connection>,
    }
}

json_object! {
    pub struct ProducerInfo {
        "clientId" client_id: String,
        "language" language: Language,
        "lastUpdateTimestamp" last_update_timestamp: i64,
        /// `/ip:port`.
        "remoteIP" remote_ip: String,
        "version" version: i32,
    }
}

json_object! {
    pub struct ProducerTableInfo {
        "data" data: BTreeMap<String, Vec<ProducerInfo>>,
    }
}

impl ToJson for Language {
    fn write_json(&self, writer: &mut Writer) {
        writer.string(self.name());
    }
}

impl FromJson for Language {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        Ok(Language::from_name(&String::from_json(value)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_have_the_json_of_java() {
        let connection = Connection {
            client_addr: "127.0.0.1:5".to_owned(),
            client_id: "c".to_owned(),
            language: Language::Java,
            version: 513,
        };
        let connections = ConsumerConnection {
            connection_set: vec![connection],
            consume_type: ConsumeType::Passively,
            message_model: MessageModel::Clustering,
            ..ConsumerConnection::default()
        };
        let text = r#"{"connectionSet":[{"clientAddr":"127.0.0.1:5","clientId":"c","language":"JAVA","version":513}],"consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","subscriptionTable":{}}"#;
        assert_eq!(connections.to_json_text(), text);
        assert_eq!(ConsumerConnection::from_json_bytes(text.as_bytes()), Ok(connections));
    }
}
