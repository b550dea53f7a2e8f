//! The answers to pulls.

use super::admit::Pull;
use super::outcome;
use crate::Broker;
use bytes::Bytes;
use roxmq_protocol::code::response;
use roxmq_protocol::header::Encoding;
use roxmq_protocol::response::PullAnswer;
use roxmq_remoting::Output;
use roxmq_store::QueueOffset;
use roxmq_store::read::{ReadResult, ReadStatus};

/// Whom an answer is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyTo {
    pub(super) opaque: i32,
    pub(super) encoding: Encoding,
}

impl ReplyTo {
    /// The messages that were found.
    pub(super) fn found(
        self,
        broker: &Broker,
        pull: &Pull,
        result: &ReadResult,
        records: Bytes,
        output: &mut Output,
    ) {
        broker.stats.get_found(&pull.stats, result.count as u64, records.len() as u64);
        broker.offsets.note_pull(pull.group_name(), pull.topic_name(), pull.queue.id(), result.next_offset.0);
        self.head(pull, result, response::SUCCESS, outcome::remark(result.status), records.len(), output);
        output.push_bytes(records);
    }

    /// Nothing was found, or the consumer is somewhere where nothing can be.
    pub(super) fn nothing(self, broker: &Broker, pull: &Pull, result: &ReadResult, output: &mut Output) {
        broker.stats.get_missed();
        broker.offsets.note_pull(pull.group_name(), pull.topic_name(), pull.queue.id(), result.next_offset.0);
        let code = outcome::code(result.status, pull.asked);
        self.head(pull, result, code, outcome::remark(result.status), 0, output);
    }

    /// The time of a held pull is up. What it has looked at meanwhile and didn't want, it needn't look at again.
    pub(super) fn timed_out(self, broker: &Broker, pull: &Pull, result: &ReadResult, output: &mut Output) {
        if pull.position > pull.asked && outcome::may_wait(result.status, pull.asked) {
            let passed = ReadResult {
                status: ReadStatus::NoMatchedMessage,
                next_offset: pull.position,
                min_offset: result.min_offset,
                max_offset: result.max_offset,
                count: 0,
            };
            return self.nothing(broker, pull, &passed, output);
        }
        self.nothing(broker, pull, result, output);
    }

    /// Somebody has set the group's offset: the consumer is to go there.
    pub(super) fn go_to(self, pull: &Pull, offset: QueueOffset, output: &mut Output) {
        let result = ReadResult {
            status: ReadStatus::OffsetTooSmall,
            next_offset: offset,
            min_offset: pull.queue.min_offset(),
            max_offset: pull.queue.max_offset(),
            count: 0,
        };
        self.head(pull, &result, response::PULL_OFFSET_MOVED, "OFFSET_RESET", 0, output);
    }

    fn head(
        self,
        pull: &Pull,
        result: &ReadResult,
        code: i32,
        remark: &str,
        body_bytes: usize,
        output: &mut Output,
    ) {
        let answer = PullAnswer {
            suggest_which_broker_id: 0,
            next_begin_offset: result.next_offset.0,
            min_offset: result.min_offset.0,
            max_offset: result.max_offset.0,
            topic_sys_flag: Some(pull.topic.topic_sys_flag),
            group_sys_flag: Some(pull.group.group_sys_flag),
            forbidden_type: None,
        };
        answer.encode_head(output.buffer(), self.encoding, code, self.opaque, Some(remark), body_bytes);
    }
}
