//! What a connection has to send: small frames run together, large bodies handed on uncopied.

use bytes::Bytes;
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Header;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub struct Output {
    /// Whole frames in order; `tail` comes after the last of them.
    chunks: VecDeque<Bytes>,
    tail: Vec<u8>,
}

impl Output {
    /// Answers a request with its opaque and in its encoding; nothing for a oneway request.
    pub fn reply(&mut self, request: &Header<'_>, response: Command) {
        let _ = (request, response);
        unimplemented!()
    }

    /// A frame with the opaque and flag that it has.
    pub fn push(&mut self, command: &Command, encoding: roxmq_protocol::header::Encoding) {
        let _ = (command, encoding);
        unimplemented!()
    }

    /// The place for frames that are encoded by hand.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Bytes that follow what is in the buffer, without a copy if they are many.
    pub fn push_bytes(&mut self, bytes: Bytes) {
        let _ = bytes;
        unimplemented!()
    }

    pub fn len(&self) -> usize {
        self.chunks.iter().map(Bytes::len).sum::<usize>() + self.tail.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
