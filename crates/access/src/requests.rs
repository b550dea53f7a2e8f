//! What the requests of the remoting protocol need: a line for each that a broker or a proxy answers.
//!
//! Where the Java server has a rule, the line says the same, but for a group's own retry topics and for offsets, which
//! whoever consumes needs to know. Its server lets everybody pass where it has none; here each request has a line, and
//! one without needs the right to change the cluster.

mod bodies;

use crate::entry::Action::{self, Create, Delete, Get, List, Pub, Sub, Update};
use crate::needs::{Need, Needs};
use crate::resource::Resource;
use roxmq_protocol::code::request::*;
use roxmq_protocol::ext::ExtFields;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::json::JsonError;
use roxmq_protocol::names;
use std::borrow::Cow;

/// Why it can't be said what a request needs. The first words are the Java server's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parse authorization context error: {0}")]
pub struct NeedsError(#[from] JsonError);

type InBody = fn(&[u8], &mut Needs<'_>) -> Result<(), JsonError>;

#[derive(Clone, Copy)]
enum Rule {
    /// All of these; where nothing is named, the cluster.
    All(&'static [Part]),
    /// Of these what the request names, which may be nothing.
    Named(&'static [Part]),
    Cluster(Action),
    /// What the body names.
    Body(InBody),
    /// A reply goes to whoever asked, by way of the cluster's reply topic; other topics are sent to.
    Reply(&'static str),
}

/// The field with a name, and one of the actions that have to be allowed on what it names.
#[derive(Clone, Copy)]
enum Part {
    Topic(&'static str, &'static [Action]),
    Topics(&'static str, char, &'static [Action]),
    Group(&'static str, &'static [Action]),
    Groups(&'static str, char, &'static [Action]),
    /// Not asked for if the request doesn't name one.
    MaybeTopic(&'static str, &'static [Action]),
    MaybeGroup(&'static str, &'static [Action]),
}

/// Where a request that names a retry topic says whose it takes it to be.
const CONSUMER_GROUP: &str = "consumerGroup";

fn rule(code: i32) -> Option<Rule> {
    use Part::{Group, Groups, MaybeGroup, MaybeTopic, Topic, Topics};
    use Rule::{All, Body, Cluster, Named, Reply};
    const CONSUMED: &[Part] = &[Topic("topic", &[Sub]), Group(CONSUMER_GROUP, &[Sub])];
    Some(match code {
        SEND_MESSAGE => All(&[Topic("topic", &[Pub])]),
        SEND_MESSAGE_V2 => All(&[Topic("b", &[Pub])]),
        SEND_BATCH_MESSAGE => All(&[Topic("b", &[Pub])]),
        SEND_REPLY_MESSAGE => Reply("topic"),
        SEND_REPLY_MESSAGE_V2 => Reply("b"),
        RECALL_MESSAGE => All(&[Topic("topic", &[Pub])]),
        // Older clients don't name it.
        END_TRANSACTION => Named(&[MaybeTopic("topic", &[Pub])]),
        RESUME_CHECK_HALF_MESSAGE => All(&[Topic("topic", &[Update])]),

        PULL_MESSAGE => All(CONSUMED),
        LITE_PULL_MESSAGE => All(CONSUMED),
        POP_MESSAGE => All(CONSUMED),
        POP_LITE_MESSAGE => All(CONSUMED),
        NOTIFICATION => All(CONSUMED),
        PEEK_MESSAGE => All(CONSUMED),
        POLLING_INFO => All(&[Topic("topic", &[Sub, Get]), Group("consumerGroup", &[Sub, Get])]),
        ACK_MESSAGE => All(CONSUMED),
        BATCH_ACK_MESSAGE => Body(bodies::batch_ack),
        CHANGE_MESSAGE_INVISIBLETIME => All(CONSUMED),
        CONSUMER_SEND_MSG_BACK => All(&[Group("group", &[Sub])]),
        LITE_SUBSCRIPTION_CTL => Body(bodies::lite_subscriptions),

        QUERY_CONSUMER_OFFSET => All(&[Topic("topic", &[Sub, Get]), Group("consumerGroup", &[Sub, Get])]),
        UPDATE_CONSUMER_OFFSET => {
            All(&[Topic("topic", &[Sub, Update]), Group("consumerGroup", &[Sub, Update])])
        }
        GET_MAX_OFFSET => All(&[Topic("topic", &[Sub, Get])]),
        GET_MIN_OFFSET => All(&[Topic("topic", &[Sub, Get])]),
        SEARCH_OFFSET_BY_TIMESTAMP => All(&[Topic("topic", &[Sub, Get])]),
        GET_EARLIEST_MSG_STORETIME => All(&[Topic("topic", &[Sub, Get])]),
        QUERY_MESSAGE => All(&[Topic("topic", &[Sub, Get])]),
        VIEW_MESSAGE_BY_ID => All(&[Topic("topic", &[Get])]),

        // Name servers answer it to everybody, a proxy doesn't.
        GET_ROUTEINFO_BY_TOPIC => All(&[Topic("topic", &[Pub, Sub, Get])]),
        HEART_BEAT => Body(bodies::heartbeat),
        UNREGISTER_CLIENT => Named(&[MaybeGroup("consumerGroup", &[Sub])]),
        GET_CONSUMER_LIST_BY_GROUP => All(&[Group("consumerGroup", &[Sub, Get])]),
        CHECK_CLIENT_CONFIG => Body(bodies::check_client),
        LOCK_BATCH_MQ => Body(bodies::lock_batch),
        UNLOCK_BATCH_MQ => Body(bodies::lock_batch),
        QUERY_ASSIGNMENT => Body(bodies::query_assignment),
        SET_MESSAGE_REQUEST_MODE => Body(bodies::request_mode),
        GET_ALL_MESSAGE_REQUEST_MODE => Cluster(Get),

        UPDATE_AND_CREATE_TOPIC => All(&[Topic("topic", &[Create])]),
        UPDATE_AND_CREATE_TOPIC_LIST => Body(bodies::topics),
        DELETE_TOPIC_IN_BROKER => All(&[Topic("topic", &[Delete])]),
        GET_ALL_TOPIC_CONFIG => Cluster(List),
        GET_TOPIC_CONFIG => All(&[Topic("topic", &[Get])]),
        GET_SYSTEM_TOPIC_LIST_FROM_BROKER => Cluster(List),
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP => Body(bodies::group),
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST => Body(bodies::groups),
        DELETE_SUBSCRIPTIONGROUP => All(&[Group("groupName", &[Delete])]),
        GET_ALL_SUBSCRIPTIONGROUP_CONFIG => Cluster(List),
        GET_SUBSCRIPTIONGROUP_CONFIG => All(&[Group("group", &[Get])]),
        GET_BROKER_CONFIG => Cluster(Get),
        UPDATE_BROKER_CONFIG => Cluster(Update),
        GET_BROKER_RUNTIME_INFO => Cluster(Get),
        GET_BROKER_HA_STATUS => Cluster(Get),
        VIEW_BROKER_STATS_DATA => Cluster(Get),
        CLEAN_EXPIRED_CONSUMEQUEUE => Cluster(Update),
        DELETE_EXPIRED_COMMITLOG => Cluster(Update),
        CLEAN_UNUSED_TOPIC => Cluster(Update),

        GET_CONSUMER_CONNECTION_LIST => All(&[Group("consumerGroup", &[Get])]),
        GET_PRODUCER_CONNECTION_LIST => Cluster(Get),
        GET_ALL_PRODUCER_INFO => Cluster(Get),
        GET_CONSUMER_RUNNING_INFO => All(&[Group("consumerGroup", &[Get])]),
        CONSUME_MESSAGE_DIRECTLY => All(&[Group("consumerGroup", &[Sub]), MaybeTopic("topic", &[Sub])]),
        GET_TOPIC_STATS_INFO => All(&[Topic("topic", &[Get])]),
        GET_CONSUME_STATS => All(&[
            Group("consumerGroup", &[Get]),
            MaybeTopic("topic", &[Get]),
            Topics("topicList", ';', &[Get]),
        ]),
        GET_BROKER_CONSUME_STATS => Cluster(Get),
        QUERY_CONSUME_TIME_SPAN => All(&[Topic("topic", &[Get]), Group("group", &[Get])]),
        QUERY_CONSUME_QUEUE => All(&[Topic("topic", &[Get]), MaybeGroup("consumerGroup", &[Get])]),
        QUERY_TOPIC_CONSUME_BY_WHO => All(&[Topic("topic", &[Get])]),
        QUERY_TOPICS_BY_CONSUMER => All(&[Group("group", &[Get])]),
        QUERY_SUBSCRIPTION_BY_CONSUMER => All(&[Group("group", &[Get]), MaybeTopic("topic", &[Get])]),
        GET_ALL_CONSUMER_OFFSET => Cluster(Get),
        GET_TIMER_CHECK_POINT => Cluster(Get),
        GET_TIMER_METRICS => Cluster(Get),
        GET_ALL_DELAY_OFFSET => Cluster(Get),
        INVOKE_BROKER_TO_RESET_OFFSET => All(&[Topic("topic", &[Update]), Group("group", &[Update])]),
        INVOKE_BROKER_TO_GET_CONSUMER_STATUS => All(&[Topic("topic", &[Get]), Group("group", &[Get])]),
        QUERY_CORRECTION_OFFSET => {
            All(&[Topic("topic", &[Get]), Group("compareGroup", &[Get]), Groups("filterGroups", ',', &[Get])])
        }
        CLONE_GROUP_OFFSET => All(&[
            Group("srcGroup", &[Get, Update]),
            Group("destGroup", &[Update]),
            MaybeTopic("topic", &[Update]),
        ]),
        UPDATE_AND_GET_GROUP_FORBIDDEN => All(&[Group("group", &[Update]), Topic("topic", &[Update])]),

        GET_BROKER_LITE_INFO => Cluster(Get),
        GET_PARENT_TOPIC_INFO => All(&[MaybeTopic("topic", &[Get]), MaybeTopic("parentTopic", &[Get])]),
        GET_LITE_TOPIC_INFO => All(&[MaybeTopic("topic", &[Get]), MaybeTopic("parentTopic", &[Get])]),
        GET_LITE_CLIENT_INFO => {
            All(&[Group("group", &[Get]), MaybeTopic("topic", &[Get]), MaybeTopic("parentTopic", &[Get])])
        }
        GET_LITE_GROUP_INFO => All(&[Group("group", &[Get])]),
        TRIGGER_LITE_DISPATCH => All(&[Group("group", &[Update])]),

        AUTH_CREATE_USER => Cluster(Update),
        AUTH_UPDATE_USER => Cluster(Update),
        AUTH_DELETE_USER => Cluster(Update),
        AUTH_GET_USER => Cluster(Get),
        AUTH_LIST_USER => Cluster(Get),
        AUTH_CREATE_ACL => Cluster(Update),
        AUTH_UPDATE_ACL => Cluster(Update),
        AUTH_DELETE_ACL => Cluster(Update),
        AUTH_GET_ACL => Cluster(Get),
        AUTH_LIST_ACL => Cluster(Get),
        _ => return None,
    })
}

/// Whether the request has a line of its own here.
pub fn is_listed(code: i32) -> bool {
    rule(code).is_some()
}

/// What a request to a broker of this cluster needs.
pub fn needs_of_request<'a>(frame: &Frame<'a>, cluster: &str) -> Result<Needs<'a>, NeedsError> {
    let ext = &frame.header.ext;
    let mut needs = Needs::new();
    let of_cluster = |action| Need::new(Resource::cluster(cluster.to_owned()), &[action]);
    match rule(frame.header.code).unwrap_or(Rule::Cluster(Update)) {
        Rule::All(parts) => {
            parts.iter().for_each(|part| part.add(ext, &mut needs));
            if needs.is_empty() {
                needs.push(of_cluster(Get));
            }
        }
        Rule::Named(parts) => parts.iter().for_each(|part| part.add(ext, &mut needs)),
        Rule::Cluster(action) => needs.push(of_cluster(action)),
        Rule::Body(in_body) => in_body(frame.body, &mut needs)?,
        Rule::Reply(field) => {
            let topic = ext.str(field).unwrap_or_default();
            if topic != names::reply_topic(cluster) {
                needs.push(Need::publish(topic));
            }
        }
    }
    Ok(needs)
}

impl Part {
    fn add<'a>(self, ext: &ExtFields<'a>, needs: &mut Needs<'a>) {
        let named = |field: &str| ext.str(field).filter(|name| !name.trim().is_empty());
        // What a request lacks has no name: only who may have everything gets past that, to the handler's refusal.
        let needed = |field: &str| named(field).unwrap_or_default();
        match self {
            Part::Topic(field, actions) => add_topic(needed(field), actions, ext, needs),
            Part::MaybeTopic(field, actions) => {
                if let Some(topic) = named(field) {
                    add_topic(topic, actions, ext, needs);
                }
            }
            Part::Topics(field, separator, actions) => {
                needs.extend(each(named(field), separator).map(|topic| Need::of_topic(topic, actions)));
            }
            Part::Group(field, actions) => needs.push(Need::new(Resource::group(needed(field)), actions)),
            Part::MaybeGroup(field, actions) => {
                needs.extend(named(field).map(|group| Need::new(Resource::group(group), actions)));
            }
            Part::Groups(field, separator, actions) => {
                let groups = each(named(field), separator);
                needs.extend(groups.map(|group| Need::new(Resource::group(group), actions)));
            }
        }
    }
}

fn each<'a>(list: Option<Cow<'a, str>>, separator: char) -> impl Iterator<Item = Cow<'a, str>> {
    let list = list.unwrap_or_default();
    let names: Vec<String> =
        list.split(separator).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.into_iter().map(Cow::Owned)
}

fn add_topic<'a>(
    topic: Cow<'a, str>,
    actions: &'static [Action],
    ext: &ExtFields<'a>,
    needs: &mut Needs<'a>,
) {
    if !names::is_retry_topic(&topic) {
        return needs.push(Need::of_topic(topic, actions));
    }
    let group = ext.str(CONSUMER_GROUP).unwrap_or_default();
    needs.push(Need::consumed(&topic, &group, actions));
}

#[cfg(test)]
mod tests;
