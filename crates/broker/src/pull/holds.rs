//! The pulls that wait, and who ends their waiting.

use super::{Hold, QueueKey, outcome, read, read_from_disk};
use crate::Broker;
use crate::deadlines::Deadlines;
use crate::hold_table::{Asker, HoldTable};
use parking_lot::Mutex;
use roxmq_remoting::Output;
use roxmq_store::files::ReadMode;
use roxmq_store::read::{ReadResult, ReadStatus};
use roxmq_store::{ConsumeQueue, Millis};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tables with a lock each, so that queues rarely wait for each other.
const SHARDS: usize = 16;
/// Beyond this a pull that finds nothing is told so at once.
const HOLDS_MAX: usize = 1_000_000;

type Shard = HoldTable<QueueKey, Box<Hold>>;

pub(crate) struct Holds {
    shards: [Mutex<Shard>; SHARDS],
    deadlines: Deadlines,
    /// Nobody may wait any more.
    closed: AtomicBool,
}

impl Default for Holds {
    fn default() -> Self {
        Holds {
            shards: std::array::from_fn(|_| Mutex::new(HoldTable::new(HOLDS_MAX / SHARDS))),
            deadlines: Deadlines::default(),
            closed: AtomicBool::new(false),
        }
    }
}

impl Holds {
    fn shard(&self, queue: QueueKey) -> &Mutex<Shard> {
        // The low bits of an address are always the same.
        &self.shards[(queue.0 >> 6) % SHARDS]
    }

    /// Holds the pull until there is something at its position that it wants, or until the deadline.
    pub(super) fn park(&self, broker: &Arc<Broker>, hold: Hold, deadline: Millis) {
        let mut hold = Box::new(hold);
        loop {
            let key = hold.pull.queue_key();
            let queue = Arc::clone(&hold.pull.queue);
            let connection = Arc::clone(&hold.connection);
            let asker = Asker { connection: connection.id(), opaque: hold.reply_to.opaque };
            let position = hold.pull.position;
            // Counted before the end of the queue is looked at again: an append either sees the waiter, or is seen.
            queue.waiters.fetch_add(1, Ordering::SeqCst);
            let inserted = self.shard(key).lock().insert(key, asker, deadline, hold);
            let id = match inserted {
                Ok(id) => id,
                Err(full) => {
                    queue.waiters.fetch_sub(1, Ordering::SeqCst);
                    return finish(broker, &full);
                }
            };
            self.deadlines.note(deadline);
            // Who gave up while the pull was out of the table has not found it here.
            let given_up = connection.is_given_up(asker.opaque);
            let over = self.closed.load(Ordering::SeqCst) || queue.is_removed() || given_up;
            if queue.max_offset() <= position && !over {
                return;
            }
            let Some(taken) = self.shard(key).lock().take(key, id) else {
                return;
            };
            hold = taken.value;
            queue.waiters.fetch_sub(1, Ordering::SeqCst);
            if over {
                return finish(broker, &hold);
            }
            match serve(broker, hold) {
                Some(waiting) => hold = waiting,
                None => return,
            }
        }
    }

    /// Messages have come to the queue.
    pub(crate) fn arrived(&self, broker: &Arc<Broker>, queue: &Arc<ConsumeQueue>) {
        let key = QueueKey::of(queue);
        let holds = self.shard(key).lock().take_key(key);
        queue.waiters.fetch_sub(holds.len() as u32, Ordering::SeqCst);
        for (deadline, hold) in holds {
            if let Some(waiting) = serve(broker, hold) {
                self.park(broker, *waiting, deadline);
            }
        }
    }

    /// Ends the waiting on a queue, as if every deadline had come: what to wait for has changed.
    pub(crate) fn finish_queue(&self, broker: &Broker, queue: &Arc<ConsumeQueue>) {
        let key = QueueKey::of(queue);
        let holds = self.shard(key).lock().take_key(key);
        queue.waiters.fetch_sub(holds.len() as u32, Ordering::SeqCst);
        for (_, hold) in holds {
            finish(broker, &hold);
        }
    }

