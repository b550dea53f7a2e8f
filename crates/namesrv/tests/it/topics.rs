//! Codes 205, 206, 216, 217, 224, 304, 311 to 313 and 327.

use crate::support::{TestNamesrv, registration};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;

async fn perm(ns: &TestNamesrv, topic: &str) -> char {
    let route = String::from_utf8(ns.route(topic).await.body.to_vec()).unwrap();
    route.split(r#""perm":"#).nth(1).and_then(|rest| rest.chars().next()).expect("a permission in the route")
}

#[tokio::test]
async fn lists_can_be_switched_off() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    assert_eq!(ns.topics().await, r#"{"topicList":["T","U"]}"#);
    let of_cluster = |name: &str| Command::request(request::GET_TOPICS_BY_CLUSTER).with("cluster", name);
    assert_eq!(ns.text(of_cluster("c")).await, r#"{"topicList":["T","U"]}"#);
    assert_eq!(ns.text(of_cluster("none")).await, r#"{"topicList":[]}"#);
    let system = ns.text(Command::request(request::GET_SYSTEM_TOPIC_LIST_FROM_NS)).await;
    assert_eq!(system, r#"{"brokerAddr":"a:0","topicList":["a","c"]}"#);

    let off = "enableTopicList=false\nenableAllTopicList=false\n";
    assert_eq!(ns.call(Command::request(request::UPDATE_NAMESRV_CONFIG).body(off)).await.code, 0);
    let all = Command::request(request::GET_ALL_TOPIC_LIST_FROM_NAMESERVER);
    assert_eq!(
        ns.refusal(all).await,
        (1, "disable: this list is switched off (enableAllTopicList=false)".to_owned())
    );
    for code in [
        request::GET_UNIT_TOPIC_LIST,
        request::GET_HAS_UNIT_SUB_TOPIC_LIST,
        request::GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        request::GET_TOPICS_BY_CLUSTER,
    ] {
        let (code, remark) = ns.refusal(Command::request(code)).await;
        assert_eq!(
            (code, remark.as_str()),
            (1, "disable: this list is switched off (enableTopicList=false)")
        );
    }
}

#[tokio::test]
async fn units_are_told_by_the_flags_of_topics() {
    let ns = TestNamesrv::start(&[]).await;
    let mut body = crate::support::body(&["none", "unit", "sub", "both"]);
    for (topic, flag) in [("unit", 1), ("sub", 2), ("both", 3)] {
        body.topic_table.topic_config_table.get_mut(topic).unwrap().topic_sys_flag = flag;
    }
    let register = crate::support::broker(request::REGISTER_BROKER, "a", 0);
    ns.call(register.body(roxmq_protocol::json::ToJson::to_json(&body))).await;
    let check = async |code: i32, expected: &str| {
        assert_eq!(ns.text(Command::request(code)).await, format!(r#"{{"topicList":[{expected}]}}"#));
    };
    check(request::GET_UNIT_TOPIC_LIST, r#""both","unit""#).await;
    check(request::GET_HAS_UNIT_SUB_TOPIC_LIST, r#""both","sub""#).await;
    check(request::GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, r#""sub""#).await;
}

#[tokio::test]
async fn write_permission_is_taken_and_given_back() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    let of = |code: i32, name: &str| Command::request(code).with("brokerName", name);
    let answer = ns.call(of(request::WIPE_WRITE_PERM_OF_BROKER, "a")).await;
    assert_eq!((answer.code, answer.field("wipeTopicCount")), (0, Some("2")));
    assert_eq!(perm(&ns, "T").await, '4');
    ns.call(registration("a", 0, &["T", "U", "new"])).await;
    assert_eq!((perm(&ns, "T").await, perm(&ns, "new").await), ('4', '6'));
    let answer = ns.call(of(request::ADD_WRITE_PERM_OF_BROKER, "a")).await;
    assert_eq!((answer.code, answer.field("addTopicCount")), (0, Some("3")));
    assert_eq!(perm(&ns, "T").await, '6');
    let answer = ns.call(of(request::WIPE_WRITE_PERM_OF_BROKER, "none")).await;
    assert_eq!((answer.code, answer.field("wipeTopicCount")), (0, Some("0")));
    assert_eq!(ns.refusal(Command::request(request::ADD_WRITE_PERM_OF_BROKER)).await.0, 1);
}

#[tokio::test]
async fn a_deleted_topic_leaves_nothing_behind() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    ns.order("T", "a:4").await;
    let delete = |topic: &str| Command::request(request::DELETE_TOPIC_IN_NAMESRV).with("topic", topic);
    assert_eq!(ns.call(delete("T").with("clusterName", "other")).await.code, 0);
    assert_eq!(ns.route("T").await.code, 0);
    assert_eq!(ns.call(delete("T").with("clusterName", "c")).await.code, 0);
    assert_eq!(ns.route("T").await.code, 17);
    let get =
        Command::request(request::GET_KV_CONFIG).with("namespace", "ORDER_TOPIC_CONFIG").with("key", "T");
    assert_eq!(ns.refusal(get).await.0, 22);
    assert_eq!(ns.call(delete("never there")).await.code, 0);
    assert_eq!(ns.refusal(Command::request(request::DELETE_TOPIC_IN_NAMESRV)).await.0, 1);
}

#[tokio::test]
async fn a_single_topic_can_be_told() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    let tell = |body: &str| {
        Command::request(request::REGISTER_TOPIC_IN_NAMESRV).with("topic", "N").body(body.to_owned())
    };
    let on = |name: &str| {
        format!(
            r#"{{"queueDatas":[{{"brokerName":"{name}","readQueueNums":2,"writeQueueNums":2,"perm":6,"topicSysFlag":0}}]}}"#
        )
    };
    assert_eq!(ns.call(tell("")).await.code, 0);
    assert_eq!(ns.call(tell(&on("ghost"))).await.code, 0);
    assert_eq!(ns.route("N").await.code, 17);
    assert_eq!(ns.call(tell(&on("a"))).await.code, 0);
    assert_eq!(ns.route("N").await.code, 0);
    assert_eq!(ns.refusal(tell("{")).await.0, 1);
}
