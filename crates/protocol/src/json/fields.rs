//! Typed values out of parsed JSON, as leniently as Java reads them: numbers where texts belong and the other way
//! round, `"true"` for true, null for nothing.

use super::{JsonError, Map, Parser, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A type that can be read from JSON.
pub trait FromJson: Sized {
    fn from_json(value: &Value) -> Result<Self, JsonError>;

    /// Reads the value at hand. Types that can do so without a tree between do.
    fn read(parser: &mut Parser<'_>) -> Result<Self, JsonError> {
        Self::from_json(&parser.value()?)
    }

    fn from_json_bytes(bytes: &[u8]) -> Result<Self, JsonError> {
        let mut parser = Parser::new(bytes)?;
        let read = Self::read(&mut parser)?;
        parser.end()?;
        Ok(read)
    }
}

/// A type that can be the key of a map, read from the text that the parser gives for keys.
pub trait JsonKey: Ord + Sized {
    fn from_key(key: &str) -> Result<Self, JsonError>;

    fn write_key(&self, writer: &mut super::Writer);
}

/// Typed access to the fields of an object. What isn't an object has no fields.
pub trait Fields {
    /// The field, or nothing if it is missing or null.
    fn field<T: FromJson>(&self, name: &'static str) -> Result<Option<T>, JsonError>;

    fn need<T: FromJson>(&self, name: &'static str) -> Result<T, JsonError> {
        self.field(name)?.ok_or(JsonError::Missing(name))
    }

    /// The field, or its type's default.
    fn field_or_default<T: FromJson + Default>(&self, name: &'static str) -> Result<T, JsonError> {
        Ok(self.field(name)?.unwrap_or_default())
    }

    fn field_or<T: FromJson>(&self, name: &'static str, default: T) -> Result<T, JsonError> {
        Ok(self.field(name)?.unwrap_or(default))
    }
}

impl Fields for Value {
    fn field<T: FromJson>(&self, name: &'static str) -> Result<Option<T>, JsonError> {
        match self.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::from_json(value).map(Some).map_err(|error| name_field(error, name)),
        }
    }
}

/// Names the field in an error about a value that has no name itself.
pub(super) fn name_field(error: JsonError, name: &'static str) -> JsonError {
    match error {
        JsonError::Type { field: UNNAMED, expected, found } => {
            JsonError::Type { field: name, expected, found }
        }
        error => error,
    }
}

/// Stands in an error for the field until [`name_field`] puts its name there.
const UNNAMED: &str = "(value)";

/// Refuses what is no object.
pub(crate) fn expect_object(value: &Value) -> Result<(), JsonError> {
    if value.is_object() { Ok(()) } else { wrong_type("an object", value) }
}

/// The fields of an object but those of the given names.
pub(crate) fn fields_except(value: &Value, names: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    let others = fields.filter(|(name, _)| !names.contains(&name.as_str()));
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The error for a value of the wrong type.
pub(super) fn wrong_type<T>(expected: &'static str, value: &Value) -> Result<T, JsonError> {
    const SHOWN_CHARS_MAX: usize = 80;
    let found = match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        other => other.to_string().chars().take(SHOWN_CHARS_MAX).collect(),
    };
    Err(JsonError::Type { field: UNNAMED, expected, found })
}

impl FromJson for Value {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        Ok(value.clone())
    }

    fn read(parser: &mut Parser<'_>) -> Result<Self, JsonError> {
        parser.value()
    }
}

impl FromJson for String {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(value) => Ok(value.to_string()),
            // Java reads an object or an array into a text as its JSON.
            other => Ok(other.to_string()),
        }
    }

    fn read(parser: &mut Parser<'_>) -> Result<Self, JsonError> {
        match parser.value()? {
            Value::String(text) => Ok(text),
            other => Self::from_json(&other),
        }
    }
}

impl FromJson for bool {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        match value {
            Value::Bool(value) => Ok(*value),
            Value::Number(number) => Ok(number.as_i64() == Some(1)),
            Value::String(text) if text.eq_ignore_ascii_case("true") || text == "1" => Ok(true),
            Value::String(text) if text.eq_ignore_ascii_case("false") || text == "0" || text.is_empty() => {
                Ok(false)
            }
            other => wrong_type("true or false", other),
        }
    }
}

impl FromJson for i64 {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        const EXPECTED: &str = "a 64-bit number";
        let number = match value {
            Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
            Value::String(text) if text.trim().is_empty() => Some(0),
            Value::String(text) => text.trim().parse().ok(),
            Value::Bool(value) => Some(i64::from(*value)),
            _ => None,
        };
        number.map_or_else(|| wrong_type(EXPECTED, value), Ok)
    }
}

