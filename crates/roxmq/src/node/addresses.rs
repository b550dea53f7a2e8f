//! The address at which clients find a broker: the configured one, else the best guess, corrected for each asker.

use roxmq_namesrv::{AddressRule, Asker};
use std::borrow::Cow;
use std::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// An address that name servers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    pub addr: SocketAddr,
    /// Nobody configured it.
    pub guessed: bool,
}

/// `brokerIP1` if it is set; else the bind address; else, bound to every address, that of the way out.
pub fn advertised(broker_ip: Option<IpAddr>, bind: IpAddr, port: u16) -> Advertised {
    let (ip, guessed) = match broker_ip {
        Some(ip) => (ip, false),
        None if !bind.is_unspecified() => (bind, false),
        None => (outgoing_ip().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), true),
    };
    Advertised { addr: SocketAddr::new(ip, port), guessed }
}

/// An address as people write it: perhaps in brackets, perhaps with the zone that it has on this machine and that means
/// nothing to others.
pub fn parse_ip(text: &str) -> Result<IpAddr, AddrParseError> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let without_zone = bare.split_once('%').map_or(bare, |(ip, _)| ip);
    without_zone.parse()
}

/// The address that packets to other machines would leave from, an IPv6 address only where there is no other way.
fn outgoing_ip() -> Option<IpAddr> {
    // Addresses of the blocks for documentation: they are routed like any other and never answer.
    let v4 = || outgoing_ip_to(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(198, 51, 100, 1).into());
    let v6 = || {
        outgoing_ip_to(Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
    };
    v4().or_else(v6)
}

/// Nothing is sent to find out.
fn outgoing_ip_to(any: IpAddr, elsewhere: IpAddr) -> Option<IpAddr> {
    const DISCARD_PORT: u16 = 9;
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((elsewhere, DISCARD_PORT)).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then_some(ip)
}

/// A guessed address of our own broker is replaced by the one over which the asker reached the name server: they are
/// one process, so it reaches the broker as well. Loopback is thus answered with loopback.
#[derive(Clone, Copy, Debug)]
pub struct DialledAddress {
    pub own: Advertised,
}

impl AddressRule for DialledAddress {
    fn choose<'a>(&self, asker: &Asker, _: &str, _: i64, registered: &'a str) -> Cow<'a, str> {
        if self.own.guessed && registered == self.own.addr.to_string() {
            Cow::Owned(SocketAddr::new(asker.local.ip().to_canonical(), self.own.addr.port()).to_string())
        } else {
            Cow::Borrowed(registered)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("tests give addresses")
    }

    #[test]
    fn a_configured_address_wins() {
        let check = |broker_ip: Option<&str>, bind: &str, expected: &str| {
            let found = advertised(broker_ip.map(ip), ip(bind), 10911);
            assert_eq!((found.addr.ip(), found.guessed), (ip(expected), false));
        };
        check(Some("10.1.1.1"), "0.0.0.0", "10.1.1.1");
        check(Some("10.1.1.1"), "127.0.0.1", "10.1.1.1");
        check(None, "127.0.0.1", "127.0.0.1");
        check(None, "::1", "::1");
        assert!(advertised(None, ip("0.0.0.0"), 10911).guessed);
    }

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(parse_ip(text).ok(), expected.map(ip), "{text}");
        };
        check("10.1.1.1", Some("10.1.1.1"));
        check("fd00::1", Some("fd00::1"));
        check("[fd00::1]", Some("fd00::1"));
        check("fe80::1%eth0", Some("fe80::1"));
        check("[fe80::1%2]", Some("fe80::1"));
        check("[fd00::1", None);
        check("host", None);
        check("", None);
    }

    #[test]
    fn only_a_guess_of_our_own_is_replaced() {
        let own = |guessed| DialledAddress {
            own: Advertised { addr: SocketAddr::new(ip("10.1.1.1"), 10911), guessed },
        };
        let asker = Asker {
            remote: SocketAddr::new(ip("127.0.0.1"), 50000),
            local: SocketAddr::new(ip("::ffff:127.0.0.1"), 9876),
        };
        let check = |guessed, registered: &str, expected: &str| {
            assert_eq!(own(guessed).choose(&asker, "broker-a", 0, registered), expected);
        };
        check(true, "10.1.1.1:10911", "127.0.0.1:10911");
        check(true, "10.1.1.2:10911", "10.1.1.2:10911");
        check(false, "10.1.1.1:10911", "10.1.1.1:10911");
    }
}
