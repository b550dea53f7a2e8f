//! Messages with a priority: the queue tells it.

use crate::node::Node;
use crate::requests::*;

#[tokio::test]
async fn the_queue_is_the_priority() {
    let node = Node::start().await;
    node.create_topic("T", 4, 6).await;
    let check = async |pairs: &[(&str, &str)], asked: i32, queue: i64, kept: Option<&str>| {
        let answer = node.call(send_to("T", asked, pairs, "m")).await;
        assert_code(&answer, 0, &[]);
        assert_eq!(number(&answer, "queueId"), queue, "{pairs:?}");
        let stored = node.by_id(answer.field("msgId").unwrap()).await;
        assert_eq!(
            (i64::from(stored.queue_id), stored.property("_SYS_MSG_PRIORITY_")),
            (queue, kept),
            "{pairs:?}"
        );
    };
    check(&[("_SYS_MSG_PRIORITY_", "0")], 2, 0, Some("0")).await;
    check(&[("_SYS_MSG_PRIORITY_", "3")], 0, 3, Some("3")).await;
    check(&[("_SYS_MSG_PRIORITY_", "99")], -1, 3, Some("99")).await;
    // What is ordered, or is no priority, stays where it was sent.
    check(&[("_SYS_MSG_PRIORITY_", "3"), ("__SHARDINGKEY", "k")], 1, 1, None).await;
    check(&[("_SYS_MSG_PRIORITY_", "-1")], 2, 2, None).await;
    check(&[], 2, 2, None).await;
    node.stop().await;
}
