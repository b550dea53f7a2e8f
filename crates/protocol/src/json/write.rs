//! The writer. Callers write the fields of an object in alphabetical order, as the Java server does.

use super::fields::JsonKey;
use super::{Map, Value};
use crate::header::{push_number, push_string};
use std::collections::{BTreeMap, BTreeSet};

/// Which JSON comes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Bare integer keys, no blanks: the bodies of answers.
    #[default]
    Compact,
    /// JSON by the standard: integer keys in quotes, nothing but ASCII. Only routes for new clients have it.
    Standard,
    /// As compact, with a line for each field, indented with tabs: files.
    Pretty,
}

/// A type that can be written as JSON.
pub trait ToJson {
    fn write_json(&self, writer: &mut Writer);

    /// Whether a field with this value is left out.
    fn is_null(&self) -> bool {
        false
    }

    fn to_json_in(&self, form: Form) -> Vec<u8> {
        let mut writer = Writer::new(form);
        self.write_json(&mut writer);
        writer.into_bytes()
    }

    /// In compact form.
    fn to_json(&self) -> Vec<u8> {
        self.to_json_in(Form::Compact)
    }

    /// In compact form, as a text.
    fn to_json_text(&self) -> String {
        String::from_utf8(self.to_json()).expect("the writer writes whole characters")
    }
}

#[derive(Debug)]
pub struct Writer {
    out: Vec<u8>,
    form: Form,
    depth: usize,
    /// Nothing was written yet in the object or array at hand.
    first: bool,
}

impl Writer {
    pub fn new(form: Form) -> Self {
        Writer { out: Vec::new(), form, depth: 0, first: true }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// An object; `fields` writes keys and values in turn.
    pub fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.nest(b'{', b'}', fields);
    }

    /// An array; `elements` calls [`element`](Writer::element) for each.
    pub fn array(&mut self, elements: impl FnOnce(&mut Self)) {
        self.nest(b'[', b']', elements);
    }

    /// A key and its value, unless the value is null.
    pub fn field(&mut self, name: &str, value: &(impl ToJson + ?Sized)) {
        if !value.is_null() {
            self.key(name);
            value.write_json(self);
        }
    }

    pub fn element(&mut self, value: &(impl ToJson + ?Sized)) {
        self.separate();
        value.write_json(self);
    }

    pub fn key(&mut self, key: &str) {
        self.separate();
        self.string(key);
        self.out.push(b':');
    }

    /// A key of a map with integer keys.
    pub fn integer_key(&mut self, key: i64) {
        self.separate();
        if self.form == Form::Standard {
            self.out.push(b'"');
            push_number(key, &mut self.out);
            self.out.push(b'"');
        } else {
            push_number(key, &mut self.out);
        }
        self.out.push(b':');
    }

    /// A key of a map with objects for keys.
    pub fn object_key(&mut self, key: &impl ToJson) {
        self.separate();
        let form = std::mem::replace(&mut self.form, Form::Compact);
        key.write_json(self);
        self.form = form;
        self.out.push(b':');
    }

    pub fn string(&mut self, value: &str) {
        if self.form == Form::Standard && !value.is_ascii() {
            self.ascii_string(value);
        } else {
            push_string(value, &mut self.out);
        }
    }

    pub fn number(&mut self, value: i64) {
        push_number(value, &mut self.out);
    }

    fn word(&mut self, word: &str) {
        self.out.extend_from_slice(word.as_bytes());
    }

    fn ascii_string(&mut self, value: &str) {
        let start = self.out.len();
        push_string(value, &mut self.out);
        let raw = String::from_utf8(self.out.split_off(start)).expect("the writer writes whole characters");
        for character in raw.chars() {
            if character.is_ascii() {
                self.out.push(character as u8);
                continue;
            }
            for unit in character.encode_utf16(&mut [0; 2]) {
                self.word(&format!("\\u{unit:04x}"));
            }
        }
    }

    fn nest(&mut self, open: u8, close: u8, content: impl FnOnce(&mut Self)) {
        self.out.push(open);
        self.depth += 1;
        self.first = true;
        content(self);
        self.depth -= 1;
        if !self.first {
            self.new_line();
        }
        self.first = false;
        self.out.push(close);
    }

    fn separate(&mut self) {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        self.new_line();
    }

    fn new_line(&mut self) {
        if self.form == Form::Pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + self.depth, b'\t');
        }
    }
}

