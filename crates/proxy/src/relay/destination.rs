//! Which broker a request is for: a line for each request code that is passed on.

use roxmq_protocol::body::lock_batch::LockBatchRequest;
use roxmq_protocol::code::request::*;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::{Fields, FromJson, Value};
use roxmq_protocol::recall_handle::RecallHandle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The broker that the request names.
    Named,
    /// The broker of the queues, or of the receipts, in the body.
    NamedInBody,
    /// Any broker of the topic in the body.
    AnyOfTopic,
    /// The first broker that has an answer.
    Any,
    /// Answered here, as a name server would.
    Route,
    /// A client says what it is, to the brokers of its topics.
    Heartbeat,
    /// A client leaves, at all its brokers.
    Leave,
    /// The members of a group, from all its brokers.
    ConsumerIds,
}

pub fn of(code: i32) -> Option<Destination> {
    use Destination::{Any, AnyOfTopic, ConsumerIds, Heartbeat, Leave, Named, NamedInBody, Route};
    Some(match code {
        SEND_MESSAGE => Named,
        SEND_MESSAGE_V2 => Named,
        SEND_BATCH_MESSAGE => Named,
        SEND_REPLY_MESSAGE => Named,
        SEND_REPLY_MESSAGE_V2 => Named,
        CONSUMER_SEND_MSG_BACK => Named,
        END_TRANSACTION => Named,
        RECALL_MESSAGE => Named,

        PULL_MESSAGE => Named,
        LITE_PULL_MESSAGE => Named,
        POP_MESSAGE => Named,
        PEEK_MESSAGE => Named,
        NOTIFICATION => Named,
        POLLING_INFO => Named,
        ACK_MESSAGE => Named,
        BATCH_ACK_MESSAGE => NamedInBody,
        CHANGE_MESSAGE_INVISIBLETIME => Named,

        QUERY_CONSUMER_OFFSET => Named,
        UPDATE_CONSUMER_OFFSET => Named,
        GET_MAX_OFFSET => Named,
        GET_MIN_OFFSET => Named,
        SEARCH_OFFSET_BY_TIMESTAMP => Named,
        GET_EARLIEST_MSG_STORETIME => Named,
        LOCK_BATCH_MQ => NamedInBody,
        UNLOCK_BATCH_MQ => NamedInBody,

        HEART_BEAT => Heartbeat,
        UNREGISTER_CLIENT => Leave,
        CHECK_CLIENT_CONFIG => Any,
        GET_CONSUMER_LIST_BY_GROUP => ConsumerIds,
        GET_CONSUMER_CONNECTION_LIST => Any,
        QUERY_ASSIGNMENT => AnyOfTopic,

        GET_ROUTEINFO_BY_TOPIC => Route,
        _ => return None,
    })
}

/// The broker that a request names in its fields. Sends in their short form call the field `n`.
pub fn named(request: &Command) -> Option<String> {
    let short = match request.code {
        SEND_MESSAGE_V2 | SEND_BATCH_MESSAGE | SEND_REPLY_MESSAGE_V2 => request.field("n"),
        _ => None,
    };
    let name = short.or_else(|| request.field("bname")).filter(|name| !name.is_empty());
    name.map(str::to_owned).or_else(|| {
        let handle = request.field("recallHandle").filter(|_| request.code == RECALL_MESSAGE)?;
        Some(RecallHandle::decode(handle).ok()?.broker_name)
    })
}

/// The broker that a request's body is about.
pub fn named_in_body(request: &Command) -> Option<String> {
    if request.code == BATCH_ACK_MESSAGE {
        return Value::from_json_bytes(&request.body).ok()?.field("brokerName").ok()?;
    }
    let locks = LockBatchRequest::from_json_bytes(&request.body).ok()?;
    Some(locks.mq_set.first()?.broker_name.clone())
}

/// The topic that a request is about, as it names it in its fields.
pub fn topic(request: &Command) -> Option<&str> {
    let short = match request.code {
        SEND_MESSAGE_V2 | SEND_BATCH_MESSAGE | SEND_REPLY_MESSAGE_V2 => request.field("b"),
        _ => None,
    };
    short.or_else(|| request.field("topic"))
}

/// The topic that a request's body is about.
pub fn topic_in_body(request: &Command) -> Option<String> {
    Value::from_json_bytes(&request.body).ok()?.field("topic").ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_are_named_in_several_ways() {
        let check = |request: Command, expected: Option<&str>| {
            assert_eq!(named(&request).as_deref(), expected, "{request:?}");
        };
        check(Command::request(PULL_MESSAGE).with("bname", "a").with("n", "b"), Some("a"));
        check(Command::request(SEND_MESSAGE_V2).with("bname", "a").with("n", "b"), Some("b"));
        check(Command::request(SEND_MESSAGE_V2).with("bname", "a"), Some("a"));
        check(Command::request(SEND_MESSAGE).with("bname", ""), None);
        check(Command::request(RECALL_MESSAGE).with("recallHandle", "nothing"), None);
    }

    #[test]
    fn bodies_name_brokers_and_topics() {
        let lock = Command::request(LOCK_BATCH_MQ)
            .body(&br#"{"mqSet":[{"topic":"T","brokerName":"a","queueId":1}]}"#[..]);
        assert_eq!(named_in_body(&lock).as_deref(), Some("a"));
        let acks = Command::request(BATCH_ACK_MESSAGE).body(&br#"{"brokerName":"b","acks":[]}"#[..]);
        assert_eq!(named_in_body(&acks).as_deref(), Some("b"));
        let assignment = Command::request(QUERY_ASSIGNMENT).body(&br#"{"topic":"T"}"#[..]);
        assert_eq!(topic_in_body(&assignment).as_deref(), Some("T"));
        for body in [&b""[..], b"{", b"[]", br#"{"mqSet":[]}"#] {
            for code in [LOCK_BATCH_MQ, BATCH_ACK_MESSAGE] {
                assert_eq!(named_in_body(&Command::request(code).body(body)), None);
            }
            assert_eq!(topic_in_body(&Command::request(QUERY_ASSIGNMENT).body(body)), None);
        }
    }
}
