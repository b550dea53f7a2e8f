//! Sends: what is stored, what is refused and how.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::body::list::KvTable;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::message_id::OffsetMessageId;

#[tokio::test]
async fn a_message_comes_back_as_it_was_sent() {
    let node = Node::start().await;
    let pairs = [("KEYS", "k1 k2"), ("TAGS", "TagA"), ("UNIQ_KEY", "7F01"), ("own", "é🚀")];
    let answer = node.call(send_to("T", 1, &pairs, "hello")).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!(answer.field("transactionId"), Some("7F01"));
    assert_eq!((answer.field("MSG_REGION"), answer.field("TRACE_ON")), (Some("DefaultRegion"), Some("true")));
    assert_eq!((number(&answer, "queueId"), number(&answer, "queueOffset")), (1, 0));
    let [message] = &node.all("T", 1).await[..] else { panic!("one message") };
    assert_eq!((message.text(), message.flag, message.topic.as_str()), ("hello", 7, "T"));
    for (name, value) in pairs {
        assert_eq!(message.property(name), Some(value));
    }
    assert_eq!(message.property("CLUSTER"), Some("DefaultCluster"));
    let id: OffsetMessageId = answer.field("msgId").expect("an id").parse().expect("an offset id");
    assert_eq!(id.phy_offset, message.phy_offset);
    node.stop().await;
}

#[tokio::test]
async fn the_long_field_names_and_oneway_sends() {
    let node = Node::start().await;
    let long = Command::request(request::SEND_MESSAGE)
        .with("producerGroup", "PG")
        .with("topic", "T")
        .with("defaultTopic", "TBW102")
        .with("defaultTopicQueueNums", 4)
        .with("queueId", 0)
        .with("sysFlag", 0)
        .with("bornTimestamp", 1_700_000_000_000_i64)
        .with("flag", 0)
        .with("properties", "")
        .body("long names");
    assert_code(&node.call(long.clone()).await, response::SUCCESS, &[]);
    node.oneway(long.body("nobody asks")).await;
    // Requests of one connection are carried out in order.
    let texts: Vec<_> = node.all("T", 0).await.iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(texts, ["long names", "nobody asks"]);
    assert!(node.all("T", 0).await[0].property("UNIQ_KEY").is_some_and(|key| key.len() == 32));
    node.stop().await;
}

#[tokio::test]
async fn topics_are_made_by_the_first_message_and_not_against_the_rules() {
    let node = Node::start().await;
    let check = async |topic: &str, code: i32, words: &[&str]| {
        assert_code(&node.call(send(topic, "x")).await, code, words);
    };
    check("ns%Topic_1-a|b", response::SUCCESS, &[]).await;
    let of_namespace = change(send("ns%Other", "x"), "c", "ns%TBW102");
    assert_code(&node.call(of_namespace).await, response::SUCCESS, &[]);
    check(&"t".repeat(127), response::SUCCESS, &[]).await;
    check(&"t".repeat(128), response::INVALID_PARAMETER, &["128", "127"]).await;
    check("", response::INVALID_PARAMETER, &["blank"]).await;
    check("a b", response::INVALID_PARAMETER, &["' '"]).await;
    check("a/b", response::INVALID_PARAMETER, &["'/'"]).await;
    check("🚀", response::INVALID_PARAMETER, &["🚀"]).await;
    for topic in ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "OFFSET_MOVED_EVENT", "SELF_TEST_TOPIC"]
    {
        check(topic, response::NO_PERMISSION, &[topic]).await;
    }
    let without_template = change(send("Unknown", "x"), "c", "NoSuchTopic");
    assert_code(&node.call(without_template).await, response::TOPIC_NOT_EXIST, &["Unknown", "NoSuchTopic"]);
    node.stop().await;

    let node = Node::start_with(&[("autoCreateTopicEnable", "false")]).await;
    let answer = node.call(send("T", "x")).await;
    assert_code(&answer, response::TOPIC_NOT_EXIST, &["T"]);
    assert_eq!(answer.field("MSG_REGION"), Some("DefaultRegion"));
    node.stop().await;
}

