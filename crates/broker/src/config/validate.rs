//! What is wrong with values that read well by themselves.

use super::{BrokerConfig, BrokerRole};
use crate::access::first_users;
use crate::delay::DelayLevels;
use roxmq_protocol::names::{GROUP_CHARS_MAX, check_topic};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// A frame holds 16 MiB; what a message needs beside its body stays below this.
const MESSAGE_BYTES_MAX: usize = 15 << 20;
/// The smallest log file that holds a largest message, with room for the blank record at its end.
const LOG_FILE_SPARE_BYTES: u64 = 64 << 10;

impl BrokerConfig {
    /// Every fault, each as a sentence that names the key, the value and the limit.
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Faults::default();
        self.check_names(&mut faults);
        self.check_access(&mut faults);
        self.check_limits(&mut faults);
        self.check_store(&mut faults);
        self.check_timers(&mut faults);
        self.check_unavailable(&mut faults);
        faults.0
    }

    fn check_names(&self, faults: &mut Faults) {
        for (key, name) in
            [("brokerClusterName", &self.broker_cluster_name), ("brokerName", &self.broker_name)]
        {
            if let Err(error) = check_topic(name) {
                faults.add(format!("{key}: {error} (it is a topic's name, too)"));
            } else if name.len() > GROUP_CHARS_MAX {
                // The topics named after it get a prefix of the system.
                faults.add(format!("{key} has {} characters, the limit is {GROUP_CHARS_MAX}", name.len()));
            }
        }
        if self.trace_topic_enable
            && let Err(error) = check_topic(&self.msg_trace_topic_name)
        {
            faults.add(format!("msgTraceTopicName: {error}"));
        }
        if self.broker_id < 0 || (self.broker_role == BrokerRole::Slave && self.broker_id == 0) {
            faults
                .add(format!("brokerId is {}; a master has 0 and a slave a number above it", self.broker_id));
        }
    }

    /// What somebody relies on must not be ignored in silence.
    fn check_unavailable(&self, faults: &mut Faults) {
        if self.is_given_as_true("aclEnable") {
            faults.add(
                "aclEnable is true, but access control by plain_acl.yml is gone, here as in the Java server since 5.3.3, \
                 which would be open to everybody. Take the key out, set authenticationEnabled and \
                 authorizationEnabled to true, and make the users and their rights with mqadmin createUser and createAcl"
                    .to_owned(),
            );
        }
        if self.is_given_as_true("migrateAuthFromV1Enabled") {
            faults.add(
                "migrateAuthFromV1Enabled is true, but this server doesn't read plain_acl.yml. Make the users and their \
                 rights with mqadmin createUser and createAcl, and take the key out"
                    .to_owned(),
            );
        }
        for key in ["enableControllerMode", "enableDLegerCommitLog"] {
            if self.is_given_as_true(key) {
                faults.add(format!("{key} is true, but this server has no replication yet"));
            }
        }
        if self.broker_role == BrokerRole::Slave {
            faults.add("brokerRole is SLAVE, but this server has no replication yet".to_owned());
        }
    }

    /// Whether a key that has no field is true.
    fn is_given_as_true(&self, key: &str) -> bool {
        self.others.get(key).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    fn check_access(&self, faults: &mut Faults) {
        if self.authorization_enabled && !self.authentication_enabled {
            faults.add(
                "authorizationEnabled is true and authenticationEnabled is not: rights are those of users, and without \
                 the latter nobody knows who asks. Set authenticationEnabled=true, too"
                    .to_owned(),
            );
        }
        if let Err(error) = first_users(self) {
            faults.add(error.to_string());
        }
    }

    fn check_limits(&self, faults: &mut Faults) {
        faults.range("brokerPermission", self.broker_permission, 0..=6);
        faults.range("defaultTopicQueueNums", self.default_topic_queue_nums, 1..=65_536);
        faults.range("reviveQueueNum", self.revive_queue_num, 1..=65_536);
        faults.range("splitMetadataSize", self.split_metadata_size, 1..=1_000_000);
        faults.range("maxMessageSize", self.max_message_size, 1..=MESSAGE_BYTES_MAX);
        faults.range("defaultQueryMaxNum", self.default_query_max_num, 1..=64);
        faults.range("popPollingSize", self.pop_polling_size, 1..=1_000_000);
        faults.range("maxPopPollingSize", self.max_pop_polling_size, 1..=10_000_000);
        faults.range("shortPollingTimeMills", self.short_polling_time_ms, 1..=60_000);
        let transfer = [
            ("maxTransferCountOnMessageInMemory", self.max_transfer_count_on_message_in_memory),
            ("maxTransferCountOnMessageInDisk", self.max_transfer_count_on_message_in_disk),
            ("maxTransferBytesOnMessageInMemory", self.max_transfer_bytes_on_message_in_memory),
            ("maxTransferBytesOnMessageInDisk", self.max_transfer_bytes_on_message_in_disk),
        ];
        for (key, value) in transfer {
            faults.range(key, value, 1..=MESSAGE_BYTES_MAX);
        }
        faults.range("channelExpiredTimeout", self.channel_expired_timeout_ms, 1_000..=86_400_000);
        const DAY_MS: u64 = 86_400_000;
        faults.range("transactionTimeOut", self.transaction_timeout_ms, 1..=DAY_MS);
        faults.range("transactionCheckInterval", self.transaction_check_interval_ms, 1..=DAY_MS);
        faults.range("transactionCheckMax", self.transaction_check_max, 1..=10_000);
        faults.range("registerNameServerPeriod", self.register_name_server_period_ms, 10_000..=60_000);
        faults.range("flushConsumerOffsetInterval", self.flush_consumer_offset_interval_ms, 100..=3_600_000);
        if let Err(error) = DelayLevels::parse(&self.message_delay_level) {
            faults.add(error.to_string());
        }
    }

    fn check_timers(&self, faults: &mut Faults) {
        faults.range("timerMaxDelaySec", self.timer_max_delay_sec, 1..=i32::MAX.into());
        faults.range("timerPrecisionMs", self.timer_precision_ms, 10..=60_000);
        faults.range("timerCongestNumEachSlot", self.timer_congest_num_each_slot, 1..=i32::MAX);
        faults.range("timerFlushIntervalMs", self.timer_flush_interval_ms, 10..=3_600_000);
        faults.range("mappedFileSizeTimerLog", self.mapped_file_size_timer_log, 4_096..=i32::MAX as u64);
    }

    fn check_store(&self, faults: &mut Faults) {
        let smallest = self.max_message_size as u64 + LOG_FILE_SPARE_BYTES;
        faults.range("mappedFileSizeCommitLog", self.mapped_file_size_commit_log, smallest..=i32::MAX as u64);
        faults.range("mappedFileSizeConsumeQueue", self.mapped_file_size_consume_queue, 20..=i32::MAX as u64);
        faults.range("maxHashSlotNum", self.max_hash_slot_num, 1..=100_000_000);
        faults.range("maxIndexNum", self.max_index_num, 2..=100_000_000);
        faults.range("syncFlushTimeout", self.sync_flush_timeout_ms, 1..=3_600_000);
        faults.range("flushIntervalCommitLog", self.flush_interval_commit_log_ms, 1..=3_600_000);
        faults.range("fileReservedTime", self.file_reserved_time, 1..=1_000_000);
        faults.range("diskMaxUsedSpaceRatio", self.disk_max_used_space_ratio, 1..=99);
        faults.range("diskSpaceCleanForciblyRatio", self.disk_space_clean_forcibly_ratio, 1..=99);
        faults.range("diskSpaceWarningLevelRatio", self.disk_space_warning_level_ratio, 1..=100);
        if let Err(fault) = parse_hours(&self.delete_when) {
            faults.add(fault);
        }
    }
}

/// The hours of `deleteWhen`.
pub(super) fn parse_hours(text: &str) -> Result<Vec<u8>, String> {
    let hour = |part: &str| part.trim().parse().ok().filter(|hour| *hour < 24);
    let hours: Option<Vec<u8>> = text.split(';').filter(|part| !part.trim().is_empty()).map(hour).collect();
    hours
        .filter(|hours| !hours.is_empty())
        .ok_or_else(|| format!("deleteWhen should be hours from 00 to 23 separated by ';' but is '{text}'"))
}

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, fault: String) {
        self.0.push(fault);
    }

    fn range<T: PartialOrd + Display>(&mut self, key: &str, value: T, range: RangeInclusive<T>) {
        if !range.contains(&value) {
            self.add(format!("{key} should be from {} to {} but is {value}", range.start(), range.end()));
        }
    }
}
