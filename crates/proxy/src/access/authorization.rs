//! The metadata that a client proves with who it is: `authorization`, a signature of the value of `x-mq-date-time`.
//!
//! `MQv2-HMAC-SHA1 Credential=KEY/REGION/SERVICE, SignedHeaders=x-mq-date-time, Signature=HEX`, which clients write
//! with and without region and service, and in whatever form of a date. So the date is bytes to sign and no time, and
//! of the rest only the key and the signature are looked at.

use tonic::metadata::MetadataMap;

const AUTHORIZATION: &str = "authorization";
const DATE_TIME: &str = "x-mq-date-time";

/// What a call says of who makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authorization<'a> {
    pub username: &'a str,
    /// In hexadecimal digits, if it is in a good form.
    pub signature: &'a str,
    /// What is signed.
    pub content: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationError {
    #[error("the authorization of the call is not signed: its metadata lacks {DATE_TIME}")]
    NoDateTime,
    #[error("the authorization of the call isn't ASCII")]
    NotText,
    #[error("the authorization of the call is no algorithm, a space, and parts after it")]
    NoParts,
    #[error("a part of the call's authorization is no name and value with '=' between them")]
    NoValue,
}

impl<'a> Authorization<'a> {
    /// None if the client says nothing, or names nobody.
    pub fn of(metadata: &'a MetadataMap) -> Result<Option<Self>, AuthorizationError> {
        let Some(header) = metadata.get(AUTHORIZATION).filter(|header| !header.is_empty()) else {
            return Ok(None);
        };
        let header = header.to_str().map_err(|_| AuthorizationError::NotText)?;
        let date_time = metadata.get(DATE_TIME).map(|value| value.as_encoded_bytes()).unwrap_or_default();
        Authorization::read(header, date_time)
    }

    /// As much of the metadata as it is read from.
    pub fn kept(metadata: &MetadataMap) -> MetadataMap {
        let mut kept = MetadataMap::new();
        for name in [AUTHORIZATION, DATE_TIME] {
            if let Some(value) = metadata.get(name) {
                kept.insert(name, value.clone());
            }
        }
        kept
    }

    fn read(header: &'a str, date_time: &'a [u8]) -> Result<Option<Self>, AuthorizationError> {
        if date_time.is_empty() {
            return Err(AuthorizationError::NoDateTime);
        }
        let (_algorithm, parts) = header.split_once(' ').ok_or(AuthorizationError::NoParts)?;
        let (mut username, mut signature) = ("", "");
        for part in parts.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once('=').ok_or(AuthorizationError::NoValue)? {
                ("Credential", credential) => {
                    username = credential.split_once('/').map_or(credential, |(key, _)| key);
                }
                ("Signature", hex) => signature = hex,
                _ => {}
            }
        }
        let named = !username.trim().is_empty();
        Ok(named.then_some(Authorization { username, signature, content: date_time }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DATE: &[u8] = b"20261130T150000Z";

    /// As the official clients write it.
    #[test]
    fn clients_write_it_in_several_ways() {
        let check = |header: &str, username: &str, signature: &str| {
            let expected = Authorization { username, signature, content: DATE };
            assert_eq!(Authorization::read(header, DATE), Ok(Some(expected)), "{header}");
        };
        // Java, Node and Python; the region is empty, the digits are upper case.
        check(
            "MQv2-HMAC-SHA1 Credential=key//RocketMQ, SignedHeaders=x-mq-date-time, Signature=0A1B",
            "key",
            "0A1B",
        );
        // Go and C++.
        check(
            "MQv2-HMAC-SHA1 Credential=key/cn-zone/Rocketmq, SignedHeaders=x-mq-date-time, Signature=0a1b",
            "key",
            "0a1b",
        );
        // Rust.
        check("MQv2-HMAC-SHA1 Credential=key, SignedHeaders=x-mq-date-time, Signature=0a1b", "key", "0a1b");
        // Nobody's, and still clear.
        check("x Signature=0a1b,Credential=key", "key", "0a1b");
        check("x Credential=key/, Signature=, ", "key", "");
        check("x Credential=key", "key", "");
        check("x Credential=a=b, Signature=c=d", "a=b", "c=d");
        check("x Credential=first,Credential=second", "second", "");
    }

    #[test]
    fn who_names_nobody_is_nobody() {
        for header in
            ["x ", "x Signature=0a1b", "x Credential=", "x Credential=/region/service", "x Credential= /"]
        {
            assert_eq!(Authorization::read(header, DATE), Ok(None), "{header}");
        }
        assert_eq!(Authorization::of(&MetadataMap::new()), Ok(None));
        let mut metadata = MetadataMap::new();
        metadata.insert(AUTHORIZATION, "".parse().expect("ASCII"));
        assert_eq!(Authorization::of(&metadata), Ok(None));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let check = |header: &str, date_time: &[u8], expected: AuthorizationError| {
            assert_eq!(Authorization::read(header, date_time), Err(expected), "{header}");
        };
        check("x Credential=key", b"", AuthorizationError::NoDateTime);
        check("Credential=key", DATE, AuthorizationError::NoParts);
        check("x Credential", DATE, AuthorizationError::NoValue);
        check("x Credential=key, SignedHeaders", DATE, AuthorizationError::NoValue);
        let mut metadata = MetadataMap::new();
        metadata
            .insert(AUTHORIZATION, tonic::metadata::MetadataValue::try_from(&b"x \xff"[..]).expect("opaque"));
        assert_eq!(Authorization::of(&metadata), Err(AuthorizationError::NotText));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nothing_breaks_it(header in "[ -~]{0,80}|x [A-Za-z=/, ]{0,80}", date_time: Vec<u8>) {
            if let Ok(Some(read)) = Authorization::read(&header, &date_time) {
                prop_assert!(!read.username.trim().is_empty());
                prop_assert!(header.contains(read.username) && header.contains(read.signature));
            }
        }
    }
}
