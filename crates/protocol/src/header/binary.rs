//! The compact header: fixed numbers, the remark, then the fields, each with its lengths in front.

use super::{FIELDS_MAX, Header, HeaderError};
use crate::command::Command;
use crate::language::Language;
use crate::text::Text;

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], HeaderError> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or(HeaderError::Truncated(what))?;
        self.bytes = rest;
        Ok(*head)
    }

    fn part(&mut self, length: i64, what: &'static str) -> Result<&'a [u8], HeaderError> {
        let left = self.bytes.len();
        let split = usize::try_from(length).ok().and_then(|length| self.bytes.split_at_checked(length));
        let (head, rest) = split.ok_or(HeaderError::Length { what, length, left })?;
        self.bytes = rest;
        Ok(head)
    }

    fn text(&mut self, length: i64, what: &'static str) -> Result<Text<'a>, HeaderError> {
        self.part(length, what).map(Text::unescaped)
    }
}

/// Fills an empty header in.
pub(super) fn decode<'a>(bytes: &'a [u8], header: &mut Header<'a>) -> Result<(), HeaderError> {
    let mut reader = Reader { bytes };
    header.code = i32::from(i16::from_be_bytes(reader.take("the code")?));
    header.language = Language::from_ordinal(u8::from_be_bytes(reader.take("the language")?));
    header.version = i32::from(i16::from_be_bytes(reader.take("the version")?));
    header.opaque = i32::from_be_bytes(reader.take("the opaque")?);
    header.flag = i32::from_be_bytes(reader.take("the flag")?);
    let remark_bytes = i64::from(i32::from_be_bytes(reader.take("the remark's length")?));
    if remark_bytes != 0 {
        header.remark = Some(reader.text(remark_bytes, "the remark")?);
    }
    let fields_bytes = i64::from(i32::from_be_bytes(reader.take("the fields' length")?));
    if fields_bytes == 0 {
        return Ok(());
    }
    let mut fields = Reader { bytes: reader.part(fields_bytes, "the fields")? };
    let mut count = 0;
    while !fields.bytes.is_empty() {
        let name_bytes = i64::from(i16::from_be_bytes(fields.take("a field's name length")?));
        let name = fields.text(name_bytes, "a field's name")?;
        let value_bytes = i64::from(i32::from_be_bytes(fields.take("a field's value length")?));
        let value = fields.text(value_bytes, "a field's value")?;
        count += 1;
        if count > FIELDS_MAX {
            return Err(HeaderError::TooManyFields(FIELDS_MAX));
        }
        // A name or a value without a byte is null, and a null field is no field.
        if !name.is_empty() && !value.is_empty() {
            header.ext.push(name, value);
        }
    }
    Ok(())
}

/// Whether the form's 16 bits hold what they are for: the code, the version and the length of each field's name.
pub fn can_encode(command: &Command) -> bool {
    i16::try_from(command.code).is_ok()
        && i16::try_from(command.version).is_ok()
        && command.ext.iter().all(|(name, _)| i16::try_from(name.len()).is_ok())
}

/// Appends the command's header in the compact form. It must be one that [`can_encode`].
pub fn encode(command: &Command, out: &mut Vec<u8>) {
    out.extend_from_slice(&(command.code as i16).to_be_bytes());
    out.push(command.language.ordinal());
    out.extend_from_slice(&(command.version as i16).to_be_bytes());
    out.extend_from_slice(&command.opaque.to_be_bytes());
    out.extend_from_slice(&command.flag.to_be_bytes());
    let remark = command.remark.as_deref().unwrap_or("");
    out.extend_from_slice(&(remark.len() as i32).to_be_bytes());
    out.extend_from_slice(remark.as_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    for (name, value) in &command.ext {
        out.extend_from_slice(&(name.len() as i16).to_be_bytes());
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&(value.len() as i32).to_be_bytes());
        out.extend_from_slice(value.as_bytes());
    }
    let fields_bytes = (out.len() - length_at - 4) as i32;
    out[length_at..length_at + 4].copy_from_slice(&fields_bytes.to_be_bytes());
}
