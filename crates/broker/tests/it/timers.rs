//! Timer messages: when they come, that they come once, that they can be taken back, and what is told of them.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::Value;
use roxmq_protocol::recall_handle::RecallHandle;
use roxmq_store::Millis;
use roxmq_testkit::TestClock;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A whole second.
const START: i64 = 1_700_000_000_000;
const TIMER_TOPIC: &str = "rmq_sys_wheel_timer";
const PATIENCE: Duration = Duration::from_secs(20);

/// A broker whose time only tests move.
struct Timers {
    node: Node,
    clock: Arc<TestClock>,
}

impl Timers {
    async fn start(settings: &[(&str, &str)]) -> Timers {
        let clock = Arc::new(TestClock::at(Millis(START)));
        Timers { node: Node::start_at(Arc::clone(&clock) as _, settings).await, clock }
    }

    async fn send(&self, pairs: &[(&str, &str)], body: &str) -> Command {
        let answer = self.node.call(send_to("T", 0, pairs, body)).await;
        assert_code(&answer, response::SUCCESS, &[]);
        answer
    }

    fn set(&self, after_start_ms: i64) {
        self.clock.set(Millis(START + after_start_ms));
        self.node.clock_was_set();
    }

    async fn texts(&self) -> Vec<String> {
        self.node.all("T", 0).await.iter().map(|message| message.text().to_owned()).collect()
    }

