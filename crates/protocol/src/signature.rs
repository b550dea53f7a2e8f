//! Signatures of requests: HMAC-SHA1 with the user's password as the key.
//!
//! A remoting request is signed over the values of its fields in the order of their names, then its body; the
//! signature is one more field, in Base64. A gRPC call is signed over the text of one header; the signature is hex.
//! What was received is what counts: no value is parsed and written again before it is checked.

use crate::command::Command;
use crate::header::Header;
use crate::request::query::UNIQUE_KEY_QUERY;
use crate::text::Text;
use crate::version::V4_9_3;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use smallvec::SmallVec;
use std::fmt;

/// The field with the name of the user who asks.
pub const ACCESS_KEY: &str = "AccessKey";
/// The field with the signature, the one that isn't signed.
pub const SIGNATURE: &str = "Signature";

const SIGNATURE_BYTES: usize = 20;
/// Fields that are put in order without an allocation; a send has fewer.
const INLINE_FIELDS: usize = 24;

/// A password, made ready for signing.
#[derive(Clone)]
pub struct SigningKey(Hmac<Sha1>);

#[derive(Clone, Copy)]
pub struct Signature([u8; SIGNATURE_BYTES]);

impl SigningKey {
    pub fn new(password: &str) -> Self {
        SigningKey(Hmac::new_from_slice(password.as_bytes()).expect("HMAC takes keys of every length"))
    }

    pub fn sign(&self, content: &[u8]) -> Signature {
        let mut mac = self.0.clone();
        mac.update(content);
        Signature(mac.finalize().into_bytes().into())
    }

    /// The signature that a request as it came should have.
    pub fn sign_request(&self, header: &Header<'_>, body: &[u8]) -> Signature {
        // Clients up to 4.9.3 mark a query as one by unique key after they have signed.
        let left_out =
            |name: Text<'_>| name.is(SIGNATURE) || header.version <= V4_9_3 && name.is(UNIQUE_KEY_QUERY);
        let mut fields: SmallVec<[(Text<'_>, Text<'_>); INLINE_FIELDS]> =
            header.ext.iter().filter(|(name, _)| !left_out(*name)).collect();
        // Stable, so that of fields with one name the last stays the last, which is the one that counts.
        fields.sort_by(|(a, _), (b, _)| a.cmp_decoded(*b));
        let mut mac = self.0.clone();
        for (at, (name, value)) in fields.iter().enumerate() {
            let overridden = fields.get(at + 1).is_some_and(|(next, _)| name.cmp_decoded(*next).is_eq());
            if !overridden {
                value.pieces(|piece| mac.update(piece.as_bytes()));
            }
        }
        mac.update(body);
        Signature(mac.finalize().into_bytes().into())
    }

    /// Signs a request of our own in the name of a user. No field may be added afterwards.
    pub fn sign_command(&self, user: &str, mut command: Command) -> Command {
        command.ext.retain(|(name, _)| name != ACCESS_KEY && name != SIGNATURE);
        let command = command.with(ACCESS_KEY, user);
        let signature = {
            let frame = command.as_frame(crate::header::Encoding::Json);
            self.sign_request(&frame.header, frame.body)
        };
        command.with(SIGNATURE, signature.base64())
    }
}

/// Says nothing of the key.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

impl Signature {
    /// The form of remoting requests. Nothing for a text that isn't the Base64 of a signature.
    pub fn from_base64(text: &[u8]) -> Option<Self> {
        // The decoder wants room for whole groups of three.
        let mut room = [0; SIGNATURE_BYTES + 1];
        let length = STANDARD.decode_slice(text, &mut room).ok()?;
        room[..length].try_into().ok().map(Signature)
    }

