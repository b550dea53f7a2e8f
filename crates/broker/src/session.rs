//! What is kept for a connection between its requests: room to work in, and where it waits.

use crate::pull::QueueKey;
use crate::send::SendBurst;
use foldhash::HashSet;

pub struct Session {
    /// The sends of the burst that is being read.
    pub(crate) sends: SendBurst,
    /// The queues on which pulls of this connection have waited: where to look for them when it closes.
    pub(crate) held_on: HashSet<QueueKey>,
}

impl Session {
    pub(crate) fn new(connection_id: u64) -> Self {
        Session { sends: SendBurst::new(connection_id), held_on: HashSet::default() }
    }
}
