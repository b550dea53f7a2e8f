//! What a name server is configured with, under the Java server's keys.
//!
//! One table lists every key with how to read and show it, and whether a change over the network takes effect, waits
//! for a restart, or is never accepted.

mod keys;
mod store;

pub use store::{ChangeError, ConfigStore};

use crate::route::RoutePolicy;
use keys::{Change, KEYS};
use roxmq_protocol::properties_text;
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct NamesrvConfig {
    /// `listenPort`, 9876.
    pub listen_port: u16,
    /// `bindAddress`, all interfaces.
    pub bind_address: String,
    /// `serverChannelMaxIdleTimeSeconds`, 120.
    pub idle_timeout_seconds: u32,
    /// `serverSelectorThreads`: threads that drive connections, 0 for half of the cores.
    pub selector_threads: u16,
    /// `kvConfigPath`: where the KV configuration is kept. Not changed over the network.
    pub kv_config_path: PathBuf,
    /// `configStorePath`: where configuration changes are kept. Not changed over the network.
    pub config_store_path: PathBuf,
    /// `scanNotActiveBrokerInterval`, 5000: how often silent brokers are looked for.
    pub scan_interval_ms: u64,
    /// `orderMessageEnable`: routes carry the topic's entry of the order configuration.
    pub order_message_enable: bool,
    /// `returnOrderTopicConfigToBroker`, on: registrations are answered with the order configuration.
    pub return_order_topic_config: bool,
    /// `supportActingMaster`: routes show the smallest slave of a set without master as its master.
    pub support_acting_master: bool,
    /// `notifyMinBrokerIdChanged`: members of a set are told when its smallest id changes.
    pub notify_min_broker_id_changed: bool,
    /// `deleteTopicWithBrokerRegistration`: a topic that a registration lacks is gone on that broker.
    /// Brokers that register single topics need `enableSingleTopicRegister` with it.
    pub delete_topic_with_registration: bool,
    /// `needWaitForService`: no routes in the first `waitSecondsForService` (45) after start.
    pub need_wait_for_service: bool,
    pub wait_seconds_for_service: u32,
    /// `enableAllTopicList`, on: code 206 is answered.
    pub enable_all_topic_list: bool,
    /// `enableTopicList`, on: codes 224 and 311 to 313 are answered.
    pub enable_topic_list: bool,
    /// `configBlackList`: further keys, separated by `;`, that are not changed over the network.
    pub config_black_list: String,
    /// `remoteAdminEnable`: requests that change configuration, permissions or topics are accepted from other hosts
    /// than this one. Off: an open port must not be enough to reconfigure a cluster.
    pub remote_admin_enable: bool,
    /// Keys that were given and are known in the Java server but do nothing here; shown when asked for.
    ignored: Vec<(String, String)>,
}

/// Something about a configuration that didn't stop it from being used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigNotice {
    #[error("{key} is not a key of the name server and was ignored{}", hint(nearest))]
    Unknown { key: String, nearest: Option<&'static str> },
    #[error("{key} has no effect in this name server: {reason}")]
    NoEffect { key: &'static str, reason: &'static str },
}

/// A value or a change that isn't accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{key} should be {expected} but is '{value}'")]
    Value { key: &'static str, expected: &'static str, value: String },
    #[error("{key} is not a key of the name server{}", hint(nearest))]
    Unknown { key: String, nearest: Option<&'static str> },
    #[error("{key} can't be changed over the network; set it in the configuration file and restart")]
    Protected { key: String },
}

