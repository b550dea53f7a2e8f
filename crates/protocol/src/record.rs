//! A record of the commit log, which is also a message of a pull answer. `docs/formats/commit-log-record.md` has
//! the picture.
//!
//! Two versions differ in the width of the topic's length; each of the two hosts takes 8 bytes for IPv4 or 20 for
//! IPv6, as the record's flag says. A record is encoded before its place is known and patched once it is, so the
//! fields to patch lie at fixed distances.

mod decode;
mod encode;

pub use decode::{Record, RecordError, Records};
pub use encode::{RecordFields, TooLong, add_property, encode, filler, patch};

use crate::sys_flag;

/// The magic code of records whose topic has a one-byte length.
pub const MAGIC_V1: i32 = 0xDAA3_20A7_u32 as i32;
/// The magic code of records whose topic has a two-byte length.
pub const MAGIC_V2: i32 = 0xDAA3_20AB_u32 as i32;
/// The magic code of what fills the end of a file.
pub const MAGIC_BLANK: i32 = 0xCBD4_3194_u32 as i32;

/// The longest topic of a version 1 record: Java reads its length as a signed byte.
pub const TOPIC_BYTES_MAX_V1: usize = i8::MAX as usize;
/// The longest topic there is.
pub const TOPIC_BYTES_MAX: usize = 255;
/// A length and [`MAGIC_BLANK`]: every file keeps room for it behind its last record.
pub const FILLER_BYTES: usize = 8;

const HOST_V4_BYTES: usize = 4 + 4;
const HOST_V6_BYTES: usize = 16 + 4;

/// Where the fields lie up to the first host, in every record.
pub mod offset {
    pub const TOTAL_SIZE: usize = 0;
    pub const MAGIC: usize = TOTAL_SIZE + 4;
    pub const BODY_CRC: usize = MAGIC + 4;
    pub const QUEUE_ID: usize = BODY_CRC + 4;
    pub const FLAG: usize = QUEUE_ID + 4;
    pub const QUEUE_OFFSET: usize = FLAG + 4;
    pub const PHY_OFFSET: usize = QUEUE_OFFSET + 8;
    pub const SYS_FLAG: usize = PHY_OFFSET + 8;
    pub const BORN_TIMESTAMP: usize = SYS_FLAG + 4;
    pub const BORN_HOST: usize = BORN_TIMESTAMP + 8;
}

/// Where the fields lie behind the born host, whose width the flag gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub store_timestamp: usize,
    pub store_host: usize,
    pub reconsume_times: usize,
    pub prepared_transaction_offset: usize,
    pub body_length: usize,
    pub body: usize,
}

impl Layout {
    pub const fn of(sys_flag: i32) -> Self {
        let store_timestamp = offset::BORN_HOST + host_bytes(sys_flag, sys_flag::BORN_HOST_V6);
        let store_host = store_timestamp + 8;
        let reconsume_times = store_host + host_bytes(sys_flag, sys_flag::STORE_HOST_V6);
        let prepared_transaction_offset = reconsume_times + 4;
        let body_length = prepared_transaction_offset + 8;
        let body = body_length + 4;
        Layout {
            store_timestamp,
            store_host,
            reconsume_times,
            prepared_transaction_offset,
            body_length,
            body,
        }
    }
}

const fn host_bytes(sys_flag: i32, bit: i32) -> usize {
    if sys_flag & bit == 0 { HOST_V4_BYTES } else { HOST_V6_BYTES }
}

/// What a version 1 record with IPv4 hosts takes besides body, topic and properties: 91 bytes.
pub const RECORD_FIXED_BYTES: usize = Layout::of(0).body + 1 + 2;

/// The version a record of this topic has.
pub const fn magic_for(topic_bytes: usize) -> i32 {
    if topic_bytes > TOPIC_BYTES_MAX_V1 { MAGIC_V2 } else { MAGIC_V1 }
}

/// The bytes a record takes. Of the flag only the bits of the hosts' address families matter.
pub const fn total_size(
    sys_flag: i32,
    topic_bytes: usize,
    body_bytes: usize,
    properties_bytes: usize,
) -> usize {
    let topic_length_bytes = if magic_for(topic_bytes) == MAGIC_V2 { 2 } else { 1 };
    Layout::of(sys_flag).body + body_bytes + topic_length_bytes + topic_bytes + 2 + properties_bytes
}

/// The CRC of a body as records carry it: never negative.
pub fn body_crc(body: &[u8]) -> i32 {
    (crc32fast::hash(body) & 0x7FFF_FFFF) as i32
}

/// What the bytes at a place of the log are, by their first eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordHead {
    /// A record of so many bytes, not yet looked into.
    Record { total_size: usize },
    /// The end of a file, so many bytes before its end.
    Filler { bytes: usize },
    /// Neither: where nothing was written yet these are zeros.
    Other { total_size: i32, magic: i32 },
}

impl RecordHead {
    /// The head of a record, or nothing if there are fewer bytes than it takes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk::<4>()?;
        let total_size = i32::from_be_bytes(*size);
        let magic = i32::from_be_bytes(*rest.first_chunk::<4>()?);
        Some(match (magic, usize::try_from(total_size)) {
            (MAGIC_V1 | MAGIC_V2, Ok(total_size)) if total_size >= RECORD_FIXED_BYTES => {
                RecordHead::Record { total_size }
            }
            (MAGIC_BLANK, Ok(bytes)) if bytes >= FILLER_BYTES => RecordHead::Filler { bytes },
            _ => RecordHead::Other { total_size, magic },
        })
    }
}

#[cfg(test)]
mod tests;
