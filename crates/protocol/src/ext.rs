//! The named fields of a header (`extFields`): what a request asks and what a response answers.

use crate::text::Text;
use smallvec::SmallVec;
use std::borrow::Cow;

/// How many fields a header holds without an allocation: those of a send with access control. The whole array moves
/// with its header, so that more would cost every request.
const INLINE_FIELDS: usize = 16;

/// What [`parse`] expects.
pub(crate) const INT: &str = "a 32-bit number";
pub(crate) const LONG: &str = "a 64-bit number";

/// The fields in the order they came. Of fields with one name the last counts.
#[derive(Clone, Debug, Default)]
pub struct ExtFields<'a> {
    fields: SmallVec<[(Text<'a>, Text<'a>); INLINE_FIELDS]>,
}

/// A field that a request should have had, or one that doesn't read as its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("the request lacks the field {0}")]
    Missing(&'static str),
    #[error("the field {name} should be {expected} but is '{value}'")]
    Invalid { name: &'static str, expected: &'static str, value: String },
}

impl<'a> ExtFields<'a> {
    pub(crate) fn push(&mut self, name: Text<'a>, value: Text<'a>) {
        self.fields.push((name, value));
    }

    pub fn iter(&self) -> impl Iterator<Item = (Text<'a>, Text<'a>)> + '_ {
        self.fields.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<Text<'a>> {
        self.fields.iter().rev().find(|(field, _)| field.is(name)).map(|(_, value)| *value)
    }

    pub fn str(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).map(Text::decode)
    }

    pub fn need_str(&self, name: &'static str) -> Result<Cow<'a, str>, FieldError> {
        self.str(name).ok_or(FieldError::Missing(name))
    }

    pub fn i32(&self, name: &'static str) -> Result<Option<i32>, FieldError> {
        self.get(name).map(|text| parse(name, text, INT)).transpose()
    }

    pub fn need_i32(&self, name: &'static str) -> Result<i32, FieldError> {
        self.i32(name)?.ok_or(FieldError::Missing(name))
    }

    pub fn i64(&self, name: &'static str) -> Result<Option<i64>, FieldError> {
        self.get(name).map(|text| parse(name, text, LONG)).transpose()
    }

    pub fn need_i64(&self, name: &'static str) -> Result<i64, FieldError> {
        self.i64(name)?.ok_or(FieldError::Missing(name))
    }

    /// True for `true` in any case; everything else is false, as Java reads it.
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.get(name).map(is_true)
    }
}

/// Whether Java reads the text as true.
pub fn is_true(text: Text<'_>) -> bool {
    text.bytes().eq_ignore_ascii_case(b"true")
}

/// A number field; the error names the field, the text and what was expected.
#[inline]
pub fn parse<T: TryFrom<i64>>(
    name: &'static str,
    text: Text<'_>,
    expected: &'static str,
) -> Result<T, FieldError> {
    match text.integer().and_then(|number| T::try_from(number).ok()) {
        Some(number) => Ok(number),
        None => Err(invalid(name, text.bytes(), expected)),
    }
}

/// Shows the value as it stood on the wire.
#[cold]
#[inline(never)]
fn invalid(name: &'static str, value: &[u8], expected: &'static str) -> FieldError {
    FieldError::Invalid { name, expected, value: shorten(&String::from_utf8_lossy(value)) }
}

/// A value as an error text may show it: not longer than a line.
fn shorten(value: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 80;
    match value.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}
