//! What the Java server writes down of POP: records of its revive topic, with its short names.

json_object! {
    /// A pop from one queue (tag `ck`).
    pub struct PopCheckPoint {
        /// A bit for each message that is acknowledged.
        "bm" bit_map: i32,
        "bn" broker_name: Option<String>,
        "c" consumer_group: String,
        /// The messages' distances from the start offset.
        "d" distances: Vec<i32>,
        "it" invisible_time: i64,
        "n" count: i32,
        "pt" pop_time: i64,
        "q" queue_id: i32,
        "ro" revive_offset: i64,
        "so" start_offset: i64,
        "t" topic: String,
    }
}

json_object! {
    /// Acknowledgements of one pop (tags `ack` and `bAck`).
    pub struct PopAck {
        "ao" ack_offset: i64,
        /// Of several at once.
        "aol" ack_offsets: Vec<i64>,
        "bn" broker_name: Option<String>,
        "c" consumer_group: String,
        "pt" pop_time: i64,
        "q" queue_id: i32,
        "so" start_offset: i64,
        "t" topic: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    #[test]
    fn as_the_java_server_writes_them() {
        let text = r#"{"bm":0,"bn":"broker-a","c":"G","d":[0,2],"it":60000,"n":2,"pt":5,"q":3,"ro":0,"so":100,"t":"T"}"#;
        let point = PopCheckPoint::from_json_bytes(text.as_bytes()).expect("a check point");
        assert_eq!((point.distances.as_slice(), point.start_offset), (&[0, 2][..], 100));
        assert_eq!(point.to_json_text(), text);
        // Of later versions.
        let more = text.replace(r#""t":"T""#, r#""reviveTime":60005,"rp":"1","sp":false,"t":"T""#);
        assert_eq!(PopCheckPoint::from_json_bytes(more.as_bytes()), Ok(point));
        let text = r#"{"ao":-1,"aol":[100,102],"bn":"broker-a","c":"G","pt":5,"q":3,"so":100,"t":"T"}"#;
        let ack = PopAck::from_json_bytes(text.as_bytes()).expect("an acknowledgement");
        assert_eq!((ack.ack_offset, ack.ack_offsets.as_slice()), (-1, &[100, 102][..]));
    }
}
