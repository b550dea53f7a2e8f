//! Wake-ups that come while their thread is in the middle of looking for messages itself.
//!
//! They are seen to when it is done, one after the other: so looks never nest, however many wake one another.

use crate::Broker;
use roxmq_store::QueueId;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) struct WakeUp {
    pub(super) group: Box<str>,
    pub(super) topic: Box<str>,
    pub(super) queue_id: Option<QueueId>,
}

thread_local! {
    static BUSY: Cell<bool> = const { Cell::new(false) };
    static DEFERRED: RefCell<VecDeque<WakeUp>> = const { RefCell::new(VecDeque::new()) };
}

/// Does something that may wake who waits, then sees to those wake-ups.
pub(super) fn busy<R>(broker: &Arc<Broker>, work: impl FnOnce() -> R) -> R {
    if BUSY.get() {
        return work();
    }
    let _busy = Busy::begin();
    let result = work();
    while let Some(wake_up) = DEFERRED.with_borrow_mut(VecDeque::pop_front) {
        broker.pop_waits.wake_now(broker, &wake_up.group, &wake_up.topic, wake_up.queue_id);
    }
    result
}

/// Leaves a wake-up for later if the thread is busy; says whether it is.
pub(super) fn defer(wake_up: impl FnOnce() -> WakeUp) -> bool {
    let busy = BUSY.get();
    if busy {
        DEFERRED.with_borrow_mut(|deferred| deferred.push_back(wake_up()));
    }
    busy
}

/// Ends with the work, even if that panics.
struct Busy;

impl Busy {
    fn begin() -> Self {
        BUSY.set(true);
        Busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.set(false);
    }
}
