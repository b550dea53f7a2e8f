//! Receipt handles that are good for nothing.

use super::requests::*;
use super::{check, received};
use crate::node::Node;
use roxmq_proxy::schema::*;

#[tokio::test]
async fn of_all_kinds() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    // One that never sent settings: unlike the Java server, it may do all of it.
    let mut client = node.client("c").await;
    let client = &mut client;
    let invalid = Code::InvalidReceiptHandle;
    // Unlike the Java server, which fails inside and makes clients try again for ever.
    let unreadable = [
        "",
        "nonsense",
        "1 2 3",
        "0 1 2 3 0 broker-a 0",
        "0 1 1 1 7 broker-a 0 0 0",
        "a b c d e f g h i",
        "🚀",
    ];
    for handle in unreadable {
        check(client, handle, ack("T", "G", &[handle]), invalid, &[]).await;
        check(client, handle, change("T", "G", handle), invalid, &[]).await;
        check(client, handle, bury("T", "G", handle), invalid, &[]).await;
    }
    let expired = "0 1 1000 1 0 broker-a 0 0 0";
    check(client, "expired", ack("T", "G", &[expired]), invalid, &["expired"]).await;
    check(client, "expired", change("T", "G", expired), invalid, &["expired"]).await;
    let elsewhere = format!("0 {FUTURE_MS} 1000 1 0 elsewhere 0 0 0");
    check(client, "elsewhere", ack("T", "G", &[&elsewhere]), invalid, &["'elsewhere'"]).await;
    check(client, "elsewhere", change("T", "G", &elsewhere), invalid, &["'elsewhere'"]).await;
    check(client, "elsewhere", bury("T", "G", &elsewhere), invalid, &["'elsewhere'"]).await;
    let short = format!("0 {FUTURE_MS} 1000 1 0 broker-a 0 0");
    check(client, "of eight fields", bury("T", "G", &short), invalid, &[]).await;

    // The broker knows nothing of such a message. Unlike the Java server, whose clients try again for ever.
    let unknown = format!("0 {FUTURE_MS} 1000 1 0 broker-a 0 4711 0");
    check(client, "not there", ack("T", "G", &[&unknown]), invalid, &[]).await;
    check(client, "not there", change("T", "G", &unknown), invalid, &[]).await;
    let no_queue = format!("0 {FUTURE_MS} 1000 1 0 broker-a 99 0 0");
    check(client, "no queue", ack("T", "G", &[&no_queue]), Code::InternalServerError, &[]).await;
    check(client, "no queue", change("T", "G", &no_queue), Code::InternalServerError, &[]).await;
    let nowhere = format!("0 {FUTURE_MS} 1000 1 0 broker-a 0 0 {FUTURE_MS}");
    check(client, "not in the log", bury("T", "G", &nowhere), Code::InternalServerError, &[]).await;

    check(client, "none", ack("T", "G", &[]), Code::InternalServerError, &[]).await;
    for time in [-1, 12 * 3600 + 1, i64::MAX] {
        let request = ChangeInvisibleDurationRequest {
            invisible_duration: Some(seconds(time)),
            ..change("T", "G", expired)
        };
        let texts = ["43200000", "maxInvisibleTimeMills"];
        check(client, "a time", request, Code::IllegalInvisibleTime, &texts).await;
    }
    node.stop().await;
}

/// Each entry is answered for itself, and the answer has the code of them all if they have one.
#[tokio::test]
async fn several_in_one_call() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let good = received(&mut client).await;

    let request = client.request(ack("T", "G", &[&good, "nonsense", &good]));
    let answer = client.stub.ack_message(request).await.unwrap().into_inner();
    assert_eq!(answer.status.unwrap().code(), Code::MultipleResults);
    let entries: Vec<_> = answer
        .entries
        .iter()
        .map(|entry| (entry.receipt_handle.as_str(), entry.status.as_ref().unwrap().code()))
        .collect();
    let (ok, invalid) = (Code::Ok, Code::InvalidReceiptHandle);
    assert_eq!(entries, [(good.as_str(), ok), ("nonsense", invalid), (good.as_str(), ok)]);
    check(&mut client, "once more", ack("T", "G", &[&good]), Code::Ok, &[]).await;
    node.stop().await;
}

/// Acknowledging after the time was changed had no effect and no error.
#[tokio::test]
async fn from_before_the_time_was_changed() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let old = received(&mut client).await;
    let request = client.request(change("T", "G", &old));
    let changed = client.stub.change_invisible_duration(request).await.unwrap().into_inner();
    assert_eq!(changed.status.unwrap().code(), Code::Ok);
    check(&mut client, "the old one", ack("T", "G", &[&old]), Code::InvalidReceiptHandle, &[]).await;
    check(&mut client, "the new one", ack("T", "G", &[&changed.receipt_handle]), Code::Ok, &[]).await;
    node.stop().await;
}
