//! Acknowledgements that wait for the disk.

use crate::flush::FlushError;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

pub(crate) type Acknowledge = Box<dyn FnOnce(Result<(), FlushError>) + Send>;

pub(crate) struct Waiters {
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By position. Deadlines are almost in the same order, as all wait equally long.
    queue: VecDeque<Waiter>,
    /// The thread that looks for late ones sleeps until it is called. Otherwise it sleeps until a deadline, and
    /// those of newcomers are later.
    idle: bool,
    stopped: bool,
}

struct Waiter {
    end: i64,
    deadline: Instant,
    then: Acknowledge,
}

impl Waiters {
    pub fn new(timeout: Duration) -> Self {
        Waiters { timeout, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Keeps the acknowledgement until everything before `end` is on the disk. The caller looks at the position
    /// again afterwards, in case it was reached meanwhile.
    pub fn add(&self, end: i64, then: Acknowledge) {
        let waiter = Waiter { end, deadline: Instant::now() + self.timeout, then };
        let mut state = self.state.lock();
        let at = state.queue.iter().rposition(|other| other.end <= end).map_or(0, |at| at + 1);
        state.queue.insert(at, waiter);
        if std::mem::take(&mut state.idle) {
            self.changed.notify_one();
        }
    }

    /// Acknowledges all that waited for positions up to this one.
    pub fn release(&self, flushed: i64) {
        let ready: VecDeque<Waiter> = {
            let mut state = self.state.lock();
            let count = state.queue.partition_point(|waiter| waiter.end <= flushed);
            let rest = state.queue.split_off(count);
            std::mem::replace(&mut state.queue, rest)
        };
        // Outside the lock: what runs here may append and wait again.
        ready.into_iter().for_each(|waiter| (waiter.then)(Ok(())));
    }

    pub fn fail_all(&self, reason: &str) {
        let failed = std::mem::take(&mut self.state.lock().queue);
        failed.into_iter().for_each(|waiter| (waiter.then)(Err(FlushError::Failed(reason.to_string()))));
    }

    /// A thread's life: tells those who waited too long, since the flushing thread may hang in the disk.
    pub fn run_timeouts(&self) {
        let mut state = self.state.lock();
        while !state.stopped {
            match state.queue.iter().map(|waiter| waiter.deadline).min() {
                None => {
                    state.idle = true;
                    self.changed.wait(&mut state);
                }
                Some(deadline) => {
                    self.changed.wait_until(&mut state, deadline);
                    let late = take_late(&mut state.queue, Instant::now());
                    parking_lot::MutexGuard::unlocked(&mut state, || self.time_out(late));
                }
            }
        }
    }

    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    fn time_out(&self, late: Vec<Waiter>) {
        let error = FlushError::Timeout(self.timeout.as_millis() as u64);
        late.into_iter().for_each(|waiter| (waiter.then)(Err(error.clone())));
    }
}

fn take_late(queue: &mut VecDeque<Waiter>, now: Instant) -> Vec<Waiter> {
    let (late, rest): (Vec<_>, Vec<_>) =
        std::mem::take(queue).into_iter().partition(|waiter| waiter.deadline <= now);
    *queue = rest.into();
    late
}
