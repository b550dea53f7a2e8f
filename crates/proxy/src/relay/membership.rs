//! A client among the members of its groups: known to the brokers of its topics, and to those that it calls.

use super::answers;
use crate::invoker::{Link, NetworkInvoker, NetworkLink, Unanswered};
use crate::join::join_all;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use parking_lot::Mutex;
use roxmq_protocol::body::heartbeat::HeartbeatData;
use roxmq_protocol::body::list::ConsumerIdList;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::{FromJson, ToJson};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(3);

/// The topics that a client subscribes to, by group.
#[derive(Default)]
pub struct Membership {
    topics: Mutex<BTreeMap<String, Vec<String>>>,
}

impl Membership {
    pub async fn heartbeat(
        &self,
        invoker: &NetworkInvoker,
        link: &NetworkLink,
        heartbeat: Command,
    ) -> Result<Command> {
        let data = HeartbeatData::from_json_bytes(&heartbeat.body).map_err(|error| {
            Refusal::new(Code::BadRequest, format!("the heartbeat can't be read: {error}"))
        })?;
        let topics: BTreeMap<_, Vec<_>> = data
            .consumer_data_set
            .into_iter()
            .map(|consumer| {
                let topics =
                    consumer.subscription_data_set.into_iter().map(|subscription| subscription.topic);
                (consumer.group_name, topics.collect())
            })
            .collect();
        let all: Vec<String> = topics.values().flatten().cloned().collect();
        *self.topics.lock() = topics;
        // A producer doesn't say what its topics are: brokers learn of it when it calls them.
        link.set_heartbeat(heartbeat.clone());
        let mut brokers: BTreeSet<_> = link.brokers().into_iter().collect();
        brokers.extend(invoker.brokers_of_topics(&all).await?);
        let answers = everywhere(link, &brokers, &heartbeat).await;
        // Without its fields the client says everything in each heartbeat, which is what a new broker needs.
        Ok(merged(answers, |_| Command::response(response::SUCCESS)))
    }

    pub async fn leave(&self, link: &NetworkLink, leave: Command) -> Command {
        if let Some(group) = leave.field("consumerGroup") {
            self.topics.lock().remove(group);
        }
        let brokers = link.brokers().into_iter().collect();
        merged(everywhere(link, &brokers, &leave).await, |_| Command::response(response::SUCCESS))
    }

    /// Whoever is online at any of the brokers: one that was just started doesn't know all of them yet.
    pub async fn consumer_ids(
        &self,
        invoker: &NetworkInvoker,
        link: &NetworkLink,
        ask: Command,
    ) -> Result<Command> {
        let group = ask.field("consumerGroup").unwrap_or_default();
        let topics = self.topics.lock().get(group).cloned();
        let brokers = match topics {
            Some(topics) => invoker.brokers_of_topics(&topics).await?,
            None => invoker.all_brokers(),
        };
        let answers = everywhere(link, &brokers.into_iter().collect(), &ask).await;
        Ok(merged(answers, |answers| {
            let lists =
                answers.iter().filter_map(|answer| ConsumerIdList::from_json_bytes(&answer.body).ok());
            let ids: BTreeSet<String> = lists.flat_map(|list| list.consumer_id_list).collect();
            let list = ConsumerIdList { consumer_id_list: ids.into_iter().collect() };
            Command::response(response::SUCCESS).body(list.to_json())
        }))
    }
}

type Answer = Result<Command, Unanswered>;

async fn everywhere(link: &NetworkLink, brokers: &BTreeSet<Arc<str>>, request: &Command) -> Vec<Answer> {
    join_all(brokers.iter().map(|broker| link.call(broker, request.clone(), TIMEOUT)).collect()).await
}

/// What several brokers say, as one answer: `whole` of those that did it, or else what the last one says.
fn merged(answers: Vec<Answer>, whole: impl FnOnce(&[Command]) -> Command) -> Command {
    let (mut done, mut refused) = (Vec::new(), None);
    for answer in answers {
        match answer {
            Ok(answer) if answer.code == response::SUCCESS => done.push(answer),
            Ok(answer) => refused = Some(answer),
            Err(failure) => refused = Some(answers::unanswered(&failure)),
        }
    }
    match refused {
        Some(refused) if done.is_empty() => refused,
        _ => whole(&done),
    }
}
