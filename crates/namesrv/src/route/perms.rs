//! Taking a broker out of service for writers, and back (205, 327).

use super::table::RouteTable;

impl RouteTable {
    /// Takes the write permission from every topic of the broker. Returns how many topics it has.
    pub fn wipe_write_perm(&mut self, broker_name: &str) -> i32 {
        self.set_wiped(broker_name, true)
    }

    /// Gives back what was taken: the topics have the permissions again that the broker registered. A topic that
    /// the broker itself made read-only stays so, since the broker would refuse what the route invites.
    pub fn add_write_perm(&mut self, broker_name: &str) -> i32 {
        self.set_wiped(broker_name, false)
    }

    fn set_wiped(&mut self, broker_name: &str, wiped: bool) -> i32 {
        let mut count = 0;
        for entry in self.topics.values_mut().filter_map(|brokers| brokers.get_mut(broker_name)) {
            entry.wiped = wiped;
            count += 1;
        }
        count
    }
}
