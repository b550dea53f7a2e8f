//! What is kept for a connection between its requests.
//!
//! Most connections do one kind of work, and many none for long: each kind has its room from its first request on.

use crate::pop::AckBurst;
use crate::send::SendBurst;
use crate::transactions::EndRoom;

pub struct Session {
    connection_id: u64,
    /// The sends of the burst that is being read.
    pub(crate) sends: Option<Box<SendBurst>>,
    ends: Option<Box<EndRoom>>,
    /// And its acknowledgements.
    pub(crate) acks: Option<Box<AckBurst>>,
}

impl Session {
    pub(crate) fn new(connection_id: u64) -> Self {
        Session { connection_id, sends: None, ends: None, acks: None }
    }

    pub(crate) fn sends(&mut self) -> &mut SendBurst {
        self.sends.get_or_insert_with(|| Box::new(SendBurst::new(self.connection_id)))
    }

    pub(crate) fn ends(&mut self) -> &mut EndRoom {
        self.ends.get_or_insert_default()
    }

    pub(crate) fn acks(&mut self) -> &mut AckBurst {
        self.acks.get_or_insert_default()
    }
}