    /// The form of gRPC calls, in upper or lower case. Nothing for a text that isn't the hex of a signature.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        let (pairs, []) = text.as_chunks::<2>() else { return None };
        let mut bytes = [0; SIGNATURE_BYTES];
        if pairs.len() != bytes.len() {
            return None;
        }
        let digit = |digit: u8| char::from(digit).to_digit(16);
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = (digit(*high)? << 4 | digit(*low)?) as u8;
        }
        Some(Signature(bytes))
    }

    pub fn base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// In upper case, as clients write it.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02X}")).collect()
    }

    /// Takes the same time whatever the difference, so that nobody finds a signature byte by byte.
    pub fn matches(&self, other: &Signature) -> bool {
        let difference = self.0.iter().zip(&other.0).fold(0, |seen, (a, b)| seen | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

/// Like a password, a signature is nothing for logs.
impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::request::{QUERY_MESSAGE, SEND_MESSAGE_V2};
    use crate::frame;
    use crate::header::Encoding;
    use crate::version::V4_9_4;

    /// A send as the Java client signs it, with its signature there.
    const SIGNED: &str = "I6/mujzB26VIgi4OZIkpMU0k/i8=";

    fn send() -> Command {
        let fields = [
            ("m", "false"),
            ("a", "PG"),
            ("b", "TT"),
            ("c", "TBW102"),
            ("d", "4"),
            ("e", "0"),
            ("f", "0"),
            ("g", "1700000000000"),
            ("h", "0"),
            ("i", "KEYS\u{1}k1\u{2}"),
            ("j", "0"),
            ("k", "false"),
        ];
        fields
            .into_iter()
            .fold(Command::request(SEND_MESSAGE_V2), |command, (name, value)| command.with(name, value))
            .body("hello")
    }

    #[test]
    fn a_request_is_signed_as_the_java_client_signs_it() {
        let signed = SigningKey::new("SK12345678").sign_command("AK", send());
        assert_eq!(signed.field(SIGNATURE), Some(SIGNED));
        assert_eq!(signed.field(ACCESS_KEY), Some("AK"));
    }

    #[test]
    fn what_was_received_is_checked_in_both_encodings() {
        let key = SigningKey::new("SK12345678");
        for encoding in [Encoding::Json, Encoding::Binary] {
            let mut bytes = Vec::new();
            key.sign_command("AK", send()).encode(encoding, &mut bytes);
            let frame = frame::decode(&bytes).expect("a frame");
            assert_eq!(key.sign_request(&frame.header, frame.body).base64(), SIGNED, "{encoding:?}");
        }
    }

    #[test]
    fn every_value_and_the_body_count() {
        let key = SigningKey::new("SK12345678");
        let sign = |command: Command| {
            let frame = command.as_frame(Encoding::Json);
            key.sign_request(&frame.header, frame.body).base64()
        };
        let sent = sign(send());
        assert_ne!(sign(send().body("hellp")), sent);
        assert_ne!(sign(send().with("n", "x")), sent);
        assert_eq!(sign(send().with("b", "TT")), sent, "a field that comes twice counts once");
        assert_ne!(sign(send().with("b", "TU")), sent, "and as it came last");
    }

    #[test]
    fn old_clients_do_not_sign_the_mark_of_unique_keys() {
        let key = SigningKey::new("SK12345678");
        let sign = |version: i32, command: Command| {
            let command = Command { version, ..command };
            let frame = command.as_frame(Encoding::Json);
            key.sign_request(&frame.header, frame.body).base64()
        };
        let query = || Command::request(QUERY_MESSAGE).with("topic", "T").with("key", "K");
        let marked = || query().with(UNIQUE_KEY_QUERY, "true");
        assert_eq!(sign(V4_9_3, marked()), sign(V4_9_3, query()));
        assert_ne!(sign(V4_9_4, marked()), sign(V4_9_4, query()));
    }

    #[test]
    fn signatures_are_read_from_base64_and_hex_of_any_case() {
        // HMAC_SHA1("key", "The quick brown fox jumps over the lazy dog")
        let signature = SigningKey::new("key").sign(b"The quick brown fox jumps over the lazy dog");
        let hex = "DE7C9B85B8B78AA6BC8A7A36F70A90701C9DB4D9";
        assert_eq!(signature.hex(), hex);
        assert_eq!(signature.base64(), "3nybhbi3iqa8ino29wqQcBydtNk=");
        for read in [
            Signature::from_hex(hex.as_bytes()),
            Signature::from_hex(hex.to_lowercase().as_bytes()),
            Signature::from_base64(signature.base64().as_bytes()),
        ] {
            assert!(read.expect("a signature").matches(&signature));
        }
        let other = SigningKey::new("key").sign(b"The quick brown fox jumps over the lazy cat");
        assert!(!other.matches(&signature));
    }

    #[test]
    fn what_is_no_signature_is_none() {
        for text in ["", "=", "3nybhbi3iqa8ino29wqQcBydtNk", "3nybhbi3iqa8ino29wqQcBydtNk=AAAA", "é"] {
            assert!(Signature::from_base64(text.as_bytes()).is_none(), "{text}");
        }
        for text in
            ["", "DE", "DE7C9B85B8B78AA6BC8A7A36F70A90701C9DB4D", "ZZ7C9B85B8B78AA6BC8A7A36F70A90701C9DB4D9"]
        {
            assert!(Signature::from_hex(text.as_bytes()).is_none(), "{text}");
        }
    }
}
