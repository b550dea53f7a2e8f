//! What a topic's attributes mean. Which there may be, and how they change, is the business of the requests that set
//! them.

use roxmq_protocol::body::attributes::Attributes;
use std::time::Duration;

/// How many hours the topic keeps its messages; without a positive number as long as the log's files are kept.
pub(crate) const RESERVE_TIME: &str = "reserve.time";

pub(crate) const MESSAGE_TYPE: &str = "message.type";

/// Whether the topic is a parent of lite topics.
pub(crate) fn is_lite(attributes: &Attributes) -> bool {
    attributes.get(MESSAGE_TYPE).is_some_and(|kind| kind == "LITE")
}

/// Whether the messages of the topic are in queues by their priorities.
pub(crate) fn has_priorities(attributes: &Attributes) -> bool {
    attributes.get(MESSAGE_TYPE).is_some_and(|kind| kind == "PRIORITY")
}

pub(crate) const QUEUE_TYPE: &str = "queue.type";

/// Whether the topic has batches for messages: a sender then knows a batch by one id. What is in it is stored as messages
/// of their own all the same.
pub(crate) fn has_batches(attributes: &Attributes) -> bool {
    attributes.get(QUEUE_TYPE).is_some_and(|kind| kind == "BatchCQ")
}

/// Minutes after which unused lite topics go; none or a negative number for never.
pub(crate) const LITE_EXPIRATION: &str = "lite.topic.expiration";

pub(crate) fn lite_expiration(attributes: &Attributes) -> i32 {
    const NEVER: i32 = -1;
    let minutes = attributes.get(LITE_EXPIRATION).filter(|_| is_lite(attributes));
    minutes.and_then(|minutes| minutes.parse().ok()).unwrap_or(NEVER)
}

pub(crate) fn reserve_time(attributes: &Attributes) -> Option<Duration> {
    let hours = attributes.get(RESERVE_TIME)?.parse::<i64>().ok()?;
    let seconds = u64::try_from(hours).ok()?.saturating_mul(3600);
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_times() {
        let check = |value: &str, expected: Option<u64>| {
            let attributes = Attributes::from([(RESERVE_TIME.to_owned(), value.to_owned())]);
            assert_eq!(reserve_time(&attributes), expected.map(Duration::from_secs), "{value}");
        };
        check("1", Some(3600));
        check("72", Some(72 * 3600));
        check("0", None);
        check("-1", None);
        check("soon", None);
        check("9223372036854775807", Some(u64::MAX));
        assert_eq!(reserve_time(&Attributes::new()), None);
    }
}
