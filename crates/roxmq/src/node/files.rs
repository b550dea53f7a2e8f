//! How many files and sockets the process may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Shells give processes few that could have many. Each client is a socket here, and behind a proxy one more to each of
/// its brokers.
pub fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays as it is (ulimit -n)");
    }
}
