//! One look for messages for a pop.

use super::PopRequest;
use crate::Broker;
use roxmq_store::Millis;
use roxmq_store::files::ReadMode;
use std::io;
use std::sync::Arc;

/// What a look gave.
pub(crate) enum Popped {
    /// In the buffers that the caller gave; so many messages are left in the queues that were looked at.
    Found {
        rest: i64,
    },
    Nothing,
    /// There may be something on the disk: look again where waiting for it hurts nobody.
    Cold,
}

/// Messages that are now in flight, and their receipts.
#[derive(Default)]
pub(crate) struct Found {
    pub(super) pop_time: Millis,
    pub(super) revive_queue: i32,
    /// How many messages the queues hold beyond these.
    pub(super) rest: i64,
    pub(super) records: Vec<u8>,
    pub(super) start_offsets: Vec<u8>,
    pub(super) message_offsets: Vec<u8>,
    pub(super) order_counts: Vec<u8>,
}

/// Looks for messages for the request, and takes what it finds out of the others' sight.
pub(crate) fn try_pop(
    _broker: &Arc<Broker>,
    _request: &PopRequest,
    _mode: ReadMode,
    _found: &mut Found,
) -> io::Result<Popped> {
    Ok(Popped::Nothing)
}
