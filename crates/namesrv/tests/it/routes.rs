//! Codes 105, 106 and 901.

use crate::support::{TestNamesrv, broker, registration};
use roxmq_namesrv::{AddressRule, Asker};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::version;
use std::borrow::Cow;
use std::sync::Arc;

const FAQ: &str = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.";

fn route(topic: &str, version: i32) -> Command {
    let mut request = Command::request(request::GET_ROUTEINFO_BY_TOPIC).with("topic", topic);
    request.version = version;
    request
}

#[tokio::test]
async fn routes_have_the_form_that_the_client_reads() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    let json = |key: &str| {
        format!(
            r#"{{"brokerDatas":[{{"brokerAddrs":{{{key}:"a:0"}},"brokerName":"a","cluster":"c","enableActingMaster":false}}],"filterServerTable":{{}},"queueDatas":[{{"brokerName":"a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}}]}}"#
        )
    };
    let (bare, quoted) = (json("0"), json("\"0\""));
    assert_eq!(ns.text(route("T", version::V4_9_4 - 1)).await, bare);
    assert_eq!(ns.text(route("T", version::V4_9_4)).await, quoted);
    assert_eq!(ns.text(route("T", 0).with("acceptStandardJsonOnly", true)).await, quoted);
    let zone = |request: Command| request.with("__ZONE_MODE", true).with("__ZONE_NAME", "z");
    let elsewhere = r#"{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}"#;
    assert_eq!(ns.text(zone(route("T", version::V5_5_0))).await, elsewhere);
    assert_eq!(ns.text(route("T", version::V5_5_0).with("__ZONE_NAME", "z")).await, quoted);
}

#[tokio::test]
async fn topics_without_a_broker_have_no_route() {
    let ns = TestNamesrv::start(&[]).await;
    let none = |topic: &str| (17, format!("No topic route info in name server for the topic: {topic}{FAQ}"));
    assert_eq!(ns.refusal(route("T", version::V5_5_0)).await, none("T"));
    assert_eq!(ns.refusal(Command::request(request::GET_ROUTEINFO_BY_TOPIC)).await, none("null"));
}

/// Clients with a namespace ask for `ns%TBW102`, which no broker registers, and could never make a topic.
#[tokio::test]
async fn the_template_of_new_topics_has_a_route_in_every_namespace() {
    let ns = TestNamesrv::start(&[]).await;
    assert_eq!(ns.route("ns%TBW102").await.code, 17);
    ns.call(registration("a", 0, &["TBW102", "T"])).await;
    let of = async |topic: &str| ns.text(route(topic, version::V5_5_0)).await;
    assert_eq!(of("ns%TBW102").await, of("TBW102").await);
    assert_eq!(ns.route("ns%T").await.code, 17);
}

#[tokio::test]
async fn no_route_is_given_while_brokers_still_register() {
    let ns = TestNamesrv::start(&[("needWaitForService", "true"), ("waitSecondsForService", "3600")]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    let (code, remark) = ns.refusal(route("T", version::V5_5_0)).await;
    assert_eq!(code, 1);
    assert!(remark.starts_with("name server not ready"), "{remark}");
    let change = Command::request(request::UPDATE_NAMESRV_CONFIG).body("waitSecondsForService=0");
    assert_eq!(ns.call(change).await.code, 0);
    assert_eq!(ns.route("T").await.code, 0);
}

#[tokio::test]
async fn the_order_configuration_is_part_of_the_route_if_that_is_on() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    ns.order("T", "a:4").await;
    let order = r#""orderTopicConf":"a:4""#;
    assert!(!ns.text(route("T", 0)).await.contains(order));
    ns.call(Command::request(request::UPDATE_NAMESRV_CONFIG).body("orderMessageEnable=true")).await;
    assert!(ns.text(route("T", 0)).await.contains(order));
    assert!(!ns.text(route("U", 0)).await.contains("orderTopicConf"));
}

#[tokio::test]
async fn clusters_and_sets_are_listed_with_bare_keys() {
    let ns = TestNamesrv::start(&[]).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    ns.call(registration("a", 1, &["T", "U"])).await;
    assert_eq!(
        ns.text(Command::request(request::GET_BROKER_CLUSTER_INFO)).await,
        r#"{"brokerAddrTable":{"a":{"brokerAddrs":{0:"a:0",1:"a:1"},"brokerName":"a","cluster":"c","enableActingMaster":false}},"clusterAddrTable":{"c":["a"]}}"#
    );
    let group = |name: &str| broker(request::GET_BROKER_MEMBER_GROUP, name, 0);
    assert_eq!(
        ns.text(group("a")).await,
        r#"{"brokerMemberGroup":{"brokerAddrs":{0:"a:0",1:"a:1"},"brokerName":"a","cluster":"c"}}"#
    );
    assert_eq!(
        ns.text(group("none")).await,
        r#"{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"none","cluster":"c"}}"#
    );
    assert_eq!(ns.refusal(Command::request(request::GET_BROKER_MEMBER_GROUP)).await.0, 1);
}

/// Answers with the host by which it was asked.
struct AsAsked;

impl AddressRule for AsAsked {
    fn choose<'a>(&self, asker: &Asker, name: &str, id: i64, registered: &'a str) -> Cow<'a, str> {
        assert!(asker.remote.ip().is_loopback());
        Cow::Owned(format!("{}/{name}/{id}/{registered}", asker.local.ip()))
    }
}

#[tokio::test]
async fn addresses_are_chosen_for_who_asks() {
    let ns = TestNamesrv::start_in(tempfile::tempdir().unwrap(), &[], Arc::new(AsAsked)).await;
    ns.call(registration("a", 0, &["T", "U"])).await;
    let chosen = r#"{0:"127.0.0.1/a/0/a:0"}"#;
    assert!(ns.text(route("T", 0)).await.contains(chosen));
    assert!(ns.text(Command::request(request::GET_BROKER_CLUSTER_INFO)).await.contains(chosen));
    let group = ns.text(broker(request::GET_BROKER_MEMBER_GROUP, "a", 0)).await;
    assert!(group.contains(r#"{0:"a:0"}"#), "brokers are told what was registered: {group}");
}
