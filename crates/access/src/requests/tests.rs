use super::*;
use proptest::prelude::*;
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Encoding;

const CLUSTER: &str = "DefaultCluster";

/// What a request with these fields and this body needs, as `resource action|action`.
fn needs(code: i32, fields: &[(&'static str, &str)], body: &str) -> Vec<String> {
    let request = Command::request(code).body(body.to_owned());
    let request = fields.iter().fold(request, |request, (name, value)| request.with(name, value));
    let frame = request.as_frame(Encoding::Json);
    let show = |need: &Need<'_>| {
        let actions: Vec<_> = need.actions.iter().map(Action::name).collect();
        format!("{} {}", need.resource, actions.join("|"))
    };
    needs_of_request(&frame, CLUSTER).expect("a body that can be read").iter().map(show).collect()
}

#[track_caller]
fn check(code: i32, fields: &[(&'static str, &str)], expected: &[&str]) {
    assert_eq!(needs(code, fields, ""), expected);
}

#[track_caller]
fn check_body(code: i32, body: &str, expected: &[&str]) {
    assert_eq!(needs(code, &[], body), expected);
}

#[test]
fn sends_need_their_topic() {
    check(SEND_MESSAGE, &[("topic", "T")], &["Topic:T Pub"]);
    check(SEND_MESSAGE_V2, &[("a", "P"), ("b", "T")], &["Topic:T Pub"]);
    check(SEND_BATCH_MESSAGE, &[("b", "T")], &["Topic:T Pub"]);
    check(SEND_MESSAGE_V2, &[], &["Topic: Pub"]);
    check(RECALL_MESSAGE, &[("topic", "T")], &["Topic:T Pub"]);
    check(END_TRANSACTION, &[("topic", "T")], &["Topic:T Pub"]);
    check(END_TRANSACTION, &[], &[]);
}

#[test]
fn whoever_consumes_may_return_messages_whatever_producer_group_is_named() {
    check(SEND_MESSAGE_V2, &[("a", "CLIENT_INNER_PRODUCER"), ("b", "%RETRY%G")], &["Group:G Sub"]);
    // The topic says it, not the group that somebody claims to be.
    check(SEND_MESSAGE, &[("producerGroup", "mine"), ("topic", "%RETRY%theirs")], &["Group:theirs Sub"]);
    check(CONSUMER_SEND_MSG_BACK, &[("group", "G"), ("originTopic", "T")], &["Group:G Sub"]);
}

#[test]
fn replies_are_free_and_other_topics_are_not() {
    check(SEND_REPLY_MESSAGE_V2, &[("b", "DefaultCluster_REPLY_TOPIC")], &[]);
    check(SEND_REPLY_MESSAGE_V2, &[("b", "T")], &["Topic:T Pub"]);
    check(SEND_REPLY_MESSAGE, &[("topic", "T")], &["Topic:T Pub"]);
}

#[test]
fn consuming_needs_topic_and_group() {
    for code in [PULL_MESSAGE, LITE_PULL_MESSAGE, POP_MESSAGE, ACK_MESSAGE, CHANGE_MESSAGE_INVISIBLETIME] {
        check(code, &[("topic", "T"), ("consumerGroup", "G")], &["Topic:T Sub", "Group:G Sub"]);
    }
    check(PULL_MESSAGE, &[("topic", "T")], &["Topic:T Sub", "Group: Sub"]);
}

#[test]
fn a_group_reads_its_own_retry_topics() {
    let check = |topic: &str, expected: &[&str]| {
        check(ACK_MESSAGE, &[("topic", topic), ("consumerGroup", "G")], expected);
    };
    check("%RETRY%G", &["Group:G Sub", "Group:G Sub"]);
    check("%RETRY%H", &["Group:H Sub", "Group:G Sub"]);
    check("%RETRY%G+T", &["Topic:T Sub", "Group:G Sub"]);
    // This may also be the retry topic of a group G_T, whose messages are of other topics.
    check("%RETRY%G_T", &["Topic:T Sub", "Group:G Sub"]);
}

#[test]
fn a_heartbeat_needs_what_its_consumers_read() {
    let body = r#"{"clientID":"c","producerDataSet":[{"groupName":"P"}],"consumerDataSet":[{"groupName":"G",
        "subscriptionDataSet":[{"topic":"T","subString":"*"},{"topic":"%RETRY%G","subString":"*"}]}]}"#;
    check_body(HEART_BEAT, body, &["Topic:T Sub", "Group:G Sub"]);
    check_body(HEART_BEAT, r#"{"clientID":"c","producerDataSet":[{"groupName":"P"}]}"#, &[]);
}

#[test]
fn other_bodies() {
    let queues = r#"{"consumerGroup":"G","clientId":"c","mqSet":[{"topic":"T","brokerName":"b","queueId":0},
        {"topic":"T","brokerName":"b","queueId":1},{"topic":"%RETRY%G","brokerName":"b","queueId":0}]}"#;
    check_body(LOCK_BATCH_MQ, queues, &["Group:G Sub", "Topic:T Sub"]);
    check_body(UNLOCK_BATCH_MQ, queues, &["Group:G Sub", "Topic:T Sub"]);
    let mode = r#"{"topic":"T","consumerGroup":"G","mode":"POP"}"#;
    check_body(SET_MESSAGE_REQUEST_MODE, mode, &["Topic:T Update", "Group:G Update"]);
    check_body(QUERY_ASSIGNMENT, mode, &["Topic:T Sub", "Group:G Sub"]);
    check_body(UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, r#"{"groupName":"G"}"#, &["Group:G Create"]);
    check_body(
        UPDATE_AND_CREATE_TOPIC_LIST,
        r#"{"topicConfigList":[{"topicName":"T"},{"topicName":"U"}]}"#,
        &["Topic:T Create", "Topic:U Create"],
    );
    let acks = r#"{"acks":[{"c":"G","t":"T","r":"0","so":1,"q":0,"rq":0,"pt":5,"it":6,"b":"AQ=="},
        {"c":"G","t":"T","r":"0","so":2,"q":0,"rq":0,"pt":5,"it":6,"b":"AQ=="}]}"#;
    check_body(BATCH_ACK_MESSAGE, acks, &["Topic:T Sub", "Group:G Sub"]);
}

