//! A request or a response that owns its parts: what clients send and what is not on the hot path.

use crate::ext::ExtFields;
use crate::frame::Frame;
use crate::header::{
    Encoding, FLAG_ONEWAY, FLAG_RESPONSE, Header, can_encode_binary, encode_binary, encode_json,
};
use crate::language::Language;
use crate::text::Text;
use crate::{frame, version};
use bytes::Bytes;
use std::borrow::Cow;
use std::fmt::Display;

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub code: i32,
    pub language: Language,
    pub version: i32,
    pub opaque: i32,
    pub flag: i32,
    pub remark: Option<String>,
    pub ext: Vec<(Cow<'static, str>, String)>,
    /// Empty for none: a body without a byte can't be told from no body.
    pub body: Bytes,
}

impl Command {
    pub fn request(code: i32) -> Self {
        Command {
            code,
            language: Language::Java,
            version: version::V5_5_0,
            opaque: 0,
            flag: 0,
            remark: None,
            ext: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// A response; whoever sends it gives it the opaque of its request.
    pub fn response(code: i32) -> Self {
        Command { flag: FLAG_RESPONSE, ..Command::request(code) }
    }

    #[must_use]
    pub fn oneway(mut self) -> Self {
        self.flag |= FLAG_ONEWAY;
        self
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.ext.push((Cow::Borrowed(name), value.to_string()));
        self
    }

    /// The field, if there is a value for it.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    #[must_use]
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = Some(remark.into());
        self
    }

    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        self.ext.iter().rev().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The fields in the form that the typed headers of [`crate::request`] decode from.
    pub fn ext_fields(&self) -> ExtFields<'_> {
        let mut fields = ExtFields::default();
        for (name, value) in &self.ext {
            fields.push(Text::plain(name), Text::plain(value));
        }
        fields
    }

    pub fn is_oneway(&self) -> bool {
        self.flag & FLAG_ONEWAY != 0
    }

    /// The command as its receiver sees it, for one in the same process: no bytes are made on the way.
    pub fn as_frame(&self, encoding: Encoding) -> Frame<'_> {
        let header = Header {
            code: self.code,
            language: self.language,
            version: self.version,
            opaque: self.opaque,
            flag: self.flag,
            remark: self.remark.as_deref().map(Text::plain),
            ext: self.ext_fields(),
            encoding,
        };
        Frame { header, body: &self.body }
    }

    /// The parts of a frame, copied out of the buffer it was read into.
    pub fn from_frame(header: &Header<'_>, body: &[u8]) -> Self {
        Command {
            code: header.code,
            language: header.language,
            version: header.version,
            opaque: header.opaque,
            flag: header.flag,
            remark: header.remark.map(|remark| remark.decode().into_owned()),
            ext: header
                .ext
                .iter()
                .map(|(name, value)| (Cow::Owned(name.decode().into_owned()), value.decode().into_owned()))
                .collect(),
            body: Bytes::copy_from_slice(body),
        }
    }

    /// Appends the whole frame, body included.
    pub fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) {
        self.encode_head(encoding, out);
        out.extend_from_slice(&self.body);
    }

    /// Appends the frame up to the body, for callers that send the body without copying it. What the binary
    /// header has no room for goes out as JSON, which every peer reads.
    pub fn encode_head(&self, encoding: Encoding, out: &mut Vec<u8>) {
        let encoding = if can_encode_binary(self) { encoding } else { Encoding::Json };
        let start = frame::begin(out);
        match encoding {
            Encoding::Json => encode_json(self, out),
            Encoding::Binary => encode_binary(self, out),
        }
        frame::finish(start, encoding, self.body.len(), out);
    }
}
