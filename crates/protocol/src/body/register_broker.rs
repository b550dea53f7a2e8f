//! A broker's registration (code 103): its topics, plain or compressed.
//!
//! ```text
//! zlib( | length: 4 | DataVersion | topics: 4 | { length: 4 | topic }...
//!       | length: 4 | filter servers | mappings: 4 | { length: 4 | mapping }... )
//! ```
//! The mappings exist from version 5.0.0 on.

use super::data_version::DataVersion;
use super::static_topic::TopicQueueMappingInfo;
use super::topic_config::{TopicConfig, TopicTextError};
use super::topic_table::TopicTableAndMapping;
use crate::compression::{Compression, CompressionError, zlib};
use crate::json::{FromJson, JsonError, ToJson};
use crate::version;
use std::io;

/// The most bytes a compressed registration may inflate to.
pub const INFLATED_BYTES_MAX: usize = 128 * 1024 * 1024;
/// As hard as the reference tries.
const ZLIB_LEVEL: u32 = 9;

json_object! {
    pub struct RegisterBrokerBody {
        /// Null leaves the filter servers as they were.
        "filterServerList" filter_server_list: Option<Vec<String>>,
        "topicConfigSerializeWrapper" topic_table: TopicTableAndMapping,
    }
}

/// Why a registration can't be read.
#[derive(Debug, thiserror::Error)]
pub enum RegisterBodyError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(transparent)]
    Compression(#[from] CompressionError),
    #[error(transparent)]
    Topic(#[from] TopicTextError),
    #[error("the registration ends inside {part}: it needs {need} bytes and {left} are left")]
    Truncated { part: &'static str, need: i64, left: usize },
    #[error("{part} of the registration isn't UTF-8")]
    NotUtf8 { part: &'static str },
}

impl RegisterBrokerBody {
    /// Reads a body in the form that its header and the broker's version say. None is a table of nothing.
    pub fn decode(body: &[u8], compressed: bool, broker_version: i32) -> Result<Self, RegisterBodyError> {
        if body.is_empty() {
            return Ok(RegisterBrokerBody::default());
        }
        if broker_version < version::V3_0_11 {
            let topic_table = TopicTableAndMapping::from_json_bytes(body)?;
            return Ok(RegisterBrokerBody { topic_table, filter_server_list: None });
        }
        if !compressed {
            return Ok(RegisterBrokerBody::from_json_bytes(body)?);
        }
        let inflated = Compression::Zlib.decompress(body, INFLATED_BYTES_MAX)?;
        Self::read_parts(&mut Parts { rest: &inflated }, broker_version >= version::V5_0_0)
    }

    /// The compressed form, mappings included.
    pub fn encode_compressed(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        push_part(&mut out, &self.topic_table.data_version.to_json());
        push_count(&mut out, self.topic_table.topic_config_table.len());
        for topic in self.topic_table.topic_config_table.values() {
            push_part(&mut out, topic.to_text().as_bytes());
        }
        push_part(&mut out, &self.filter_server_list.to_json());
        push_count(&mut out, self.topic_table.topic_queue_mapping_info_map.len());
        for mapping in self.topic_table.topic_queue_mapping_info_map.values() {
            push_part(&mut out, &mapping.to_json());
        }
        zlib(&out, ZLIB_LEVEL)
    }

    fn read_parts(parts: &mut Parts<'_>, with_mappings: bool) -> Result<Self, RegisterBodyError> {
        let mut body = RegisterBrokerBody::default();
        let table = &mut body.topic_table;
        table.data_version = DataVersion::from_json_bytes(parts.part("the DataVersion")?)?;
        for _ in 0..parts.int("the number of topics")? {
            let text = std::str::from_utf8(parts.part("a topic")?)
                .map_err(|_| RegisterBodyError::NotUtf8 { part: "a topic" })?;
            let topic = TopicConfig::from_text(text)?;
            table.topic_config_table.insert(topic.topic_name.clone(), topic);
        }
        // The reference takes a list that it can't read for an empty one.
        let filter_servers = Option::from_json_bytes(parts.part("the filter servers")?);
        body.filter_server_list = filter_servers.unwrap_or_else(|_| Some(Vec::new()));
        if with_mappings {
            for _ in 0..parts.int("the number of mappings")? {
                let mapping = TopicQueueMappingInfo::from_json_bytes(parts.part("a mapping")?)?;
                table.topic_queue_mapping_info_map.insert(mapping.topic.clone(), mapping);
            }
        }
        Ok(body)
    }
}

struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    fn int(&mut self, part: &'static str) -> Result<i32, RegisterBodyError> {
        let left = self.rest.len();
        let Some((bytes, rest)) = self.rest.split_first_chunk::<4>() else {
            return Err(RegisterBodyError::Truncated { part, need: 4, left });
        };
        self.rest = rest;
        Ok(i32::from_be_bytes(*bytes))
    }

    fn part(&mut self, part: &'static str) -> Result<&'a [u8], RegisterBodyError> {
        let length = self.int(part)?;
        let (left, need) = (self.rest.len(), i64::from(length));
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (bytes, rest) = split.ok_or(RegisterBodyError::Truncated { part, need, left })?;
        self.rest = rest;
        Ok(bytes)
    }
}

fn push_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as i32).to_be_bytes());
}

