//! Kills the server again and again under a POP consumer, which keeps books on what it was given and what it
//! acknowledged.
//!
//! What was acknowledged never comes again, what was popped comes again only after its invisible time, and in the end
//! everything that was sent was acknowledged. A run is repeated with the seed that a failed one prints.

use crate::client::{Peer, create_topic, number, send};
use crate::process::{PATIENCE, now_ms};
use crate::server::Server;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::properties::name;
use roxmq_protocol::receipt::{PopOrigin, Receipt};
use roxmq_protocol::record::Records;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ROUNDS: u32 = 8;
const MESSAGES: u32 = 1_500;
const QUEUES: u32 = 8;
const TOPIC: &str = "Popped";
const GROUP: &str = "poppers";
const INVISIBLE_MS: i64 = 700;

#[test]
fn every_message_is_acknowledged_and_none_comes_before_its_time() {
    let seed = std::env::var("KILL_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("the same kills again: KILL_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let store = TempDir::new().unwrap();
    let mut server = Server::start(store.path(), &[]);
    let mut peer = server.connect();
    assert_eq!(peer.call(create_topic(TOPIC)).code, 0);
    // Ten attempts would be spent on kills alone.
    let group =
        format!(r#"{{"groupName":"{GROUP}","consumeEnable":true,"retryQueueNums":1,"retryMaxTimes":1000}}"#);
    let group = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(group);
    assert_eq!(peer.call(group).code, 0);
    let sends =
        (0..MESSAGES).map(|sequence| send(TOPIC, (sequence % QUEUES) as i32, "", sequence.to_string()));
    assert!(peer.call_all(sends.collect()).iter().all(|answer| answer.code == response::SUCCESS));

    let mut books = Books::default();
    for _ in 0..ROUNDS {
        let moment = Duration::from_millis(rng.u64(50..600));
        let port = server.ports.broker;
        let consumer_rng = rng.fork();
        std::thread::scope(|scope| {
            let consumer = scope.spawn(|| {
                // The connection breaks in the end: that is what this is about.
                let _ = books.consume_until_killed(port, consumer_rng);
            });
            std::thread::park_timeout(moment);
            server.kill();
            consumer.join().unwrap();
        });
        server = Server::start(store.path(), &[]);
    }
    let mut peer = server.connect();
    let before = Instant::now();
    while books.done() < MESSAGES as usize {
        assert!(before.elapsed() < PATIENCE, "{} of {MESSAGES} are acknowledged", books.done());
        books.consume(&mut peer, |_| true).unwrap();
    }
    println!("{} messages, given {} times", books.acknowledged.len(), books.given);
    assert!(server.terminate().status.success());
}

/// What the consumer knows.
#[derive(Default)]
struct Books {
    /// When each message may be given again.
    visible_at: HashMap<u32, i64>,
    /// Acknowledgements that the server has confirmed.
    acknowledged: BTreeSet<u32>,
    /// And those that were sent: what the kill left unanswered counts or doesn't.
    sent: BTreeSet<u32>,
    given: usize,
}

impl Books {
    fn consume_until_killed(&mut self, port: u16, mut rng: fastrand::Rng) -> io::Result<()> {
        let mut peer = Peer::connect(port)?;
        loop {
            self.consume(&mut peer, |_| rng.bool())?;
        }
    }

    /// Messages that may not come again any more.
    fn done(&self) -> usize {
        self.acknowledged.union(&self.sent).count()
    }

    /// Pops once and acknowledges some of it.
    fn consume(&mut self, peer: &mut Peer, mut wants: impl FnMut(u32) -> bool) -> io::Result<()> {
        let answer = peer.try_call(pop())?;
        if answer.code == response::POLLING_TIMEOUT {
            return Ok(());
        }
        assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
        let mut under_way = HashMap::new();
        for (sequence, acknowledgement) in self.take(&answer) {
            if wants(sequence) {
                self.sent.insert(sequence);
                under_way.insert(peer.send(acknowledgement)?, sequence);
            }
        }
        while !under_way.is_empty() {
            let answer = peer.receive()?;
            let sequence = under_way.remove(&answer.opaque).expect("an answer to a request of ours");
            assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
            if now_ms() < self.visible_at[&sequence] {
                self.acknowledged.insert(sequence);
            } else {
                // It may have come too late; then the message is on its way back.
                self.sent.remove(&sequence);
            }
        }
        Ok(())
    }

    /// Enters the messages of an answer, and gives each with what acknowledges it.
    fn take(&mut self, answer: &Command) -> Vec<(u32, Command)> {
        let pop_time = number(answer, "popTime");
        let starts = answer.field("startOffsetInfo").unwrap();
        let mut taken = Vec::new();
        for record in Records::new(&answer.body) {
            let record = record.unwrap();
            let sequence: u32 = std::str::from_utf8(record.body).unwrap().parse().unwrap();
            assert!(!self.acknowledged.contains(&sequence), "{sequence} was acknowledged and came again");
            let visible_at = self.visible_at.insert(sequence, pop_time + INVISIBLE_MS).unwrap_or_default();
            assert!(pop_time >= visible_at, "{sequence} came again {} ms early", visible_at - pop_time);
            // It is here again, so that no acknowledgement of it counted.
            self.sent.remove(&sequence);
            self.given += 1;
            let ck = record.properties.get(name::POP_CK).map(str::to_owned);
            let receipt = ck.unwrap_or_else(|| {
                let queue = record.queue_id.to_string();
                let of_queue = |item: &&str| item.split(' ').nth(1) == Some(&queue);
                let start = starts.split(';').find(of_queue).unwrap().split(' ').nth(2).unwrap();
                let revive_queue = number(answer, "reviveQid");
                format!("{start} {pop_time} {INVISIBLE_MS} {revive_queue} 0 broker-a {queue}")
            });
            let topic = match Receipt::parse(&receipt).unwrap().origin {
                PopOrigin::Topic => TOPIC.to_owned(),
                _ => format!("%RETRY%{GROUP}_{TOPIC}"),
            };
            let acknowledgement = Command::request(request::ACK_MESSAGE)
                .with("consumerGroup", GROUP)
                .with("topic", topic)
                .with("queueId", record.queue_id)
                .with("extraInfo", receipt)
                .with("offset", record.queue_offset);
            taken.push((sequence, acknowledgement));
        }
        taken
    }
}

fn pop() -> Command {
    Command::request(request::POP_MESSAGE)
        .with("consumerGroup", GROUP)
        .with("topic", TOPIC)
        .with("queueId", -1)
        .with("maxMsgNums", 32)
        .with("invisibleTime", INVISIBLE_MS)
        .with("pollTime", 50)
        .with("bornTime", 0)
        .with("initMode", 0)
}
