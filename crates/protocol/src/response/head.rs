//! A response's frame up to its body, field by field, without a value in between.

use crate::frame;
use crate::header::{Encoding, FLAG_RESPONSE, push_number, push_string};
use crate::language::Language;
use crate::version;

/// The head of a response in the making: the fields go into the buffer as they come. What appends them is inlined, so
/// that names are copied by the word and not by calls.
#[derive(Debug)]
pub struct ResponseHead<'a> {
    out: &'a mut Vec<u8>,
    encoding: Encoding,
    opaque: i32,
    remark: Option<&'a str>,
    /// Where the frame begins.
    start: usize,
    /// Where the fields begin: behind their bracket, or behind their length.
    fields_start: usize,
}

impl<'a> ResponseHead<'a> {
    pub fn begin(
        out: &'a mut Vec<u8>,
        encoding: Encoding,
        code: i32,
        opaque: i32,
        remark: Option<&'a str>,
    ) -> Self {
        let start = frame::begin(out);
        match encoding {
            Encoding::Json => {
                out.extend_from_slice(b"{\"code\":");
                push_number(i64::from(code), out);
                out.extend_from_slice(b",\"extFields\":{");
            }
            Encoding::Binary => {
                out.extend_from_slice(&(code as i16).to_be_bytes());
                out.push(Language::Java.ordinal());
                out.extend_from_slice(&(version::V5_5_0 as i16).to_be_bytes());
                out.extend_from_slice(&opaque.to_be_bytes());
                out.extend_from_slice(&FLAG_RESPONSE.to_be_bytes());
                let remark = remark.unwrap_or("");
                out.extend_from_slice(&(remark.len() as i32).to_be_bytes());
                out.extend_from_slice(remark.as_bytes());
                out.extend_from_slice(&[0; 4]);
            }
        }
        let fields_start = out.len();
        ResponseHead { out, encoding, opaque, remark, start, fields_start }
    }

    #[inline]
    pub fn number(&mut self, name: &str, value: i64) {
        self.plain(name, |out| push_number(value, out));
    }

    #[inline]
    pub fn boolean(&mut self, name: &str, value: bool) {
        self.plain(name, |out| out.extend_from_slice(if value { b"true" } else { b"false" }));
    }

    #[inline]
    pub fn text(&mut self, name: &str, value: &str) {
        match self.encoding {
            Encoding::Json => {
                self.name(name);
                push_string(value, self.out);
            }
            Encoding::Binary => self.plain(name, |out| out.extend_from_slice(value.as_bytes())),
        }
    }

    /// A field whose value `write` appends; the value has nothing in it that JSON would escape.
    #[inline]
    pub fn plain(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.name(name);
        match self.encoding {
            Encoding::Json => {
                self.out.push(b'"');
                write(self.out);
                self.out.push(b'"');
            }
            Encoding::Binary => {
                let length_at = self.out.len();
                self.out.extend_from_slice(&[0; 4]);
                write(self.out);
                let length = (self.out.len() - length_at - 4) as i32;
                self.out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
    }

    /// Ends the head. The body of so many bytes is the caller's to append.
    pub fn finish(self, body_bytes: usize) {
        let ResponseHead { out, encoding, opaque, remark, start, fields_start } = self;
        match encoding {
            Encoding::Json => Self::end_json(out, opaque, remark),
            Encoding::Binary => {
                let fields_bytes = (out.len() - fields_start) as i32;
                out[fields_start - 4..fields_start].copy_from_slice(&fields_bytes.to_be_bytes());
            }
        }
        frame::finish(start, encoding, body_bytes, out);
    }

    /// What follows the last field.
    #[inline]
    pub(super) fn end_json(out: &mut Vec<u8>, opaque: i32, remark: Option<&str>) {
        out.extend_from_slice(b"},\"flag\":1,\"language\":\"JAVA\",\"opaque\":");
        push_number(i64::from(opaque), out);
        if let Some(remark) = remark {
            out.extend_from_slice(b",\"remark\":");
            push_string(remark, out);
        }
        out.extend_from_slice(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
        push_number(i64::from(version::V5_5_0), out);
        out.push(b'}');
    }

    #[inline]
    fn name(&mut self, name: &str) {
        match self.encoding {
            Encoding::Json => {
                if self.out.len() > self.fields_start {
                    self.out.push(b',');
                }
                self.out.push(b'"');
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(b"\":");
            }
            Encoding::Binary => {
                self.out.extend_from_slice(&(name.len() as i16).to_be_bytes());
                self.out.extend_from_slice(name.as_bytes());
            }
        }
    }
}
