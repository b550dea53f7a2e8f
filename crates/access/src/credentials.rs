//! What a server signs its own requests to others with (`innerClientAuthenticationCredentials`).

use roxmq_protocol::json::{Fields, FromJson, JsonError, Value};
use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub access_key: String,
    pub secret_key: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    #[error("innerClientAuthenticationCredentials is not JSON: {0}")]
    Json(#[from] JsonError),
    #[error("innerClientAuthenticationCredentials has no {0}")]
    Missing(&'static str),
}

impl Credentials {
    /// Reads the key's value, `{"accessKey":"..","secretKey":".."}`; none if it is blank.
    pub fn read(text: &str) -> Result<Option<Self>, CredentialsError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let object = Value::from_json_bytes(text.as_bytes())?;
        let field = |name| -> Result<String, CredentialsError> {
            let value: Option<String> = object.field(name)?;
            value.filter(|value| !value.trim().is_empty()).ok_or(CredentialsError::Missing(name))
        };
        Ok(Some(Credentials { access_key: field("accessKey")?, secret_key: field("secretKey")? }))
    }
}

/// Secrets don't belong into logs.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_keys_are_needed() {
        let check = |text: &str, expected: Result<Option<(&str, &str)>, &str>| {
            let read = Credentials::read(text).map_err(|error| error.to_string());
            match (&read, expected) {
                (Ok(read), Ok(expected)) => {
                    let keys = read.as_ref().map(|read| (&*read.access_key, &*read.secret_key));
                    assert_eq!(keys, expected, "{text}");
                }
                (Err(error), Err(piece)) => assert!(error.contains(piece), "{text}: {error}"),
                _ => panic!("{text}: {read:?}"),
            }
        };
        check("", Ok(None));
        check(" ", Ok(None));
        check(r#"{"accessKey":"a","secretKey":"s"}"#, Ok(Some(("a", "s"))));
        check(r#"{"accessKey":"a","secretKey":"s","securityToken":"t"}"#, Ok(Some(("a", "s"))));
        check(r#"{"accessKey":"a"}"#, Err("secretKey"));
        check(r#"{"accessKey":" ","secretKey":"s"}"#, Err("accessKey"));
        check("{", Err("not JSON"));
        check("[]", Err("innerClientAuthenticationCredentials"));
    }

    #[test]
    fn the_secret_is_not_shown() {
        let credentials = Credentials { access_key: "a".to_owned(), secret_key: "hidden".to_owned() };
        assert!(!format!("{credentials:?}").contains("hidden"));
    }
}
