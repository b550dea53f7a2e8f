//! Users and policies made, changed, deleted and shown: 3001 to 3010.
//!
//! Super users are made, changed and deleted by super users only, and only they see passwords: who has one signs as its
//! user. Without authentication whoever may ask at all counts as one.

use super::accounts::AccountError;
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_access::{
    Directory, Policies, PolicyError, PolicyType, ResourcePattern, User, UserChange, UserType,
    user_of_subject,
};
use roxmq_protocol::body::access::{AclInfo, UserInfo};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::{FromJson, ToJson};
use roxmq_protocol::signature::ACCESS_KEY;

const ONLY_BY_SUPER_CREATE: &str = "The super user can only be create by super user";
const ONLY_BY_SUPER_UPDATE: &str = "The super user can only be update by super user";

/// 3001
pub(crate) fn create_user(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let info = user_info(request)?;
    let user = User::from_info(&info).map_err(AccountError::User)?;
    if user.is_super() && !is_from_super(broker, request) {
        return Err(Refusal::failed(ONLY_BY_SUPER_CREATE));
    }
    broker.accounts.create(user)?;
    tracing::info!(user = info.username, "a user was made");
    Ok(success())
}

/// 3002
pub(crate) fn update_user(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let info = user_info(request)?;
    let change = UserChange::from_info(&info);
    let from_super = is_from_super(broker, request);
    if change.kind == Some(UserType::Super) && !from_super {
        return Err(Refusal::failed(ONLY_BY_SUPER_UPDATE));
    }
    let name = info.username.unwrap_or_default();
    broker.accounts.update(&name, |old| {
        if old.is_super() && !from_super {
            return Err(Refusal::denied(ONLY_BY_SUPER_UPDATE));
        }
        Ok(old.changed(&change).map_err(AccountError::User)?)
    })?;
    tracing::info!(user = name, "a user was changed");
    Ok(success())
}

/// 3003. Deleting a user that isn't there is no error.
pub(crate) fn delete_user(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let name = request.field("username").unwrap_or_default();
    if name.trim().is_empty() {
        return Err(Refusal::denied("username can not be blank"));
    }
    let Some(user) = broker.accounts.user(name) else { return Ok(success()) };
    if user.is_super() && !is_from_super(broker, request) {
        return Err(Refusal::denied(ONLY_BY_SUPER_UPDATE));
    }
    broker.accounts.delete(name)?;
    tracing::info!(user = name, "a user was deleted, with its policies");
    Ok(success())
}

/// 3004. Without a body if there is no such user.
pub(crate) fn get_user(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let name = request.field("username").unwrap_or_default();
    if name.trim().is_empty() {
        return Err(Refusal::invalid("The username is blank"));
    }
    let from_super = is_from_super(broker, request);
    let info = broker.accounts.user(name).map(|user| shown(&user, from_super));
    Ok(info.map_or_else(success, |info| success().body(info.to_json())))
}

/// 3005. Without a body if there is none.
pub(crate) fn list_users(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let filter = request.field("filter").unwrap_or_default().trim();
    let from_super = is_from_super(broker, request);
    let all = broker.accounts.all();
    let found: Vec<UserInfo> = all
        .iter()
        .filter(|(user, _)| user.name.contains(filter))
        .map(|(user, _)| shown(user, from_super))
        .collect();
    Ok(if found.is_empty() { success() } else { success().body(found.to_json()) })
}

/// 3006 and 3007: both add to what the subject may do, and replace what it has for the same resources.
pub(crate) fn put_acl(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let info = AclInfo::from_json_bytes(&request.body)?;
    if info.policies.is_empty() {
        return Err(Refusal::failed("The body of acl is null"));
    }
    let subject = info.subject.as_deref().or(request.field("subject")).unwrap_or_default();
    let name = user_of_subject(subject).ok_or(PolicyError::Subject).map_err(AccountError::Policy)?;
    let policies = Policies::from_info(&info).map_err(AccountError::Policy)?;
    broker.accounts.add_policies(name, &policies).map_err(|error| match error {
        AccountError::NoUser => Refusal::denied(format!("The subject of {subject} is not exist.")),
        error => error.into(),
    })?;
    tracing::info!(user = name, "policies were set");
    Ok(success())
}

