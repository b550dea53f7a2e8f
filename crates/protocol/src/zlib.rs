//! Zlib streams. Inflating stops at a limit that the caller gives, whatever the stream claims.

use std::io::{self, Read, Write};

#[derive(Debug, thiserror::Error)]
pub enum InflateError {
    #[error("the body inflates to more than the limit of {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the body is no whole zlib stream: {0}")]
    Broken(io::Error),
}

/// A stream of the given level, 0 to 9.
pub fn deflate(bytes: &[u8], level: u32) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// What a stream holds, at most `limit` bytes.
pub fn inflate(stream: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
    let mut out = Vec::new();
    let most = (limit as u64).saturating_add(1);
    let decoder = flate2::bufread::ZlibDecoder::new(stream);
    decoder.take(most).read_to_end(&mut out).map_err(InflateError::Broken)?;
    if out.len() > limit {
        return Err(InflateError::TooLarge { limit });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let zeros = vec![0; 1 << 20];
        let bomb = deflate(&zeros, 9).expect("memory");
        let error = inflate(&bomb, 1000).expect_err("too large");
        assert_eq!(error.to_string(), "the body inflates to more than the limit of 1000 bytes");
        assert_eq!(inflate(&bomb, zeros.len()).expect("fits"), zeros);
    }

    #[test]
    fn a_stream_of_java_inflates() {
        // new Deflater(5) over "hello".
        let stream = crate::test_bytes::hex("785e cb48cdc9c907 00 062c 0215");
        assert_eq!(inflate(&stream, 5).expect("whole"), b"hello");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn what_was_deflated_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let small = deflate(&bytes, 5).expect("memory");
            prop_assert_eq!(&inflate(&small, bytes.len()).expect("whole"), &bytes);
        }

        #[test]
        fn any_bytes_are_inflated_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), at in 0usize..60) {
            let _ = inflate(&bytes, 1000);
            // Damage in the middle of a good stream gets further than noise.
            let mut good = deflate(&bytes, 5).expect("memory");
            let at = at % good.len();
            good[at] ^= 0x55;
            let _ = inflate(&good, 1000);
        }
    }
}
