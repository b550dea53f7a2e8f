//! Timer messages: when they come, that they come once, that they can be taken back, and what is told of them.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::Value;
use roxmq_store::Millis;
use roxmq_testkit::TestClock;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A whole second.
pub const START: i64 = 1_700_000_000_000;
const TIMER_TOPIC: &str = "rmq_sys_wheel_timer";
const PATIENCE: Duration = Duration::from_secs(20);

/// A broker whose time only tests move.
pub struct Timers {
    pub node: Node,
    pub clock: Arc<TestClock>,
}

impl Timers {
    pub async fn start(settings: &[(&str, &str)]) -> Timers {
        let clock = Arc::new(TestClock::at(Millis(START)));
        Timers { node: Node::start_at(Arc::clone(&clock) as _, settings).await, clock }
    }

    pub async fn send(&self, pairs: &[(&str, &str)], body: &str) -> Command {
        let answer = self.node.call(send_to("T", 0, pairs, body)).await;
        assert_code(&answer, response::SUCCESS, &[]);
        answer
    }

    pub fn set(&self, after_start_ms: i64) {
        self.clock.set(Millis(START + after_start_ms));
        self.node.clock_was_set();
    }

    pub async fn texts(&self) -> Vec<String> {
        self.node.all("T", 0).await.iter().map(|message| message.text().to_owned()).collect()
    }

    /// What is delivered once it is so many messages.
    pub async fn delivered(&self, count: usize) -> Vec<String> {
        let before = Instant::now();
        loop {
            let texts = self.texts().await;
            if texts.len() >= count {
                return texts;
            }
            assert!(before.elapsed() < PATIENCE, "only {texts:?} of {count}");
            tokio::task::yield_now().await;
        }
    }

    /// Waits until everything that was sent is entered in the wheel.
    pub async fn entered(&self) {
        self.runtime("timerOffsetBehind", "0").await;
    }

    pub async fn runtime(&self, key: &str, expected: &str) {
        let before = Instant::now();
        loop {
            let answer = self.node.call(Command::request(request::GET_BROKER_RUNTIME_INFO)).await;
            let body = String::from_utf8(answer.body.to_vec()).unwrap();
            if body.contains(&format!("\"{key}\":\"{expected}\"")) {
                return;
            }
            assert!(before.elapsed() < PATIENCE, "{key} is not {expected}: {body}");
            tokio::task::yield_now().await;
        }
    }

    pub async fn pending(&self, count: i64) {
        self.runtime("timerCongestNum", &count.to_string()).await;
    }

    pub async fn recall(&self, topic: &str, handle: &str) -> Command {
        let request = Command::request(request::RECALL_MESSAGE)
            .with("producerGroup", "PG")
            .with("topic", topic)
            .with("recallHandle", handle);
        self.node.call(request).await
    }

    pub async fn configure(&self, setting: &str) {
        let request = Command::request(request::UPDATE_BROKER_CONFIG).body(setting.to_owned());
        assert_code(&self.node.call(request).await, response::SUCCESS, &[]);
        self.node.clock_was_set();
    }

    pub async fn restart_after(self, change: impl FnOnce(&std::path::Path)) -> Timers {
        Timers { node: self.node.restart_after(change).await, clock: self.clock }
    }

    pub async fn crash(self) -> Timers {
        Timers { node: self.node.crash(|_| {}).await, clock: self.clock }
    }
}

pub fn handle(answer: &Command) -> String {
    answer.field("recallHandle").unwrap().to_owned()
}

