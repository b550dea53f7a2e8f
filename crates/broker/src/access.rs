//! Access control: whose requests are answered, and which.
//!
//! With `authenticationEnabled` every request is signed by a user that is known here, with `authorizationEnabled` the
//! user's policies allow what the request needs. The rules themselves are in the crate `access`; here are the users and
//! policies, which are state of the broker, the check that stands before all handlers, and the requests of tools
//! (3001 to 3010). Who has called in from a proxy in this process was checked there.

mod accounts;
mod check;
pub(crate) mod requests;
mod start;

pub use accounts::AccountError;

pub(crate) use accounts::Accounts;
pub(crate) use check::Guard;
pub(crate) use start::{first_users, make_first_users};
