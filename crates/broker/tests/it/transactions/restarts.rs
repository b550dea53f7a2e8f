//! What a restart, a crash and a change of servers leave of transactions.

use super::*;
use roxmq_protocol::code::response;
use roxmq_protocol::properties;
use roxmq_store::clock::{Clock, SystemClock};
use roxmq_store::files::OsFiles;
use roxmq_store::{AppendBatch, Millis, NewMessage, QueueId, Store, StoreOptions};
use roxmq_testkit::TestClock;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

async fn offset(node: &Node, topic: &str) -> Option<i64> {
    let query = Command::request(request::QUERY_CONSUMER_OFFSET)
        .with("consumerGroup", TRANS_GROUP)
        .with("topic", topic)
        .with("queueId", 0);
    node.call(query).await.field("offset").map(|offset| offset.parse().unwrap())
}

/// A commit over another connection than the send's, or after a restart, did nothing.
#[tokio::test]
async fn pending_transactions_survive_a_restart() {
    let node = Node::start().await;
    let mut halves = Vec::new();
    for number in 0..10 {
        halves.push(prepare(&node, &number.to_string()).await);
    }
    for number in [0, 1, 3, 7] {
        assert_code(&node.call(halves[number].commit()).await, response::SUCCESS, &[]);
    }
    let node = node.restart().await;
    assert_eq!(node.broker().pending_transaction_count(), 6);
    let listed = node.broker().pending_transactions(0, 99).unwrap();
    assert_eq!(listed.iter().map(|listed| listed.queue_offset).collect::<Vec<_>>(), [2, 4, 5, 6, 8, 9]);
    // What a Java server reads: the first that is pending, and the first record that may name one behind it.
    assert_eq!((offset(&node, HALF_TOPIC).await, offset(&node, OP_TOPIC).await), (Some(2), Some(0)));
    for half in [2, 4, 5, 6, 8, 9].map(|number| &halves[number]) {
        assert_code(&node.call(half.roll_back()).await, response::SUCCESS, &[]);
    }
    let node = node.restart().await;
    assert_eq!(node.broker().pending_transaction_count(), 0);
    assert_eq!((offset(&node, HALF_TOPIC).await, offset(&node, OP_TOPIC).await), (Some(10), Some(10)));
    assert_eq!(committed(&node).await, ["0", "1", "3", "7"]);
    node.stop().await;
}

#[tokio::test]
async fn pending_transactions_survive_a_crash() {
    let node = Node::start().await;
    let mut halves = Vec::new();
    for number in 0..4 {
        halves.push(prepare(&node, &number.to_string()).await);
    }
    assert_code(&node.call(halves[1].commit()).await, response::SUCCESS, &[]);
    assert_code(&node.call(halves[2].roll_back()).await, response::SUCCESS, &[]);
    let node = node.crash(|_| ()).await;
    let listed = node.broker().pending_transactions(0, 99).unwrap();
    assert_eq!(listed.iter().map(|listed| listed.queue_offset).collect::<Vec<_>>(), [0, 3]);
    assert_code(&node.call(halves[1].commit()).await, response::SYSTEM_ERROR, &["not pending"]);
    assert_code(&node.call(halves[3].commit()).await, response::SUCCESS, &[]);
    assert_eq!(committed(&node).await, ["1", "3"]);
    node.stop().await;
}

/// The message of a commit reached the log and the record of its end did not: the next start delivers it again.
#[tokio::test]
async fn a_commit_that_a_crash_cut_in_two_is_no_two_commits() {
    let node = Node::start().await;
    let (a, b) = (prepare(&node, "a").await, prepare(&node, "b").await);
    assert_code(&node.call(a.commit()).await, response::SUCCESS, &[]);
    let end = node.all(OP_TOPIC, 0).await.remove(0);
    let node = node
        .crash(|dir| {
            let log = dir.join("commitlog").join("00000000000000000000");
            let mut bytes = std::fs::read(&log).unwrap();
            bytes[end.phy_offset as usize..].fill(0);
            std::fs::write(&log, bytes).unwrap();
        })
        .await;
    assert_eq!(node.broker().pending_transaction_count(), 1);
    assert_eq!((committed(&node).await, done(&node).await), (vec!["a".to_owned()], vec!["0,".to_owned()]));
    assert_code(&node.call(a.commit()).await, response::SYSTEM_ERROR, &["not pending"]);
    assert_code(&node.call(b.commit()).await, response::SUCCESS, &[]);
    assert_eq!(committed(&node).await, ["a", "b"]);
    node.stop().await;
}

