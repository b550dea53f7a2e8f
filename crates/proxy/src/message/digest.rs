//! Digests of bodies. Clients compare them letter by letter, and know only upper case.

use crate::schema::{Digest, DigestType};
use md5::{Digest as _, Md5};

/// Of the body as it goes over the wire.
pub fn of(body: &[u8]) -> Digest {
    Digest { r#type: DigestType::Md5.into(), checksum: upper_hex(&Md5::digest(body)) }
}

fn upper_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_in_upper_case() {
        let digest = of(b"hello");
        assert_eq!(digest.r#type(), DigestType::Md5);
        assert_eq!(digest.checksum, "5D41402ABC4B2A76B9719D911017C592");
    }
}
