//! One entry of a policy: these actions on those resources from there are allowed, or denied.

use crate::resource::{Resource, ResourcePattern};
use crate::source::SourceRange;
use roxmq_protocol::body::access::PolicyEntryInfo;
use std::net::IpAddr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Only in policies: whatever is asked for.
    All,
    Pub,
    Sub,
    Create,
    Update,
    Delete,
    Get,
    List,
}

/// A set of actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actions(u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub resource: ResourcePattern,
    pub actions: Actions,
    /// Empty for everywhere.
    pub sources: Vec<SourceRange>,
    pub decision: Decision,
}

/// Why something is no entry; in the Java server's words where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error("The resource is null.")]
    NoResource,
    #[error(
        "The resource {0} is neither * nor Cluster:, Namespace:, Topic: or Group: with a name, the beginning of \
         one and a *, or a *."
    )]
    Resource(String),
    #[error("The actions is empty.")]
    NoActions,
    #[error("The actions can not be Any.")]
    AnyAction,
    #[error("The source ip is empty.")]
    EmptySource,
    #[error("The source ip is invalid.")]
    Source,
    #[error("The decision is null or illegal.")]
    Decision,
}

impl Action {
    const EVERY: [Action; 8] = [
        Action::All,
        Action::Pub,
        Action::Sub,
        Action::Create,
        Action::Update,
        Action::Delete,
        Action::Get,
        Action::List,
    ];

    /// In any case. Nothing for a word that is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Action::EVERY.into_iter().find(|action| name.eq_ignore_ascii_case(action.name()))
    }

    pub fn name(self) -> &'static str {
        match self {
            Action::All => "All",
            Action::Pub => "Pub",
            Action::Sub => "Sub",
            Action::Create => "Create",
            Action::Update => "Update",
            Action::Delete => "Delete",
            Action::Get => "Get",
            Action::List => "List",
        }
    }
}

impl Actions {
    pub const fn of(actions: &[Action]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < actions.len() {
            bits |= 1 << actions[at] as u16;
            at += 1;
        }
        Actions(bits)
    }

    pub fn contains(self, action: Action) -> bool {
        self.0 & Actions::of(&[action]).0 != 0
    }

    #[must_use]
    pub fn with(self, action: Action) -> Self {
        Actions(self.0 | Actions::of(&[action]).0)
    }

    #[must_use]
    pub fn without(self, action: Action) -> Self {
        Actions(self.0 & !Actions::of(&[action]).0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Action> {
        Action::EVERY.into_iter().filter(move |action| self.contains(*action))
    }

    /// Whether an entry with these actions speaks of a request that needs one of the others.
    fn concern(self, needed: Actions) -> bool {
        self.contains(Action::All) || self.0 & needed.0 != 0
    }
}

impl Decision {
    fn from_name(name: &str) -> Option<Self> {
        [Decision::Allow, Decision::Deny]
            .into_iter()
            .find(|decision| name.eq_ignore_ascii_case(decision.name()))
    }

    fn name(self) -> &'static str {
        match self {
            Decision::Allow => "Allow",
            Decision::Deny => "Deny",
        }
    }
}

impl Entry {
    /// Whether the entry has a say on one of these actions on the resource, from there.
    pub fn matches(&self, resource: &Resource<'_>, needed: Actions, source: IpAddr) -> bool {
        self.resource.matches(resource)
            && self.actions.concern(needed)
            && (self.sources.is_empty() || self.sources.iter().any(|range| range.contains(source)))
    }

    /// Actions that nobody knows are left out, as the Java server does.
    pub fn from_info(info: &PolicyEntryInfo) -> Result<Self, EntryError> {
        let key =
            info.resource.as_deref().filter(|key| !key.trim().is_empty()).ok_or(EntryError::NoResource)?;
        let resource = ResourcePattern::from_key(key).ok_or_else(|| EntryError::Resource(key.to_owned()))?;
        if info.actions.iter().any(|name| name.eq_ignore_ascii_case("Any")) {
            return Err(EntryError::AnyAction);
        }
        let known: Vec<Action> = info.actions.iter().filter_map(|name| Action::from_name(name)).collect();
        if known.is_empty() {
            return Err(EntryError::NoActions);
        }
        let sources = info.source_ips.iter().flatten().map(|text| source(text)).collect::<Result<_, _>>()?;
        let decision = info.decision.as_deref().and_then(Decision::from_name).ok_or(EntryError::Decision)?;
        Ok(Entry { resource, actions: Actions::of(&known), sources, decision })
    }

