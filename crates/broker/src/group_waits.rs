//! Requests that wait for a group's messages of a topic: pops, and questions whether there are any.
//!
//! All that wait for one group and topic are in one *place*, in a *lane* for each queue that is waited for and one for
//! any queue. A message wakes the first of its queue's lane and the first of any queue's. Who is woken looks for
//! itself, on the thread that brought the message; who finds nothing keeps its turn.
//!
//! Nothing that happens is missed: who begins to wait looks once more after its queues are watched, and who finds
//! nothing waits on only if nothing has happened at its place since it began to look.

mod places;
mod wait;
mod watches;

use crate::Broker;
use crate::deadlines::Deadlines;
use crate::hold_table::Asker;
use foldhash::fast::FixedState;
use parking_lot::Mutex;
use places::{Looking, Shard};
use roxmq_store::{ConsumeQueue, QueueId};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(crate) use wait::Wait;
use watches::Watches;

/// Places are spread over this many locks.
const SHARDS: usize = 16;

/// Something that can wait.
pub(crate) trait Waiter: Send + 'static {
    fn wait(&self) -> &Wait;

    /// Answers if there is something to answer with.
    fn look(self: Box<Self>, broker: &Arc<Broker>) -> Looked<Self>;

    /// Answers that there is nothing.
    fn give_up(self: Box<Self>, broker: &Broker, why: GaveUp);
}

/// What came of looking.
pub(crate) enum Looked<W: ?Sized> {
    /// It was answered; there may be more for the next.
    Answered {
        more: bool,
    },
    Nothing(Box<W>),
    /// It is looked for on the disk, and answered or parked again from there.
    Elsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GaveUp {
    TimeUp,
    /// Too many wait already.
    Full,
}

/// How many may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In one lane.
    pub(crate) of_lane: usize,
    pub(crate) of_all: usize,
}

pub(crate) struct GroupWaits<W> {
    shards: [Mutex<Shard<W>>; SHARDS],
    hasher: FixedState,
    watches: Watches,
    /// Who is at a place.
    inside: AtomicUsize,
    deadlines: Deadlines,
    /// Nobody may wait any more.
    closed: AtomicBool,
}

impl<W> Default for GroupWaits<W> {
    fn default() -> Self {
        GroupWaits {
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: FixedState::default(),
            watches: Watches::default(),
            inside: AtomicUsize::new(0),
            deadlines: Deadlines::default(),
            closed: AtomicBool::new(false),
        }
    }
}

impl<W: Waiter> GroupWaits<W> {
    /// Lets the request wait until there is something for it, or until its deadline.
    pub(crate) fn park(&self, broker: &Arc<Broker>, waiter: Box<W>, limits: Limits) {
        let wait = waiter.wait();
        let over = self.closed.load(Ordering::SeqCst) || wait.is_given_up();
        if over || wait.deadline <= broker.clock.now() {
            return waiter.give_up(broker, GaveUp::TimeUp);
        }
        if self.inside.load(Ordering::Relaxed) >= limits.of_all {
            return waiter.give_up(broker, GaveUp::Full);
        }
        let entered = self.shard(wait.group_name(), wait.topic_name()).lock().enter(
            waiter,
            limits.of_lane,
            |place, queues| self.watches.renew(broker, place, queues),
        );
        match entered {
            Ok(looking) => {
                self.inside.fetch_add(1, Ordering::SeqCst);
                self.look(broker, looking);
            }
            Err(waiter) => waiter.give_up(broker, GaveUp::Full),
        }
    }

    /// Messages have come to the queue.
    pub(crate) fn arrived(&self, broker: &Arc<Broker>, queue: &Arc<ConsumeQueue>) {
        for place in self.watches.of(queue) {
            let of_topic = *queue.topic() == *place.topic;
            self.wake(broker, &place.group, &place.topic, of_topic.then_some(queue.id()));
        }
    }

    /// There may be something for the group in a queue of the topic; none for any queue, as for what comes again.
    pub(crate) fn wake(&self, broker: &Arc<Broker>, group: &str, topic: &str, queue_id: Option<QueueId>) {
        if self.inside.load(Ordering::SeqCst) == 0 {
            return;
        }
        let shard = self.shard(group, topic);
        let lanes = shard.lock().event(group, topic, queue_id);
        for lane in lanes {
            loop {
                let first = shard.lock().take_first(lane);
                let Some(looking) = first else { break };
                // A connection that ends doesn't end before the answer is sent, or the end is seen here.
                let _promise = looking.waiter.wait().connection.promise_answer();
                if looking.waiter.wait().is_given_up() {
                    self.end(broker, [looking.waiter]);
                } else if !self.look(broker, looking) {
                    break;
                }
            }
        }
    }