fn push_part(out: &mut Vec<u8>, part: &[u8]) {
    push_count(out, part.len());
    out.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body() -> RegisterBrokerBody {
        let mut body =
            RegisterBrokerBody { filter_server_list: Some(Vec::new()), ..RegisterBrokerBody::default() };
        let topic = |name: &str| TopicConfig { topic_name: name.to_owned(), ..TopicConfig::default() };
        body.topic_table.data_version.counter = 7;
        body.topic_table.topic_config_table =
            [("T".to_owned(), topic("T")), ("U".to_owned(), topic("U"))].into_iter().collect();
        let mapping = TopicQueueMappingInfo { topic: "T".to_owned(), total_queues: 2, ..Default::default() };
        body.topic_table.topic_queue_mapping_info_map = [("T".to_owned(), mapping)].into_iter().collect();
        body
    }

    #[test]
    fn both_forms_come_back() {
        let plain = RegisterBrokerBody::decode(&body().to_json(), false, version::V5_5_0);
        assert_eq!(plain.expect("plain"), body());
        let compressed = body().encode_compressed().expect("memory");
        let read = RegisterBrokerBody::decode(&compressed, true, version::V5_5_0);
        assert_eq!(read.expect("compressed"), body());
    }

    #[test]
    fn old_brokers_have_their_forms() {
        let compressed = body().encode_compressed().expect("memory");
        let read = RegisterBrokerBody::decode(&compressed, true, version::V5_0_0 - 1).expect("compressed");
        assert!(read.topic_table.topic_queue_mapping_info_map.is_empty());
        let bare = body().topic_table.to_json();
        let read = RegisterBrokerBody::decode(&bare, false, version::V3_0_11 - 1).expect("bare");
        assert_eq!(read.topic_table, body().topic_table);
        let read = RegisterBrokerBody::decode(b"", true, version::V5_5_0).expect("nothing");
        assert_eq!(read, RegisterBrokerBody::default());
    }

    #[test]
    fn what_is_cut_is_named() {
        let stream = zlib(&[0, 0, 0, 2, b'{', b'}', 0, 0, 0, 1, 0, 0, 0, 9, b'T'], 9).expect("memory");
        let error = RegisterBrokerBody::decode(&stream, true, version::V5_5_0).expect_err("cut");
        assert_eq!(
            error.to_string(),
            "the registration ends inside a topic: it needs 9 bytes and 1 are left"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(0u8..4, 0..40)) {
            let _ = RegisterBrokerBody::read_parts(&mut Parts { rest: &bytes }, true);
        }
    }
}
