//! What a tool sees of the configuration: every key that the Java server lists, with its value.

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
        all.extend(self.others.clone());
        all.extend(self.fields().into_iter().map(|(key, value)| (key.to_owned(), value)));
        all
    }
}
