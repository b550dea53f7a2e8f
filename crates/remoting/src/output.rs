//! What a connection has to send: small frames run together, large bodies handed on uncopied.
//!
//! All small bytes are in one buffer; a large body is remembered with the place in the buffer where it goes. So a
//! burst of small answers is one slice to write, and the buffer can be used again once it is on its way.

use bytes::{Buf, Bytes};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::{self, FrameError};
use roxmq_protocol::header::{Encoding, FLAG_RESPONSE, Header};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::task::{Poll, ready};

/// Bodies from this size on aren't copied into the buffer; below it a copy costs less than a slice of its own.
const UNCOPIED_BYTES_MIN: usize = 8 * 1024;
/// Bytes already sent are cut off the buffer's start when they are so many and make up most of it.
const SENT_BYTES_MAX: usize = 64 * 1024;
/// Slices in one write.
const SLICES_MAX: usize = 64;

#[derive(Debug, Default)]
pub struct Output {
    buffer: Vec<u8>,
    /// How much of the buffer has been sent.
    sent: usize,
    /// In the order of their places.
    inserts: VecDeque<Insert>,
    insert_bytes: usize,
}

#[derive(Debug)]
struct Insert {
    /// The bytes go before the buffer's byte of this index.
    at: usize,
    bytes: Bytes,
}

impl Output {
    /// Answers a request with its opaque and in its encoding; nothing for a oneway request.
    pub fn reply(&mut self, request: &Header<'_>, response: Command) {
        if !request.is_oneway() {
            self.respond(request.opaque, request.encoding, response);
        }
    }

    /// Answers the request of this opaque, in this encoding.
    pub fn respond(&mut self, opaque: i32, encoding: Encoding, mut response: Command) {
        response.opaque = opaque;
        response.flag |= FLAG_RESPONSE;
        self.push(&response, encoding);
    }

    /// A frame with the opaque and flag that it has.
    pub fn push(&mut self, command: &Command, encoding: Encoding) {
        command.encode_head(encoding, &mut self.buffer);
        if command.body.len() < UNCOPIED_BYTES_MIN {
            self.buffer.extend_from_slice(&command.body);
        } else {
            self.insert(command.body.clone());
        }
    }

    /// The place for frames that are encoded by hand. What is in it stays: bytes may only be appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Bytes that follow what is in the buffer, without a copy if they are many.
    pub fn push_bytes(&mut self, bytes: Bytes) {
        if bytes.len() < UNCOPIED_BYTES_MIN {
            self.buffer.extend_from_slice(&bytes);
        } else {
            self.insert(bytes);
        }
    }

    fn insert(&mut self, bytes: Bytes) {
        self.insert_bytes += bytes.len();
        self.inserts.push_back(Insert { at: self.buffer.len(), bytes });
    }

    /// The bytes that are still to be sent.
    pub fn len(&self) -> usize {
        self.buffer.len() - self.sent + self.insert_bytes
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts everything of another output behind this one.
    pub fn append(&mut self, mut other: Output) {
        if self.is_empty() && self.buffer.capacity() < other.buffer.len() {
            *self = other;
            return;
        }
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&other.buffer[other.sent..]);
        self.insert_bytes += other.insert_bytes;
        for insert in other.inserts.drain(..) {
            self.inserts.push_back(Insert { at: start + insert.at - other.sent, bytes: insert.bytes });
        }
    }

