//! The rules of access control, for whoever enforces them: a broker for its own requests, a proxy for calls of gRPC and
//! for what it passes on.
//!
//! Pure: users and their proofs, policies, what a request needs, and the verdict. Where users and policies are kept, how
//! they are asked for, and what a refusal looks like on the wire, is the business of the broker and the proxy. The
//! words of refusals are those of the Java server.
//!
//! What isn't allowed is denied. Super users may do everything.

mod account;
mod authentication;
mod credentials;
mod entry;
mod needs;
mod policies;
mod requests;
mod resource;
mod rules;
mod shown;
mod source;
mod user;
mod verdict;
mod whitelist;

pub use account::{Account, Directory};
pub use authentication::{AuthenticationError, Proof, authenticate};
pub use credentials::{Credentials, CredentialsError};
pub use entry::{Action, Actions, Decision, Entry, EntryError};
pub use needs::{Need, Needs};
pub use policies::{ENTRIES_MAX, Policies, PolicyError, PolicyType, subject_of_user, user_of_subject};
pub use requests::{NeedsError, is_listed, needs_of_request};
pub use resource::{NamePattern, Resource, ResourcePattern, ResourceType};
pub use rules::{Check, Rules};
pub use shown::shown;
pub use source::SourceRange;
pub use user::{User, UserChange, UserError, UserStatus, UserType};
pub use verdict::Denial;
pub use whitelist::Whitelist;
