//! The two ids of a message: the one that says where it lies, and the one its producer made up.
//!
//! Both are upper-case hex. Their digits depend on Java clients: consoles and send-back parse the first, and the
//! second is told from the first by nothing but where it is used.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Store host and commit log offset of a message (`offsetMsgId`, the `msgId` of a send's answer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetMessageId {
    pub store_host: SocketAddr,
    pub phy_offset: i64,
}

/// Hex digits of an id with an IPv4 host.
const V4_DIGITS: usize = 2 * (4 + 4 + 8);
/// Hex digits of an id with an IPv6 host.
const V6_DIGITS: usize = 2 * (16 + 4 + 8);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no offset message id: it needs {V4_DIGITS} or {V6_DIGITS} hex digits")]
pub struct InvalidMessageId(String);

impl OffsetMessageId {
    /// Appends the digits.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        Self::push_host(out, self.store_host);
        Self::push_phy_offset(out, self.phy_offset);
    }

    /// Appends the digits that all ids of a host start with.
    pub(crate) fn push_host(out: &mut Vec<u8>, host: SocketAddr) {
        push_ip(out, host.ip());
        push_hex(out, u32::from(host.port()));
    }

    /// Appends the digits that follow those of the host.
    #[inline]
    pub(crate) fn push_phy_offset(out: &mut Vec<u8>, phy_offset: i64) {
        push_hex(out, (phy_offset >> 32) as u32);
        push_hex(out, phy_offset as u32);
    }
}

impl fmt::Display for OffsetMessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = Vec::with_capacity(V6_DIGITS);
        self.append_to(&mut digits);
        f.write_str(&String::from_utf8_lossy(&digits))
    }
}

impl FromStr for OffsetMessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        parse(text).ok_or_else(|| InvalidMessageId(text.chars().take(V6_DIGITS).collect()))
    }
}

fn parse(text: &str) -> Option<OffsetMessageId> {
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (ip, rest) = match text.len() {
        V4_DIGITS => {
            let (ip, rest) = text.split_at(8);
            (IpAddr::from(Ipv4Addr::from(u32::from_str_radix(ip, 16).ok()?)), rest)
        }
        V6_DIGITS => {
            let (ip, rest) = text.split_at(32);
            (IpAddr::from(Ipv6Addr::from(u128::from_str_radix(ip, 16).ok()?)), rest)
        }
        _ => return None,
    };
    let (port, offset) = rest.split_at(8);
    let port = u16::try_from(u32::from_str_radix(port, 16).ok()?).ok()?;
    let phy_offset = u64::from_str_radix(offset, 16).ok()?.cast_signed();
    Some(OffsetMessageId { store_host: SocketAddr::new(ip, port), phy_offset })
}

/// The parts of an id that is made without asking a server (`UNIQ_KEY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniqueId {
    pub ip: IpAddr,
    pub process_id: u16,
    /// Java puts the hash of a class loader here; anything that differs from process to process does.
    pub instance: u32,
    /// Milliseconds since the month began.
    pub month_ms: u32,
    pub counter: u16,
}

impl UniqueId {
    /// Appends the digits.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        push_ip(out, self.ip);
        push_half(out, self.process_id);
        push_hex(out, self.instance);
        push_hex(out, self.month_ms);
        push_half(out, self.counter);
    }
}

impl fmt::Display for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = Vec::with_capacity(V6_DIGITS);
        self.append_to(&mut digits);
        f.write_str(&String::from_utf8_lossy(&digits))
    }
}

fn push_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip.to_canonical() {
        IpAddr::V4(ip) => push_hex(out, ip.to_bits()),
        IpAddr::V6(ip) => {
            [96, 64, 32, 0].iter().for_each(|shift| push_hex(out, (ip.to_bits() >> shift) as u32))
        }
    }
}

fn push_hex(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&hex_digits(number));
}

/// The four digits of a number of two bytes.
fn push_half(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&hex_digits(number.into())[4..]);
}

/// All eight at once, as each is a byte of one word.
fn hex_digits(number: u32) -> [u8; 8] {
    const fn each(byte: u8) -> u64 {
        u64::from_be_bytes([byte; 8])
    }
    let mut digits = u64::from(number);
    digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF;
    digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF;
    digits = (digits | digits << 4) & each(0x0F);
    // A sixteen for each digit above nine.
    let letters = (digits + each(6)) & each(0x10);
    (digits + each(b'0') + (letters >> 4) * u64::from(b'A' - b'9' - 1)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_offset_id_is_that_of_java() {
        let id = OffsetMessageId { store_host: SocketAddr::from(([127, 0, 0, 1], 10911)), phy_offset: 4 };
        assert_eq!(id.to_string(), "7F00000100002A9F0000000000000004");
        assert_eq!("7f00000100002a9f0000000000000004".parse(), Ok(id));
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in ["", "7F", "7F00000100012A9F0000000000000004", "+F00000100002A9F0000000000000004", "é"] {
            assert!(text.parse::<OffsetMessageId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_unique_id_has_the_shape_of_javas() {
        let id = UniqueId {
            ip: IpAddr::from([10, 0, 0, 1]),
            process_id: 0x1234,
            instance: 0x0018_372A,
            month_ms: 5,
            counter: 0xFFFE,
        };
        assert_eq!(id.to_string(), "0A000001123400183 72A00000005FFFE".replace(' ', ""));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn offset_ids_come_back(ip in any::<IpAddr>(), port in any::<u16>(), phy_offset in any::<i64>()) {
            let id = OffsetMessageId { store_host: SocketAddr::new(ip.to_canonical(), port), phy_offset };
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            let _ = text.parse::<OffsetMessageId>();
        }
    }
}
