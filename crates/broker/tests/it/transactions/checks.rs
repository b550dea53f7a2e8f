//! Who is asked about what is undecided, when, and what is given up in the end.

use super::*;
use roxmq_protocol::code::response;
use roxmq_protocol::record::Record;
use roxmq_store::Millis;
use roxmq_testkit::TestClock;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const START: Millis = Millis(1_800_000_000_000);
const TIMEOUT: Duration = Duration::from_secs(6);
const INTERVAL: Duration = Duration::from_secs(30);

struct Clocked {
    node: Node,
    clock: Arc<TestClock>,
}

impl Clocked {
    async fn start(settings: &[(&str, &str)]) -> Clocked {
        let clock = Arc::new(TestClock::at(START));
        let node = Node::start_on(clock.clone(), settings, TempDir::new().unwrap()).await;
        Clocked { node, clock }
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.node.broker().check_transactions();
    }

    /// Waits until the broker has asked so many times about the first that is pending.
    async fn asked(&self, times: u32) {
        let before = Instant::now();
        loop {
            let pending = self.node.broker().pending_transactions(0, 1).unwrap();
            let checks = pending.first().map(|first| first.checks);
            if checks == Some(times) {
                return;
            }
            assert!(before.elapsed().as_secs() < 30, "{checks:?} checks, not {times}");
            tokio::task::yield_now().await;
        }
    }
}

fn answer_to(asked: &Command, decision: i32) -> Command {
    let half =
        Half { offset: number(asked, "tranStateTableOffset"), phy_offset: number(asked, "commitLogOffset") };
    change(half.end(decision), "fromTransactionCheck", true)
}

#[tokio::test]
async fn a_producer_is_asked_with_everything_it_needs_to_answer() {
    let clocked = Clocked::start(&[]).await;
    let node = &clocked.node;
    let mut wire = producer(node, "p1").await;
    let prepared = Half::of(&node.call(half(3, &[("KEYS", "k")], "one")).await);
    clocked.advance(TIMEOUT - Duration::from_millis(1));
    assert!(wire.pushed_so_far().await.is_empty());
    clocked.advance(Duration::from_millis(1));
    let asked = wire.pushed().await;
    assert_eq!((asked.code, asked.is_oneway()), (request::CHECK_TRANSACTION_STATE, true));
    let id = node.offset_id(&node.all(HALF_TOPIC, 0).await[0]);
    let (offset, place) = (prepared.offset.to_string(), prepared.phy_offset.to_string());
    for (name, value) in [
        ("topic", HALF_TOPIC),
        ("tranStateTableOffset", &offset),
        ("commitLogOffset", &place),
        ("msgId", "Uone"),
        ("transactionId", "Uone"),
        ("offsetMsgId", &id),
        ("bname", "broker-a"),
    ] {
        assert_eq!(asked.field(name), Some(value), "{name}");
    }
    let record = Record::decode(&asked.body).unwrap();
    record.verify_crc().unwrap();
    assert_eq!((record.topic, record.queue_id, record.body), ("T", 3, &b"one"[..]));
    assert_eq!((record.queue_offset, record.phy_offset), (prepared.offset, prepared.phy_offset));
    assert_eq!(record.store_timestamp, START.0);
    let properties = record.properties;
    assert_eq!(
        (properties.get("TRANSACTION_CHECK_TIMES"), properties.get("PGROUP")),
        (Some("1"), Some(GROUP))
    );

    // It doesn't know: it is asked again after the interval, and not before.
    wire.send(answer_to(&asked, 0)).await;
    clocked.advance(INTERVAL - Duration::from_millis(1));
    assert!(wire.pushed_so_far().await.is_empty());
    clocked.advance(Duration::from_millis(1));
    let asked = wire.pushed().await;
    let properties = Record::decode(&asked.body).unwrap().properties;
    assert_eq!(properties.get("TRANSACTION_CHECK_TIMES"), Some("2"));
    assert_code(&wire.call(answer_to(&asked, TRANSACTION_COMMIT)).await, response::SUCCESS, &[]);
    let message = node.all("T", 3).await.remove(0);
    assert_eq!((message.text(), message.property("TRANSACTION_CHECK_TIMES")), ("one", Some("2")));
    clocked.advance(10 * INTERVAL);
    assert!(wire.pushed_so_far().await.is_empty());
    clocked.node.stop().await;
}

