//! The queue that a message is sent to.

use crate::invoker::Topic;
use roxmq_protocol::java_hash;
use roxmq_protocol::sys_flag::perm;
use std::sync::Arc;

/// The id of a master.
const MASTER_ID: i32 = 0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub broker: Arc<str>,
    pub id: i32,
}

/// The queue for a message group: the same as long as the topic has as many queues and its broker fits. Else one of
/// those of the brokers that do; other groups stay where they are.
pub fn by_group(topic: &Topic, group: &str, fits: impl Fn(&str) -> bool) -> Option<Queue> {
    let key = i64::from(java_hash::hash(group));
    let own = nth(writable(topic), jump_hash(key, count(writable(topic))?))?;
    if fits(&own.broker) {
        return Some(own);
    }
    let fitting = || writable(topic).filter(|(broker, _)| fits(broker));
    nth(fitting(), jump_hash(key, count(fitting())?))
}

/// The queue whose turn it is among those of the brokers that fit.
pub fn by_turn(topic: &Topic, turn: usize, fits: impl Fn(&str) -> bool) -> Option<Queue> {
    let fitting = || writable(topic).filter(|(broker, _)| fits(broker));
    let count = count(fitting())?;
    nth(fitting(), turn % count)
}

/// How many queues there are; none for none.
fn count<'a>(queues: impl Iterator<Item = (&'a Arc<str>, usize)>) -> Option<usize> {
    Some(queues.map(|(_, queues)| queues).sum()).filter(|count| *count > 0)
}

fn nth<'a>(queues: impl Iterator<Item = (&'a Arc<str>, usize)>, mut index: usize) -> Option<Queue> {
    for (broker, queues) in queues {
        if index < queues {
            return Some(Queue { broker: Arc::clone(broker), id: index.try_into().ok()? });
        }
        index -= queues;
    }
    None
}

fn writable(topic: &Topic) -> impl Iterator<Item = (&Arc<str>, usize)> {
    let masters =
        topic.brokers.iter().filter(|broker| broker.id == MASTER_ID && perm::is_writeable(broker.perm));
    masters.map(|broker| (&broker.name, usize::try_from(broker.write_queues).unwrap_or(0)))
}

/// The jump consistent hash of Lamping and Veach, with the numbers of the library that the Java server takes it
/// from: the choice for a group is the same on both.
fn jump_hash(key: i64, buckets: usize) -> usize {
    const MULTIPLIER: u64 = 2_862_933_555_777_941_757;
    const RANGE: f64 = (1_u64 << 31) as f64;
    let mut state = key.cast_unsigned();
    let mut candidate = 0_usize;
    loop {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(1);
        let draw = ((state >> 33) as i32).wrapping_add(1);
        let next = (candidate + 1) as f64 / (f64::from(draw) / RANGE);
        if next < 0.0 || next >= buckets as f64 {
            return candidate;
        }
        candidate = next as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invoker::TopicBroker;

    fn broker(name: &str, id: i32, perm: i32, write_queues: i32) -> TopicBroker {
        TopicBroker { name: name.into(), id, address: None, perm, read_queues: 9, write_queues }
    }

    fn topic(brokers: Vec<TopicBroker>) -> Topic {
        Topic { brokers, ..Topic::default() }
    }

    #[test]
    fn queues_take_turns_over_all_masters_that_can_be_written_to() {
        let brokers =
            vec![broker("a", 0, 6, 2), broker("a", 1, 6, 2), broker("b", 0, 4, 8), broker("c", 0, 2, 1)];
        let topic = topic(brokers);
        let turns: Vec<_> = (0..4)
            .map(|turn| by_turn(&topic, turn, |_| true).map(|queue| (queue.broker.to_string(), queue.id)))
            .collect();
        let expected = [("a", 0), ("a", 1), ("c", 0), ("a", 0)];
        assert_eq!(turns, expected.map(|(broker, id)| Some((broker.to_owned(), id))));
        let without_a = by_turn(&topic, 7, |broker| broker != "a");
        assert_eq!(without_a, Some(Queue { broker: "c".into(), id: 0 }));
        assert_eq!(by_turn(&topic, 7, |_| false), None);
        assert_eq!(by_turn(&self::topic(vec![broker("b", 0, 4, 8)]), 0, |_| true), None);
        assert_eq!(by_group(&self::topic(vec![]), "g", |_| true), None);
    }

    #[test]
    fn a_group_leaves_only_a_broker_that_does_not_fit() {
        let topic = topic(vec![broker("a", 0, 6, 4), broker("b", 0, 6, 4), broker("c", 0, 6, 4)]);
        let mut moved = 0;
        for group in (0..64).map(|number| format!("group-{number}")) {
            let own = by_group(&topic, &group, |_| true).expect("there are queues");
            let without_b = by_group(&topic, &group, |broker| broker != "b").expect("there are queues");
            if *own.broker == *"b" {
                moved += 1;
                assert_ne!(&*without_b.broker, "b");
            } else {
                assert_eq!(without_b, own, "{group}");
            }
            assert_eq!(by_group(&topic, &group, |_| false), None);
        }
        assert!(moved > 0, "no group is of broker b");
    }

    /// Recorded from the library that the Java server uses.
    #[test]
    fn groups_go_where_the_java_server_sends_them() {
        let check = |key: i64, buckets: usize, expected: usize| assert_eq!(jump_hash(key, buckets), expected);
        let of_100 = [0, 55, 62, 8, 45, 59, 86, 97, 82, 59, 73, 37, 17, 56, 86, 21, 90, 37, 38, 83];
        (0..).zip(of_100).for_each(|(key, expected)| check(key, 100, expected));
        check(10_863_919_174_838_991, 11, 6);
        check(2_016_238_256_797_177_309, 11, 3);
        check(1_673_758_223_894_951_030, 11, 5);
        let group = |group: &str, expected: i32| {
            let chosen = by_group(&topic(vec![broker("a", 0, 6, 16)]), group, |_| true);
            assert_eq!(chosen.map(|queue| queue.id), Some(expected), "{group}");
        };
        group("g", 12);
        group("group-1", 15);
        group("订单", 7);
        group("a-very-long-group", 11);
    }

    #[test]
    fn more_queues_move_few_groups() {
        let moved = (0..1_000_i64).filter(|key| jump_hash(*key, 8) != jump_hash(*key, 9)).count();
        assert!((50..250).contains(&moved), "{moved} of 1000 moved");
        assert!((0..1_000_i64).all(|key| jump_hash(-key, 8) < 8));
    }
}
