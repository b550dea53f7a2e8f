//! A string of a header, left as it stood on the wire until somebody needs it.
//!
//! JSON headers carry their strings escaped (a property string always is, because of its control characters),
//! binary headers don't. Most fields are compared or parsed and never copied; the property string goes straight
//! from here into the record. Whoever builds an escaped text has checked its escapes, so decoding can't fail.

use crate::scan::find_either;
use std::borrow::Cow;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Text<'a> {
    /// A text that stands for itself.
    pub const fn plain(raw: &'a str) -> Self {
        Text { raw, escaped: false }
    }

    /// A text between the quotes of a JSON string. The escapes in it must have been checked.
    pub(crate) const fn escaped(raw: &'a str) -> Self {
        Text { raw, escaped: true }
    }

    pub fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The text as it stood on the wire; the same as the decoded text unless it holds escapes.
    pub fn raw(self) -> &'a str {
        self.raw
    }

    pub fn decode(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut out = Vec::with_capacity(self.raw.len());
        self.append_to(&mut out);
        Cow::Owned(String::from_utf8(out).expect("escapes decode to whole characters"))
    }

    /// Appends the decoded text.
    pub fn append_to(self, out: &mut Vec<u8>) {
        if !self.escaped {
            out.extend_from_slice(self.raw.as_bytes());
            return;
        }
        let mut rest = self.raw.as_bytes();
        while let Some(at) = find_either(rest, b'\\', b'\\') {
            out.extend_from_slice(&rest[..at]);
            let (character, length) = unescape(&rest[at..]).unwrap_or((char::REPLACEMENT_CHARACTER, 1));
            match u8::try_from(character) {
                Ok(byte) if byte.is_ascii() => out.push(byte),
                _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            rest = &rest[at + length..];
        }
        out.extend_from_slice(rest);
    }

    pub fn is(self, other: &str) -> bool {
        if self.escaped { self.decode() == other } else { self.raw == other }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.decode())
    }
}

/// Decodes the escape that `text` starts with: the character and the bytes it took.
/// A lone surrogate becomes the replacement character, as in Java's decoder.
pub(crate) fn unescape(text: &[u8]) -> Option<(char, usize)> {
    let simple = match *text.get(1)? {
        kind @ (b'"' | b'\\' | b'/' | b'\'') => kind as char,
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unicode(text),
        _ => return None,
    };
    Some((simple, 2))
}

fn unescape_unicode(text: &[u8]) -> Option<(char, usize)> {
    let first = hex_unit(text.get(2..6)?)?;
    if (0xD800..0xDC00).contains(&first)
        && text.get(6..8) == Some(b"\\u")
        && let Some(second @ 0xDC00..0xE000) = text.get(8..12).and_then(hex_unit)
    {
        let joined = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return Some((char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), 12));
    }
    Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6))
}

fn hex_unit(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_decode_as_json_says() {
        let check = |raw: &str, expected: &str| {
            assert_eq!(Text::escaped(raw).decode(), expected, "{raw}");
        };
        check(r"KEYS\u0001k\u0002", "KEYS\u{1}k\u{2}");
        check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
        check(r"\ud83d\ude80!", "🚀!");
        check(r"\ud83d!", "\u{fffd}!");
        check("plain é", "plain é");
    }

    #[test]
    fn broken_escapes_are_seen() {
        for text in [r"\", r"\x", r"\u12", r"\u12g4", r"\u+123"] {
            assert_eq!(unescape(text.as_bytes()), None, "{text}");
        }
    }
}
