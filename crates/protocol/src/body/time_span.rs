//! The times between which a group's queues lie (code 303).

use crate::message_queue::MessageQueue;

json_object! {
    pub struct ConsumeTimeSpans {
        "consumeTimeSpanSet" consume_time_span_set: Vec<QueueTimeSpan>,
    }
}

json_object! {
    /// Times are -1 for an empty queue. Their texts (`yyyy-MM-dd#HH:mm:ss:SSS`) are in the server's time zone, so
    /// who fills this in writes them.
    pub struct QueueTimeSpan {
        "consumeTimeStamp" consume_timestamp: i64,
        "consumeTimeStampStr" consume_timestamp_text: Option<String>,
        "delayTime" delay_ms: i64,
        "maxTimeStamp" max_timestamp: i64,
        "maxTimeStampStr" max_timestamp_text: Option<String>,
        "messageQueue" message_queue: Option<MessageQueue>,
        "minTimeStamp" min_timestamp: i64,
        "minTimeStampStr" min_timestamp_text: Option<String>,
    }
}