/// A number with a fraction, cut as Java cuts it, if it fits.
fn whole(number: f64) -> Option<i64> {
    const BOUND: f64 = 9_007_199_254_740_992.0; // 2^53: beyond it a double doesn't hold every whole number.
    (number.abs() <= BOUND).then_some(number as i64)
}

impl FromJson for i32 {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        let number = i64::from_json(value).ok().and_then(|number| i32::try_from(number).ok());
        number.map_or_else(|| wrong_type("a 32-bit number", value), Ok)
    }
}

impl FromJson for f64 {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.map_or_else(|| wrong_type("a number", value), Ok)
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        if value.is_null() { Ok(None) } else { T::from_json(value).map(Some) }
    }

    fn read(parser: &mut Parser<'_>) -> Result<Self, JsonError> {
        if parser.skip_null()? { Ok(None) } else { T::read(parser).map(Some) }
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    /// Nulls in the array are left out.
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        match value {
            Value::Array(values) => {
                values.iter().filter(|value| !value.is_null()).map(T::from_json).collect()
            }
            other => wrong_type("an array", other),
        }
    }

    fn read(parser: &mut Parser<'_>) -> Result<Self, JsonError> {
        let mut items = Vec::new();
        parser.array(|parser| {
            items.extend(Option::read(parser)?);
            Ok(())
        })?;
        Ok(items)
    }
}

impl<T: FromJson + Ord> FromJson for BTreeSet<T> {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        Ok(Vec::from_json(value)?.into_iter().collect())
    }

    fn read(parser: &mut Parser<'_>) -> Result<Self, JsonError> {
        Ok(Vec::read(parser)?.into_iter().collect())
    }
}

impl<K: JsonKey, T: FromJson> FromJson for BTreeMap<K, T> {
    /// Null values are left out.
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        match value {
            Value::Object(map) => map
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| Ok((K::from_key(key)?, T::from_json(value)?)))
                .collect(),
            other => wrong_type("an object", other),
        }
    }

    fn read(parser: &mut Parser<'_>) -> Result<Self, JsonError> {
        let mut map = BTreeMap::new();
        parser.object(|parser, key| {
            let (key, value) = (K::from_key(&key), Option::read(parser)?);
            match value {
                Some(value) => {
                    map.insert(key?, value);
                }
                None => {
                    key.ok().and_then(|key| map.remove(&key));
                }
            }
            Ok(())
        })?;
        Ok(map)
    }
}

impl JsonKey for String {
    fn from_key(key: &str) -> Result<Self, JsonError> {
        Ok(key.to_owned())
    }

    fn write_key(&self, writer: &mut super::Writer) {
        writer.key(self);
    }
}

impl JsonKey for i64 {
    fn from_key(key: &str) -> Result<Self, JsonError> {
        i64::from_json(&Value::from(key))
    }

    fn write_key(&self, writer: &mut super::Writer) {
        writer.integer_key(*self);
    }
}

impl JsonKey for i32 {
    fn from_key(key: &str) -> Result<Self, JsonError> {
        i32::from_json(&Value::from(key))
    }

    fn write_key(&self, writer: &mut super::Writer) {
        writer.integer_key(i64::from(*self));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_read_as_the_type_that_is_asked_for() {
        let value = json!({"n": "5", "s": 7, "b": "TRUE", "zero": null, "f": 2.0, "o": {"1": "2"}, "a": [1, null, "2"]});
        assert_eq!(value.need::<i32>("n"), Ok(5));
        assert_eq!(value.need::<String>("s"), Ok("7".to_owned()));
        assert_eq!(value.need::<bool>("b"), Ok(true));
        assert_eq!(value.field::<i64>("zero"), Ok(None));
        assert_eq!(value.need::<i64>("f"), Ok(2));
        assert_eq!(value.need::<BTreeMap<i32, i64>>("o"), Ok(BTreeMap::from([(1, 2)])));
        assert_eq!(value.need::<Vec<i64>>("a"), Ok(vec![1, 2]));
        assert_eq!(value.field_or("none", 9), Ok(9));
    }

    #[test]
    fn errors_name_the_field() {
        let check = |error: JsonError, expected: &str| assert_eq!(error.to_string(), expected);
        let value = json!({"n": "x", "m": {"a": [1]}, "big": 4_294_967_296_i64});
        let text = "the JSON field n should be a 32-bit number but is \"x\"";
        check(value.need::<i32>("n").expect_err("no number"), text);
        let text = "the JSON field m should be a 64-bit number but is an array";
        check(value.need::<BTreeMap<String, i64>>("m").expect_err("an array"), text);
        let text = "the JSON field big should be a 32-bit number but is 4294967296";
        check(value.need::<i32>("big").expect_err("too large"), text);
        check(value.need::<i32>("none").expect_err("missing"), "the JSON field none is missing");
    }
}
