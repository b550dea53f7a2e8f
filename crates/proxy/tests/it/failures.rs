//! Brokers and name servers that go and come back under a proxy.

use crate::client::{Peer, code, message, receipt, resource};
use crate::cluster::{Cluster, PATIENCE, TestNamesrv, TestProxy, until};
use roxmq_proxy::invoker::Invoker;
use roxmq_proxy::schema::*;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

fn queue_of(broker: &str) -> MessageQueue {
    let broker = Broker { name: broker.to_owned(), ..Broker::default() };
    MessageQueue { topic: Some(resource("T")), id: -1, broker: Some(broker), ..MessageQueue::default() }
}

async fn receive(client: &mut Peer, broker: &str) -> (Status, Vec<Message>) {
    let asked = ReceiveMessageRequest {
        group: Some(resource("G")),
        message_queue: Some(queue_of(broker)),
        batch_size: 32,
        invisible_duration: Some(prost_types::Duration { seconds: 30, nanos: 0 }),
        long_polling_timeout: Some(prost_types::Duration { seconds: 0, nanos: 50_000_000 }),
        ..ReceiveMessageRequest::default()
    };
    client.receive(asked).await
}

async fn ack(client: &mut Peer, message: &Message) -> Code {
    let system = message.system_properties.as_ref().unwrap();
    let entry = AckMessageEntry {
        message_id: system.message_id.clone(),
        receipt_handle: receipt(message),
        ..AckMessageEntry::default()
    };
    let asked =
        AckMessageRequest { group: Some(resource("G")), topic: Some(resource("T")), entries: vec![entry] };
    let request = client.request(asked);
    let answer = client.stub.ack_message(request).await.unwrap().into_inner();
    code(answer.entries[0].status.as_ref())
}

fn body(message: &Message) -> String {
    String::from_utf8(message.body.to_vec()).unwrap()
}

/// What is received from a broker until there is nothing for a while, acknowledged or not.
async fn drain(client: &mut Peer, broker: &str, count: usize) -> Vec<Message> {
    let mut all = Vec::new();
    let end = Instant::now() + PATIENCE;
    while all.len() < count {
        assert!(Instant::now() < end, "{} of {count} messages came", all.len());
        all.extend(receive(client, broker).await.1);
    }
    all
}

fn broker_of(message: &Message) -> String {
    receipt(message).split(' ').nth(5).unwrap().to_owned()
}

#[tokio::test]
async fn messages_go_over_both_brokers_and_come_back() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let mut client = cluster.proxy.client("c").await;
    let route = client.route("T").await;
    let here = i32::from(cluster.proxy.address().port());
    let brokers: BTreeSet<_> = route
        .message_queues
        .iter()
        .map(|queue| {
            let broker = queue.broker.as_ref().unwrap();
            (broker.name.as_str(), broker.endpoints.as_ref().unwrap().addresses[0].port)
        })
        .collect();
    assert_eq!(brokers, [("broker-a", here), ("broker-b", here)].into());
    for number in 0..8 {
        let sent = client.send(vec![message("T", &number.to_string(), &number.to_string())]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
    }
    let mut got = drain(&mut client, "broker-a", 4).await;
    got.extend(drain(&mut client, "broker-b", 4).await);
    let bodies: BTreeSet<_> = got.iter().map(body).collect();
    assert_eq!(bodies, (0..8).map(|number| number.to_string()).collect());
    let brokers: Vec<_> = got.iter().map(broker_of).collect();
    assert_eq!(brokers, [["broker-a"; 4], ["broker-b"; 4]].concat());
    for message in &got {
        assert_eq!(ack(&mut client, message).await, Code::Ok);
    }
    assert_eq!(receive(&mut client, "broker-a").await.0.code(), Code::MessageNotFound);

    let asked =
        QueryAssignmentRequest { topic: Some(resource("T")), group: Some(resource("G")), endpoints: None };
    let request = client.request(asked);
    let answer = client.stub.query_assignment(request).await.unwrap().into_inner();
    let queues = answer.assignments.iter().map(|assigned| assigned.message_queue.as_ref().unwrap());
    let queues: Vec<_> =
        queues.map(|queue| (queue.broker.as_ref().unwrap().name.as_str(), queue.id)).collect();
    assert_eq!(queues, [("broker-a", -1), ("broker-b", -1)]);
    cluster.stop().await;
}

