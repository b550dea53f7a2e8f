//! The broker's configuration under the Java server's keys.

use std::path::PathBuf;

/// Every key that has an effect, with its unit and its default. Keys of the Java server that have none here are
/// accepted and listed.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    pub broker_cluster_name: String,
    pub broker_name: String,
    pub broker_id: i64,
    pub listen_port: u16,
    pub store_path_root_dir: PathBuf,
    pub auto_create_topic_enable: bool,
    pub auto_create_subscription_group: bool,
    pub default_topic_queue_nums: i32,
    pub broker_permission: i32,
    pub trace_on: bool,
    pub region_id: String,
    /// Bytes of a body.
    pub max_message_size: usize,
    pub long_polling_enable: bool,
    pub short_polling_time_ms: u64,
    pub max_transfer_count_on_message_in_memory: usize,
    pub max_transfer_bytes_on_message_in_memory: usize,
    pub max_transfer_count_on_message_in_disk: usize,
    pub max_transfer_bytes_on_message_in_disk: usize,
    pub message_delay_level: String,
    pub reject_transaction_message: bool,
    pub lite_pull_message_enable: bool,
    pub enable_property_filter: bool,
    pub use_server_side_reset_offset: bool,
    pub notify_consumer_ids_changed_enable: bool,
    pub channel_expired_timeout_ms: u64,
    pub default_query_max_num: usize,
    /// `roxmqAllowRemoteAdmin`
    pub allow_remote_admin: bool,
}
