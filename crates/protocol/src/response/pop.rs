//! The answer to a pop.

use super::ResponseHead;
use crate::header::Encoding;

#[derive(Clone, Copy, Debug, Default)]
pub struct PopAnswer<'a> {
    pub pop_time: i64,
    pub invisible_time: i64,
    pub revive_queue: i32,
    /// How many messages were left, as far as was looked.
    pub rest: i64,
    /// See [`crate::receipt::push_start_offset`].
    pub start_offset_info: &'a [u8],
    pub message_offset_info: &'a [u8],
    /// Of ordered pops only.
    pub order_count_info: Option<&'a [u8]>,
}

impl PopAnswer<'_> {
    /// Appends the frame up to the body, which is the caller's to append. `remark` is the status by its name.
    pub fn encode_head(
        &self,
        out: &mut Vec<u8>,
        encoding: Encoding,
        code: i32,
        opaque: i32,
        remark: &str,
        body_bytes: usize,
    ) {
        let mut head = ResponseHead::begin(out, encoding, code, opaque, Some(remark));
        head.number("invisibleTime", self.invisible_time);
        head.plain("msgOffsetInfo", |out| out.extend_from_slice(self.message_offset_info));
        if let Some(info) = self.order_count_info {
            head.plain("orderCountInfo", |out| out.extend_from_slice(info));
        }
        head.number("popTime", self.pop_time);
        head.number("restNum", self.rest);
        head.number("reviveQid", i64::from(self.revive_queue));
        head.plain("startOffsetInfo", |out| out.extend_from_slice(self.start_offset_info));
        head.finish(body_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;

    #[test]
    fn the_answer_reads_back_with_its_body_in_both_encodings() {
        let answer = PopAnswer {
            pop_time: 1,
            invisible_time: 60_000,
            revive_queue: 3,
            rest: 9,
            start_offset_info: b"0 1 0;0 0 0",
            message_offset_info: b"0 1 0,1,2;0 0 0,1",
            order_count_info: None,
        };
        for encoding in [Encoding::Json, Encoding::Binary] {
            for info in [None, Some(&b"0 1 0"[..])] {
                let answer = PopAnswer { order_count_info: info, ..answer };
                let mut out = Vec::new();
                answer.encode_head(&mut out, encoding, 0, 9, "FOUND", 4);
                out.extend_from_slice(b"body");
                let frame = frame::decode(&out).expect("a frame");
                assert_eq!(frame.body, b"body");
                let ext = &frame.header.ext;
                let number = |name| ext.i64(name).expect("a number");
                assert_eq!((number("popTime"), number("invisibleTime")), (Some(1), Some(60_000)));
                assert_eq!((number("reviveQid"), number("restNum")), (Some(3), Some(9)));
                assert_eq!(ext.str("startOffsetInfo").as_deref(), Some("0 1 0;0 0 0"));
                assert_eq!(ext.str("msgOffsetInfo").as_deref(), Some("0 1 0,1,2;0 0 0,1"));
                assert_eq!(ext.str("orderCountInfo").as_deref(), info.map(|_| "0 1 0"));
            }
        }
    }
}
