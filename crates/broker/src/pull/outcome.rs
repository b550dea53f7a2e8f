//! What a pull is told when the store has looked, as functions of values.

use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_store::QueueOffset;
use roxmq_store::read::ReadStatus;

/// The code for what was found at the offset that was asked for.
pub(super) fn code(status: ReadStatus, asked: QueueOffset) -> i32 {
    match status {
        ReadStatus::Found => response::SUCCESS,
        ReadStatus::NoMatchedMessage | ReadStatus::MessageWasRemoving => response::PULL_RETRY_IMMEDIATELY,
        // A consumer that starts at the beginning of a queue is right; any other has to be moved there.
        ReadStatus::NoMatchedLogicQueue | ReadStatus::NoMessageInQueue if asked.0 == 0 => {
            response::PULL_NOT_FOUND
        }
        ReadStatus::NoMatchedLogicQueue | ReadStatus::NoMessageInQueue => response::PULL_OFFSET_MOVED,
        ReadStatus::OffsetFoundNull | ReadStatus::OffsetOverflowOne => response::PULL_NOT_FOUND,
        ReadStatus::OffsetOverflowBadly | ReadStatus::OffsetTooSmall => response::PULL_OFFSET_MOVED,
        // Reading where waiting is allowed never gives this; a client that sees it may just ask again.
        ReadStatus::Cold => response::PULL_RETRY_IMMEDIATELY,
    }
}

/// The status by the name that tools show.
pub(super) fn remark(status: ReadStatus) -> &'static str {
    match status {
        ReadStatus::Found => "FOUND",
        ReadStatus::NoMatchedMessage => "NO_MATCHED_MESSAGE",
        ReadStatus::MessageWasRemoving => "MESSAGE_WAS_REMOVING",
        ReadStatus::NoMatchedLogicQueue => "NO_MATCHED_LOGIC_QUEUE",
        ReadStatus::NoMessageInQueue => "NO_MESSAGE_IN_QUEUE",
        ReadStatus::OffsetTooSmall => "OFFSET_TOO_SMALL",
        ReadStatus::OffsetOverflowOne => "OFFSET_OVERFLOW_ONE",
        ReadStatus::OffsetOverflowBadly => "OFFSET_OVERFLOW_BADLY",
        ReadStatus::OffsetFoundNull => "OFFSET_FOUND_NULL",
        ReadStatus::Cold => "COLD",
    }
}

/// Whether a message may still come to where the pull waits.
pub(super) fn may_wait(status: ReadStatus, asked: QueueOffset) -> bool {
    code(status, asked) == response::PULL_NOT_FOUND
}

pub(super) fn disk_error(error: &std::io::Error) -> Refusal {
    Refusal::failed(format!("reading the log failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        let check = |status, asked, expected| {
            assert_eq!(code(status, QueueOffset(asked)), expected, "{status:?} at {asked}");
            assert_eq!(may_wait(status, QueueOffset(asked)), expected == 19, "{status:?} at {asked}");
        };
        check(ReadStatus::Found, 5, 0);
        check(ReadStatus::NoMatchedMessage, 5, 20);
        check(ReadStatus::MessageWasRemoving, 5, 20);
        check(ReadStatus::NoMatchedLogicQueue, 0, 19);
        check(ReadStatus::NoMatchedLogicQueue, 5, 21);
        check(ReadStatus::NoMessageInQueue, 0, 19);
        check(ReadStatus::NoMessageInQueue, 5, 21);
        check(ReadStatus::NoMessageInQueue, -5, 21);
        check(ReadStatus::OffsetTooSmall, -5, 21);
        check(ReadStatus::OffsetOverflowOne, 5, 19);
        check(ReadStatus::OffsetOverflowBadly, 5, 21);
        check(ReadStatus::OffsetFoundNull, 5, 19);
    }
}
