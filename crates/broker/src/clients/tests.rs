//! The tables without sockets: a channel is a number, the time an argument.

use super::*;
use roxmq_protocol::body::heartbeat::MessageModel;
use roxmq_protocol::language::Language;
use std::net::SocketAddr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wire(u64);

impl Channel for Wire {
    fn id(&self) -> u64 {
        self.0
    }

    fn remote(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.0 as u16))
    }
}

const V1: Announcement = Announcement { fingerprint: 0, without_sub: false };
const TIMEOUT_MS: i64 = 120_000;

fn client(channel: u64, client_id: &str) -> Client<Wire> {
    Client { channel: Wire(channel), client_id: client_id.into(), language: Language::Java, version: 513 }
}

fn subscribed(group: &str, topics: &[(&str, i64)]) -> ConsumerData {
    let subscription_data_set = topics
        .iter()
        .map(|(topic, sub_version)| SubscriptionData {
            topic: (*topic).into(),
            sub_version: *sub_version,
            ..SubscriptionData::default()
        })
        .collect();
    ConsumerData {
        group_name: group.into(),
        message_model: MessageModel::Clustering,
        subscription_data_set,
        ..ConsumerData::default()
    }
}

struct Bench {
    clients: Clients<Wire>,
}

impl Bench {
    fn new() -> Self {
        Bench { clients: Clients::default() }
    }

    /// One heartbeat, and whether it made the group share out its queues anew and the client send its
    /// subscriptions again.
    #[track_caller]
    fn check(
        &self,
        channel: u64,
        data: &ConsumerData,
        how: Announcement,
        rebalance: bool,
        resubscribe: bool,
    ) {
        let client = client(channel, &format!("c{channel}"));
        let (changed, _) = self.clients.consumer_seen(&client, data, how, Millis(0));
        assert_eq!((changed.rebalance, changed.resubscribe), (rebalance, resubscribe));
    }

    fn seen_at(&self, channel: u64, group: &str, now: i64) {
        let data = subscribed(group, &[("T", 1)]);
        self.clients.consumer_seen(&client(channel, &format!("c{channel}")), &data, V1, Millis(now));
    }

    fn members(&self, group: &str) -> Vec<u64> {
        let group = self.clients.consumer_group(group);
        group.map_or(Vec::new(), |group| group.members.iter().map(|member| member.client.channel.0).collect())
    }
}

fn names(groups: &[Arc<ConsumerGroup<Wire>>]) -> Vec<&str> {
    groups.iter().map(|group| &*group.name).collect()
}

#[test]
fn members_and_topics_that_come_and_go_are_changes() {
    let bench = Bench::new();
    bench.check(1, &subscribed("g", &[("A", 1)]), V1, true, false);
    bench.check(1, &subscribed("g", &[("A", 1)]), V1, false, false);
    bench.check(2, &subscribed("g", &[("A", 1)]), V1, true, false);
    bench.check(2, &subscribed("g", &[("A", 1), ("B", 1)]), V1, true, false);
    bench.check(2, &subscribed("g", &[("B", 1)]), V1, true, false);
    bench.check(2, &subscribed("g", &[("B", 9)]), V1, false, false);
    assert_eq!(bench.clients.subscription("g", "B").map(|sub| sub.sub_version), Some(9));
    bench.check(1, &subscribed("g", &[("B", 8)]), V1, false, false);
    assert_eq!(bench.clients.subscription("g", "B").map(|sub| sub.sub_version), Some(9));
    assert_eq!(bench.clients.subscription("g", "A"), None);
    assert_eq!(bench.members("g"), [1, 2]);
}

#[test]
fn a_fingerprint_stands_for_the_subscriptions() {
    let full = |fingerprint| Announcement { fingerprint, without_sub: false };
    let short = |fingerprint| Announcement { fingerprint, without_sub: true };
    let none = subscribed("g", &[]);
    let bench = Bench::new();
    bench.check(1, &subscribed("g", &[("A", 1)]), full(7), true, false);
    bench.check(1, &none, short(7), false, false);
    assert!(bench.clients.subscription("g", "A").is_some(), "a short heartbeat wipes nothing");
    bench.check(2, &none, short(7), true, false);
    bench.check(2, &subscribed("g", &[("A", 1)]), full(8), false, true);
    bench.check(1, &none, short(7), false, true);
    bench.check(1, &none, short(7), false, false);
}

