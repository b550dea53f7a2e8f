//! What a commit and a rollback do, and what they can't.

use super::*;
use roxmq_protocol::code::response;
use roxmq_protocol::record::Record;

#[tokio::test]
async fn a_half_message_waits_out_of_sight_and_comes_with_the_commit() {
    let node = Node::start().await;
    let more = [("TAGS", "TagA"), ("KEYS", "k"), ("TRANSACTION_CHECK_TIMES", "9")];
    let answer = node.call(half(2, &more, "one")).await;
    let prepared = Half::of(&answer);
    assert_eq!((prepared.offset, number(&answer, "queueId")), (0, 2));
    assert_eq!(answer.field("transactionId"), Some("Uone"));
    assert!(node.all("T", 2).await.is_empty());
    let waiting = node.all(HALF_TOPIC, 0).await.remove(0);
    assert_eq!((waiting.phy_offset, waiting.flag), (prepared.phy_offset, 7));
    for (name, value) in [
        ("REAL_TOPIC", Some("T")),
        ("REAL_QID", Some("2")),
        ("__transactionId__", Some("Uone")),
        ("TRAN_MSG", Some("true")),
        ("PGROUP", Some(GROUP)),
        ("TRANSACTION_CHECK_TIMES", None),
    ] {
        assert_eq!(waiting.property(name), value, "{name}");
    }

    assert_code(&node.call(prepared.commit()).await, response::SUCCESS, &[]);
    let message = node.all("T", 2).await.remove(0);
    assert_eq!((message.text(), message.queue_offset, message.flag), ("one", 0, 7));
    for (name, value) in [
        ("REAL_TOPIC", None),
        ("REAL_QID", None),
        ("__transactionId__", Some("Uone")),
        ("TRAN_MSG", Some("true")),
        ("UNIQ_KEY", Some("Uone")),
        ("TAGS", Some("TagA")),
    ] {
        assert_eq!(message.property(name), value, "{name}");
    }
    let pulled = node.call(change(pull("g", "T", 2, 0), "subscription", "TagA")).await;
    let record = Record::decode(&pulled.body).unwrap();
    assert_eq!((record.sys_flag & 0xC, record.prepared_transaction_offset), (8, prepared.phy_offset));
    let end = node.all(OP_TOPIC, 0).await.remove(0);
    assert_eq!((end.text(), end.property("TAGS"), end.property("WAIT")), ("0,", Some("d"), Some("true")));
    node.stop().await;
}

#[tokio::test]
async fn what_is_rolled_back_never_comes() {
    let node = Node::start().await;
    let (a, b) = (prepare(&node, "a").await, prepare(&node, "b").await);
    assert_code(&node.call(a.roll_back()).await, response::SUCCESS, &[]);
    assert_code(&node.call(b.commit()).await, response::SUCCESS, &[]);
    assert_eq!(
        (committed(&node).await, done(&node).await),
        (vec!["b".to_owned()], vec!["0,".into(), "1,".into()])
    );
    assert_eq!(node.broker().pending_transaction_count(), 0);
    node.stop().await;
}

/// A producer that repeated its commit had its message delivered twice.
#[tokio::test]
async fn the_first_decision_is_final() {
    let node = Node::start().await;
    let (a, b) = (prepare(&node, "a").await, prepare(&node, "b").await);
    assert_code(&node.call(a.commit()).await, response::SUCCESS, &[]);
    assert_code(&node.call(b.roll_back()).await, response::SUCCESS, &[]);
    assert_code(&node.call(a.commit()).await, response::SUCCESS, &[]);
    assert_code(&node.call(b.roll_back()).await, response::SUCCESS, &[]);
    assert_code(&node.call(a.roll_back()).await, response::SYSTEM_ERROR, &["committed before"]);
    assert_code(&node.call(b.commit()).await, response::SYSTEM_ERROR, &["rolled back before"]);
    let node = node.restart().await;
    // Nobody remembers which it was, but that it was.
    for end in [a.commit(), a.roll_back(), b.commit(), b.roll_back()] {
        assert_code(&node.call(end).await, response::SYSTEM_ERROR, &["not pending"]);
    }
    assert_eq!((committed(&node).await, done(&node).await.len()), (vec!["a".to_owned()], 2));
    node.stop().await;
}

/// Many ends of one transaction at once, over several connections: one counts.
#[tokio::test]
async fn decisions_at_one_moment_are_one() {
    let node = Node::start().await;
    for round in 0..20 {
        let prepared = prepare(&node, &round.to_string()).await;
        let mut calls = Vec::new();
        for number in 0..8 {
            let peer = node.connect().await;
            let end = if number % 2 == 0 { prepared.commit() } else { prepared.roll_back() };
            let call = peer.start(end);
            calls.push((peer, call));
        }
        for (_, call) in calls {
            call.await;
        }
        assert_eq!(done(&node).await.len(), round + 1);
    }
    let mut texts = committed(&node).await;
    let delivered = texts.len();
    texts.dedup();
    assert_eq!(texts.len(), delivered);
    node.stop().await;
}

