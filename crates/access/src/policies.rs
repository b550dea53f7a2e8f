//! What one user may do: its policies, custom ones and defaults, with entries for patterns of resources.

use crate::entry::{Entry, EntryError};
use crate::resource::ResourcePattern;
use roxmq_protocol::body::access::{AclInfo, PolicyInfo};

/// More than anybody writes by hand, and few enough for a record of the state.
pub const ENTRIES_MAX: usize = 1000;

const SUBJECT_KIND: &str = "User";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyType {
    /// What operators set. Defaults count only where nothing of these has a say.
    Custom,
    Default,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    custom: Vec<Entry>,
    default: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("The subject type is null.")]
    Subject,
    #[error("The policies is empty.")]
    NoPolicies,
    #[error("The policy type {0} is neither Custom nor Default.")]
    Type(String),
    #[error(transparent)]
    Entry(#[from] EntryError),
    #[error("The policies have {0} entries, more than {ENTRIES_MAX}.")]
    TooMany(usize),
}

impl PolicyType {
    /// In any case. Nothing for a word that is none.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [PolicyType::Custom, PolicyType::Default];
        all.into_iter().find(|kind| name.eq_ignore_ascii_case(kind.name()))
    }

    fn name(self) -> &'static str {
        match self {
            PolicyType::Custom => "Custom",
            PolicyType::Default => "Default",
        }
    }
}

/// The user that a subject (`User:name`) is.
pub fn user_of_subject(subject: &str) -> Option<&str> {
    let (kind, name) = subject.split_once(':')?;
    kind.eq_ignore_ascii_case(SUBJECT_KIND).then_some(name)
}

/// The subject that a user is.
pub fn subject_of_user(name: &str) -> String {
    format!("{SUBJECT_KIND}:{name}")
}

impl Policies {
    /// A policy without a type is a custom one.
    pub fn from_info(info: &AclInfo) -> Result<Self, PolicyError> {
        let mut policies = Policies::default();
        for policy in &info.policies {
            let kind = match &policy.policy_type {
                Some(name) => PolicyType::from_name(name).ok_or_else(|| PolicyError::Type(name.clone()))?,
                None => PolicyType::Custom,
            };
            for entry in &policy.entries {
                policies.entries_mut(kind).push(Entry::from_info(entry)?);
            }
        }
        policies.checked()
    }

    pub fn to_info(&self, user: &str) -> AclInfo {
        let policy = |kind: PolicyType| PolicyInfo {
            entries: self.entries(kind).iter().map(Entry::to_info).collect(),
            policy_type: Some(kind.name().to_owned()),
        };
        let policies = [PolicyType::Custom, PolicyType::Default].map(policy).into_iter();
        AclInfo {
            policies: policies.filter(|policy| !policy.entries.is_empty()).collect(),
            subject: Some(subject_of_user(user)),
        }
    }

    /// These with the others' entries, which take the places of those for the same patterns.
    pub fn with(&self, others: &Policies) -> Result<Self, PolicyError> {
        let mut policies = self.clone();
        for kind in [PolicyType::Custom, PolicyType::Default] {
            let (old, new) = (policies.entries_mut(kind), others.entries(kind));
            old.retain(|old| new.iter().all(|new| new.resource != old.resource));
            old.extend_from_slice(new);
        }
        policies.checked()
    }

    /// These without the entry for exactly this pattern.
    #[must_use]
    pub fn without(&self, kind: PolicyType, resource: &ResourcePattern) -> Self {
        let mut policies = self.clone();
        policies.entries_mut(kind).retain(|entry| entry.resource != *resource);
        policies
    }

    pub fn entries(&self, kind: PolicyType) -> &[Entry] {
        match kind {
            PolicyType::Custom => &self.custom,
            PolicyType::Default => &self.default,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.custom.is_empty() && self.default.is_empty()
    }

    fn entries_mut(&mut self, kind: PolicyType) -> &mut Vec<Entry> {
        match kind {
            PolicyType::Custom => &mut self.custom,
            PolicyType::Default => &mut self.default,
        }
    }

    fn checked(self) -> Result<Self, PolicyError> {
        match self.custom.len() + self.default.len() {
            0 => Err(PolicyError::NoPolicies),
            entries if entries > ENTRIES_MAX => Err(PolicyError::TooMany(entries)),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::json::{FromJson, ToJson};

    fn read(text: &str) -> Result<Policies, PolicyError> {
        Policies::from_info(&AclInfo::from_json_bytes(text.as_bytes()).expect("JSON"))
    }

    fn one(kind: &str, resource: &str, action: &str) -> String {
        format!(
            r#"{{"policies":[{{"entries":[{{"actions":["{action}"],"decision":"Allow","resource":"{resource}"}}],"policyType":"{kind}"}}],"subject":"User:u"}}"#
        )
    }

    #[test]
    fn policies_come_back() {
        for text in [one("Custom", "Topic:T", "Pub"), one("Default", "Group:*", "Sub")] {
            assert_eq!(read(&text).expect("policies").to_info("u").to_json_text(), text);
        }
        let untyped =
            r#"{"policies":[{"entries":[{"actions":["Pub"],"decision":"Allow","resource":"Topic:T"}]}]}"#;
        assert_eq!(read(untyped), read(&one("Custom", "Topic:T", "Pub")));
    }

    #[test]
    fn entries_replace_those_of_the_same_pattern() {
        let old = read(&one("Custom", "Topic:T", "Pub")).expect("policies");
        let changed = old.with(&read(&one("Custom", "Topic:T", "Sub")).expect("policies")).expect("policies");
        assert_eq!(changed.to_info("u").to_json_text(), one("Custom", "Topic:T", "Sub"));
        let grown = old.with(&read(&one("Default", "Topic:T", "Sub")).expect("policies")).expect("policies");
        assert_eq!(grown.entries(PolicyType::Custom).len() + grown.entries(PolicyType::Default).len(), 2);
        let resource = ResourcePattern::from_key("Topic:T").expect("a pattern");
        assert!(old.without(PolicyType::Custom, &resource).is_empty());
        assert_eq!(old.without(PolicyType::Default, &resource), old);
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        assert_eq!(read("{}"), Err(PolicyError::NoPolicies));
        assert_eq!(read(r#"{"policies":[{"entries":[]}]}"#), Err(PolicyError::NoPolicies));
        assert_eq!(read(&one("Odd", "Topic:T", "Pub")), Err(PolicyError::Type("Odd".to_owned())));
        let many: Vec<_> = (0..=ENTRIES_MAX)
            .map(|at| format!(r#"{{"actions":["Pub"],"decision":"Allow","resource":"Topic:T{at}"}}"#))
            .collect();
        let text = format!(r#"{{"policies":[{{"entries":[{}]}}]}}"#, many.join(","));
        assert_eq!(read(&text), Err(PolicyError::TooMany(ENTRIES_MAX + 1)));
    }

    #[test]
    fn users_are_the_only_subjects() {
        assert_eq!(user_of_subject("User:u"), Some("u"));
        assert_eq!(user_of_subject("user:a:b"), Some("a:b"));
        for nobody in ["", "u", "Role:r"] {
            assert_eq!(user_of_subject(nobody), None, "{nobody}");
        }
        assert_eq!(subject_of_user("u"), "User:u");
    }
}
