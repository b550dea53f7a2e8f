//! Who calls: what the metadata of a call says.

use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use roxmq_protocol::language::Language;
use std::time::Duration;
use tonic::metadata::MetadataMap;

const CLIENT_ID: &str = "x-mq-client-id";
const LANGUAGE: &str = "x-mq-language";
const CLIENT_VERSION: &str = "x-mq-client-version";
const DEADLINE: &str = "grpc-timeout";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller<'a> {
    pub client_id: &'a str,
    pub language: Language,
    /// Empty if the client doesn't say.
    pub version: &'a str,
}

impl<'a> Caller<'a> {
    pub fn of(metadata: &'a MetadataMap) -> Result<Self> {
        let text = |name| metadata.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let client_id = text(CLIENT_ID);
        if client_id.trim().is_empty() {
            return Err(Refusal::new(Code::ClientIdRequired, format!("the metadata lacks {CLIENT_ID}")));
        }
        // Languages without a name here are shown as others.
        let language = Language::from_name(text(LANGUAGE));
        Ok(Caller { client_id, language, version: text(CLIENT_VERSION) })
    }
}

/// How long the client waits for the call, if it says.
pub fn deadline(metadata: &MetadataMap) -> Option<Duration> {
    timeout(metadata.get(DEADLINE)?.to_str().ok()?)
}

/// A time as calls carry it.
pub fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    // More digits than the protocol of gRPC has are no time.
    let number: u64 = (digits.len() <= 8).then(|| digits.parse().ok())??;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(pairs: &[(&'static str, &str)]) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        for (name, value) in pairs {
            metadata.insert(*name, value.parse().expect("tests give ASCII"));
        }
        metadata
    }

    #[test]
    fn a_client_needs_an_id() {
        let check = |pairs: &[(&'static str, &str)], expected: Result<(&str, Language), Code>| {
            let metadata = metadata(pairs);
            let caller = Caller::of(&metadata).map(|caller| (caller.client_id, caller.language));
            assert_eq!(caller.map_err(|refusal| refusal.code), expected, "{pairs:?}");
        };
        check(&[(CLIENT_ID, "c@1"), (LANGUAGE, "GO")], Ok(("c@1", Language::Go)));
        check(&[(CLIENT_ID, "c@1"), (LANGUAGE, "COBOL")], Ok(("c@1", Language::Unknown)));
        check(&[(CLIENT_ID, "c@1")], Ok(("c@1", Language::Unknown)));
        check(&[(CLIENT_ID, " ")], Err(Code::ClientIdRequired));
        check(&[], Err(Code::ClientIdRequired));
    }

    #[test]
    fn deadlines_have_units() {
        let check = |text: &str, expected: Option<Duration>| {
            assert_eq!(deadline(&metadata(&[(DEADLINE, text)])), expected, "{text}");
        };
        check("3S", Some(Duration::from_secs(3)));
        check("2M", Some(Duration::from_secs(120)));
        check("1H", Some(Duration::from_secs(3600)));
        check("1500m", Some(Duration::from_millis(1500)));
        check("20000000u", Some(Duration::from_secs(20)));
        check("7n", Some(Duration::from_nanos(7)));
        for text in ["", "S", "3", "3s", "123456789S", "-1S", "3 S"] {
            check(text, None);
        }
        assert_eq!(deadline(&MetadataMap::new()), None);
    }
}
