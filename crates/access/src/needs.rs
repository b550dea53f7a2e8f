//! What a request needs: for each resource, one of some actions.

use crate::entry::{Action, Actions};
use crate::resource::{Resource, ResourceType};
use roxmq_protocol::names;
use smallvec::SmallVec;
use std::borrow::Cow;

/// A policy has to allow one of these actions on the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need<'a> {
    pub resource: Resource<'a>,
    pub actions: Actions,
}

/// All of them have to be allowed; what needs nothing may be asked by every user. Most requests need one or two.
pub type Needs<'a> = SmallVec<[Need<'a>; 2]>;

impl<'a> Need<'a> {
    pub fn new(resource: Resource<'a>, actions: &[Action]) -> Self {
        Need { resource, actions: Actions::of(actions) }
    }

    /// To send to a topic. Whoever consumes with a group may send to its retry topic: so messages are returned.
    pub fn publish(topic: impl Into<Cow<'a, str>>) -> Self {
        Need::of_topic(topic, &[Action::Pub])
    }

    /// To read a topic. Whoever consumes with a group may read its retry topic.
    pub fn subscribe(topic: impl Into<Cow<'a, str>>) -> Self {
        Need::of_topic(topic, &[Action::Sub])
    }

    /// What a group needs to read a topic. Its retry topic is its own; one of its for POP counts as the topic behind it,
    /// because nothing else tells `%RETRY%G_T` from the retry topic of a group `G_T`.
    pub fn consumed(topic: &str, group: &str, actions: &[Action]) -> Need<'static> {
        let behind = Some(group)
            .filter(|group| !group.is_empty())
            .and_then(|group| names::topic_of_pop_retry(topic, group))
            .filter(|behind| !names::is_retry_topic(behind));
        Need::of_topic(behind.unwrap_or(topic).to_owned(), actions)
    }

    /// To consume with a group.
    pub fn consume(group: impl Into<Cow<'a, str>>) -> Self {
        Need::new(Resource::group(group), &[Action::Sub])
    }

    /// One of these actions on a topic. Where that is a group's retry topic, whoever consumes with the group may send
    /// and read; the other actions need the same right on the group.
    pub fn of_topic(topic: impl Into<Cow<'a, str>>, actions: &[Action]) -> Self {
        let mut need = Need::new(Resource::topic(topic), actions);
        if need.resource.kind == ResourceType::Group && need.actions.contains(Action::Pub) {
            need.actions = need.actions.with(Action::Sub).without(Action::Pub);
        }
        need
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_topics_need_the_right_to_consume_with_their_group() {
        let check = |need: Need<'_>, expected: Need<'_>| assert_eq!(need, expected);
        check(Need::publish("T"), Need::new(Resource::topic("T"), &[Action::Pub]));
        check(Need::publish("%RETRY%G"), Need::new(Resource::group("G"), &[Action::Sub]));
        check(Need::subscribe("%RETRY%G+T"), Need::consume("G"));
        check(
            Need::of_topic("%RETRY%G", &[Action::Pub, Action::Sub, Action::Get]),
            Need::new(Resource::group("G"), &[Action::Sub, Action::Get]),
        );
    }
}