/// After a restart of the broker, clients go on with short heartbeats until they are told that the broker knows
/// nothing; the Java server doesn't tell them, and their group stays without subscriptions.
#[test]
fn a_short_heartbeat_of_an_unknown_group_asks_for_the_subscriptions() {
    let bench = Bench::new();
    let short = Announcement { fingerprint: 7, without_sub: true };
    bench.check(1, &subscribed("g", &[]), short, true, true);
    bench.check(1, &subscribed("g", &[]), short, false, true);
    bench.check(1, &subscribed("g", &[("A", 1)]), Announcement { without_sub: false, ..short }, true, false);
}

#[test]
fn a_client_that_came_back_counts_once() {
    let bench = Bench::new();
    let data = subscribed("g", &[]);
    for (channel, id) in [(1, "b"), (2, "a"), (3, "b")] {
        bench.clients.consumer_seen(&client(channel, id), &data, V1, Millis(0));
    }
    let group = bench.clients.consumer_group("g").unwrap();
    assert_eq!(group.members.client_ids(), ["a", "b"]);
    assert_eq!(group.members.by_client_id("b").unwrap().client.channel, Wire(3));
    assert!(group.members.by_client_id("c").is_none());
}

#[test]
fn another_client_id_on_a_connection_is_another_client() {
    let bench = Bench::new();
    let data = subscribed("g", &[]);
    bench.clients.consumer_seen(&client(1, "old"), &data, V1, Millis(0));
    let (changed, group) = bench.clients.consumer_seen(&client(1, "new"), &data, V1, Millis(0));
    assert!(changed.rebalance);
    assert_eq!(group.members.client_ids(), ["new"]);
}

#[test]
fn a_closed_connection_leaves_all_its_groups() {
    let bench = Bench::new();
    for (channel, group) in [(1, "g"), (1, "h"), (2, "h"), (2, "i")] {
        bench.seen_at(channel, group, 0);
    }
    bench.clients.producer_seen(&client(1, "c1"), "p", Millis(0));
    let mut left = bench.clients.disconnect(&Wire(1));
    left.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(names(&left), ["g", "h"]);
    assert!(left[0].members.is_empty() && !left[1].members.is_empty());
    assert!(bench.clients.consumer_group("g").is_none());
    assert!(bench.clients.producer_group("p").is_none());
    assert_eq!(bench.members("h"), [2]);
    assert!(bench.clients.disconnect(&Wire(1)).is_empty());
}

#[test]
fn a_membership_is_taken_back_group_by_group() {
    let bench = Bench::new();
    bench.seen_at(1, "g", 0);
    bench.seen_at(1, "h", 0);
    assert!(bench.clients.consumer_leaves("g", &Wire(2)).is_none());
    assert!(bench.clients.consumer_leaves("x", &Wire(1)).is_none());
    let left = bench.clients.consumer_leaves("g", &Wire(1)).unwrap();
    assert!(left.members.is_empty());
    assert_eq!(names(&bench.clients.disconnect(&Wire(1))), ["h"]);
}

#[test]
fn silence_ends_a_membership_but_not_the_connection_of_others() {
    let bench = Bench::new();
    bench.seen_at(1, "g", 0);
    bench.seen_at(2, "g", 1);
    bench.seen_at(3, "g", 0);
    bench.clients.producer_seen(&client(3, "c3"), "p", Millis(50));
    let expire = |now: i64| {
        let (groups, closed) = bench.clients.expire(Millis(now), TIMEOUT_MS);
        (names(&groups).join(","), closed)
    };
    assert_eq!(expire(TIMEOUT_MS), (String::new(), vec![]));
    assert_eq!(expire(TIMEOUT_MS + 1), ("g".into(), vec![Wire(1)]));
    assert_eq!(bench.members("g"), [2]);
    bench.seen_at(2, "g", 60);
    assert_eq!(expire(TIMEOUT_MS + 51), (String::new(), vec![Wire(3)]));
    assert_eq!(expire(TIMEOUT_MS + 61), ("g".into(), vec![Wire(2)]));
    assert!(bench.clients.consumer_group("g").is_none());
}