#[tokio::test]
async fn queue_ids_in_range_and_of_the_brokers_choice() {
    let node = Node::start().await;
    assert_code(&node.call(send_to("T", 3, &[], "x")).await, response::SUCCESS, &[]);
    for queue_id in [4, 77, 1_000_000, i32::MAX] {
        let answer = node.call(send_to("T", queue_id, &[], "x")).await;
        assert_code(&answer, response::INVALID_PARAMETER, &[&format!("queueId[{queue_id}]"), "T", "4"]);
    }
    let mut queues = std::collections::BTreeSet::new();
    for _ in 0..4 {
        queues.insert(number(&node.call(send_to("T", -1, &[], "x")).await, "queueId"));
    }
    assert_eq!(queues.len(), 4, "{queues:?}");
    node.stop().await;
}

#[tokio::test]
async fn bodies_up_to_the_limit() {
    let node = Node::start_with(&[("maxMessageSize", "65536")]).await;
    for (bytes, code) in [(65_535, 0), (65_536, 0), (65_537, 13), (200_000, 13)] {
        let answer = node.call(send("T", vec![b'b'; bytes])).await;
        let (bytes, words) = (bytes.to_string(), ["65536", "maxMessageSize"]);
        assert_code(&answer, code, if code == 0 { &[] } else { &words });
        assert!(code == 0 || answer.remark.expect("a remark").contains(&bytes));
    }
    assert_code(&node.call(send("T", "")).await, response::MESSAGE_ILLEGAL, &["empty"]);
    let sizes: Vec<_> = node.all("T", 0).await.iter().map(|message| message.body.len()).collect();
    assert_eq!(sizes, [65_535, 65_536]);
    node.stop().await;
}

/// Property strings over what 16 bits hold were once cut; the text named a limit that wasn't the real one.
#[tokio::test]
async fn property_strings_up_to_the_limit() {
    let node = Node::start().await;
    for bytes in [32_766, 32_767, 32_768, 65_535, 70_000] {
        let key = "UNIQ_KEY\u{1}7F\u{2}";
        let sent = format!("{key}k\u{1}{}\u{2}", "v".repeat(bytes - key.len() - 3));
        let answer = node.call(send_raw("T", 0, &sent, "x")).await;
        if bytes > 32_767 {
            assert_code(&answer, response::MESSAGE_ILLEGAL, &[&bytes.to_string(), "32767"]);
            continue;
        }
        assert_code(&answer, response::SUCCESS, &[]);
        let stored = node.all("T", 0).await.pop().expect("stored");
        assert!(stored.properties.starts_with(sent.as_bytes()), "{bytes}");
    }
    node.stop().await;
}

#[tokio::test]
async fn what_this_broker_does_not_promise_is_refused() {
    let node = Node::start().await;
    let check = async |pairs: &[(&str, &str)], code: i32, words: &[&str]| {
        assert_code(&node.call(send_to("T", 0, pairs, "x")).await, code, words);
    };
    check(&[("TIMER_DELAY_SEC", "ten")], response::MESSAGE_ILLEGAL, &["TIMER_DELAY_SEC", "ten"]).await;
    check(&[("DELAY", "soon")], response::MESSAGE_ILLEGAL, &["DELAY", "soon"]).await;
    check(&[("INNER_NUM", "2")], response::MESSAGE_ILLEGAL, &["INNER_NUM"]).await;
    let answer = node.call(change(send("T", "x"), "f", 0x80)).await;
    assert_code(&answer, response::MESSAGE_ILLEGAL, &["0x80"]);
    assert!(node.all("T", 0).await.is_empty());
    node.stop().await;
}