    /// Lets somebody look until it has its answer, or found nothing since the last event. Says whether the next in its
    /// lane should look, too.
    fn look(&self, broker: &Arc<Broker>, mut looking: Looking<W>) -> bool {
        loop {
            let Looking { place, lane, turn, waiter, events } = looking;
            let waiter = match waiter.look(broker) {
                Looked::Nothing(waiter) => waiter,
                Looked::Answered { more } => {
                    self.leave(&place.group, &place.topic);
                    return more;
                }
                Looked::Elsewhere => {
                    self.leave(&place.group, &place.topic);
                    return false;
                }
            };
            let shard = self.shard(&place.group, &place.topic);
            let (connection, opaque) = (Arc::clone(&waiter.wait().connection), waiter.wait().opaque);
            let again = Looking { place, lane, turn, waiter, events };
            let put_back = shard.lock().put_back(again);
            match put_back {
                Some(again) => looking = again,
                None => {
                    self.deadlines.note(turn.deadline);
                    // Who ends the waiting of all, of a connection or of this request has not found it meanwhile.
                    if self.closed.load(Ordering::SeqCst) || connection.is_given_up(opaque) {
                        let taken = shard.lock().take(lane, turn.id);
                        self.end(broker, taken);
                    }
                    return false;
                }
            }
        }
    }

    /// Nobody reads the answers any more.
    pub(crate) fn drop_connection(&self, connection: u64) {
        for shard in &self.shards {
            let dropped = shard.lock().take_connection(connection);
            dropped
                .iter()
                .for_each(|waiter| self.leave(waiter.wait().group_name(), waiter.wait().topic_name()));
        }
    }

    /// Ends the waiting of a request, which nobody wants any more. One that just looks ends when it has looked.
    pub(crate) fn call_off(&self, broker: &Broker, asker: Asker) {
        self.finish(broker, |shard| shard.take_request(asker));
    }

    /// Ends the waiting for a topic that is gone.
    pub(crate) fn finish_topic(&self, broker: &Broker, topic: &str) {
        self.finish(broker, |shard| shard.take_at(|place| *place.topic == *topic));
    }

    /// Ends the waiting of a group that is gone.
    pub(crate) fn finish_group(&self, broker: &Broker, group: &str) {
        self.finish(broker, |shard| shard.take_at(|place| *place.group == *group));
    }

    /// Ends all waiting for good, as if every deadline had come.
    pub(crate) fn finish_all(&self, broker: &Broker) {
        self.closed.store(true, Ordering::SeqCst);
        self.finish(broker, |shard| shard.take_at(|_| true));
    }

    /// How many wait for the queue, or for any.
    pub(crate) fn count(&self, group: &str, topic: &str, queue_id: Option<QueueId>) -> usize {
        self.shard(group, topic).lock().count(group, topic, queue_id)
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.inside.load(Ordering::SeqCst)
    }

    /// Ends the waiting of those whose time is up, each at its deadline. Runs until its task is dropped.
    pub(crate) async fn run_deadlines(&self, broker: &Broker) {
        let next = || self.shards.iter().filter_map(|shard| shard.lock().next_deadline()).min();
        let finish = |now| self.finish(broker, |shard| shard.take_due(now));
        self.deadlines.run(&*broker.clock, next, finish).await;
    }

    fn finish(&self, broker: &Broker, take: impl Fn(&mut Shard<W>) -> Vec<Box<W>>) {
        for shard in &self.shards {
            let taken = take(&mut shard.lock());
            self.end(broker, taken);
        }
    }

    fn end(&self, broker: &Broker, waiters: impl IntoIterator<Item = Box<W>>) {
        for waiter in waiters {
            self.leave(waiter.wait().group_name(), waiter.wait().topic_name());
            waiter.give_up(broker, GaveUp::TimeUp);
        }
    }

    fn leave(&self, group: &str, topic: &str) {
        self.inside.fetch_sub(1, Ordering::SeqCst);
        let mut shard = self.shard(group, topic).lock();
        if let Some(closed) = shard.leave(group, topic) {
            self.watches.remove(&closed.place, &closed.queues);
        }
    }

    fn shard(&self, group: &str, topic: &str) -> &Mutex<Shard<W>> {
        let hash = self.hasher.hash_one((group, topic));
        &self.shards[hash as usize % SHARDS]
    }
}
