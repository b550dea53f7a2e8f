//! The files of `config/` in the Java server's form.
//!
//! One field is ours: `roxmqLogOffset`, the log position up to which the file holds everything. The Java server
//! ignores it and doesn't write it, so that a file without it is known to be the Java server's.
//!
//! One attribute has a name of ours: a topic of batches is an ordinary one to the Java server, which would look for its
//! messages in queues of another kind than they are in, and not start. It keeps attributes that it doesn't know.

use super::change;
use crate::groups::{DataVersion, ForbiddenTable, SubscriptionGroupConfig};
use crate::topics::TopicConfig;
use crate::topics::attributes::{QUEUE_TYPE, has_batches};
use roxmq_access::{Policies, User};
use roxmq_protocol::body::access::{AclInfo, UserInfo};
use roxmq_protocol::body::assignment::RequestModesByTopic;
use roxmq_protocol::body::order_info::OrderInfoTable;
use roxmq_protocol::json::{Fields, Form, JsonError, Value, Writer};
use roxmq_store::PhyOffset;
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(super) const TOPICS_FILE: &str = "topics.json";
pub(super) const GROUPS_FILE: &str = "subscriptionGroup.json";
pub(super) const MODES_FILE: &str = "messageRequestMode.json";
pub(super) const DELAYS_FILE: &str = "delayOffset.json";
pub(super) const ORDERS_FILE: &str = "consumerOrderInfo.json";

/// The Java server keeps users and policies in directories `users` and `acls`, which nobody else can read.
pub(super) const ACCESS_FILE: &str = "accessControl.json";

pub(super) const LOG_OFFSET: &str = "roxmqLogOffset";
/// What [`QUEUE_TYPE`] is called in a file where the topic is one of batches.
const BATCH_QUEUE_TYPE: &str = "roxmq.queue.type";

/// A table as a file has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Snapshot<T> {
    pub version: DataVersion,
    /// Nothing in a file that the Java server wrote.
    pub log_offset: Option<PhyOffset>,
    pub table: T,
}

/// What `subscriptionGroup.json` holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Groups {
    pub groups: Vec<SubscriptionGroupConfig>,
    pub forbidden: ForbiddenTable,
}

pub(super) fn encode_topics(snapshot: &Snapshot<Vec<TopicConfig>>) -> Vec<u8> {
    let topics: Vec<_> = snapshot.table.iter().map(for_file).collect();
    let table: BTreeMap<String, &TopicConfig> =
        topics.iter().map(|topic| (topic.topic_name.clone(), topic.as_ref())).collect();
    encode(snapshot, |writer| {
        writer.field(LOG_OFFSET, &snapshot.log_offset.map(|offset| offset.0));
        writer.field("topicConfigTable", &table);
    })
}

fn for_file(topic: &TopicConfig) -> Cow<'_, TopicConfig> {
    let mut topic = Cow::Borrowed(topic);
    if has_batches(&topic.attributes) {
        rename_attribute(topic.to_mut(), QUEUE_TYPE, BATCH_QUEUE_TYPE);
    }
    topic
}

fn rename_attribute(topic: &mut TopicConfig, from: &str, to: &str) {
    if let Some(value) = topic.attributes.remove(from) {
        topic.attributes.insert(to.to_owned(), value);
    }
}

pub(super) fn decode_topics(value: &Value) -> Result<Snapshot<Vec<TopicConfig>>, JsonError> {
    let mut table: BTreeMap<String, TopicConfig> = value.need("topicConfigTable")?;
    table.values_mut().for_each(|topic| rename_attribute(topic, BATCH_QUEUE_TYPE, QUEUE_TYPE));
    decode(value, table.into_values().collect())
}

pub(super) fn encode_groups(snapshot: &Snapshot<Groups>) -> Vec<u8> {
    let table: BTreeMap<String, &SubscriptionGroupConfig> =
        snapshot.table.groups.iter().map(|group| (group.group_name.clone(), group)).collect();
    encode(snapshot, |writer| {
        writer.field("forbiddenTable", &snapshot.table.forbidden);
        writer.field(LOG_OFFSET, &snapshot.log_offset.map(|offset| offset.0));
        writer.field("subscriptionGroupTable", &table);
    })
}

pub(super) fn decode_groups(value: &Value) -> Result<Snapshot<Groups>, JsonError> {
    let table: BTreeMap<String, SubscriptionGroupConfig> = value.need("subscriptionGroupTable")?;
    let forbidden = value.field_or_default("forbiddenTable")?;
    decode(value, Groups { groups: table.into_values().collect(), forbidden })
}

/// Users, each with its policies if it has any.
pub(super) type AccountList = Vec<(User, Option<Policies>)>;