#[test]
fn tools_need_what_they_ask_about() {
    check(UPDATE_AND_CREATE_TOPIC, &[("topic", "T")], &["Topic:T Create"]);
    check(DELETE_SUBSCRIPTIONGROUP, &[("groupName", "G")], &["Group:G Delete"]);
    check(
        GET_CONSUME_STATS,
        &[("consumerGroup", "G"), ("topicList", "T;U;")],
        &["Group:G Get", "Topic:T Get", "Topic:U Get"],
    );
    check(GET_MAX_OFFSET, &[("topic", "T")], &["Topic:T Sub|Get"]);
    for code in [UPDATE_BROKER_CONFIG, CLEAN_UNUSED_TOPIC, AUTH_CREATE_USER, AUTH_DELETE_ACL] {
        check(code, &[], &["Cluster:DefaultCluster Update"]);
    }
    check(GET_BROKER_CONFIG, &[], &["Cluster:DefaultCluster Get"]);
    check(GET_PARENT_TOPIC_INFO, &[("topic", "T")], &["Topic:T Get"]);
    check(GET_PARENT_TOPIC_INFO, &[], &["Cluster:DefaultCluster Get"]);
}

#[test]
fn what_nobody_knows_needs_the_right_to_change_the_cluster() {
    for code in [0, -1, 3442, UPDATE_AND_CREATE_STATIC_TOPIC, SET_COMMITLOG_READ_MODE] {
        assert!(!is_listed(code), "{code}");
        check(code, &[("topic", "T")], &["Cluster:DefaultCluster Update"]);
    }
}

#[test]
fn a_body_that_cannot_be_read_is_an_error() {
    for body in ["", "[]", "{", "7"] {
        let request = Command::request(HEART_BEAT).body(body.to_owned());
        assert!(needs_of_request(&request.as_frame(Encoding::Json), CLUSTER).is_err(), "{body}");
    }
}

/// Every field that some rule looks at.
const FIELDS: [&str; 9] = [
    "topic",
    "b",
    "consumerGroup",
    "group",
    "topicList",
    "filterGroups",
    "srcGroup",
    "parentTopic",
    "groupName",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a request has in its fields and its body, it needs something or is refused; nothing panics.
    #[test]
    fn no_request_gets_around_its_line(
        values in prop::array::uniform9("(%RETRY%|%DLQ%)?[a-zA-Z_+;, ]{0,9}"),
        body in prop_oneof![any::<Vec<u8>>(), "[\\[{}\\]\",:a-z0-9]{0,40}".prop_map(String::into_bytes)],
    ) {
        for (code, name) in ALL {
            let request = FIELDS.into_iter().zip(&values).fold(
                Command::request(*code).body(body.clone()),
                |request, (field, value)| request.with(field, value),
            );
            let needs = needs_of_request(&request.as_frame(Encoding::Json), CLUSTER);
            let needs_nothing = needs.is_ok_and(|needs| needs.is_empty());
            let may_need_nothing = matches!(rule(*code), Some(Rule::Named(_) | Rule::Body(_) | Rule::Reply(_)));
            prop_assert!(may_need_nothing || !needs_nothing, "{name}");
        }
    }
}
