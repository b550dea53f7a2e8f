//! The JSON header. One pass over the text, no tree: strings stay where they are.

use super::{Encoding, FIELDS_MAX, Header, HeaderError};
use crate::command::Command;
use crate::ext::ExtFields;
use crate::language::Language;
use crate::scan::find_either;
use crate::text::{Text, unescape};

/// Unknown keys may hold any value, nested at most this deep.
const DEPTH_MAX: usize = 64;

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// A value of `extFields` or of a top-level key.
enum Value<'a> {
    String(Text<'a>),
    /// A number or a boolean, as it is written.
    Bare(&'a str),
    Null,
    /// An object or an array, passed over.
    Nested,
}

impl<'a> Scanner<'a> {
    fn fail<T>(&self, reason: &'static str) -> Result<T, HeaderError> {
        Err(HeaderError::Json { at: self.at, reason })
    }

    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, reason: &'static str) -> Result<(), HeaderError> {
        self.skip_blanks();
        if self.byte() != byte {
            return self.fail(reason);
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<Text<'a>, HeaderError> {
        self.expect(b'"', "a string should start here")?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let Some(length) = find_either(rest, b'"', b'\\') else {
                return self.fail("a string doesn't end");
            };
            self.at += length;
            if rest[length] == b'"' {
                break;
            }
            match unescape(&rest[length..]) {
                Some((_, length)) => self.at += length,
                None => return self.fail("an escape isn't one of JSON's"),
            }
            escaped = true;
        }
        let raw = &self.text[start..self.at];
        self.at += 1;
        Ok(if escaped { Text::escaped(raw) } else { Text::plain(raw) })
    }

    fn bare(&mut self) -> Result<Value<'a>, HeaderError> {
        let start = self.at;
        while matches!(self.byte(), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.') {
            self.at += 1;
        }
        match &self.text[start..self.at] {
            "" => self.fail("a value should start here"),
            "null" => Ok(Value::Null),
            word => Ok(Value::Bare(word)),
        }
    }

    fn value(&mut self) -> Result<Value<'a>, HeaderError> {
        self.skip_blanks();
        match self.byte() {
            b'"' => Ok(Value::String(self.string()?)),
            b'{' | b'[' => {
                self.skip_nested()?;
                Ok(Value::Nested)
            }
            _ => self.bare(),
        }
    }

    /// Takes fields that are written as clients write them, strings without a blank around them, and stops before
    /// anything else. Two thirds of a send's header are such fields.
    fn compact_fields(&mut self, ext: &mut ExtFields<'a>) -> usize {
        let mut count = 0;
        while count < FIELDS_MAX {
            let Some((name, value, after)) = self.compact_field() else {
                break;
            };
            ext.push(name, value);
            self.at = after;
            count += 1;
        }
        count
    }

    /// `"name":"value"` with the comma or the brace that follows, of which only the comma is taken.
    fn compact_field(&self) -> Option<(Text<'a>, Text<'a>, usize)> {
        const BETWEEN: &[u8] = b"\":\"";
        let bytes = self.text.as_bytes();
        let name_at = self.at + 1;
        if self.byte() != b'"' {
            return None;
        }
        let name_end = name_at + find_either(bytes.get(name_at..)?, b'"', b'\\')?;
        let value_at = name_end + BETWEEN.len();
        if bytes.get(name_end..value_at)? != BETWEEN {
            return None;
        }
        let mut end = value_at + find_either(&bytes[value_at..], b'"', b'\\')?;
        let mut escaped = false;
        while bytes[end] == b'\\' {
            let (_, length) = unescape(&bytes[end..])?;
            end += length;
            end += find_either(&bytes[end..], b'"', b'\\')?;
            escaped = true;
        }
        let after = match bytes.get(end + 1)? {
            b',' => end + 2,
            b'}' => end + 1,
            _ => return None,
        };
        let raw = &self.text[value_at..end];
        let value = if escaped { Text::escaped(raw) } else { Text::plain(raw) };
        Some((Text::plain(&self.text[name_at..name_end]), value, after))
    }

    /// Passes over an object or an array, looking only at brackets and strings.
    fn skip_nested(&mut self) -> Result<(), HeaderError> {
        let mut depth = 0;
        loop {
            match self.byte() {
                b'{' | b'[' => {
                    depth += 1;
                    if depth > DEPTH_MAX {
                        return self.fail("values are nested too deep");
                    }
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                b'"' => {
                    self.string()?;
                }
                0 if self.at >= self.text.len() => return self.fail("an object or array doesn't end"),
                _ => self.at += 1,
            }
        }
    }

    /// Runs `each` with the scanner before the value of each key of an object.
    fn object(
        &mut self,
        each: impl FnMut(&mut Self, Text<'a>) -> Result<(), HeaderError>,
    ) -> Result<(), HeaderError> {
        self.expect(b'{', "an object should start here")?;
        self.members(each)
    }

    /// The rest of an object from a key, or from its end, on.
    fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, Text<'a>) -> Result<(), HeaderError>,
    ) -> Result<(), HeaderError> {
        loop {
            self.skip_blanks();
            if self.byte() == b'}' {
                self.at += 1;
                return Ok(());
            }
            let key = self.string()?;
            self.expect(b':', "a colon should follow the key")?;
            each(self, key)?;
            self.skip_blanks();
            match self.byte() {
                b',' => self.at += 1,
                b'}' => {}
                _ => return self.fail("a comma or the end of the object should be here"),
            }
        }
    }
}

