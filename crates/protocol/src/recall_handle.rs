//! The handle with which a producer takes a timer message back before it is delivered.
//!
//! `v1 topic broker time uniqKey`, joined by single spaces, in base64 for URLs.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Written with padding and read with or without, as Java does both.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
const VERSION: &str = "v1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallHandle {
    pub topic: String,
    pub broker_name: String,
    /// A moment in the wheel's slot of the message. What isn't a number is -1, as the Java server has it.
    pub time_ms: i64,
    pub uniq_key: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("recall handle is invalid")]
pub struct InvalidHandle;

impl RecallHandle {
    /// The handle as a text.
    pub fn encode(topic: &str, broker_name: &str, time_ms: i64, uniq_key: &str) -> String {
        BASE64.encode(format!("{VERSION} {topic} {broker_name} {time_ms} {uniq_key}"))
    }

    pub fn decode(handle: &str) -> Result<Self, InvalidHandle> {
        let bytes = BASE64.decode(handle).map_err(|_| InvalidHandle)?;
        let text = String::from_utf8(bytes).map_err(|_| InvalidHandle)?;
        let mut parts = text.split(' ');
        let mut next = || parts.next().ok_or(InvalidHandle);
        if next()? != VERSION {
            return Err(InvalidHandle);
        }
        let (topic, broker_name, time, uniq_key) = (next()?, next()?, next()?, next()?);
        if uniq_key.is_empty() {
            return Err(InvalidHandle);
        }
        Ok(RecallHandle {
            topic: topic.to_owned(),
            broker_name: broker_name.to_owned(),
            time_ms: time.parse().unwrap_or(-1),
            uniq_key: uniq_key.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Recorded from the Java server.
    const GOLDEN: &str = "djEgVFQgYnJva2VyLWEgMTc5NTk4NzI2MTAwMSA3RjAwMDAwMTAwMDEwMDAwMDAwMDAwMDAwMDAwMDI=";

    #[test]
    fn a_handle_of_the_java_server() {
        let key = "7F0000010001000000000000000002";
        assert_eq!(RecallHandle::encode("TT", "broker-a", 1_795_987_261_001, key), GOLDEN);
        let expected = RecallHandle {
            topic: "TT".to_owned(),
            broker_name: "broker-a".to_owned(),
            time_ms: 1_795_987_261_001,
            uniq_key: key.to_owned(),
        };
        assert_eq!(RecallHandle::decode(GOLDEN), Ok(expected.clone()));
        assert_eq!(RecallHandle::decode(GOLDEN.trim_end_matches('=')), Ok(expected));
    }

    #[test]
    fn what_is_no_handle() {
        let check = |text: &str| assert_eq!(RecallHandle::decode(text), Err(InvalidHandle), "{text:?}");
        check("");
        check("not base64!");
        check(&GOLDEN[..36]);
        for text in ["v2 t b 1 k", "v1 t b 1", "v1 t b 1 ", "v1", "\u{0}"] {
            check(&BASE64.encode(text));
        }
        check(&BASE64.encode([0xff, 0xfe]));
    }

    #[test]
    fn a_time_that_is_no_number_is_long_past() {
        let handle = RecallHandle::decode(&BASE64.encode("v1 t b soon k")).expect("a handle");
        assert_eq!(handle.time_ms, -1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_was_encoded_comes_back(topic in "[a-zA-Z%_-]{1,20}", time_ms: i64, uniq_key in "[0-9A-F]{1,40}") {
            let handle = RecallHandle::decode(&RecallHandle::encode(&topic, "b", time_ms, &uniq_key));
            prop_assert_eq!(handle, Ok(RecallHandle { topic, broker_name: "b".to_owned(), time_ms, uniq_key }));
        }

        #[test]
        fn any_text_can_be_looked_at(text in "\\PC{0,60}") {
            let _ = RecallHandle::decode(&text);
        }
    }
}
