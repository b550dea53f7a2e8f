//! What a queue has, read from its beginning.

use crate::client::{Peer, pull};
use roxmq_protocol::record::{Record, Records};
use std::collections::HashMap;

const PULL_MESSAGES: i32 = 512;

/// When the message of each body was stored in the topic's first queue. None may be there twice.
#[track_caller]
pub fn delivered(topic: &str, peer: &mut Peer) -> HashMap<String, i64> {
    let mut stored = HashMap::new();
    each_record(topic, peer, |record| {
        let body = String::from_utf8(record.body.to_vec()).unwrap();
        let other = stored.insert(body.clone(), record.store_timestamp);
        assert_eq!(other, None, "{body} is there twice, the second time at {}", record.queue_offset);
    });
    stored
}

/// Shows everything in the topic's first queue.
#[track_caller]
pub fn each_record(topic: &str, peer: &mut Peer, mut each: impl FnMut(&Record<'_>)) {
    let mut next = 0;
    loop {
        let answer = peer.call(pull(topic, 0, next, PULL_MESSAGES));
        let before = next;
        for record in Records::new(&answer.body) {
            let record = record.unwrap();
            next = record.queue_offset + 1;
            each(&record);
        }
        if next == before {
            return;
        }
    }
}