/// Everything that is wrong with a configuration or a change, one reason a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl NamesrvConfig {
    /// The defaults, with files under `namesrv` in this home directory.
    pub fn new(home: &Path) -> Self {
        NamesrvConfig {
            listen_port: 9876,
            bind_address: "0.0.0.0".to_owned(),
            idle_timeout_seconds: 120,
            selector_threads: 0,
            kv_config_path: home.join("namesrv/kvConfig.json"),
            config_store_path: home.join("namesrv/namesrv.properties"),
            scan_interval_ms: 5_000,
            order_message_enable: false,
            return_order_topic_config: true,
            support_acting_master: false,
            notify_min_broker_id_changed: false,
            delete_topic_with_registration: false,
            need_wait_for_service: false,
            wait_seconds_for_service: 45,
            enable_all_topic_list: true,
            enable_topic_list: true,
            config_black_list: "configBlackList;configStorePath;kvConfigPath".to_owned(),
            remote_admin_enable: false,
            ignored: Vec::new(),
        }
    }

    /// The defaults changed by keys of a configuration file. Unknown keys are no error, since files of the Java
    /// server hold keys of several programs; a value that doesn't read as its type is.
    pub fn from_properties(
        home: &Path,
        properties: &[(String, String)],
    ) -> Result<(Self, Vec<ConfigNotice>), ConfigErrors> {
        let mut config = NamesrvConfig::new(home);
        let (mut notices, mut errors) = (Vec::new(), Vec::new());
        for (name, value) in properties {
            if let Some(key) = keys::find(name) {
                errors.extend(key.set(&mut config, value).err());
            } else if let Some((key, reason)) = keys::find_ignored(name) {
                notices.push(ConfigNotice::NoEffect { key, reason });
                config.remember(name, value);
            } else {
                notices.push(ConfigNotice::Unknown { key: name.clone(), nearest: keys::nearest(name) });
            }
        }
        if errors.is_empty() { Ok((config, notices)) } else { Err(ConfigErrors(errors)) }
    }

    /// Whether the name server has this key, so that one file can configure several parts.
    pub fn knows(key: &str) -> bool {
        keys::find(key).is_some() || keys::find_ignored(key).is_some()
    }

    /// The configuration after a change that came over the network: all of it or nothing.
    pub fn changed(&self, properties: &[(String, String)]) -> Result<Self, ConfigErrors> {
        let mut config = self.clone();
        let mut errors = Vec::new();
        for (name, value) in properties {
            errors.extend(self.change(&mut config, name, value).err());
        }
        if errors.is_empty() { Ok(config) } else { Err(ConfigErrors(errors)) }
    }

    fn change(&self, config: &mut NamesrvConfig, name: &str, value: &str) -> Result<(), ConfigError> {
        let protected = || ConfigError::Protected { key: name.to_owned() };
        if self.config_black_list.split(';').any(|listed| listed.trim() == name) {
            return Err(protected());
        }
        if let Some(key) = keys::find(name) {
            return if key.change == Change::Never { Err(protected()) } else { key.set(config, value) };
        }
        if keys::find_ignored(name).is_some() {
            if keys::names_a_path(name) {
                return Err(protected());
            }
            config.remember(name, value);
            return Ok(());
        }
        Err(ConfigError::Unknown { key: name.to_owned(), nearest: keys::nearest(name) })
    }

    /// The keys among these whose change waits for a restart.
    pub fn waits_for_restart(properties: &[(String, String)]) -> impl Iterator<Item = &str> {
        let at_start = |name: &str| keys::find(name).is_some_and(|key| key.change == Change::AtStart);
        properties.iter().map(|(name, _)| name.as_str()).filter(move |name| at_start(name))
    }

    /// Every key with its value, sorted, as lines of a properties file.
    pub fn to_properties(&self) -> String {
        let own = KEYS.iter().map(|key| (key.name, (key.show)(self)));
        let ignored = self.ignored.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let mut lines: Vec<(&str, String)> = own.chain(ignored).collect();
        lines.sort();
        properties_text::write(lines.iter().map(|(name, value)| (*name, value.as_str())))
    }

    pub(crate) fn route_policy(&self) -> RoutePolicy {
        RoutePolicy {
            acting_master: self.support_acting_master,
            notify_min_broker_id: self.notify_min_broker_id_changed,
            delete_unregistered_topics: self.delete_topic_with_registration,
        }
    }

    fn remember(&mut self, name: &str, value: &str) {
        self.ignored.retain(|(known, _)| known != name);
        self.ignored.push((name.to_owned(), value.to_owned()));
    }
}

impl ConfigErrors {
    /// Whether a key was refused for what it is and not for its value.
    pub fn has_protected(&self) -> bool {
        self.0.iter().any(|error| matches!(error, ConfigError::Protected { .. }))
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |key| format!("; did you mean {key}?"))
}

#[cfg(test)]
mod tests;
