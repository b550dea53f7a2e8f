//! Work that may wait for the disk: run on threads of its own, a few at a time, so that what is slow there
//! doesn't slow what is fast.

use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use std::sync::OnceLock;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// More at once only make a disk seek more.
const RUNNING_MAX: usize = 8;
/// What waits holds memory; beyond this, clients are asked to come back.
const WAITING_MAX: usize = 10_000;

pub(crate) struct DiskWork {
    runtime: OnceLock<Handle>,
    running: Semaphore,
    waiting: Semaphore,
}

impl Default for DiskWork {
    fn default() -> Self {
        DiskWork {
            runtime: Handle::try_current().map(OnceLock::from).unwrap_or_default(),
            running: Semaphore::new(RUNNING_MAX),
            waiting: Semaphore::new(WAITING_MAX),
        }
    }
}

impl DiskWork {
    /// The runtime that the broker was opened on, whose threads do the work: who asks for it may live on a thread of
    /// connections, or on one that belongs to no runtime.
    pub(crate) fn runtime(&self) -> &Handle {
        self.runtime.get_or_init(Handle::current)
    }

    /// The work's result, or why there is none.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let _place = self.waiting.try_acquire().map_err(|_| overloaded())?;
        let _slot = self.running.acquire().await.map_err(|_| overloaded())?;
        self.runtime()
            .spawn_blocking(work)
            .await
            .map_err(|error| Refusal::failed(format!("the request could not be carried out: {error}")))
    }
}

fn overloaded() -> Refusal {
    let remark = "[OVERLOAD]system busy, start flow control for a while: too many requests wait for the disk";
    Refusal::new(response::SYSTEM_BUSY, remark)
}