impl ToJson for str {
    fn write_json(&self, writer: &mut Writer) {
        writer.string(self);
    }
}

impl ToJson for String {
    fn write_json(&self, writer: &mut Writer) {
        writer.string(self);
    }
}

impl ToJson for bool {
    fn write_json(&self, writer: &mut Writer) {
        writer.word(if *self { "true" } else { "false" });
    }
}

impl ToJson for i32 {
    fn write_json(&self, writer: &mut Writer) {
        writer.number(i64::from(*self));
    }
}

impl ToJson for i64 {
    fn write_json(&self, writer: &mut Writer) {
        writer.number(*self);
    }
}

impl ToJson for f64 {
    fn write_json(&self, writer: &mut Writer) {
        Value::from(*self).write_json(writer);
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn write_json(&self, writer: &mut Writer) {
        (**self).write_json(writer);
    }

    fn is_null(&self) -> bool {
        (**self).is_null()
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn write_json(&self, writer: &mut Writer) {
        match self {
            Some(value) => value.write_json(writer),
            None => writer.word("null"),
        }
    }

    fn is_null(&self) -> bool {
        self.as_ref().is_none_or(ToJson::is_null)
    }
}

impl<T: ToJson> ToJson for [T] {
    fn write_json(&self, writer: &mut Writer) {
        writer.array(|writer| self.iter().for_each(|value| writer.element(value)));
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write_json(&self, writer: &mut Writer) {
        self.as_slice().write_json(writer);
    }
}

impl<T: ToJson> ToJson for BTreeSet<T> {
    fn write_json(&self, writer: &mut Writer) {
        writer.array(|writer| self.iter().for_each(|value| writer.element(value)));
    }
}

impl<K: JsonKey, T: ToJson> ToJson for BTreeMap<K, T> {
    fn write_json(&self, writer: &mut Writer) {
        writer.object(|writer| {
            for (key, value) in self.iter().filter(|(_, value)| !value.is_null()) {
                key.write_key(writer);
                value.write_json(writer);
            }
        });
    }
}

impl ToJson for Map<String, Value> {
    fn write_json(&self, writer: &mut Writer) {
        writer.object(|writer| self.iter().for_each(|(key, value)| writer.field(key, value)));
    }
}

impl ToJson for Value {
    fn write_json(&self, writer: &mut Writer) {
        match self {
            Value::Null => writer.word("null"),
            Value::Bool(value) => value.write_json(writer),
            Value::Number(number) => writer.word(&number.to_string()),
            Value::String(text) => writer.string(text),
            Value::Array(values) => values.write_json(writer),
            Value::Object(map) => map.write_json(writer),
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use crate::message_queue::MessageQueue;
    use serde_json::json;

    fn text(value: &impl ToJson, form: Form) -> String {
        String::from_utf8(value.to_json_in(form)).expect("UTF-8")
    }

    #[test]
    fn the_type_of_a_key_decides_its_form() {
        let addresses = BTreeMap::from([(0_i64, "a:1".to_owned()), (1, "é".to_owned())]);
        assert_eq!(text(&addresses, Form::Compact), r#"{0:"a:1",1:"é"}"#);
        assert_eq!(text(&addresses, Form::Standard), r#"{"0":"a:1","1":"\u00e9"}"#);
        let names = BTreeMap::from([("0".to_owned(), 1)]);
        assert_eq!(text(&names, Form::Compact), r#"{"0":1}"#);
        let queues = BTreeMap::from([(MessageQueue::new("T", "b", 0), 5_i64)]);
        assert_eq!(text(&queues, Form::Compact), r#"{{"brokerName":"b","queueId":0,"topic":"T"}:5}"#);
    }

    #[test]
    fn files_are_indented_with_tabs() {
        let value = json!({"a": {"b": [1, 2], "c": {}}, "d": [], "e": null, "f": 0.0});
        let expected = "{\n\t\"a\":{\n\t\t\"b\":[\n\t\t\t1,\n\t\t\t2\n\t\t],\n\t\t\"c\":{}\n\t},\n\t\"d\":[],\n\t\"f\":0.0\n}";
        assert_eq!(text(&value, Form::Pretty), expected);
    }

    #[test]
    fn characters_outside_the_basic_plane_are_escaped_as_java_does() {
        assert_eq!(text(&"🚀\n", Form::Standard), r#""\ud83d\ude80\n""#);
        assert_eq!(parse(br#""\ud83d\ude80\n""#), Ok(json!("🚀\n")));
    }
}
