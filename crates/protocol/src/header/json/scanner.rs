//! Reads any JSON from the front of a text, with its strings where they lie. Each function gives what it has read and
//! what follows it.

use crate::scan::find_either;
use crate::text::{Text, unescape};

/// Unknown keys may hold any value, nested at most this deep.
const DEPTH_MAX: usize = 64;

/// What was read, and the text behind it.
pub(super) type Read<'a, T> = Result<(T, &'a [u8]), Broken>;

/// Why the text isn't what it should be.
#[derive(Debug)]
pub(super) struct Broken {
    /// How many bytes of the text follow the place.
    pub(super) left: usize,
    pub(super) reason: &'static str,
}

pub(super) enum Value<'a> {
    String(Text<'a>),
    /// A number or a boolean, as it is written.
    Bare(Text<'a>),
    Null,
    /// An object or an array, passed over.
    Nested,
}

impl Value<'_> {
    /// A 32-bit number, 0 for none.
    pub(super) fn number(&self) -> Option<i32> {
        match self {
            Value::String(text) | Value::Bare(text) => text.integer()?.try_into().ok(),
            Value::Null | Value::Nested => Some(0),
        }
    }
}

/// Reads an object: `member` gets each key with the text from its value on, and gives what follows the value.
pub(super) fn object<'a, E: From<Broken>>(
    text: &'a [u8],
    mut member: impl FnMut(Text<'a>, &'a [u8]) -> Result<&'a [u8], E>,
) -> Result<&'a [u8], E> {
    let mut rest = expect(b'{', text, "an object should start here")?;
    loop {
        if let Some(behind) = pass(b'}', rest) {
            return Ok(behind);
        }
        let (key, behind) = string(rest)?;
        let value = expect(b':', behind, "a colon should follow the key")?;
        rest = member(key, value)?;
        if let Some(behind) = pass(b',', rest) {
            rest = behind;
        } else if pass(b'}', rest).is_none() {
            let reason = "a comma or the end of the object should be here";
            return Err(broken(skip_blanks(rest), reason).into());
        }
    }
}

pub(super) fn value(text: &[u8]) -> Read<'_, Value<'_>> {
    let text = skip_blanks(text);
    match text {
        [b'"', ..] => string(text).map(|(text, rest)| (Value::String(text), rest)),
        [b'{' | b'[', ..] => Ok((Value::Nested, skip_nested(text)?)),
        _ => bare(text),
    }
}

fn bare(text: &[u8]) -> Read<'_, Value<'_>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len());
    match text.split_at(length) {
        (b"", _) => Err(broken(text, "a value should start here")),
        (b"null", rest) => Ok((Value::Null, rest)),
        (word, rest) => Ok((Value::Bare(Text::unescaped(word)), rest)),
    }
}

pub(super) fn string(text: &[u8]) -> Read<'_, Text<'_>> {
    let start = expect(b'"', text, "a string should start here")?;
    let mut rest = start;
    loop {
        let Some(plain) = find_either(rest, b'"', b'\\') else {
            return Err(broken(rest, "a string doesn't end"));
        };
        rest = &rest[plain..];
        if let [b'"', behind @ ..] = rest {
            return Ok((Text::escaped(&start[..start.len() - rest.len()]), behind));
        }
        match unescape(rest) {
            Some((_, bytes)) => rest = &rest[bytes..],
            None => return Err(broken(rest, "an escape isn't one of JSON's")),
        }
    }
}

/// Passes over an object or an array, looking only at brackets and strings.
fn skip_nested(text: &[u8]) -> Result<&[u8], Broken> {
    let mut depth = 0;
    let mut text = text;
    loop {
        text = match text {
            [b'{' | b'[', ..] if depth == DEPTH_MAX => {
                return Err(broken(text, "values are nested too deep"));
            }
            [b'{' | b'[', rest @ ..] => {
                depth += 1;
                rest
            }
            [b'}' | b']', rest @ ..] if depth == 1 => return Ok(rest),
            [b'}' | b']', rest @ ..] => {
                depth -= 1;
                rest
            }
            [b'"', ..] => string(text)?.1,
            [_, rest @ ..] => rest,
            [] => return Err(broken(text, "an object or array doesn't end")),
        }
    }
}

fn expect<'a>(byte: u8, text: &'a [u8], reason: &'static str) -> Result<&'a [u8], Broken> {
    pass(byte, text).ok_or_else(|| broken(skip_blanks(text), reason))
}

/// What follows the byte, if that is next.
fn pass(byte: u8, text: &[u8]) -> Option<&[u8]> {
    match skip_blanks(text) {
        [first, rest @ ..] if *first == byte => Some(rest),
        _ => None,
    }
}

pub(super) fn skip_blanks(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = text {
        text = rest;
    }
    text
}

#[cold]
fn broken(rest: &[u8], reason: &'static str) -> Broken {
    Broken { left: rest.len(), reason }
}
