//! Tells those who wait for messages of a queue that some have become visible.

use crate::queue::ConsumeQueue;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// Told of messages that readers may see from now on: at the append, or with synchronous flush after the flush.
/// Called outside every lock, for queues with `waiters > 0` only.
pub trait ArrivalListener: Send + Sync + 'static {
    fn arrived(&self, queue: &Arc<ConsumeQueue>);
}

#[derive(Default)]
pub(crate) struct Arrivals {
    listener: OnceLock<Arc<dyn ArrivalListener>>,
    /// Written but not yet visible, by the positions behind them.
    hidden: Mutex<VecDeque<(i64, Arc<ConsumeQueue>)>>,
}

impl Arrivals {
    /// False if there is one already.
    pub fn set_listener(&self, listener: Arc<dyn ArrivalListener>) -> bool {
        self.listener.set(listener).is_ok()
    }

    /// Messages of the queue are visible. Whoever waits counted himself before he looked; the count is read after
    /// they became visible, so one of the two sees the other.
    pub fn visible(&self, queue: &Arc<ConsumeQueue>) {
        if queue.waiters.load(Ordering::SeqCst) > 0
            && let Some(listener) = self.listener.get()
        {
            listener.arrived(queue);
        }
    }

    /// Messages of the queue will be visible when everything before `end` is.
    pub fn hide(&self, end: i64, queue: &Arc<ConsumeQueue>) {
        self.hidden.lock().push_back((end, queue.clone()));
    }

    /// Everything before this position is visible.
    pub fn reveal(&self, confirmed: i64) {
        loop {
            let next = self.hidden.lock().pop_front_if(|(end, _)| *end <= confirmed);
            let Some((_, queue)) = next else { return };
            self.visible(&queue);
        }
    }
}
