//! One change of the state as a record's body: an object of one line of JSON.
//!
//! ```text
//! {"change":"putTopic","config":{…}}
//! {"change":"deleteTopic","topic":"T"}
//! {"change":"putGroup","config":{…}}
//! {"change":"deleteGroup","cleanOffset":true,"group":"G"}
//! {"bits":1,"change":"forbid","group":"G","topic":"T"}
//! {"change":"putRequestMode","setting":{…}}
//! {"change":"commitOffsets","offsetTable":{"G":{"T":{0:5,1:7}}}}
//! {"change":"delayOffsets","offsetTable":{3:120}}
//! {"change":"putUser","user":{…}}
//! {"change":"deleteUser","username":"U"}
//! {"acl":{…},"change":"putPolicies"}
//! {"change":"deletePolicies","username":"U"}
//! {"change":"timerProgress","delivered":[800,1200],"due":1700000000400,"phyOffset":1201,"queueOffset":17}
//! ```
//!
//! Values are absolute, so that making a change twice is the same as making it once. A change that isn't known, from
//! a newer version, is an error and not skipped: what follows may build on it.

use crate::groups::SubscriptionGroupConfig;
use crate::offsets::{GroupOffsets, QueueOffsets};
use crate::timers::{TimerNote, TimerProgress};
use crate::topics::TopicConfig;
use roxmq_access::{Policies, User, user_of_subject};
use roxmq_protocol::body::access::{AclInfo, UserInfo};
use roxmq_protocol::body::assignment::MessageRequestModeSetting;
use roxmq_protocol::json::{Fields, FromJson, JsonError, ToJson, Value, Writer};
use roxmq_store::{Millis, PhyOffset, QueueId, QueueOffset};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    PutTopic(TopicConfig),
    /// The topic goes with its offsets and request modes.
    DeleteTopic(String),
    PutGroup(SubscriptionGroupConfig),
    /// The group goes with its request modes.
    DeleteGroup {
        group: String,
        clean_offset: bool,
    },
    /// What a group must not do with a topic; no bits for nothing.
    Forbid {
        group: String,
        topic: String,
        bits: i32,
    },
    PutRequestMode(MessageRequestModeSetting),
    CommitOffsets(GroupOffsets),
    /// Level to next offset.
    DelayOffsets(BTreeMap<i32, i64>),
    PutUser(User),
    /// The user goes with its policies.
    DeleteUser(String),
    /// All that the user may do.
    PutPolicies {
        user: String,
        policies: Policies,
    },
    DeletePolicies(String),
    /// The timer messages behind this record are delivered.
    TimerProgress(TimerNote),
}

/// Queues in one record of offsets at most, so that a record stays far below a message's limit.
const OFFSETS_A_RECORD_MAX: usize = 4096;

impl Change {
    fn name(&self) -> &'static str {
        match self {
            Change::PutTopic(_) => "putTopic",
            Change::DeleteTopic(_) => "deleteTopic",
            Change::PutGroup(_) => "putGroup",
            Change::DeleteGroup { .. } => "deleteGroup",
            Change::Forbid { .. } => "forbid",
            Change::PutRequestMode(_) => "putRequestMode",
            Change::CommitOffsets(_) => "commitOffsets",
            Change::DelayOffsets(_) => "delayOffsets",
            Change::PutUser(_) => "putUser",
            Change::DeleteUser(_) => "deleteUser",
            Change::PutPolicies { .. } => "putPolicies",
            Change::DeletePolicies(_) => "deletePolicies",
            Change::TimerProgress(_) => "timerProgress",
        }
    }
}

/// Offsets as changes of a bounded size each.
pub(crate) fn commit_changes(offsets: &GroupOffsets) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut part = GroupOffsets::new();
    let mut queues = 0;
    for (group, topics) in offsets {
        for (topic, offsets) in topics {
            if queues > 0 && queues + offsets.len() > OFFSETS_A_RECORD_MAX {
                changes.push(Change::CommitOffsets(std::mem::take(&mut part)));
                queues = 0;
            }
            queues += offsets.len();
            part.entry(group.clone()).or_default().insert(topic.clone(), offsets.clone());
        }
    }
    if queues > 0 {
        changes.push(Change::CommitOffsets(part));
    }
    changes
}

