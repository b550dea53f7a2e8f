//! The compressions a message body can have, as its flag says.
//!
//! Producers compress and consumers inflate; a broker hands bodies on as they are. Who consumes over gRPC gets what only
//! clients of the remoting protocol inflate as its producer had it. Inflating stops at a limit that the caller gives,
//! whatever the body claims.

use crate::sys_flag::{COMPRESSED, COMPRESSION_LZ4, COMPRESSION_MASK, COMPRESSION_ZLIB, COMPRESSION_ZSTD};
use std::io::{self, Read, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// LZ4 frames.
    Lz4,
    Zstd,
    /// What the flag means if it doesn't say, as the oldest producers don't.
    Zlib,
}

#[derive(Debug, thiserror::Error)]
pub enum CompressionError {
    #[error(
        "the compression bits {0:#x} of the sysFlag are none of LZ4 (0x100), ZSTD (0x200) and ZLIB (0x300)"
    )]
    Unknown(i32),
    #[error("the body inflates to more than the limit of {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the body is no whole {compression:?} stream: {source}")]
    Broken { compression: Compression, source: io::Error },
}

/// How hard zlib and zstd try: what Java's producers use.
const ZLIB_LEVEL: u32 = 5;
const ZSTD_LEVEL: i32 = 3;
/// A stream says how large a window it needs, and the decoder allocates it at once. Level 19 needs 2^23.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

impl Compression {
    /// The compression of a body whose flag says that it is compressed.
    pub fn of(sys_flag: i32) -> Result<Option<Self>, CompressionError> {
        if sys_flag & COMPRESSED == 0 {
            return Ok(None);
        }
        match sys_flag & COMPRESSION_MASK {
            COMPRESSION_LZ4 => Ok(Some(Compression::Lz4)),
            COMPRESSION_ZSTD => Ok(Some(Compression::Zstd)),
            0 | COMPRESSION_ZLIB => Ok(Some(Compression::Zlib)),
            other => Err(CompressionError::Unknown(other)),
        }
    }

    /// The bits of a flag that say so.
    pub fn sys_flag(self) -> i32 {
        COMPRESSED
            | match self {
                Compression::Lz4 => COMPRESSION_LZ4,
                Compression::Zstd => COMPRESSION_ZSTD,
                Compression::Zlib => COMPRESSION_ZLIB,
            }
    }

    pub fn compress(self, body: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Compression::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                encoder.write_all(body)?;
                encoder.finish().map_err(io::Error::other)
            }
            Compression::Zstd => zstd::encode_all(body, ZSTD_LEVEL),
            Compression::Zlib => zlib(body, ZLIB_LEVEL),
        }
    }

    /// Inflates a body to at most `limit` bytes.
    pub fn decompress(self, body: &[u8], limit: usize) -> Result<Vec<u8>, CompressionError> {
        let broken = |source| CompressionError::Broken { compression: self, source };
        match self {
            Compression::Lz4 => read_limited(lz4_flex::frame::FrameDecoder::new(body), limit, self),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(body).map_err(broken)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(broken)?;
                read_limited(decoder, limit, self)
            }
            Compression::Zlib => read_limited(flate2::bufread::ZlibDecoder::new(body), limit, self),
        }
    }
}

/// A zlib stream of the given level, 0 to 9.
pub fn zlib(bytes: &[u8], level: u32) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn read_limited(
    reader: impl Read,
    limit: usize,
    compression: Compression,
) -> Result<Vec<u8>, CompressionError> {
    let mut out = Vec::new();
    let most = (limit as u64).saturating_add(1);
    reader
        .take(most)
        .read_to_end(&mut out)
        .map_err(|source| CompressionError::Broken { compression, source })?;
    if out.len() > limit {
        return Err(CompressionError::TooLarge { limit });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Compression; 3] = [Compression::Lz4, Compression::Zstd, Compression::Zlib];

    #[test]
    fn the_flag_says_which() {
        let check =
            |sys_flag, expected| assert_eq!(Compression::of(sys_flag).ok(), expected, "{sys_flag:#x}");
        check(0x300, Some(None));
        check(0x1, Some(Some(Compression::Zlib)));
        check(0x101, Some(Some(Compression::Lz4)));
        check(0x201, Some(Some(Compression::Zstd)));
        check(0x301, Some(Some(Compression::Zlib)));
        check(0x401, None);
        for compression in ALL {
            assert_eq!(Compression::of(compression.sys_flag()).ok(), Some(Some(compression)));
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let zeros = vec![0; 1 << 20];
        for compression in ALL {
            let bomb = compression.compress(&zeros).expect("memory");
            let error = compression.decompress(&bomb, 1000).expect_err("too large");
            assert_eq!(error.to_string(), "the body inflates to more than the limit of 1000 bytes");
            assert_eq!(compression.decompress(&bomb, zeros.len()).expect("fits"), zeros);
        }
    }

    #[test]
    fn a_zlib_stream_of_java_inflates() {
        // new Deflater(5) over "hello".
        let stream = crate::test_bytes::hex("785e cb48cdc9c907 00 062c 0215");
        assert_eq!(Compression::Zlib.decompress(&stream, 5).expect("whole"), b"hello");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn bodies_come_back(body in prop::collection::vec(any::<u8>(), 0..300)) {
            for compression in ALL {
                let small = compression.compress(&body).expect("memory");
                prop_assert_eq!(&compression.decompress(&small, body.len()).expect("whole"), &body);
            }
        }

        #[test]
        fn any_bytes_are_inflated_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), at in 0usize..60) {
            for compression in ALL {
                let _ = compression.decompress(&bytes, 1000);
            }
            // Damage in the middle of a good stream gets further than noise.
            for compression in ALL {
                let mut good = compression.compress(&bytes).expect("memory");
                let at = at % good.len();
                good[at] ^= 0x55;
                let _ = compression.decompress(&good, 1000);
            }
        }
    }
}
