//! The PROXY protocol's header, with which a load balancer says for whom it connects: version 1 (a line of text) and
//! version 2 (binary).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const V1_START: &[u8] = b"PROXY ";
/// The longest line that version 1 allows, line end included.
const V1_BYTES_MAX: usize = 107;
const V2_START: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const V2_FIXED_BYTES: usize = 16;
/// Version 2 could announce 64 KiB of extras; nobody sends so much.
const V2_BYTES_MAX: usize = 4 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sniffed {
    /// The bytes start with something else.
    Absent,
    /// More bytes have to come before this can be told.
    Incomplete,
    Header {
        /// How many bytes it takes.
        length: usize,
        /// Source and destination; none if the balancer speaks for itself or doesn't know.
        addresses: Option<(SocketAddr, SocketAddr)>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProxyError {
    #[error("the PROXY line doesn't end within {V1_BYTES_MAX} bytes")]
    LineTooLong,
    #[error("the PROXY line '{0}' is broken")]
    BrokenLine(String),
    #[error("the PROXY header has the version and command {0:#04x}, which isn't known")]
    UnknownCommand(u8),
    #[error("a PROXY header of {length} bytes is over the limit of {V2_BYTES_MAX}")]
    TooLong { length: usize },
    #[error("the PROXY header of family {family:#04x} has only {length} bytes for its addresses")]
    TooShort { family: u8, length: usize },
}

/// Looks for a header at the start of a connection.
pub(crate) fn sniff(bytes: &[u8]) -> Result<Sniffed, ProxyError> {
    for (start, read) in [(V1_START, read_v1 as fn(&[u8]) -> _), (V2_START, read_v2)] {
        if bytes.starts_with(start) {
            return read(bytes);
        }
        if start.starts_with(bytes) {
            return Ok(Sniffed::Incomplete);
        }
    }
    Ok(Sniffed::Absent)
}

fn read_v1(bytes: &[u8]) -> Result<Sniffed, ProxyError> {
    let shown = &bytes[..bytes.len().min(V1_BYTES_MAX)];
    let Some(end) = shown.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() < V1_BYTES_MAX {
            Ok(Sniffed::Incomplete)
        } else {
            Err(ProxyError::LineTooLong)
        };
    };
    let broken = || ProxyError::BrokenLine(shown[..end].escape_ascii().to_string());
    let line = std::str::from_utf8(&shown[..end]).map_err(|_| broken())?;
    let words: Vec<&str> = line.split(' ').collect();
    let addresses = match words[..] {
        // What follows UNKNOWN is to be ignored.
        [_, "UNKNOWN", ..] => None,
        [_, family @ ("TCP4" | "TCP6"), source, destination, source_port, destination_port] => {
            let end = |ip: &str, port: &str| -> Option<SocketAddr> {
                let ip: IpAddr = ip.parse().ok()?;
                (ip.is_ipv4() == (family == "TCP4")).then_some(SocketAddr::new(ip, port.parse().ok()?))
            };
            let source = end(source, source_port).ok_or_else(broken)?;
            Some((source, end(destination, destination_port).ok_or_else(broken)?))
        }
        _ => return Err(broken()),
    };
    Ok(Sniffed::Header { length: end + 2, addresses })
}

fn read_v2(bytes: &[u8]) -> Result<Sniffed, ProxyError> {
    let Some(fixed) = bytes.first_chunk::<V2_FIXED_BYTES>() else {
        return Ok(Sniffed::Incomplete);
    };
    let [.., command, family, high, low] = *fixed;
    let is_local = match command {
        0x20 => true,
        0x21 => false,
        unknown => return Err(ProxyError::UnknownCommand(unknown)),
    };
    let length = V2_FIXED_BYTES + usize::from(u16::from_be_bytes([high, low]));
    if length > V2_BYTES_MAX {
        return Err(ProxyError::TooLong { length });
    }
    let Some(rest) = bytes.get(V2_FIXED_BYTES..length) else {
        return Ok(Sniffed::Incomplete);
    };
    let addresses = if is_local { None } else { read_v2_addresses(family, rest)? };
    Ok(Sniffed::Header { length, addresses })
}

/// The high half of the family says IPv4 or IPv6; what follows the addresses are extras that we don't need.
fn read_v2_addresses(family: u8, bytes: &[u8]) -> Result<Option<(SocketAddr, SocketAddr)>, ProxyError> {
    let too_short = || ProxyError::TooShort { family, length: bytes.len() };
    let port = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    match family >> 4 {
        1 => {
            let ends = bytes.first_chunk::<12>().ok_or_else(too_short)?;
            let ip = |at: usize| Ipv4Addr::new(ends[at], ends[at + 1], ends[at + 2], ends[at + 3]);
            let source = SocketAddr::from((ip(0), port(ends[8], ends[9])));
            Ok(Some((source, SocketAddr::from((ip(4), port(ends[10], ends[11]))))))
        }
        2 => {
            let ends = bytes.first_chunk::<36>().ok_or_else(too_short)?;
            let ip = |at: usize| {
                let octets: [u8; 16] = std::array::from_fn(|index| ends[at + index]);
                Ipv6Addr::from(octets)
            };
            let source = SocketAddr::from((ip(0), port(ends[32], ends[33])));
            Ok(Some((source, SocketAddr::from((ip(16), port(ends[34], ends[35]))))))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: usize, source: &str, destination: &str) -> Result<Sniffed, ProxyError> {
        let addresses = Some((source.parse().unwrap(), destination.parse().unwrap()));
        Ok(Sniffed::Header { length, addresses })
    }

    fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = V2_START.to_vec();
        bytes.extend_from_slice(&[command, family]);
        bytes.extend_from_slice(&(rest.len() as u16).to_be_bytes());
        bytes.extend_from_slice(rest);
        bytes
    }

    #[test]
    fn text_headers_are_read() {
        let check = |text: &str, expected| assert_eq!(sniff(text.as_bytes()), expected, "{text:?}");
        let four = "PROXY TCP4 10.1.2.3 192.168.0.1 56324 9876\r\n";
        check(four, header(four.len(), "10.1.2.3:56324", "192.168.0.1:9876"));
        let six = "PROXY TCP6 2001:db8::1 ::1 1 65535\r\n";
        check(&format!("{six}\0\0"), header(six.len(), "[2001:db8::1]:1", "[::1]:65535"));
        check("PROXY UNKNOWN\r\n", Ok(Sniffed::Header { length: 15, addresses: None }));
        check("PROXY UNKNOWN a b\r\n", Ok(Sniffed::Header { length: 19, addresses: None }));
        check("PRO", Ok(Sniffed::Incomplete));
        check("PROXY TCP4 10.1", Ok(Sniffed::Incomplete));
        check("PRI * HTTP", Ok(Sniffed::Absent));
        check("\0\0\x01", Ok(Sniffed::Absent));
        let broken = "PROXY TCP4 ::1 ::1 1 2";
        check(&format!("{broken}\r\n"), Err(ProxyError::BrokenLine(broken.to_owned())));
        let port = "PROXY TCP4 1.1.1.1 1.1.1.1 1 65536";
        check(&format!("{port}\r\n"), Err(ProxyError::BrokenLine(port.to_owned())));
        check(&format!("PROXY {}", "x".repeat(200)), Err(ProxyError::LineTooLong));
    }

    #[test]
    fn binary_headers_are_read() {
        let check = |bytes: &[u8], expected| assert_eq!(sniff(bytes), expected, "{}", bytes.escape_ascii());
        let four = [10, 1, 2, 3, 192, 168, 0, 1, 0xdc, 4, 0x26, 0x94];
        check(&v2(0x21, 0x11, &four), header(28, "10.1.2.3:56324", "192.168.0.1:9876"));
        let mut with_extras = four.to_vec();
        with_extras.extend_from_slice(&[0xee, 0, 2, 1, 1]);
        check(&v2(0x21, 0x11, &with_extras), header(33, "10.1.2.3:56324", "192.168.0.1:9876"));
        let mut six = [0; 36];
        (six[0], six[15], six[31], six[33], six[35]) = (0xfe, 1, 2, 80, 81);
        check(&v2(0x21, 0x21, &six), header(52, "[fe00::1]:80", "[::2]:81"));
        check(&v2(0x20, 0x00, &[]), Ok(Sniffed::Header { length: 16, addresses: None }));
        check(&v2(0x20, 0x11, &four), Ok(Sniffed::Header { length: 28, addresses: None }));
        check(&v2(0x21, 0x31, &[0; 216]), Ok(Sniffed::Header { length: 232, addresses: None }));
        check(&v2(0x11, 0x11, &four), Err(ProxyError::UnknownCommand(0x11)));
        check(&v2(0x21, 0x11, &four[..11]), Err(ProxyError::TooShort { family: 0x11, length: 11 }));
        check(&v2(0x21, 0x11, &[0; 5000]), Err(ProxyError::TooLong { length: 5016 }));
    }

    #[test]
    fn every_cut_of_a_header_is_incomplete() {
        let text = b"PROXY TCP4 10.1.2.3 192.168.0.1 56324 9876\r\n".to_vec();
        let binary = v2(0x21, 0x11, &[10, 1, 2, 3, 192, 168, 0, 1, 0xdc, 4, 0x26, 0x94, 1, 2, 3]);
        for whole in [text, binary] {
            for cut in 0..whole.len() {
                assert_eq!(sniff(&whole[..cut]), Ok(Sniffed::Incomplete), "{cut} bytes");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(start in 0..3, rest: Vec<u8>) {
            let mut bytes = [&[][..], V1_START, V2_START][start as usize].to_vec();
            bytes.extend_from_slice(&rest);
            if let Ok(Sniffed::Header { length, .. }) = sniff(&bytes) {
                assert!(length <= bytes.len());
            }
        }
    }
}
