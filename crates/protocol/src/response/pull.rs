//! The answer to a pull.

use super::ResponseHead;
use crate::header::Encoding;

#[derive(Clone, Copy, Debug, Default)]
pub struct PullAnswer {
    /// The broker to ask next, by its id in the set.
    pub suggest_which_broker_id: i64,
    pub next_begin_offset: i64,
    pub min_offset: i64,
    pub max_offset: i64,
    pub topic_sys_flag: Option<i32>,
    pub group_sys_flag: Option<i32>,
    /// Which prohibition a code 16 is about.
    pub forbidden_type: Option<i32>,
}

impl PullAnswer {
    /// Appends the frame up to the body, which is the caller's to append. `remark` is the status by its name.
    pub fn encode_head(
        &self,
        out: &mut Vec<u8>,
        encoding: Encoding,
        code: i32,
        opaque: i32,
        remark: Option<&str>,
        body_bytes: usize,
    ) {
        let mut head = ResponseHead::begin(out, encoding, code, opaque, remark);
        let optional = |head: &mut ResponseHead<'_>, name, value: Option<i32>| {
            if let Some(value) = value {
                head.number(name, i64::from(value));
            }
        };
        optional(&mut head, "forbiddenType", self.forbidden_type);
        optional(&mut head, "groupSysFlag", self.group_sys_flag);
        head.number("maxOffset", self.max_offset);
        head.number("minOffset", self.min_offset);
        head.number("nextBeginOffset", self.next_begin_offset);
        head.number("suggestWhichBrokerId", self.suggest_which_broker_id);
        optional(&mut head, "topicSysFlag", self.topic_sys_flag);
        head.finish(body_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;

    #[test]
    fn the_answer_reads_back_with_its_body_in_both_encodings() {
        let answer = PullAnswer {
            suggest_which_broker_id: 0,
            next_begin_offset: i64::MAX,
            min_offset: -1,
            max_offset: 7,
            topic_sys_flag: Some(0),
            group_sys_flag: Some(1),
            forbidden_type: None,
        };
        for encoding in [Encoding::Json, Encoding::Binary] {
            let mut out = Vec::new();
            answer.encode_head(&mut out, encoding, 0, 9, Some("FOUND"), 4);
            out.extend_from_slice(b"body");
            let frame = frame::decode(&out).expect("a frame");
            assert_eq!(frame::length(&out), Ok(Some(out.len())));
            assert_eq!(frame.body, b"body");
            assert_eq!(frame.header.remark.map(|remark| remark.bytes()), Some(&b"FOUND"[..]));
            let number = |name| frame.header.ext.i64(name).expect("a number");
            assert_eq!(number("suggestWhichBrokerId"), Some(0));
            assert_eq!(number("nextBeginOffset"), Some(i64::MAX));
            assert_eq!((number("minOffset"), number("maxOffset")), (Some(-1), Some(7)));
            assert_eq!((number("topicSysFlag"), number("groupSysFlag")), (Some(0), Some(1)));
            assert_eq!(number("forbiddenType"), None);
        }
    }
}
