//! The JSON header. No tree is made: strings stay where they are. What clients write is read by [`plain`]; what that
//! can't read is read again by [`scanner`], which knows all of JSON and says where it breaks.

mod plain;
mod scanner;

use super::{FIELDS_MAX, Header, HeaderError};
use crate::command::Command;
use crate::ext::ExtFields;
use crate::language::Language;
use scanner::{Broken, Value, object, skip_blanks, value};

/// Fills an empty header in.
pub(super) fn decode<'a>(bytes: &'a [u8], header: &mut Header<'a>) -> Result<(), HeaderError> {
    if plain::decode(bytes, header).is_some() {
        return Ok(());
    }
    *header = Header::empty(header.encoding);
    read(bytes, header).map(drop).map_err(|failure| match failure {
        Failure::Broken(Broken { left, reason }) => HeaderError::Json { at: bytes.len() - left, reason },
        Failure::TooManyFields => HeaderError::TooManyFields(FIELDS_MAX),
    })
}

enum Failure {
    Broken(Broken),
    TooManyFields,
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        Failure::Broken(broken)
    }
}

fn read<'a>(text: &'a [u8], header: &mut Header<'a>) -> Result<&'a [u8], Failure> {
    object(text, |key, text| {
        if key.bytes() == b"extFields" && skip_blanks(text).starts_with(b"{") {
            return ext_fields(text, &mut header.ext);
        }
        let (value, rest) = value(text)?;
        let number = || {
            let reason = "a 32-bit number should be here";
            value.number().ok_or(Broken { left: text.len(), reason })
        };
        match key.bytes() {
            b"code" => header.code = number()?,
            b"version" => header.version = number()?,
            b"opaque" => header.opaque = number()?,
            b"flag" => header.flag = number()?,
            b"language" => {
                header.language = match value {
                    Value::String(name) | Value::Bare(name) => Language::from_text(name),
                    Value::Null | Value::Nested => Language::Unknown,
                }
            }
            b"remark" => {
                if let Value::String(remark) = value {
                    header.remark = Some(remark);
                }
            }
            _ => {}
        }
        Ok(rest)
    })
}

fn ext_fields<'a>(text: &'a [u8], ext: &mut ExtFields<'a>) -> Result<&'a [u8], Failure> {
    let mut count = 0;
    object(text, |key, text| {
        count += 1;
        if count > FIELDS_MAX {
            return Err(Failure::TooManyFields);
        }
        let (value, rest) = value(text)?;
        match value {
            Value::String(text) | Value::Bare(text) => ext.push(key, text),
            Value::Null | Value::Nested => {}
        }
        Ok(rest)
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
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a string with its quotes, escaping what JSON demands.
pub fn push_string(value: &str, out: &mut Vec<u8>) {
    let bytes = value.as_bytes();
    out.push(b'"');
    // Looking at all of them, without a way out before the end, is done many at a time.
    if bytes.iter().fold(true, |plain, byte| plain & (*byte >= 0x20 && *byte != b'"' && *byte != b'\\')) {
        out.extend_from_slice(bytes);
    } else {
        push_escaped(bytes, out);
    }
    out.push(b'"');
}

fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
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
}

#[cfg(test)]
mod tests;
