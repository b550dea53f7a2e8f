//! A half message: what makes a message one, and what one says.

use crate::config::BrokerConfig;
use roxmq_protocol::names;
use roxmq_protocol::properties::{Properties, name};
use roxmq_protocol::record::{Record, RecordError};
use roxmq_store::{Millis, QueueId};

/// All half messages are in one queue, and so are the records of those that are done.
pub(crate) const HALF_QUEUE: QueueId = QueueId(0);

/// The properties that a half message gets: where it will go, and its id under the name that clients read. And those
/// that only the broker gives it, whatever the producer says.
pub(crate) fn mark<'a>(
    topic: &'a str,
    queue_id: &'a str,
    uniq_key: Option<&'a str>,
) -> [(&'static str, Option<&'a str>); 5] {
    [
        (name::TRANSACTION_ID, uniq_key),
        (name::REAL_TOPIC, Some(topic)),
        (name::REAL_QUEUE_ID, Some(queue_id)),
        (name::TRANSACTION_CHECK_TIMES, None),
        (name::TRANSACTION_PREPARED_QUEUE_OFFSET, None),
    ]
}

/// When a producer is first asked about a half message, as the message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskAfter {
    /// `transactionTimeOut`
    Timeout,
    /// The time of CHECK_IMMUNITY_TIME_IN_SECONDS.
    Immunity { ms: u64 },
}

impl AskAfter {
    /// A value that is no time is none, as with the Java server.
    pub(crate) fn of(immunity_seconds: Option<&str>) -> Self {
        let seconds = immunity_seconds.and_then(|seconds| seconds.parse::<u64>().ok());
        seconds.map_or(AskAfter::Timeout, |seconds| AskAfter::Immunity { ms: seconds.saturating_mul(1_000) })
    }

    pub(crate) fn from(self, stored: Millis, config: &BrokerConfig) -> Millis {
        super::later(
            stored,
            match self {
                AskAfter::Timeout => config.transaction_timeout_ms,
                AskAfter::Immunity { ms } => ms,
            },
        )
    }
}

/// What a half message says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct HalfMessage<'a> {
    pub(super) record: Record<'a>,
    /// Where it goes when it is committed.
    pub(super) topic: &'a str,
    pub(super) queue_id: QueueId,
    /// Whom to ask.
    pub(super) producer_group: Option<&'a str>,
    pub(super) uniq_key: Option<&'a str>,
    immunity_seconds: Option<&'a str>,
    check_times: Option<&'a str>,
    first_offset: Option<&'a str>,
}

/// Why a record can't be committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    #[error("its record is damaged: {0}")]
    Record(#[from] RecordError),
    #[error("it is a message of {0}, not of the half topic")]
    NotHalf(String),
    #[error("it has no property {0} that says where it goes")]
    Missing(&'static str),
    #[error("it goes to {0}, where no producer may send to")]
    Reserved(String),
}

impl<'a> HalfMessage<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        let record = Record::decode(bytes)?;
        if record.topic != names::TRANS_HALF_TOPIC {
            return Err(Broken::NotHalf(record.topic.to_owned()));
        }
        record.verify_crc()?;
        HalfMessage::of(record)
    }

    /// Of a record whose topic and checksum don't matter here.
    pub(super) fn of(record: Record<'a>) -> Result<Self, Broken> {
        let [topic, queue_id, producer_group, uniq_key, immunity_seconds, check_times, first_offset] =
            values(record.properties);
        let topic = topic.ok_or(Broken::Missing(name::REAL_TOPIC))?;
        let queue_id = queue_id.and_then(|id| id.parse().ok()).filter(|id| *id >= 0);
        let queue_id = QueueId(queue_id.ok_or(Broken::Missing(name::REAL_QUEUE_ID))?);
        if names::is_not_for_sends(topic) || topic == roxmq_store::STATE_TOPIC {
            return Err(Broken::Reserved(topic.to_owned()));
        }
        Ok(HalfMessage {
            record,
            topic,
            queue_id,
            producer_group,
            uniq_key,
            immunity_seconds,
            check_times,
            first_offset,
        })
    }

    pub(super) fn ask_after(&self) -> AskAfter {
        AskAfter::of(self.immunity_seconds)
    }

    /// How often its producer has been asked, as a Java server that wrote it again has noted.
    pub(super) fn check_times(&self) -> u32 {
        self.check_times.and_then(|times| times.parse().ok()).unwrap_or(0)
    }

    /// Under which queue offset the producer knows it, of one that a Java server wrote again without telling.
    pub(super) fn first_offset(&self) -> Option<i64> {
        self.first_offset.and_then(|offset| offset.parse().ok()).filter(|offset| *offset >= 0)
    }

    /// Whether it is too late for the producer to decide by itself: one that has asked for a time of its own until
    /// the first check is to wait for that check when the time is over.
    pub(super) fn waits_for_check(&self, now: Millis, config: &BrokerConfig) -> bool {
        let AskAfter::Immunity { ms } = self.ask_after() else { return false };
        let immunity_ms = ms.max(config.transaction_timeout_ms);
        now > super::later(Millis(self.record.store_timestamp), immunity_ms)
    }
}

