//! Users with what they may do, from where they are kept.

use crate::invoker::NetworkInvoker;
use crate::refusal::Result;
use crate::schema::Code;
use roxmq_access::{Directory, Policies, User};
use std::sync::Arc;

pub enum Accounts {
    /// Those of the broker of this process.
    Own(Arc<dyn Directory>),
    /// Those that the brokers of a cluster know.
    OfBrokers(Arc<NetworkInvoker>),
}

#[derive(Clone, Debug)]
pub struct Account {
    pub user: Arc<User>,
    /// None for a user whom nothing is allowed, and where nobody asks for it.
    pub policies: Option<Arc<Policies>>,
}

impl Accounts {
    /// None if there is no such user. Refused if nobody can say whether there is.
    pub async fn find(&self, name: &str) -> Result<Option<Account>> {
        match self {
            Accounts::Own(directory) => {
                let found = directory.user(name);
                Ok(found.map(|user| Account { user, policies: directory.policies(name) }))
            }
            Accounts::OfBrokers(invoker) => match invoker.account(name).await {
                Ok(account) => Ok(Some((*account).clone())),
                Err(refusal) if refusal.code == Code::Unauthorized => Ok(None),
                Err(refusal) => Err(refusal),
            },
        }
    }
}

impl AsRef<User> for Account {
    fn as_ref(&self) -> &User {
        &self.user
    }
}
