//! Takes messages from queues for one pop.
//!
//! Each queue that has something is claimed, so that no other pop of the group reads the same; what was read from all
//! of them is recorded together, and only then is it anybody's. If the record can't be written, nothing was taken.

mod position;

use super::PopRequest;
use super::batch::{Batch, BatchKey, Distances};
use super::claim::Claim;
use super::look::{Found, Popped};
use super::record::{PopChange, PopRecord};
use super::{order, ordered, rewritten};
use crate::Broker;
use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use crate::state::StateError;
use roxmq_protocol::receipt::{self, PopOrigin, Receipt};
use roxmq_protocol::record::Records;
use roxmq_store::files::ReadMode;
use roxmq_store::read::{ReadLimits, ReadResult, ReadStatus};
use roxmq_store::{ConsumeQueue, Millis, QueueId, QueueOffset};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;

/// Queue entries that one read looks at.
const SCAN_MAX: usize = 1_024;
/// How often a queue is read on, where its messages aren't wanted, before that is left to another thread.
const READS_MAX: usize = 4;
/// And there, before others have a turn.
const READS_FROM_DISK_MAX: usize = 1_024;
/// Batches in flight of one queue at most, each of up to 32 messages; beyond them the queue gives nothing.
const BATCHES_MAX: usize = 200_000;

type Offsets = SmallVec<[i64; 32]>;

