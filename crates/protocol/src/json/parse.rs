//! The lenient reader.

use super::{JsonError, Map, Value};
use crate::text::unescape;

/// Deeper than any body nests; a text that goes beyond is an attack or an accident.
const DEPTH_MAX: usize = 64;
/// More values than the largest cluster's tables have. Bounds the memory that a text of many tiny values takes.
const VALUES_MAX: usize = 4_000_000;

/// Reads one value. Beyond JSON it takes bare numbers, bare words and whole objects as keys (an object becomes a
/// key with its JSON as text), single quotes, bare words as strings, and commas too many. Of equal keys the last
/// counts.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError::Syntax { at: error.valid_up_to(), reason: "this isn't UTF-8" })?;
    let mut parser = Parser { text, at: 0, values: 0 };
    let value = parser.value(0)?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return parser.fail("the text should end here");
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    values: usize,
}

impl<'a> Parser<'a> {
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

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        if depth > DEPTH_MAX {
            return self.fail("values are nested too deep");
        }
        self.values += 1;
        if self.values > VALUES_MAX {
            return self.fail("there are too many values");
        }
        self.skip_blanks();
        match self.byte() {
            b'{' => self.object(depth).map(Value::Object),
            b'[' => self.array(depth).map(Value::Array),
            quote @ (b'"' | b'\'') => self.string(quote).map(Value::String),
            _ => self.word().map(word_value),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Map<String, Value>, JsonError> {
        self.at += 1;
        let mut map = Map::new();
        loop {
            self.skip_commas();
            if self.byte() == b'}' {
                self.at += 1;
                return Ok(map);
            }
            let key = self.key(depth)?;
            self.skip_blanks();
            if self.byte() != b':' {
                return self.fail("a colon should follow the key");
            }
            self.at += 1;
            map.insert(key, self.value(depth + 1)?);
            self.expect_separator(b'}', "a comma or the end of the object should be here")?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, JsonError> {
        self.at += 1;
        let mut values = Vec::new();
        loop {
            self.skip_commas();
            if self.byte() == b']' {
                self.at += 1;
                return Ok(values);
            }
            values.push(self.value(depth + 1)?);
            self.expect_separator(b']', "a comma or the end of the array should be here")?;
        }
    }

    /// Looks for a comma or the closing bracket and leaves it where it is.
    fn expect_separator(&mut self, end: u8, reason: &'static str) -> Result<(), JsonError> {
        self.skip_blanks();
        if self.byte() == b',' || self.byte() == end { Ok(()) } else { self.fail(reason) }
    }

    fn key(&mut self, depth: usize) -> Result<String, JsonError> {
        match self.byte() {
            quote @ (b'"' | b'\'') => self.string(quote),
            b'{' | b'[' => Ok(self.value(depth + 1)?.to_string()),
            _ => self.word().map(str::to_owned),
        }
    }

    fn string(&mut self, quote: u8) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        let mut copied = self.at;
        loop {
            match self.text.as_bytes().get(self.at) {
                None => return self.fail("a string doesn't end"),
                Some(byte) if *byte == quote => break,
                Some(b'\\') => {
                    let Some((character, length)) = unescape(&self.text.as_bytes()[self.at..]) else {
                        return self.fail("an escape isn't one of JSON's");
                    };
                    out.push_str(&self.text[copied..self.at]);
                    out.push(character);
                    self.at += length;
                    copied = self.at;
                }
                Some(_) => self.at += 1,
            }
        }
        out.push_str(&self.text[copied..self.at]);
        self.at += 1;
        Ok(out)
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

fn word_value(word: &str) -> Value {
    match word {
        "null" | "NaN" | "undefined" => return Value::Null,
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
