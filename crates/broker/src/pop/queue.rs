//! A queue as one group pops it.

use super::batch::{Batch, Distances};
use super::in_flight::InFlight;
use super::order;
use super::record::{PopChange, QueueName};
use parking_lot::{Mutex, MutexGuard};
use roxmq_protocol::body::order_info::OrderInfo;
use roxmq_protocol::names;
use roxmq_store::{Millis, QueueId};
use std::sync::Arc;

/// No time: nothing is to be looked at.
pub(super) const NEVER: Millis = Millis(i64::MAX);

pub(crate) struct PopQueue {
    pub(crate) group: Arc<str>,
    pub(crate) topic: Arc<str>,
    pub(crate) id: QueueId,
    state: Mutex<QueueState>,
}

pub(crate) struct QueueState {
    pub(super) flight: InFlight,
    /// What the last ordered pop has out.
    pub(super) order: Option<OrderInfo>,
    /// A pop is reading here. Others pass the queue by: what it reads is taken.
    claimed: bool,
    /// One has passed it by, and may have missed something.
    wanted: bool,
    /// When the timer looks at this queue.
    pub(super) timer_at: Millis,
    /// The topic or the group is gone. Another of the same name has queues of its own.
    removed: bool,
}

impl PopQueue {
    pub(super) fn new(group: Arc<str>, topic: Arc<str>, id: QueueId) -> Self {
        let state = QueueState {
            flight: InFlight::default(),
            order: None,
            claimed: false,
            wanted: false,
            timer_at: NEVER,
            removed: false,
        };
        PopQueue { group, topic, id, state: Mutex::new(state) }
    }

    pub(crate) fn name(&self) -> QueueName<'_> {
        QueueName { group: &self.group, topic: &self.topic, id: self.id }
    }

    /// The topic that messages of this queue were sent to, if this is one of its retry topics.
    pub(crate) fn normal_topic(&self) -> &str {
        names::topic_of_pop_retry(&self.topic, &self.group).unwrap_or(&self.topic)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }
}

impl QueueState {
    /// Takes the right to pop, if nobody has it.
    pub(super) fn claim(&mut self) -> bool {
        if self.claimed {
            self.wanted = true;
            return false;
        }
        self.claimed = true;
        true
    }

    /// Gives the right back; true if somebody has passed the queue by meanwhile.
    pub(super) fn release(&mut self) -> bool {
        self.claimed = false;
        std::mem::take(&mut self.wanted)
    }

    /// Forgets everything for good.
    pub(super) fn remove(&mut self) {
        self.flight = InFlight::default();
        self.order = None;
        self.removed = true;
    }

    /// Makes a change that stands in the state log. Gives where the group goes on, if that changed.
    pub(super) fn apply(&mut self, change: PopChange) -> Option<i64> {
        if self.removed {
            return None;
        }
        match change {
            PopChange::Popped { key, batch, next } => {
                self.flight.insert(key, batch);
                Some(next)
            }
            PopChange::Finished { key, messages } => {
                self.flight.finish(key, messages);
                None
            }
            PopChange::Moved { from, index, to, visible_at, revive_queue } => {
                let batch = Batch::new(Distances::Run(1), visible_at, revive_queue);
                self.flight.move_one(from, index, to, batch);
                None
            }
            PopChange::Ordered { info, next } => {
                self.order = Some(info);
                Some(next)
            }
            PopChange::Held { key, batch } => {
                self.flight.insert(key, batch);
                None
            }
            PopChange::OrderForgotten => {
                self.order = None;
                None
            }
        }
    }

    /// When something happens here by itself: messages come again, or an ordered queue is free.
    pub(super) fn next_time(&self, now: Millis) -> Option<Millis> {
        let free = self.order.as_ref().and_then(order::free_at).filter(|at| *at > now);
        self.flight.next_time().into_iter().chain(free).min()
    }

    /// Messages that were popped and are not acknowledged.
    pub(super) fn pending(&self) -> usize {
        self.flight.pending() + self.order.as_ref().map_or(0, order::pending)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flight.is_empty() && self.order.is_none()
    }
}
