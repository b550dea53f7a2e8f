//! A message that waited, for a level or for a time, put where it was meant to go.

use roxmq_protocol::java_hash;
use roxmq_protocol::names;
use roxmq_protocol::properties::name;
use roxmq_protocol::record::{Record, RecordError, TooLong};
use roxmq_store::{IndexKeys, Millis, NewMessage, QueueId};

/// Why a message that waited is passed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Undeliverable {
    #[error("the log no longer has it")]
    Gone,
    #[error(transparent)]
    Broken(#[from] RecordError),
    #[error("its topic {0} was deleted")]
    Deleted(String),
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error("it has no property {0} that says where it goes")]
    Missing(&'static str),
    #[error("it goes to {0}, where delayed messages can't")]
    Reserved(String),
}

/// Where the message goes.
pub(crate) fn target<'a>(record: &Record<'a>) -> Result<(&'a str, QueueId), Undeliverable> {
    let topic = record.properties.get(name::REAL_TOPIC).ok_or(Undeliverable::Missing(name::REAL_TOPIC))?;
    let queue_id = record.properties.get(name::REAL_QUEUE_ID).and_then(|id| id.parse().ok());
    let queue_id = queue_id.filter(|id| *id >= 0).ok_or(Undeliverable::Missing(name::REAL_QUEUE_ID))?;
    if names::is_not_for_sends(topic) || topic == roxmq_store::STATE_TOPIC {
        return Err(Undeliverable::Reserved(topic.to_owned()));
    }
    Ok((topic, QueueId(queue_id)))
}

/// Encodes the message for its target. The properties are its own, so that they still tell how it was delayed, with
/// what there is to add.
pub(crate) fn with_message<T>(
    record: &Record<'_>,
    topic: &str,
    queue_id: QueueId,
    properties: &[u8],
    push: impl FnOnce(&NewMessage<'_>) -> T,
) -> T {
    let keys = IndexKeys::of(record.properties);
    push(&NewMessage {
        topic,
        queue_id,
        flag: record.flag,
        sys_flag: record.sys_flag,
        born: Millis(record.born_timestamp),
        born_host: record.born_host,
        store_host: record.store_host,
        reconsume_times: record.reconsume_times,
        prepared_transaction_offset: 0,
        body: record.body,
        properties,
        tags_code: keys.tags.map_or(0, java_hash::tags_code),
        key_hashes: &keys.hashes(topic),
    })
}

/// When an entry of a level's queue is due. A time further ahead than the level delays comes from a clock that
/// was set back since: such a message has waited long enough.
pub(super) fn due(entry_time: i64, delay_ms: i64, now: Millis) -> Millis {
    if entry_time > now.0.saturating_add(delay_ms) { now } else { Millis(entry_time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(properties: &str) -> Vec<u8> {
        roxmq_testkit::record(names::SCHEDULE_TOPIC, b"body", properties.as_bytes())
    }

    #[test]
    fn the_target_is_in_the_properties() {
        let check = |properties: &str, expected: Result<(&str, QueueId), Undeliverable>| {
            let bytes = record(properties);
            let record = Record::decode(&bytes).expect("a record");
            assert_eq!(target(&record), expected, "{properties}");
        };
        check("REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}3\u{2}", Ok(("T", QueueId(3))));
        check("REAL_QID\u{1}3\u{2}", Err(Undeliverable::Missing("REAL_TOPIC")));
        check("REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}-1\u{2}", Err(Undeliverable::Missing("REAL_QID")));
        check("REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}x\u{2}", Err(Undeliverable::Missing("REAL_QID")));
        let half = names::TRANS_HALF_TOPIC;
        check(
            &format!("REAL_TOPIC\u{1}{half}\u{2}REAL_QID\u{1}0"),
            Err(Undeliverable::Reserved(half.to_owned())),
        );
    }

    #[test]
    fn the_message_is_the_one_that_was_sent() {
        let bytes = record(
            "REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}3\u{2}TAGS\u{1}TagA\u{2}KEYS\u{1}k\u{2}DELAY\u{1}3\u{2}",
        );
        let record = Record::decode(&bytes).expect("a record");
        with_message(&record, "T", QueueId(3), record.properties.raw(), |message| {
            assert_eq!((message.topic, message.queue_id, message.flag), ("T", QueueId(3), 7));
            assert_eq!((message.reconsume_times, message.tags_code), (1, 2_598_919));
            assert_eq!((message.body, message.properties), (&b"body"[..], record.properties.raw()));
            assert_eq!(
                message.key_hashes,
                [java_hash::index_hash("T", "k"), java_hash::index_hash("T", "T#TagA")]
            );
        });
    }

    #[test]
    fn a_clock_that_was_set_back_delays_nothing_twice() {
        let check =
            |entry, expected| assert_eq!(due(entry, 10_000, Millis(1_000)), Millis(expected), "{entry}");
        check(500, 500);
        check(1_000, 1_000);
        check(11_000, 11_000);
        check(11_001, 1_000);
        check(i64::MAX, 1_000);
    }
}
