//! Changes of the configuration while the broker runs.
//!
//! A request is taken as a whole or not at all. Keys that name files, run code, or say who may ask, can't be changed by
//! anybody over the network.

use super::{BrokerConfig, SetError, accepted, hint, keys::Takes};

/// Beside those of `configBlackList`.
const NEVER_BY_REQUEST: &[&str] = &[
    "rocketmqHome",
    "configBlackList",
    "brokerConfigPath",
    "storePathRootDir",
    "storePathCommitLog",
    "storePathDLedgerCommitLog",
    "storePathEpochFile",
    "storePathBrokerIdentity",
    "readOnlyCommitLogStorePaths",
    "storePathConsumeQueue",
    "storePathIndex",
    "storeCheckpoint",
    "abortFile",
    "messageStorePlugIn",
    "authConfigPath",
    "remoteAdminEnable",
    // Who may change the configuration is not to become a super user by that.
    "authenticationEnabled",
    "authorizationEnabled",
    "authenticationWhitelist",
    "authorizationWhitelist",
    "initAuthenticationUser",
    "innerClientAuthenticationCredentials",
];

/// A change that may be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub config: BrokerConfig,
    /// Keys that take effect at the next start.
    pub at_start: Vec<String>,
    /// Keys that have no effect in this server.
    pub without_effect: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    #[error("Can not update config in black list. ({0})")]
    Forbidden(String),
    /// A sentence for each fault.
    #[error("nothing was changed: {}", .0.join("; "))]
    Invalid(Vec<String>),
}

impl BrokerConfig {
    /// The configuration after the change, or why there is none.
    pub fn update<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Update, UpdateError> {
        let mut update = Update { config: self.clone(), at_start: Vec::new(), without_effect: Vec::new() };
        let mut faults = Vec::new();
        for (key, value) in pairs {
            let (key, value) = (key.trim(), value.trim());
            if self.is_forbidden(key) {
                return Err(UpdateError::Forbidden(key.to_owned()));
            }
            if value.contains(char::is_control) {
                faults.push(format!("the value of {key} has control characters"));
                continue;
            }
            faults.extend(update.apply(key, value));
        }
        faults.extend(update.config.validate());
        if faults.is_empty() { Ok(update) } else { Err(UpdateError::Invalid(faults)) }
    }

    fn is_forbidden(&self, key: &str) -> bool {
        NEVER_BY_REQUEST.contains(&key)
            || self.config_black_list.split(';').any(|listed| listed.trim() == key)
    }
}

impl Update {
    /// Makes one change, or says what is wrong with it.
    fn apply(&mut self, key: &str, value: &str) -> Option<String> {
        match self.config.set(key, value) {
            Ok(()) => {
                if BrokerConfig::KEYS.contains(&(key, Takes::AtStart)) {
                    self.at_start.push(key.to_owned());
                }
                None
            }
            Err(SetError::Invalid { expected }) => {
                Some(format!("{key} should be {expected} but is '{value}'"))
            }
            Err(SetError::Unknown) if accepted::is_accepted(key) => {
                self.config.others.insert(key.to_owned(), value.to_owned());
                self.without_effect.push(key.to_owned());
                None
            }
            Err(SetError::Unknown) => {
                let hint =
                    hint::nearest(key).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                Some(format!("{key} is no known key{hint}"))
            }
        }
    }
}
