//! Records and fillers out.

use super::{
    FILLER_BYTES, Layout, MAGIC_BLANK, MAGIC_V2, Record, TOPIC_BYTES_MAX, body_crc, magic_for, offset,
    total_size,
};
use crate::properties::{self, PROPERTIES_BYTES_MAX};
use crate::sys_flag::{BORN_HOST_V6, STORE_HOST_V6};
use std::net::{IpAddr, SocketAddr};

/// All of a record that is known before it has its place.
#[derive(Clone, Copy, Debug)]
pub struct RecordFields<'a> {
    pub topic: &'a str,
    pub queue_id: i32,
    pub flag: i32,
    /// The bits of the hosts' address families are set by the encoder.
    pub sys_flag: i32,
    pub born_timestamp: i64,
    pub born_host: SocketAddr,
    pub store_host: SocketAddr,
    pub reconsume_times: i32,
    pub prepared_transaction_offset: i64,
    pub body: &'a [u8],
    pub properties: &'a [u8],
}

impl<'a> RecordFields<'a> {
    /// Those of a record that was stored.
    pub fn of(record: &Record<'a>) -> Self {
        RecordFields {
            topic: record.topic,
            queue_id: record.queue_id,
            flag: record.flag,
            sys_flag: record.sys_flag,
            born_timestamp: record.born_timestamp,
            born_host: record.born_host,
            store_host: record.store_host,
            reconsume_times: record.reconsume_times,
            prepared_transaction_offset: record.prepared_transaction_offset,
            body: record.body,
            properties: record.properties.raw(),
        }
    }
}

/// A part of a message is longer than the record's length field for it can say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {part} of {bytes} bytes is over the record format's limit of {limit}")]
pub struct TooLong {
    pub part: &'static str,
    pub bytes: usize,
    pub limit: usize,
}

impl RecordFields<'_> {
    /// The flag as the record will carry it.
    pub fn stored_sys_flag(&self) -> i32 {
        let family = |host: SocketAddr, bit| if host.ip().to_canonical().is_ipv6() { bit } else { 0 };
        (self.sys_flag & !(BORN_HOST_V6 | STORE_HOST_V6))
            | family(self.born_host, BORN_HOST_V6)
            | family(self.store_host, STORE_HOST_V6)
    }

    /// The bytes that [`encode`] will append.
    pub fn total_size(&self) -> usize {
        total_size(self.stored_sys_flag(), self.topic.len(), self.body.len(), self.properties.len())
    }

    fn check_lengths(&self) -> Result<(), TooLong> {
        let check = |part, bytes, limit| {
            if bytes > limit { Err(TooLong { part, bytes, limit }) } else { Ok(()) }
        };
        check("topic", self.topic.len(), TOPIC_BYTES_MAX)?;
        check("properties", self.properties.len(), PROPERTIES_BYTES_MAX)?;
        // Room for all else that counts into the record's total length.
        check("body", self.body.len(), i32::MAX as usize - 2 * PROPERTIES_BYTES_MAX)
    }
}

/// Appends the record with zeros for queue offset, physical offset and store time, which [`patch`] sets later.
/// Gives the bytes appended; on an error nothing is.
pub fn encode(out: &mut Vec<u8>, fields: &RecordFields<'_>) -> Result<usize, TooLong> {
    fields.check_lengths()?;
    let sys_flag = fields.stored_sys_flag();
    let magic = magic_for(fields.topic.len());
    let size = fields.total_size();
    out.reserve(size);
    let start = out.len();
    out.extend_from_slice(&(size as i32).to_be_bytes());
    out.extend_from_slice(&magic.to_be_bytes());
    out.extend_from_slice(&body_crc(fields.body).to_be_bytes());
    out.extend_from_slice(&fields.queue_id.to_be_bytes());
    out.extend_from_slice(&fields.flag.to_be_bytes());
    out.extend_from_slice(&[0; offset::SYS_FLAG - offset::QUEUE_OFFSET]);
    out.extend_from_slice(&sys_flag.to_be_bytes());
    out.extend_from_slice(&fields.born_timestamp.to_be_bytes());
    push_host(out, fields.born_host);
    out.extend_from_slice(&[0; 8]);
    push_host(out, fields.store_host);
    out.extend_from_slice(&fields.reconsume_times.to_be_bytes());
    out.extend_from_slice(&fields.prepared_transaction_offset.to_be_bytes());
    out.extend_from_slice(&(fields.body.len() as i32).to_be_bytes());
    out.extend_from_slice(fields.body);
    if magic == MAGIC_V2 {
        out.extend_from_slice(&(fields.topic.len() as i16).to_be_bytes());
    } else {
        out.push(fields.topic.len() as u8);
    }
    out.extend_from_slice(fields.topic.as_bytes());
    out.extend_from_slice(&(fields.properties.len() as i16).to_be_bytes());
    out.extend_from_slice(fields.properties);
    debug_assert_eq!(out.len() - start, size);
    Ok(size)
}

/// Appends a property to the record that starts at `start` and ends the buffer, whose properties have so many bytes.
/// The caller has seen to it that there is room for it.
pub fn add_property(out: &mut Vec<u8>, start: usize, properties_bytes: usize, name: &str, value: &str) {
    let length_at = out.len() - properties_bytes - 2;
    properties::push(out, name, value);
    let properties_bytes = out.len() - length_at - 2;
    debug_assert!(properties_bytes <= PROPERTIES_BYTES_MAX);
    let size = (out.len() - start) as i32;
    out[length_at..length_at + 2].copy_from_slice(&(properties_bytes as i16).to_be_bytes());
    out[start + offset::TOTAL_SIZE..][..4].copy_from_slice(&size.to_be_bytes());
}

/// Gives an encoded record its place and time.
pub fn patch(record: &mut [u8], queue_offset: i64, phy_offset: i64, store_timestamp: i64) {
    let mut sys_flag = [0; 4];
    sys_flag.copy_from_slice(&record[offset::SYS_FLAG..offset::SYS_FLAG + 4]);
    let store_timestamp_at = Layout::of(i32::from_be_bytes(sys_flag)).store_timestamp;
    record[offset::QUEUE_OFFSET..offset::QUEUE_OFFSET + 8].copy_from_slice(&queue_offset.to_be_bytes());
    record[offset::PHY_OFFSET..offset::PHY_OFFSET + 8].copy_from_slice(&phy_offset.to_be_bytes());
    record[store_timestamp_at..store_timestamp_at + 8].copy_from_slice(&store_timestamp.to_be_bytes());
}

/// What stands behind the last record of a file that has `bytes_left` bytes more, [`FILLER_BYTES`] at least.
/// What follows these eight up to the end of the file has no meaning.
pub fn filler(bytes_left: usize) -> [u8; FILLER_BYTES] {
    let mut out = [0; FILLER_BYTES];
    out[..4].copy_from_slice(&(bytes_left as i32).to_be_bytes());
    out[4..].copy_from_slice(&MAGIC_BLANK.to_be_bytes());
    out
}

/// An address and its port, the port in four bytes. An IPv4 address in IPv6 clothes is an IPv4 address.
fn push_host(out: &mut Vec<u8>, host: SocketAddr) {
    match host.ip().to_canonical() {
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
    }
    out.extend_from_slice(&u32::from(host.port()).to_be_bytes());
}
