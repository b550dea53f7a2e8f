//! What clients of the remoting protocol ask, for tests of both protocols.

use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::record::{Record, Records};
use roxmq_protocol::sys_flag::TRANSACTION_PREPARED;

/// Into queue 1. Properties are as the message has them on the wire; those of a half message make it one.
pub fn send(topic: &str, properties: &str, body: &str) -> Command {
    let is_half = properties.contains("TRAN_MSG");
    Command::request(request::SEND_MESSAGE_V2)
        .with("a", "PG")
        .with("b", topic)
        .with("c", "TBW102")
        .with("d", 4)
        .with("e", 1)
        .with("f", if is_half { TRANSACTION_PREPARED } else { 0 })
        .with("g", 1)
        .with("h", 0)
        .with("i", properties)
        .body(body.to_owned())
}

/// From the first message of the queue on.
pub fn pull(topic: &str, queue_id: i32, sys_flag: i32, wait_ms: i64) -> Command {
    Command::request(request::PULL_MESSAGE)
        .with("consumerGroup", "G")
        .with("topic", topic)
        .with("queueId", queue_id)
        .with("queueOffset", 0)
        .with("maxMsgNums", 32)
        .with("sysFlag", sys_flag)
        .with("commitOffset", 0)
        .with("suspendTimeoutMillis", wait_ms)
        .with("subscription", "*")
        .with("subVersion", 0)
}

/// Of the messages in an answer.
pub fn bodies(answer: &Command) -> Vec<String> {
    let body = |record: Record<'_>| String::from_utf8(record.body.to_vec()).unwrap();
    Records::new(&answer.body).map(|record| body(record.unwrap())).collect()
}