/// Producers that never answer were asked from the start again after each restart.
#[tokio::test]
async fn how_often_a_producer_was_asked_survives() {
    let clock = Arc::new(TestClock::at(Millis(1_800_000_000_000)));
    let settings = [("transactionCheckMax", "3")];
    let mut node = Node::start_on(clock.clone(), &settings, TempDir::new().unwrap()).await;
    prepare(&node, "a").await;
    for checks in 1..=3 {
        clock.advance(Duration::from_secs(60));
        node.broker().check_transactions();
        let before = Instant::now();
        while node.broker().pending_transactions(0, 1).unwrap()[0].checks != checks {
            assert!(before.elapsed().as_secs() < 30, "not asked {checks} times");
            tokio::task::yield_now().await;
        }
        node = if checks == 2 { node.crash(|_| ()).await } else { node.restart().await };
        let listed = node.broker().pending_transactions(0, 1).unwrap().remove(0);
        // Producers get the time of an interval to come back.
        assert_eq!((listed.checks, listed.next_check), (checks, Millis(clock.now().0 + 30_000)));
    }
    clock.advance(Duration::from_secs(60));
    node.broker().check_transactions();
    pending(&node, 0).await;
    assert_eq!(node.all(GIVEN_UP_TOPIC, 0).await.len(), 1);
    node.stop().await;
}

/// A store as a Java server leaves it, record by record.
struct JavaStore {
    dir: TempDir,
    store: Arc<Store>,
}

impl JavaStore {
    fn new() -> JavaStore {
        let dir = TempDir::new().unwrap();
        let mut options = StoreOptions::new(dir.path().to_path_buf());
        options.commit_log_file_bytes = 16 << 20;
        (options.index_slots, options.index_entries) = (1000, 4000);
        let (store, _) = Store::open(Arc::new(OsFiles), Arc::new(SystemClock), options).unwrap();
        JavaStore { dir, store }
    }

    /// Gives the place of the record.
    fn put(&self, topic: &str, pairs: &[(&str, &str)], body: &str, commit_of: Option<i64>) -> i64 {
        let host = SocketAddr::from(([127, 0, 0, 1], 10911));
        let mut raw = Vec::new();
        pairs.iter().for_each(|(name, value)| properties::push(&mut raw, name, value));
        let message = NewMessage {
            topic,
            queue_id: QueueId(0),
            flag: 0,
            sys_flag: if commit_of.is_some() { TRANSACTION_COMMIT } else { 0 },
            born: SystemClock.now(),
            born_host: host,
            store_host: host,
            reconsume_times: 0,
            prepared_transaction_offset: commit_of.unwrap_or(0),
            body: body.as_bytes(),
            properties: &raw,
            tags_code: 0,
            key_hashes: &[],
        };
        let mut batch = AppendBatch::new();
        batch.push(&self.store, &message).unwrap();
        self.store.append(&mut batch).unwrap();
        batch.stored()[0].phy_offset.0
    }

    fn half(&self, body: &str, more: &[(&str, &str)]) -> i64 {
        let own = [("TRAN_MSG", "true"), ("PGROUP", GROUP), ("REAL_TOPIC", "T"), ("REAL_QID", "0")];
        let pairs: Vec<_> = own.iter().chain(more).copied().collect();
        self.put(HALF_TOPIC, &pairs, body, None)
    }

    fn done(&self, body: &str) {
        self.put(OP_TOPIC, &[("WAIT", "true"), ("TAGS", "d")], body, None);
    }

    /// Leaves the store behind with these offsets.
    async fn hand_over(self, half: i64, op: i64) -> Node {
        self.store.shutdown().unwrap();
        drop(self.store);
        write_java_files(self.dir.path(), half, op);
        Node::start_on(Arc::new(SystemClock), &[], self.dir).await
    }
}

