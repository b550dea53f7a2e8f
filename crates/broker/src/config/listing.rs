//! What a tool sees of the configuration: every key that the Java server lists, with its value.

use super::value::HIDDEN;
use super::{BrokerConfig, accepted};
use std::collections::BTreeMap;

impl BrokerConfig {
    /// Keys and values in order of keys: the fields, the keys that are only accepted with what was given for them or
    /// the Java server's default, and unknown keys that were given.
    pub fn listing(&self) -> BTreeMap<String, String> {
        let mut all: BTreeMap<String, String> = accepted::ACCEPTED
            .iter()
            .map(|(key, default)| ((*key).to_owned(), (*default).to_owned()))
            .collect();
        all.extend(self.others.iter().map(|(key, value)| (key.clone(), shown(key, value).to_owned())));
        all.extend(self.fields().into_iter().map(|(key, value)| (key.to_owned(), value)));
        all
    }
}

/// What a tool sees of a key that means nothing here, but perhaps something to its owner.
fn shown<'a>(key: &str, value: &'a str) -> &'a str {
    let is_secret = ["password", "secret"].iter().any(|word| key.to_ascii_lowercase().contains(word));
    if is_secret && !value.is_empty() { HIDDEN } else { value }
}