#[tokio::test]
async fn sends_and_receives_go_on_without_one_broker_and_it_comes_back() {
    let mut cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let mut client = cluster.proxy.client("c").await;
    for number in 0..4 {
        let sent = client.send(vec![message("T", "id", &number.to_string())]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok);
    }
    let of_b = drain(&mut client, "broker-b", 2).await;
    assert_eq!(broker_of(&of_b[0]), "broker-b");

    cluster.b.break_down().await;
    for number in 4..24 {
        let sent = client.send(vec![message("T", "id", &number.to_string())]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
    }
    // Its broker is known, so the client may try again; one that never was is no broker.
    assert_eq!(ack(&mut client, &of_b[0]).await, Code::InternalServerError);
    let mut of_nobody = of_b[0].clone();
    let system = of_nobody.system_properties.as_mut().unwrap();
    system.receipt_handle =
        system.receipt_handle.as_ref().map(|handle| handle.replace("broker-b", "broker-x"));
    assert_eq!(ack(&mut client, &of_nobody).await, Code::InvalidReceiptHandle);
    cluster.queues("T", 2).await;
    // Whoever wants to receive from the broker that is gone gets messages of the other.
    let of_a = drain(&mut client, "broker-b", 22).await;
    assert!(of_a.iter().all(|message| broker_of(message) == "broker-a"));

    cluster.b.start().await;
    cluster.queues("T", 4).await;
    until("the acknowledgement is taken", || {
        let (mut client, message) = (client.clone(), of_b[0].clone());
        async move { ack(&mut client, &message).await == Code::Ok }
    })
    .await;
    until("messages go to both brokers", || {
        let mut client = client.clone();
        async move {
            let sent = client.send(vec![message("T", "id", "again")]).await;
            assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
            let (_, got) = receive(&mut client, "broker-b").await;
            got.iter().any(|message| broker_of(message) == "broker-b" && body(message) == "again")
        }
    })
    .await;
    cluster.stop().await;
}

/// Sends of groups failed for as long as the name servers knew a broker that was gone: two minutes after a kill.
#[tokio::test]
async fn groups_of_messages_go_on_without_their_broker() {
    let mut cluster = Cluster::start().await;
    cluster.topic("T", "FIFO").await;
    let mut client = cluster.proxy.client("c").await;
    send_to_groups(&mut client).await;
    let (to_a, to_b) = (cluster.a.stored("T", 2).await, cluster.b.stored("T", 2).await);
    assert!(to_a > 0 && to_b > 0, "{to_a} of broker a, {to_b} of broker b");
    cluster.b.break_down().await;
    for round in 0..3 {
        send_to_groups(&mut client).await;
        assert_eq!(cluster.a.stored("T", 2).await, to_a + (round + 1) * GROUPS);
    }
    cluster.b.start().await;
    let before = cluster.b.stored("T", 2).await;
    until("groups are with their broker again", || {
        let (mut client, b) = (client.clone(), &cluster.b);
        async move {
            send_to_groups(&mut client).await;
            b.stored("T", 2).await > before
        }
    })
    .await;
    cluster.stop().await;
}

/// Messages of a group that went elsewhere over a quick restart were received before those that they came after.
#[tokio::test]
async fn groups_of_messages_wait_for_a_broker_that_is_restarted() {
    let mut cluster = Cluster::start().await;
    cluster.topic("T", "FIFO").await;
    let mut client = cluster.proxy.client("c").await;
    send_to_groups(&mut client).await;
    let shares = stored_by_both(&cluster).await;
    // The queues of the broker that goes come before those of the other, too.
    for is_first in [false, true] {
        let start = Instant::now();
        loop {
            assert!(Instant::now() < start + PATIENCE, "no restart was quick");
            let before = stored_by_both(&cluster).await;
            let took = restart_under_sends(&mut cluster, is_first, &client).await;
            // What takes a slow disk longer than groups wait says nothing.
            if took < Duration::from_secs(1) {
                let after = stored_by_both(&cluster).await;
                assert_eq!([after[0] - before[0], after[1] - before[1]], shares);
                break;
            }
        }
    }
    cluster.stop().await;
}

async fn stored_by_both(cluster: &Cluster) -> [i64; 2] {
    [cluster.a.stored("T", 2).await, cluster.b.stored("T", 2).await]
}

/// For how long the broker was away.
async fn restart_under_sends(cluster: &mut Cluster, is_first: bool, client: &Peer) -> Duration {
    let start = Instant::now();
    let (name, broker) = if is_first { ("broker-a", &mut cluster.a) } else { ("broker-b", &mut cluster.b) };
    broker.break_down().await;
    let sender = tokio::spawn({
        let mut client = client.clone();
        async move { send_to_groups(&mut client).await }
    });
    until("a send has been refused", || async { cluster.proxy.invoker.retry(name).is_some() }).await;
    broker.start().await;
    let took = start.elapsed();
    sender.await.unwrap();
    took
}

/// Some of them belong to each broker.
const GROUPS: i64 = 16;

async fn send_to_groups(client: &mut Peer) {
    for group in 0..GROUPS {
        let mut message = message("T", "id", "x");
        message.system_properties.as_mut().unwrap().message_group = Some(format!("group-{group}"));
        let sent = client.send(vec![message]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
    }
}

#[tokio::test]
async fn brokers_may_speak_tls_only() {
    let cluster = Cluster::start_secure().await;
    cluster.topic("T", "NORMAL").await;
    let mut client = cluster.proxy.client("c").await;
    for number in 0..4 {
        let sent = client.send(vec![message("T", "id", &number.to_string())]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
    }
    let got = drain(&mut client, "broker-b", 2).await;
    assert_eq!(ack(&mut client, &got[0]).await, Code::Ok);
    let plain = TestProxy::start(&cluster.namesrv_address(), None).await;
    let sent = plain.client("d").await.send(vec![message("T", "id", "x")]).await;
    assert_eq!(code(sent.status.as_ref()), Code::InternalServerError, "{sent:?}");
    plain.stop().await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_proxy_starts_alone_and_says_what_is_missing() {
    let mut namesrv = TestNamesrv::new().await;
    namesrv.stop().await;
    let proxy = TestProxy::start(&format!("127.0.0.1:1;{}", namesrv.address()), None).await;
    let reason = proxy.invoker.readiness().unwrap_err();
    assert!(reason.contains("no name server answers (127.0.0.1:1: "), "{reason}");
    let mut client = proxy.client("c").await;
    let sent = client.send(vec![message("T", "id", "x")]).await;
    assert_eq!(code(sent.status.as_ref()), Code::InternalServerError);

    namesrv.start().await;
    until("the name server is found", || async {
        proxy.invoker.readiness() == Err("the name servers know no broker".to_owned())
    })
    .await;
    proxy.stop().await;
    namesrv.stop().await;
}

#[tokio::test]
async fn a_name_server_may_be_away() {
    let mut cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let mut client = cluster.proxy.client("c").await;
    let sent = client.send(vec![message("T", "id", "0")]).await;
    assert_eq!(code(sent.status.as_ref()), Code::Ok);
    cluster.stop_namesrv().await;
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        let sent = client.send(vec![message("T", "id", "1")]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let sent = client.send(vec![message("Other", "id", "1")]).await;
    assert_eq!(code(sent.status.as_ref()), Code::InternalServerError);
    // One that has forgotten everything is no reason to stop, either.
    cluster.start_namesrv().await;
    for _ in 0..20 {
        let sent = client.send(vec![message("T", "id", "2")]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
    }
    cluster.stop().await;
}
