//! The header of a frame in both encodings, read without copying a byte.

mod binary;
mod json;

use crate::ext::ExtFields;
use crate::language::Language;
use crate::text::Text;

/// Bit 0 of the flag: the frame answers a request.
pub const FLAG_RESPONSE: i32 = 1;
/// Bit 1 of the flag: nobody waits for an answer.
pub const FLAG_ONEWAY: i32 = 2;

/// How a header is written; the high byte of the header word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    #[default]
    Json,
    /// The compact form (`ROCKETMQ`).
    Binary,
}

#[derive(Clone, Debug)]
pub struct Header<'a> {
    /// The request's or the response's code.
    pub code: i32,
    pub language: Language,
    /// The sender's version as an ordinal of [`crate::version`].
    pub version: i32,
    /// The number that pairs a response with its request.
    pub opaque: i32,
    pub flag: i32,
    pub remark: Option<Text<'a>>,
    pub ext: ExtFields<'a>,
    pub encoding: Encoding,
}

impl<'a> Header<'a> {
    pub(crate) fn empty(encoding: Encoding) -> Self {
        Header {
            code: 0,
            language: Language::Other,
            version: 0,
            opaque: 0,
            flag: 0,
            remark: None,
            ext: ExtFields::default(),
            encoding,
        }
    }

    pub fn is_response(&self) -> bool {
        self.flag & FLAG_RESPONSE != 0
    }

    pub fn is_oneway(&self) -> bool {
        self.flag & FLAG_ONEWAY != 0
    }

    pub fn decode(encoding: Encoding, bytes: &'a [u8]) -> Result<Self, HeaderError> {
        let mut header = Header::empty(encoding);
        header.fill(bytes)?;
        Ok(header)
    }

    /// Decodes into an empty header.
    pub(crate) fn fill(&mut self, bytes: &'a [u8]) -> Result<(), HeaderError> {
        match self.encoding {
            Encoding::Json => json::decode(bytes, self),
            Encoding::Binary => binary::decode(bytes, self),
        }
    }
}

/// Why a header can't be read. Such a frame ends the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("the JSON header is broken at byte {at}: {reason}")]
    Json { at: usize, reason: &'static str },
    #[error("the binary header ends inside {0}")]
    Truncated(&'static str),
    #[error("the binary header gives {what} a length of {length} where {left} bytes are left")]
    Length { what: &'static str, length: i64, left: usize },
    #[error("the header has more than {0} fields")]
    TooManyFields(usize),
}

/// More fields than any client sends; beyond it a header is an attack or an accident.
pub(crate) const FIELDS_MAX: usize = 1024;

pub use binary::{can_encode as can_encode_binary, encode as encode_binary};
pub use json::{encode as encode_json, push_number, push_string};

#[cfg(test)]
mod tests;
