//! The rules of access control, for whoever enforces them: a broker for its own requests, a proxy for calls of gRPC and
//! for what it passes on.
//!
//! Pure: users and policies, what a request needs, and the verdict. Where users and policies are kept, how they are
//! asked for, and what a refusal looks like on the wire, is the business of the broker and the proxy.

mod credentials;

pub use credentials::{Credentials, CredentialsError};
