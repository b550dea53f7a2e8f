//! What comes of popped messages that nobody acknowledged: another attempt from the retry topic, or a dead letter.

use crate::pop::*;
use crate::pop_consumer::*;
use crate::requests::*;
use roxmq_protocol::code::response;

#[tokio::test]
async fn the_actual_retry_topic_if_that_is_wanted() {
    let settings = [("popResponseReturnActualRetryTopic", "true"), ("enableRetryTopicV2", "true")];
    let (node, clock) = node_with(&settings).await;
    send_all(&node, &["a"]).await;
    node.call(pop("g", "T")).await;
    pass(&node, &clock, INVISIBLE_MS);
    node.wait_for("%RETRY%g+T", 0, 0).await;
    let answer = node.call(pop("g", "T")).await;
    assert_eq!(answer.field("msgOffsetInfo"), Some("2 0 0"));
    let message = &messages(&answer)[0];
    assert_eq!((message.topic.as_str(), message.property("POP_CK")), ("%RETRY%g+T", None));
    node.stop().await;
}

/// Only one of the two retry topics was looked at: a pop that the other one woke found nothing and waited on.
#[tokio::test]
async fn both_retry_topics_are_looked_at_each_time() {
    let (node, clock) = node_with(&[("enableRetryTopicV2", "true")]).await;
    send_all(&node, &["new form"]).await;
    node.call(pop("g", "T")).await;
    pass(&node, &clock, INVISIBLE_MS);
    node.wait_for("%RETRY%g+T", 0, 0).await;
    node.create_topic("%RETRY%g_T", 1, 6).await;
    assert_code(&node.call(send("%RETRY%g_T", "old form")).await, 0, &[]);
    let mut both = texts(&node.call(pop("g", "T")).await);
    both.sort();
    assert_eq!(both, ["new form", "old form"]);
    node.stop().await;
}

/// Messages of a group that wants no second delivery were given again all the same.
#[tokio::test]
async fn after_its_last_attempt_a_message_is_a_dead_letter() {
    let (node, clock) = node().await;
    node.put_group("g", 1, 1).await;
    send_all(&node, &["a"]).await;
    let first = node.all("T", 0).await.remove(0);
    node.call(pop("g", "T")).await;
    pass(&node, &clock, INVISIBLE_MS);
    node.wait_for("%RETRY%g_T", 0, 0).await;
    assert_eq!(texts(&node.call(pop("g", "T")).await), ["a"]);
    pass(&node, &clock, INVISIBLE_MS);
    let dead = node.wait_for("%DLQ%g", 0, 0).await;
    assert_eq!((dead.text(), dead.reconsume_times), ("a", 2));
    assert_eq!(dead.property("ORIGIN_MESSAGE_ID"), Some(&*node.offset_id(&first)));
    assert_eq!(dead.property("RETRY_TOPIC"), Some("T"));
    assert_eq!(dead.property("1ST_POP_TIME"), Some("1800000000000"));
    node.put_group("none", 1, 0).await;
    node.call(pop("none", "T")).await;
    pass(&node, &clock, INVISIBLE_MS);
    assert_eq!(node.wait_for("%DLQ%none", 0, 0).await.text(), "a");
    assert!(node.all("%RETRY%none_T", 0).await.is_empty());
    node.stop().await;
}

/// A retried message once did not wake a waiting receive.
#[tokio::test]
async fn a_message_given_back_at_once_wakes_who_waits() {
    let (node, clock) = node().await;
    send_all(&node, &["a"]).await;
    let popped = Popped::of(&node.call(pop("g", "T")).await);
    let waiting = node.connect().await;
    let again = waiting.start(long_pop("g", "T", 600_000));
    node.pops_wait(1).await;
    assert_code(&node.call(change_invisible("g", &popped[0], 0)).await, response::SUCCESS, &[]);
    // Two receipts of one message are never the same, so that it takes a millisecond.
    pass(&node, &clock, 1);
    let again = again.await;
    assert_eq!((texts(&again), again.field("msgOffsetInfo")), (vec!["a".to_owned()], Some("1 0 0")));
    node.stop().await;
}

/// With one queue all that a group fails on goes through it.
#[tokio::test]
async fn each_queue_has_a_retry_queue_if_that_is_wanted() {
    let (node, clock) = node_with(&[("useSeparateRetryQueue", "true")]).await;
    node.create_topic("Q", 3, 6).await;
    for queue in 0..3 {
        assert_code(&node.call(send_to("Q", queue, &[], format!("of {queue}"))).await, 0, &[]);
    }
    assert_eq!(node.call(pop("g", "Q")).await.field("msgOffsetInfo").unwrap().split(';').count(), 3);
    pass(&node, &clock, INVISIBLE_MS);
    for queue in 0..3 {
        assert_eq!(node.wait_for("%RETRY%g_Q", queue, 0).await.text(), format!("of {queue}"));
    }
    let mut again = texts(&node.call(pop("g", "Q")).await);
    again.sort();
    assert_eq!(again, ["of 0", "of 1", "of 2"]);
    // They stay in their queues, and there are more queues when the topic has got more.
    node.create_topic("Q", 4, 6).await;
    assert_code(&node.call(send_to("Q", 3, &[], "of 3")).await, 0, &[]);
    assert_eq!(texts(&node.call(pop("g", "Q")).await), ["of 3"]);
    pass(&node, &clock, INVISIBLE_MS);
    assert_eq!(node.wait_for("%RETRY%g_Q", 2, 1).await.text(), "of 2");
    assert_eq!(node.wait_for("%RETRY%g_Q", 3, 0).await.text(), "of 3");
    node.stop().await;
}
