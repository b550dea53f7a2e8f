//! Users and what they may do, as a cluster has them: as the first of its brokers says that knows the user.
//!
//! What is known stays as long as no broker can be asked. Whom no broker knows is asked for again after a moment, so
//! that a user who was just made is found.

use super::Network;
use super::cache::{Cache, Limits};
use crate::config::ProxyConfig;
use crate::invoker::unreadable;
use crate::join::join_all;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use roxmq_access::{Account, AuthenticationError, Policies, PolicyError, User, subject_of_user};
use roxmq_protocol::body::access::{AclInfo, UserInfo};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::FromJson;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How many users are asked for at the same time: names are free to invent.
const QUESTIONS_MAX: usize = 32;

pub struct CachedAccounts {
    cache: Cache<Account>,
    refresh: Duration,
    questions: Semaphore,
    /// Whether it matters what users may do.
    with_policies: bool,
}

impl CachedAccounts {
    /// A user and its policies are asked for, kept and forgotten together, at the shorter of their times.
    pub fn new(config: &ProxyConfig) -> Self {
        let refresh = super::seconds(config.user_refresh_s.min(config.acl_refresh_s));
        let limits = Limits {
            refresh,
            unused: super::seconds(config.user_unused_s.min(config.acl_unused_s)),
            entries_max: config.users_max.min(config.acls_max).max(1),
        };
        CachedAccounts {
            cache: Cache::new(limits),
            refresh,
            questions: Semaphore::new(QUESTIONS_MAX),
            with_policies: config.authorize,
        }
    }
}

/// The user of this name; `UNAUTHORIZED` if no broker knows it.
pub async fn get(network: &Network, name: &str) -> Result<Arc<Account>> {
    network.accounts.cache.get(name, |_| ask(network, name)).await
}

/// Keeps those who call up to date, until the future is dropped.
pub async fn run(network: Arc<Network>) {
    let accounts = &network.accounts;
    let mut last = Instant::now();
    loop {
        tokio::time::sleep(accounts.refresh).await;
        let now = Instant::now();
        let used = accounts.cache.used_since(last, now, |_| true);
        last = now;
        for names in used.chunks(QUESTIONS_MAX) {
            let refresh = |name| Box::pin(accounts.cache.refresh(name, |_| ask(&network, name)));
            join_all(names.iter().map(|name| refresh(&**name)).collect()).await;
        }
    }
}

async fn ask(network: &Network, name: &str) -> Result<Account> {
    // Never closed.
    let _turn = network.accounts.questions.acquire().await;
    let about_user = || Command::request(request::AUTH_GET_USER).with("username", name);
    let Some(body) = first(network, name, about_user).await? else {
        let unknown = AuthenticationError::UnknownUser(name.to_owned());
        return Err(Refusal::new(Code::Unauthorized, unknown.to_string()));
    };
    let info = UserInfo::from_json_bytes(&body).map_err(unreadable)?;
    let user = User::from_info(&info).map_err(|error| unusable(name, &error))?;
    let policies = match network.accounts.with_policies && !user.is_super() {
        true => policies(network, name).await?,
        false => None,
    };
    Ok(Account { user: Arc::new(user), policies })
}

async fn policies(network: &Network, name: &str) -> Result<Option<Arc<Policies>>> {
    let about_acl = || Command::request(request::AUTH_GET_ACL).with("subject", subject_of_user(name));
    let Some(body) = first(network, name, about_acl).await? else { return Ok(None) };
    let info = AclInfo::from_json_bytes(&body).map_err(unreadable)?;
    match Policies::from_info(&info) {
        Ok(policies) => Ok(Some(Arc::new(policies))),
        Err(PolicyError::NoPolicies) => Ok(None),
        Err(error) => Err(unusable(name, &error)),
    }
}

/// What the first broker says that has something to say. None if all have answered, and with nothing.
async fn first(
    network: &Network,
    name: &str,
    question: impl Fn() -> Command,
) -> Result<Option<bytes::Bytes>> {
    let brokers = network.members.of_cluster(&network.cluster);
    if brokers.is_empty() {
        let text = format!("no broker is known that could be asked who user {name} is");
        return Err(Refusal::new(Code::InternalServerError, text));
    }
    let mut unsure = None;
    for broker in brokers {
        match network.ask(&broker, question()).await {
            Ok(answer) if answer.body.is_empty() => {}
            Ok(answer) => return Ok(Some(answer.body)),
            Err(refusal) => unsure = Some((broker, refusal)),
        }
    }
    let Some((broker, Refusal { code, text })) = unsure else { return Ok(None) };
    let text = format!(
        "broker {broker} doesn't say who user {name} is: {text} (innerClientAuthenticationCredentials has to name a super \
         user of the brokers)"
    );
    Err(Refusal { code, text })
}

fn unusable(name: &str, error: &dyn std::error::Error) -> Refusal {
    Refusal::new(Code::InternalServerError, format!("what brokers say of user {name} is of no use: {error}"))
}