    /// What is delivered once it is so many messages.
    async fn delivered(&self, count: usize) -> Vec<String> {
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
    async fn entered(&self) {
        self.runtime("timerOffsetBehind", "0").await;
    }

    async fn runtime(&self, key: &str, expected: &str) {
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

    async fn pending(&self, count: i64) {
        self.runtime("timerCongestNum", &count.to_string()).await;
    }

    async fn recall(&self, topic: &str, handle: &str) -> Command {
        let request = Command::request(request::RECALL_MESSAGE)
            .with("producerGroup", "PG")
            .with("topic", topic)
            .with("recallHandle", handle);
        self.node.call(request).await
    }

    async fn configure(&self, setting: &str) {
        let request = Command::request(request::UPDATE_BROKER_CONFIG).body(setting.to_owned());
        assert_code(&self.node.call(request).await, response::SUCCESS, &[]);
        self.node.clock_was_set();
    }

    async fn restart_after(self, change: impl FnOnce(&std::path::Path)) -> Timers {
        Timers { node: self.node.restart_after(change).await, clock: self.clock }
    }
}

fn handle(answer: &Command) -> String {
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
async fn a_message_is_taken_back_once_and_not_delivered() {
    let timers = Timers::start(&[]).await;
    let recalled = timers.send(&[("TIMER_DELAY_MS", "3000"), ("UNIQ_KEY", "7F01")], "recalled").await;
    timers.send(&[("TIMER_DELAY_MS", "3000"), ("UNIQ_KEY", "7F02")], "kept").await;
    timers.pending(2).await;
    let answer = timers.recall("T", &handle(&recalled)).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!((answer.field("msgId"), answer.field("MSG_REGION")), (Some("7F01"), Some("DefaultRegion")));
    timers.pending(1).await;
    let again = timers.recall("T", &handle(&recalled)).await;
    assert_code(&again, response::ILLEGAL_OPERATION, &["7F01", "already"]);
    let timers = timers.restart_after(|_| {}).await;
    timers.pending(1).await;
    timers.set(3_000);
    assert_eq!(timers.delivered(1).await, ["kept"]);
    timers.pending(0).await;
    timers.set(9_000);
    timers.pending(0).await;
    assert_eq!(timers.texts().await, ["kept"]);
    let late = timers.recall("T", &handle(&recalled)).await;
    assert_code(&late, response::ILLEGAL_OPERATION, &["timestamp invalid"]);
    timers.node.stop().await;
}

#[tokio::test]
async fn handles_that_take_nothing_back() {
    let timers = Timers::start(&[]).await;
    let sent = handle(&timers.send(&[("TIMER_DELAY_MS", "9000"), ("UNIQ_KEY", "7F01")], "x").await);
    timers.node.create_topic("Other", 1, 6).await;
    let check = async |topic: &str, handle: &str, code: i32, words: &[&str]| {
        assert_code(&timers.recall(topic, handle).await, code, words);
    };
    let of = |topic: &str, broker: &str, time: i64, key: &str| {
        RecallHandle::encode(topic, broker, START + time, key)
    };
    check("T", "nonsense", response::ILLEGAL_OPERATION, &["recall handle is invalid"]).await;
    check("Missing", &sent, response::TOPIC_NOT_EXIST, &["Missing"]).await;
    check("Other", &sent, response::ILLEGAL_OPERATION, &["topic not match"]).await;
    check("T", &of("T", "b", 8_001, "7F01"), response::ILLEGAL_OPERATION, &["broker"]).await;
    check("T", &of("T", "broker-a", 0, "7F01"), response::ILLEGAL_OPERATION, &["timestamp invalid"]).await;
    check(
        "T",
        &of("T", "broker-a", i64::MAX - START, "7F01"),
        response::ILLEGAL_OPERATION,
        &["timerMaxDelaySec"],
    )
    .await;
    // Taken as by the Java server, whose tests do this, and in vain: of a message that isn't there, and of one whose key
    // another topic has.
    check("T", &of("T", "broker-a", 8_001, "7F99"), response::SUCCESS, &[]).await;
    check("Other", &of("Other", "broker-a", 8_001, "7F01"), response::SUCCESS, &[]).await;
    timers.set(9_000);
    assert_eq!(timers.delivered(1).await, ["x"]);
    timers.pending(0).await;
    timers.node.stop().await;
    let off = Timers::start(&[("recallMessageEnable", "false")]).await;
    assert_code(&off.recall("T", &sent).await, response::NO_PERMISSION, &["recallMessageEnable"]);
    off.node.stop().await;
}

/// Recalled messages were once delivered when they had been stored anew an odd number of times.
#[tokio::test]
async fn what_waits_longer_than_the_wheel_reaches_is_stored_anew_and_can_be_taken_back() {
    let timers = Timers::start(&[("timerRollWindowSlot", "10")]).await;
    let mut recalled = Vec::new();
    for delay in [5, 12, 25, 45] {
        let seconds = delay.to_string();
        recalled.push(handle(&timers.send(&[("TIMER_DELAY_SEC", &seconds)], "recalled").await));
        timers.send(&[("TIMER_DELAY_SEC", &seconds)], &seconds).await;
    }
    timers.pending(8).await;
    for second in 1..=60 {
        if second == 3 {
            for (count, handle) in recalled.iter().enumerate() {
                assert_code(&timers.recall("T", handle).await, response::SUCCESS, &[]);
                timers.pending(7 - count as i64).await;
            }
        }
        timers.set(second * 1_000);
        timers.entered().await;
        let due = [5, 12, 25, 45].iter().filter(|delay| **delay <= second).count();
        assert_eq!(timers.delivered(due).await.len(), due, "{second}");
        let recalled = if second < 3 { 0 } else { 4 };
        timers.pending(8 - recalled - due as i64).await;
    }
    assert_eq!(timers.texts().await, ["5", "12", "25", "45"]);
    let last = timers.node.all("T", 0).await.remove(3);
    assert!(last.property("TIMER_ROLL_TIMES").is_some_and(|times| times.parse::<u32>().unwrap() >= 3));
    timers.node.stop().await;
}

/// Whatever kept the broker from entering them: a message that was taken back in time doesn't come.
#[tokio::test]
async fn what_was_due_before_it_was_entered_comes_unless_it_was_taken_back() {
    let timers = Timers::start(&[("timerStopEnqueue", "true")]).await;
    let sent = handle(&timers.send(&[("TIMER_DELAY_MS", "700"), ("UNIQ_KEY", "7F01")], "recalled").await);
    timers.send(&[("TIMER_DELAY_MS", "700"), ("UNIQ_KEY", "7F02")], "kept").await;
    assert_code(&timers.recall("T", &sent).await, response::SUCCESS, &[]);
    timers.set(5_000);
    timers.runtime("timerOffsetBehind", "3").await;
    timers.configure("timerStopEnqueue=false").await;
    assert_eq!(timers.delivered(1).await, ["kept"]);
    timers.pending(0).await;
    assert_eq!(timers.texts().await, ["kept"]);
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

#[tokio::test]
async fn a_stop_loses_nothing_and_repeats_nothing() {
    let timers = Timers::start(&[]).await;
    for n in 0..30 {
        timers.send(&[("TIMER_DELAY_MS", &(500 + n * 100).to_string())], &n.to_string()).await;
    }
    timers.entered().await;
    timers.set(1_750);
    assert_eq!(timers.delivered(13).await.len(), 13);
    // In the middle of a slot.
    let timers = timers.restart_after(|_| {}).await;
    timers.pending(17).await;
    assert_eq!(timers.texts().await.len(), 13);
    timers.set(2_000);
    assert_eq!(timers.delivered(16).await.len(), 16);
    timers.clock.set(Millis(START + 90_000));
    let timers = timers.restart_after(|_| {}).await;
    let expected: Vec<_> = (0..30).map(|n| n.to_string()).collect();
    assert_eq!(timers.delivered(30).await, expected);
    let timers = timers.restart_after(|_| {}).await;
    timers.pending(0).await;
    assert_eq!(timers.texts().await, expected);
    timers.node.stop().await;
}

/// The wheel and its log are made anew from the log when they are gone.
#[tokio::test]
async fn lost_files_cost_no_message() {
    type Loss = fn(&std::path::Path);
    let losses: [Loss; 3] = [
        |root| std::fs::remove_file(root.join("timerwheel")).unwrap(),
        |root| std::fs::remove_dir_all(root.join("timerlog")).unwrap(),
        |root| {
            std::fs::remove_file(root.join("timerwheel")).unwrap();
            std::fs::remove_dir_all(root.join("timerlog")).unwrap();
            std::fs::remove_file(root.join("config/timercheck")).unwrap();
        },
    ];
    for loss in losses {
        let timers = Timers::start(&[]).await;
        for n in 0..20 {
            timers.send(&[("TIMER_DELAY_MS", &(n * 500 + 100).to_string())], &n.to_string()).await;
        }
        timers.entered().await;
        timers.set(3_200);
        assert_eq!(timers.delivered(7).await.len(), 7);
        let timers = timers.restart_after(loss).await;
        timers.pending(13).await;
        timers.set(60_000);
        let expected: Vec<_> = (0..20).map(|n| n.to_string()).collect();
        assert_eq!(timers.delivered(20).await, expected);
        timers.pending(0).await;
        timers.node.stop().await;
    }
}

/// After the log was cut the state of the timers once pointed beyond its end, and they stood still.
#[tokio::test]
async fn timers_go_on_behind_a_log_that_was_cut() {
    let timers = Timers::start(&[]).await;
    for n in 0..100 {
        timers.send(&[("TIMER_DELAY_SEC", "5")], &n.to_string()).await;
    }
    timers.entered().await;
    let timers = timers
        .restart_after(|root| {
            // As if it had crashed, and a part of the log had not reached the disk.
            std::fs::write(root.join("abort"), "").unwrap();
            let log = root.join("commitlog/00000000000000000000");
            let bytes = std::fs::read(&log).unwrap();
            let end = bytes.windows(4).rposition(|bytes| bytes == b"\x01T\x02R").unwrap();
            let cut = end / 2;
            let file = std::fs::File::options().write(true).open(log).unwrap();
            use std::os::unix::fs::FileExt;
            file.write_all_at(&vec![0; bytes.len() - cut], cut as u64).unwrap();
        })
        .await;
    for n in 0..10 {
        timers.send(&[("TIMER_DELAY_SEC", "5")], &format!("new{n}")).await;
    }
    timers.entered().await;
    timers.set(5_000);
    timers.pending(0).await;
    let texts = timers.texts().await;
    let old = texts.len() - 10;
    assert!((20..80).contains(&old), "{old}");
    let expected: Vec<_> =
        (0..old).map(|n| n.to_string()).chain((0..10).map(|n| format!("new{n}"))).collect();
    assert_eq!(texts, expected);
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
