//! The verdict: whether a user may have what a request needs.
//!
//! Of the entries that have a say on a need, custom ones push the defaults aside; then the most precise pattern
//! decides. Where two are as precise, a denial wins.

use crate::entry::{Decision, Entry};
use crate::needs::Need;
use crate::policies::{Policies, PolicyType, subject_of_user};
use crate::user::User;
use std::net::IpAddr;

/// Why a request is refused, in the Java server's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject} has no permission to access {resource} from {source_ip}, {reason}")]
pub struct Denial {
    pub subject: String,
    pub resource: String,
    pub source_ip: IpAddr,
    pub reason: &'static str,
}

const NO_MATCH: &str = "no matched policies.";
const DENIED: &str = "the decision is deny.";

/// Whether the user may have all of it, coming from there.
pub fn judge(
    user: &User,
    policies: Option<&Policies>,
    needs: &[Need<'_>],
    source: IpAddr,
) -> Result<(), Denial> {
    if user.is_super() {
        return Ok(());
    }
    for need in needs {
        let reason = match policies.and_then(|policies| decisive(policies, need, source)) {
            Some(entry) if entry.decision == Decision::Allow => continue,
            Some(_) => DENIED,
            None => NO_MATCH,
        };
        return Err(Denial {
            subject: subject_of_user(&user.name),
            resource: need.resource.to_string(),
            source_ip: source.to_canonical(),
            reason,
        });
    }
    Ok(())
}

/// The entry that decides about a need.
fn decisive<'a>(policies: &'a Policies, need: &Need<'_>, source: IpAddr) -> Option<&'a Entry> {
    [PolicyType::Custom, PolicyType::Default].into_iter().find_map(|kind| {
        let entries = policies.entries(kind).iter();
        entries
            .filter(|entry| entry.matches(&need.resource, need.actions, source))
            .max_by_key(|entry| (entry.resource.rank(), entry.decision == Decision::Deny))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Action;
    use crate::resource::Resource;
    use crate::user::UserType;
    use roxmq_protocol::body::access::{AclInfo, PolicyEntryInfo, PolicyInfo};

    fn user(kind: UserType) -> User {
        User::new("u", "p", kind).expect("a user")
    }

    /// Policies of lines `type resource actions decision [source]`.
    fn policies(lines: &[&str]) -> Policies {
        let mut acl = AclInfo::default();
        for line in lines {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            let entry = PolicyEntryInfo {
                resource: Some(words[1].clone()),
                actions: words[2].split(',').map(str::to_owned).collect(),
                decision: Some(words[3].clone()),
                source_ips: words.get(4).map(|source| vec![source.clone()]),
            };
            acl.policies.push(PolicyInfo { entries: vec![entry], policy_type: Some(words[0].clone()) });
        }
        Policies::from_info(&acl).expect("policies")
    }

    fn source() -> IpAddr {
        "127.0.0.1".parse().expect("an address")
    }

    #[track_caller]
    fn check(policies: &Policies, need: Need<'_>, expected: Result<(), &str>) {
        let verdict = judge(&user(UserType::Normal), Some(policies), &[need], source());
        assert_eq!(verdict.map_err(|denial| denial.reason), expected);
    }

    #[test]
    fn the_more_precise_rule_decides() {
        // A prefix that is longer, and exact names, must win whatever the order of the entries.
        let mut lines = [
            "Custom Topic:* Pub Deny",
            "Custom Topic:ab* Pub Allow",
            "Custom Topic:abc* Pub Deny",
            "Custom Topic:abcd Pub Allow",
        ];
        for _ in 0..lines.len() {
            lines.rotate_left(1);
            let policies = policies(&lines);
            check(&policies, Need::publish("ab1"), Ok(()));
            check(&policies, Need::publish("abc1"), Err(DENIED));
            check(&policies, Need::publish("abcd"), Ok(()));
            check(&policies, Need::publish("x"), Err(DENIED));
        }
    }

    #[test]
    fn a_type_goes_before_any_type() {
        let both = policies(&["Custom * All Deny", "Custom Topic:* Pub Allow"]);
        check(&both, Need::publish("t"), Ok(()));
        check(&both, Need::consume("g"), Err(DENIED));
    }

    #[test]
    fn a_denial_wins_a_tie() {
        for lines in [
            ["Custom Topic:t Pub,Sub Allow", "Custom Topic:t Pub Deny"],
            ["Custom Topic:t Pub Deny", "Custom Topic:t Pub,Sub Allow"],
        ] {
            check(&policies(&lines), Need::publish("t"), Err(DENIED));
            check(&policies(&lines), Need::subscribe("t"), Ok(()));
        }
    }

    #[test]
    fn defaults_count_where_nothing_custom_has_a_say() {
        let policies = policies(&["Default Topic:* Pub,Sub Allow", "Custom Topic:secret Sub Deny"]);
        check(&policies, Need::subscribe("t"), Ok(()));
        check(&policies, Need::subscribe("secret"), Err(DENIED));
        check(&policies, Need::publish("secret"), Ok(()));
    }

    #[test]
    fn one_of_the_actions_is_enough() {
        let policies = policies(&["Custom Topic:t Get Allow"]);
        check(&policies, Need::of_topic("t", &[Action::Sub, Action::Get]), Ok(()));
        check(&policies, Need::of_topic("t", &[Action::Sub]), Err(NO_MATCH));
    }

    #[test]
    fn an_entry_for_other_places_has_no_say() {
        let here = policies(&["Custom Topic:t Pub Allow 127.0.0.0/8"]);
        check(&here, Need::publish("t"), Ok(()));
        let elsewhere = policies(&["Custom Topic:t Pub Allow 10.0.0.0/8"]);
        check(&elsewhere, Need::publish("t"), Err(NO_MATCH));
        let mixed = policies(&["Custom Topic:* Pub Allow", "Custom Topic:t Pub Deny 10.0.0.0/8"]);
        check(&mixed, Need::publish("t"), Ok(()));
    }

    #[test]
    fn every_need_has_to_be_met() {
        let policies = policies(&["Custom Topic:t Sub Allow"]);
        let needs = [Need::subscribe("t"), Need::consume("g")];
        let denial = judge(&user(UserType::Normal), Some(&policies), &needs, source()).expect_err("no group");
        assert_eq!(
            denial.to_string(),
            "User:u has no permission to access Group:g from 127.0.0.1, no matched policies."
        );
    }

    #[test]
    fn who_has_no_policies_may_nothing_and_super_users_everything() {
        let needs = [Need::new(Resource::cluster("c"), &[Action::Update])];
        assert!(judge(&user(UserType::Normal), None, &needs, source()).is_err());
        assert_eq!(judge(&user(UserType::Super), None, &needs, source()), Ok(()));
        assert_eq!(judge(&user(UserType::Normal), None, &[], source()), Ok(()));
    }
}
