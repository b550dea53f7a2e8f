//! A string of a header, left as it stood on the wire until somebody needs it.
//!
//! JSON headers carry their strings escaped (a property string always is, because of its control characters),
//! binary headers don't. Most fields are compared or parsed and never copied; the property string goes straight
//! from here into the record. Whoever builds an escaped text has checked its escapes, so decoding can't fail.

use crate::scan::find_either;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    bytes: &'a [u8],
    form: Form,
}

/// As wide as a pointer, so that a text has no padding: the compiler copies padding too, from halves that were just
/// written, and the processor waits for those: half of the time that a header's fields took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum Form {
    Plain,
    Escaped,
}

impl<'a> Text<'a> {
    /// A text that stands for itself.
    pub const fn plain(text: &'a str) -> Self {
        Text::unescaped(text.as_bytes())
    }

    /// A text without escapes, as it stands on the wire.
    pub(crate) const fn unescaped(bytes: &'a [u8]) -> Self {
        Text { bytes, form: Form::Plain }
    }

    /// A text between the quotes of a JSON string. The escapes in it must have been checked.
    pub(crate) const fn escaped(bytes: &'a [u8]) -> Self {
        Text { bytes, form: Form::Escaped }
    }

    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    fn is_escaped(self) -> bool {
        self.form == Form::Escaped
    }

    /// The text as it stood on the wire; the same as the decoded text unless it holds escapes or isn't UTF-8.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The text itself. C++ clients write theirs in their system's encoding, GBK for one: as by the Java server, what
    /// isn't UTF-8 is replaced by U+FFFD.
    #[inline]
    pub fn decode(self) -> Cow<'a, str> {
        if self.is_escaped() { Cow::Owned(decode_escaped(self.bytes)) } else { utf8(self.bytes) }
    }

    /// Appends the decoded text.
    pub fn append_to(self, out: &mut String) {
        self.pieces(|piece| out.push_str(piece));
    }

    /// Shows the decoded text in pieces, none of which is copied unless it isn't UTF-8.
    pub fn pieces(self, mut take: impl FnMut(&str)) {
        let mut rest = self.bytes;
        while self.is_escaped()
            && let Some(at) = find_either(rest, b'\\', b'\\')
        {
            take(&utf8(&rest[..at]));
            let (character, length) = unescape(&rest[at..]).unwrap_or((char::REPLACEMENT_CHARACTER, 1));
            take(character.encode_utf8(&mut [0; 4]));
            rest = &rest[at + length..];
        }
        take(&utf8(rest));
    }

    pub fn is(self, other: &str) -> bool {
        if self.is_escaped() { self.decode() == other } else { self.bytes == other.as_bytes() }
    }

    /// Orders by the decoded texts.
    pub fn cmp_decoded(self, other: Text<'_>) -> Ordering {
        if self.is_escaped() || other.is_escaped() {
            return self.decode().cmp(&other.decode());
        }
        self.bytes.cmp(other.bytes)
    }

    /// The decimal number that the text is, as Java reads one.
    #[inline]
    pub fn integer(self) -> Option<i64> {
        if let [digit] = self.bytes {
            return value(*digit);
        }
        let (negative, digits) = match self.bytes {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            digits => (false, digits),
        };
        // Eighteen digits always fit.
        if digits.len() > 18 {
            return checked_integer(negative, digits);
        }
        let number = digits.iter().try_fold(0i64, |number, digit| Some(number * 10 + value(*digit)?))?;
        (!digits.is_empty()).then_some(if negative { -number } else { number })
    }
}

fn decode_escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    Text::escaped(bytes).append_to(&mut out);
    out
}

fn value(digit: u8) -> Option<i64> {
    let value = digit.wrapping_sub(b'0');
    (value < 10).then_some(i64::from(value))
}

#[cold]
fn checked_integer(negative: bool, digits: &[u8]) -> Option<i64> {
    // Below zero there is one number more.
    let below_zero =
        digits.iter().try_fold(0i64, |number, digit| number.checked_mul(10)?.checked_sub(value(*digit)?))?;
    if negative { Some(below_zero) } else { below_zero.checked_neg() }
}

/// Mostly it is UTF-8, and that is found out faster than what else it is.
fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
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
            assert_eq!(Text::escaped(raw.as_bytes()).decode(), expected, "{raw}");
        };
        check(r"KEYS\u0001k\u0002", "KEYS\u{1}k\u{2}");
        check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
        check(r"\ud83d\ude80!", "🚀!");
        check(r"\ud83d!", "\u{fffd}!");
        check("plain é", "plain é");
    }

    #[test]
    fn what_is_no_utf8_is_replaced() {
        assert_eq!(Text::unescaped(b"a\xb1b").decode(), "a\u{fffd}b");
        assert_eq!(Text::escaped(b"\\n\xe4\xb8\\n").decode(), "\n\u{fffd}\n");
    }

    #[test]
    fn integers_are_read_as_java_reads_them() {
        let check = |text: &str, expected| assert_eq!(Text::plain(text).integer(), expected, "{text}");
        check("0", Some(0));
        check("-7", Some(-7));
        check("+012", Some(12));
        check("9223372036854775807", Some(i64::MAX));
        check("-9223372036854775808", Some(i64::MIN));
        check("999999999999999999", Some(999_999_999_999_999_999));
        check("-00000000000000000001", Some(-1));
        for text in [
            "",
            "-",
            "+",
            "+-1",
            "1.0",
            " 1",
            "0x1",
            "9223372036854775808",
            "-9223372036854775809",
            "12:",
            "1/",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn broken_escapes_are_seen() {
        for text in [r"\", r"\x", r"\u12", r"\u12g4", r"\u+123"] {
            assert_eq!(unescape(text.as_bytes()), None, "{text}");
        }
    }
}
