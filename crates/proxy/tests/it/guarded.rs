//! Access control as tests turn it on, and what an operator does to users then.

use roxmq_protocol::body::access::{AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::signature::SigningKey;

/// User and password.
pub type Credentials = (&'static str, &'static str);

/// The super user that brokers start with.
pub const ROOT: Credentials = ("root", "root-secret");

/// For brokers.
pub const KEYS: &[(&str, &str)] = &[
    ("authenticationEnabled", "true"),
    ("authorizationEnabled", "true"),
    ("initAuthenticationUser", r#"{"username":"root","password":"root-secret"}"#),
];

pub fn signed((user, password): Credentials, request: Command) -> Command {
    SigningKey::new(password).sign_command(user, request)
}

pub fn create_user((name, password): Credentials) -> Command {
    let info = UserInfo { password: Some(password.to_owned()), ..named(name) };
    Command::request(request::AUTH_CREATE_USER).with("username", name).body(info.to_json())
}

pub fn set_status(name: &str, status: &str) -> Command {
    let info = UserInfo { user_status: Some(status.to_owned()), ..named(name) };
    Command::request(request::AUTH_UPDATE_USER).with("username", name).body(info.to_json())
}

pub fn delete_user(name: &str) -> Command {
    Command::request(request::AUTH_DELETE_USER).with("username", name)
}

/// Lets a user do these things: resources, each with its actions.
pub fn allow(name: &str, rights: &[(&str, &str)]) -> Command {
    let subject = format!("User:{name}");
    let entry = |(resource, actions): &(&str, &str)| PolicyEntryInfo {
        actions: actions.split(',').map(str::to_owned).collect(),
        decision: Some("Allow".to_owned()),
        resource: Some((*resource).to_owned()),
        source_ips: None,
    };
    let policy =
        PolicyInfo { entries: rights.iter().map(entry).collect(), policy_type: Some("Custom".to_owned()) };
    let info = AclInfo { policies: vec![policy], subject: Some(subject.clone()) };
    Command::request(request::AUTH_CREATE_ACL).with("subject", subject).body(info.to_json())
}

fn named(name: &str) -> UserInfo {
    UserInfo { username: Some(name.to_owned()), ..UserInfo::default() }
}
