//! The pending transactions, for operators.

use super::half::HalfMessage;
use super::pending::Waiting;
use crate::Broker;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_store::{Millis, PhyOffset};
use std::io;

/// The most transactions of one listing.
const LISTED_MAX: usize = 1_000;

/// What an operator needs to know of a transaction, and to end it with request 37.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingTransaction {
    /// `tranStateTableOffset`
    pub queue_offset: i64,
    /// `commitLogOffset`
    pub phy_offset: PhyOffset,
    /// How often its producer was asked, and when it is next.
    pub checks: u32,
    pub next_check: Millis,
    /// What its half message says; none if that can't be read.
    pub message: Option<PendingMessage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMessage {
    pub offset_msg_id: String,
    pub uniq_key: Option<String>,
    pub producer_group: Option<String>,
    /// Where it goes when it is committed.
    pub topic: String,
    pub queue_id: i32,
    pub stored: Millis,
}

impl Broker {
    /// The pending transactions from a queue offset of the half topic on, up to 1,000. Reads the log.
    pub fn pending_transactions(&self, from: i64, max: usize) -> io::Result<Vec<PendingTransaction>> {
        let page = self.transactions.table.page(from, max.min(LISTED_MAX));
        page.iter().map(|waiting| listed(self, waiting)).collect()
    }
}

fn listed(broker: &Broker, waiting: &Waiting) -> io::Result<PendingTransaction> {
    let bytes = broker.store.record(waiting.phy_offset)?;
    let half = bytes.as_ref().and_then(|bytes| HalfMessage::read(bytes).ok());
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let message = half.map(|half| PendingMessage {
        offset_msg_id: OffsetMessageId {
            store_host: half.record.store_host,
            phy_offset: half.record.phy_offset,
        }
        .to_string(),
        uniq_key: owned(half.uniq_key),
        producer_group: owned(half.producer_group),
        topic: half.topic.to_owned(),
        queue_id: half.queue_id.0,
        stored: Millis(half.record.store_timestamp),
    });
    Ok(PendingTransaction {
        queue_offset: waiting.offset,
        phy_offset: waiting.phy_offset,
        checks: waiting.checks,
        next_check: waiting.due,
        message,
    })
}
