//! The broker's configuration under the Java server's keys.
//!
//! Every key that the Java server knows is accepted. Those that mean something here are fields of [`BrokerConfig`];
//! the others are kept as they were given, so that tools can see them. What is wrong with a configuration is said all
//! at once, under the names of the keys.

mod accepted;
mod hint;
mod keys;
mod listing;
mod live;
mod store_options;
mod validate;
mod value;

pub use keys::BrokerConfig;
pub use live::{Update, UpdateError};
pub use value::{BrokerRole, ConfigValue, MetricsExporter, Secret};

use parking_lot::RwLock;
use std::fmt;
use std::sync::Arc;

/// Everything that is wrong with a configuration, a line for each fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<String>);

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl BrokerConfig {
    /// Reads pairs of keys and values, as a file or a command line gives them; of equal keys the last counts. Also
    /// gives what somebody should know although it is no error: unknown keys, and keys that have no effect here.
    pub fn from_pairs<K, V>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(Self, Vec<String>), ConfigErrors>
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        let mut config = BrokerConfig::default();
        let mut errors = Vec::new();
        let mut notes = Vec::new();
        for (key, value) in pairs {
            let (key, value) = (key.as_ref().trim(), value.as_ref().trim());
            match config.set(key, value) {
                Ok(()) => {}
                Err(SetError::Invalid { expected }) => {
                    errors.push(format!("{key} should be {expected} but is '{value}'"));
                }
                Err(SetError::Unknown) => {
                    notes.extend(note_without_effect(key));
                    config.others.insert(key.to_owned(), value.to_owned());
                }
            }
        }
        errors.extend(config.validate());
        if errors.is_empty() { Ok((config, notes)) } else { Err(ConfigErrors(errors)) }
    }
}

/// What to say about a key that isn't a field of the configuration.
fn note_without_effect(key: &str) -> Option<String> {
    if accepted::is_accepted(key) {
        return Some(format!("{key} has no effect in this server"));
    }
    let hint = hint::nearest(key).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    Some(format!("{key} is no known key{hint}"))
}

/// Why a value was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetError {
    /// No field of the configuration has this key.
    Unknown,
    Invalid {
        expected: &'static str,
    },
}

/// The configuration as it is now. Readers take a whole copy, so that one request sees one configuration.
#[derive(Debug)]
pub struct CurrentConfig(RwLock<Arc<BrokerConfig>>);

impl CurrentConfig {
    pub fn new(config: BrokerConfig) -> Self {
        CurrentConfig(RwLock::new(Arc::new(config)))
    }

    pub fn get(&self) -> Arc<BrokerConfig> {
        Arc::clone(&self.0.read())
    }

    pub fn set(&self, config: BrokerConfig) {
        *self.0.write() = Arc::new(config);
    }
}

#[cfg(test)]
mod tests;
