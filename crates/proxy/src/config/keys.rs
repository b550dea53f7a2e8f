//! The keys of `rmq-proxy.json`, with the Java server's names.

use super::ProxyConfig;
use roxmq_access::{Credentials, CredentialsError};
use roxmq_protocol::json::{Fields, FromJson, JsonError, Value};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("the proxy's configuration is not JSON: {0}")]
    Json(JsonError),
    #[error("the proxy's configuration is no JSON object")]
    NoObject,
    #[error("a key of the proxy's configuration is wrong: {0}")]
    Value(#[from] JsonError),
    #[error("{key} of the proxy's configuration is {value}, which is out of range")]
    Range { key: &'static str, value: i64 },
    #[error("a key of the proxy's configuration is wrong: {0}")]
    Credentials(#[from] CredentialsError),
    #[error(
        "authorizationEnabled of the proxy's configuration is true, which needs authenticationEnabled: what clients may do \
         depends on who they are"
    )]
    NobodyToAuthorize,
    #[error(
        "enableAclRpcHookForClusterMode of the proxy's configuration is true, which needs \
         innerClientAuthenticationCredentials to sign requests with"
    )]
    NothingToSignWith,
}

/// A type that a key can have.
trait KeyType: Sized {
    fn read(object: &Value, key: &'static str) -> Result<Option<Self>, ConfigError>;
}

impl KeyType for String {
    fn read(object: &Value, key: &'static str) -> Result<Option<Self>, ConfigError> {
        Ok(object.field(key)?)
    }
}

impl KeyType for bool {
    fn read(object: &Value, key: &'static str) -> Result<Option<Self>, ConfigError> {
        Ok(object.field(key)?)
    }
}

impl KeyType for f32 {
    fn read(object: &Value, key: &'static str) -> Result<Option<Self>, ConfigError> {
        Ok(object.field::<f64>(key)?.map(|value| value as f32))
    }
}

/// Unsaid is a value of its own.
impl KeyType for Option<bool> {
    fn read(object: &Value, key: &'static str) -> Result<Option<Self>, ConfigError> {
        Ok(object.field::<bool>(key)?.map(Some))
    }
}

/// JSON within JSON.
impl KeyType for Option<Credentials> {
    fn read(object: &Value, key: &'static str) -> Result<Option<Self>, ConfigError> {
        let text: Option<String> = object.field(key)?;
        Ok(text.map(|text| Credentials::read(&text)).transpose()?)
    }
}

macro_rules! integers {
    ($($type:ty)*) => {
        $(impl KeyType for $type {
            fn read(object: &Value, key: &'static str) -> Result<Option<Self>, ConfigError> {
                let value: Option<i64> = object.field(key)?;
                let ranged = value.map(|value| value.try_into().map_err(|_| ConfigError::Range { key, value }));
                ranged.transpose()
            }
        })*
    };
}

integers!(u16 u32 u64 usize i32 i64);

/// For each key its field; the other keys of the file are for other parts of the server, or for none.
macro_rules! keys {
    ($($name:literal $field:ident,)*) => {
        impl ProxyConfig {
            /// The keys that count.
            pub const KEYS: &[&str] = &[$($name),*];

            /// Reads the file's text. Keys that aren't there keep their defaults.
            pub fn from_json(text: &[u8]) -> Result<Self, ConfigError> {
                ProxyConfig::read(text, &[])
            }

            /// Reads the file's text, and over it what else was given.
            pub fn read(text: &[u8], given: &[(String, String)]) -> Result<Self, ConfigError> {
                let mut object = Value::from_json_bytes(text).map_err(ConfigError::Json)?;
                let fields = object.as_object_mut().ok_or(ConfigError::NoObject)?;
                for (key, value) in given {
                    fields.insert(key.clone(), Value::String(value.clone()));
                }
                let mut config = ProxyConfig::default();
                $(if let Some(value) = KeyType::read(&object, $name)? {
                    config.$field = value;
                })*
                config.check()?;
                Ok(config)
            }
        }
    };
}

keys! {
    "rocketMQClusterName" cluster_name,
    "namesrvAddr" namesrv_addr,
    "grpcServerPort" grpc_server_port,
    "remotingListenPort" remoting_listen_port,
    "remotingAccessAddr" remoting_access_addr,
    "grpcMaxInboundMessageSize" inbound_message_bytes_max,
    "grpcMaxConcurrentCallsPerConnection" concurrent_calls_max,
    "grpcClientIdleTimeMills" connection_idle_ms,
    "channelExpiredTimeout" client_expiry_ms,
    "maxMessageSize" body_bytes_max,
    "enableMessageBodyEmptyCheck" refuse_empty_body,
    "userPropertyMaxNum" user_properties_max,
    "maxUserPropertySize" user_property_bytes_max,
    "maxMessageGroupSize" message_group_bytes_end,
    "maxLiteTopicSize" lite_topic_bytes_max,
    "maxDelayTimeMills" delay_ms_max,
    "maxTransactionRecoverySecond" transaction_recovery_s_max,
    "enableTopicMessageTypeCheck" check_message_type,
    "defaultInvisibleTimeMills" renewed_invisible_ms,
    "minInvisibleTimeMillsForRecv" invisible_ms_min,
    "maxInvisibleTimeMills" invisible_ms_max,
    "grpcClientConsumerMinLongPollingTimeoutMillis" polling_ms_min,
    "grpcClientConsumerMaxLongPollingTimeoutMillis" polling_ms_max,
    "grpcClientConsumerLongPollingBatchSize" receive_batch_max,
    "enableProxyAutoRenew" auto_renew,
    "maxRenewRetryTimes" renew_failures_max,
    "renewAheadTimeMillis" renew_ahead_ms,
    "renewMaxTimeMillis" renew_ms_max,
    "renewSchedulePeriodMillis" renew_period_ms,
    "invisibleTimeMillisWhenClear" released_invisible_ms,
    "maxLiteRenewNumPerChannel" lite_unacknowledged_max,
    "maxSyncLiteSubscriptionRate" lite_subscriptions_per_s_max,
    "grpcClientProducerMaxAttempts" producer_attempts_max,
    "grpcClientProducerBackoffInitialMillis" producer_backoff_initial_ms,
    "grpcClientProducerBackoffMaxMillis" producer_backoff_max_ms,
    "grpcClientProducerBackoffMultiplier" producer_backoff_multiplier,
    "transactionDataExpireMillis" transaction_kept_ms,
    "grpcProxyRelayRequestTimeoutInSeconds" relay_timeout_s,
    "topicRouteServiceCacheRefreshSeconds" route_refresh_s,
    "topicRouteServiceCacheExpiredSeconds" route_unused_s,
    "topicRouteServiceCacheMaxNum" routes_max,
    "subscriptionGroupConfigCacheRefreshSeconds" group_refresh_s,
    "subscriptionGroupConfigCacheExpiredSeconds" group_unused_s,
    "subscriptionGroupConfigCacheMaxNum" groups_max,
    "authenticationEnabled" authenticate,
    "authorizationEnabled" authorize,
    "authenticationWhitelist" authentication_whitelist,
    "authorizationWhitelist" authorization_whitelist,
    "innerClientAuthenticationCredentials" inner_credentials,
    "enableAclRpcHookForClusterMode" sign_requests,
    "userCacheRefreshSeconds" user_refresh_s,
    "userCacheExpiredSeconds" user_unused_s,
    "userCacheMaxNum" users_max,
    "aclCacheRefreshSeconds" acl_refresh_s,
    "aclCacheExpiredSeconds" acl_unused_s,
    "aclCacheMaxNum" acls_max,
}

impl ProxyConfig {
    /// Keys that need each other.
    fn check(&self) -> Result<(), ConfigError> {
        if self.authorize && !self.authenticate {
            return Err(ConfigError::NobodyToAuthorize);
        }
        if self.sign_requests == Some(true) && self.inner_credentials.is_none() {
            return Err(ConfigError::NothingToSignWith);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_others_passed_over() {
        let text = br#"{"rocketMQClusterName":"C","maxMessageSize":"1024","enableProxyAutoRenew":false,
            "grpcClientProducerBackoffMultiplier":1.5,"authenticationEnabled":true,"nobodyKnows":[1],
            "innerClientAuthenticationCredentials":"{\"accessKey\":\"a\",\"secretKey\":\"s\"}",
            "enableAclRpcHookForClusterMode":"true"}"#;
        let config = ProxyConfig::from_json(text).expect("good");
        let expected = ProxyConfig {
            cluster_name: "C".to_owned(),
            body_bytes_max: 1024,
            auto_renew: false,
            producer_backoff_multiplier: 1.5,
            authenticate: true,
            inner_credentials: Some(Credentials { access_key: "a".to_owned(), secret_key: "s".to_owned() }),
            sign_requests: Some(true),
            ..ProxyConfig::default()
        };
        assert_eq!(config, expected.clone());
        assert_eq!(ProxyConfig::from_json(b"{}"), Ok(ProxyConfig::default()));
        let given = [("maxMessageSize".to_owned(), "2048".to_owned())];
        let over = ProxyConfig::read(text, &given);
        assert_eq!(over, Ok(ProxyConfig { body_bytes_max: 2048, ..expected }));
        assert!(ProxyConfig::KEYS.contains(&"maxMessageSize"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, expected: &str| {
            let error = ProxyConfig::from_json(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("{", "not JSON");
        check("[]", "no JSON object");
        check(r#"{"grpcServerPort":70000}"#, "grpcServerPort of the proxy's configuration is 70000");
        check(r#"{"maxMessageSize":-1}"#, "maxMessageSize");
        check(r#"{"renewAheadTimeMillis":"soon"}"#, "renewAheadTimeMillis");
        check(r#"{"authorizationEnabled":true}"#, "needs authenticationEnabled");
        check(r#"{"enableAclRpcHookForClusterMode":true}"#, "needs innerClientAuthenticationCredentials");
        check(
            r#"{"innerClientAuthenticationCredentials":"{}"}"#,
            "innerClientAuthenticationCredentials has no",
        );
    }
}