fn values(properties: Properties<'_>) -> [Option<&str>; 7] {
    properties.get_all([
        name::REAL_TOPIC,
        name::REAL_QUEUE_ID,
        name::PRODUCER_GROUP,
        name::UNIQ_KEY,
        name::CHECK_IMMUNITY_TIME_IN_SECONDS,
        name::TRANSACTION_CHECK_TIMES,
        name::TRANSACTION_PREPARED_QUEUE_OFFSET,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_testkit::record;

    fn half(properties: &str) -> Vec<u8> {
        record(names::TRANS_HALF_TOPIC, b"body", properties.as_bytes())
    }

    #[test]
    fn where_it_goes_is_in_its_properties() {
        let check = |properties: &str, expected: Result<(&str, i32), Broken>| {
            let bytes = half(properties);
            let found = HalfMessage::read(&bytes);
            assert_eq!(found.map(|half| (half.topic, half.queue_id.0)), expected, "{properties}");
        };
        check("REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}3\u{2}", Ok(("T", 3)));
        check("REAL_QID\u{1}3\u{2}", Err(Broken::Missing("REAL_TOPIC")));
        check("REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}-3\u{2}", Err(Broken::Missing("REAL_QID")));
        let reserved = "SCHEDULE_TOPIC_XXXX";
        check(
            &format!("REAL_TOPIC\u{1}{reserved}\u{2}REAL_QID\u{1}0\u{2}"),
            Err(Broken::Reserved(reserved.to_owned())),
        );
    }

    #[test]
    fn messages_of_other_topics_and_damaged_ones_are_none() {
        let bytes = record("T", b"body", b"REAL_TOPIC\x01T\x02REAL_QID\x013\x02");
        assert_eq!(HalfMessage::read(&bytes).map(drop), Err(Broken::NotHalf("T".to_owned())));
        let mut bytes = half("REAL_TOPIC\u{1}T\u{2}REAL_QID\u{1}3\u{2}");
        let at = bytes.windows(4).position(|bytes| bytes == b"body").expect("the body");
        bytes[at] ^= 1;
        assert!(matches!(HalfMessage::read(&bytes), Err(Broken::Record(_))));
    }

    #[test]
    fn the_first_check_is_after_the_timeout_or_the_time_asked_for() {
        let config = BrokerConfig::default();
        for (seconds, due) in [
            (None, 6_100),
            (Some("1"), 1_100),
            (Some("10"), 10_100),
            (Some("0"), 100),
            (Some("-1"), 6_100),
            (Some("soon"), 6_100),
            (Some("9223372036854775807"), i64::MAX),
        ] {
            assert_eq!(AskAfter::of(seconds).from(Millis(100), &config), Millis(due), "{seconds:?}");
        }
    }
}
