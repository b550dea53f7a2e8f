//! Transactions: what waits, what comes of it, who is asked, and what a restart or a crash leaves.

mod checks;
mod ends;
mod restarts;

use crate::node::Node;
use crate::requests::*;
use crate::wire::Wire;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::sys_flag::{TRANSACTION_COMMIT, TRANSACTION_ROLLBACK};
use std::time::Instant;

const HALF_TOPIC: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
const OP_TOPIC: &str = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
const GIVEN_UP_TOPIC: &str = "TRANS_CHECK_MAX_TIME_TOPIC";
const TRANS_GROUP: &str = "CID_RMQ_SYS_TRANS";
const GROUP: &str = "tx-producers";

/// A half message as its producer knows it.
#[derive(Clone, Debug)]
struct Half {
    offset: i64,
    phy_offset: i64,
}

impl Half {
    fn of(answer: &Command) -> Half {
        assert_code(answer, 0, &[]);
        let id: OffsetMessageId = answer.field("msgId").unwrap().parse().unwrap();
        Half { offset: number(answer, "queueOffset"), phy_offset: id.phy_offset }
    }

    fn end(&self, decision: i32) -> Command {
        Command::request(request::END_TRANSACTION)
            .with("producerGroup", GROUP)
            .with("tranStateTableOffset", self.offset)
            .with("commitLogOffset", self.phy_offset)
            .with("commitOrRollback", decision)
            .with("fromTransactionCheck", false)
            .with("msgId", "7F01")
    }

    fn commit(&self) -> Command {
        self.end(TRANSACTION_COMMIT)
    }

    fn roll_back(&self) -> Command {
        self.end(TRANSACTION_ROLLBACK)
    }
}

/// A send of a half message to a queue of T.
fn half(queue_id: i32, more: &[(&str, &str)], body: &str) -> Command {
    let key = format!("U{body}");
    let own = [("TRAN_MSG", "true"), ("PGROUP", GROUP), ("UNIQ_KEY", key.as_str())];
    let pairs: Vec<_> = own.iter().chain(more).copied().collect();
    send_to("T", queue_id, &pairs, body)
}

async fn prepare(node: &Node, body: &str) -> Half {
    Half::of(&node.call(half(0, &[], body)).await)
}

/// The texts of queue 0 of T.
async fn committed(node: &Node) -> Vec<String> {
    node.all("T", 0).await.iter().map(|message| message.text().to_owned()).collect()
}

/// The bodies of the records of those that are done.
async fn done(node: &Node) -> Vec<String> {
    node.all(OP_TOPIC, 0).await.iter().map(|message| message.text().to_owned()).collect()
}

/// A producer of the group that is online and sees what it is asked.
async fn producer(node: &Node, client_id: &str) -> Wire {
    let mut wire = Wire::connect(node).await;
    let body = format!(
        r#"{{"clientID":"{client_id}","consumerDataSet":[],"heartbeatFingerprint":0,"isWithoutSub":false,"producerDataSet":[{{"groupName":"{GROUP}"}}]}}"#
    );
    assert_code(&wire.call(Command::request(request::HEART_BEAT).body(body)).await, 0, &[]);
    wire
}

/// Waits until so many transactions are pending.
async fn pending(node: &Node, count: usize) {
    let before = Instant::now();
    while node.broker().pending_transaction_count() != count {
        let now = node.broker().pending_transaction_count();
        assert!(before.elapsed().as_secs() < 30, "{now} transactions are pending, not {count}");
        tokio::task::yield_now().await;
    }
}
