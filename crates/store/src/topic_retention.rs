//! Topics that keep their messages for a time of their own (`reserve.time`), shorter or longer than the files of the
//! log are kept.
//!
//! A shorter time moves the minimum offsets of the topic's queues while the log still has the records. A longer one
//! keeps the log's files for as long as they hold a message of the topic that isn't expired, unless the disk is too
//! full for that.

use crate::core::Core;
use crate::position::{Millis, PhyOffset};
use crate::read::Boundary;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The topics with times of their own. The broker tells; no file of the log expires before it has told of all.
#[derive(Debug)]
pub struct TopicRetention {
    keeps: RwLock<HashMap<String, Duration>>,
    complete: AtomicBool,
}

impl Default for TopicRetention {
    /// No topic has a time of its own.
    fn default() -> Self {
        TopicRetention { keeps: RwLock::default(), complete: AtomicBool::new(true) }
    }
}

impl TopicRetention {
    /// Of topics that are still to be told of.
    pub fn incomplete() -> Self {
        TopicRetention { complete: AtomicBool::new(false), ..TopicRetention::default() }
    }

    /// Every topic has been told of.
    pub fn complete(&self) {
        self.complete.store(true, Ordering::Release);
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// How long the topic keeps its messages; none for as long as the log does.
    pub fn set(&self, topic: &str, keep: Option<Duration>) {
        match keep {
            Some(keep) => drop(self.keeps.write().insert(topic.to_owned(), keep)),
            None if self.keeps.read().contains_key(topic) => drop(self.keeps.write().remove(topic)),
            None => {}
        }
    }

    fn all(&self) -> Vec<(String, Duration)> {
        self.keeps.read().iter().map(|(topic, keep)| (topic.clone(), *keep)).collect()
    }
}

/// What was stored before this is expired.
fn expired_before(keep: Duration, now: Millis) -> Millis {
    Millis(now.0.saturating_sub(i64::try_from(keep.as_millis()).unwrap_or(i64::MAX)))
}

/// How many of the log's oldest files, by where they start, hold nothing at or behind the floor.
pub(crate) fn files_before(floor: PhyOffset, starts: &[i64], file_bytes: i64) -> usize {
    starts.iter().take_while(|start| **start + file_bytes <= floor.0).count()
}

impl Core {
    /// Moves the minimum offsets of the topics' queues to their first messages that aren't expired.
    pub fn expire_topics(&self) -> io::Result<()> {
        let now = self.clock.now();
        for (topic, keep) in self.options.topic_retention.all() {
            let limit = expired_before(keep, now);
            for queue in self.queues.queues(&topic) {
                let min = queue.min_offset();
                if min == queue.max_offset() {
                    continue;
                }
                let first = self.offset_by_time(&queue, limit, Boundary::Lower)?;
                if first > min {
                    self.queues.trim_before(&queue, first)?;
                    self.removals.fetch_add(1, Ordering::AcqRel);
                }
            }
        }
        Ok(())
    }

    /// Where the first message lies that a topic keeps for longer than the log's files are kept.
    pub(crate) fn kept_from(&self) -> PhyOffset {
        let longer = |(_, keep): &(String, Duration)| *keep > self.options.retention.keep;
        let topics = self.options.topic_retention.all().into_iter().filter(longer);
        let queues = topics.flat_map(|(topic, _)| self.queues.queues(&topic));
        queues.map(|queue| queue.first_phy()).min().unwrap_or(PhyOffset(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_never_before_the_beginning() {
        assert_eq!(expired_before(Duration::from_millis(30), Millis(100)), Millis(70));
        assert_eq!(expired_before(Duration::MAX, Millis(0)), Millis(-i64::MAX));
        assert_eq!(expired_before(Duration::MAX, Millis(-5)), Millis(i64::MIN));
    }

    #[test]
    fn a_file_stays_with_its_first_kept_message() {
        let check = |floor: i64, expected: usize| {
            assert_eq!(files_before(PhyOffset(floor), &[100, 200, 300], 100), expected, "{floor}");
        };
        check(0, 0);
        check(199, 0);
        check(200, 1);
        check(399, 2);
        check(400, 3);
        check(i64::MAX, 3);
    }
}