/// Delivered at once with default settings, or never: what was seen of other servers.
#[tokio::test]
async fn messages_come_when_they_are_due_to_the_millisecond() {
    let timers = Timers::start(&[]).await;
    timers.send(&[("TIMER_DELAY_MS", "2500"), ("TAGS", "TagA"), ("UNIQ_KEY", "7F01")], "ms").await;
    timers.send(&[("TIMER_DELAY_SEC", "2")], "sec").await;
    timers.send(&[("TIMER_DELIVER_MS", &(START + 2_400).to_string())], "at").await;
    timers.send(&[("TIMER_DELIVER_MS", &(START - 5).to_string())], "past").await;
    timers.send(&[("TIMER_DELAY_SEC", "-9")], "negative").await;
    assert_eq!(timers.texts().await, ["past", "negative"]);
    timers.entered().await;
    for (time, count) in [(1_999, 2), (2_000, 3), (2_399, 3), (2_400, 4), (2_499, 4), (2_500, 5)] {
        timers.set(time);
        assert_eq!(timers.delivered(count).await.len(), count, "{time}");
    }
    assert_eq!(timers.texts().await[2..], ["sec", "at", "ms"]);
    let message = timers.node.all("T", 0).await.remove(4);
    for (name, value) in [
        ("TAGS", "TagA".to_owned()),
        ("UNIQ_KEY", "7F01".to_owned()),
        ("TIMER_DELAY_MS", "2500".to_owned()),
        ("TIMER_OUT_MS", (START + 2_000).to_string()),
        ("TIMER_ENQUEUE_MS", START.to_string()),
        ("TIMER_DEQUEUE_MS", (START + 2_500).to_string()),
        ("REAL_TOPIC", "T".to_owned()),
        ("REAL_QID", "0".to_owned()),
    ] {
        assert_eq!(message.property(name), Some(value.as_str()), "{name}");
    }
    timers.node.stop().await;
}

#[tokio::test]
async fn what_is_no_time_or_too_far_ahead_is_refused() {
    let timers = Timers::start(&[("timerMaxDelaySec", "100")]).await;
    for (name, value) in [
        ("TIMER_DELAY_SEC", "101"),
        ("TIMER_DELAY_SEC", "9223372036854775807"),
        ("TIMER_DELAY_MS", "100001"),
        ("TIMER_DELIVER_MS", "soon"),
    ] {
        let answer = timers.node.call(send_to("T", 0, &[(name, value)], "x")).await;
        assert_code(&answer, response::MESSAGE_ILLEGAL, &[name, value]);
    }
    let to_timers = timers.node.call(send(TIMER_TOPIC, "x")).await;
    assert_code(&to_timers, response::NO_PERMISSION, &[TIMER_TOPIC]);
    assert!(timers.node.all(TIMER_TOPIC, 0).await.is_empty());
    timers.node.stop().await;
    let off = Timers::start(&[("timerWheelEnable", "false")]).await;
    let answer = off.node.call(send_to("T", 0, &[("TIMER_DELAY_MS", "5")], "x")).await;
    assert_code(&answer, response::SYSTEM_ERROR, &["timerWheelEnable"]);
    off.node.stop().await;
}

#[tokio::test]
async fn a_delay_level_goes_before_a_time() {
    let timers = Timers::start(&[]).await;
    let answer = timers.send(&[("DELAY", "18"), ("TIMER_DELAY_MS", "10")], "level").await;
    assert_eq!(answer.field("recallHandle"), None);
    timers.set(5_000);
    assert!(timers.node.all(TIMER_TOPIC, 0).await.is_empty());
    assert_eq!(timers.node.all("SCHEDULE_TOPIC_XXXX", 17).await.len(), 1);
    timers.node.stop().await;
}

#[tokio::test]
async fn a_slot_takes_no_more_than_is_allowed() {
    let timers = Timers::start(&[("timerCongestNumEachSlot", "4")]).await;
    for n in 0..4 {
        timers.send(&[("TIMER_DELAY_SEC", "5")], &n.to_string()).await;
        timers.entered().await;
    }
    let mut refused = 0;
    for _ in 0..200 {
        let answer = timers.node.call(send_to("T", 0, &[("TIMER_DELAY_SEC", "5")], "x")).await;
        if answer.code != response::SUCCESS {
            assert_code(&answer, response::SYSTEM_ERROR, &["flow control", "timerCongestNumEachSlot"]);
            refused += 1;
        }
        timers.entered().await;
    }
    let taken = 204 - refused;
    assert!((5..=8).contains(&taken), "{taken}");
    timers.send(&[("TIMER_DELAY_SEC", "6")], "another second").await;
    timers.node.stop().await;
}

