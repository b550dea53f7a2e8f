//! When queues are to be looked at: one thread that sleeps until the next of these times.
//!
//! A queue is listed once, under the first time at which something happens in it by itself. What was acknowledged
//! meanwhile is noticed when that time comes; nothing is done for it before.

use super::expiry;
use super::handover;
use super::queue::{NEVER, PopQueue, QueueState};
use crate::Broker;
use crate::thread::Thread;
use parking_lot::{Condvar, Mutex};
use roxmq_store::Millis;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The longest sleep; looking in vain once an hour costs nothing, and an overflow of the clock's types can't happen.
const SLEEP_MS_MAX: i64 = 3_600_000;

#[derive(Default)]
pub(super) struct Timer {
    list: Mutex<List>,
    changed: Condvar,
    thread: Thread,
}

#[derive(Default)]
struct List {
    /// By time, and the address of the queue, which tells queues with one time apart.
    queues: BTreeMap<(Millis, usize), Arc<PopQueue>>,
    stop: bool,
    /// Something has come to the revive topic.
    handover: bool,
}

/// What the thread does next.
enum Due {
    Queue(Arc<PopQueue>),
    Handover,
    Stop,
}

impl Timer {
    pub(super) fn start(&self, broker: &Arc<Broker>) -> io::Result<()> {
        let broker = Arc::clone(broker);
        self.thread.start("roxmq-pop", move || run(&broker))
    }

    /// Returns when nothing is put anywhere any more.
    pub(super) fn stop(&self) {
        self.list.lock().stop = true;
        self.changed.notify_one();
        self.thread.join();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.list.lock().stop
    }

    /// Something has come to the revive topic.
    pub(super) fn take_over(&self) {
        self.list.lock().handover = true;
        self.changed.notify_one();
    }

    pub(super) fn look_now(&self) {
        // Under the lock, so that it can't come between the thread's look and its sleep.
        let _list = self.list.lock();
        self.changed.notify_one();
    }

    /// Has the queue looked at by this time at the latest.
    pub(super) fn look_at(&self, queue: &Arc<PopQueue>, state: &mut QueueState, at: Option<Millis>) {
        let Some(at) = at.filter(|at| *at < state.timer_at) else {
            return;
        };
        let key = Arc::as_ptr(queue) as usize;
        let mut list = self.list.lock();
        list.queues.remove(&(state.timer_at, key));
        state.timer_at = at;
        list.queues.insert((at, key), Arc::clone(queue));
        if list.queues.first_key_value().is_some_and(|(first, _)| *first == (at, key)) {
            self.changed.notify_one();
        }
    }

    /// Waits until there is something to do. A queue whose time has come is taken off the list.
    fn next_due(&self, broker: &Broker) -> Due {
        let mut list = self.list.lock();
        loop {
            if list.stop {
                return Due::Stop;
            }
            if std::mem::take(&mut list.handover) {
                return Due::Handover;
            }

            let now = broker.clock.now();
            let wait_ms = match list.queues.first_entry() {
                Some(first) if first.key().0 <= now => return Due::Queue(first.remove()),
                Some(first) => first.key().0.0.saturating_sub(now.0).min(SLEEP_MS_MAX),
                None => SLEEP_MS_MAX,
            };
            self.changed.wait_for(&mut list, Duration::from_millis(wait_ms as u64));
        }
    }
}

fn run(broker: &Arc<Broker>) {
    let mut expiry = expiry::Expiry::default();
    loop {
        match broker.pops.timer.next_due(broker) {
            Due::Queue(queue) => {
                queue.state().timer_at = NEVER;
                expiry.look(broker, &queue);
            }
            Due::Handover => handover::take_over(broker),
            Due::Stop => return,
        }
    }
}
