//! Where a call comes from.

use http::uri::Authority;
use std::net::SocketAddr;

/// The two ends of the HTTP/2 connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The client; with a PROXY header, the source it names.
    pub remote: SocketAddr,
    pub local: SocketAddr,
}

/// What a call's handler finds among the request's extensions.
#[derive(Clone, Debug)]
pub struct CallSite {
    pub peer: Peer,
    /// What the client dialled, as it says.
    pub authority: Option<Authority>,
}
