//! The settings of a topic.

use super::attributes::Attributes;
use super::static_topic::TopicQueueMappingDetail;
use crate::json::{FromJson, Map, ToJson};
use crate::sys_flag::perm;

json_enum! {
    pub enum TopicFilterType {
        SingleTag "SINGLE_TAG",
        MultiTag "MULTI_TAG",
    }
}

json_object! {
    pub struct TopicConfig {
        "attributes" attributes: Attributes,
        "order" order: bool,
        /// Bits of [`perm`].
        "perm" perm: i32 = perm::READ | perm::WRITE,
        "readQueueNums" read_queue_nums: i32 = 16,
        "topicFilterType" topic_filter_type: TopicFilterType = TopicFilterType::SingleTag,
        "topicName" topic_name: String,
        "topicSysFlag" topic_sys_flag: i32,
        "writeQueueNums" write_queue_nums: i32 = 16,
        .. extra
    }
}

json_object! {
    /// The body of code 18.
    pub struct TopicConfigList {
        "topicConfigList" topic_config_list: Vec<TopicConfig>,
    }
}

json_object! {
    /// The answer to code 351: a topic's settings, with its static queues if it has any.
    pub struct TopicConfigAndQueueMapping {
        "attributes" attributes: Attributes,
        "mappingDetail" mapping_detail: Option<TopicQueueMappingDetail>,
        "order" order: bool,
        "perm" perm: i32,
        "readQueueNums" read_queue_nums: i32,
        "topicFilterType" topic_filter_type: TopicFilterType,
        "topicName" topic_name: String,
        "topicSysFlag" topic_sys_flag: i32,
        "writeQueueNums" write_queue_nums: i32,
    }
}

/// Why a line is no topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no topic as compressed registrations have them: name, queues to read, queues to write, perm, type"
)]
pub struct TopicTextError(String);

impl TopicConfig {
    /// The blank-separated form of compressed registrations. It lacks flags and order.
    pub fn to_text(&self) -> String {
        format!(
            "{} {} {} {} {} {}",
            self.topic_name,
            self.read_queue_nums,
            self.write_queue_nums,
            self.perm,
            self.topic_filter_type.name().unwrap_or("SINGLE_TAG"),
            self.attributes.to_json_text()
        )
    }

    /// Attributes with blanks in them are lost, as they are in the reference.
    pub fn from_text(text: &str) -> Result<Self, TopicTextError> {
        Self::read_text(text).ok_or_else(|| TopicTextError(text.chars().take(200).collect()))
    }

    fn read_text(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let topic_name = parts.next().filter(|name| !name.is_empty())?.to_owned();
        let read_queue_nums = parts.next()?.parse().ok()?;
        let write_queue_nums = parts.next()?.parse().ok()?;
        let perm = parts.next()?.parse().ok()?;
        let topic_filter_type = TopicFilterType::from_name(parts.next()?);
        let attributes = parts.next().and_then(|json| Attributes::from_json_bytes(json.as_bytes()).ok());
        Some(TopicConfig {
            attributes: attributes.unwrap_or_default(),
            order: false,
            perm,
            read_queue_nums,
            topic_filter_type,
            topic_name,
            topic_sys_flag: 0,
            write_queue_nums,
            extra: Map::new(),
        })
    }

    pub fn with_mapping(self, mapping_detail: Option<TopicQueueMappingDetail>) -> TopicConfigAndQueueMapping {
        TopicConfigAndQueueMapping {
            attributes: self.attributes,
            mapping_detail,
            order: self.order,
            perm: self.perm,
            read_queue_nums: self.read_queue_nums,
            topic_filter_type: self.topic_filter_type,
            topic_name: self.topic_name,
            topic_sys_flag: self.topic_sys_flag,
            write_queue_nums: self.write_queue_nums,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TopicConfig {
        TopicConfig {
            topic_name: "T".to_owned(),
            read_queue_nums: 4,
            write_queue_nums: 4,
            ..TopicConfig::default()
        }
    }

    #[test]
    fn a_topic_has_the_json_of_java() {
        let text = r#"{"attributes":{},"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":4}"#;
        assert_eq!(config().to_json_text(), text);
        assert_eq!(TopicConfig::from_json_bytes(text.as_bytes()), Ok(config()));
    }

    #[test]
    fn unknown_fields_are_kept() {
        let text = br#"{"topicName":"T","readQueueNums":4,"writeQueueNums":4,"newer":[1]}"#;
        let read = TopicConfig::from_json_bytes(text).expect("a topic");
        assert!(read.to_json_text().ends_with(r#","newer":[1]}"#));
        assert_eq!(TopicConfig { extra: Map::new(), ..read }, config());
    }

    #[test]
    fn the_text_form_is_that_of_java() {
        assert_eq!(config().to_text(), "T 4 4 6 SINGLE_TAG {}");
        assert_eq!(TopicConfig::from_text("T 4 4 6 SINGLE_TAG {}"), Ok(config()));
        assert_eq!(TopicConfig::from_text("T 4 4 6 SINGLE_TAG"), Ok(config()));
        let read = TopicConfig::from_text(r#"T 4 4 6 SINGLE_TAG {"message.type":"FIFO"}"#).expect("a topic");
        assert_eq!(read.attributes.get("message.type").map(String::as_str), Some("FIFO"));
        for text in ["", "T", "T 4 4 6", "T a 4 6 SINGLE_TAG", " 4 4 6 SINGLE_TAG"] {
            assert!(TopicConfig::from_text(text).is_err(), "{text}");
        }
    }
}
