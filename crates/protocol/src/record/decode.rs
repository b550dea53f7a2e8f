//! Records in: a view of the bytes they lie in.

use super::{HOST_V4_BYTES, Layout, MAGIC_V1, RECORD_FIXED_BYTES, RecordHead, body_crc, host_bytes, offset};
use crate::properties::Properties;
use crate::sys_flag::{BORN_HOST_V6, STORE_HOST_V6};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// One record whose lengths agree with each other. Whether its body is the one that was stored, only
/// [`verify_crc`](Record::verify_crc) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// All of its bytes.
    pub raw: &'a [u8],
    /// [`MAGIC_V1`] or [`MAGIC_V2`](super::MAGIC_V2).
    pub magic: i32,
    pub body_crc: i32,
    pub queue_id: i32,
    pub flag: i32,
    pub queue_offset: i64,
    pub phy_offset: i64,
    pub sys_flag: i32,
    pub born_timestamp: i64,
    pub born_host: SocketAddr,
    pub store_timestamp: i64,
    pub store_host: SocketAddr,
    pub reconsume_times: i32,
    pub prepared_transaction_offset: i64,
    pub body: &'a [u8],
    pub topic: &'a str,
    pub properties: Properties<'a>,
}

/// Why bytes are no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("the record ends after {have} bytes where it needs {need}")]
    Truncated { need: usize, have: usize },
    #[error("the magic code {magic:#010X} with a size of {total_size} is no record's")]
    Magic { magic: i32, total_size: i32 },
    #[error("here is the end of the file, {bytes} bytes before its end")]
    Filler { bytes: usize },
    #[error("the record says {total_size} bytes where its parts have {calculated}")]
    SizeMismatch { total_size: usize, calculated: usize },
    #[error("the {part} has a length of {length}, which the record of {total_size} bytes can't hold")]
    PartLength { part: &'static str, length: i32, total_size: usize },
    #[error("the topic isn't UTF-8")]
    TopicNotUtf8,
    #[error("the body's CRC is {found:#010X} where the record says {expected:#010X}")]
    BodyCrc { expected: i32, found: i32 },
}

impl<'a> Record<'a> {
    /// Reads the record that `bytes` start with; more may follow it.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let total_size = match RecordHead::read(bytes) {
            Some(RecordHead::Record { total_size }) => total_size,
            Some(RecordHead::Filler { bytes }) => return Err(RecordError::Filler { bytes }),
            Some(RecordHead::Other { total_size, magic }) => {
                return Err(RecordError::Magic { magic, total_size });
            }
            None => return Err(RecordError::Truncated { need: RECORD_FIXED_BYTES, have: bytes.len() }),
        };
        let Some(raw) = bytes.get(..total_size) else {
            return Err(RecordError::Truncated { need: total_size, have: bytes.len() });
        };
        let fields = Fields { raw };
        let magic = fields.int(offset::MAGIC);
        let sys_flag = fields.int(offset::SYS_FLAG);
        let layout = Layout::of(sys_flag);
        if layout.body > total_size {
            return Err(RecordError::SizeMismatch { total_size, calculated: layout.body });
        }
        let mut rest = Rest { raw, at: layout.body };
        let body = rest.part("body", fields.int(layout.body_length))?;
        let topic_length = if magic == MAGIC_V1 { rest.byte("topic")? } else { rest.short("topic")? };
        let topic = rest.part("topic", topic_length)?;
        let properties_length = rest.short("properties")?;
        let properties = rest.part("properties", properties_length)?;
        if rest.at != total_size {
            return Err(RecordError::SizeMismatch { total_size, calculated: rest.at });
        }
        Ok(Record {
            raw,
            magic,
            body_crc: fields.int(offset::BODY_CRC),
            queue_id: fields.int(offset::QUEUE_ID),
            flag: fields.int(offset::FLAG),
            queue_offset: fields.long(offset::QUEUE_OFFSET),
            phy_offset: fields.long(offset::PHY_OFFSET),
            sys_flag,
            born_timestamp: fields.long(offset::BORN_TIMESTAMP),
            born_host: fields.host(offset::BORN_HOST, host_bytes(sys_flag, BORN_HOST_V6)),
            store_timestamp: fields.long(layout.store_timestamp),
            store_host: fields.host(layout.store_host, host_bytes(sys_flag, STORE_HOST_V6)),
            reconsume_times: fields.int(layout.reconsume_times),
            prepared_transaction_offset: fields.long(layout.prepared_transaction_offset),
            body,
            topic: std::str::from_utf8(topic).map_err(|_| RecordError::TopicNotUtf8)?,
            properties: Properties::new(properties),
        })
    }

    pub fn total_size(&self) -> usize {
        self.raw.len()
    }

    pub fn verify_crc(&self) -> Result<(), RecordError> {
        let found = body_crc(self.body);
        if found == self.body_crc {
            return Ok(());
        }
        Err(RecordError::BodyCrc { expected: self.body_crc, found })
    }
}

/// The records that lie one behind the other in the body of an answer. Ends after the first that is broken.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Records { rest: bytes }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let record = Record::decode(self.rest);
        self.rest = record.as_ref().map_or(&[], |record| &self.rest[record.total_size()..]);
        Some(record)
    }
}

/// The fixed part, whose length has been checked.
struct Fields<'a> {
    raw: &'a [u8],
}

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.raw[at..at + N]);
        bytes
    }

    fn int(&self, at: usize) -> i32 {
        i32::from_be_bytes(self.bytes(at))
    }

    fn long(&self, at: usize) -> i64 {
        i64::from_be_bytes(self.bytes(at))
    }

    fn host(&self, at: usize, bytes: usize) -> SocketAddr {
        // Ports have four bytes, of which the upper two are zero.
        let port = self.int(at + bytes - 4) as u16;
        if bytes == HOST_V4_BYTES {
            SocketAddr::from((Ipv4Addr::from(self.bytes::<4>(at)), port))
        } else {
            SocketAddr::from((Ipv6Addr::from(self.bytes::<16>(at)), port))
        }
    }
}

/// The part behind the fixed one, whose lengths are in it.
struct Rest<'a> {
    raw: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    fn part(&mut self, part: &'static str, length: i32) -> Result<&'a [u8], RecordError> {
        let error = RecordError::PartLength { part, length, total_size: self.raw.len() };
        let Ok(length) = usize::try_from(length) else {
            return Err(error);
        };
        let bytes = self.raw.get(self.at..self.at + length).ok_or(error)?;
        self.at += length;
        Ok(bytes)
    }

    fn byte(&mut self, of: &'static str) -> Result<i32, RecordError> {
        let bytes = self.part(of, 1)?;
        // Signed in Java: a topic of more than 127 bytes is a version 2 record's.
        Ok(i32::from(bytes[0] as i8))
    }

    fn short(&mut self, of: &'static str) -> Result<i32, RecordError> {
        let bytes = self.part(of, 2)?;
        Ok(i32::from(i16::from_be_bytes([bytes[0], bytes[1]])))
    }
}