/// A file without a version.
pub(super) fn encode_accounts(snapshot: &Snapshot<AccountList>) -> Vec<u8> {
    let acls =
        snapshot.table.iter().filter_map(|(user, policies)| Some(policies.as_ref()?.to_info(&user.name)));
    let acls: Vec<AclInfo> = acls.collect();
    let users: Vec<UserInfo> = snapshot.table.iter().map(|(user, _)| user.to_info()).collect();
    let mut writer = Writer::new(Form::Pretty);
    writer.object(|writer| {
        writer.field("acls", &acls);
        writer.field(LOG_OFFSET, &snapshot.log_offset.map(|offset| offset.0));
        writer.field("users", &users);
    });
    writer.into_bytes()
}

pub(super) fn decode_accounts(value: &Value) -> Result<Snapshot<AccountList>, JsonError> {
    let acls: Vec<AclInfo> = value.need("acls")?;
    let mut policies: BTreeMap<String, Policies> =
        acls.iter().map(change::policies).collect::<Result<_, _>>()?;
    let users: Vec<UserInfo> = value.need("users")?;
    let table = users.iter().map(|info| {
        let user = change::user(info)?;
        let policies = policies.remove(&user.name);
        Ok((user, policies))
    });
    decode(value, table.collect::<Result<_, JsonError>>()?)
}

/// Without a version, too.
pub(super) fn encode_modes(snapshot: &Snapshot<RequestModesByTopic>) -> Vec<u8> {
    let mut writer = Writer::new(Form::Pretty);
    writer.object(|writer| {
        writer.field("messageRequestModeMap", &snapshot.table);
        writer.field(LOG_OFFSET, &snapshot.log_offset.map(|offset| offset.0));
    });
    writer.into_bytes()
}

pub(super) fn decode_modes(value: &Value) -> Result<Snapshot<RequestModesByTopic>, JsonError> {
    decode(value, value.need("messageRequestModeMap")?)
}

/// Without a version, too.
pub(super) fn encode_orders(snapshot: &Snapshot<OrderInfoTable>) -> Vec<u8> {
    let mut writer = Writer::new(Form::Pretty);
    writer.object(|writer| {
        writer.field(LOG_OFFSET, &snapshot.log_offset.map(|offset| offset.0));
        writer.field("table", &snapshot.table);
    });
    writer.into_bytes()
}

pub(super) fn decode_orders(value: &Value) -> Result<Snapshot<OrderInfoTable>, JsonError> {
    decode(value, value.need("table")?)
}

pub(super) fn encode_delays(snapshot: &Snapshot<BTreeMap<i32, i64>>) -> Vec<u8> {
    encode(snapshot, |writer| {
        writer.field("offsetTable", &snapshot.table);
        writer.field(LOG_OFFSET, &snapshot.log_offset.map(|offset| offset.0));
    })
}

pub(super) fn decode_delays(value: &Value) -> Result<Snapshot<BTreeMap<i32, i64>>, JsonError> {
    decode(value, value.need("offsetTable")?)
}

/// Writes the version, then the other fields, which come after it in order of names.
pub(super) fn encode<T>(snapshot: &Snapshot<T>, others: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new(Form::Pretty);
    writer.object(|writer| {
        writer.field("dataVersion", &snapshot.version);
        others(writer);
    });
    writer.into_bytes()
}

