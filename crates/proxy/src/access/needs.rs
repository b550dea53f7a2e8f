//! What each call needs: a line or a few for each message of the service.

use crate::schema::settings::PubSub;
use crate::schema::telemetry_command::Command;
use crate::schema::*;
use roxmq_access::{Action, Need, Needs};
use smallvec::smallvec;

/// A message that not everybody may send.
pub trait Guarded: Sync {
    /// As whitelists name it.
    const NAME: &'static str;

    fn needs(&self) -> Result<Needs<'_>, Unnamed>;
}

/// Nobody has a right on what has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} names no {what}, so nobody can have the right to send it")]
pub struct Unnamed {
    message: &'static str,
    what: &'static str,
}

/// What somebody does who may consume from a topic, or looks after those who do.
const OFFSET_READERS: &[Action] = &[Action::Sub, Action::Get];
const OFFSET_WRITERS: &[Action] = &[Action::Sub, Action::Update];

macro_rules! guarded {
    ($($message:ident |$call:ident, $named:ident| $needs:expr;)*) => {
        $(impl Guarded for $message {
            const NAME: &'static str = concat!("apache.rocketmq.v2.", stringify!($message));

            fn needs(&self) -> Result<Needs<'_>, Unnamed> {
                let $named = &Named { message: stringify!($message) };
                let $call = self;
                $needs
            }
        })*
    };
}

guarded! {
    QueryRouteRequest |call, named| {
        let topic = named.topic(call.topic.as_ref())?;
        Ok(smallvec![Need::of_topic(topic, &[Action::Pub, Action::Sub])])
    };
    SendMessageRequest |call, named| match call.messages.as_slice() {
        [] => named.published([None]),
        messages => named.published(messages.iter().map(|message| message.topic.as_ref())),
    };
    RecallMessageRequest |call, named| named.published([call.topic.as_ref()]);
    EndTransactionRequest |call, named| named.published([call.topic.as_ref()]);

    QueryAssignmentRequest |call, named| named.consumed(call.group.as_ref(), call.topic.as_ref());
    ReceiveMessageRequest |call, named| named.consumed(call.group.as_ref(), topic_of(&call.message_queue));
    AckMessageRequest |call, named| named.consumed(call.group.as_ref(), call.topic.as_ref());
    ForwardMessageToDeadLetterQueueRequest |call, named| {
        named.consumed(call.group.as_ref(), call.topic.as_ref())
    };
    PullMessageRequest |call, named| named.consumed(call.group.as_ref(), topic_of(&call.message_queue));
    SyncLiteSubscriptionRequest |call, named| named.consumed(call.group.as_ref(), call.topic.as_ref());
    // Besides, it takes the receipt of a message.
    ChangeInvisibleDurationRequest |call, named| named.consumed_with(call.group.as_ref());
    UpdateOffsetRequest |call, named| {
        named.offsets(call.group.as_ref(), topic_of(&call.message_queue), OFFSET_WRITERS)
    };
    GetOffsetRequest |call, named| {
        named.offsets(call.group.as_ref(), topic_of(&call.message_queue), OFFSET_READERS)
    };
    QueryOffsetRequest |call, named| {
        let topic = named.topic(topic_of(&call.message_queue))?;
        Ok(smallvec![Need::of_topic(topic, OFFSET_READERS)])
    };

    HeartbeatRequest |call, named| match call.client_type() {
        ClientType::Unspecified | ClientType::Producer if is_blank(call.group.as_ref()) => Ok(Needs::new()),
        _ => named.consumed_with(call.group.as_ref()),
    };
    NotifyClientTerminationRequest |call, named| match call.group.as_ref() {
        group if is_blank(group) => Ok(Needs::new()),
        group => named.consumed_with(group),
    };
    TelemetryCommand |call, named| match &call.command {
        Some(Command::Settings(settings)) => named.settings(settings),
        // Answers to what a broker has asked.
        _ => Ok(Needs::new()),
    };
}

/// Reads names out of a message.
struct Named {
    message: &'static str,
}

type Name<'a> = Option<&'a Resource>;

