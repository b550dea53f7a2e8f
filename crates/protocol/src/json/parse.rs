//! The lenient reader.

use super::fields::{name_field, wrong_type};
use super::{FromJson, JsonError, Map, Value};
use crate::text::unescape;
use std::borrow::Cow;

/// Deeper than any body nests; a text that goes beyond is an attack or an accident.
const DEPTH_MAX: usize = 64;
/// More values than the largest cluster's tables have. Bounds the memory that a text of many tiny values takes.
const VALUES_MAX: usize = 4_000_000;

/// Reads one value into a tree.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    Value::from_json_bytes(bytes)
}

/// Reads a text value by value. Beyond JSON it takes bare numbers, bare words and whole objects as keys (an object
/// becomes a key with its JSON as text), single quotes, bare words as strings, and commas too many.
pub struct Parser<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| JsonError::Syntax { at: error.valid_up_to(), reason: "this isn't UTF-8" })?;
        Ok(Parser { text, at: 0, values: 0, depth: 0 })
    }

    /// Refuses what stands behind the last value.
    pub(super) fn end(mut self) -> Result<(), JsonError> {
        self.skip_blanks();
        if self.at < self.text.len() { self.fail("the text should end here") } else { Ok(()) }
    }

    fn fail<T>(&self, reason: &'static str) -> Result<T, JsonError> {
        Err(JsonError::Syntax { at: self.at, reason })
    }

    /// The byte at hand; 0 at the end, which is no byte that any rule expects.
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn skip_commas(&mut self) {
        self.skip_blanks();
        while self.byte() == b',' {
            self.at += 1;
            self.skip_blanks();
        }
    }

    /// The value at hand as a tree. Of equal keys the last counts.
    pub fn value(&mut self) -> Result<Value, JsonError> {
        self.skip_blanks();
        match self.byte() {
            b'{' => {
                let mut map = Map::new();
                self.object(|parser, key| {
                    map.insert(key.into_owned(), parser.value()?);
                    Ok(())
                })?;
                Ok(Value::Object(map))
            }
            b'[' => {
                let mut values = Vec::new();
                self.array(|parser| {
                    values.push(parser.value()?);
                    Ok(())
                })?;
                Ok(Value::Array(values))
            }
            byte => {
                self.count_value()?;
                match byte {
                    b'"' | b'\'' => Ok(Value::String(self.string(byte)?.into_owned())),
                    _ => self.word().map(word_value),
                }
            }
        }
    }

    /// Reads the value at hand as the field of this name; nothing for null.
    pub fn field<T: FromJson>(&mut self, name: &'static str) -> Result<Option<T>, JsonError> {
        Option::read(self).map_err(|error| name_field(error, name))
    }

    /// Reads past the value at hand if it is null.
    pub(super) fn skip_null(&mut self) -> Result<bool, JsonError> {
        self.skip_blanks();
        let start = self.at;
        if !matches!(self.byte(), b'n' | b'N' | b'u') || !is_null_word(self.word()?) {
            self.at = start;
            return Ok(false);
        }
        self.count_value()?;
        Ok(true)
    }

    /// Reads an object; each key is handed over when its value is at hand, which is to be read then.
    pub fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.enter(b'{', "an object")?;
        loop {
            self.skip_commas();
            if self.byte() == b'}' {
                break;
            }
            let key = self.key()?;
            self.skip_blanks();
            if self.byte() != b':' {
                return self.fail("a colon should follow the key");
            }
            self.at += 1;
            field(self, key)?;
            self.expect_separator(b'}', "a comma or the end of the object should be here")?;
        }
        self.leave();
        Ok(())
    }

    /// Reads an array; the call is made when an item is at hand, which is to be read then.
    pub fn array(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.enter(b'[', "an array")?;
        loop {
            self.skip_commas();
            if self.byte() == b']' {
                break;
            }
            item(self)?;
            self.expect_separator(b']', "a comma or the end of the array should be here")?;
        }
        self.leave();
        Ok(())
    }

    fn enter(&mut self, bracket: u8, expected: &'static str) -> Result<(), JsonError> {
        self.skip_blanks();
        if self.byte() != bracket {
            return wrong_type(expected, &self.value()?);
        }
        self.count_value()?;
        self.at += 1;
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.at += 1;
        self.depth -= 1;
    }

    fn count_value(&mut self) -> Result<(), JsonError> {
        if self.depth > DEPTH_MAX {
            return self.fail("values are nested too deep");
        }
        self.values += 1;
        if self.values > VALUES_MAX {
            return self.fail("there are too many values");
        }
        Ok(())
    }

    /// Looks for a comma or the closing bracket and leaves it where it is.
    fn expect_separator(&mut self, end: u8, reason: &'static str) -> Result<(), JsonError> {
        self.skip_blanks();
        if self.byte() == b',' || self.byte() == end { Ok(()) } else { self.fail(reason) }
    }

    fn key(&mut self) -> Result<Cow<'a, str>, JsonError> {
        match self.byte() {
            quote @ (b'"' | b'\'') => self.string(quote),
            b'{' | b'[' => Ok(self.value()?.to_string().into()),
            _ => self.word().map(Cow::Borrowed),
        }
    }

    fn string(&mut self, quote: u8) -> Result<Cow<'a, str>, JsonError> {
        self.at += 1;
        let mut unescaped = String::new();
        let mut copied = self.at;
        loop {
            match self.text.as_bytes().get(self.at) {
                None => return self.fail("a string doesn't end"),
                Some(byte) if *byte == quote => break,
                Some(b'\\') => {
                    let Some((character, length)) = unescape(&self.text.as_bytes()[self.at..]) else {
                        return self.fail("an escape isn't one of JSON's");
                    };
                    unescaped.push_str(&self.text[copied..self.at]);
                    unescaped.push(character);
                    self.at += length;
                    copied = self.at;
                }
                Some(_) => self.at += 1,
            }
        }
        let rest = &self.text[copied..self.at];
        self.at += 1;
        if unescaped.is_empty() {
            return Ok(Cow::Borrowed(rest));
        }
        unescaped.push_str(rest);
        Ok(Cow::Owned(unescaped))
    }

    /// A number or a name without quotes.
    fn word(&mut self) -> Result<&'a str, JsonError> {
        let start = self.at;
        while matches!(self.byte(), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'_' | b'$')
        {
            self.at += 1;
        }
        if self.at == start {
            return self.fail("a value should start here");
        }
        Ok(&self.text[start..self.at])
    }
}

