//! A message as the log has it, for tests that don't ask where it came from.

use roxmq_protocol::record::{RecordFields, encode};
use std::net::{Ipv4Addr, SocketAddr};

/// A record of queue 0 with the flag 7, sent a second time.
pub fn record(topic: &str, body: &[u8], properties: &[u8]) -> Vec<u8> {
    let host = SocketAddr::from((Ipv4Addr::LOCALHOST, 10911));
    let fields = RecordFields {
        topic,
        queue_id: 0,
        flag: 7,
        sys_flag: 0,
        born_timestamp: 5,
        born_host: host,
        store_host: host,
        reconsume_times: 1,
        prepared_transaction_offset: 0,
        body,
        properties,
    };
    let mut out = Vec::new();
    encode(&mut out, &fields).expect("it fits");
    out
}