impl Named {
    fn topic<'a>(&self, topic: Name<'a>) -> Result<&'a str, Unnamed> {
        self.name(topic, "topic")
    }

    fn group<'a>(&self, group: Name<'a>) -> Result<&'a str, Unnamed> {
        self.name(group, "group")
    }

    fn name<'a>(&self, name: Name<'a>, what: &'static str) -> Result<&'a str, Unnamed> {
        match name {
            Some(resource) if !is_blank(name) => Ok(&resource.name),
            _ => Err(Unnamed { message: self.message, what }),
        }
    }

    /// To send to each of these topics. Messages that are sent together mostly have the same.
    fn published<'a>(&self, topics: impl IntoIterator<Item = Name<'a>>) -> Result<Needs<'a>, Unnamed> {
        let mut needs = Needs::new();
        for topic in topics {
            let need = Need::publish(self.topic(topic)?);
            if needs.last() != Some(&need) {
                needs.push(need);
            }
        }
        Ok(needs)
    }

    fn consumed_with<'a>(&self, group: Name<'a>) -> Result<Needs<'a>, Unnamed> {
        Ok(smallvec![Need::consume(self.group(group)?)])
    }

    fn consumed<'a>(&self, group: Name<'a>, topic: Name<'a>) -> Result<Needs<'a>, Unnamed> {
        Ok(smallvec![Need::consume(self.group(group)?), Need::subscribe(self.topic(topic)?)])
    }

    fn offsets<'a>(
        &self,
        group: Name<'a>,
        topic: Name<'a>,
        actions: &[Action],
    ) -> Result<Needs<'a>, Unnamed> {
        let group = roxmq_access::Resource::group(self.group(group)?);
        Ok(smallvec![Need::new(group, actions), Need::of_topic(self.topic(topic)?, actions)])
    }

    fn settings<'a>(&self, settings: &'a Settings) -> Result<Needs<'a>, Unnamed> {
        match &settings.pub_sub {
            Some(PubSub::Publishing(publishing)) => self.published(publishing.topics.iter().map(Some)),
            Some(PubSub::Subscription(subscription)) => {
                let mut needs = self.consumed_with(subscription.group.as_ref())?;
                for entry in &subscription.subscriptions {
                    needs.push(Need::subscribe(self.topic(entry.topic.as_ref())?));
                }
                Ok(needs)
            }
            // Settings of nothing are refused for that.
            None => Ok(Needs::new()),
        }
    }
}

fn topic_of(queue: &Option<MessageQueue>) -> Name<'_> {
    queue.as_ref()?.topic.as_ref()
}

