//! Timer messages under kills: each is delivered once, never before its time, and soon after it or after the start that
//! follows it. What was taken back never comes.

use super::delivered::delivered;
use super::kill_under_load;
use crate::client::{Peer, create_topic, properties, send};
use crate::process::{PATIENCE, now_ms};
use crate::server::{Server, check_store};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use std::collections::HashMap;
use std::io;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ROUNDS: u32 = 12;
const PRODUCERS: u32 = 4;
const TOPIC: &str = "Timed";
/// While the server runs.
const LATE_MS_MAX: i64 = 1_000;
/// A message can be taken back until its slot begins.
const SLOT_MS_MAX: i64 = 1_000;
const TOGETHER_MS: i64 = 250;
const THE_END: &str = "the end";

/// In the slots of the Java server.
#[test]
fn timers_fire_once_and_on_time_with_asynchronous_flush() {
    kill_again_and_again(&["flushDiskType=ASYNC_FLUSH"], 2_500);
}

/// With so few slots that most messages are stored anew before they are due.
#[test]
fn timers_that_roll_fire_once_and_on_time_with_synchronous_flush() {
    let settings = ["flushDiskType=SYNC_FLUSH", "timerPrecisionMs=100", "timerRollWindowSlot=4"];
    kill_again_and_again(&settings, 1_500);
}

