//! The header as clients write nearly all of them: without blanks, each value a string or a number.
//!
//! Everything else, what is broken too, is left to the other reader: this one says no more than that it isn't plain.
//! A send's header has twenty members, and each costs about a hundredth of what the message does.

use super::super::{FIELDS_MAX, Header};
use super::scanner;
use crate::ext::ExtFields;
use crate::language::Language;
use crate::scan::find_either;
use crate::text::Text;

/// No 32-bit number that is written without zeros before it has more.
const DIGITS_MAX: usize = 10;

/// A field with a name and a value of one byte each, and something behind it.
const SHORT_FIELD: u64 = u64::from_le_bytes(*b"\"\xFF\":\"\xFF\"\xFF");
const ANY_BYTES: u64 = u64::from_le_bytes([0, 0xFF, 0, 0, 0, 0xFF, 0, 0xFF]);

/// What was read from the front of a text, and the text behind it.
type Read<'a, T> = Option<(T, &'a [u8])>;

/// Fills an empty header in. If that fails it is half filled in.
pub(super) fn decode<'a>(text: &'a [u8], header: &mut Header<'a>) -> Option<()> {
    let mut rest = text.strip_prefix(b"{")?;
    loop {
        match member(rest, header)? {
            [b',', behind @ ..] => rest = behind,
            [b'}', ..] => return Some(()),
            _ => return None,
        }
    }
}

/// Each of the keys that a header has begins with a letter of its own: comparing with one takes less than looking for
/// the end of the one that is there.
#[inline(always)]
fn member<'a>(text: &'a [u8], header: &mut Header<'a>) -> Option<&'a [u8]> {
    let known = match text.get(1)? {
        b'c' => text.strip_prefix(b"\"code\":").map(|value| number(value, &mut header.code)),
        b'e' => text.strip_prefix(b"\"extFields\":{").map(|text| fields(text, &mut header.ext)),
        b'f' => text.strip_prefix(b"\"flag\":").map(|value| number(value, &mut header.flag)),
        b'l' => text.strip_prefix(b"\"language\":").map(|value| {
            let (language, rest) = string(value)?;
            header.language = Language::from_text(language);
            Some(rest)
        }),
        b'o' => text.strip_prefix(b"\"opaque\":").map(|value| number(value, &mut header.opaque)),
        b'r' => text.strip_prefix(b"\"remark\":").map(|value| {
            let (remark, rest) = string(value)?;
            header.remark = Some(remark);
            Some(rest)
        }),
        b's' => text.strip_prefix(b"\"serializeTypeCurrentRPC\":\"JSON\"").map(Some),
        b'v' => text.strip_prefix(b"\"version\":").map(|value| number(value, &mut header.version)),
        _ => None,
    };
    if let Some(rest) = known {
        return rest;
    }
    let (_, value) = key(text)?;
    string(value).map(|(_, rest)| rest)
}

/// A function of its own: as a part of its caller it would keep what it works with on the stack, for want of registers.
#[inline(never)]
fn fields<'a>(text: &'a [u8], ext: &mut ExtFields<'a>) -> Option<&'a [u8]> {
    let mut rest = text;
    for _ in 0..FIELDS_MAX {
        let ((name, value), behind) = field(rest)?;
        ext.push(Text::unescaped(name), value);
        match behind {
            [b',', behind @ ..] => rest = behind,
            [b'}', behind @ ..] => return Some(behind),
            _ => return None,
        }
    }
    None
}

#[inline(always)]
fn field(text: &[u8]) -> Read<'_, (&[u8], Text<'_>)> {
    // Half of what a send has: `"x":"0"`.
    if let Some(word) = text.first_chunk::<8>()
        && u64::from_le_bytes(*word) | ANY_BYTES == SHORT_FIELD
        && word[1].is_ascii_alphabetic()
        && word[5].is_ascii_alphanumeric()
    {
        return Some(((&text[1..2], Text::unescaped(&text[5..6])), &text[7..]));
    }
    let (name, value) = key(text)?;
    let (value, behind) = string(value)?;
    Some(((name, value), behind))
}

/// `"name":`
#[inline(always)]
fn key(text: &[u8]) -> Read<'_, &[u8]> {
    // The fields of a send are single letters.
    if let [b'"', letter, b'"', b':', rest @ ..] = text
        && letter.is_ascii_alphabetic()
    {
        return Some((std::slice::from_ref(letter), rest));
    }
    let [b'"', text @ ..] = text else {
        return None;
    };
    match text.split_at_checked(mark(text)?)? {
        (name, [b'"', b':', rest @ ..]) => Some((name, rest)),
        _ => None,
    }
}

#[inline(always)]
fn string(text: &[u8]) -> Read<'_, Text<'_>> {
    let [b'"', rest @ ..] = text else {
        return None;
    };
    let at = mark(rest)?;
    match rest.get(at..)? {
        [b'"', behind @ ..] => Some((Text::unescaped(&rest[..at]), behind)),
        _ => scanner::string(text).ok(),
    }
}

/// Where the first quote or backslash lies.
#[inline(always)]
fn mark(text: &[u8]) -> Option<usize> {
    find_either(text, b'"', b'\\')
}

#[inline(always)]
fn number<'a>(text: &'a [u8], number: &mut i32) -> Option<&'a [u8]> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut magnitude = 0i64;
    for (at, byte) in digits.iter().enumerate().take(DIGITS_MAX + 1) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            *number = i32::try_from(if negative { -magnitude } else { magnitude }).ok()?;
            return (at > 0).then(|| &digits[at..]);
        }
        magnitude = magnitude * 10 + i64::from(digit);
    }
    None
}
