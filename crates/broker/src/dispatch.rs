//! The requests that the broker answers: a line for each, with its handler and how it is run.

use crate::Broker;
use crate::access::requests as access;
use crate::admin;
use crate::admin_clients as tools;
use crate::assignment::requests as assignment;
use crate::clients::{heartbeat, inquiries, leaving};
use crate::lite;
use crate::refusal::Refusal;
use crate::service::Caller;
use crate::timers;
use crate::{lock_requests, offset_requests, pop, pull, query, reply, send_back, transactions};
use roxmq_protocol::code::request::*;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::lite::lite_topic;
use roxmq_remoting::{Connection, Output};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// An answer that somebody has to wait for.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Command, Refusal>> + Send>>;

#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// Collected with the other sends of its burst.
    Send,
    /// Answered now, or when there is something to answer with.
    Waits(fn(&Arc<Broker>, &Arc<Connection>, &Frame<'_>, &mut Output)),
    /// The end of a transaction, answered at once or when its half message has been read.
    End,
    /// Collected with the other acknowledgements of its burst.
    Ack,
    /// Answered at once: it waits for nothing.
    Now(fn(&Broker, &Caller<'_>, &Frame<'_>) -> Result<Command, Refusal>),
    /// May wait for the disk, or put a large table together, so it runs on a thread where that hurts nobody.
    Disk(fn(&Broker, &Command) -> Result<Command, Refusal>),
    /// As `Disk`, for those only whom `admin_rights` lets.
    Operator(fn(&Broker, &Command) -> Result<Command, Refusal>),
    /// Waits for other processes, or has more to ask than its fields.
    Later(fn(Arc<Broker>, Arc<Connection>, Command) -> Answer),
}

/// The handler of a request. Receipts of lite topics are another matter than those of others.
pub(crate) fn handler_of(frame: &Frame<'_>) -> Option<Handler> {
    let is_lite = || lite_topic(&frame.header.ext).is_some();
    match frame.header.code {
        ACK_MESSAGE if is_lite() => Some(Handler::Now(lite::ack)),
        CHANGE_MESSAGE_INVISIBLETIME if is_lite() => Some(Handler::Now(lite::change_invisible_time)),
        code => handler(code),
    }
}

pub(crate) fn handler(code: i32) -> Option<Handler> {
    use Handler::{Ack, Disk, End, Later, Now, Operator, Send, Waits};
    Some(match code {
        SEND_MESSAGE => Send,
        SEND_MESSAGE_V2 => Send,
        SEND_BATCH_MESSAGE => Send,
        PULL_MESSAGE => Waits(pull::request),
        LITE_PULL_MESSAGE => Waits(pull::request),
        POP_MESSAGE => Waits(pop::request),
        NOTIFICATION => Waits(pop::notification::request),
        PEEK_MESSAGE => Disk(pop::peek::handle),
        POLLING_INFO => Now(pop::polling_info::handle),
        SEND_REPLY_MESSAGE => Later(reply::handle),
        SEND_REPLY_MESSAGE_V2 => Later(reply::handle),
        ACK_MESSAGE => Ack,
        BATCH_ACK_MESSAGE => Ack,
        CHANGE_MESSAGE_INVISIBLETIME => Now(pop::change_invisible::handle),
        RECALL_MESSAGE => Disk(timers::recall),
        CONSUMER_SEND_MSG_BACK => Later(send_back::handle),
        END_TRANSACTION => End,
        RESUME_CHECK_HALF_MESSAGE => Disk(transactions::resume),

        POP_LITE_MESSAGE => Later(lite::pop),
        LITE_SUBSCRIPTION_CTL => Later(lite::control),
        GET_BROKER_LITE_INFO => Disk(lite::broker_info),
        GET_PARENT_TOPIC_INFO => Disk(lite::parent_info),
        GET_LITE_TOPIC_INFO => Disk(lite::topic_info),
        GET_LITE_CLIENT_INFO => Disk(lite::client_info),
        GET_LITE_GROUP_INFO => Disk(lite::group_info),
        TRIGGER_LITE_DISPATCH => Disk(lite::trigger),

        QUERY_CONSUMER_OFFSET => Now(offset_requests::query),
        UPDATE_CONSUMER_OFFSET => Now(offset_requests::update),
        GET_MAX_OFFSET => Now(offset_requests::max),
        GET_MIN_OFFSET => Now(offset_requests::min),
        SEARCH_OFFSET_BY_TIMESTAMP => Disk(offset_requests::search),
        GET_EARLIEST_MSG_STORETIME => Disk(offset_requests::earliest),

        QUERY_MESSAGE => Disk(query::by_key),
        VIEW_MESSAGE_BY_ID => Disk(query::by_id),

        HEART_BEAT => Now(heartbeat::handle),
        UNREGISTER_CLIENT => Now(leaving::unregister),
        GET_CONSUMER_LIST_BY_GROUP => Now(inquiries::consumer_ids),
        CHECK_CLIENT_CONFIG => Now(inquiries::check_config),
        LOCK_BATCH_MQ => Now(lock_requests::lock),
        UNLOCK_BATCH_MQ => Now(lock_requests::unlock),
        QUERY_ASSIGNMENT => Later(assignment::query),
        SET_MESSAGE_REQUEST_MODE => Now(assignment::set_mode),
        GET_ALL_MESSAGE_REQUEST_MODE => Now(assignment::modes),

        UPDATE_AND_CREATE_TOPIC => Later(admin::topics::update),
        UPDATE_AND_CREATE_TOPIC_LIST => Later(admin::topics::update_list),
        DELETE_TOPIC_IN_BROKER => Operator(admin::topics::delete),
        GET_ALL_TOPIC_CONFIG => Disk(admin::topics::table),
        GET_TOPIC_CONFIG => Now(admin::topics::show),
        GET_SYSTEM_TOPIC_LIST_FROM_BROKER => Now(admin::system_topics::handle),
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP => Now(admin::groups::update),
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST => Now(admin::groups::update_list),
        DELETE_SUBSCRIPTIONGROUP => Operator(admin::groups::delete),
        GET_ALL_SUBSCRIPTIONGROUP_CONFIG => Disk(admin::groups::table),
        GET_SUBSCRIPTIONGROUP_CONFIG => Now(admin::groups::show),
        GET_BROKER_CONFIG => Disk(admin::broker_config::show),
        UPDATE_BROKER_CONFIG => Operator(admin::broker_config::change),
        GET_BROKER_RUNTIME_INFO => Disk(admin::runtime::handle),
        GET_BROKER_HA_STATUS => Now(admin::ha_status::handle),
        VIEW_BROKER_STATS_DATA => Now(admin::broker_stats::handle),
        CLEAN_EXPIRED_CONSUMEQUEUE => Operator(admin::cleaning::expired),
        DELETE_EXPIRED_COMMITLOG => Operator(admin::cleaning::expired),
        CLEAN_UNUSED_TOPIC => Operator(admin::cleaning::unused_topics),

        GET_CONSUMER_CONNECTION_LIST => Now(tools::connections::of_consumer_group),
        GET_PRODUCER_CONNECTION_LIST => Now(tools::connections::of_producer_group),
        GET_ALL_PRODUCER_INFO => Disk(tools::connections::all_producers),
        GET_CONSUMER_RUNNING_INFO => Later(tools::relay::running_info),
        CONSUME_MESSAGE_DIRECTLY => Later(tools::relay::consume_directly),
        GET_TOPIC_STATS_INFO => Disk(tools::topic_stats::handle),
        GET_CONSUME_STATS => Disk(tools::consume_stats::of_group),
        GET_BROKER_CONSUME_STATS => Disk(tools::consume_stats::of_broker),
        QUERY_CONSUME_TIME_SPAN => Disk(tools::time_span::handle),
        QUERY_CONSUME_QUEUE => Disk(tools::consume_queue::handle),
        QUERY_TOPIC_CONSUME_BY_WHO => Now(tools::subscriptions::groups_of_topic),
        QUERY_TOPICS_BY_CONSUMER => Now(tools::subscriptions::topics_of_group),
        QUERY_SUBSCRIPTION_BY_CONSUMER => Now(tools::subscriptions::subscription),
        GET_ALL_CONSUMER_OFFSET => Disk(tools::offset_tables::of_consumers),
        GET_TIMER_CHECK_POINT => Disk(timers::show_checkpoint),
        GET_TIMER_METRICS => Disk(timers::show_metrics),
        GET_ALL_DELAY_OFFSET => Now(tools::offset_tables::of_delay_levels),
        INVOKE_BROKER_TO_RESET_OFFSET => Later(tools::reset_offset::handle),
        INVOKE_BROKER_TO_GET_CONSUMER_STATUS => Later(tools::consumer_status::handle),
        QUERY_CORRECTION_OFFSET => Now(tools::correction_offsets::handle),
        CLONE_GROUP_OFFSET => Operator(tools::clone_offsets::handle),
        AUTH_CREATE_USER => Operator(access::create_user),
        AUTH_UPDATE_USER => Operator(access::update_user),
        AUTH_DELETE_USER => Operator(access::delete_user),
        AUTH_GET_USER => Operator(access::get_user),
        AUTH_LIST_USER => Operator(access::list_users),
        AUTH_CREATE_ACL => Operator(access::put_acl),
        AUTH_UPDATE_ACL => Operator(access::put_acl),
        AUTH_DELETE_ACL => Operator(access::delete_acl),
        AUTH_GET_ACL => Operator(access::get_acl),
        AUTH_LIST_ACL => Operator(access::list_acls),
        UPDATE_AND_GET_GROUP_FORBIDDEN => Now(tools::forbidden::handle),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_says_what_it_needs() {
        for (code, name) in ALL.iter().filter(|(code, _)| handler(*code).is_some()) {
            assert!(
                roxmq_access::is_listed(*code),
                "{name} ({code}) has no line in requests.rs of the crate access"
            );
        }
    }

    #[test]
    fn codes_nobody_knows_have_no_handler() {
        for code in [0, -1, 9, 16, 3442, i32::MAX] {
            assert!(handler(code).is_none(), "{code}");
        }
    }
}
