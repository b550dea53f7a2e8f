//! What consumers answer operators: their running info (307), one message consumed now (309).

use crate::subscription::SubscriptionData;
use std::collections::BTreeMap;

json_enum! {
    pub enum ConsumeResult {
        Success "CR_SUCCESS",
        /// To be tried again later.
        Later "CR_LATER",
        ReturnNull "CR_RETURN_NULL",
    }
}

json_object! {
    pub struct ConsumeMessageDirectlyResult {
        "autoCommit" auto_commit: bool = true,
        "consumeResult" consume_result: Option<ConsumeResult>,
        "order" order: bool,
        "remark" remark: Option<String>,
        "spentTimeMills" spent_ms: i64,
    }
}

json_object! {
    /// Without the tables of queues, which a consumer that pops hasn't got.
    pub struct RunningInfo {
        "jstack" jstack: Option<String>,
        "properties" properties: BTreeMap<String, String>,
        "subscriptionSet" subscriptions: Vec<SubscriptionData>,
    }
}

impl RunningInfo {
    pub const CONSUME_ORDERLY: &str = "PROP_CONSUMEORDERLY";
    pub const CONSUME_TYPE: &str = "PROP_CONSUME_TYPE";
    pub const CLIENT_VERSION: &str = "PROP_CLIENT_VERSION";
    pub const START_TIMESTAMP: &str = "PROP_CONSUMER_START_TIMESTAMP";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::ToJson;

    #[test]
    fn as_tools_read_them() {
        let result = ConsumeMessageDirectlyResult {
            consume_result: Some(ConsumeResult::Later),
            remark: Some("r".to_owned()),
            ..ConsumeMessageDirectlyResult::default()
        };
        let expected =
            r#"{"autoCommit":true,"consumeResult":"CR_LATER","order":false,"remark":"r","spentTimeMills":0}"#;
        assert_eq!(String::from_utf8_lossy(&result.to_json()), expected);
        let info = RunningInfo {
            jstack: Some("main".to_owned()),
            properties: [(RunningInfo::CONSUME_ORDERLY.to_owned(), "false".to_owned())].into(),
            subscriptions: Vec::new(),
        };
        let expected =
            r#"{"jstack":"main","properties":{"PROP_CONSUMEORDERLY":"false"},"subscriptionSet":[]}"#;
        assert_eq!(String::from_utf8_lossy(&info.to_json()), expected);
    }
}
