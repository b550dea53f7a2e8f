//! Finds bytes in short texts, eight at a time.

const WORD: usize = size_of::<u64>();
const LOW_BITS: u64 = u64::from_ne_bytes([0x01; WORD]);
const HIGH_BITS: u64 = u64::from_ne_bytes([0x80; WORD]);

/// Where the first byte lies that is one of the two.
#[inline]
pub(crate) fn find_either(bytes: &[u8], a: u8, b: u8) -> Option<usize> {
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk::<WORD>() {
        let word = u64::from_le_bytes(*word);
        let found = marks(word, a) | marks(word, b);
        if found != 0 {
            return Some(bytes.len() - rest.len() + found.trailing_zeros() as usize / 8);
        }
        rest = behind;
    }
    let at = rest.iter().position(|byte| *byte == a || *byte == b)?;
    Some(bytes.len() - rest.len() + at)
}

/// The high bit of each byte of the word that is this byte; above the first of them perhaps of others too.
#[inline]
fn marks(word: u64, byte: u8) -> u64 {
    let zero_where_equal = word ^ (LOW_BITS * u64::from(byte));
    zero_where_equal.wrapping_sub(LOW_BITS) & !zero_where_equal & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_place_is_found() {
        for length in 0..40 {
            for at in 0..length {
                for (byte, other) in [(b'"', b'\\'), (0x01, 0x02), (0xFF, 0x00), (0x7F, 0x80)] {
                    let mut bytes = vec![b'x'; length];
                    bytes[at] = byte;
                    assert_eq!(find_either(&bytes, byte, other), Some(at), "{byte} at {at} of {length}");
                    assert_eq!(find_either(&bytes, other, byte), Some(at), "{byte} at {at} of {length}");
                }
            }
            assert_eq!(find_either(&vec![b'x'; length], b'"', b'\\'), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn it_finds_what_a_plain_search_finds(bytes in prop::collection::vec(0u8..6, 0..40), a in 0u8..6, b in 0u8..6) {
            let expected = bytes.iter().position(|byte| *byte == a || *byte == b);
            prop_assert_eq!(find_either(&bytes, a, b), expected);
        }
    }
}