/// A reader of a group keeps what it saw, whatever changes meanwhile.
#[test]
fn a_group_that_is_held_does_not_change() {
    let bench = Bench::new();
    bench.seen_at(1, "g", 0);
    let held = bench.clients.consumer_group("g").unwrap();
    bench.seen_at(2, "g", 0);
    assert_eq!(held.members.iter().count(), 1);
    assert_eq!(bench.members("g"), [1, 2]);
}

#[test]
fn groups_are_found_by_the_topics_they_subscribe_to() {
    let bench = Bench::new();
    for (channel, group, topic) in [(1, "h", "A"), (1, "g", "A"), (2, "i", "B")] {
        bench.check(channel, &subscribed(group, &[(topic, 1)]), V1, true, false);
    }
    assert_eq!(bench.clients.groups_subscribed_to("A"), ["g".into(), "h".into()] as [Arc<str>; 2]);
    assert!(bench.clients.groups_subscribed_to("C").is_empty());
}

#[test]
fn a_producer_is_found_by_its_client_id_while_it_is_in_a_group() {
    let clients: Clients<Wire> = Clients::default();
    let check = |client_id: &str, channel: Option<u64>| {
        assert_eq!(clients.producer(client_id).map(|wire| wire.id()), channel, "{client_id}");
    };
    check("a", None);
    clients.producer_seen(&client(1, "a"), "g1", Millis(0));
    clients.producer_seen(&client(1, "a"), "g2", Millis(0));
    clients.producer_seen(&client(2, "b"), "g1", Millis(0));
    check("a", Some(1));
    check("b", Some(2));
    // It came back over another connection, which closes again.
    clients.producer_seen(&client(3, "a"), "g1", Millis(5));
    check("a", Some(3));
    clients.disconnect(&Wire(3));
    check("a", Some(1));
    clients.producer_leaves("g1", &Wire(1));
    check("a", Some(1));
    clients.producer_leaves("g2", &Wire(1));
    check("a", None);
    clients.expire(Millis(TIMEOUT_MS + 1), TIMEOUT_MS);
    check("b", None);
    assert!(clients.producers.read().is_empty());
}

#[test]
fn members_that_subscribe_to_different_things_are_noticed_once() {
    let bench = Bench::new();
    let check =
        |channel: u64, topics: &[(&str, i64)], news: bool, other: Option<u64>, disagreeing: &[&str]| {
            let client = client(channel, &format!("c{channel}"));
            let (changed, group) =
                bench.clients.consumer_seen(&client, &subscribed("g", topics), V1, Millis(0));
            assert_eq!(changed.subscriptions, news);
            let found = agreement::other_than(&group, channel).map(|member| member.client.channel.0);
            assert_eq!(found, other);
            let groups = bench.clients.disagreeing_groups();
            assert_eq!(groups.iter().map(|name| &**name).collect::<Vec<_>>(), disagreeing);
        };
    check(1, &[("A", 1)], true, None, &[]);
    check(2, &[("A", 7)], true, None, &[]);
    check(3, &[("A", 7), ("B", 1)], true, Some(1), &["g"]);
    check(3, &[("B", 2), ("A", 7)], false, Some(1), &["g"]);
    check(1, &[("A", 2)], false, Some(3), &["g"]);
    check(3, &[("A", 8)], true, None, &[]);
    check(2, &[("B", 8)], true, Some(1), &["g"]);
    bench.clients.disconnect(&Wire(2));
    assert!(bench.clients.disagreeing_groups().is_empty());
    // A heartbeat that tells no subscriptions says nothing about them.
    let silent = Announcement { fingerprint: 5, without_sub: true };
    let (changed, _) =
        bench.clients.consumer_seen(&client(4, "c4"), &subscribed("g", &[]), silent, Millis(0));
    assert!(!changed.subscriptions);
    assert!(bench.clients.disagreeing_groups().is_empty());
}
