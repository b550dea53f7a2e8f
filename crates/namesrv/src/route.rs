//! The routes: pure state, driven by registrations, closed connections and time.
//!
//! No sockets, no clock, no locks. What has to be sent because of a change comes back as a value ([`MinIdNotice`]).
//! A topic is in the table exactly as long as a broker that serves it is; a broker set as long as it has a member.

mod lists;
mod lookup;
mod perms;
mod register;
mod table;
mod topics;
mod unregister;

pub use lists::UnitList;
pub use lookup::keep_zone;
pub use register::{RegisterError, Registered, Registration};
pub use table::{RouteTable, TopicQueues};
pub use unregister::MinIdNotice;

/// The configuration that decides about routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutePolicy {
    /// `supportActingMaster`
    pub acting_master: bool,
    /// `notifyMinBrokerIdChanged`
    pub notify_min_broker_id: bool,
    /// `deleteTopicWithBrokerRegistration`
    pub delete_unregistered_topics: bool,
}

#[cfg(test)]
mod tests;
