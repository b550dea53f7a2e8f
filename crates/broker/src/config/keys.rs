//! The keys that mean something here: name, type, default, and whether a change takes effect at once.

use super::SetError;
use super::value::{BrokerRole, ConfigValue, MetricsExporter, Secret};
use crate::delay::DEFAULT_LEVELS;
use roxmq_protocol::body::assignment::MessageRequestMode;
use roxmq_store::FlushMode;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// When a changed value takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    AtOnce,
    AtStart,
}

macro_rules! keys {
    ($($(#[$doc:meta])* $field:ident / $key:literal: $type:ty = $default:expr, $takes:ident;)*) => {
        /// The configuration of a broker.
        #[derive(Clone, Debug, PartialEq)]
        pub struct BrokerConfig {
            $($(#[$doc])* pub $field: $type,)*
            /// Keys without a meaning here, as they were given.
            pub others: BTreeMap<String, String>,
        }

        impl Default for BrokerConfig {
            fn default() -> Self {
                BrokerConfig { $($field: $default,)* others: BTreeMap::new() }
            }
        }

        impl BrokerConfig {
            /// The keys of the fields, and when changes of them take effect.
            pub(crate) const KEYS: &[(&str, Takes)] = &[$(($key, Takes::$takes),)*];

            /// Sets the field of this key. What the values of several fields mean together is checked by `validate`.
            pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), SetError> {
                match key {
                    $($key => {
                        let expected = <$type as ConfigValue>::EXPECTED;
                        self.$field = ConfigValue::parse(value).ok_or(SetError::Invalid { expected })?;
                    })*
                    _ => return Err(SetError::Unknown),
                }
                Ok(())
            }

            /// Every field's key with its value as text.
            pub(crate) fn fields(&self) -> Vec<(&'static str, String)> {
                vec![$(($key, self.$field.show()),)*]
            }
        }
    };
}

keys! {
    /// The cluster; also a topic of this name.
    broker_cluster_name / "brokerClusterName": String = "DefaultCluster".to_owned(), AtStart;
    /// The replica set; also a topic of this name.
    broker_name / "brokerName": String = "broker-a".to_owned(), AtStart;
    /// 0 for a master.
    broker_id / "brokerId": i64 = 0, AtStart;
    broker_role / "brokerRole": BrokerRole = BrokerRole::AsyncMaster, AtStart;
    /// `host:port;host:port`
    namesrv_addr / "namesrvAddr": String = String::new(), AtOnce;
    listen_port / "listenPort": u16 = 10911, AtStart;
    bind_address / "bindAddress": String = "0.0.0.0".to_owned(), AtStart;
    /// The address that clients are told; empty for the first that isn't loopback.
    broker_ip1 / "brokerIP1": String = String::new(), AtStart;
    /// The address for replication.
    broker_ip2 / "brokerIP2": String = String::new(), AtStart;
    ha_listen_port / "haListenPort": u16 = 10912, AtStart;
    /// The file that the configuration was read from and that changes are written to.
    broker_config_path / "brokerConfigPath": Option<PathBuf> = None, AtStart;
    /// Keys that no request may change, separated by `;`.
    config_black_list / "configBlackList": String = "configBlackList;brokerConfigPath".to_owned(), AtStart;
    /// Whether requests that change the configuration or delete data are taken from other machines.
    remote_admin_enable / "remoteAdminEnable": bool = false, AtStart;

    /// Whether every request has to be signed by a user.
    authentication_enabled / "authenticationEnabled": bool = false, AtStart;
    /// Whether policies say what users may ask.
    authorization_enabled / "authorizationEnabled": bool = false, AtStart;
    /// Request codes that need no signature, with commas between them.
    authentication_whitelist / "authenticationWhitelist": String = String::new(), AtStart;
    /// Request codes that every user may ask.
    authorization_whitelist / "authorizationWhitelist": String = String::new(), AtStart;
    /// `{"username":"..","password":".."}`: a super user, made at a start that doesn't find it.
    init_authentication_user / "initAuthenticationUser": Secret = Secret::default(), AtStart;
    /// `{"accessKey":"..","secretKey":".."}`: what servers of the cluster sign with. A super user, too.
    inner_client_authentication_credentials / "innerClientAuthenticationCredentials": Secret =
        Secret::default(), AtStart;

    auto_create_topic_enable / "autoCreateTopicEnable": bool = true, AtOnce;
    auto_create_subscription_group / "autoCreateSubscriptionGroup": bool = true, AtOnce;
    /// Whether groups of the system (`CID_RMQ_SYS_`) are made in any case.
    enable_create_sys_group / "enableCreateSysGroup": bool = true, AtOnce;
    /// Queues of the template for topics that are made by a send.
    default_topic_queue_nums / "defaultTopicQueueNums": i32 = 8, AtStart;
    cluster_topic_enable / "clusterTopicEnable": bool = true, AtStart;
    broker_topic_enable / "brokerTopicEnable": bool = true, AtStart;
    trace_topic_enable / "traceTopicEnable": bool = false, AtStart;
    msg_trace_topic_name / "msgTraceTopicName": String = "RMQ_SYS_TRACE_TOPIC".to_owned(), AtStart;
    revive_queue_num / "reviveQueueNum": i32 = 8, AtStart;
    /// Read 4, write 2: what the whole broker allows.
    broker_permission / "brokerPermission": i32 = 6, AtOnce;
    validate_system_topic_when_update_topic / "validateSystemTopicWhenUpdateTopic": bool = true, AtOnce;
    enable_mixed_message_type / "enableMixedMessageType": bool = false, AtOnce;
    /// Whether POP's retry topics go with their topic.
    clear_retry_topic_when_delete_topic / "clearRetryTopicWhenDeleteTopic": bool = true, AtOnce;
    enable_split_metadata / "enableSplitMetadata": bool = true, AtOnce;
    /// Topics or groups in one answer at most.
    split_metadata_size / "splitMetadataSize": usize = 2000, AtOnce;

    /// Whether producers are told to trace.
    trace_on / "traceOn": bool = true, AtOnce;
    region_id / "regionId": String = "DefaultRegion".to_owned(), AtStart;
    /// Bytes of a body.
    max_message_size / "maxMessageSize": usize = 4 << 20, AtOnce;
    /// Whether replies are also kept in the reply topic.
    store_reply_message_enable / "storeReplyMessageEnable": bool = true, AtOnce;
    reject_transaction_message / "rejectTransactionMessage": bool = false, AtOnce;
    /// A producer is asked about a half message that it hasn't decided on for this long.
    transaction_timeout_ms / "transactionTimeOut": u64 = 6_000, AtOnce;
    /// And asked again after this.
    transaction_check_interval_ms / "transactionCheckInterval": u64 = 30_000, AtOnce;
    /// How often, before the broker gives the half message up.
    transaction_check_max / "transactionCheckMax": u32 = 15, AtOnce;
    message_delay_level / "messageDelayLevel": String = DEFAULT_LEVELS.to_owned(), AtStart;

    long_polling_enable / "longPollingEnable": bool = true, AtOnce;
    short_polling_time_ms / "shortPollingTimeMills": u64 = 1000, AtOnce;
    lite_pull_message_enable / "litePullMessageEnable": bool = true, AtOnce;
    /// SQL92 filters. The Java server has them off by default, and many a first consumer fails by that.
    enable_property_filter / "enablePropertyFilter": bool = true, AtOnce;
    /// How long the filters of a group are kept that has left.
    filter_data_clean_time_span_ms / "filterDataCleanTimeSpan": u64 = 86_400_000, AtOnce;
    /// Whether a subscription of a retry topic by SQL92 means the group's filters of the topics that failed.
    filter_support_retry / "filterSupportRetry": bool = false, AtOnce;
    slave_read_enable / "slaveReadEnable": bool = false, AtOnce;
    max_transfer_count_on_message_in_memory / "maxTransferCountOnMessageInMemory": usize = 32, AtOnce;
    max_transfer_bytes_on_message_in_memory / "maxTransferBytesOnMessageInMemory": usize = 256 << 10, AtOnce;
    max_transfer_count_on_message_in_disk / "maxTransferCountOnMessageInDisk": usize = 8, AtOnce;
    max_transfer_bytes_on_message_in_disk / "maxTransferBytesOnMessageInDisk": usize = 64 << 10, AtOnce;
    /// How groups read topics for which no operator has said it.
    default_message_request_mode / "defaultMessageRequestMode": MessageRequestMode = MessageRequestMode::Pull,
        AtOnce;
    /// Of how many other clients a client pops the queues, too, where no operator has said it.
    default_pop_share_queue_num / "defaultPopShareQueueNum": i32 = -1, AtOnce;
    /// Whether the broker shares queues out; else clients that ask get all of them.
    server_load_balancer_enable / "serverLoadBalancerEnable": bool = true, AtOnce;
    /// How long what a name server told of a topic's queues counts.
    load_balance_poll_name_server_interval_ms / "loadBalancePollNameServerInterval": u64 = 30_000, AtOnce;
    /// Pops of a group that wait for one queue of a topic, or for any of them, at most.
    pop_polling_size / "popPollingSize": usize = 1024, AtOnce;
    /// Pops that wait at most.
    max_pop_polling_size / "maxPopPollingSize": usize = 100_000, AtOnce;
    /// Messages that a query by key gives at most.
    default_query_max_num / "defaultQueryMaxNum": usize = 32, AtOnce;
    use_server_side_reset_offset / "useServerSideResetOffset": bool = true, AtOnce;
    notify_consumer_ids_changed_enable / "notifyConsumerIdsChangedEnable": bool = true, AtOnce;
    /// Whether consumers learn at once that their group has changed; else within 15 s.
    real_time_notify_consumer_change / "realTimeNotifyConsumerChange": bool = true, AtOnce;
    /// Whether consumers that pull when they like are turned away.
    reject_pull_consumer_enable / "rejectPullConsumerEnable": bool = false, AtOnce;
    /// A client is forgotten when it has been silent for this long.
    channel_expired_timeout_ms / "channelExpiredTimeout": u64 = 120_000, AtStart;
    /// The topic subscriptions of a group are forgotten when none of its members has them for this long.
    subscription_expired_timeout_ms / "subscriptionExpiredTimeout": u64 = 600_000, AtStart;

    /// Whether the retry topics of POP have a `+` between group and topic.
    enable_retry_topic_v2 / "enableRetryTopicV2": bool = false, AtOnce;
    /// With `enableRetryTopicV2`: whether every other pop still looks into the retry topic of the first form.
    retrieve_message_from_pop_retry_topic_v1 / "retrieveMessageFromPopRetryTopicV1": bool = true, AtOnce;
    /// How many of a hundred pops look into the retry topic before the topic itself.
    pop_from_retry_probability / "popFromRetryProbability": u32 = 20, AtOnce;
    /// The same for topics whose messages have priorities.
    pop_from_retry_probability_for_priority / "popFromRetryProbabilityForPriority": u32 = 0, AtOnce;
    /// Whether higher queues of a topic with priorities come first.
    priority_order_asc / "priorityOrderAsc": bool = true, AtOnce;
    /// Whether popped messages keep the name of the retry topic that they come from.
    pop_response_return_actual_retry_topic / "popResponseReturnActualRetryTopic": bool = false, AtOnce;
    /// Retry topics of POP get as many queues as the topics, not one.
    use_separate_retry_queue / "useSeparateRetryQueue": bool = false, AtOnce;
    /// Whether a group that has too many messages of a queue in flight gets no more of it.
    enable_pop_message_threshold / "enablePopMessageThreshold": bool = false, AtOnce;
    pop_inflight_message_threshold / "popInflightMessageThreshold": usize = 10_000, AtOnce;
    /// Whether a group that starts at the end of a young queue gets it from its beginning.
    init_pop_offset_by_check_msg_in_mem / "initPopOffsetByCheckMsgInMem": bool = true, AtOnce;

    /// How often name servers are told of everything; 10 to 60 s.
    register_name_server_period_ms / "registerNameServerPeriod": u64 = 30_000, AtStart;
    register_broker_timeout_ms / "registerBrokerTimeoutMills": u64 = 24_000, AtOnce;
    /// How often the JSON files of offsets are written, if anything changed.
    flush_consumer_offset_interval_ms / "flushConsumerOffsetInterval": u64 = 5_000, AtStart;

    store_path_root_dir / "storePathRootDir": Option<PathBuf> = None, AtStart;
    store_path_commit_log / "storePathCommitLog": Option<PathBuf> = None, AtStart;
    mapped_file_size_commit_log / "mappedFileSizeCommitLog": u64 = 1 << 30, AtStart;
    mapped_file_size_consume_queue / "mappedFileSizeConsumeQueue": u64 = 6_000_000, AtStart;
    message_index_enable / "messageIndexEnable": bool = true, AtStart;
    max_hash_slot_num / "maxHashSlotNum": u32 = 5_000_000, AtStart;
    max_index_num / "maxIndexNum": u32 = 20_000_000, AtStart;
    flush_disk_type / "flushDiskType": FlushMode = FlushMode::Async, AtStart;
    sync_flush_timeout_ms / "syncFlushTimeout": u64 = 5_000, AtStart;
    flush_interval_commit_log_ms / "flushIntervalCommitLog": u64 = 500, AtStart;
    /// Whether `/metrics` answers. The Java server doesn't until it is told.
    metrics_exporter_type / "metricsExporterType": MetricsExporter = MetricsExporter::default(), AtOnce;
    /// A port for `/metrics` besides the others, all of which have it; 0 for none. The Java server has 5557.
    metrics_prom_exporter_port / "metricsPromExporterPort": u16 = 0, AtStart;
    /// Hours of the day, separated by `;`.
    delete_when / "deleteWhen": String = "04".to_owned(), AtStart;
    /// Hours.
    file_reserved_time / "fileReservedTime": u64 = 72, AtStart;
    disk_max_used_space_ratio / "diskMaxUsedSpaceRatio": u8 = 75, AtStart;
    disk_space_clean_forcibly_ratio / "diskSpaceCleanForciblyRatio": u8 = 85, AtStart;
    disk_space_warning_level_ratio / "diskSpaceWarningLevelRatio": u8 = 90, AtStart;
    /// Whether messages that name light queues (`INNER_MULTI_DISPATCH`) are entered there, together with
    /// `enableMultiDispatch`. Lite topics have theirs in any case.
    enable_lmq / "enableLmq": bool = false, AtOnce;
    enable_multi_dispatch / "enableMultiDispatch": bool = false, AtOnce;
    enable_lmq_quota / "enableLmqQuota": bool = false, AtOnce;
    /// Light queues at most, with `enableLmqQuota`.
    max_lmq_consume_queue_num / "maxLmqConsumeQueueNum": usize = 20_000, AtOnce;
    /// Lite topics that all clients together may subscribe to.
    max_lite_subscription_count / "maxLiteSubscriptionCount": usize = 100_000, AtOnce;
    lite_subscription_check_interval_ms / "liteSubscriptionCheckInterval": u64 = 120_000, AtStart;
    /// A client's subscription to lite topics is forgotten when it wasn't renewed for this long.
    lite_subscription_check_timeout_ms / "liteSubscriptionCheckTimeoutMills": i64 = 180_000, AtOnce;
    lite_ttl_check_interval_ms / "liteTtlCheckInterval": u64 = 120_000, AtStart;
    /// Lite topics that had a message within this time stay, whatever `lite.topic.expiration` says.
    min_lite_ttl_ms / "minLiteTTl": i64 = 900_000, AtOnce;

    /// Timer messages.
    timer_wheel_enable / "timerWheelEnable": bool = true, AtStart;
    /// The longest delay, in seconds.
    timer_max_delay_sec / "timerMaxDelaySec": i64 = 259_200, AtOnce;
    /// The time of a slot. The same for the whole life of a store.
    timer_precision_ms / "timerPrecisionMs": i64 = 1_000, AtStart;
    /// What is due later than in so many slots is stored anew until it isn't.
    timer_roll_window_slot / "timerRollWindowSlot": i64 = 172_800, AtStart;
    /// Messages of a slot from which on some are refused; from twice as many on all are.
    timer_congest_num_each_slot / "timerCongestNumEachSlot": i32 = i32::MAX, AtOnce;
    /// Brakes: timer messages are taken, but not entered in the wheel, or not delivered.
    timer_stop_enqueue / "timerStopEnqueue": bool = false, AtOnce;
    timer_stop_dequeue / "timerStopDequeue": bool = false, AtOnce;
    timer_flush_interval_ms / "timerFlushIntervalMs": u64 = 1_000, AtStart;
    mapped_file_size_timer_log / "mappedFileSizeTimerLog": u64 = 100 << 20, AtStart;
    recall_message_enable / "recallMessageEnable": bool = true, AtOnce;
    allow_recall_when_broker_not_writeable / "allowRecallWhenBrokerNotWriteable": bool = true, AtOnce;
    /// Whether the key of a recall has the topic in front, as Java servers before 5.5.0 have it.
    append_topic_for_timer_delete_key / "appendTopicForTimerDeleteKey": bool = false, AtOnce;
}
