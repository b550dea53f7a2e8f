//! The properties that are the system's: clients may not set them, and don't see them among their own.
//!
//! Some properties of the system aren't among them, as with the Java server: `__SHARDINGKEY`, `TRACE_CONTEXT`,
//! `__transactionId__` and others show up among a message's own.

use roxmq_protocol::properties::name::*;

const RESERVED: [&str; 50] = [
    TRACE_SWITCH,
    MSG_REGION,
    KEYS,
    TAGS,
    WAIT_STORE_MSG_OK,
    DELAY_TIME_LEVEL,
    RETRY_TOPIC,
    ORIGIN_GROUP,
    REAL_TOPIC,
    REAL_QUEUE_ID,
    TRANSACTION_PREPARED,
    PRODUCER_GROUP,
    MIN_OFFSET,
    MAX_OFFSET,
    BUYER_ID,
    ORIGIN_MESSAGE_ID,
    TRANSFER_FLAG,
    CORRECTION_FLAG,
    MQ2_FLAG,
    RECONSUME_TIME,
    UNIQ_KEY,
    MAX_RECONSUME_TIMES,
    CONSUME_START_TIMESTAMP,
    POP_CK,
    POP_CK_OFFSET,
    FIRST_POP_TIME,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
    DUP_INFO,
    EXTEND_UNIQ_INFO,
    INSTANCE_ID,
    CORRELATION_ID,
    MESSAGE_REPLY_TO_CLIENT,
    MESSAGE_TTL,
    REPLY_MESSAGE_ARRIVE_TIME,
    PUSH_REPLY_TIME,
    CLUSTER,
    MESSAGE_TYPE,
    INNER_MULTI_QUEUE_OFFSET,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_ENQUEUE_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ROLL_TIMES,
    TIMER_OUT_MS,
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_LEVEL,
    BORN_HOST,
    BORN_TIMESTAMP,
    CRC32,
];
const RESERVED_SINCE_5_5: [&str; 4] = [DLQ_ORIGIN_TOPIC, DLQ_ORIGIN_MESSAGE_ID, PRIORITY, LITE_TOPIC];

pub fn is_reserved(property: &str) -> bool {
    RESERVED.contains(&property) || RESERVED_SINCE_5_5.contains(&property)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_reserved_and_some_of_the_systems_are_not() {
        for property in ["KEYS", "TAGS", "UNIQ_KEY", "TIMER_DELIVER_MS", "__CRC32#", "__LITE_TOPIC"] {
            assert!(is_reserved(property), "{property}");
        }
        let visible = [
            "color",
            "keys",
            "__SHARDINGKEY",
            "TRACE_CONTEXT",
            "__transactionId__",
            "TRANSACTION_CHECK_TIMES",
            "CHECK_IMMUNITY_TIME_IN_SECONDS",
            "INNER_MULTI_DISPATCH",
            "REDIRECT",
            "TRANS_OFFSET",
        ];
        for property in visible {
            assert!(!is_reserved(property), "{property}");
        }
    }
}
