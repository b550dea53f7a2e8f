//! What becomes of a message that a consumer failed on: another attempt, or the dead-letter queue.
//!
//! Decisions only, from values; [`send`](crate::send) and [`send_back`](crate::send_back) carry them out.

use roxmq_protocol::version;

/// A dead-letter topic has one queue.
pub(crate) const DLQ_QUEUES: i32 = 1;
/// The first attempt waits for the third level, 10 seconds by default, and each further one for the next.
const FIRST_RETRY_LEVEL: i32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Into the retry topic, after the delay of this level.
    Retry { delay_level: i32 },
    /// Into the dead-letter queue, at once.
    DeadLetter,
}

/// How many attempts there are: what the request says, from clients that mean it, else the group's setting.
pub(crate) fn attempts_max(group_setting: i32, asked: Option<i32>, client_version: i32) -> i32 {
    asked.filter(|_| client_version >= version::V3_4_9).unwrap_or(group_setting)
}

/// For a message that the broker is to deliver again itself (CONSUMER_SEND_MSG_BACK).
pub(crate) fn fate_of_sent_back(attempts: i32, attempts_max: i32, delay_level: i32) -> Fate {
    if attempts >= attempts_max || delay_level < 0 {
        return Fate::DeadLetter;
    }
    match delay_level {
        0 => Fate::Retry { delay_level: FIRST_RETRY_LEVEL.saturating_add(attempts) },
        _ => Fate::Retry { delay_level },
    }
}

/// Whether a message that was popped and not acknowledged has had all its attempts.
pub(crate) fn is_spent(attempts: i32, attempts_max: i32) -> bool {
    attempts >= attempts_max
}

/// Whether a message that a client sent to a retry topic itself goes to the dead-letter queue instead.
/// Such a client has counted the attempt already. A group that holds queue locks consumes in order: its client
/// sends a message away only to be rid of it.
pub(crate) fn is_dead_letter(attempts: i32, attempts_max: i32, group_holds_locks: bool) -> bool {
    attempts > attempts_max || group_holds_locks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_come_from_the_request_if_the_client_is_new_enough() {
        let check = |asked, version, expected| {
            assert_eq!(attempts_max(16, asked, version), expected, "{asked:?} from version {version}");
        };
        check(None, version::V5_5_0, 16);
        check(Some(3), version::V5_5_0, 3);
        check(Some(0), version::V3_4_9, 0);
        check(Some(-1), version::V5_5_0, -1);
        check(Some(3), version::V3_4_9 - 1, 16);
    }

    #[test]
    fn sent_back_messages() {
        let check = |attempts, max, level, expected| {
            assert_eq!(
                fate_of_sent_back(attempts, max, level),
                expected,
                "{attempts} of {max}, level {level}"
            );
        };
        check(0, 16, 0, Fate::Retry { delay_level: 3 });
        check(5, 16, 0, Fate::Retry { delay_level: 8 });
        check(15, 16, 0, Fate::Retry { delay_level: 18 });
        check(0, 16, 9, Fate::Retry { delay_level: 9 });
        check(16, 16, 0, Fate::DeadLetter);
        // The delay of the last failure doesn't hold back the dead letter.
        check(2, 2, 9, Fate::DeadLetter);
        check(0, 16, -1, Fate::DeadLetter);
        check(0, 0, 0, Fate::DeadLetter);
        check(i32::MAX - 1, i32::MAX, 0, Fate::Retry { delay_level: i32::MAX });
    }

    #[test]
    fn messages_sent_to_a_retry_topic() {
        let check = |attempts, max, locks, expected| {
            assert_eq!(is_dead_letter(attempts, max, locks), expected, "{attempts} of {max}, locks {locks}");
        };
        check(1, 16, false, false);
        check(16, 16, false, false);
        check(17, 16, false, true);
        // An ordered consumer with one retry is rid of its message the first time it sends it away.
        check(1, 1, true, true);
    }
}