fn kill_again_and_again(settings: &[&str], wait_ms_max: i64) {
    let seed = std::env::var("KILL_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("the same kills again: KILL_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let store = TempDir::new().unwrap();
    let settings: Vec<_> = settings
        .iter()
        .copied()
        .chain(["maxTransferCountOnMessageInMemory=512", "maxTransferCountOnMessageInDisk=512"])
        .collect();
    let mut producers: Vec<_> = (0..PRODUCERS)
        .map(|number| Producer { number, rng: rng.fork(), wait_ms_max, timers: Vec::new() })
        .collect();
    let mut outages = Vec::new();

    let mut server = Server::start(store.path(), &settings);
    assert_eq!(server.connect().call(create_topic(TOPIC)).code, 0);
    for _ in 0..ROUNDS {
        let moment = Duration::from_millis(rng.u64(5..500));
        let killed = kill_under_load(server, &mut producers, moment, Producer::run);
        server = Server::start(store.path(), &settings);
        outages.push(Outage { killed, ready: now_ms() });
    }
    let mut peer = server.connect();
    let delivered = delivered_until_the_end(&mut peer, wait_ms_max);
    let late_ms = verify(&producers, &delivered, &outages);
    println!("{} timer messages, each once, the latest {late_ms} ms late", delivered.len());
    assert_none_waits(&mut peer);

    assert!(server.terminate().status.success());
    let checked = check_store(store.path(), &[]);
    assert!(checked.status.success(), "{checked:#?}");
}

/// What was taken back is gone when its slot has been looked at, which is a moment later.
fn assert_none_waits(peer: &mut Peer) {
    let before = Instant::now();
    loop {
        let answer = peer.call(Command::request(request::GET_BROKER_RUNTIME_INFO));
        let text = String::from_utf8_lossy(&answer.body);
        if text.contains(r#""timerCongestNum":"0""#) {
            return;
        }
        assert!(before.elapsed() < PATIENCE, "some still wait: {text}");
    }
}

/// When there was no server.
#[derive(Clone, Copy, Debug)]
struct Outage {
    killed: i64,
    ready: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recall {
    Not,
    Asked,
    Done,
    /// Its slot had begun, so that the message comes.
    Refused,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    due: i64,
    /// When the send was answered, if it was.
    answered: Option<i64>,
    recall: Recall,
}

impl Timer {
    /// Until when it has to be there: an outage gives it until the next start, and that the same time again.
    fn latest(&self, answered: i64, outages: &[Outage]) -> i64 {
        let due = self.due.max(answered);
        let over = outages.iter().filter(|outage| outage.ready >= due);
        over.fold(due + LATE_MS_MAX, |latest, outage| {
            if outage.killed <= latest { outage.ready + LATE_MS_MAX } else { latest }
        })
    }
}

struct Producer {
    number: u32,
    rng: fastrand::Rng,
    wait_ms_max: i64,
    timers: Vec<Timer>,
}

impl Producer {
    fn run(&mut self, port: u16, first_answer: Sender<()>) -> io::Result<()> {
        let mut peer = Peer::connect(port)?;
        let mut first_answer = Some(first_answer);
        loop {
            let due = self.due();
            let body = self.body(self.timers.len());
            self.timers.push(Timer { due, answered: None, recall: Recall::Not });
            let timer = self.timers.last_mut().expect("it was pushed");
            let answer = peer.try_call(timed(&body, due))?;
            assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
            timer.answered = Some(now_ms());
            if let Some(first_answer) = first_answer.take() {
                first_answer.send(()).expect("the load is not on yet");
            }
            if let Some(handle) = answer.field("recallHandle").filter(|_| self.rng.u8(0..8) == 0) {
                timer.recall = Recall::Asked;
                let answer = peer.try_call(recall(handle))?;
                let done = answer.code == response::SUCCESS;
                assert!(done || now_ms() >= due - SLOT_MS_MAX, "{answer:?}");
                timer.recall = if done { Recall::Done } else { Recall::Refused };
            }
        }
    }

    /// Every second message is due together with many others, so that a kill comes in the midst of them.
    fn due(&mut self) -> i64 {
        let due = now_ms() + self.rng.i64(1..self.wait_ms_max);
        if self.rng.bool() { (due / TOGETHER_MS + 1) * TOGETHER_MS } else { due }
    }

    fn body(&self, sequence: usize) -> String {
        format!("{}/{sequence}", self.number)
    }
}

fn timed(body: &str, due: i64) -> Command {
    let key = format!("U{body}");
    let pairs = [("TIMER_DELIVER_MS", due.to_string()), ("UNIQ_KEY", key)];
    send(TOPIC, 0, &properties(&pairs.each_ref().map(|(name, value)| (*name, value.as_str()))), body)
}

fn recall(handle: &str) -> Command {
    Command::request(request::RECALL_MESSAGE)
        .with("producerGroup", "producers")
        .with("topic", TOPIC)
        .with("recallHandle", handle)
}

/// What was delivered when a message is that is due after all others.
#[track_caller]
fn delivered_until_the_end(peer: &mut Peer, wait_ms_max: i64) -> HashMap<String, i64> {
    let due = now_ms() + wait_ms_max + TOGETHER_MS;
    assert_eq!(peer.call(timed(THE_END, due)).code, response::SUCCESS);
    std::thread::sleep(Duration::from_millis((due - now_ms()).max(0) as u64));
    let before = Instant::now();
    loop {
        let mut delivered = delivered(TOPIC, peer);
        if delivered.remove(THE_END).is_some() {
            return delivered;
        }
        assert!(before.elapsed() < PATIENCE, "the last of all is not delivered");
    }
}

/// Holds every message against what was delivered; gives how late the latest was while there was a server.
#[track_caller]
fn verify(producers: &[Producer], delivered: &HashMap<String, i64>, outages: &[Outage]) -> i64 {
    let mut late_ms = 0;
    for producer in producers {
        for (sequence, timer) in producer.timers.iter().enumerate() {
            let body = producer.body(sequence);
            let Some(stored) = delivered.get(&body) else {
                let must = timer.answered.is_some() && matches!(timer.recall, Recall::Not | Recall::Refused);
                assert!(!must, "{body} is lost: {timer:?}");
                continue;
            };
            assert_ne!(timer.recall, Recall::Done, "{body} was delivered: {timer:?}");
            assert!(*stored >= timer.due, "{body} came early, at {stored}: {timer:?}");
            if let Some(answered) = timer.answered {
                let latest = timer.latest(answered, outages);
                assert!(*stored <= latest, "{body} came late, at {stored}, not by {latest}: {timer:?}");
                late_ms = late_ms.max(stored - (latest - LATE_MS_MAX));
            }
        }
    }
    late_ms
}
