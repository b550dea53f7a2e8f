//! Where a server finds its own users and their policies.

use crate::policies::Policies;
use crate::user::User;
use std::sync::Arc;

/// Asked for each request: it neither waits nor copies.
pub trait Directory: Send + Sync {
    fn user(&self, name: &str) -> Option<Arc<User>>;

    fn policies(&self, user: &str) -> Option<Arc<Policies>>;
}
