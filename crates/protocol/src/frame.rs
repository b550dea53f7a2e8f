//! Frames: a length, a word with the header's length and encoding, the header, the body.
//!
//! ```text
//! | length: 4 | encoding: 1 | header length: 3 | header | body |
//!              `------------- length counts these ------------'
//! ```

use crate::header::{Encoding, Header, HeaderError};

/// The largest frame, its length field included.
pub const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Length field and header word.
pub const PREFIX_BYTES: usize = 8;

/// One whole frame in the buffer it was read into.
#[derive(Debug)]
pub struct Frame<'a> {
    pub header: Header<'a>,
    /// Empty for none.
    pub body: &'a [u8],
}

/// Why a byte stream can't go on. All of these end the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a frame of {length} bytes is over the limit of {FRAME_BYTES_MAX}")]
    TooLong { length: i64 },
    #[error("a frame length of {0} is too short to hold a header")]
    TooShort(i32),
    #[error("the header length {header} is more than the frame's {frame} bytes hold")]
    HeaderTooLong { header: usize, frame: usize },
    #[error("the serialize type {0} is neither JSON (0) nor ROCKETMQ (1)")]
    UnknownEncoding(u8),
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// The length in bytes of the frame that `bytes` starts with, as soon as its length field is there.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, FrameError> {
    let Some(field) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*field);
    let Ok(counted) = usize::try_from(length) else {
        return Err(FrameError::TooShort(length));
    };
    if counted < 4 {
        return Err(FrameError::TooShort(length));
    }
    if counted + 4 > FRAME_BYTES_MAX {
        return Err(FrameError::TooLong { length: i64::from(length) + 4 });
    }
    Ok(Some(counted + 4))
}

/// Reads one frame from bytes that hold exactly it.
pub fn decode(bytes: &[u8]) -> Result<Frame<'_>, FrameError> {
    let (encoding, header, body) = split(bytes)?;
    Ok(Frame { header: Header::decode(encoding, header)?, body })
}

/// Shows the frame that the bytes hold where it is decoded. A header has almost a kilobyte: moving it, as [`decode`]
/// does, costs as much as some of its fields.
pub fn read<T>(bytes: &[u8], with: impl FnOnce(&Frame<'_>) -> T) -> Result<T, FrameError> {
    let (encoding, header, body) = split(bytes)?;
    let mut frame = Frame { header: Header::empty(encoding), body };
    frame.header.fill(header)?;
    Ok(with(&frame))
}

/// Encoding, header and body.
fn split(bytes: &[u8]) -> Result<(Encoding, &[u8], &[u8]), FrameError> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_BYTES>() else {
        return Err(FrameError::TooShort(bytes.len() as i32));
    };
    let encoding = match prefix[4] {
        0 => Encoding::Json,
        1 => Encoding::Binary,
        other => return Err(FrameError::UnknownEncoding(other)),
    };
    let header_bytes = u32::from_be_bytes([0, prefix[5], prefix[6], prefix[7]]) as usize;
    let Some((header, body)) = rest.split_at_checked(header_bytes) else {
        return Err(FrameError::HeaderTooLong { header: header_bytes, frame: rest.len() });
    };
    Ok((encoding, header, body))
}

/// Leaves room for a frame's prefix. The header follows, then [`finish`], then the body.
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; PREFIX_BYTES]);
    start
}

/// Writes the prefix of the frame begun at `start`, whose header is complete and whose body will follow.
pub fn finish(start: usize, encoding: Encoding, body_bytes: usize, out: &mut [u8]) {
    let header_bytes = out.len() - start - PREFIX_BYTES;
    let length = (4 + header_bytes + body_bytes) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    let kind = match encoding {
        Encoding::Json => 0,
        Encoding::Binary => 1 << 24,
    };
    out[start + 4..start + 8].copy_from_slice(&(header_bytes as u32 | kind).to_be_bytes());
}
