//! Topics, groups and consumer offsets: what was acknowledged before the kill is there after it.

use super::TOPIC;
use crate::client::{Peer, commit, committed, create_group, create_topic};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use std::time::{Duration, Instant};

const GROUP: &str = "Committing";
/// One change of so many makes a topic and a group.
const DEFINE_EVERY: i64 = 64;
/// Offsets go into the log 200 ms after they changed. The rest is for a machine that has other things to do.
const LOGGED_AFTER: Duration = Duration::from_millis(1_000);

pub struct State {
    queues: i32,
    topics: Vec<String>,
    groups: Vec<String>,
    /// The offset that is committed next, to every queue.
    next: i64,
    /// When the server acknowledged which offset, since the last restart.
    acknowledged: Vec<(Instant, i64)>,
    /// No queue's offset may be below.
    floor: i64,
}

impl State {
    pub fn new(queues: i32) -> State {
        let (topics, groups) = (vec![TOPIC.to_owned()], vec![GROUP.to_owned()]);
        State { queues, topics, groups, next: 0, acknowledged: Vec::new(), floor: 0 }
    }

    #[track_caller]
    pub fn begin(&mut self, peer: &mut Peer) {
        assert_eq!(peer.call(create_group(GROUP)).code, 0);
        self.change(peer);
    }

    #[track_caller]
    pub fn change_for(&mut self, time: Duration, peer: &mut Peer) {
        let started = Instant::now();
        while started.elapsed() < time {
            self.change(peer);
        }
    }

    #[track_caller]
    fn change(&mut self, peer: &mut Peer) {
        let commits = (0..self.queues).map(|queue_id| commit(GROUP, TOPIC, queue_id, self.next)).collect();
        let all_taken = peer.call_all(commits).iter().all(|answer| answer.code == 0);
        assert!(all_taken, "offset {} was not committed", self.next);
        self.acknowledged.push((Instant::now(), self.next));
        if self.next % DEFINE_EVERY == 0 {
            let (topic, group) = (format!("Topic{}", self.next), format!("Group{}", self.next));
            assert_eq!(peer.call(create_topic(&topic)).code, 0);
            assert_eq!(peer.call(create_group(&group)).code, 0);
            self.topics.push(topic);
            self.groups.push(group);
        }
        self.next += 1;
    }

    /// The kill finds the server at work on a topic, which may come to be or not.
    pub fn leave_unanswered(&self, peer: &mut Peer) {
        peer.send(create_topic(&format!("Unanswered{}", self.next))).unwrap();
    }

    /// The server was killed just now.
    pub fn killed(&mut self) {
        let now = Instant::now();
        let logged = |(at, _): &&(Instant, i64)| now.duration_since(*at) >= LOGGED_AFTER;
        let last = self.acknowledged.iter().rev().find(logged).map_or(0, |(_, offset)| *offset);
        self.floor = self.floor.max(last);
        self.acknowledged.clear();
    }

    #[track_caller]
    pub fn verify(&mut self, peer: &mut Peer) {
        assert_all_in(peer, request::GET_ALL_TOPIC_CONFIG, &self.topics);
        assert_all_in(peer, request::GET_ALL_SUBSCRIPTIONGROUP_CONFIG, &self.groups);
        let mut lowest = i64::MAX;
        for queue_id in 0..self.queues {
            let answer = peer.call(committed(GROUP, TOPIC, queue_id));
            // Before the first offset went into the log there is none.
            let offset = answer.field("offset").map_or(0, |offset| offset.parse().unwrap());
            assert!(
                (self.floor..self.next).contains(&offset),
                "queue {queue_id} has {offset}, not {} to {}",
                self.floor,
                self.next - 1
            );
            lowest = lowest.min(offset);
        }
        // What was there after one kill is there after the next.
        self.floor = lowest;
    }
}

#[track_caller]
fn assert_all_in(peer: &mut Peer, code: i32, names: &[String]) {
    let answer = peer.call(Command::request(code));
    assert_eq!(answer.code, 0, "{answer:?}");
    let table = String::from_utf8(answer.body.to_vec()).unwrap();
    for name in names {
        assert!(table.contains(&format!("\"{name}\"")), "{name} is gone: {table}");
    }
}
