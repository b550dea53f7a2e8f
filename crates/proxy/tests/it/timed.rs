//! Messages with a time of delivery.

use crate::client::{code, message};
use crate::node::Node;
use crate::receiving::*;
use crate::remoting;
use prost_types::Timestamp;
use roxmq_proxy::schema::*;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// Timed messages were delivered at once, or never.
#[tokio::test]
async fn all_come_and_none_too_early() {
    const COUNT: usize = 200;
    let node = Node::start().await;
    node.topic("D", "DELAY").await;
    let mut client = node.client("c").await;
    begin(&mut client, "D").await;
    let mut expected = Vec::new();
    for number in 0..COUNT {
        let due_ms = now().as_millis() as u64 + 2_000;
        let mut timed = message("D", &number.to_string(), &format!("{due_ms} {number}"));
        let due = Timestamp { seconds: (due_ms / 1_000) as i64, nanos: (due_ms % 1_000) as i32 * 1_000_000 };
        timed.system_properties.as_mut().unwrap().delivery_timestamp = Some(due);
        expected.push(format!("{due_ms} {number}"));
        assert_eq!(code(client.send(vec![timed]).await.status.as_ref()), Code::Ok);
    }
    let mut came = Vec::new();
    while came.len() < COUNT {
        let (status, messages) = client.receive(waiting("D")).await;
        assert_eq!(status.code(), Code::Ok, "{} came: {status:?}", came.len());
        let now_ms = now().as_millis() as u64;
        for message in &messages {
            let due_ms: u64 = body(message).split(' ').next().unwrap().parse().unwrap();
            assert!(now_ms >= due_ms, "{} ms too early", due_ms - now_ms);
            let due = message.system_properties.as_ref().unwrap().delivery_timestamp.unwrap();
            assert_eq!((due.seconds as u64) * 1_000 + due.nanos as u64 / 1_000_000, due_ms);
        }
        acknowledge(&mut client, "D", &messages).await;
        came.extend(messages);
    }
    expected.sort_unstable();
    assert_eq!(bodies(&came), expected);
    node.stop().await;
}

/// One message whose time was no time broke every receive that met it, for the messages around it too.
#[tokio::test]
async fn a_time_that_is_none_harms_no_other_message() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    begin(&mut client, "T").await;
    let (mut good, mut taken) = (Vec::new(), Vec::new());
    for (number, time) in [
        "TIMER_DELIVER_MS\u{1}abc",
        "TIMER_DELAY_SEC\u{1}",
        "TIMER_DELAY_MS\u{1}-",
        "__STARTDELIVERTIME\u{1}x",
    ]
    .into_iter()
    .enumerate()
    {
        for body in [format!("before {number}"), format!("after {number}")] {
            if body.starts_with("after") {
                let bad = remoting::send("T", &format!("{time}\u{2}UNIQ_KEY\u{1}bad"), "bad");
                let answer = node.ask(bad).await;
                // It is refused, or comes like one without a time.
                if answer.code == 0 {
                    good.push("bad".to_owned());
                }
            }
            node.operate(remoting::send("T", "", &body)).await;
            good.push(body);
        }
    }
    good.sort_unstable();
    taken.extend(take(&mut client, "T", good.len()).await);
    assert_eq!(bodies(&taken), good);
    nothing(&mut client, "T").await;
    node.stop().await;
}