thread_local! {
    static RECORD: RefCell<PopRecord> = RefCell::default();
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeError {
    #[error("reading the log failed: {0}")]
    Read(#[from] io::Error),
    #[error("messages can't be popped: {0}")]
    State(#[from] StateError),
}

impl From<TakeError> for Refusal {
    fn from(error: TakeError) -> Self {
        Refusal::failed(error.to_string())
    }
}

pub(crate) struct Taking<'a> {
    broker: &'a Arc<Broker>,
    request: &'a PopRequest,
    config: &'a BrokerConfig,
    mode: ReadMode,
    found: &'a mut Found,
    count: usize,
    taken: SmallVec<[Taken; 2]>,
    cold: bool,
}

/// What was read from a queue.
struct Taken {
    claim: Claim,
    start: i64,
    next: i64,
    offsets: Offsets,
}

impl<'a> Taking<'a> {
    pub(crate) fn new(
        broker: &'a Arc<Broker>,
        request: &'a PopRequest,
        config: &'a BrokerConfig,
        mode: ReadMode,
        found: &'a mut Found,
    ) -> Self {
        Taking { broker, request, config, mode, found, count: 0, taken: SmallVec::new(), cold: false }
    }

    /// Whether the answer holds all that it may.
    pub(crate) fn is_full(&self) -> bool {
        self.count >= self.request.count_max
            || self.found.records.len() >= self.config.max_transfer_bytes_on_message_in_memory
    }

    /// Takes what the queue has, as much as there is room for.
    pub(crate) fn queue(&mut self, topic: &str, id: QueueId) -> Result<(), TakeError> {
        let group = self.request.wait.group_name();
        let position = self.position(topic, id)?;
        let queue = self.broker.store.queue(topic, id);
        let Some(queue) = queue.filter(|queue| queue.max_offset().0 != position) else {
            return Ok(());
        };
        let left = |position: i64| (queue.max_offset().0 - position).max(0);
        let claimed = (!self.is_full()).then(|| Claim::of(self.broker, group, topic, id)).flatten();
        let Some(claim) = claimed else {
            self.add_rest(left(position));
            return Ok(());
        };
        if let Some(offset) = self.reset(topic, id) {
            ordered::forget(self.broker, &claim.queue)?;
            self.broker.offsets.commit(group, topic, id, offset);
            self.broker.resets.take(group, topic, id);
        }
        if !self.may_take(&claim) {
            self.add_rest(left(position));
            return Ok(());
        }
        // Where the group is now that nobody else moves it.
        let position = self.position(topic, id)?;
        self.read(claim, &queue, position)
    }

    /// What an ordered queue holds back is nothing that others could have.
    fn add_rest(&mut self, messages: i64) {
        if !self.request.order {
            self.found.rest += messages;
        }
    }

    /// Records what was read, and with that it is in flight.
    pub(crate) fn finish(self) -> Result<Popped, TakeError> {
        if self.taken.is_empty() {
            return Ok(if self.cold { Popped::Cold } else { Popped::Nothing });
        }
        let mut record = RECORD.take();
        let recorded = self.record(&mut record);
        RECORD.set(record);
        recorded.map(|()| Popped::Found)
    }

    fn record(self, record: &mut PopRecord) -> Result<(), TakeError> {
        let Taking { broker, request, found, taken, .. } = self;
        let mut turn = broker.state_log.turn();
        record.clear();
        let mut changes: SmallVec<[PopChange; 2]> = SmallVec::new();
        for taken in &taken {
            let change = taken.change(request, found);
            record.queue(taken.claim.queue.name());
            record.push(&change);
            changes.push(change);
        }
        turn.record_pop(record.bytes(), None)?;
        for (taken, change) in taken.iter().zip(changes) {
            broker.pops.apply(broker, &mut turn, &taken.claim.queue, change);
        }
        Ok(())
    }

    /// Whether the queue gives anything to the group now.
    fn may_take(&self, claim: &Claim) -> bool {
        let state = claim.queue.state();
        if self.request.order {
            let attempt = self.request.attempt_id.as_deref();
            return !state
                .order
                .as_ref()
                .is_some_and(|out| order::is_blocked(out, attempt, self.found.pop_time));
        }
        let limited = self.config.enable_pop_message_threshold
            && state.pending() > self.config.pop_inflight_message_threshold;
        !limited && state.flight.batches() < BATCHES_MAX
    }

    fn read(&mut self, claim: Claim, queue: &ConsumeQueue, mut position: i64) -> Result<(), TakeError> {
        let reads_max = if self.mode == ReadMode::Cached { READS_MAX } else { READS_FROM_DISK_MAX };
        for _ in 0..reads_max {
            let records_start = self.found.records.len();
            let result = self.read_once(queue, position)?;
            match result.status {
                ReadStatus::Found => {
                    self.take(claim, position, &result, records_start);
                    return Ok(());
                }
                ReadStatus::Cold => {
                    self.cold = true;
                    return Ok(());
                }
                ReadStatus::OffsetOverflowOne | ReadStatus::NoMessageInQueue => return Ok(()),
                // Nothing that is wanted up to there, or nothing at all.
                ReadStatus::NoMatchedMessage
                | ReadStatus::MessageWasRemoving
                | ReadStatus::NoMatchedLogicQueue
                | ReadStatus::OffsetFoundNull
                | ReadStatus::OffsetTooSmall
                | ReadStatus::OffsetOverflowBadly => {
                    let queue = &claim.queue;
                    position = result.next_offset.0;
                    self.broker.offsets.commit(&queue.group, &queue.topic, queue.id, position);
                    if position == result.max_offset.0 {
                        return Ok(());
                    }
                }
            }
        }
        // There is more than should be looked at here.
        self.cold = true;
        Ok(())
    }

    fn read_once(&mut self, queue: &ConsumeQueue, position: i64) -> io::Result<ReadResult> {
        let bytes_max = self.config.max_transfer_bytes_on_message_in_memory;
        let limits = ReadLimits {
            count_max: self.request.count_max - self.count,
            bytes_max: bytes_max.saturating_sub(self.found.records.len()).max(1),
            scan_max: SCAN_MAX,
        };
        let before = std::time::Instant::now();
        let (store, filter) = (&self.broker.store, &self.request.filter);
        let at = QueueOffset(position);
        let result = store.read(queue, at, limits, filter, self.mode, &mut self.found.records);
        self.broker.stats.get_took(before.elapsed());
        result
    }

    /// Notes the messages that were just read into the answer.
    fn take(&mut self, claim: Claim, start: i64, result: &ReadResult, records_start: usize) {
        let (broker, request, found) = (self.broker, self.request, &mut *self.found);
        let queue = &claim.queue;
        let origin = PopOrigin::of(&queue.topic);
        let read = &found.records[records_start..];
        let offsets: Offsets =
            Records::new(read).filter_map(|record| Some(record.ok()?.queue_offset)).collect();
        let stats = broker.stats.group(&queue.topic, &queue.group);
        broker.stats.get_found(&stats, offsets.len() as u64, read.len() as u64);
        if !request.order {
            broker.stats.popped(&stats);
        }
        receipt::push_start_offset(&mut found.start_offsets, origin, queue.id.0, start);
        receipt::push_message_offsets(
            &mut found.message_offsets,
            origin,
            queue.id.0,
            offsets.iter().copied(),
        );
        if origin != PopOrigin::Topic && !self.config.pop_response_return_actual_retry_topic {
            let receipt = Receipt {
                start_offset: start,
                pop_time: found.pop_time.0,
                invisible_time: request.invisible_ms,
                revive_queue: found.revive_queue,
                origin,
                broker_name: &self.config.broker_name,
                queue_id: queue.id.0,
                queue_offset: None,
            };
            rewritten::as_of_topic(found, records_start, request.wait.topic_name(), receipt);
        }
        found.rest += (result.max_offset.0 - result.next_offset.0).max(0);
        self.count += offsets.len();
        self.taken.push(Taken { claim, start, next: result.next_offset.0, offsets });
    }
}

impl Taken {
    /// What becomes of the queue.
    fn change(&self, request: &PopRequest, found: &mut Found) -> PopChange {
        let pop_time = found.pop_time;
        if request.order {
            return self.order_change(request, found);
        }
        let distances = Distances::of(self.start, self.offsets.iter().copied());
        let visible_at = Millis(pop_time.0.saturating_add(request.invisible_ms));
        PopChange::Popped {
            key: BatchKey { start: self.start, pop_time: pop_time.0 },
            batch: Batch::new(distances, visible_at, found.revive_queue as u8),
            next: self.next,
        }
    }

    /// An ordered group stays where it is until something is acknowledged.
    fn order_change(&self, request: &PopRequest, found: &mut Found) -> PopChange {
        let queue = &self.claim.queue;
        let state = queue.state();
        let attempt = request.attempt_id.as_deref();
        let before = state.order.as_ref();
        let info = order::popped(before, attempt, found.pop_time, request.invisible_ms, &self.offsets);
        drop(state);
        let (counts, origin) = (&mut found.order_counts, PopOrigin::of(&queue.topic));
        for (offset, count) in info.offset_consumed_count.iter().flatten() {
            receipt::push_order_count(counts, origin, queue.id.0, *offset, *count);
        }
        receipt::push_queue_order_count(counts, origin, queue.id.0, order::least_count(&info));
        PopChange::Ordered { info, next: self.start }
    }
}
