//! Messages looked up by a key and by where they lie: requests 12 and 33.

use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::FRAME_BYTES_MAX;
use roxmq_protocol::java_hash::IndexHasher;
use roxmq_protocol::properties::name;
use roxmq_protocol::record::Record;
use roxmq_protocol::request::query::{QueryMessage, ViewMessage};
use roxmq_store::{Millis, PhyOffset, STATE_TOPIC};

/// More than this nobody gets with one query, as with the Java server.
const MESSAGES_MAX: usize = 64;
/// How many places are looked at: some hold messages of other keys with the same hash.
const PLACES_MAX: usize = 2 * MESSAGES_MAX;
/// The most bytes of records in one answer.
const BODY_BYTES_MAX: usize = FRAME_BYTES_MAX - 64 * 1024;

/// What a message must have to be what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted<'a> {
    Key(&'a str),
    Tags(&'a str),
}

impl<'a> Wanted<'a> {
    fn of(header: &'a QueryMessage<'_>) -> Self {
        match header.index_type.as_deref() {
            Some("T") => Wanted::Tags(&header.key),
            _ => Wanted::Key(&header.key),
        }
    }

    fn hash(self, topic: &str) -> u32 {
        match self {
            Wanted::Key(key) => IndexHasher::new(topic).key(key),
            Wanted::Tags(tags) => IndexHasher::new(topic).tags(tags),
        }
    }

    /// The index knows hashes only, so each message is looked at.
    fn is(self, topic: &str, record: &Record<'_>) -> bool {
        let property = |name| record.properties.get(name);
        let found = match self {
            Wanted::Tags(tags) => property(name::TAGS) == Some(tags),
            Wanted::Key(key) => {
                let mut keys = property(name::KEYS).unwrap_or_default().split(name::KEY_SEPARATOR);
                property(name::UNIQ_KEY) == Some(key) || keys.any(|other| other == key)
            }
        };
        found && record.topic == topic
    }
}

/// The messages of a key (12).
pub(crate) fn by_key(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let ext = request.ext_fields();
    let header = QueryMessage::decode(&ext)?;
    let count_max = count_max(&header, broker.config().default_query_max_num)?;
    let wanted = Wanted::of(&header);
    let (begin, end) = (Millis(header.begin_timestamp), Millis(header.end_timestamp));
    let found = broker.store.query_key(wanted.hash(&header.topic), begin, end, PLACES_MAX)?;
    let mut records = Vec::new();
    let mut bytes = 0;
    // The newest first, so that they are the ones that stay if there are too many.
    for (index, place) in found.places.iter().enumerate().rev() {
        // Stores written by Java file a message twice under a key that it names twice.
        if found.places[..index].contains(place) {
            continue;
        }
        let Some(raw) = broker.store.record(*place)? else {
            continue;
        };
        let is_wanted = Record::decode(&raw).is_ok_and(|record| wanted.is(&header.topic, &record));
        if !is_wanted {
            continue;
        }
        bytes += raw.len();
        if records.len() == count_max || bytes > BODY_BYTES_MAX {
            break;
        }
        records.push(raw);
    }
    records.reverse();
    let code = if records.is_empty() { response::QUERY_NOT_FOUND } else { response::SUCCESS };
    let answer = Command::response(code)
        .with("indexLastUpdateTimestamp", found.last_update.0)
        .with("indexLastUpdatePhyoffset", found.last_update_offset.0);
    if records.is_empty() {
        return Ok(answer.remark("can not find message, maybe time range not correct"));
    }
    Ok(answer.body(records.concat()))
}

fn count_max(header: &QueryMessage<'_>, unique_key_max: usize) -> Result<usize, Refusal> {
    if header.unique_key {
        return Ok(unique_key_max.clamp(1, MESSAGES_MAX));
    }
    match usize::try_from(header.max_num) {
        Ok(asked) if asked > 0 => Ok(asked.min(MESSAGES_MAX)),
        _ => Err(Refusal::invalid(format!("maxNum[{}] is illegal, it must be at least 1", header.max_num))),
    }
}

/// The message at a place of the log (33), which its id names.
pub(crate) fn by_id(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let ext = request.ext_fields();
    let header = ViewMessage::decode(&ext)?;
    let record = broker.store.record(PhyOffset(header.offset))?;
    match record.filter(|record| may_be_shown(broker, record, header.topic.as_deref())) {
        Some(record) => Ok(Command::response(response::SUCCESS).body(record)),
        None => Err(Refusal::failed(format!("can not find message by the offset, {}", header.offset))),
    }
}

/// Whether the message may be handed to somebody who made its place up. With rights for topics the place is no way
/// around them: the message has to be of the topic that the request names.
pub(crate) fn may_be_shown(broker: &Broker, record: &[u8], named: Option<&str>) -> bool {
    let Ok(record) = Record::decode(record) else { return false };
    // The broker's own records have passwords.
    record.topic != STATE_TOPIC && (!broker.guard.authorizes() || named == Some(record.topic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(topic: &str, properties: &str) -> Vec<u8> {
        roxmq_testkit::record(topic, b"b", properties.as_bytes())
    }

    #[test]
    fn a_shared_hash_is_no_find() {
        // "AaTopic#BB" and "BBTopic#Aa" and so on all have the hash of "AaTopic#Aa".
        let raw = record("AaTopic", "KEYS\u{1}Aa other\u{2}UNIQ_KEY\u{1}7F\u{2}TAGS\u{1}t\u{2}");
        let record = Record::decode(&raw).expect("a record");
        let check = |wanted: Wanted<'_>, topic: &str, expected: bool| {
            assert_eq!(wanted.is(topic, &record), expected, "{wanted:?} of {topic}");
        };
        assert_eq!(Wanted::Key("BB").hash("AaTopic"), Wanted::Key("Aa").hash("BBTopic"));
        check(Wanted::Key("Aa"), "AaTopic", true);
        check(Wanted::Key("BB"), "AaTopic", false);
        check(Wanted::Key("Aa"), "BBTopic", false);
        check(Wanted::Key("other"), "AaTopic", true);
        check(Wanted::Key("Aa other"), "AaTopic", false);
        check(Wanted::Key("7F"), "AaTopic", true);
        check(Wanted::Tags("t"), "AaTopic", true);
        check(Wanted::Key("t"), "AaTopic", false);
    }
}