#[tokio::test]
async fn delivery_can_be_held_up() {
    let timers = Timers::start(&[("timerStopDequeue", "true")]).await;
    timers.send(&[("TIMER_DELAY_MS", "700")], "x").await;
    timers.pending(1).await;
    timers.set(5_000);
    timers.runtime("timerReadBehind", "5").await;
    assert!(timers.texts().await.is_empty());
    timers.configure("timerStopDequeue=false").await;
    assert_eq!(timers.delivered(1).await, ["x"]);
    timers.pending(0).await;
    timers.node.stop().await;
}

/// A message of the largest size once held up all others.
#[tokio::test]
async fn a_message_of_the_largest_size_holds_up_nobody() {
    let timers = Timers::start(&[("maxMessageSize", "4194304")]).await;
    let long = "v".repeat(32_500);
    let large = "x".repeat(4_194_304);
    let answer = timers.node.call(send_to("T", 0, &[("TIMER_DELAY_SEC", "5"), ("long", &long)], large)).await;
    assert_code(&answer, response::SUCCESS, &[]);
    for n in 0..10 {
        timers.send(&[("TIMER_DELAY_SEC", "5")], &n.to_string()).await;
    }
    timers.entered().await;
    timers.set(5_000);
    timers.pending(0).await;
    for offset in 0..11 {
        timers.node.wait_for("T", 0, offset).await;
    }
    timers.node.stop().await;
}

#[tokio::test]
async fn operators_and_other_brokers_are_told_how_far_they_are() {
    let timers = Timers::start(&[("timerFlushIntervalMs", "10")]).await;
    timers.send(&[("TIMER_DELAY_SEC", "5")], "x").await;
    timers.pending(1).await;
    let answer = timers.node.call(Command::request(request::GET_TIMER_METRICS)).await;
    let metrics = roxmq_protocol::json::parse(&answer.body).unwrap();
    let Value::Object(fields) = &metrics else { panic!("{metrics:?}") };
    assert!(fields.contains_key("dataVersion") && format!("{metrics:?}").contains("\"T\""), "{metrics:?}");
    timers.set(20);
    let before = Instant::now();
    loop {
        let answer = timers.node.call(Command::request(request::GET_TIMER_CHECK_POINT)).await;
        assert_code(&answer, response::SUCCESS, &[]);
        let fields: Vec<_> =
            answer.body.as_chunks::<8>().0.iter().map(|bytes| i64::from_be_bytes(*bytes)).collect();
        assert_eq!((fields.len(), fields[4]), (7, 0));
        if fields[..4] == [START, 52, 1, 1] {
            break;
        }
        assert!(before.elapsed() < PATIENCE, "{fields:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
        timers.clock.advance(Duration::from_millis(20));
        timers.node.clock_was_set();
    }
    timers.runtime("timerReadBehind", "0").await;
    let dir = timers.node.stop().await;
    // In the file it would keep a Java server from going on behind the timer log's last unit.
    let file = std::fs::read(dir.path().join("config/timercheck")).unwrap();
    assert_eq!(file[24..32], i64::MAX.to_be_bytes());
}

#[tokio::test]
async fn the_real_clock_is_kept_to() {
    let node = Node::start().await;
    let before = Instant::now();
    assert_code(&node.call(send_to("T", 0, &[("TIMER_DELAY_MS", "700")], "x")).await, 0, &[]);
    let message = node.wait_for("T", 0, 0).await;
    // The broker's clock counts whole milliseconds.
    let waited = before.elapsed();
    assert!(waited >= Duration::from_millis(699), "{waited:?}");
    assert_eq!(message.text(), "x");
    node.stop().await;
}
