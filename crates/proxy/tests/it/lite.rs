//! Consumers of lite topics.

use crate::client::{code, message};
use crate::errors::requests::{consumer, receive, seconds, subscribe_lite};
use crate::node::Node;
use crate::receiving::body;
use roxmq_proxy::schema::*;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Lite topics that came into being after the start were not delivered to whoever wanted all, until a restart.
#[tokio::test]
async fn who_wants_all_of_them_gets_new_ones_at_once() {
    const TOPICS: usize = 20;
    const POLLING: Duration = Duration::from_secs(20);
    let node = Node::start().await;
    node.topic("L", "LITE").await;
    let attributes = r#""+lite.bind.topic":"L","+lite.sub.wildcard":"true""#;
    node.group(&format!(r#"{{"groupName":"G","attributes":{{{attributes}}}}}"#)).await;
    let mut client = node.client("c").await;
    let mut stream = client.telemetry(consumer(ClientType::LitePushConsumer, "L", "G")).await;
    assert_eq!(code(stream.message().await.unwrap().unwrap().status.as_ref()), Code::Ok);
    let all = SyncLiteSubscriptionRequest {
        action: LiteSubscriptionAction::CompleteAdd.into(),
        ..subscribe_lite("L", "G", &[])
    };
    let request = client.request(all);
    let subscribed = client.stub.sync_lite_subscription(request).await.unwrap().into_inner();
    assert_eq!(code(subscribed.status.as_ref()), Code::Ok, "{subscribed:?}");

    let mut found = BTreeSet::new();
    let started = Instant::now();
    for number in 0..TOPICS {
        let waiting = tokio::spawn({
            let mut client = client.clone();
            let asked =
                ReceiveMessageRequest { long_polling_timeout: Some(seconds(20)), ..receive("L", "G") };
            async move { client.receive(asked).await }
        });
        node.until(|broker| broker.waiting_lite_pops() == 1).await;
        let mut first = message("L", &format!("id{number}"), &format!("new {number}"));
        first.system_properties.as_mut().unwrap().lite_topic = Some(format!("lite-{number}"));
        assert_eq!(code(client.send(vec![first]).await.status.as_ref()), Code::Ok);
        let (status, messages) = waiting.await.unwrap();
        assert_eq!(status.code(), Code::Ok, "{number}: {status:?}");
        found.extend(messages.iter().map(|message| body(message).to_owned()));
    }
    assert_eq!(found, (0..TOPICS).map(|number| format!("new {number}")).collect());
    assert!(started.elapsed() < POLLING, "they came when the receives ended");
    node.stop().await;
}
