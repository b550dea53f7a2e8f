//! The id that a producer gets for its half message, and ends the transaction with.
//!
//! It says where the half message lies, so that nothing has to be remembered between the two: a transaction can be
//! ended over another connection, another server, or after a restart.
//!
//! `v1 broker queueOffset phyOffset uniqKey`, joined by blanks. Only the last part may have blanks in it.

use std::fmt;

const VERSION: &str = "v1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionId<'a> {
    pub broker: &'a str,
    /// In the queue of half messages.
    pub queue_offset: i64,
    /// In the log.
    pub phy_offset: i64,
    pub uniq_key: &'a str,
}

impl<'a> TransactionId<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(5, ' ');
        if parts.next()? != VERSION {
            return None;
        }
        Some(TransactionId {
            broker: parts.next()?,
            queue_offset: parts.next()?.parse().ok()?,
            phy_offset: parts.next()?.parse().ok()?,
            uniq_key: parts.next()?,
        })
    }
}

impl fmt::Display for TransactionId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TransactionId { broker, queue_offset, phy_offset, uniq_key } = self;
        write!(f, "{VERSION} {broker} {queue_offset} {phy_offset} {uniq_key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_back() {
        let id = TransactionId { broker: "broker-a", queue_offset: 7, phy_offset: 4711, uniq_key: "01 AB" };
        assert_eq!(id.to_string(), "v1 broker-a 7 4711 01 AB");
        assert_eq!(TransactionId::parse(&id.to_string()), Some(id));
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in ["", "01AB", "v1", "v1 b 7 4711", "v2 b 7 4711 k", "v1 b x 4711 k", "v1 b 7  k"] {
            assert_eq!(TransactionId::parse(text), None, "{text}");
        }
    }
}
