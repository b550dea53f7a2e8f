//! The committed offsets in `config/`: `consumerOffset.json`, and beside it `lmqConsumerOffset.json`, which the Java
//! server keeps in its place where it runs with `enableLmq`.
//!
//! `consumerOffset.json` always has everything. The other one is written for a Java server that takes the store over, and
//! read if one has left it.

use super::config_file::Found;
use super::snapshot::{LOG_OFFSET, Snapshot, decode, encode};
use crate::offsets::{GroupOffsets, QueueOffsets};
use roxmq_protocol::json::{Fields, JsonError, Value};
use roxmq_protocol::names;
use roxmq_store::QueueId;
use roxmq_store::multi_dispatch::LMQ_QUEUE;
use std::collections::BTreeMap;

pub(super) const OFFSETS_FILE: &str = "consumerOffset.json";
pub(super) const LMQ_OFFSETS_FILE: &str = "lmqConsumerOffset.json";

/// What was found of either.
type OffsetsFile = Found<Snapshot<GroupOffsets>>;

/// Between topic and group in the keys of the tables.
const TOPIC_GROUP_SEPARATOR: char = '@';

/// `topic@group` to queue to offset.
type FlatOffsets = BTreeMap<String, BTreeMap<i32, i64>>;

/// `topic@group` to the offset of the group's one queue.
type LmqOffsets = BTreeMap<String, i64>;

pub(super) fn encode_offsets(snapshot: &Snapshot<GroupOffsets>, pulled: &GroupOffsets) -> Vec<u8> {
    encode(snapshot, |writer| {
        writer.field("offsetTable", &flat_offsets(&snapshot.table));
        writer.field("pullOffsetTable", &flat_offsets(pulled));
        writer.field(LOG_OFFSET, &snapshot.log_offset.map(|offset| offset.0));
    })
}

pub(super) fn decode_offsets(value: &Value) -> Result<Snapshot<GroupOffsets>, JsonError> {
    let flat: FlatOffsets = value.need("offsetTable")?;
    let mut table = GroupOffsets::new();
    for (key, queues) in flat {
        // Neither topics nor groups have the separator in their names.
        let Some((topic, group)) = key.split_once(TOPIC_GROUP_SEPARATOR) else { continue };
        let queues: QueueOffsets =
            queues.into_iter().map(|(queue, offset)| (QueueId(queue), offset)).collect();
        table.entry(group.to_owned()).or_default().insert(topic.to_owned(), queues);
    }
    decode(value, table)
}

/// With the offsets of light groups, which have one queue, in a table of their own.
pub(super) fn encode_lmq_offsets(snapshot: &Snapshot<GroupOffsets>, pulled: &GroupOffsets) -> Vec<u8> {
    let mut flat = flat_offsets(&snapshot.table);
    let mut light = LmqOffsets::new();
    for (group, topics) in snapshot.table.iter().filter(|(group, _)| names::is_lmq(group)) {
        for (topic, queues) in topics {
            let key = flat_key(topic, group);
            light.extend(queues.get(&LMQ_QUEUE).map(|offset| (key.clone(), *offset)));
            flat.remove(&key);
        }
    }
    encode(snapshot, |writer| {
        writer.field("lmqOffsetTable", &light);
        writer.field("offsetTable", &flat);
        writer.field("pullOffsetTable", &flat_offsets(pulled));
        writer.field(LOG_OFFSET, &snapshot.log_offset.map(|offset| offset.0));
    })
}

pub(super) fn decode_lmq_offsets(value: &Value) -> Result<Snapshot<GroupOffsets>, JsonError> {
    let mut snapshot = decode_offsets(value)?;
    let light: LmqOffsets = value.need("lmqOffsetTable")?;
    for (key, offset) in light {
        let Some((topic, group)) = key.split_once(TOPIC_GROUP_SEPARATOR) else { continue };
        let topics = snapshot.table.entry(group.to_owned()).or_default();
        topics.entry(topic.to_owned()).or_default().insert(LMQ_QUEUE, offset);
    }
    Ok(snapshot)
}

/// Which of the two files counts, and the other. One without a log position was written by a Java server that ran after this one did;
/// if both were, it is the one that such a server would read.
pub(super) fn choose(plain: OffsetsFile, lmq: OffsetsFile, enable_lmq: bool) -> (OffsetsFile, OffsetsFile) {
    let content = |found: &OffsetsFile| match found {
        Found::Good(snapshot) | Found::Copy(snapshot, _) => Some(snapshot.log_offset),
        Found::Nothing | Found::Damaged(_) => None,
    };
    let takes_lmq = match (content(&plain), content(&lmq)) {
        (None, Some(_)) => true,
        (Some(None), Some(None)) => enable_lmq,
        (_, of_lmq) => of_lmq == Some(None),
    };
    if takes_lmq { (lmq, plain) } else { (plain, lmq) }
}

fn flat_offsets(offsets: &GroupOffsets) -> FlatOffsets {
    let mut flat = FlatOffsets::new();
    for (group, topics) in offsets {
        for (topic, queues) in topics {
            let queues = queues.iter().map(|(queue, offset)| (queue.0, *offset)).collect();
            flat.insert(flat_key(topic, group), queues);
        }
    }
    flat
}

