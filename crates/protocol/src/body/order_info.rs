//! What ordered POP has out (`consumerOrderInfo.json`), with the reference's short names.

use std::collections::BTreeMap;

json_object! {
    /// The messages of one queue that a group has out, all from its last pop.
    pub struct OrderInfo {
        "a" attempt_id: Option<String>,
        /// A bit for each message that is acknowledged, by its place in the list of offsets.
        "cm" commit_offset_bit: i64,
        "i" invisible_time: Option<i64>,
        "l" last_consume_timestamp: i64,
        /// The first offset, then the distance of each other from it.
        "o" offset_list: Vec<i64>,
        /// How often each was given before; none for what is new.
        "oc" offset_consumed_count: Option<BTreeMap<i64, i32>>,
        /// When those come again whose invisible time was changed.
        "ot" offset_next_visible_time: Option<BTreeMap<i64, i64>>,
        "popTime" pop_time: i64,
    }
}

/// `topic@group` to queue to what is out.
pub type OrderInfoTable = BTreeMap<String, BTreeMap<i32, OrderInfo>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    #[test]
    fn as_the_java_server_writes_it() {
        let info = OrderInfo {
            attempt_id: Some("a1".to_owned()),
            commit_offset_bit: 2,
            invisible_time: Some(60_000),
            last_consume_timestamp: 7,
            offset_list: vec![10, 1, 2],
            offset_consumed_count: Some(BTreeMap::from([(10, 1)])),
            offset_next_visible_time: None,
            pop_time: 5,
        };
        let text = r#"{"a":"a1","cm":2,"i":60000,"l":7,"o":[10,1,2],"oc":{10:1},"popTime":5}"#;
        assert_eq!(info.to_json_text(), text);
        assert_eq!(OrderInfo::from_json_bytes(text.as_bytes()), Ok(info));
    }
}
