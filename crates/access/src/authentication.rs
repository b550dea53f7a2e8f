//! Whether a request comes from the user it names.

use crate::user::{User, UserStatus};
use roxmq_protocol::signature::Signature;

/// What a request has to show for its name.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a> {
    /// The user's name, if the request has one.
    pub name: Option<&'a str>,
    /// What the request carries; nothing if that is missing or no signature at all.
    pub signature: Option<Signature>,
}

/// In the Java server's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticationError {
    #[error("username cannot be null.")]
    NoName,
    #[error("User:{0} is not found.")]
    UnknownUser(String),
    #[error("User:{0} is disabled.")]
    Disabled(String),
    #[error("check signature failed.")]
    Signature,
}

/// The user behind a request: `find` knows users by their names, `expected` signs what was received.
pub fn authenticate<U: AsRef<User>>(
    proof: Proof<'_>,
    find: impl FnOnce(&str) -> Option<U>,
    expected: impl FnOnce(&User) -> Signature,
) -> Result<U, AuthenticationError> {
    let name = proof.name.filter(|name| !name.is_empty()).ok_or(AuthenticationError::NoName)?;
    let found = find(name).ok_or_else(|| AuthenticationError::UnknownUser(name.to_owned()))?;
    let user = found.as_ref();
    if user.status == UserStatus::Disable {
        return Err(AuthenticationError::Disabled(name.to_owned()));
    }
    match proof.signature {
        Some(signature) if signature.matches(&expected(user)) => Ok(found),
        _ => Err(AuthenticationError::Signature),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::UserType;
    use roxmq_protocol::signature::SigningKey;
    use std::sync::Arc;

    const CONTENT: &[u8] = b"content";

    #[track_caller]
    fn check(name: Option<&str>, password: Option<&str>, expected: Result<&str, &str>) {
        let user = User::new("u", "p", UserType::Normal).expect("a user");
        let mut disabled = User::new("off", "p", UserType::Super).expect("a user");
        disabled.status = UserStatus::Disable;
        let users = [Arc::new(user), Arc::new(disabled)];
        let signature = password.map(|password| SigningKey::new(password).sign(CONTENT));
        let found = authenticate(
            Proof { name, signature },
            |name| users.iter().find(|user| user.name == name).cloned(),
            |user| user.key().sign(CONTENT),
        );
        let outcome = found.map(|user| user.name.clone()).map_err(|error| error.to_string());
        assert_eq!(outcome.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn names_need_their_proof() {
        check(Some("u"), Some("p"), Ok("u"));
        check(None, Some("p"), Err("username cannot be null."));
        check(Some(""), Some("p"), Err("username cannot be null."));
        check(Some("x"), Some("p"), Err("User:x is not found."));
        check(Some("off"), Some("p"), Err("User:off is disabled."));
        check(Some("u"), Some("q"), Err("check signature failed."));
        check(Some("u"), None, Err("check signature failed."));
    }
}