fn is_null_word(word: &str) -> bool {
    matches!(word, "null" | "NaN" | "undefined")
}

fn word_value(word: &str) -> Value {
    match word {
        _ if is_null_word(word) => return Value::Null,
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    if let Ok(number) = word.parse::<i64>() {
        return number.into();
    }
    if let Ok(number) = word.parse::<u64>() {
        return number.into();
    }
    let is_number =
        word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.'));
    match word.parse::<f64>() {
        Ok(number) if is_number && number.is_finite() => number.into(),
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_fastjson_writes_and_takes_is_read() {
        let check = |text: &str, expected: Value| assert_eq!(parse(text.as_bytes()), Ok(expected), "{text}");
        check(r#" {"a" : [1, -2, 3.5, "x", true, null] } "#, json!({"a": [1, -2, 3.5, "x", true, null]}));
        check(r#"{0:"x",-1:"y"}"#, json!({"0": "x", "-1": "y"}));
        check(
            r#"{"t":{{"topic":"T","brokerName":"b","queueId":0}:5}}"#,
            json!({"t": {r#"{"brokerName":"b","queueId":0,"topic":"T"}"#: 5}}),
        );
        check("{'a':'it\\'s',b:CLUSTERING,}", json!({"a": "it's", "b": "CLUSTERING"}));
        check("[1,,2,]", json!([1, 2]));
        check(r#"{"a":1,"a":2}"#, json!({"a": 2}));
        check(r#""\ud83d\ude80 \u00e9 é""#, json!("🚀 é é"));
        check("18446744073709551615", json!(u64::MAX));
        check("-9223372036854775808", json!(i64::MIN));
        check("1e3", json!(1000.0));
        check("{}", json!({}));
    }

    #[test]
    fn what_is_broken_is_refused_where_it_breaks() {
        let check = |text: &str, at: usize, reason: &'static str| {
            assert_eq!(parse(text.as_bytes()), Err(JsonError::Syntax { at, reason }), "{text}");
        };
        check("", 0, "a value should start here");
        check(r#"{"a"}"#, 4, "a colon should follow the key");
        check(r#"{"a":1"#, 6, "a comma or the end of the object should be here");
        check("[1 2]", 3, "a comma or the end of the array should be here");
        check(r#""a"#, 2, "a string doesn't end");
        check(r#""\q""#, 1, "an escape isn't one of JSON's");
        check("{} x", 3, "the text should end here");
        check(&"[".repeat(100_000), 65, "values are nested too deep");
        check(&"{".repeat(100_000), 65, "values are nested too deep");
        assert_eq!(parse(b"\"\xff\""), Err(JsonError::Syntax { at: 1, reason: "this isn't UTF-8" }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}:,\"'\\\\u0-9a-e.\\- é]{0,40}") {
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn standard_json_is_read_as_it_is(pairs in prop::collection::btree_map(".{0,9}", any::<(i64, bool)>(), 0..9)) {
            let value = json!(pairs);
            prop_assert_eq!(parse(value.to_string().as_bytes()), Ok(value));
        }
    }
}