fn write_java_files(dir: &Path, half: i64, op: i64) {
    let config = dir.join("config");
    std::fs::create_dir_all(&config).unwrap();
    let offsets = format!(
        r#"{{"dataVersion":{{"counter":1,"stateVersion":0,"timestamp":1}},"offsetTable":{{"{HALF_TOPIC}@{TRANS_GROUP}":{{0:{half}}},"{OP_TOPIC}@{TRANS_GROUP}":{{0:{op}}}}}}}"#
    );
    std::fs::write(config.join("consumerOffset.json"), offsets).unwrap();
    let topics = r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},"topicConfigTable":{"T":{"attributes":{},"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":4}}}"#;
    std::fs::write(config.join("topics.json"), topics).unwrap();
}

#[tokio::test]
async fn a_java_servers_pending_transactions_are_found() {
    let java = JavaStore::new();
    for number in 0..6 {
        java.half(&number.to_string(), &[("UNIQ_KEY", "u")]);
    }
    java.done("0,1,");
    // An older server's, without a comma; and one whose tag means nothing.
    java.done("3");
    java.put(OP_TOPIC, &[("TAGS", "x")], "4,", None);
    // Checked: a Java server writes the half message again, and goes on behind the old one.
    java.half("2", &[("UNIQ_KEY", "u"), ("TRANSACTION_CHECK_TIMES", "4")]);
    let node = java.hand_over(3, 1).await;
    let listed = node.broker().pending_transactions(0, 99).unwrap();
    let found: Vec<_> = listed.iter().map(|listed| (listed.queue_offset, listed.checks)).collect();
    assert_eq!(found, [(4, 0), (5, 0), (6, 4)]);
    let half = Half { offset: 6, phy_offset: listed[2].phy_offset.0 };
    assert_code(&node.call(half.commit()).await, response::SUCCESS, &[]);
    assert_eq!(committed(&node).await, ["2"]);
    node.stop().await;
}

/// A Java server writes the record of an end up to three seconds after the message.
#[tokio::test]
async fn commits_whose_end_a_java_server_has_not_written_are_not_made_again() {
    let java = JavaStore::new();
    let a = java.half("a", &[]);
    let b = java.half("b", &[]);
    java.put("T", &[("PGROUP", GROUP)], "a", Some(a));
    let node = java.hand_over(0, 0).await;
    assert_eq!((node.broker().pending_transaction_count(), done(&node).await), (1, vec!["0,".to_owned()]));
    let half = Half { offset: 1, phy_offset: b };
    assert_code(&node.call(half.commit()).await, response::SUCCESS, &[]);
    assert_eq!(committed(&node).await, ["a", "b"]);
    node.stop().await;
}

/// A Java server moves a half message with a time of its own without telling its producer, which ends it under the
/// place it knows.
#[tokio::test]
async fn a_producer_may_end_what_a_java_server_has_moved() {
    let java = JavaStore::new();
    let immune = ("CHECK_IMMUNITY_TIME_IN_SECONDS", "60");
    let first = java.half("moved", &[immune]);
    java.half("done", &[immune]);
    java.half("moved", &[immune, ("TRAN_PREPARED_QUEUE_OFFSET", "0")]);
    java.half("done", &[immune, ("TRAN_PREPARED_QUEUE_OFFSET", "1")]);
    java.done("1,");
    let node = java.hand_over(2, 0).await;
    let listed = node.broker().pending_transactions(0, 99).unwrap();
    assert_eq!(listed.iter().map(|listed| listed.queue_offset).collect::<Vec<_>>(), [2]);
    let half = Half { offset: 0, phy_offset: first };
    assert_code(&node.call(half.commit()).await, response::SUCCESS, &[]);
    assert_eq!(
        (committed(&node).await, node.broker().pending_transaction_count()),
        (vec!["moved".to_owned()], 0)
    );
    assert_code(&node.call(half.commit()).await, response::SUCCESS, &[]);
    assert_code(&node.call(half.roll_back()).await, response::SYSTEM_ERROR, &["committed before"]);
    assert_eq!(done(&node).await, ["1,", "2,"]);
    node.stop().await;
}
