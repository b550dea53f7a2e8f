//! The store's part of the configuration.

use super::validate::parse_hours;
use super::{BrokerConfig, ConfigErrors};
use crate::delay::DelayLevels;
use roxmq_store::{RetentionOptions, StoreOptions, TopicRetention};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

impl BrokerConfig {
    /// `storePathRootDir`, by default `store` in the home directory.
    pub fn store_root(&self) -> PathBuf {
        self.store_path_root_dir.clone().unwrap_or_else(|| {
            let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
            home.join("store")
        })
    }

    /// Where changes of the configuration are written: the file it came from, or one in the store.
    pub fn config_file(&self) -> PathBuf {
        let in_store = || self.store_root().join("config").join("broker.properties");
        self.broker_config_path.clone().unwrap_or_else(in_store)
    }

    /// `messageDelayLevel`
    pub fn delay_levels(&self) -> Result<DelayLevels, ConfigErrors> {
        DelayLevels::parse(&self.message_delay_level).map_err(|error| ConfigErrors(vec![error.to_string()]))
    }

    pub fn store_options(&self) -> Result<StoreOptions, ConfigErrors> {
        let delete_hours = parse_hours(&self.delete_when).map_err(|fault| ConfigErrors(vec![fault]))?;
        let mut options = StoreOptions::new(self.store_root());
        if let Some(dir) = &self.store_path_commit_log {
            options.commit_log_dir = dir.clone();
        }
        options.commit_log_file_bytes = self.mapped_file_size_commit_log;
        options.queue_file_bytes = self.mapped_file_size_consume_queue;
        options.index_slots = self.max_hash_slot_num;
        options.index_entries = self.max_index_num;
        options.index_enabled = self.message_index_enable;
        options.flush = self.flush_disk_type;
        options.sync_flush_timeout = Duration::from_millis(self.sync_flush_timeout_ms);
        options.flush_interval = Duration::from_millis(self.flush_interval_commit_log_ms);
        options.body_bytes_max = self.max_message_size;
        options.delay_levels_ms = self.delay_levels()?.delays_ms().to_vec();
        options.retention = RetentionOptions {
            keep: Duration::from_secs(self.file_reserved_time * 3600),
            delete_hours,
            clean_percent: self.disk_max_used_space_ratio,
            force_percent: self.disk_space_clean_forcibly_ratio,
            refuse_percent: self.disk_space_warning_level_ratio,
        };
        // The topics are read from the store that these options open.
        options.topic_retention = Arc::new(TopicRetention::incomplete());
        Ok(options)
    }
}