    /// Sends all that `write` takes; it is given at least one slice. Ready when all is sent.
    pub(crate) fn send(
        &mut self,
        mut write: impl FnMut(&[IoSlice<'_>]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let written = ready!(write(self.slices(&mut slices)))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Fills in what is to be sent next, as far as there are slices for it, and returns the slices filled.
    fn slices<'a, 's>(&'a self, slices: &'s mut [IoSlice<'a>]) -> &'s [IoSlice<'a>] {
        let mut count = 0;
        let mut from = self.sent;
        let mut inserts = self.inserts.iter();
        loop {
            let insert = inserts.next();
            let to = insert.map_or(self.buffer.len(), |insert| insert.at);
            let parts = [&self.buffer[from..to], insert.map_or(&[][..], |insert| &insert.bytes)];
            for part in parts {
                if count < slices.len() && !part.is_empty() {
                    slices[count] = IoSlice::new(part);
                    count += 1;
                }
            }
            from = to;
            if insert.is_none() || count == slices.len() {
                return &slices[..count];
            }
        }
    }

    /// Takes away what has been sent.
    fn advance(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let next_insert = self.inserts.front_mut();
            let end = next_insert.as_ref().map_or(self.buffer.len(), |insert| insert.at);
            if self.sent < end {
                let taken = bytes.min(end - self.sent);
                self.sent += taken;
                bytes -= taken;
                continue;
            }
            let Some(insert) = next_insert else {
                debug_assert!(false, "more was sent than there was");
                break;
            };
            let taken = bytes.min(insert.bytes.len());
            insert.bytes.advance(taken);
            self.insert_bytes -= taken;
            bytes -= taken;
            if insert.bytes.is_empty() {
                self.inserts.pop_front();
            }
        }
        self.cut_sent();
    }

    fn cut_sent(&mut self) {
        if self.is_empty() {
            self.buffer.clear();
            self.sent = 0;
        } else if self.sent >= SENT_BYTES_MAX && self.sent >= self.buffer.len() / 2 {
            self.buffer.drain(..self.sent);
            for insert in &mut self.inserts {
                insert.at -= self.sent;
            }
            self.sent = 0;
        }
    }

    /// Reads what was to be sent, for a peer in this process. Bodies share their bytes.
    pub(crate) fn for_each_frame(self, mut with: impl FnMut(Command)) -> Result<(), FrameError> {
        let mut rest = self.into_bytes();
        while let Some(length) = frame::length(&rest)? {
            if rest.len() < length {
                break;
            }
            let whole = rest.split_to(length);
            let command = frame::read(&whole, |frame| {
                let body = whole.slice_ref(frame.body);
                Command { body, ..Command::from_frame(&frame.header, &[]) }
            })?;
            with(command);
        }
        Ok(())
    }

    fn into_bytes(self) -> Bytes {
        if self.inserts.is_empty() {
            let mut bytes = Bytes::from(self.buffer);
            bytes.advance(self.sent);
            return bytes;
        }
        let mut bytes = Vec::with_capacity(self.len());
        let mut from = self.sent;
        for insert in &self.inserts {
            bytes.extend_from_slice(&self.buffer[from..insert.at]);
            bytes.extend_from_slice(&insert.bytes);
            from = insert.at;
        }
        bytes.extend_from_slice(&self.buffer[from..]);
        Bytes::from(bytes)
    }

    /// How much memory the buffer keeps, used or not.
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything there is to send, taken in steps of the given size over at most `width` slices.
    fn sent_in_steps(mut output: Output, step: usize, width: usize) -> Vec<u8> {
        let mut sent = Vec::new();
        while !output.is_empty() {
            let mut slices = vec![IoSlice::new(&[]); width];
            let bytes: Vec<u8> = output
                .slices(&mut slices)
                .iter()
                .flat_map(|slice| slice.iter().copied())
                .take(step)
                .collect();
            assert!(!bytes.is_empty(), "{} bytes are left but no slice has one", output.len());
            output.advance(bytes.len());
            sent.extend_from_slice(&bytes);
        }
        sent
    }

    fn mixed(seed: u8) -> (Output, Vec<u8>) {
        let mut output = Output::default();
        let mut expected = Vec::new();
        for (index, length) in
            [3, UNCOPIED_BYTES_MIN, UNCOPIED_BYTES_MIN + 7, 100, 100_000, 70_000].iter().enumerate()
        {
            let bytes = vec![seed + index as u8; *length];
            expected.extend_from_slice(&bytes);
            if index == 4 {
                output.buffer().extend_from_slice(&bytes);
            } else {
                output.push_bytes(Bytes::from(bytes));
            }
        }
        (output, expected)
    }

    #[test]
    fn bytes_leave_in_order_whatever_the_steps() {
        for step in [1000, 8 * 1024, 70_000, usize::MAX] {
            for width in [1, 2, 64] {
                let (output, expected) = mixed(1);
                assert_eq!(output.len(), expected.len());
                assert!(sent_in_steps(output, step, width) == expected, "step {step}, width {width}");
            }
        }
    }

    #[test]
    fn appending_keeps_order_when_both_are_partly_sent() {
        for sent in [0, 2, 9000, 120_000] {
            let (mut first, mut expected) = mixed(1);
            let (mut second, more) = mixed(50);
            first.advance(sent);
            second.advance(sent);
            expected.drain(..sent);
            expected.extend_from_slice(&more[sent..]);
            first.append(second);
            assert!(sent_in_steps(first, 5000, 8) == expected, "sent {sent}");
        }
    }

    #[test]
    fn frames_read_back_whether_their_bodies_were_copied_or_not() {
        let bodies = [0, 1, UNCOPIED_BYTES_MIN - 1, UNCOPIED_BYTES_MIN, 100_000, 3];
        let mut output = Output::default();
        for (opaque, length) in bodies.iter().enumerate() {
            let mut command = Command::response(0).body(vec![opaque as u8; *length]);
            command.opaque = opaque as i32;
            output.push(&command, Encoding::Binary);
        }
        let mut read = Vec::new();
        output.for_each_frame(|frame| read.push(frame)).expect("all of it is frames");
        assert_eq!(read.len(), bodies.len());
        for (opaque, (frame, length)) in read.iter().zip(bodies).enumerate() {
            assert_eq!((frame.opaque, &frame.body[..]), (opaque as i32, &vec![opaque as u8; length][..]));
        }
    }

    #[test]
    fn oneway_requests_get_no_reply() {
        let mut request = Vec::new();
        Command::request(34).oneway().encode(Encoding::Json, &mut request);
        let request = roxmq_protocol::frame::decode(&request).unwrap();
        let mut output = Output::default();
        output.reply(&request.header, Command::response(0));
        assert!(output.is_empty());
    }
}