    /// Nobody reads the answers any more.
    pub(crate) fn drop_connection(&self, connection: u64) {
        for shard in &self.shards {
            let dropped = shard.lock().take_connection(connection);
            for (_, hold) in dropped {
                hold.pull.queue.waiters.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Nobody wants what the request waits for.
    pub(crate) fn call_off(&self, broker: &Broker, asker: Asker) {
        self.finish(broker, |shard| shard.take_request(asker));
    }

    /// Ends all waiting for good, as if every deadline had come.
    pub(crate) fn finish_all(&self, broker: &Broker) {
        self.closed.store(true, Ordering::SeqCst);
        self.finish(broker, HoldTable::take_all);
    }

    fn finish(&self, broker: &Broker, take: impl Fn(&mut Shard) -> Vec<(QueueKey, Box<Hold>)>) {
        for shard in &self.shards {
            let holds = take(&mut shard.lock());
            for (_, hold) in holds {
                hold.pull.queue.waiters.fetch_sub(1, Ordering::SeqCst);
                finish(broker, &hold);
            }
        }
    }

    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    fn finish_due(&self, broker: &Broker, now: Millis) {
        self.finish(broker, |shard| shard.take_due(now));
    }

    fn next_deadline(&self) -> Option<Millis> {
        self.shards.iter().filter_map(|shard| shard.lock().next_deadline()).min()
    }
}

impl Broker {
    /// How many pulls wait for messages.
    pub fn held_pulls(&self) -> usize {
        self.holds.len()
    }
}

/// Answers the pulls whose time is up, each at its deadline. Runs until its task is dropped.
pub(crate) async fn run_deadlines(broker: Arc<Broker>) {
    let holds = &broker.holds;
    holds.deadlines.run(&*broker.clock, || holds.next_deadline(), |now| holds.finish_due(&broker, now)).await;
}

/// Answers the pull if there is something for it now; else gives it back, further on by what it doesn't want.
fn serve(broker: &Arc<Broker>, mut hold: Box<Hold>) -> Option<Box<Hold>> {
    let mut output = Output::default();
    let result = read(broker, &hold.pull, ReadMode::Cached, |result, records| {
        if result.status == ReadStatus::Found {
            hold.reply_to.found(broker, &hold.pull, result, records, &mut output);
        }
    });
    match result {
        Ok(ReadResult { status: ReadStatus::Found, .. }) => {}
        Ok(ReadResult { status: ReadStatus::Cold, .. }) => {
            read_from_disk(broker, *hold);
            return None;
        }
        Ok(ReadResult { status: ReadStatus::NoMatchedMessage, next_offset, .. }) => {
            hold.pull.position = next_offset;
            return Some(hold);
        }
        Ok(result) if outcome::may_wait(result.status, hold.pull.asked) => return Some(hold),
        Ok(result) => hold.reply_to.nothing(broker, &hold.pull, &result, &mut output),
        Err(error) => {
            let refusal = outcome::disk_error(&error);
            let (opaque, encoding) = (hold.reply_to.opaque, hold.reply_to.encoding);
            hold.connection.respond(opaque, encoding, refusal.into_response());
            return None;
        }
    }
    hold.connection.send_now(output);
    None
}

/// Answers the pull with what there is now, which mostly is nothing.
fn finish(broker: &Broker, hold: &Hold) {
    let mut output = Output::default();
    let result = read(broker, &hold.pull, ReadMode::Cached, |result, records| match result.status {
        ReadStatus::Found => hold.reply_to.found(broker, &hold.pull, result, records, &mut output),
        _ => hold.reply_to.timed_out(broker, &hold.pull, result, &mut output),
    });
    match result {
        Ok(_) => hold.connection.send(output),
        Err(error) => {
            let refusal = outcome::disk_error(&error);
            hold.connection.respond(hold.reply_to.opaque, hold.reply_to.encoding, refusal.into_response());
        }
    }
}
