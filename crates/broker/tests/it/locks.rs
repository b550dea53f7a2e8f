//! Queue locks over connections: requests 41 and 42. How they age is tested with the table.

use crate::clients::body;
use crate::node::Node;
use crate::requests::assert_code;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;

fn locks(code: i32, client_id: &str, queues: &[i32]) -> Command {
    let queues: Vec<String> = queues.iter().map(|id| queue(*id)).collect();
    let body = format!(
        r#"{{"clientId":"{client_id}","consumerGroup":"g","mqSet":[{}],"onlyThisBroker":false}}"#,
        queues.join(",")
    );
    Command::request(code).body(body)
}

fn queue(id: i32) -> String {
    format!(r#"{{"brokerName":"b","queueId":{id},"topic":"T"}}"#)
}

#[tokio::test]
async fn a_queue_belongs_to_one_client() {
    let node = Node::start().await;
    let check = async |client_id: &str, asked: &[i32], owned: &[i32]| {
        let answer = node.call(locks(request::LOCK_BATCH_MQ, client_id, asked)).await;
        assert_code(&answer, response::SUCCESS, &[]);
        let queues: Vec<String> = owned.iter().map(|id| queue(*id)).collect();
        assert_eq!(body(&answer), format!(r#"{{"lockOKMQSet":[{}]}}"#, queues.join(",")));
    };
    check("a", &[0, 1], &[0, 1]).await;
    check("b", &[0, 1, 2], &[2]).await;
    check("a", &[0, 1], &[0, 1]).await;
    let unlocked = node.call(locks(request::UNLOCK_BATCH_MQ, "b", &[0, 2])).await;
    assert_code(&unlocked, response::SUCCESS, &[]);
    check("a", &[0, 2], &[0, 2]).await;
    node.oneway(locks(request::UNLOCK_BATCH_MQ, "a", &[0])).await;
    check("b", &[0, 1], &[0]).await;
    check("b", &[], &[]).await;
    node.stop().await;
}

#[tokio::test]
async fn locks_of_nobody_are_refused() {
    let node = Node::start().await;
    for code in [request::LOCK_BATCH_MQ, request::UNLOCK_BATCH_MQ] {
        for (text, word) in [
            ("", "body"),
            (r#"{"clientId":"a"}"#, "consumerGroup"),
            (r#"{"consumerGroup":"g","clientId":""}"#, "clientId"),
            (r#"{"consumerGroup":"g","clientId":"a","mqSet":[{}]}"#, "topic"),
            (r#"{"consumerGroup":"g","clientId":"a","mqSet":{}}"#, "mqSet"),
        ] {
            let answer = node.call(Command::request(code).body(text)).await;
            assert_code(&answer, response::SYSTEM_ERROR, &[word]);
        }
    }
    node.stop().await;
}
