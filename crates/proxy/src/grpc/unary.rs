//! The short way of a call with one message in: it is read as soon as the call is there, and the body of a sent message
//! stays where it was received. What waits for the answer holds nothing of the call but what it needs.

use super::body::RequestBody;
use super::call::{Answer, GRPC};
use crate::schema::SmallBuffers;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use prost::Message;
use tonic::body::Body;
use tonic::codec::{Codec, EncodeBody, SingleMessageCompressionOverride};
use tonic::codegen::tokio_stream::Stream;
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

/// The call's message as handlers take it.
pub fn request<Q: Message + Default>(head: Parts, message: Bytes) -> Result<Request<Q>, Status> {
    let message = Q::decode(message)
        .map_err(|error| Status::internal(format!("the message can't be read: {error}")))?;
    Ok(Request::from_parts(MetadataMap::from_headers(head.headers), head.extensions, message))
}

/// The one message of an answer.
pub fn answer(message: &impl Message) -> Answer {
    Answer::Message(framed(message))
}

/// The messages of an answer, as they come.
pub fn answers<A>(messages: impl Stream<Item = Result<A, Status>> + Send + 'static) -> Answer
where
    A: Message + Default + 'static,
{
    let encoder = SmallBuffers::<A, A>::default().encoder();
    let plain = SingleMessageCompressionOverride::Disable;
    let body = EncodeBody::new_server(encoder, messages, None, plain, Some(usize::MAX));
    let mut response = http::Response::new(Body::new(body));
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    Answer::Response(response)
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
