//! Which address of a broker an asker is told.

use std::borrow::Cow;
use std::net::SocketAddr;

/// The connection that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Where the asker is.
    pub remote: SocketAddr,
    /// Where it reached us.
    pub local: SocketAddr,
}

/// Chooses for each broker in a route or cluster answer the address that its asker should connect to.
pub trait AddressRule: Send + Sync + 'static {
    fn choose<'a>(
        &self,
        asker: &Asker,
        broker_name: &str,
        broker_id: i64,
        registered: &'a str,
    ) -> Cow<'a, str>;
}

/// Everybody is told what the broker registered.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegisteredAddress;

impl AddressRule for RegisteredAddress {
    fn choose<'a>(&self, _: &Asker, _: &str, _: i64, registered: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(registered)
    }
}
