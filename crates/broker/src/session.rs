//! What is kept for a connection between its requests.

use crate::pop::AckBurst;
use crate::send::SendBurst;
use crate::transactions::EndRoom;

pub struct Session {
    /// The sends of the burst that is being read.
    pub(crate) sends: SendBurst,
    pub(crate) ends: EndRoom,
    /// And its acknowledgements.
    pub(crate) acks: AckBurst,
}

impl Session {
    pub(crate) fn new(connection_id: u64) -> Self {
        Session { sends: SendBurst::new(connection_id), ends: EndRoom::default(), acks: AckBurst::default() }
    }
}
