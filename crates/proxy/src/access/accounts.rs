//! Users with what they may do, from where they are kept.

use crate::invoker::NetworkInvoker;
use crate::refusal::Result;
use crate::schema::Code;
use roxmq_access::{Account, Directory};
use std::sync::Arc;

pub enum Accounts {
    /// Those of the broker of this process.
    Own(Arc<dyn Directory>),
    /// Those that the brokers of a cluster know.
    OfBrokers(Arc<NetworkInvoker>),
}

impl Accounts {
    /// None if there is no such user. Refused if nobody can say whether there is.
    pub async fn find(&self, name: &str) -> Result<Option<Account>> {
        match self {
            Accounts::Own(directory) => Ok(directory.account(name)),
            Accounts::OfBrokers(invoker) => match invoker.account(name).await {
                Ok(account) => Ok(Some((*account).clone())),
                Err(refusal) if refusal.code == Code::Unauthorized => Ok(None),
                Err(refusal) => Err(refusal),
            },
        }
    }
}
