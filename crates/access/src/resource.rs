//! What rights are about: topics, groups, the cluster, and patterns of their names.

use roxmq_protocol::names;
use std::borrow::Cow;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceType {
    Cluster,
    Namespace,
    Topic,
    Group,
}

/// One thing that a request needs rights on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource<'a> {
    pub kind: ResourceType,
    pub name: Cow<'a, str>,
}

/// What an entry of a policy is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourcePattern {
    /// `*`: everything.
    Any,
    Of(ResourceType, NamePattern),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamePattern {
    /// `*`
    Any,
    /// `orders*`
    Prefixed(String),
    Literal(String),
}

impl ResourceType {
    const ALL: [ResourceType; 4] =
        [ResourceType::Cluster, ResourceType::Namespace, ResourceType::Topic, ResourceType::Group];

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| name.eq_ignore_ascii_case(kind.name()))
    }

    fn name(self) -> &'static str {
        match self {
            ResourceType::Cluster => "Cluster",
            ResourceType::Namespace => "Namespace",
            ResourceType::Topic => "Topic",
            ResourceType::Group => "Group",
        }
    }
}

impl<'a> Resource<'a> {
    /// A topic; the retry topic of a group counts as the group.
    pub fn topic(name: impl Into<Cow<'a, str>>) -> Self {
        let name = name.into();
        if names::is_retry_topic(&name) {
            return Resource::group(name);
        }
        Resource { kind: ResourceType::Topic, name }
    }

    /// A group, by its name or that of its retry topic.
    pub fn group(name: impl Into<Cow<'a, str>>) -> Self {
        Resource { kind: ResourceType::Group, name: group_name(name.into()) }
    }

    pub fn cluster(name: impl Into<Cow<'a, str>>) -> Self {
        Resource { kind: ResourceType::Cluster, name: name.into() }
    }
}

fn group_name(name: Cow<'_, str>) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(names::group_of_retry_topic(name).unwrap_or(name)),
        Cow::Owned(name) => Cow::Owned(names::group_of_retry_topic(&name).map(str::to_owned).unwrap_or(name)),
    }
}

impl fmt::Display for Resource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.name)
    }
}

impl ResourcePattern {
    /// Nothing for what is no pattern: an unknown type, or a `*` that isn't at the end.
    pub fn from_key(key: &str) -> Option<Self> {
        let key = key.trim();
        if key == "*" {
            return Some(ResourcePattern::Any);
        }
        let (kind, name) = key.split_once(':')?;
        let kind = ResourceType::from_name(kind)?;
        let pattern = match name.strip_suffix('*') {
            Some("") => NamePattern::Any,
            Some(prefix) if !prefix.contains('*') => NamePattern::Prefixed(prefix.to_owned()),
            None if !name.contains('*') => NamePattern::Literal(name.to_owned()),
            _ => return None,
        };
        Some(ResourcePattern::Of(kind, pattern))
    }

    pub fn matches(&self, resource: &Resource<'_>) -> bool {
        match self {
            ResourcePattern::Any => true,
            ResourcePattern::Of(kind, _) if *kind != resource.kind => false,
            ResourcePattern::Of(_, NamePattern::Any) => true,
            ResourcePattern::Of(_, NamePattern::Prefixed(prefix)) => {
                resource.name.starts_with(prefix.as_str())
            }
            ResourcePattern::Of(_, NamePattern::Literal(name)) => *name == resource.name,
        }
    }

    /// Of patterns that match one resource, the one with the greatest rank decides.
    pub fn rank(&self) -> usize {
        match self {
            ResourcePattern::Any => 0,
            ResourcePattern::Of(_, NamePattern::Any) => 1,
            ResourcePattern::Of(_, NamePattern::Prefixed(prefix)) => 2 + prefix.len(),
            ResourcePattern::Of(_, NamePattern::Literal(_)) => usize::MAX,
        }
    }
}

/// The key that the pattern is read from.
impl fmt::Display for ResourcePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResourcePattern::Any => f.write_str("*"),
            ResourcePattern::Of(kind, NamePattern::Any) => write!(f, "{}:*", kind.name()),
            ResourcePattern::Of(kind, NamePattern::Prefixed(prefix)) => {
                write!(f, "{}:{prefix}*", kind.name())
            }
            ResourcePattern::Of(kind, NamePattern::Literal(name)) => write!(f, "{}:{name}", kind.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_and_written() {
        let check = |key: &str, expected: Option<&str>| {
            let read = ResourcePattern::from_key(key).map(|pattern| pattern.to_string());
            assert_eq!(read.as_deref(), expected, "{key}");
        };
        check("*", Some("*"));
        check("Topic:*", Some("Topic:*"));
        check("topic:orders*", Some("Topic:orders*"));
        check("GROUP:g:1", Some("Group:g:1"));
        check("Cluster:c", Some("Cluster:c"));
        check("Namespace:n", Some("Namespace:n"));
        for nothing in ["", "orders", "King:k", "Any:*", "Topic:a*b", "Topic:a*b*", "Topic:**"] {
            check(nothing, None);
        }
    }

    #[test]
    fn a_pattern_matches_its_kind_and_names() {
        let check = |key: &str, resource: Resource<'_>, expected: bool| {
            let pattern = ResourcePattern::from_key(key).expect("a pattern");
            assert_eq!(pattern.matches(&resource), expected, "{key} {resource}");
        };
        check("*", Resource::cluster("c"), true);
        check("Topic:*", Resource::topic("t"), true);
        check("Topic:*", Resource::group("t"), false);
        check("Topic:or*", Resource::topic("orders"), true);
        check("Topic:or*", Resource::topic("o"), false);
        check("Topic:orders", Resource::topic("orders"), true);
        check("Topic:orders", Resource::topic("orders2"), false);
    }

    #[test]
    fn retry_topics_count_as_their_group() {
        let check = |resource: Resource<'_>, expected: &str| assert_eq!(resource.to_string(), expected);
        check(Resource::topic("T"), "Topic:T");
        check(Resource::topic("%RETRY%G"), "Group:G");
        check(Resource::topic("%RETRY%G+T"), "Group:G");
        check(Resource::topic("%DLQ%G"), "Topic:%DLQ%G");
        check(Resource::group("%RETRY%G".to_owned()), "Group:G");
    }
}
