//! What a proxy can be told: the keys of `rmq-proxy.json`, and what is made of them.

mod keys;

pub use keys::ConfigError;

use roxmq_access::Credentials;
use std::time::Duration;

/// Every limit and time of the translation. Fields are named after their keys, with units.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyConfig {
    /// `rocketMQClusterName`
    pub cluster_name: String,
    /// `namesrvAddr`
    pub namesrv_addr: String,
    /// `grpcServerPort`
    pub grpc_server_port: u16,
    /// `remotingListenPort`
    pub remoting_listen_port: u16,
    /// `remotingAccessAddr`: the host that clients of the remoting protocol are told to find brokers at, empty for the
    /// address that they connected to.
    pub remoting_access_addr: String,
    /// `grpcMaxInboundMessageSize`: of a whole call. 16 MiB, an eighth of the Java server's.
    pub inbound_message_bytes_max: usize,
    /// `grpcMaxConcurrentCallsPerConnection`: 1024; more wait in the client.
    pub concurrent_calls_max: u32,
    /// `grpcClientIdleTimeMills`: a connection without a call open for this long is told to go.
    pub connection_idle_ms: u64,
    /// `channelExpiredTimeout`: a client that called nothing for this long is forgotten.
    pub client_expiry_ms: u64,

    /// `maxMessageSize`: of a body, 0 for no limit.
    pub body_bytes_max: usize,
    /// `enableMessageBodyEmptyCheck`
    pub refuse_empty_body: bool,
    /// `userPropertyMaxNum`
    pub user_properties_max: usize,
    /// `maxUserPropertySize`: of names, values, tag and keys together.
    pub user_property_bytes_max: usize,
    /// `maxMessageGroupSize`: a group has fewer bytes, 0 for no limit.
    pub message_group_bytes_end: usize,
    /// `maxLiteTopicSize`
    pub lite_topic_bytes_max: usize,
    /// `maxDelayTimeMills`: how far ahead a message may be delivered, 0 for no limit.
    pub delay_ms_max: i64,
    /// `maxTransactionRecoverySecond`: 0 for no limit.
    pub transaction_recovery_s_max: i64,
    /// `enableTopicMessageTypeCheck`
    pub check_message_type: bool,

    /// `defaultInvisibleTimeMills`: of messages that the server renews.
    pub renewed_invisible_ms: i64,
    /// `minInvisibleTimeMillsForRecv`
    pub invisible_ms_min: i64,
    /// `maxInvisibleTimeMills`
    pub invisible_ms_max: i64,
    /// `grpcClientConsumerMinLongPollingTimeoutMillis`
    pub polling_ms_min: i64,
    /// `grpcClientConsumerMaxLongPollingTimeoutMillis`
    pub polling_ms_max: i64,
    /// `grpcClientConsumerLongPollingBatchSize`
    pub receive_batch_max: i32,
    /// `enableProxyAutoRenew`
    pub auto_renew: bool,
    /// `maxRenewRetryTimes`
    pub renew_failures_max: u32,
    /// `renewAheadTimeMillis`
    pub renew_ahead_ms: i64,
    /// `renewMaxTimeMillis`
    pub renew_ms_max: i64,
    /// `renewSchedulePeriodMillis`
    pub renew_period_ms: u64,
    /// `invisibleTimeMillisWhenClear`: after it messages of a client that left come again.
    pub released_invisible_ms: i64,
    /// `maxLiteRenewNumPerChannel`
    pub lite_unacknowledged_max: usize,
    /// `maxSyncLiteSubscriptionRate`: calls that add to lite subscriptions, of all clients together.
    pub lite_subscriptions_per_s_max: u32,

    /// `grpcClientProducerMaxAttempts`
    pub producer_attempts_max: i32,
    /// `grpcClientProducerBackoffInitialMillis`
    pub producer_backoff_initial_ms: i64,
    /// `grpcClientProducerBackoffMaxMillis`
    pub producer_backoff_max_ms: i64,
    /// `grpcClientProducerBackoffMultiplier`
    pub producer_backoff_multiplier: f32,

    /// `transactionDataExpireMillis`
    pub transaction_kept_ms: u64,
    /// `grpcProxyRelayRequestTimeoutInSeconds`: for what an operator asks of a client.
    pub relay_timeout_s: u64,

    /// `topicRouteServiceCacheRefreshSeconds`: how often routes that are used are asked for again. 5, the Java server's
    /// 20.
    pub route_refresh_s: u64,
    /// `topicRouteServiceCacheExpiredSeconds`: routes that nobody used for so long are forgotten.
    pub route_unused_s: u64,
    /// `topicRouteServiceCacheMaxNum`
    pub routes_max: usize,
    /// `subscriptionGroupConfigCacheRefreshSeconds`: 5, the Java server's 20.
    pub group_refresh_s: u64,
    /// `subscriptionGroupConfigCacheExpiredSeconds`
    pub group_unused_s: u64,
    /// `subscriptionGroupConfigCacheMaxNum`
    pub groups_max: usize,

    /// `authenticationEnabled`: clients have to say who they are, and prove it.
    pub authenticate: bool,
    /// `authorizationEnabled`: they may do only what their user may.
    pub authorize: bool,
    /// `authenticationWhitelist`: messages of gRPC by their full names, and request codes, that anybody may send.
    pub authentication_whitelist: String,
    /// `authorizationWhitelist`: those that every user may send.
    pub authorization_whitelist: String,
    /// `innerClientAuthenticationCredentials`: what the proxy's own requests to brokers are signed with.
    pub inner_credentials: Option<Credentials>,
    /// `enableAclRpcHookForClusterMode`: whether they are signed; unsaid, they are if there is something to sign with.
    pub sign_requests: Option<bool>,
    /// `userCacheRefreshSeconds`: how often a user is asked for again. 5, the Java server's 20.
    pub user_refresh_s: u64,
    /// `userCacheExpiredSeconds`: a user that nobody was for so long is forgotten.
    pub user_unused_s: u64,
    /// `userCacheMaxNum`
    pub users_max: usize,
    /// `aclCacheRefreshSeconds`: as for users, for what they may do.
    pub acl_refresh_s: u64,
    /// `aclCacheExpiredSeconds`
    pub acl_unused_s: u64,
    /// `aclCacheMaxNum`
    pub acls_max: usize,

    /// How long what a broker says of a topic or a group counts.
    pub facts_kept_ms: u64,
    /// How many clients are known at a time.
    pub clients_max: usize,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        ProxyConfig {
            cluster_name: "DefaultCluster".to_owned(),
            namesrv_addr: String::new(),
            grpc_server_port: 8081,
            remoting_listen_port: 8080,
            remoting_access_addr: String::new(),
            inbound_message_bytes_max: 16 * 1024 * 1024,
            concurrent_calls_max: 1024,
            connection_idle_ms: 120_000,
            client_expiry_ms: 120_000,
            body_bytes_max: 4 * 1024 * 1024,
            refuse_empty_body: true,
            user_properties_max: 128,
            user_property_bytes_max: 16 * 1024,
            message_group_bytes_end: 64,
            lite_topic_bytes_max: 64,
            delay_ms_max: 24 * 3_600_000,
            transaction_recovery_s_max: 3600,
            check_message_type: true,
            renewed_invisible_ms: 60_000,
            invisible_ms_min: 10_000,
            invisible_ms_max: 12 * 3_600_000,
            polling_ms_min: 5_000,
            polling_ms_max: 20_000,
            receive_batch_max: 32,
            auto_renew: true,
            renew_failures_max: 3,
            renew_ahead_ms: 10_000,
            renew_ms_max: 3 * 3_600_000,
            renew_period_ms: 5_000,
            released_invisible_ms: 1_000,
            lite_unacknowledged_max: 100,
            lite_subscriptions_per_s_max: 5_000,
            producer_attempts_max: 3,
            producer_backoff_initial_ms: 10,
            producer_backoff_max_ms: 1_000,
            producer_backoff_multiplier: 2.0,
            transaction_kept_ms: 30_000,
            relay_timeout_s: 5,
            route_refresh_s: 5,
            route_unused_s: 300,
            routes_max: 20_000,
            group_refresh_s: 5,
            group_unused_s: 300,
            groups_max: 20_000,
            authenticate: false,
            authorize: false,
            authentication_whitelist: String::new(),
            authorization_whitelist: String::new(),
            inner_credentials: None,
            sign_requests: None,
            user_refresh_s: 5,
            user_unused_s: 300,
            users_max: 20_000,
            acl_refresh_s: 5,
            acl_unused_s: 300,
            acls_max: 20_000,
            facts_kept_ms: 1_000,
            clients_max: 200_000,
        }
    }
}

impl ProxyConfig {
    /// What requests to brokers are signed with, if they are.
    pub fn own_credentials(&self) -> Option<&Credentials> {
        self.inner_credentials.as_ref().filter(|_| self.sign_requests.unwrap_or(true))
    }

    pub fn facts_kept(&self) -> Duration {
        Duration::from_millis(self.facts_kept_ms)
    }
}
