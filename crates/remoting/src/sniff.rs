//! Which protocol a connection speaks, told from its first bytes.

/// What a connection may speak, inside TLS or without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Remoting,
    Http1,
    Http2,
}

const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2";
const HTTP1_METHODS: [&[u8]; 6] = [b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"OPTIONS "];

/// The protocol, or nothing while it can't be told yet. What is no HTTP is taken for remoting, whose frames start
/// with a zero byte; anything else will fail there as a frame.
pub(crate) fn protocol(bytes: &[u8]) -> Option<Protocol> {
    let http1 = HTTP1_METHODS.iter().map(|method| (*method, Protocol::Http1));
    for (start, protocol) in http1.chain([(HTTP2_PREFACE, Protocol::Http2)]) {
        if bytes.starts_with(start) {
            return Some(protocol);
        }
        if start.starts_with(bytes) {
            return None;
        }
    }
    Some(Protocol::Remoting)
}

/// Whether these are the first bytes of a TLS handshake; there must be at least one.
pub(crate) fn is_tls(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_told_apart_as_soon_as_possible() {
        let check = |bytes: &[u8], expected: Option<Protocol>| {
            assert_eq!(protocol(bytes), expected, "{}", bytes.escape_ascii());
        };
        check(b"", None);
        check(b"P", None);
        check(b"PR", None);
        check(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Some(Protocol::Http2));
        check(b"PU", None);
        check(b"PUT /", Some(Protocol::Http1));
        check(b"GET", None);
        check(b"GET / HTTP/1.1\r\n", Some(Protocol::Http1));
        check(b"OPTIONS * HTTP/1.1", Some(Protocol::Http1));
        check(b"\0", Some(Protocol::Remoting));
        check(b"\0\0\x01\x02", Some(Protocol::Remoting));
        check(b"\xff", Some(Protocol::Remoting));
        check(b"PX", Some(Protocol::Remoting));
    }
}