/// 3008: the policies for a resource, or all of them.
pub(crate) fn delete_acl(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let name = subject(request)?;
    let kind = request.field("policyType").and_then(PolicyType::from_name).unwrap_or(PolicyType::Custom);
    let resource = match request.field("resource").filter(|key| !key.trim().is_empty()) {
        Some(key) => Some(ResourcePattern::from_key(key).ok_or_else(|| {
            Refusal::denied(format!("The resource {key} is none, so that there is no policy for it."))
        })?),
        None => None,
    };
    let removed = broker.accounts.remove_policies(name, |old| match &resource {
        Some(resource) => old.without(kind, resource),
        None => Policies::default(),
    });
    removed.map_err(no_subject)?;
    tracing::info!(user = name, resource = request.field("resource"), "policies were deleted");
    Ok(success())
}

/// 3009. Without a body if the subject has none.
pub(crate) fn get_acl(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let name = subject(request)?;
    let account = broker.accounts.account(name).ok_or_else(|| no_subject(AccountError::NoUser))?;
    Ok(account.policies.map_or_else(success, |policies| success().body(policies.to_info(name).to_json())))
}

/// 3010: the policies of subjects, and for resources, whose keys contain these texts. Without a body if there is none.
pub(crate) fn list_acls(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let text = |field| request.field(field).unwrap_or_default().trim();
    let (subjects, resources) = (text("subjectFilter"), text("resourceFilter"));
    let found: Vec<AclInfo> = broker
        .accounts
        .all()
        .into_iter()
        .filter_map(|(user, policies)| Some(policies?.to_info(&user.name)))
        .filter(|acl| acl.subject.as_deref().unwrap_or_default().contains(subjects))
        .filter_map(|acl| with_resources(acl, resources))
        .collect();
    Ok(if found.is_empty() { success() } else { success().body(found.to_json()) })
}

fn with_resources(mut acl: AclInfo, filter: &str) -> Option<AclInfo> {
    for policy in &mut acl.policies {
        policy.entries.retain(|entry| entry.resource.as_deref().unwrap_or_default().contains(filter));
    }
    acl.policies.retain(|policy| !policy.entries.is_empty());
    (!acl.policies.is_empty()).then_some(acl)
}

/// The body, with the name that the header has.
fn user_info(request: &Command) -> Result<UserInfo, Refusal> {
    let name = request.field("username").unwrap_or_default();
    if name.is_empty() {
        return Err(Refusal::invalid("The username is blank"));
    }
    let info = UserInfo::from_json_bytes(&request.body)?;
    Ok(UserInfo { username: Some(name.to_owned()), ..info })
}

fn subject(request: &Command) -> Result<&str, Refusal> {
    user_of_subject(request.field("subject").unwrap_or_default())
        .ok_or_else(|| Refusal::denied("The subject is null."))
}

/// Only for super users' eyes with the password.
fn shown(user: &User, with_password: bool) -> UserInfo {
    let info = user.to_info();
    UserInfo { password: info.password.filter(|_| with_password), ..info }
}

fn is_from_super(broker: &Broker, request: &Command) -> bool {
    !broker.guard.is_on() || broker.guard.is_from_super(request.code, request.field(ACCESS_KEY))
}

fn no_subject(error: AccountError) -> Refusal {
    match error {
        AccountError::NoUser => Refusal::denied("The subject is not exist."),
        error => error.into(),
    }
}

fn success() -> Command {
    Command::response(response::SUCCESS)
}

impl From<AccountError> for Refusal {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::State(_) => Refusal::failed(error.to_string()),
            _ => Refusal::denied(error.to_string()),
        }
    }
}