/// The producers of a group take turns; one that has left is not asked.
#[tokio::test]
async fn live_producers_of_the_group_take_turns() {
    let clocked = Clocked::start(&[]).await;
    let node = &clocked.node;
    let (mut first, mut second) = (producer(node, "p1").await, producer(node, "p2").await);
    let gone = producer(node, "p3").await;
    drop(gone);
    for number in 0..8 {
        prepare(node, &number.to_string()).await;
    }
    clocked.advance(TIMEOUT);
    for _ in 0..2 {
        first.pushed().await;
        second.pushed().await;
    }
    clocked.node.stop().await;
}

#[tokio::test]
async fn what_nobody_decides_on_is_given_up_and_can_be_brought_back() {
    let settings = [("transactionCheckMax", "2")];
    let clocked = Clocked::start(&settings).await;
    let node = &clocked.node;
    let prepared = prepare(node, "a").await;
    clocked.advance(TIMEOUT);
    clocked.asked(1).await;
    clocked.advance(INTERVAL);
    clocked.asked(2).await;
    clocked.advance(INTERVAL);
    pending(node, 0).await;
    let given_up = node.all(GIVEN_UP_TOPIC, 0).await.remove(0);
    assert_eq!((given_up.text(), given_up.property("TRANSACTION_CHECK_TIMES")), ("a", Some("2")));
    assert_eq!(given_up.property("REAL_TOPIC"), Some("T"));
    assert_eq!(done(node).await, ["0,"]);
    let late = node.call(prepared.commit()).await;
    assert_code(&late, response::SYSTEM_ERROR, &["given up", "resumeCheckHalfMessage"]);

    let mut wire = producer(node, "p1").await;
    let id = node.offset_id(&given_up);
    let resume = Command::request(request::RESUME_CHECK_HALF_MESSAGE).with("topic", "T").with("msgId", &id);
    assert_code(&node.call(resume.clone()).await, 0, &[]);
    assert_code(&node.call(resume).await, response::SYSTEM_ERROR, &["brought back before", "half message 1"]);
    clocked.advance(TIMEOUT);
    let asked = wire.pushed().await;
    assert_eq!(number(&asked, "tranStateTableOffset"), 1);
    assert_code(&wire.call(answer_to(&asked, TRANSACTION_COMMIT)).await, response::SUCCESS, &[]);
    assert_eq!(committed(node).await, ["a"]);
    clocked.node.stop().await;
}

#[tokio::test]
async fn a_pending_transaction_is_asked_about_anew_when_an_operator_wants_it() {
    let clocked = Clocked::start(&[]).await;
    let node = &clocked.node;
    prepare(node, "a").await;
    clocked.advance(TIMEOUT);
    clocked.asked(1).await;
    let mut wire = producer(node, "p1").await;
    let half = node.all(HALF_TOPIC, 0).await.remove(0);
    let resume = |id: &str| Command::request(request::RESUME_CHECK_HALF_MESSAGE).with("msgId", id);
    assert_code(&node.call(resume(&node.offset_id(&half))).await, 0, &[]);
    let asked = wire.pushed().await;
    assert_eq!(Record::decode(&asked.body).unwrap().properties.get("TRANSACTION_CHECK_TIMES"), Some("1"));
    wire.call(answer_to(&asked, TRANSACTION_ROLLBACK)).await;
    assert_code(
        &node.call(resume(&node.offset_id(&half))).await,
        response::SYSTEM_ERROR,
        &["decided before"],
    );
    let plain = node.call(send("T", "x")).await;
    let plain = plain.field("msgId").unwrap();
    assert_code(&node.call(resume(plain)).await, response::SYSTEM_ERROR, &["no part of a transaction"]);
    assert_code(&node.call(resume("nonsense")).await, response::SYSTEM_ERROR, &["nonsense"]);
    clocked.node.stop().await;
}

/// A half message whose immunity time equalled its age to the millisecond was never checked. And one that asked for
/// a time of its own has to wait for its check when the time is over.
#[tokio::test]
async fn a_producer_may_ask_for_a_time_of_its_own() {
    let clocked = Clocked::start(&[]).await;
    let node = &clocked.node;
    let mut wire = producer(node, "p1").await;
    let immune = |seconds: &str, body: &str| half(0, &[("CHECK_IMMUNITY_TIME_IN_SECONDS", seconds)], body);
    Half::of(&node.call(immune("1", "one")).await);
    let ten = Half::of(&node.call(immune("10", "ten")).await);
    clocked.advance(Duration::from_millis(1_000));
    let asked = wire.pushed().await;
    assert_eq!(asked.field("msgId"), Some("Uone"));
    clocked.advance(Duration::from_millis(8_999));
    assert!(wire.pushed_so_far().await.is_empty());
    clocked.advance(Duration::from_millis(1));
    let asked = wire.pushed().await;
    assert_eq!(asked.field("msgId"), Some("Uten"));
    clocked.advance(Duration::from_millis(1));
    assert_code(
        &node.call(ten.commit()).await,
        response::ILLEGAL_OPERATION,
        &["CHECK_IMMUNITY_TIME_IN_SECONDS"],
    );
    assert_code(&wire.call(answer_to(&asked, TRANSACTION_COMMIT)).await, response::SUCCESS, &[]);
    assert_eq!(committed(node).await, ["ten"]);
    clocked.node.stop().await;
}

