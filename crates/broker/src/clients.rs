//! Who is connected: producers and consumers, by group and by connection.
//!
//! Clients say in their heartbeats which groups they belong to. A membership ends when the client takes it back,
//! when its connection closes, and when no heartbeat has renewed it for a while. Nothing of this is kept on disk:
//! after a restart the next heartbeats bring it back.

mod agreement;
pub mod consuming;
pub mod groups;
pub(crate) mod heartbeat;
pub(crate) mod inquiries;
pub(crate) mod leaving;
pub mod member;
pub(crate) mod notices;
mod producers;

use agreement::Digest;
use consuming::Consuming;
use groups::{Expired, Group, Groups, Joined};
use member::{Channel, Client};
use parking_lot::RwLock;
use producers::Producers;
use roxmq_protocol::body::heartbeat::ConsumerData;
use roxmq_protocol::subscription::SubscriptionData;
use roxmq_remoting::Connection;
use roxmq_store::Millis;
use std::sync::Arc;

pub type ConsumerGroup<C = Arc<Connection>> = Group<C, Consuming>;
pub type ProducerGroup<C = Arc<Connection>> = Group<C, ()>;

pub struct Clients<C = Arc<Connection>> {
    consumers: RwLock<Groups<C, Consuming>>,
    producers: RwLock<Producers<C>>,
}

/// How a heartbeat tells about subscriptions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Announcement {
    /// Stands for all that the client subscribes to; 0 if the client has none (heartbeats of the first version).
    pub fingerprint: i32,
    /// The heartbeat renews memberships only; its empty subscriptions mean nothing.
    pub without_sub: bool,
}

/// What a consumer's heartbeat changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// A member or a topic came or went: the others must share the queues out anew.
    pub rebalance: bool,
    /// The client is to send its subscriptions again.
    pub resubscribe: bool,
    /// The client subscribes to something else than before.
    pub subscriptions: bool,
}

impl<C> Default for Clients<C> {
    fn default() -> Self {
        Clients { consumers: RwLock::default(), producers: RwLock::default() }
    }
}

impl<C: Channel> Clients<C> {
    /// The group, if a member is online.
    pub fn consumer_group(&self, group: &str) -> Option<Arc<ConsumerGroup<C>>> {
        self.consumers.read().get(group).cloned()
    }

    pub fn producer_group(&self, group: &str) -> Option<Arc<ProducerGroup<C>>> {
        self.producers.read().groups.get(group).cloned()
    }

    /// The newest connection of a client that is online as a producer.
    pub fn producer(&self, client_id: &str) -> Option<C> {
        self.producers.read().by_client_id(client_id).cloned()
    }

    /// What a group that is online wants of a topic.
    pub fn subscription(&self, group: &str, topic: &str) -> Option<Arc<SubscriptionData>> {
        self.consumers.read().get(group)?.info.subscription(topic).cloned()
    }

    /// Every group that is online, in order of names.
    pub fn producer_groups(&self) -> Vec<Arc<ProducerGroup<C>>> {
        in_order(&self.producers.read().groups)
    }

    /// Every group that is online, in order of names.
    pub fn consumer_groups(&self) -> Vec<Arc<ConsumerGroup<C>>> {
        in_order(&self.consumers.read())
    }

    /// The online groups whose members subscribe to different things, in order of names.
    pub fn disagreeing_groups(&self) -> Vec<Arc<str>> {
        let consumers = self.consumers.read();
        let disagreeing = consumers.iter().filter(|group| !agreement::is_agreed(group));
        let mut names: Vec<_> = disagreeing.map(|group| group.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// The online groups that subscribe to the topic, in order of names.
    pub fn groups_subscribed_to(&self, topic: &str) -> Vec<Arc<str>> {
        let consumers = self.consumers.read();
        let subscribed = consumers.iter().filter(|group| group.info.subscription(topic).is_some());
        let mut names: Vec<_> = subscribed.map(|group| group.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// A consumer's heartbeat: one group of it.
    pub fn consumer_seen(
        &self,
        client: &Client<C>,
        data: &ConsumerData,
        announcement: Announcement,
        now: Millis,
    ) -> (Changed, Arc<ConsumerGroup<C>>) {
        let Joined { group, is_new, updated } =
            self.consumers.write().join(&data.group_name, client, now, |consuming| {
                consuming.consume_type = data.consume_type;
                consuming.message_model = data.message_model;
                consuming.consume_from_where = data.consume_from_where;
                let topics_changed =
                    !announcement.without_sub && consuming.subscribe(&data.subscription_data_set);
                Changed {
                    rebalance: topics_changed,
                    resubscribe: consuming.note_fingerprint(announcement.fingerprint),
                    subscriptions: false,
                }
            });
        let digest = Digest::of(&data.subscription_data_set);
        let member = group.members.get(client.channel.id()).filter(|_| !announcement.without_sub);
        let subscriptions = member.is_some_and(|member| member.subscribes(digest));
        (Changed { rebalance: updated.rebalance || is_new, subscriptions, ..updated }, group)
    }

    pub fn producer_seen(&self, client: &Client<C>, group: &str, now: Millis) {
        self.producers.write().seen(client, group, now);
    }

    /// A consumer takes its membership back; gives the group without it.
    pub fn consumer_leaves(&self, group: &str, channel: &C) -> Option<Arc<ConsumerGroup<C>>> {
        self.consumers.write().leave(group, channel.id())
    }

    pub fn producer_leaves(&self, group: &str, channel: &C) {
        self.producers.write().leave(group, channel.id());
    }

    /// A connection closed; gives the consumer groups it was in, without it.
    pub fn disconnect(&self, channel: &C) -> Vec<Arc<ConsumerGroup<C>>> {
        self.producers.write().disconnect(channel.id());
        self.consumers.write().disconnect(channel.id())
    }

    /// Ends what no heartbeat has renewed for longer than the timeout. Gives the consumer groups that lost a member,
    /// and the connections that are good for nothing any more: one that is still alive in another group isn't.
    pub fn expire(&self, now: Millis, timeout_ms: i64) -> (Vec<Arc<ConsumerGroup<C>>>, Vec<C>) {
        let mut producers = self.producers.write();
        let mut consumers = self.consumers.write();
        let mut silent = producers.expire(now, timeout_ms);
        let Expired { channels, groups } = consumers.expire(now, timeout_ms);
        silent.extend(channels);
        silent.sort_unstable_by_key(Channel::id);
        silent.dedup_by_key(|channel| channel.id());
        silent.retain(|channel| {
            !producers.groups.has_channel(channel.id()) && !consumers.has_channel(channel.id())
        });
        (groups, silent)
    }
}

fn in_order<C: Channel, I: Clone + Default>(groups: &Groups<C, I>) -> Vec<Arc<Group<C, I>>> {
    let mut groups: Vec<_> = groups.iter().cloned().collect();
    groups.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    groups
}

#[cfg(test)]
mod tests;
