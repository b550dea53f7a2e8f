//! The requests that the broker answers: a line for each, with its handler and how it is run.

use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use crate::{offset_requests, query, send_back};
use roxmq_protocol::code::request::*;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_remoting::Connection;
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
    Pull,
    /// Answered at once: it waits for nothing.
    Now(fn(&Broker, &Caller<'_>, &Frame<'_>) -> Result<Command, Refusal>),
    /// May wait for the disk, so it runs on a thread where that hurts nobody.
    Disk(fn(&Broker, &Command) -> Result<Command, Refusal>),
    /// Waits for other processes.
    #[allow(dead_code)]
    Later(fn(Arc<Broker>, Arc<Connection>, Command) -> Answer),
}

pub(crate) fn handler(code: i32) -> Option<Handler> {
    use Handler::{Disk, Now, Pull, Send};
    Some(match code {
        SEND_MESSAGE => Send,
        SEND_MESSAGE_V2 => Send,
        SEND_BATCH_MESSAGE => Send,
        PULL_MESSAGE => Pull,
        LITE_PULL_MESSAGE => Pull,
        CONSUMER_SEND_MSG_BACK => Disk(send_back::handle),

        QUERY_CONSUMER_OFFSET => Now(offset_requests::query),
        UPDATE_CONSUMER_OFFSET => Now(offset_requests::update),
        GET_MAX_OFFSET => Now(offset_requests::max),
        GET_MIN_OFFSET => Now(offset_requests::min),
        SEARCH_OFFSET_BY_TIMESTAMP => Disk(offset_requests::search),
        GET_EARLIEST_MSG_STORETIME => Disk(offset_requests::earliest),

        QUERY_MESSAGE => Disk(query::by_key),
        VIEW_MESSAGE_BY_ID => Disk(query::by_id),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_nobody_knows_have_no_handler() {
        for code in [0, -1, 9, 16, 3442, i32::MAX] {
            assert!(handler(code).is_none(), "{code}");
        }
    }
}
