//! The short way of a call with one message in and one out: both are made where the call is polled, and the body of a
//! sent message stays where it was received.

use super::body::RequestBody;
use super::call::Answer;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::request::Parts;
use prost::Message;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

/// Of a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// The message of a call, if the call is nothing else and all of it has come.
pub fn whole(body: &mut RequestBody, bytes_max: usize) -> Option<Bytes> {
    let mut bytes = body.at_once().filter(|bytes| is_one_message(bytes, bytes_max))?.clone();
    bytes.advance(PREFIX_BYTES);
    Some(bytes)
}

fn is_one_message(bytes: &[u8], bytes_max: usize) -> bool {
    let Some((&[compressed, a, b, c, d], message)) = bytes.split_first_chunk::<PREFIX_BYTES>() else {
        return false;
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    compressed == 0 && length == message.len() && length <= bytes_max
}

/// What `handle` makes of the call's message.
pub async fn answer<Q, A>(head: Parts, message: Bytes, handle: impl AsyncFnOnce(Request<Q>) -> A) -> Answer
where
    Q: Message + Default,
    A: Message,
{
    let message = match Q::decode(message) {
        Ok(message) => message,
        Err(error) => {
            let status = Status::internal(format!("the message can't be read: {error}"));
            return Answer::Response(status.into_http());
        }
    };
    let metadata = MetadataMap::from_headers(head.headers);
    let answer = handle(Request::from_parts(metadata, head.extensions, message)).await;
    Answer::Message(framed(&answer))
}

fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX_BYTES + length);
    bytes.put_u8(0);
    bytes.put_u32(length.try_into().expect("answers are made of requests, which are below 4 GiB"));
    message.encode(&mut bytes).expect("there is room for it");
    bytes.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_plain_message_is_short() {
        let check = |bytes: &[u8], expected: bool| {
            assert_eq!(is_one_message(bytes, 4), expected, "{bytes:?}");
        };
        check(b"\0\0\0\0\x03abc", true);
        check(b"\0\0\0\0\0", true);
        check(b"", false);
        check(b"\0\0\0\0", false);
        check(b"\0\0\0\0\x03ab", false);
        check(b"\0\0\0\0\x03abcd", false);
        check(b"\x01\0\0\0\x03abc", false);
        check(b"\0\0\0\0\x05abcde", false);
        check(b"\0\xff\xff\xff\xff", false);
    }

    #[test]
    fn an_answer_has_its_prefix() {
        let framed = framed(&prost_types::Duration { seconds: 1, nanos: 0 });
        assert_eq!(&framed[..], b"\0\0\0\0\x02\x08\x01");
    }
}
