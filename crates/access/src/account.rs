//! A user with what it may do, and where a server finds its own.

use crate::needs::Need;
use crate::policies::Policies;
use crate::user::User;
use crate::verdict::{Denial, judge};
use std::net::IpAddr;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Account {
    pub user: Arc<User>,
    /// None for a user whom nothing is allowed, and where nobody asks for it.
    pub policies: Option<Arc<Policies>>,
}

/// Asked for each request: it neither waits nor copies.
pub trait Directory: Send + Sync {
    fn account(&self, name: &str) -> Option<Account>;

    fn user(&self, name: &str) -> Option<Arc<User>> {
        self.account(name).map(|account| account.user)
    }
}

impl Account {
    /// Whether the user may have all of it, coming from there.
    pub fn may(&self, needs: &[Need<'_>], source: IpAddr) -> Result<(), Denial> {
        judge(&self.user, self.policies.as_deref(), needs, source)
    }
}

impl AsRef<User> for Account {
    fn as_ref(&self) -> &User {
        &self.user
    }
}
