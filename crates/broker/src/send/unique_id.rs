//! Unique keys for messages whose producer made none.

use roxmq_protocol::message_id::UniqueId;
use roxmq_store::Millis;
use std::net::IpAddr;

/// Makes the ids of one connection: nobody else in this process has its number.
#[derive(Debug)]
pub(super) struct UniqueIds {
    /// Asking for it is a system call.
    process_id: u16,
    connection_id: u64,
    counter: u16,
    digits: Vec<u8>,
}

impl UniqueIds {
    pub(super) fn new(connection_id: u64) -> Self {
        UniqueIds { process_id: std::process::id() as u16, connection_id, counter: 0, digits: Vec::new() }
    }

    pub(super) fn next(&mut self, ip: IpAddr, now: Millis) -> &str {
        /// Rather than the time since the month began, which needs a calendar: as unique, and it wraps once in 49 days.
        const WRAP_MS: i64 = 1 << 32;
        self.counter = self.counter.wrapping_add(1);
        self.digits.clear();
        let id = UniqueId {
            ip,
            process_id: self.process_id,
            instance: self.connection_id as u32,
            month_ms: now.0.rem_euclid(WRAP_MS) as u32,
            counter: self.counter,
        };
        id.append_to(&mut self.digits);
        std::str::from_utf8(&self.digits).expect("hex digits are ASCII")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_differ_within_and_between_connections() {
        let ip = IpAddr::from([127, 0, 0, 1]);
        let (mut a, mut b) = (UniqueIds::new(1), UniqueIds::new(2));
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            assert!(seen.insert(a.next(ip, Millis(5)).to_owned()));
            assert!(seen.insert(b.next(ip, Millis(5)).to_owned()));
        }
        assert!(seen.iter().all(|id| id.len() == 32));
    }
}
