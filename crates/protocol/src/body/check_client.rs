//! A subscription to look at before it is used (code 46), and one that a group has (code 345).

use crate::subscription::SubscriptionData;

json_object! {
    pub struct CheckClientRequest {
        "clientId" client_id: Option<String>,
        "group" group: Option<String>,
        "namespace" namespace: Option<String>,
        "subscriptionData" subscription_data: Option<SubscriptionData>,
    }
}

json_object! {
    pub struct QuerySubscriptionAnswer {
        "group" group: String,
        "subscriptionData" subscription_data: Option<SubscriptionData>,
        "topic" topic: Option<String>,
    }
}