impl ToJson for Change {
    /// The fields stand in order of names, `change` among them.
    fn write_json(&self, writer: &mut Writer) {
        writer.object(|writer| {
            match self {
                Change::Forbid { bits, .. } => writer.field("bits", bits),
                Change::PutPolicies { user, policies } => writer.field("acl", &policies.to_info(user)),
                _ => {}
            }
            writer.field("change", self.name());
            match self {
                Change::PutTopic(config) => writer.field("config", config),
                Change::PutGroup(config) => writer.field("config", config),
                Change::DeleteTopic(topic) => writer.field("topic", topic),
                Change::DeleteGroup { group, clean_offset } => {
                    writer.field("cleanOffset", clean_offset);
                    writer.field("group", group);
                }
                Change::Forbid { group, topic, .. } => {
                    writer.field("group", group);
                    writer.field("topic", topic);
                }
                Change::PutRequestMode(setting) => writer.field("setting", setting),
                Change::CommitOffsets(offsets) => writer.field("offsetTable", &bare_offsets(offsets)),
                Change::DelayOffsets(offsets) => writer.field("offsetTable", offsets),
                Change::PutUser(user) => writer.field("user", &user.to_info()),
                Change::DeleteUser(user) | Change::DeletePolicies(user) => writer.field("username", user),
                Change::PutPolicies { .. } => {}
                Change::TimerProgress(note) => {
                    writer.field("delivered", &note.delivered);
                    writer.field("due", &note.progress.due.0);
                    writer.field("phyOffset", &note.progress.phy_offset.0);
                    writer.field("queueOffset", &note.progress.queue_offset.0);
                }
            }
        });
    }
}

impl FromJson for Change {
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        let name: String = value.need("change")?;
        Ok(match name.as_str() {
            "putTopic" => Change::PutTopic(value.need("config")?),
            "deleteTopic" => Change::DeleteTopic(value.need("topic")?),
            "putGroup" => Change::PutGroup(value.need("config")?),
            "deleteGroup" => Change::DeleteGroup {
                group: value.need("group")?,
                clean_offset: value.field_or_default("cleanOffset")?,
            },
            "forbid" => Change::Forbid {
                group: value.need("group")?,
                topic: value.need("topic")?,
                bits: value.need("bits")?,
            },
            "putRequestMode" => Change::PutRequestMode(value.need("setting")?),
            "commitOffsets" => Change::CommitOffsets(typed_offsets(value.need("offsetTable")?)),
            "delayOffsets" => Change::DelayOffsets(value.need("offsetTable")?),
            "putUser" => Change::PutUser(user(&value.need("user")?)?),
            "deleteUser" => Change::DeleteUser(value.need("username")?),
            "putPolicies" => {
                let (user, policies) = policies(&value.need("acl")?)?;
                Change::PutPolicies { user, policies }
            }
            "deletePolicies" => Change::DeletePolicies(value.need("username")?),
            "timerProgress" => Change::TimerProgress(TimerNote {
                progress: TimerProgress {
                    due: Millis(value.need("due")?),
                    phy_offset: PhyOffset(value.need("phyOffset")?),
                    queue_offset: QueueOffset(value.need("queueOffset")?),
                },
                delivered: value.need("delivered")?,
            }),
            _ => return Err(JsonError::Type { field: "change", expected: "a known change", found: name }),
        })
    }
}

/// A user as a record or a file has it.
pub(super) fn user(info: &UserInfo) -> Result<User, JsonError> {
    User::from_info(info).map_err(|error| JsonError::Type {
        field: "user",
        expected: "a user",
        found: error.to_string(),
    })
}

/// A user's name and policies as a record or a file has them.
pub(super) fn policies(info: &AclInfo) -> Result<(String, Policies), JsonError> {
    let wrong = |found: String| JsonError::Type { field: "acl", expected: "a user's policies", found };
    let subject = info.subject.as_deref().unwrap_or_default();
    let user = user_of_subject(subject).ok_or_else(|| wrong(format!("of '{subject}'")))?;
    let policies = Policies::from_info(info).map_err(|error| wrong(error.to_string()))?;
    Ok((user.to_owned(), policies))
}

type BareOffsets = BTreeMap<String, BTreeMap<String, BTreeMap<i32, i64>>>;

fn bare_offsets(offsets: &GroupOffsets) -> BareOffsets {
    let queues = |queues: &QueueOffsets| queues.iter().map(|(queue, offset)| (queue.0, *offset)).collect();
    let topics = |topics: &BTreeMap<String, QueueOffsets>| {
        topics.iter().map(|(topic, offsets)| (topic.clone(), queues(offsets))).collect()
    };
    offsets.iter().map(|(group, offsets)| (group.clone(), topics(offsets))).collect()
}

