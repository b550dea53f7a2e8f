//! What pops share: the table of what is in flight, the timer that brings it back, and who waits for messages.

use super::handover;
use super::queue::PopQueue;
use super::record::PopChange;
use super::table::PopTable;
use super::timer::Timer;
use crate::Broker;
use crate::state::Turn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Default)]
pub(crate) struct Pops {
    pub(crate) table: PopTable,
    pub(super) timer: Timer,
    /// Spreads pops over queues and revive queues.
    turn: AtomicU32,
}

impl Pops {
    /// Lists what is in flight since before the start, and begins to bring it back.
    pub(crate) fn start(&self, broker: &Arc<Broker>) -> io::Result<()> {
        for queue in self.table.busy_queues() {
            let mut state = queue.state();
            let at = state.next_time(broker.clock.now());
            self.timer.look_at(&queue, &mut state, at);
        }
        handover::watch(broker);
        // Before anybody acknowledges what this server itself has left there.
        handover::take_over(broker);
        self.timer.start(broker)
    }

    /// Messages have come to the revive topic, where only a Java server's are.
    pub(crate) fn revive_topic_arrived(&self) {
        self.timer.take_over();
    }

    /// After everything has stopped: leaves what is in flight to whichever server starts next.
    pub(crate) fn hand_over(&self, broker: &Broker) {
        handover::leave(broker);
    }

    /// The clock was set: what sleeps until some time may have to wake.
    pub(crate) fn look_now(&self) {
        self.timer.look_now();
    }

    /// Returns when nothing is brought back any more.
    pub(crate) fn stop(&self) {
        self.timer.stop();
    }

    pub(super) fn next_turn(&self) -> u32 {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes a change that was recorded in this turn.
    pub(super) fn apply(
        &self,
        broker: &Broker,
        _turn: &mut Turn<'_>,
        queue: &Arc<PopQueue>,
        change: PopChange,
    ) {
        let mut state = queue.state();
        if let Some(next) = state.apply(change) {
            broker.offsets.commit_recorded(&queue.group, &queue.topic, queue.id, next);
        }
        self.table.changed();
        let at = state.next_time(broker.clock.now());
        self.timer.look_at(queue, &mut state, at);
    }
}
