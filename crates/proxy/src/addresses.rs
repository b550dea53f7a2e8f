//! The addresses at which clients are told to find a broker.
//!
//! A client reaches this server, so what it dialled is the best answer for a broker that is reached here: it is right
//! behind a mapped port, through a tunnel and on a host with many addresses.

use crate::peer::CallSite;
use crate::refusal::{Refusal, Result};
use crate::schema::{Address, AddressScheme, Code, Endpoints};
use http::uri::Authority;
use std::net::IpAddr;

/// Where the client reaches this server.
///
/// What it says it dialled counts if it is a host and a port; else the one address it was configured with; else where
/// its connection came in.
pub fn here(site: &CallSite, configured: Option<&Endpoints>) -> Endpoints {
    let dialled = site.authority.as_ref().and_then(of_authority);
    let only =
        || configured.filter(|endpoints| is_one_address(endpoints)).map(|only| only.addresses[0].clone());
    let address = dialled.or_else(only).unwrap_or_else(|| {
        let local = site.peer.local;
        Address { host: local.ip().to_canonical().to_string(), port: local.port().into() }
    });
    Endpoints { scheme: scheme(&address.host).into(), addresses: vec![address] }
}

/// What a client was configured with has to say of what kind it is.
pub fn check(configured: Option<&Endpoints>) -> Result<()> {
    let is_wrong = |endpoints: &&Endpoints| {
        !endpoints.addresses.is_empty()
            && matches!(AddressScheme::try_from(endpoints.scheme), Err(_) | Ok(AddressScheme::Unspecified))
    };
    match configured.filter(is_wrong) {
        None => Ok(()),
        Some(Endpoints { scheme, .. }) => {
            let text =
                format!("the scheme of the endpoints is {scheme}, which is none of IPv4, IPv6, DOMAIN_NAME");
            Err(Refusal::new(Code::InternalServerError, text))
        }
    }
}

/// `host:port` as brokers register themselves.
pub fn registered(text: &str) -> Option<Endpoints> {
    let (host, port) = text.rsplit_once(':')?;
    let address = Address { host: without_brackets(host).to_owned(), port: port.parse::<u16>().ok()?.into() };
    Some(Endpoints { scheme: scheme(&address.host).into(), addresses: vec![address] })
}

fn of_authority(authority: &Authority) -> Option<Address> {
    let host = without_brackets(authority.host());
    let port = authority.port_u16()?;
    (!host.is_empty() && port > 0).then(|| Address { host: host.to_owned(), port: port.into() })
}

fn is_one_address(endpoints: &Endpoints) -> bool {
    matches!(endpoints.addresses.as_slice(), [Address { host, port: 1..=65_535 }] if !host.is_empty())
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn scheme(host: &str) -> AddressScheme {
    match host.parse() {
        Ok(IpAddr::V4(_)) => AddressScheme::IPv4,
        Ok(IpAddr::V6(_)) => AddressScheme::IPv6,
        Err(_) => AddressScheme::DomainName,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;
    use std::net::SocketAddr;

    fn endpoints(addresses: &[(&str, i32)]) -> Endpoints {
        let addresses =
            addresses.iter().map(|(host, port)| Address { host: (*host).to_owned(), port: *port });
        Endpoints { scheme: AddressScheme::IPv4.into(), addresses: addresses.collect() }
    }

    #[test]
    fn what_was_dialled_counts_then_what_was_configured_then_the_connection() {
        let check =
            |authority: Option<&str>, configured: &[(&str, i32)], expected: (&str, i32, AddressScheme)| {
                let site = CallSite {
                    peer: Peer {
                        remote: SocketAddr::from(([10, 0, 0, 9], 40_000)),
                        local: SocketAddr::from(([10, 0, 0, 1], 8081)),
                    },
                    authority: authority.map(|text| text.parse().expect("an authority")),
                };
                let found = here(&site, Some(&endpoints(configured)));
                let (host, port, scheme) = expected;
                assert_eq!(found.scheme(), scheme, "{authority:?}");
                assert_eq!(found.addresses, endpoints(&[(host, port)]).addresses, "{authority:?}");
            };
        use AddressScheme::{DomainName, IPv4, IPv6};
        check(Some("mq.example.org:30081"), &[("1.2.3.4", 1)], ("mq.example.org", 30_081, DomainName));
        check(Some("192.168.0.7:8081"), &[], ("192.168.0.7", 8081, IPv4));
        check(Some("[fd00::1]:8081"), &[], ("fd00::1", 8081, IPv6));
        check(Some("unix"), &[("1.2.3.4", 81)], ("1.2.3.4", 81, IPv4));
        check(None, &[("1.2.3.4", 81), ("1.2.3.5", 81)], ("10.0.0.1", 8081, IPv4));
        check(None, &[("1.2.3.4", 0)], ("10.0.0.1", 8081, IPv4));
        check(Some("mq"), &[], ("10.0.0.1", 8081, IPv4));
    }

    #[test]
    fn registered_addresses() {
        let check = |text: &str, expected: Option<(&str, i32)>| {
            let found = registered(text).map(|endpoints| endpoints.addresses);
            assert_eq!(found, expected.map(|address| endpoints(&[address]).addresses), "{text}");
        };
        check("10.0.0.1:10911", Some(("10.0.0.1", 10_911)));
        check("[fd00::1]:10911", Some(("fd00::1", 10_911)));
        check("host", None);
        check("host:x", None);
    }
}
