//! Pulls: codes 11 and 361.

use super::{ExtFields, FieldError};
use crate::ext::{INT, LONG, parse};
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq)]
pub struct PullHeader<'a> {
    pub consumer_group: Cow<'a, str>,
    pub topic: Cow<'a, str>,
    pub queue_id: i32,
    pub queue_offset: i64,
    pub max_msg_nums: i32,
    /// Bits of [`crate::sys_flag::pull`].
    pub sys_flag: i32,
    pub commit_offset: i64,
    pub suspend_timeout_millis: i64,
    pub subscription: Option<Cow<'a, str>>,
    pub sub_version: i64,
    /// `TAG` (for none, too) or `SQL92`.
    pub expression_type: Option<Cow<'a, str>>,
    pub max_msg_bytes: Option<i32>,
    pub request_source: Option<i32>,
    pub proxy_forward_client_id: Option<Cow<'a, str>>,
    pub lite_topic: Option<Cow<'a, str>>,
}

impl<'a> PullHeader<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        let mut header = PullHeader {
            consumer_group: Cow::Borrowed(""),
            topic: Cow::Borrowed(""),
            queue_id: 0,
            queue_offset: 0,
            max_msg_nums: 0,
            sys_flag: 0,
            commit_offset: 0,
            suspend_timeout_millis: 0,
            subscription: None,
            sub_version: 0,
            expression_type: None,
            max_msg_bytes: None,
            request_source: None,
            proxy_forward_client_id: None,
            lite_topic: None,
        };
        // Without these there is no pull; the rest has defaults.
        let mut seen = [false; NEEDED.len()];
        for (name, value) in ext.iter() {
            match name.bytes() {
                b"consumerGroup" => {
                    seen[0] = true;
                    header.consumer_group = value.decode();
                }
                b"topic" => {
                    seen[1] = true;
                    header.topic = value.decode();
                }
                b"queueId" => {
                    seen[2] = true;
                    header.queue_id = parse("queueId", value, INT)?;
                }
                b"queueOffset" => {
                    seen[3] = true;
                    header.queue_offset = parse("queueOffset", value, LONG)?;
                }
                b"maxMsgNums" => {
                    seen[4] = true;
                    header.max_msg_nums = parse("maxMsgNums", value, INT)?;
                }
                b"sysFlag" => {
                    seen[5] = true;
                    header.sys_flag = parse("sysFlag", value, INT)?;
                }
                b"commitOffset" => header.commit_offset = parse("commitOffset", value, LONG)?,
                b"suspendTimeoutMillis" => {
                    header.suspend_timeout_millis = parse("suspendTimeoutMillis", value, LONG)?;
                }
                b"subscription" => header.subscription = Some(value.decode()),
                b"subVersion" => header.sub_version = parse("subVersion", value, LONG)?,
                b"expressionType" => header.expression_type = Some(value.decode()),
                b"maxMsgBytes" => header.max_msg_bytes = Some(parse("maxMsgBytes", value, INT)?),
                b"requestSource" => header.request_source = Some(parse("requestSource", value, INT)?),
                // The reference spells it so.
                b"proxyFrowardClientId" => header.proxy_forward_client_id = Some(value.decode()),
                b"liteTopic" => header.lite_topic = Some(value.decode()),
                _ => {}
            }
        }
        match seen.iter().position(|seen| !seen) {
            Some(at) => Err(FieldError::Missing(NEEDED[at])),
            None => Ok(header),
        }
    }
}

const NEEDED: [&str; 6] = ["consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn fields(count: usize) -> ExtFields<'static> {
        let pairs = [
            ("consumerGroup", "G"),
            ("topic", "T"),
            ("queueId", "1"),
            ("queueOffset", "2"),
            ("maxMsgNums", "32"),
            ("sysFlag", "6"),
            ("suspendTimeoutMillis", "15000"),
            ("subscription", "TagA || TagB"),
            ("liteTopic", "L"),
        ];
        let mut ext = ExtFields::default();
        for (name, value) in &pairs[..count] {
            ext.push(Text::plain(name), Text::plain(value));
        }
        ext
    }

    #[test]
    fn fields_are_read_and_the_rest_has_defaults() {
        let header = PullHeader::decode(&fields(9)).expect("complete");
        assert_eq!(
            (header.queue_id, header.queue_offset, header.max_msg_nums, header.sys_flag),
            (1, 2, 32, 6)
        );
        assert_eq!(header.subscription.as_deref(), Some("TagA || TagB"));
        assert_eq!(header.lite_topic.as_deref(), Some("L"));
        let header = PullHeader::decode(&fields(6)).expect("complete");
        assert_eq!((header.commit_offset, header.sub_version, header.max_msg_bytes), (0, 0, None));
        assert_eq!(header.expression_type, None);
    }

    #[test]
    fn the_first_missing_field_is_named() {
        for (count, name) in NEEDED.into_iter().enumerate() {
            assert_eq!(PullHeader::decode(&fields(count)), Err(FieldError::Missing(name)));
        }
    }
}
