//! Log lines go to standard error, so that what a command prints stays apart from them.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// `RUST_LOG` chooses what is shown; by default state changes and what is worse.
pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}