fn is_blank(name: Name<'_>) -> bool {
    name.is_none_or(|name| name.name.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Option<Resource> {
        Some(Resource { name: name.to_owned(), ..Resource::default() })
    }

    /// Needs as words: each `Type:name` with its actions.
    #[track_caller]
    fn check(message: impl Guarded, expected: Result<&[&str], &str>) {
        let needs = message.needs().map_err(|unnamed| unnamed.what);
        let words = needs.map(|needs| {
            let word = |need: &Need<'_>| {
                let actions: Vec<_> = need.actions.iter().map(Action::name).collect();
                format!("{} {}", need.resource, actions.join(","))
            };
            needs.iter().map(word).collect::<Vec<_>>()
        });
        let words = words.as_ref().map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(words.as_deref().map_err(|what| **what), expected);
    }

    #[test]
    fn producers_need_their_topics() {
        let message = |topic: &str| Message { topic: named(topic), ..Message::default() };
        let send = |topics: &[&str]| SendMessageRequest {
            messages: topics.iter().map(|topic| message(topic)).collect(),
        };
        check(send(&["T"]), Ok(&["Topic:T Pub"]));
        check(send(&["T", "T", "U"]), Ok(&["Topic:T Pub", "Topic:U Pub"]));
        check(send(&["%RETRY%G"]), Ok(&["Group:G Sub"]));
        check(send(&[]), Err("topic"));
        check(send(&["T", " "]), Err("topic"));
        check(RecallMessageRequest { topic: named("T"), ..Default::default() }, Ok(&["Topic:T Pub"]));
        check(EndTransactionRequest { topic: named("T"), ..Default::default() }, Ok(&["Topic:T Pub"]));
        check(QueryRouteRequest { topic: named("T"), ..Default::default() }, Ok(&["Topic:T Pub,Sub"]));
        check(QueryRouteRequest::default(), Err("topic"));
    }

    #[test]
    fn consumers_need_their_group_and_mostly_the_topic() {
        let (group, topic) = (|| named("G"), || named("T"));
        let queue = || Some(MessageQueue { topic: topic(), ..MessageQueue::default() });
        let both: Result<&[&str], &str> = Ok(&["Group:G Sub", "Topic:T Sub"]);
        check(ReceiveMessageRequest { group: group(), message_queue: queue(), ..Default::default() }, both);
        check(ReceiveMessageRequest { group: group(), ..Default::default() }, Err("topic"));
        check(PullMessageRequest { group: group(), message_queue: queue(), ..Default::default() }, both);
        check(AckMessageRequest { group: group(), topic: topic(), ..Default::default() }, both);
        check(AckMessageRequest { topic: topic(), ..Default::default() }, Err("group"));
        check(
            ForwardMessageToDeadLetterQueueRequest { group: group(), topic: topic(), ..Default::default() },
            both,
        );
        check(QueryAssignmentRequest { group: group(), topic: topic(), ..Default::default() }, both);
        check(SyncLiteSubscriptionRequest { group: group(), topic: topic(), ..Default::default() }, both);
        check(ChangeInvisibleDurationRequest { group: group(), ..Default::default() }, Ok(&["Group:G Sub"]));
        check(
            UpdateOffsetRequest { group: group(), message_queue: queue(), offset: 0 },
            Ok(&["Group:G Sub,Update", "Topic:T Sub,Update"]),
        );
        check(
            GetOffsetRequest { group: group(), message_queue: queue() },
            Ok(&["Group:G Sub,Get", "Topic:T Sub,Get"]),
        );
        check(QueryOffsetRequest { message_queue: queue(), ..Default::default() }, Ok(&["Topic:T Sub,Get"]));
    }

    #[test]
    fn what_clients_say_of_themselves_needs_what_they_name() {
        let heartbeat =
            |client_type: ClientType, group| HeartbeatRequest { group, client_type: client_type.into() };
        check(heartbeat(ClientType::Producer, None), Ok(&[]));
        check(heartbeat(ClientType::Producer, named("G")), Ok(&["Group:G Sub"]));
        check(heartbeat(ClientType::PushConsumer, named("G")), Ok(&["Group:G Sub"]));
        check(heartbeat(ClientType::LitePushConsumer, named(" ")), Err("group"));
        check(NotifyClientTerminationRequest { group: None }, Ok(&[]));
        check(NotifyClientTerminationRequest { group: named("G") }, Ok(&["Group:G Sub"]));

        let settings = |pub_sub| TelemetryCommand {
            command: Some(Command::Settings(Settings { pub_sub, ..Settings::default() })),
            ..TelemetryCommand::default()
        };
        let publishing = |topics: &[&str]| {
            let topics = topics.iter().filter_map(|topic| named(topic)).collect();
            settings(Some(PubSub::Publishing(Publishing { topics, ..Publishing::default() })))
        };
        check(publishing(&[]), Ok(&[]));
        check(publishing(&["T", "U"]), Ok(&["Topic:T Pub", "Topic:U Pub"]));
        check(publishing(&[""]), Err("topic"));
        let entry = |topic: &str| SubscriptionEntry { topic: named(topic), ..SubscriptionEntry::default() };
        let subscription = |group| Subscription {
            group,
            subscriptions: vec![entry("T"), entry("U")],
            ..Subscription::default()
        };
        check(
            settings(Some(PubSub::Subscription(subscription(named("G"))))),
            Ok(&["Group:G Sub", "Topic:T Sub", "Topic:U Sub"]),
        );
        check(settings(Some(PubSub::Subscription(subscription(None)))), Err("group"));
        check(settings(None), Ok(&[]));
        check(TelemetryCommand::default(), Ok(&[]));
    }

    #[test]
    fn messages_have_their_full_names() {
        assert_eq!(SendMessageRequest::NAME, "apache.rocketmq.v2.SendMessageRequest");
    }
}
