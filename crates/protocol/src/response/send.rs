//! The answer to a send whose message was stored.

use super::ResponseHead;
use crate::header::Encoding;
use crate::message_id::OffsetMessageId;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;
    use std::net::SocketAddr;

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
}
