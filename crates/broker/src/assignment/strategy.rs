//! How the queues of a topic are shared out among the clients of a group: functions of values.
//!
//! The results are those of the Java client's strategies, because clients that share out by themselves may be in the
//! same group. Queues and client ids come in order; what can't be shared out is none, which is another answer than an
//! empty share.

use roxmq_protocol::message_queue::MessageQueue;
use std::collections::BTreeSet;

/// A queue id that stands for all queues of a broker.
const ANY_QUEUE: i32 = -1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Each client gets neighbouring queues.
    Averagely,
    /// The queues are dealt out one by one.
    ByCircle,
}

impl Strategy {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "AVG" => Some(Strategy::Averagely),
            "AVG_BY_CIRCLE" => Some(Strategy::ByCircle),
            _ => None,
        }
    }

    /// The queues of the client at this place among so many.
    fn share(self, queues: &[MessageQueue], client: usize, clients: usize) -> Vec<MessageQueue> {
        match self {
            Strategy::Averagely => {
                let (each, rest) = (queues.len() / clients, queues.len() % clients);
                // The first clients get one more until the rest is given away.
                let first = client * each + client.min(rest);
                let count = each + usize::from(client < rest);
                queues[first..first + count].to_vec()
            }
            Strategy::ByCircle => queues.iter().skip(client).step_by(clients).cloned().collect(),
        }
    }
}

/// The queues that a client pulls. A client that isn't in the group gets none of them.
pub(super) fn to_pull(
    strategy: Strategy,
    queues: &[MessageQueue],
    clients: &[String],
    client: &str,
) -> Option<Vec<MessageQueue>> {
    if client.is_empty() || queues.is_empty() || clients.is_empty() {
        return None;
    }
    Some(match clients.iter().position(|id| id == client) {
        Some(place) => strategy.share(queues, place, clients.len()),
        None => Vec::new(),
    })
}

/// The queues that a client pops: its own share and those of the next `shared` clients, so that one that is gone or
/// slow holds up nobody's messages; all queues of each broker if that is nearly everybody.
pub(super) fn to_pop(
    strategy: Strategy,
    queues: &[MessageQueue],
    clients: &[String],
    client: &str,
    shared: i32,
) -> Option<BTreeSet<MessageQueue>> {
    let shared = usize::try_from(shared).unwrap_or(0);
    if shared == 0 || shared + 1 >= clients.len() {
        let any = |queue: &MessageQueue| MessageQueue { queue_id: ANY_QUEUE, ..queue.clone() };
        return Some(queues.iter().map(any).collect());
    }
    let own = to_pull(strategy, queues, clients, client)?;
    let Some(place) = clients.iter().position(|id| id == client) else { return Some(BTreeSet::new()) };
    if clients.len() > queues.len() {
        return Some(BTreeSet::from([queues[place % queues.len()].clone()]));
    }
    let neighbours = (1..=shared).map(|next| (place + next) % clients.len());
    let others = neighbours.flat_map(|place| strategy.share(queues, place, clients.len()));
    Some(own.into_iter().chain(others).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(count: i32) -> Vec<MessageQueue> {
        (0..count).map(|id| MessageQueue::new("T", "b", id)).collect()
    }

    fn clients(count: usize) -> Vec<String> {
        (0..count).map(|place| format!("c{place}")).collect()
    }

    fn ids(queues: impl IntoIterator<Item = MessageQueue>) -> Vec<i32> {
        queues.into_iter().map(|queue| queue.queue_id).collect()
    }

    #[test]
    fn shares_to_pull() {
        let check = |name: &str, queue_count, client_count, client: &str, expected: Option<&[i32]>| {
            let strategy = Strategy::named(name).expect("a strategy");
            let share = to_pull(strategy, &queues(queue_count), &clients(client_count), client);
            assert_eq!(share.map(ids).as_deref(), expected, "{name} {queue_count} {client_count} {client}");
        };
        check("AVG", 8, 3, "c0", Some(&[0, 1, 2]));
        check("AVG", 8, 3, "c1", Some(&[3, 4, 5]));
        check("AVG", 8, 3, "c2", Some(&[6, 7]));
        check("AVG", 2, 3, "c1", Some(&[1]));
        check("AVG", 2, 3, "c2", Some(&[]));
        check("AVG_BY_CIRCLE", 8, 3, "c0", Some(&[0, 3, 6]));
        check("AVG_BY_CIRCLE", 8, 3, "c2", Some(&[2, 5]));
        check("AVG_BY_CIRCLE", 2, 3, "c2", Some(&[]));
        check("AVG", 8, 3, "somebody", Some(&[]));
        check("AVG", 8, 0, "c0", None);
        check("AVG", 8, 3, "", None);
        check("AVG", 0, 3, "c0", None);
        assert_eq!(Strategy::named("CONFIG"), None);
    }

    #[test]
    fn shares_to_pop() {
        let check = |queue_count, client_count, client: &str, shared, expected: Option<&[i32]>| {
            let (queues, clients) = (queues(queue_count), clients(client_count));
            let share = to_pop(Strategy::Averagely, &queues, &clients, client, shared);
            assert_eq!(share.map(ids).as_deref(), expected, "{queue_count} {client_count} {client} {shared}");
        };
        check(4, 4, "c0", 0, Some(&[-1]));
        check(4, 4, "c0", -1, Some(&[-1]));
        check(4, 4, "c0", 3, Some(&[-1]));
        check(4, 1, "c0", 1, Some(&[-1]));
        check(0, 1, "c0", 0, Some(&[]));
        check(8, 4, "c0", 1, Some(&[0, 1, 2, 3]));
        check(8, 4, "c3", 2, Some(&[0, 1, 2, 3, 6, 7]));
        check(2, 4, "c3", 1, Some(&[1]));
        check(8, 4, "somebody", 1, Some(&[]));
        check(8, 4, "", 1, None);
        check(0, 4, "c0", 1, None);
    }

    #[test]
    fn all_queues_of_two_brokers_are_two_entries() {
        let mut queues = queues(4);
        queues.extend((0..4).map(|id| MessageQueue::new("T", "c", id)));
        let share = to_pop(Strategy::ByCircle, &queues, &clients(2), "c1", 8).expect("a share");
        let expected = ["b", "c"].map(|broker| MessageQueue::new("T", broker, -1));
        assert_eq!(share, BTreeSet::from(expected));
    }

    #[test]
    fn every_queue_is_in_exactly_one_share() {
        for strategy in [Strategy::Averagely, Strategy::ByCircle] {
            for client_count in 1..10 {
                let (queues, clients) = (queues(7), clients(client_count));
                let shares = clients
                    .iter()
                    .flat_map(|client| to_pull(strategy, &queues, &clients, client).expect("a share"));
                let mut shared = ids(shares);
                shared.sort_unstable();
                assert_eq!(shared, ids(queues), "{strategy:?} {client_count}");
            }
        }
    }
}
