//! Which topics and groups a call may name. Whether they are there is not asked here.

use crate::refusal::{Refusal, Result};
use crate::schema::{Code, Resource};
use roxmq_protocol::names;

/// The name of a topic that clients may use.
pub fn topic(resource: Option<&Resource>) -> Result<&str> {
    let name = resource.map_or("", |topic| topic.name.as_str());
    names::check_topic(name).map_err(|error| Refusal::new(Code::IllegalTopic, error.to_string()))?;
    if names::is_system_topic(name) {
        let text = format!("the topic '{name}' is one of the system's");
        return Err(Refusal::new(Code::IllegalTopic, text));
    }
    Ok(name)
}

/// The name of a group that clients may use.
pub fn group(resource: Option<&Resource>) -> Result<&str> {
    let name = resource.map_or("", |group| group.name.as_str());
    names::check_group(name).map_err(|error| Refusal::new(Code::IllegalConsumerGroup, error.to_string()))?;
    if name.starts_with(names::SYSTEM_GROUP_PREFIX) {
        let text = format!("the group '{name}' is one of the system's");
        return Err(Refusal::new(Code::IllegalConsumerGroup, text));
    }
    Ok(name)
}

/// A stored topic as clients know it: `ns%topic` is the topic of a namespace.
pub fn resource(stored: &str) -> Resource {
    let is_derived = names::is_retry_topic(stored) || names::is_dlq_topic(stored);
    match stored.split_once('%') {
        Some((namespace, name)) if !is_derived && !namespace.is_empty() && !name.is_empty() => {
            Resource { resource_namespace: namespace.to_owned(), name: name.to_owned() }
        }
        _ => Resource { resource_namespace: String::new(), name: stored.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Resource {
        Resource { resource_namespace: "any".to_owned(), name: name.to_owned() }
    }

    #[test]
    fn topics() {
        let check = |name: &str, accepted: bool| {
            let code = topic(Some(&named(name))).map(str::to_owned).map_err(|refusal| refusal.code);
            let expected = if accepted { Ok(name.to_owned()) } else { Err(Code::IllegalTopic) };
            assert_eq!(code, expected, "{name}");
        };
        check("Orders", true);
        check("%RETRY%g", true);
        check("a|b%c-d_e", true);
        check("", false);
        check(" ", false);
        check("a b", false);
        check("a🚀", false);
        check(&"t".repeat(127), true);
        check(&"t".repeat(128), false);
        check("TBW102", false);
        check("RMQ_SYS_TRANS_HALF_TOPIC", false);
        check("rmq_sys_wheel_timer", false);
        assert_eq!(topic(None).map_err(|refusal| refusal.code), Err(Code::IllegalTopic));
    }

    #[test]
    fn groups() {
        let check = |name: &str, accepted: bool| {
            let code = group(Some(&named(name))).map(drop).map_err(|refusal| refusal.code);
            assert_eq!(code, if accepted { Ok(()) } else { Err(Code::IllegalConsumerGroup) }, "{name}");
        };
        check("Workers", true);
        check("", false);
        check("a b", false);
        check(&"g".repeat(120), true);
        check(&"g".repeat(121), false);
        check("CID_RMQ_SYS_x", false);
        assert_eq!(group(None).map_err(|refusal| refusal.code), Err(Code::IllegalConsumerGroup));
    }

    #[test]
    fn stored_topics_come_apart() {
        let check = |stored: &str, namespace: &str, name: &str| {
            let expected = Resource { resource_namespace: namespace.to_owned(), name: name.to_owned() };
            assert_eq!(resource(stored), expected);
        };
        check("T", "", "T");
        check("ns%T", "ns", "T");
        check("%RETRY%G_T", "", "%RETRY%G_T");
        check("%T", "", "%T");
        check("ns%", "", "ns%");
    }
}
