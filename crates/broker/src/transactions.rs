//! Transactional messages: half messages wait out of consumers' sight until their producer commits or rolls back.
//!
//! On the disk everything is as the Java server has it. A half message lies in `RMQ_SYS_TRANS_HALF_TOPIC` with its
//! own topic and queue among its properties; a record of `RMQ_SYS_TRANS_OP_HALF_TOPIC` names the half messages that
//! are done with; the offsets of the group `CID_RMQ_SYS_TRANS` on the two say where those begin that aren't. Either
//! server takes the other's store over and finds the same pending transactions.
//!
//! In memory there is one entry for each pending half message ([`PendingTable`]), made from the two topics at a
//! start. Where the Java server writes a half message again for each check, here only the count is written: a record
//! of the state topic names the checked ones with their counts, a few bytes each (`counts`). Producers that never
//! answer cost the log next to nothing, and the counts survive a restart. A Java server that takes the store over
//! doesn't see them and counts from the start.
//!
//! What always holds:
//! - The first decision is final. A decision claims its entry first; whoever comes second changes nothing.
//! - The message of a commit and the record that its half message is done are one append. A crash that cuts between
//!   the two leaves the message, and the start finds it by the place of its half message that it bears (`rebuild`).
//!   So a commit delivers once, whatever happens; a commit that was answered is not lost by a crash of the process.
//! - A half message is pending until its end is in the log: not by having been forgotten.
//! - Times count from when the broker stored the half message. The Java server takes the producer's clock for it,
//!   and checks too early or never if that is wrong.

mod ask;
mod check;
mod commit;
mod counts;
mod end;
mod half;
mod listing;
mod op;
mod pending;
mod progress;
mod rebuild;
mod recent;
mod resume;

pub use listing::{PendingMessage, PendingTransaction};
pub use rebuild::RebuildError;

pub(crate) use end::{EndRoom, request as end};
pub(crate) use half::{AskAfter, HALF_QUEUE, mark as mark_half};
pub(crate) use progress::note as note_progress;
pub(crate) use rebuild::{LeftBehind, rebuild};
pub(crate) use resume::handle as resume;

use crate::Broker;
use crate::alarm::Alarm;
use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use crate::thread::Thread;
use pending::{Appending, PendingTable};
use roxmq_protocol::code::response;
use roxmq_protocol::names;
use roxmq_store::{Millis, Store, Stored};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Half messages that may be pending at once; about 80 bytes of memory each. Beyond, new ones are refused until some
/// are decided.
pub(crate) const PENDING_MAX: usize = 1_000_000;

#[derive(Default)]
pub(crate) struct Transactions {
    table: PendingTable,
    alarm: Alarm,
    /// Spreads the checks over the connections of a producer group.
    turn: AtomicUsize,
    thread: Thread,
}

/// A half message of a burst that is about to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewHalf {
    /// Its place in the batch.
    pub(crate) index: usize,
    pub(crate) ask_after: AskAfter,
}

impl Transactions {
    /// Starts the thread that asks producers about what they left undecided.
    pub(crate) fn start(&self, broker: &Arc<Broker>) -> std::io::Result<()> {
        let broker = Arc::clone(broker);
        self.thread.start("roxmq-tx-check", move || check::run(&broker))
    }

    /// Returns when nothing is being checked any more.
    pub(crate) fn stop(&self) {
        self.alarm.stop();
        self.thread.join();
    }

    /// Refuses a half message for which there is no room. Those of bursts under way aren't counted yet.
    pub(crate) fn check_room(&self) -> Result<(), Refusal> {
        let pending = self.table.len();
        if pending < PENDING_MAX {
            return Ok(());
        }
        Err(Refusal::new(
            response::SYSTEM_BUSY,
            format!(
                "[OVERLOAD]the broker has {pending} transactions that nobody has committed or rolled back, the limit is {PENDING_MAX}: \
                 producers should decide on them, and transactionCheckMax and transactionCheckInterval say when they are given up"
            ),
        ))
    }

    /// To be called before half messages are appended and held until they are [`prepared`](Self::prepared): what is
    /// under way counts as pending.
    pub(crate) fn appending(&self, store: &Store) -> Appending<'_> {
        let next =
            || store.queue(names::TRANS_HALF_TOPIC, HALF_QUEUE).map_or(0, |queue| queue.next_offset().0);
        self.table.appending(next)
    }

    /// The half messages are stored.
    pub(crate) fn prepared(&self, config: &BrokerConfig, halves: &[NewHalf], stored: &[Stored]) {
        for half in halves {
            let place = &stored[half.index];
            let due = half.ask_after.from(place.store_time, config);
            self.table.insert(place.queue_offset.0, place.phy_offset, due, 0);
            self.alarm.set_for(due);
        }
    }

    /// How many half messages wait for a decision.
    pub(crate) fn pending(&self) -> usize {
        self.table.len()
    }
}

impl Broker {
    /// How many half messages wait for a decision.
    pub fn pending_transaction_count(&self) -> usize {
        self.transactions.pending()
    }

    /// Looks now for transactions whose check is due, as the thread does by itself. For clocks that were moved.
    pub fn check_transactions(&self) {
        self.transactions.alarm.wake();
    }
}

/// The time so many milliseconds later.
fn later(time: Millis, by_ms: u64) -> Millis {
    Millis(time.0.saturating_add_unsigned(by_ms))
}