#[tokio::test]
async fn an_end_must_name_its_half_message() {
    let node = Node::start().await;
    let prepared = prepare(&node, "a").await;
    let plain = Half::of(&node.call(send("T", "plain")).await);
    let check = async |end: Command, words: &[&str]| {
        assert_code(&node.call(end).await, response::SYSTEM_ERROR, words);
    };
    check(change(prepared.commit(), "producerGroup", "others"), &["The producer group wrong"]).await;
    check(
        change(prepared.commit(), "tranStateTableOffset", 5),
        &["The transaction state table offset wrong"],
    )
    .await;
    for place in [prepared.phy_offset + 1, -1, i64::MAX] {
        let end = change(prepared.commit(), "commitLogOffset", place);
        check(end, &["Find prepared transaction message failed"]).await;
    }
    check(plain.commit(), &["Find prepared transaction message failed", "a message of T"]).await;
    check(without(prepared.commit(), "commitLogOffset"), &["commitLogOffset"]).await;
    assert_eq!((committed(&node).await.len(), node.broker().pending_transaction_count()), (1, 1));
    assert_code(&node.call(prepared.commit()).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn of_a_producer_that_does_not_know_nobody_hears() {
    let node = Node::start().await;
    let prepared = prepare(&node, "a").await;
    let mut wire = Wire::connect(&node).await;
    for unknown in [0, 4, 1, -1] {
        wire.send(prepared.end(unknown)).await;
    }
    let asked = wire.send(pull("g", "T", 0, 0)).await;
    assert_eq!(wire.any_answer().await.opaque, asked);
    assert_eq!(node.broker().pending_transaction_count(), 1);
    node.oneway(prepared.commit()).await;
    node.wait_for("T", 0, 0).await;
    node.stop().await;
}

#[tokio::test]
async fn a_broker_may_refuse_transactions() {
    let node = Node::start_with(&[("rejectTransactionMessage", "true")]).await;
    let answer = node.call(half(0, &[], "a")).await;
    assert_code(&answer, response::NO_PERMISSION, &["sending transaction message is forbidden"]);
    // Old clients leave the mark on messages that they send for another attempt.
    let again = change(half(0, &[("DELAY", "1")], "b"), "j", 1);
    assert_code(&node.call(again).await, response::SUCCESS, &[]);
    assert_eq!(node.broker().pending_transaction_count(), 0);
    node.stop().await;
}

#[tokio::test]
async fn a_delay_counts_from_the_commit() {
    let node = Node::start_with(&[("messageDelayLevel", "1s 1h")]).await;
    let prepared = Half::of(&node.call(half(0, &[("DELAY", "1")], "late")).await);
    assert_eq!(node.all(HALF_TOPIC, 0).await.len(), 1);
    assert_code(&node.call(prepared.commit()).await, response::SUCCESS, &[]);
    assert!(node.all("T", 0).await.is_empty());
    assert_eq!(node.all("SCHEDULE_TOPIC_XXXX", 0).await.len(), 1);
    assert_eq!(node.wait_for("T", 0, 0).await.text(), "late");
    node.stop().await;
}

#[tokio::test]
async fn what_can_not_go_where_it_should_stays_pending() {
    let node = Node::start().await;
    let prepared = prepare(&node, "a").await;
    let delete = Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", "T");
    assert_code(&node.call(delete).await, 0, &[]);
    assert_code(&node.call(prepared.commit()).await, response::TOPIC_NOT_EXIST, &["topic[T]"]);
    assert_eq!(node.broker().pending_transaction_count(), 1);
    node.create_topic("T", 4, 6).await;
    assert_code(&node.call(prepared.commit()).await, response::SUCCESS, &[]);
    assert_eq!(committed(&node).await, ["a"]);
    node.stop().await;
}

/// Deleting the topics of transactions took the pending ones with them.
#[tokio::test]
async fn the_topics_of_transactions_are_not_deleted() {
    let node = Node::start().await;
    let prepared = prepare(&node, "a").await;
    for topic in [HALF_TOPIC, OP_TOPIC] {
        let delete = Command::request(request::DELETE_TOPIC_IN_BROKER).with("topic", topic);
        assert_code(&node.call(delete).await, response::INVALID_PARAMETER, &[topic]);
        assert_code(&node.call(send(topic, "x")).await, response::NO_PERMISSION, &[topic]);
    }
    assert_code(&node.call(Command::request(request::CLEAN_UNUSED_TOPIC)).await, 0, &[]);
    assert_code(&node.call(prepared.commit()).await, response::SUCCESS, &[]);
    assert_eq!(committed(&node).await, ["a"]);
    node.stop().await;
}

/// With synchronous flush a commit was answered before its message could be read, and before a loss of power would have
/// left it.
#[tokio::test]
async fn a_commit_that_was_answered_is_on_the_disk_and_seen() {
    let node = Node::start_with(&[("flushDiskType", "SYNC_FLUSH")]).await;
    for count in 1..=20 {
        let prepared = prepare(&node, "x").await;
        assert_code(&node.call(prepared.commit()).await, response::SUCCESS, &[]);
        assert_eq!(committed(&node).await.len(), count);
    }
    node.stop().await;
}