/// A read-only broker once took messages for all but ordered topics.
#[tokio::test]
async fn permissions_of_broker_and_topic_hold() {
    let node = Node::start().await;
    assert_code(&node.call(send("T", "before")).await, response::SUCCESS, &[]);
    let permit = async |value: &str| {
        let body = format!("brokerPermission={value}\n");
        assert_code(&node.call(Command::request(request::UPDATE_BROKER_CONFIG).body(body)).await, 0, &[]);
    };
    permit("4").await;
    let answer = node.call(send("T", "refused")).await;
    assert_code(&answer, response::NO_PERMISSION, &["brokerPermission is 4"]);
    assert_eq!(node.all("T", 0).await.len(), 1);
    permit("6").await;
    assert_code(&node.call(send("T", "after")).await, response::SUCCESS, &[]);

    for (perm, code) in [(0, 16), (4, 16), (2, 0), (6, 0)] {
        node.create_topic("P", 1, perm).await;
        let words = if code == 0 { String::new() } else { format!("perm is {perm}") };
        assert_code(&node.call(send("P", "x")).await, code, &[&words]);
    }
    node.stop().await;
}

#[tokio::test]
async fn neighbours_of_a_refused_message_are_stored() {
    let node = Node::start().await;
    let requests = (0..50).map(|n| if n % 7 == 3 { send("T", "") } else { send("T", n.to_string()) });
    let answers = node.call_all(requests.collect()).await;
    let codes: Vec<_> = answers.iter().map(|answer| answer.code).collect();
    let expected: Vec<_> = (0..50).map(|n| if n % 7 == 3 { 13 } else { 0 }).collect();
    assert_eq!(codes, expected);
    let texts: Vec<_> = node.all("T", 0).await.iter().map(|message| message.text().to_owned()).collect();
    let sent: Vec<_> = (0..50).filter(|n| n % 7 != 3).map(|n| n.to_string()).collect();
    assert_eq!(texts, sent);
    node.stop().await;
}

/// A connection remembers some topics from one burst to the next; these are more.
#[tokio::test]
async fn bursts_to_many_topics_are_stored_in_order_and_counted() {
    const TOPICS: usize = 40;
    let node = Node::start().await;
    for round in 0..3 {
        let sends =
            (0..TOPICS * 3).map(|n| send(&format!("T{}", n % TOPICS), format!("{round}.{}", n / TOPICS)));
        for answer in node.call_all(sends.collect()).await {
            assert_code(&answer, response::SUCCESS, &[]);
        }
    }
    let expected: Vec<_> = (0..3).flat_map(|round| (0..3).map(move |n| format!("{round}.{n}"))).collect();
    for number in 0..TOPICS {
        let name = format!("T{number}");
        let texts: Vec<_> =
            node.all(&name, 0).await.iter().map(|message| message.text().to_owned()).collect();
        assert_eq!(texts, expected, "{name}");
    }
    let figures = node.call(Command::request(request::GET_BROKER_RUNTIME_INFO)).await;
    let figures = KvTable::from_json_bytes(&figures.body).unwrap().table;
    assert_eq!(figures["msgPutTotalTodayNow"], (TOPICS * expected.len()).to_string());
    node.stop().await;
}

#[tokio::test]
async fn synchronous_flush_answers_when_the_disk_has_it() {
    let node = Node::start_with(&[("flushDiskType", "SYNC_FLUSH")]).await;
    let answers = node.call_all((0..100).map(|n| send("T", n.to_string())).collect()).await;
    for (n, answer) in answers.iter().enumerate() {
        assert_code(answer, response::SUCCESS, &[]);
        assert_eq!(number(answer, "queueOffset"), n as i64);
    }
    let in_a_hurry = send_to("T", 0, &[("WAIT", "false")], "quick");
    assert_code(&node.call(in_a_hurry).await, response::SUCCESS, &[]);
    let after = node.call(long_pull("g", "T", 0, 100, 5_000)).await;
    assert_eq!(messages(&after)[0].text(), "quick");
    node.stop().await;
}