fn flat_key(topic: &str, group: &str) -> String {
    format!("{topic}{TOPIC_GROUP_SEPARATOR}{group}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::DataVersion;
    use roxmq_protocol::json::parse;
    use roxmq_store::PhyOffset;

    const VERSION: &str = "\"dataVersion\":{\n\t\t\"counter\":3,\n\t\t\"stateVersion\":0,\n\t\t\"timestamp\":1700000000000\n\t}";

    fn offsets(entries: &[(&str, &str, i32, i64)], log_offset: Option<i64>) -> Snapshot<GroupOffsets> {
        let mut table = GroupOffsets::new();
        for (topic, group, queue, offset) in entries {
            let topics = table.entry((*group).to_owned()).or_default();
            topics.entry((*topic).to_owned()).or_default().insert(QueueId(*queue), *offset);
        }
        let version = DataVersion { counter: 3, state_version: 0, timestamp: 1_700_000_000_000 };
        Snapshot { version, log_offset: log_offset.map(PhyOffset), table }
    }

    #[test]
    fn offsets_in_javas_form_have_bare_keys() {
        let snapshot = offsets(&[("T", "G", 0, 3), ("T", "G", 1, 1)], Some(7));
        let expected = format!(
            "{{\n\t{VERSION},\n\t\"offsetTable\":{{\n\t\t\"T@G\":{{\n\t\t\t0:3,\n\t\t\t1:1\n\t\t}}\n\t}},\
             \n\t\"pullOffsetTable\":{{}},\n\t\"roxmqLogOffset\":7\n}}"
        );
        let encoded = encode_offsets(&snapshot, &GroupOffsets::new());
        assert_eq!(String::from_utf8_lossy(&encoded), expected);
        assert_eq!(decode_offsets(&parse(&encoded).expect("JSON")), Ok(snapshot));
    }

    #[test]
    fn light_groups_have_a_table_of_their_own() {
        let snapshot =
            offsets(&[("T", "G", 0, 3), ("%LMQ%q", "%LMQ%g", 0, 5), ("%LMQ%q", "G", 0, 6)], Some(7));
        let expected = format!(
            "{{\n\t{VERSION},\n\t\"lmqOffsetTable\":{{\n\t\t\"%LMQ%q@%LMQ%g\":5\n\t}},\n\t\"offsetTable\":{{\
             \n\t\t\"%LMQ%q@G\":{{\n\t\t\t0:6\n\t\t}},\n\t\t\"T@G\":{{\n\t\t\t0:3\n\t\t}}\n\t}},\
             \n\t\"pullOffsetTable\":{{}},\n\t\"roxmqLogOffset\":7\n}}"
        );
        let encoded = encode_lmq_offsets(&snapshot, &GroupOffsets::new());
        assert_eq!(String::from_utf8_lossy(&encoded), expected);
        assert_eq!(decode_lmq_offsets(&parse(&encoded).expect("JSON")), Ok(snapshot));
    }

    #[test]
    fn the_java_servers_own_files_are_read() {
        let text = r#"{
            "dataVersion":{"counter":2,"stateVersion":0,"timestamp":1},
            "groupTopicMap":{"G":["T"]},
            "offsetTable":{"T@G":{0:5,"1":6},"%RETRY%G@G":{0:0}},
            "pullOffsetTable":{}
        }"#;
        let snapshot = decode_offsets(&parse(text.as_bytes()).expect("JSON")).expect("offsets");
        assert_eq!(snapshot.log_offset, None);
        let topics = snapshot.table.get("G").expect("the group");
        assert_eq!(topics.get("T"), Some(&QueueOffsets::from([(QueueId(0), 5), (QueueId(1), 6)])));
        assert_eq!(topics.get("%RETRY%G"), Some(&QueueOffsets::from([(QueueId(0), 0)])));
    }

    #[test]
    fn the_file_of_who_ran_last_counts() {
        let file =
            |name: &str, log_offset: Option<i64>| Found::Good(offsets(&[(name, "G", 0, 1)], log_offset));
        let check = |plain, lmq, enable_lmq, expected: &str| {
            let (Found::Good(chosen), _) = choose(plain, lmq, enable_lmq) else {
                panic!("none for {expected}")
            };
            assert!(chosen.table["G"].contains_key(expected), "{expected}: {chosen:?}");
        };
        for enable_lmq in [false, true] {
            check(file("plain", Some(9)), file("lmq", Some(9)), enable_lmq, "plain");
            check(file("plain", Some(9)), file("lmq", None), enable_lmq, "lmq");
            check(file("plain", None), file("lmq", Some(9)), enable_lmq, "plain");
            check(file("plain", None), Found::Nothing, enable_lmq, "plain");
            check(Found::Nothing, file("lmq", None), enable_lmq, "lmq");
            check(Found::Damaged(String::new()), file("lmq", Some(9)), enable_lmq, "lmq");
        }
        check(file("plain", None), file("lmq", None), false, "plain");
        check(file("plain", None), file("lmq", None), true, "lmq");
    }

    #[test]
    fn a_file_without_its_table_is_damaged() {
        let value = parse(b"{}").expect("JSON");
        assert!(decode_offsets(&value).is_err());
        assert!(decode_lmq_offsets(&value).is_err());
        assert!(decode_lmq_offsets(&parse(br#"{"offsetTable":{}}"#).expect("JSON")).is_err());
    }
}