    pub fn to_info(&self) -> PolicyEntryInfo {
        let sources = self.sources.iter().map(SourceRange::to_string).collect();
        PolicyEntryInfo {
            actions: self.actions.iter().map(|action| action.name().to_owned()).collect(),
            decision: Some(self.decision.name().to_owned()),
            resource: Some(self.resource.to_string()),
            source_ips: Some(sources).filter(|sources: &Vec<_>| !sources.is_empty()),
        }
    }
}

fn source(text: &str) -> Result<SourceRange, EntryError> {
    if text.trim().is_empty() {
        return Err(EntryError::EmptySource);
    }
    SourceRange::parse(text).ok_or(EntryError::Source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::json::{FromJson, ToJson};

    fn read(text: &str) -> Result<Entry, EntryError> {
        Entry::from_info(&PolicyEntryInfo::from_json_bytes(text.as_bytes()).expect("JSON"))
    }

    #[test]
    fn an_entry_comes_back() {
        let text = r#"{"actions":["Pub","Sub"],"decision":"Deny","resource":"Topic:T*","sourceIps":["10.0.0.0/8","::1"]}"#;
        assert_eq!(read(text).expect("an entry").to_info().to_json_text(), text);
        let sloppy = r#"{"actions":["sub","PUB","fly"],"decision":"DENY","resource":"topic:T*","sourceIps":["10.0.0.0/8","::1"]}"#;
        assert_eq!(read(sloppy), read(text));
        let everywhere = r#"{"actions":["All"],"decision":"Allow","resource":"*"}"#;
        assert_eq!(read(everywhere).expect("an entry").to_info().to_json_text(), everywhere);
    }

    #[test]
    fn what_is_no_entry_is_refused_in_javas_words() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text).expect_err(text).to_string(), expected);
        };
        check(r#"{"actions":["Pub"],"decision":"Allow"}"#, "The resource is null.");
        check(r#"{"resource":"Topic:T","decision":"Allow"}"#, "The actions is empty.");
        check(r#"{"resource":"Topic:T","actions":["fly"],"decision":"Allow"}"#, "The actions is empty.");
        check(
            r#"{"resource":"Topic:T","actions":["Any"],"decision":"Allow"}"#,
            "The actions can not be Any.",
        );
        check(r#"{"resource":"Topic:T","actions":["Pub"]}"#, "The decision is null or illegal.");
        check(
            r#"{"resource":"Topic:T","actions":["Pub"],"sourceIps":[" "],"decision":"Allow"}"#,
            "The source ip is empty.",
        );
        check(
            r#"{"resource":"Topic:T","actions":["Pub"],"sourceIps":["192.168.*"],"decision":"Allow"}"#,
            "The source ip is invalid.",
        );
        let text = r#"{"resource":"Queue:T","actions":["Pub"],"decision":"Allow"}"#;
        assert_eq!(read(text), Err(EntryError::Resource("Queue:T".to_owned())));
    }

    #[test]
    fn one_of_the_needed_actions_is_enough_and_all_is_each() {
        let check = |actions: &[Action], needed: &[Action], expected: bool| {
            assert_eq!(Actions::of(actions).concern(Actions::of(needed)), expected, "{actions:?} {needed:?}");
        };
        check(&[Action::Pub], &[Action::Pub], true);
        check(&[Action::Get], &[Action::Sub, Action::Get], true);
        check(&[Action::Pub, Action::List], &[Action::Sub, Action::Get], false);
        check(&[Action::All], &[Action::Delete], true);
    }
}
