//! Lite topics, and groups that are for nothing else.

use super::check;
use super::requests::*;
use crate::client::Peer;
use crate::node::Node;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::settings::PubSub;
use roxmq_proxy::schema::*;

/// The group G is bound to the topic L, and N to none.
async fn start(keys: &[(&str, &str)], attributes: &str) -> (Node, Peer) {
    start_with(keys, ProxyConfig::default(), attributes).await
}

async fn start_with(keys: &[(&str, &str)], config: ProxyConfig, attributes: &str) -> (Node, Peer) {
    let node = Node::start_with(keys, config).await;
    node.topic("L", "LITE").await;
    node.topic("T", "NORMAL").await;
    let group = format!(r#"{{"groupName":"G","attributes":{{"+lite.bind.topic":"L"{attributes}}}}}"#);
    node.group(&group).await;
    node.group(r#"{"groupName":"N"}"#).await;
    let client = node.client("c").await;
    (node, client)
}

#[tokio::test]
async fn groups_of_them() {
    let config = ProxyConfig { facts_kept_ms: 0, ..ProxyConfig::default() };
    let (node, mut client) = start_with(&[], config, "").await;
    let client = &mut client;
    let (lite, push) = (ClientType::LitePushConsumer, ClientType::PushConsumer);
    let invalid = tonic::Code::InvalidArgument;
    let attribute = "lite.bind.topic";
    check(client, "a group of none", consumer(lite, "L", "N"), invalid, &["group N", attribute]).await;
    check(client, "another client", consumer(push, "L", "G"), invalid, &["group G", "L"]).await;
    check(client, "another topic", consumer(lite, "T", "G"), invalid, &["L", "T"]).await;
    let no_lite = subscribe_lite("L", "N", &["l"]);
    check(client, "a group of none", no_lite, Code::IllegalConsumerGroup, &["group N", attribute]).await;
    check(client, "another topic", subscribe_lite("T", "G", &["l"]), Code::IllegalTopic, &["L", "T"]).await;
    check(client, "a good one", consumer(lite, "L", "G"), Code::Ok, &[]).await;
    check(client, "a good one", subscribe_lite("L", "G", &["l"]), Code::Ok, &[]).await;
    check(client, "heartbeat", heartbeat("G"), Code::Ok, &[]).await;

    // The group was bound to another topic since.
    node.topic("O", "LITE").await;
    node.group(r#"{"groupName":"G","attributes":{"+lite.bind.topic":"O"}}"#).await;
    check(client, "heartbeat", heartbeat("G"), Code::IllegalTopic, &["O", "L"]).await;
    node.stop().await;
}

#[tokio::test]
async fn names_of_them() {
    let (node, mut client) = start(&[], "").await;
    check(&mut client, "settings", consumer(ClientType::LitePushConsumer, "L", "G"), Code::Ok, &[]).await;
    let long = "l".repeat(65);
    for name in ["", " ", "a b", "a.b", "ü", &long] {
        let request = subscribe_lite("L", "G", &["good", name]);
        check(&mut client, name, request, Code::IllegalLiteTopic, &[]).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn too_many_of_them() {
    let keys = [("maxLiteSubscriptionCount", "2")];
    let (node, mut client) = start(&keys, r#","+lite.sub.client.quota":"1""#).await;
    let client = &mut client;
    check(client, "settings", consumer(ClientType::LitePushConsumer, "L", "G"), Code::Ok, &[]).await;
    check(client, "two", subscribe_lite("L", "G", &["a", "b"]), Code::Ok, &[]).await;
    let exceeded = Code::LiteSubscriptionQuotaExceeded;
    let texts = ["2", "maxLiteSubscriptionCount"];
    check(client, "a third", subscribe_lite("L", "G", &["c"]), exceeded, &texts).await;
    let names: Vec<_> = (0..302).map(|number| format!("l{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let texts = ["302", "301", "lite.sub.client.quota"];
    check(client, "far too many", subscribe_lite("L", "G", &names), exceeded, &texts).await;
    node.stop().await;
}

#[tokio::test]
async fn too_often() {
    let config = ProxyConfig { lite_subscriptions_per_s_max: 0, ..ProxyConfig::default() };
    let (node, mut client) = start_with(&[], config, "").await;
    let client = &mut client;
    check(client, "settings", consumer(ClientType::LitePushConsumer, "L", "G"), Code::Ok, &[]).await;
    let texts = ["0", "maxSyncLiteSubscriptionRate"];
    check(client, "more", subscribe_lite("L", "G", &["a"]), Code::TooManyRequests, &texts).await;
    let all = SyncLiteSubscriptionRequest {
        action: LiteSubscriptionAction::CompleteAdd.into(),
        ..subscribe_lite("L", "G", &["a"])
    };
    check(client, "all of them", all, Code::Ok, &[]).await;
    node.stop().await;
}

#[tokio::test]
async fn received_by_others() {
    let (node, mut client) = start(&[], "").await;
    let client = &mut client;
    check(client, "no settings", receive("L", "G"), Code::BadRequest, &["settings"]).await;
    check(client, "settings", consumer(ClientType::LitePushConsumer, "L", "G"), Code::Ok, &[]).await;
    check(client, "with settings", receive("L", "G"), Code::MessageNotFound, &[]).await;
    let mut other = node.client("d").await;
    let mut settings = consumer(ClientType::PushConsumer, "T", "N");
    if let Some(PubSub::Subscription(subscription)) = &mut settings.pub_sub {
        subscription.subscriptions.clear();
    }
    check(&mut other, "settings", settings, Code::Ok, &[]).await;
    check(&mut other, "another client", receive("L", "G"), Code::IllegalConsumerGroup, &["group G"]).await;
    node.stop().await;
}

/// Lite topics are many: who doesn't get done with the messages of some gets none of others.
#[tokio::test]
async fn received_by_who_has_enough() {
    let config = ProxyConfig { lite_unacknowledged_max: 0, ..ProxyConfig::default() };
    let (node, mut client) = start_with(&[], config, "").await;
    let client = &mut client;
    check(client, "settings", consumer(ClientType::LitePushConsumer, "L", "G"), Code::Ok, &[]).await;
    check(client, "a lite topic", subscribe_lite("L", "G", &["l"]), Code::Ok, &[]).await;
    let mut sent = send("L");
    sent.messages[0].system_properties.as_mut().expect("it has an id").lite_topic = Some("l".to_owned());
    check(client, "a message", sent, Code::Ok, &[]).await;
    let asked = || ReceiveMessageRequest {
        auto_renew: true,
        long_polling_timeout: Some(seconds(20)),
        ..receive("L", "G")
    };
    let (status, messages) = client.receive(asked()).await;
    assert_eq!((status.code(), messages.len()), (Code::Ok, 1), "{status:?}");
    check(client, "more", asked(), Code::Forbidden, &["0", "maxLiteRenewNumPerChannel"]).await;
    node.stop().await;
}