impl Value<'_> {
    fn number(&self, at: usize) -> Result<i32, HeaderError> {
        let text = match self {
            Value::String(text) => text.raw(),
            Value::Bare(word) => word,
            Value::Null | Value::Nested => return Ok(0),
        };
        text.parse().map_err(|_| HeaderError::Json { at, reason: "a 32-bit number should be here" })
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Header<'_>, HeaderError> {
    let text = std::str::from_utf8(bytes).map_err(|_| HeaderError::NotUtf8)?;
    let mut header = Header::empty(Encoding::Json);
    let mut scanner = Scanner { text, at: 0 };
    scanner.object(|scanner, key| {
        if key.is("extFields") {
            return ext_fields(scanner, &mut header);
        }
        let at = scanner.at;
        let value = scanner.value()?;
        match key.raw() {
            "code" => header.code = value.number(at)?,
            "version" => header.version = value.number(at)?,
            "opaque" => header.opaque = value.number(at)?,
            "flag" => header.flag = value.number(at)?,
            "language" => {
                header.language = match value {
                    Value::String(name) => Language::from_name(name.raw()),
                    Value::Bare(ordinal) => Language::from_name(ordinal),
                    Value::Null | Value::Nested => Language::Unknown,
                }
            }
            "remark" => {
                if let Value::String(remark) = value {
                    header.remark = Some(remark);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(header)
}

fn ext_fields<'a>(scanner: &mut Scanner<'a>, header: &mut Header<'a>) -> Result<(), HeaderError> {
    scanner.skip_blanks();
    if scanner.byte() != b'{' {
        scanner.value()?;
        return Ok(());
    }
    scanner.at += 1;
    let mut count = scanner.compact_fields(&mut header.ext);
    scanner.members(|scanner, key| {
        count += 1;
        if count > FIELDS_MAX {
            return Err(HeaderError::TooManyFields(FIELDS_MAX));
        }
        match scanner.value()? {
            Value::String(text) => header.ext.push(key, text),
            Value::Bare(word) => header.ext.push(key, Text::plain(word)),
            Value::Null | Value::Nested => {}
        }
        Ok(())
    })
}

/// Appends the command's header as JSON, its keys in alphabetical order as the Java server writes them.
pub fn encode(command: &Command, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"code\":");
    push_number(i64::from(command.code), out);
    if !command.ext.is_empty() {
        out.extend_from_slice(b",\"extFields\":{");
        for (index, (name, value)) in command.ext.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            push_string(name, out);
            out.push(b':');
            push_string(value, out);
        }
        out.push(b'}');
    }
    out.extend_from_slice(b",\"flag\":");
    push_number(i64::from(command.flag), out);
    out.extend_from_slice(b",\"language\":\"");
    out.extend_from_slice(command.language.name().as_bytes());
    out.extend_from_slice(b"\",\"opaque\":");
    push_number(i64::from(command.opaque), out);
    if let Some(remark) = &command.remark {
        out.extend_from_slice(b",\"remark\":");
        push_string(remark, out);
    }
    out.extend_from_slice(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
    push_number(i64::from(command.version), out);
    out.push(b'}');
}

/// Appends a number in decimal.
pub fn push_number(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a string with its quotes, escaping what JSON demands.
pub fn push_string(value: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = value.as_bytes();
    let mut written = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1f => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[written..at]);
        if escape.is_empty() {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        } else {
            out.extend_from_slice(escape);
        }
        written = at + 1;
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests;