pub(super) fn decode<T>(value: &Value, table: T) -> Result<Snapshot<T>, JsonError> {
    Ok(Snapshot {
        version: value.field_or_default("dataVersion")?,
        log_offset: value.field::<i64>(LOG_OFFSET)?.map(PhyOffset),
        table,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::topic_config;
    use roxmq_access::UserType;
    use roxmq_protocol::body::assignment::{MessageRequestMode, MessageRequestModeSetting};
    use roxmq_protocol::body::order_info::OrderInfo;
    use roxmq_protocol::json::{FromJson, parse};

    fn version() -> DataVersion {
        DataVersion { counter: 3, state_version: 0, timestamp: 1_700_000_000_000 }
    }

    const VERSION: &str = "\"dataVersion\":{\n\t\t\"counter\":3,\n\t\t\"stateVersion\":0,\n\t\t\"timestamp\":1700000000000\n\t}";

    #[track_caller]
    fn check<T: PartialEq + std::fmt::Debug>(
        encoded: &[u8],
        expected: &str,
        decode: impl Fn(&Value) -> Result<T, JsonError>,
        snapshot: &T,
    ) {
        assert_eq!(String::from_utf8_lossy(encoded), expected);
        assert_eq!(decode(&parse(encoded).expect("JSON")).as_ref(), Ok(snapshot));
    }

    #[test]
    fn topics_in_javas_form() {
        let topic = TopicConfig { write_queue_nums: 8, ..topic_config("T", 4, 6) };
        let snapshot = Snapshot { version: version(), log_offset: Some(PhyOffset(99)), table: vec![topic] };
        let expected = format!(
            "{{\n\t{VERSION},\n\t\"roxmqLogOffset\":99,\n\t\"topicConfigTable\":{{\n\t\t\"T\":{{\n\t\t\t\"attributes\":{{}},\
             \n\t\t\t\"order\":false,\n\t\t\t\"perm\":6,\n\t\t\t\"readQueueNums\":4,\n\t\t\t\"topicFilterType\":\"SINGLE_TAG\",\
             \n\t\t\t\"topicName\":\"T\",\n\t\t\t\"topicSysFlag\":0,\n\t\t\t\"writeQueueNums\":8\n\t\t}}\n\t}}\n}}"
        );
        check(&encode_topics(&snapshot), &expected, decode_topics, &snapshot);
    }

    /// The Java server looks for messages of a topic with `queue.type=BatchCQ` where RoxMQ has none, and doesn't start on a
    /// store where they are elsewhere.
    #[test]
    fn topics_of_batches_are_ordinary_ones_to_the_java_server() {
        let check = |attributes: &[(&str, &str)], in_file: &str| {
            let attributes = attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            let topic = TopicConfig { attributes: attributes.collect(), ..topic_config("T", 4, 6) };
            let snapshot = Snapshot { version: version(), log_offset: None, table: vec![topic] };
            let encoded = encode_topics(&snapshot);
            let text = String::from_utf8_lossy(&encoded).replace(['\n', '\t'], "");
            assert!(text.contains(&format!("\"attributes\":{in_file},\"order\"")), "{text}");
            assert_eq!(decode_topics(&parse(&encoded).expect("JSON")), Ok(snapshot));
        };
        check(&[("queue.type", "BatchCQ")], r#"{"roxmq.queue.type":"BatchCQ"}"#);
        check(
            &[("message.type", "NORMAL"), ("queue.type", "BatchCQ"), ("reserve.time", "3")],
            r#"{"message.type":"NORMAL","reserve.time":"3","roxmq.queue.type":"BatchCQ"}"#,
        );
        check(&[("queue.type", "SimpleCQ")], r#"{"queue.type":"SimpleCQ"}"#);
        check(&[("message.type", "NORMAL")], r#"{"message.type":"NORMAL"}"#);
    }

    #[test]
    fn groups_in_javas_form() {
        let table = Groups {
            groups: vec![SubscriptionGroupConfig::new("G")],
            forbidden: ForbiddenTable::from([("G".to_owned(), BTreeMap::from([("T".to_owned(), 1)]))]),
        };
        let snapshot = Snapshot { version: version(), log_offset: Some(PhyOffset(7)), table };
        let expected = format!(
            "{{\n\t{VERSION},\n\t\"forbiddenTable\":{{\n\t\t\"G\":{{\n\t\t\t\"T\":1\n\t\t}}\n\t}},\n\t\"roxmqLogOffset\":7,\
             \n\t\"subscriptionGroupTable\":{{\n\t\t\"G\":{{\n\t\t\t\"attributes\":{{}},\n\t\t\t\"brokerId\":0,\
             \n\t\t\t\"consumeBroadcastEnable\":true,\n\t\t\t\"consumeEnable\":true,\n\t\t\t\"consumeFromMinEnable\":true,\
             \n\t\t\t\"consumeMessageOrderly\":false,\n\t\t\t\"consumeTimeoutMinute\":15,\n\t\t\t\"groupName\":\"G\",\
             \n\t\t\t\"groupRetryPolicy\":{{\n\t\t\t\t\"type\":\"CUSTOMIZED\"\n\t\t\t}},\n\t\t\t\"groupSysFlag\":0,\
             \n\t\t\t\"notifyConsumerIdsChangedEnable\":true,\n\t\t\t\"retryMaxTimes\":16,\n\t\t\t\"retryQueueNums\":1,\
             \n\t\t\t\"whichBrokerWhenConsumeSlowly\":1\n\t\t}}\n\t}}\n}}"
        );
        check(&encode_groups(&snapshot), &expected, decode_groups, &snapshot);
    }

    #[test]
    fn request_modes_in_javas_form_have_no_version() {
        let setting = MessageRequestModeSetting {
            consumer_group: "G".to_owned(),
            mode: MessageRequestMode::Pop,
            pop_share_queue_num: 4,
            topic: "T".to_owned(),
        };
        let table = BTreeMap::from([("T".to_owned(), BTreeMap::from([("G".to_owned(), setting)]))]);
        let snapshot = Snapshot { version: DataVersion::default(), log_offset: Some(PhyOffset(7)), table };
        let expected = "{\n\t\"messageRequestModeMap\":{\n\t\t\"T\":{\n\t\t\t\"G\":{\n\t\t\t\t\"consumerGroup\":\"G\",\
                        \n\t\t\t\t\"mode\":\"POP\",\n\t\t\t\t\"popShareQueueNum\":4,\n\t\t\t\t\"topic\":\"T\"\n\t\t\t}\n\t\t}\n\t},\
                        \n\t\"roxmqLogOffset\":7\n}";
        check(&encode_modes(&snapshot), expected, decode_modes, &snapshot);
    }

    #[test]
    fn delays_in_javas_form_have_bare_keys() {
        let snapshot =
            Snapshot { version: version(), log_offset: None, table: BTreeMap::from([(1, 20), (3, 5)]) };
        let expected = format!("{{\n\t{VERSION},\n\t\"offsetTable\":{{\n\t\t1:20,\n\t\t3:5\n\t}}\n}}");
        check(&encode_delays(&snapshot), &expected, decode_delays, &snapshot);
    }

    #[test]
    fn orders_in_javas_form_have_bare_keys() {
        let info = OrderInfo { offset_list: vec![5, 1], pop_time: 9, ..OrderInfo::default() };
        let table = OrderInfoTable::from([("T@G".to_owned(), BTreeMap::from([(3, info)]))]);
        let snapshot = Snapshot { version: DataVersion::default(), log_offset: Some(PhyOffset(7)), table };
        let expected = "{\n\t\"roxmqLogOffset\":7,\n\t\"table\":{\n\t\t\"T@G\":{\n\t\t\t3:{\n\t\t\t\t\"cm\":0,\
             \n\t\t\t\t\"l\":0,\n\t\t\t\t\"o\":[\n\t\t\t\t\t5,\n\t\t\t\t\t1\n\t\t\t\t],\n\t\t\t\t\"popTime\":9\n\t\t\t}\n\t\t}\n\t}\n}";
        check(&encode_orders(&snapshot), expected, decode_orders, &snapshot);
    }

    #[test]
    fn users_with_and_without_policies() {
        let acl = AclInfo::from_json_bytes(
            br#"{"subject":"User:a","policies":[{"entries":[{"actions":["Pub"],"decision":"Allow","resource":"Topic:T"}]}]}"#,
        );
        let (_, policies) = change::policies(&acl.expect("JSON")).expect("policies");
        let user = |name| User::new(name, "p", UserType::Normal).expect("a user");
        let table = vec![(user("a"), Some(policies)), (user("b"), None)];
        let snapshot = Snapshot { version: DataVersion::default(), log_offset: Some(PhyOffset(7)), table };
        let expected = "{\n\t\"acls\":[\n\t\t{\n\t\t\t\"policies\":[\n\t\t\t\t{\n\t\t\t\t\t\"entries\":[\n\t\t\t\t\t\t{\
                        \n\t\t\t\t\t\t\t\"actions\":[\n\t\t\t\t\t\t\t\t\"Pub\"\n\t\t\t\t\t\t\t],\n\t\t\t\t\t\t\t\"decision\":\"Allow\",\
                        \n\t\t\t\t\t\t\t\"resource\":\"Topic:T\"\n\t\t\t\t\t\t}\n\t\t\t\t\t],\n\t\t\t\t\t\"policyType\":\"Custom\"\n\t\t\t\t}\
                        \n\t\t\t],\n\t\t\t\"subject\":\"User:a\"\n\t\t}\n\t],\n\t\"roxmqLogOffset\":7,\n\t\"users\":[\n\t\t{\
                        \n\t\t\t\"password\":\"p\",\n\t\t\t\"userStatus\":\"enable\",\n\t\t\t\"userType\":\"Normal\",\
                        \n\t\t\t\"username\":\"a\"\n\t\t},\n\t\t{\n\t\t\t\"password\":\"p\",\n\t\t\t\"userStatus\":\"enable\",\
                        \n\t\t\t\"userType\":\"Normal\",\n\t\t\t\"username\":\"b\"\n\t\t}\n\t]\n}";
        check(&encode_accounts(&snapshot), expected, decode_accounts, &snapshot);
    }

    #[test]
    fn a_file_without_its_table_is_damaged() {
        let value = parse(b"{}").expect("JSON");
        assert!(decode_topics(&value).is_err());
        assert!(decode_groups(&value).is_err());
        assert!(decode_modes(&value).is_err());
        assert!(decode_accounts(&value).is_err());
        assert!(decode_delays(&value).is_err());
        assert!(decode_orders(&value).is_err());
    }
}
