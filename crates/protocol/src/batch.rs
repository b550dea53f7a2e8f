//! The body of a client's batch (code 320): messages one behind the other, without topic and queue.
//!
//! ```text
//! | total: 4 | magic: 4 | CRC: 4 | flag: 4 | body length: 4 | body | properties length: 2 | properties |
//! ```
//! Magic and CRC are zeros that nobody reads: the broker computes the CRC of the body it stores.

use crate::properties::{PROPERTIES_BYTES_MAX, Properties};

/// What a message takes besides its body and its properties.
pub const ITEM_FIXED_BYTES: usize = 4 + 4 + 4 + 4 + 4 + 2;
const FLAG_AT: usize = 12;
const BODY_LENGTH_AT: usize = 16;
const BODY_AT: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchItem<'a> {
    pub flag: i32,
    pub body: &'a [u8],
    pub properties: Properties<'a>,
}

/// Why a body is no batch. `index` counts its messages from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    #[error("message {index} of the batch is cut: it needs {need} bytes and {left} are left")]
    Truncated { index: usize, need: usize, left: usize },
    #[error(
        "message {index} of the batch gives its {part} a length of {length}, which its {total} bytes can't hold"
    )]
    PartLength { index: usize, part: &'static str, length: i32, total: usize },
    #[error("message {index} of the batch says {total} bytes where its parts have {calculated}")]
    SizeMismatch { index: usize, total: usize, calculated: usize },
}

/// The messages of a batch. Ends after the first error.
#[derive(Clone, Debug)]
pub struct BatchItems<'a> {
    rest: &'a [u8],
    index: usize,
}

impl<'a> BatchItems<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        BatchItems { rest: body, index: 0 }
    }

    fn item(&mut self) -> Result<BatchItem<'a>, BatchError> {
        let (index, left) = (self.index, self.rest.len());
        let truncated = |need| BatchError::Truncated { index, need, left };
        let size_field = self.rest.first_chunk::<4>().ok_or(truncated(ITEM_FIXED_BYTES))?;
        let length = i32::from_be_bytes(*size_field);
        let total = usize::try_from(length).ok().filter(|total| *total >= ITEM_FIXED_BYTES);
        let total = total.ok_or(BatchError::PartLength { index, part: "whole", length, total: left })?;
        let (item, rest) = self.rest.split_at_checked(total).ok_or(truncated(total))?;
        let int = |at: usize| i32::from_be_bytes([item[at], item[at + 1], item[at + 2], item[at + 3]]);
        let part = |part: &'static str, at: usize, length: i32| {
            let bytes = usize::try_from(length).ok().and_then(|bytes| item.get(at..at.checked_add(bytes)?));
            bytes.ok_or(BatchError::PartLength { index, part, length, total })
        };
        let body = part("body", BODY_AT, int(BODY_LENGTH_AT))?;
        let properties_at = BODY_AT + body.len() + 2;
        let length_field = part("properties", properties_at - 2, 2)?;
        let properties_length = i16::from_be_bytes([length_field[0], length_field[1]]);
        let properties = part("properties", properties_at, i32::from(properties_length))?;
        let calculated = properties_at + properties.len();
        if calculated != total {
            return Err(BatchError::SizeMismatch { index, total, calculated });
        }
        self.rest = rest;
        self.index += 1;
        Ok(BatchItem { flag: int(FLAG_AT), body, properties: Properties::new(properties) })
    }
}

impl<'a> Iterator for BatchItems<'a> {
    type Item = Result<BatchItem<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let item = self.item();
        if item.is_err() {
            self.rest = &[];
        }
        Some(item)
    }
}

/// Appends one message to a batch. False, and nothing appended, if its properties are longer than
/// [`PROPERTIES_BYTES_MAX`].
#[must_use]
pub fn push(out: &mut Vec<u8>, flag: i32, body: &[u8], properties: &[u8]) -> bool {
    if properties.len() > PROPERTIES_BYTES_MAX {
        return false;
    }
    let total = ITEM_FIXED_BYTES + body.len() + properties.len();
    out.reserve(total);
    out.extend_from_slice(&(total as i32).to_be_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&flag.to_be_bytes());
    out.extend_from_slice(&(body.len() as i32).to_be_bytes());
    out.extend_from_slice(body);
    out.extend_from_slice(&(properties.len() as i16).to_be_bytes());
    out.extend_from_slice(properties);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bytes::hex;
    use proptest::prelude::*;

    /// Made with the Java class library: body `m1`, properties `x=y` and `WAIT=true`.
    const GOLDEN: &str =
        "00000026 00000000 00000000 00000000 00000002 6d31 000e 7801790257414954017472756502";

    #[test]
    fn an_item_has_the_bytes_that_java_gives_it() {
        let mut out = Vec::new();
        assert!(push(&mut out, 0, b"m1", b"x\x01y\x02WAIT\x01true\x02"));
        assert_eq!(out, hex(GOLDEN));
        let items: Vec<_> = BatchItems::new(&out).collect();
        let properties = Properties::new(b"x\x01y\x02WAIT\x01true\x02");
        assert_eq!(items, [Ok(BatchItem { flag: 0, body: b"m1", properties })]);
    }

    #[test]
    fn damage_is_named() {
        let check = |at: usize, byte: u8, expected: &str| {
            let mut bytes = hex(GOLDEN);
            bytes.extend(hex(GOLDEN));
            bytes[38 + at] = byte;
            let last = BatchItems::new(&bytes).last().expect("two items");
            assert_eq!(last.expect_err("damaged").to_string(), expected, "byte {at} set to {byte}");
        };
        check(3, 39, "message 1 of the batch is cut: it needs 39 bytes and 38 are left");
        let text =
            "message 1 of the batch gives its whole a length of -2147483610, which its 38 bytes can't hold";
        check(0, 0x80, text);
        let text = "message 1 of the batch gives its body a length of 258, which its 38 bytes can't hold";
        check(18, 1, text);
        check(23, 13, "message 1 of the batch says 38 bytes where its parts have 37");
        let text =
            "message 1 of the batch gives its properties a length of -32754, which its 38 bytes can't hold";
        check(22, 0x80, text);
    }

    #[test]
    fn properties_that_are_too_long_are_refused() {
        let mut out = Vec::new();
        assert!(!push(&mut out, 0, b"", &[b'p'; 32768]));
        assert!(out.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn batches_come_back(items in prop::collection::vec((any::<i32>(), ".{0,20}", "[a-z]{0,20}"), 0..5)) {
            let mut out = Vec::new();
            for (flag, body, properties) in &items {
                prop_assert!(push(&mut out, *flag, body.as_bytes(), properties.as_bytes()));
            }
            let read: Vec<_> = BatchItems::new(&out).map(|item| item.expect("good")).collect();
            prop_assert_eq!(read.len(), items.len());
            for (item, (flag, body, properties)) in read.iter().zip(&items) {
                prop_assert_eq!((item.flag, item.body), (*flag, body.as_bytes()));
                prop_assert_eq!(item.properties.raw(), properties.as_bytes());
            }
        }

        #[test]
        fn any_bytes_end(at in 0usize..76, byte in any::<u8>(), cut in 0usize..=76) {
            let mut bytes = hex(GOLDEN);
            bytes.extend(hex(GOLDEN));
            bytes[at] = byte;
            prop_assert!(BatchItems::new(&bytes[..cut]).count() <= 3);
        }
    }
}
