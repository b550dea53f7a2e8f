//! Load over gRPC: the calls that the clients of version 5 make, by the schema of the `proxy` crate.
//!
//! Each connection has a thread and a runtime of its own. It speaks HTTP/2 without a gRPC client around it, so that
//! the load costs little beside the server, and works with any server of that schema.

mod channel;
mod client;
pub mod consume;
pub mod idle;
pub mod produce;

use super::Deadline;
use super::report::Tally;
use super::server_cost::ServerCost;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the last answers may take after the end.
const LAST_ANSWERS_WAIT: Duration = Duration::from_secs(5);

/// What the tasks of all connections share.
struct Load<A> {
    arguments: A,
    deadline: Deadline,
    tally: Tally,
}

/// Gives each connection a thread, and shows the progress until all are done.
fn run<A, F>(
    load: Load<A>,
    cost: Option<ServerCost>,
    connections: u32,
    connection: impl Fn(Arc<Load<A>>, u32) -> F + Sync,
) -> super::report::Report
where
    A: Send + Sync,
    F: Future<Output = anyhow::Result<()>>,
{
    let load = Arc::new(load);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|number| {
                let (load, connection) = (Arc::clone(&load), &connection);
                scope.spawn(move || {
                    if let Err(error) = run_one(&load, connection(Arc::clone(&load), number)) {
                        load.tally.error(format!("{error:#}"));
                    }
                })
            })
            .collect();
        let at_work = || threads.iter().any(|thread| !thread.is_finished());
        load.tally.show_progress_while(&load.deadline, at_work);
    });
    let load = Arc::into_inner(load).expect("the threads with a share of it have ended");
    load.tally.finish(cost)
}

fn run_one<A>(load: &Load<A>, connection: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let left = load.deadline.end.saturating_duration_since(Instant::now());
    runtime.block_on(async {
        match tokio::time::timeout(left + LAST_ANSWERS_WAIT, connection).await {
            Ok(result) => result,
            Err(_) => anyhow::bail!("the last answers didn't come"),
        }
    })
}
