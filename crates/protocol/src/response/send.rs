//! The answer to a send whose message was stored.

use super::ResponseHead;
use crate::code::response;
use crate::frame;
use crate::header::{Encoding, push_number, push_string};
use crate::message_id::OffsetMessageId;
use std::net::SocketAddr;

/// What the producer learns about its message, or about the first of a batch.
#[derive(Clone, Copy, Debug)]
pub struct SendAnswer<'a> {
    /// One for each message of a batch.
    pub msg_ids: &'a [OffsetMessageId],
    pub queue_id: i32,
    pub queue_offset: i64,
    pub transaction_id: Option<&'a str>,
    pub batch_uniq_id: Option<&'a str>,
    pub recall_handle: Option<&'a str>,
    /// `MSG_REGION` of the broker.
    pub region: &'a str,
    pub trace_on: bool,
}

impl SendAnswer<'_> {
    /// Appends the whole frame: this answer has no body.
    pub fn encode(
        &self,
        out: &mut Vec<u8>,
        encoding: Encoding,
        code: i32,
        opaque: i32,
        remark: Option<&str>,
    ) {
        let mut head = ResponseHead::begin(out, encoding, code, opaque, remark);
        head.text("MSG_REGION", self.region);
        head.boolean("TRACE_ON", self.trace_on);
        if let Some(id) = self.batch_uniq_id {
            head.text("batchUniqId", id);
        }
        head.plain("msgId", |out| {
            for (index, id) in self.msg_ids.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                id.append_to(out);
            }
        });
        head.number("queueId", i64::from(self.queue_id));
        head.number("queueOffset", self.queue_offset);
        if let Some(handle) = self.recall_handle {
            head.text("recallHandle", handle);
        }
        if let Some(id) = self.transaction_id {
            head.text("transactionId", id);
        }
        head.finish(0);
    }
}

/// The answers of one broker to sends of one message that was stored. What all of them say is encoded once.
#[derive(Clone, Debug)]
pub struct StoredAnswers {
    /// A JSON frame up to the digits of the message's place.
    start: Vec<u8>,
}

impl StoredAnswers {
    pub fn new(store_host: SocketAddr, region: &str, trace_on: bool) -> Self {
        let mut start = Vec::new();
        let mut head = ResponseHead::begin(&mut start, Encoding::Json, response::SUCCESS, 0, None);
        head.text("MSG_REGION", region);
        head.boolean("TRACE_ON", trace_on);
        start.extend_from_slice(b",\"msgId\":\"");
        OffsetMessageId::push_host(&mut start, store_host);
        StoredAnswers { start }
    }

    /// Appends the JSON frame that [`SendAnswer::encode`] makes of the same.
    pub fn encode(
        &self,
        out: &mut Vec<u8>,
        opaque: i32,
        queue_id: i32,
        queue_offset: i64,
        phy_offset: i64,
        transaction_id: &str,
    ) {
        let frame_start = out.len();
        out.extend_from_slice(&self.start);
        OffsetMessageId::push_phy_offset(out, phy_offset);
        out.extend_from_slice(b"\",\"queueId\":\"");
        push_number(i64::from(queue_id), out);
        out.extend_from_slice(b"\",\"queueOffset\":\"");
        push_number(queue_offset, out);
        out.extend_from_slice(b"\",\"transactionId\":");
        push_string(transaction_id, out);
        ResponseHead::end_json(out, opaque, None);
        frame::finish(frame_start, Encoding::Json, 0, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_reads_back_in_both_encodings() {
        let id = |phy_offset| OffsetMessageId {
            store_host: SocketAddr::from(([127, 0, 0, 1], 10911)),
            phy_offset,
        };
        let answer = SendAnswer {
            msg_ids: &[id(4), id(5)],
            queue_id: 1,
            queue_offset: 12,
            transaction_id: Some("7F\"1"),
            batch_uniq_id: None,
            recall_handle: None,
            region: "DefaultRegion",
            trace_on: true,
        };
        for encoding in [Encoding::Json, Encoding::Binary] {
            let mut out = b"before".to_vec();
            answer.encode(&mut out, encoding, 10, -3, Some("late"));
            let bytes = &out[6..];
            assert_eq!(frame::length(bytes), Ok(Some(bytes.len())));
            let frame = frame::decode(bytes).expect("a frame");
            let header = &frame.header;
            assert_eq!((header.code, header.opaque, header.flag, header.version), (10, -3, 1, 513));
            assert_eq!(header.remark.map(|remark| remark.bytes()), Some(&b"late"[..]));
            let field = |name| header.ext.str(name);
            let ids = "7F00000100002A9F0000000000000004,7F00000100002A9F0000000000000005";
            assert_eq!(field("msgId").as_deref(), Some(ids));
            assert_eq!(field("queueId").as_deref(), Some("1"));
            assert_eq!(field("queueOffset").as_deref(), Some("12"));
            assert_eq!(field("transactionId").as_deref(), Some("7F\"1"));
            assert_eq!(field("MSG_REGION").as_deref(), Some("DefaultRegion"));
            assert_eq!(field("TRACE_ON").as_deref(), Some("true"));
            assert_eq!(field("recallHandle"), None);
            assert!(frame.body.is_empty());
        }
    }

    #[test]
    fn an_answer_is_the_same_however_it_is_made() {
        let store_host = SocketAddr::from(([10, 0, 0, 1], 10911));
        let check = |opaque, queue_id, queue_offset, phy_offset, key, region, trace_on| {
            let answer = SendAnswer {
                msg_ids: &[OffsetMessageId { store_host, phy_offset }],
                queue_id,
                queue_offset,
                transaction_id: Some(key),
                batch_uniq_id: None,
                recall_handle: None,
                region,
                trace_on,
            };
            let (mut expected, mut made) = (Vec::new(), Vec::new());
            answer.encode(&mut expected, Encoding::Json, response::SUCCESS, opaque, None);
            StoredAnswers::new(store_host, region, trace_on).encode(
                &mut made,
                opaque,
                queue_id,
                queue_offset,
                phy_offset,
                key,
            );
            assert_eq!(String::from_utf8_lossy(&made), String::from_utf8_lossy(&expected));
        };
        check(0, 0, 0, 0, "k", "DefaultRegion", true);
        check(-7, 9, 10, i64::MAX, "7F\"\\", "a \"region\"", false);
        check(i32::MAX, i32::MAX, i64::MAX, 0xABCD, "é", "", true);
    }
}