/// Checks were made for messages already committed.
#[tokio::test]
async fn nobody_is_asked_about_what_is_decided() {
    let clocked = Clocked::start(&[]).await;
    let node = &clocked.node;
    let mut wire = producer(node, "p1").await;
    let sends = (0..500).map(|number| half(0, &[], &number.to_string())).collect();
    let halves: Vec<_> = node.call_all(sends).await.iter().map(Half::of).collect();
    let ends =
        halves.iter().enumerate().map(|(n, half)| if n % 3 == 0 { half.roll_back() } else { half.commit() });
    for answer in node.call_all(ends.collect()).await {
        assert_code(&answer, 0, &[]);
    }
    prepare(node, "undecided").await;
    clocked.advance(10 * INTERVAL);
    assert_eq!(wire.pushed().await.field("msgId"), Some("Uundecided"));
    assert!(wire.pushed_so_far().await.is_empty());
    assert_eq!(committed(node).await.len(), 333);
    clocked.node.stop().await;
}

/// One half message that couldn't be handled stopped the checks of all.
#[tokio::test]
async fn a_damaged_half_message_holds_up_nobody() {
    let clocked = Clocked::start(&[]).await;
    let damaged = prepare(&clocked.node, "damaged-body").await;
    for number in 0..100 {
        prepare(&clocked.node, &number.to_string()).await;
    }
    let dir = clocked.node.stop().await;
    let log = dir.path().join("commitlog").join("00000000000000000000");
    let mut bytes = std::fs::read(&log).unwrap();
    let place = damaged.phy_offset as usize;
    let at = place + bytes[place..].windows(12).position(|part| part == b"damaged-body").unwrap();
    bytes[at] = b'D';
    std::fs::write(&log, bytes).unwrap();
    let node = Node::start_on(clocked.clock.clone(), &[], dir).await;
    let clocked = Clocked { node, clock: clocked.clock };
    let node = &clocked.node;
    let mut wire = producer(node, "p1").await;
    clocked.advance(INTERVAL);
    for _ in 0..100 {
        let asked = wire.pushed().await;
        assert_code(&wire.call(answer_to(&asked, TRANSACTION_COMMIT)).await, response::SUCCESS, &[]);
    }
    pending(node, 0).await;
    assert_eq!(committed(node).await.len(), 100);
    let answer = node.call(pull("reader", GIVEN_UP_TOPIC, 0, 0)).await;
    assert_eq!(Record::decode(&answer.body).unwrap().body, b"Damaged-body");
    clocked.node.stop().await;
}

#[tokio::test]
async fn pending_transactions_are_listed_with_what_ends_them() {
    let clocked = Clocked::start(&[]).await;
    let node = &clocked.node;
    for body in ["a", "b", "c"] {
        Half::of(&node.call(half(1, &[], body)).await);
    }
    let listed = node.broker().pending_transactions(1, 1).unwrap().remove(0);
    let message = listed.message.unwrap();
    assert_eq!((listed.queue_offset, listed.checks, listed.next_check), (1, 0, Millis(START.0 + 6_000)));
    assert_eq!((message.topic.as_str(), message.queue_id, message.stored), ("T", 1, START));
    assert_eq!((message.uniq_key.as_deref(), message.producer_group.as_deref()), (Some("Ub"), Some(GROUP)));
    let half = Half { offset: listed.queue_offset, phy_offset: listed.phy_offset.0 };
    assert_code(&node.call(half.commit()).await, response::SUCCESS, &[]);
    let left: Vec<_> = node
        .broker()
        .pending_transactions(0, 100)
        .unwrap()
        .iter()
        .map(|listed| listed.queue_offset)
        .collect();
    assert_eq!(left, [0, 2]);
    clocked.node.stop().await;
}
