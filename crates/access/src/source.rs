//! Where requests come from, as entries of policies name it: one address, or a network.

use std::fmt;
use std::net::IpAddr;

/// `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRange {
    /// As it was written, for whoever lists it.
    text: String,
    base: IpAddr,
    /// How many of the first bits count.
    prefix_bits: u32,
}

impl SourceRange {
    /// Nothing for what is neither an address nor a network.
    pub fn parse(text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let (base, prefix_bits) = match trimmed.split_once('/') {
            Some((base, bits)) => (base.parse().ok()?, Some(bits.parse().ok()?)),
            None => (trimmed.parse().ok()?, None),
        };
        let bits_max = bits(base);
        let prefix_bits = prefix_bits.unwrap_or(bits_max);
        (prefix_bits <= bits_max).then(|| SourceRange { text: trimmed.to_owned(), base, prefix_bits })
    }

    /// An IPv4 address that came as IPv6 counts as what it is.
    pub fn contains(&self, source: IpAddr) -> bool {
        let shared = match (self.base.to_canonical(), source.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(source)) => (base.to_bits() ^ source.to_bits()).leading_zeros(),
            (IpAddr::V6(base), IpAddr::V6(source)) => (base.to_bits() ^ source.to_bits()).leading_zeros(),
            _ => return false,
        };
        // A network of mapped addresses counts its bits from where IPv4 starts.
        let before = bits(self.base) - bits(self.base.to_canonical());
        shared + before >= self.prefix_bits
    }
}

fn bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for SourceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks() {
        let check = |range: &str, source: &str, expected: bool| {
            let parsed = SourceRange::parse(range).expect("a range");
            assert_eq!(parsed.contains(source.parse().expect("an address")), expected, "{range} {source}");
            assert_eq!(parsed.to_string(), range);
        };
        check("10.0.0.7", "10.0.0.7", true);
        check("10.0.0.7", "10.0.0.8", false);
        check("10.0.0.0/8", "10.255.3.4", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("10.1.2.3/31", "10.1.2.2", true);
        check("0.0.0.0/0", "203.0.113.9", true);
        check("0.0.0.0/0", "fd00::1", false);
        check("fd00::/8", "fd12::7", true);
        check("fd00::/8", "fe80::1", false);
        check("::1", "::1", true);
        check("10.0.0.0/8", "::ffff:10.1.1.1", true);
        check("::ffff:10.0.0.0/104", "10.1.1.1", true);
        check("::ffff:10.0.0.0/104", "11.1.1.1", false);
    }

    #[test]
    fn what_is_no_source() {
        for text in ["", "*", "192.168.*.*", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/-1", "a/b/c"]
        {
            assert_eq!(SourceRange::parse(text), None, "{text}");
        }
    }
}
