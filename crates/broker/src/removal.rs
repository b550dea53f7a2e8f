//! Topics and groups go here, with everything that belongs to them.
//!
//! Gone means gone, also after a restart: whoever keeps something by topic or group has a line here, and, if it is kept
//! in files, one in the replay of the state log.

use crate::Broker;
use crate::lmq;
use crate::state::{Change, StateError};
use roxmq_protocol::names;

impl Broker {
    /// Removes a topic with its offsets and queues for good, and with it its lite topics.
    pub fn delete_topic(&self, topic: &str) -> Result<(), StateError> {
        if names::is_lmq(topic) {
            return self.delete_one_topic(topic);
        }
        let of_topic = |queue: &str| lmq::lite_parts(queue).is_some_and(|(parent, _)| parent == topic);
        for queue in self.store.topics().into_iter().filter(|queue| of_topic(queue)) {
            self.delete_one_topic(&queue)?;
        }
        self.delete_one_topic(topic)
    }

    fn delete_one_topic(&self, topic: &str) -> Result<(), StateError> {
        let mut turn = self.state_log.turn();
        turn.record(&Change::DeleteTopic(topic.to_owned()))?;
        self.topics.remove(&mut turn, topic);
        self.groups.remove_topic(&mut turn, topic);
        self.request_modes.remove_topic(topic);
        self.offsets.remove_topic(topic);
        self.pops.table.remove_topic(topic);
        self.resets.delete_topic(topic);
        self.locks.remove_topic(topic);
        self.stats.remove_topic(topic);
        self.timers.forget_topic(topic);
        // Who waits for messages of the topic waits in vain, and learns with the next pull that it is gone.
        for queue in self.store.delete_topic(topic)? {
            self.holds.finish_queue(self, &queue);
        }
        self.pop_waits.finish_topic(self, topic);
        self.lite.remove_topic(topic);
        Ok(())
    }

    /// Removes a group, and its offsets if `clean_offset`. Without offsets its retry topics would give a new group of its
    /// name what the old one had failed on, so that these go with them. Dead letters stay for whoever wants to know.
    pub fn delete_group(&self, group: &str, clean_offset: bool) -> Result<(), StateError> {
        if clean_offset {
            self.delete_retry_topics(group)?;
        }
        let mut turn = self.state_log.turn();
        turn.record(&Change::DeleteGroup { group: group.to_owned(), clean_offset })?;
        self.groups.remove(&mut turn, group);
        self.request_modes.remove_group(group);
        if clean_offset {
            self.offsets.remove_group(group);
        }
        self.pops.table.remove_group(group);
        self.resets.delete_group(group);
        self.locks.remove_group(group);
        self.pop_waits.finish_group(self, group);
        self.lite.remove_group(self, group);
        self.stats.remove_group(group);
        Ok(())
    }

    fn delete_retry_topics(&self, group: &str) -> Result<(), StateError> {
        let known = self.topics.all();
        let of_group = |name: &str| is_retry_topic_of(name, group, |other| self.groups.get(other).is_some());
        for topic in known.iter().filter(|topic| of_group(&topic.topic_name)) {
            self.delete_topic(&topic.topic_name)?;
        }
        Ok(())
    }

    /// Removes the topics in which POP keeps what the groups of a topic have failed on.
    pub(crate) fn delete_pop_retry_topics(&self, topic: &str) -> Result<(), StateError> {
        for group in self.offsets.groups_of_topic(topic) {
            for v2 in [false, true] {
                let retry = names::pop_retry_topic(topic, &group, v2);
                let is_anothers = !v2 && self.groups.get(&format!("{group}_{topic}")).is_some();
                if !is_anothers && self.topics.get(&retry).is_some() {
                    self.delete_topic(&retry)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a topic is one of the group's retry topics: its own, or one of POP's. The older form of these,
/// `%RETRY%group_topic`, may belong to another group as well, whose name is longer: then it does.
fn is_retry_topic_of(topic: &str, group: &str, is_group: impl Fn(&str) -> bool) -> bool {
    let Some(name) = topic.strip_prefix(names::RETRY_PREFIX) else { return false };
    match name.strip_prefix(group) {
        Some("") => true,
        Some(rest) if rest.starts_with('+') => true,
        Some(rest) if rest.starts_with('_') => {
            let longer = rest.match_indices('_').skip(1).map(|(at, _)| &name[..group.len() + at]);
            !longer.chain([name]).any(is_group)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_topics_of_a_group() {
        let groups = ["g", "g_x", "g2"];
        let check = |topic: &str, expected: bool| {
            assert_eq!(is_retry_topic_of(topic, "g", |name| groups.contains(&name)), expected, "{topic}");
        };
        check("%RETRY%g", true);
        check("%RETRY%g+T", true);
        check("%RETRY%g_T", true);
        check("%RETRY%g_x", false);
        check("%RETRY%g_x_T", false);
        check("%RETRY%g2", false);
        check("%RETRY%g2+T", false);
        check("%DLQ%g", false);
        check("g", false);
    }
}