fn typed_offsets(offsets: BareOffsets) -> GroupOffsets {
    let queues = |queues: BTreeMap<i32, i64>| {
        queues.into_iter().map(|(queue, offset)| (QueueId(queue), offset)).collect()
    };
    let topics = |topics: BTreeMap<String, BTreeMap<i32, i64>>| {
        topics.into_iter().map(|(topic, offsets)| (topic, queues(offsets))).collect()
    };
    offsets.into_iter().map(|(group, offsets)| (group, topics(offsets))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::topic_config;
    use roxmq_protocol::body::assignment::MessageRequestMode;

    fn check(change: &Change, expected: &str) {
        assert_eq!(change.to_json_text(), expected);
        assert_eq!(Change::from_json_bytes(expected.as_bytes()).as_ref(), Ok(change), "{expected}");
    }

    #[test]
    fn changes_are_lines_of_json() {
        check(&Change::DeleteTopic("T".to_owned()), r#"{"change":"deleteTopic","topic":"T"}"#);
        check(
            &Change::DeleteGroup { group: "G".to_owned(), clean_offset: true },
            r#"{"change":"deleteGroup","cleanOffset":true,"group":"G"}"#,
        );
        check(
            &Change::Forbid { group: "G".to_owned(), topic: "T".to_owned(), bits: 1 },
            r#"{"bits":1,"change":"forbid","group":"G","topic":"T"}"#,
        );
        let setting = MessageRequestModeSetting {
            consumer_group: "G".to_owned(),
            mode: MessageRequestMode::Pop,
            pop_share_queue_num: 4,
            topic: "T".to_owned(),
        };
        check(
            &Change::PutRequestMode(setting),
            r#"{"change":"putRequestMode","setting":{"consumerGroup":"G","mode":"POP","popShareQueueNum":4,"topic":"T"}}"#,
        );
        let queues = QueueOffsets::from([(QueueId(0), 5), (QueueId(1), 7)]);
        let offsets = GroupOffsets::from([("G".to_owned(), BTreeMap::from([("T".to_owned(), queues)]))]);
        check(
            &Change::CommitOffsets(offsets),
            r#"{"change":"commitOffsets","offsetTable":{"G":{"T":{0:5,1:7}}}}"#,
        );
        check(
            &Change::DelayOffsets(BTreeMap::from([(3, 120)])),
            r#"{"change":"delayOffsets","offsetTable":{3:120}}"#,
        );
        let progress =
            TimerProgress { due: Millis(5), phy_offset: PhyOffset(1201), queue_offset: QueueOffset(17) };
        check(
            &Change::TimerProgress(TimerNote { progress, delivered: vec![800, 1200] }),
            r#"{"change":"timerProgress","delivered":[800,1200],"due":5,"phyOffset":1201,"queueOffset":17}"#,
        );
    }

    #[test]
    fn users_and_policies_are_lines_of_json() {
        let info = UserInfo {
            password: Some("p".to_owned()),
            username: Some("U".to_owned()),
            ..UserInfo::default()
        };
        let line = r#"{"change":"putUser","user":{"password":"p","userStatus":"enable","userType":"Normal","username":"U"}}"#;
        check(&Change::PutUser(user(&info).expect("a user")), line);
        check(&Change::DeleteUser("U".to_owned()), r#"{"change":"deleteUser","username":"U"}"#);
        check(&Change::DeletePolicies("U".to_owned()), r#"{"change":"deletePolicies","username":"U"}"#);
        let acl = r#"{"policies":[{"entries":[{"actions":["Pub"],"decision":"Allow","resource":"Topic:T"}],"policyType":"Custom"}],"subject":"User:U"}"#;
        let (user, policies) =
            policies(&AclInfo::from_json_bytes(acl.as_bytes()).expect("JSON")).expect("an ACL");
        let line = format!(r#"{{"acl":{acl},"change":"putPolicies"}}"#);
        check(&Change::PutPolicies { user, policies }, &line);
    }

    #[test]
    fn configurations_come_back() {
        for change in
            [Change::PutTopic(topic_config("T", 4, 6)), Change::PutGroup(SubscriptionGroupConfig::new("G"))]
        {
            assert_eq!(Change::from_json_bytes(&change.to_json()), Ok(change));
        }
    }

    #[test]
    fn an_unknown_change_is_an_error() {
        let error = Change::from_json_bytes(br#"{"change":"fly"}"#).expect_err("unknown");
        assert_eq!(error.to_string(), "the JSON field change should be a known change but is fly");
    }

    #[test]
    fn many_offsets_become_several_records() {
        let mut offsets = GroupOffsets::new();
        for topic in 0..3 {
            let queues = (0..3000).map(|queue| (QueueId(queue), 1)).collect();
            offsets.entry("G".to_owned()).or_default().insert(format!("T{topic}"), queues);
        }
        assert_eq!(commit_changes(&offsets).len(), 3);
        assert_eq!(commit_changes(&GroupOffsets::new()), Vec::new());
    }
}
