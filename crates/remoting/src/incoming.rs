//! Bytes as they come, cut into frames.
//!
//! Frames are read where the bytes were received. Only what can't be served yet is kept: a frame that isn't
//! complete, and what came behind a pause. Nothing is allocated for bytes that haven't come.

use roxmq_protocol::frame::{self, Frame, FrameError};
use std::ops::ControlFlow;

/// The least room that is made for an incomplete frame.
const GROWTH_BYTES_MIN: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Incoming {
    kept: Vec<u8>,
    /// Whole frames may be among the kept bytes; they come before anything that is read.
    paused: bool,
}

impl Incoming {
    /// Starts with bytes that somebody else has read.
    pub fn starting_with(bytes: Vec<u8>) -> Self {
        Incoming { paused: !bytes.is_empty(), kept: bytes }
    }

    /// Whether frames wait that have come already.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Serves the frames that `fresh` completes or holds until `serve` breaks, and keeps the rest.
    /// Not while paused.
    pub fn feed(
        &mut self,
        fresh: &[u8],
        serve: &mut impl FnMut(&Frame<'_>) -> ControlFlow<()>,
    ) -> Result<(), FrameError> {
        debug_assert!(!self.paused);
        let mut rest = fresh;
        if !self.kept.is_empty() {
            let Some(behind) = self.complete(rest)? else {
                return Ok(());
            };
            rest = behind;
            // What was kept is released: an idle connection keeps nothing.
            let whole = std::mem::take(&mut self.kept);
            if frame::read(&whole, &mut *serve)?.is_break() {
                self.pause(rest);
                return Ok(());
            }
        }
        self.serve_from(rest, serve)
    }

    /// Goes on with what was kept at a pause.
    pub fn resume(
        &mut self,
        serve: &mut impl FnMut(&Frame<'_>) -> ControlFlow<()>,
    ) -> Result<(), FrameError> {
        self.paused = false;
        let kept = std::mem::take(&mut self.kept);
        self.serve_from(&kept, serve)
    }

    fn serve_from(
        &mut self,
        mut bytes: &[u8],
        serve: &mut impl FnMut(&Frame<'_>) -> ControlFlow<()>,
    ) -> Result<(), FrameError> {
        while let Some(length) = frame::length(bytes)? {
            let Some((whole, rest)) = bytes.split_at_checked(length) else {
                break;
            };
            bytes = rest;
            if frame::read(whole, &mut *serve)?.is_break() {
                self.pause(rest);
                return Ok(());
            }
        }
        self.kept.extend_from_slice(bytes);
        Ok(())
    }

    fn pause(&mut self, rest: &[u8]) {
        self.kept.extend_from_slice(rest);
        self.paused = !rest.is_empty();
    }

    /// Moves bytes behind the kept ones until these are one whole frame; then returns what is left.
    fn complete<'a>(&mut self, mut fresh: &'a [u8]) -> Result<Option<&'a [u8]>, FrameError> {
        loop {
            // The length isn't known before its four bytes are there.
            let wanted = frame::length(&self.kept)?.unwrap_or(4);
            let missing = wanted.saturating_sub(self.kept.len());
            if missing == 0 {
                return Ok(Some(fresh));
            }
            let (taken, rest) = fresh.split_at(missing.min(fresh.len()));
            if self.kept.capacity() - self.kept.len() < taken.len() {
                let growth = self.kept.len().max(taken.len()).max(GROWTH_BYTES_MIN);
                self.kept.reserve_exact(growth.min(missing));
            }
            self.kept.extend_from_slice(taken);
            if rest.is_empty() && taken.len() < missing {
                return Ok(None);
            }
            fresh = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::command::Command;
    use roxmq_protocol::header::Encoding;

    fn frames(count: i32, body_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for opaque in 0..count {
            let mut command = Command::request(1).body(vec![opaque as u8; body_bytes]);
            command.opaque = opaque;
            command.encode(Encoding::Json, &mut bytes);
        }
        bytes
    }

    #[test]
    fn frames_come_out_whatever_the_pieces() {
        let bytes = frames(20, 300);
        for piece in [1, 3, 7, 100, 1000, bytes.len()] {
            let mut incoming = Incoming::default();
            let mut opaques = Vec::new();
            for part in bytes.chunks(piece) {
                let mut serve = |frame: &Frame<'_>| {
                    assert_eq!(frame.body, vec![frame.header.opaque as u8; 300]);
                    opaques.push(frame.header.opaque);
                    ControlFlow::Continue(())
                };
                incoming.feed(part, &mut serve).unwrap();
            }
            assert_eq!(opaques, (0..20).collect::<Vec<_>>(), "pieces of {piece}");
            assert_eq!(incoming.kept.capacity(), 0, "nothing is kept between frames");
        }
    }

    #[test]
    fn a_pause_after_every_frame_loses_none() {
        let bytes = frames(20, 300);
        for piece in [1, 700, bytes.len()] {
            let mut incoming = Incoming::default();
            let mut opaques = Vec::new();
            for part in bytes.chunks(piece) {
                let mut serve = |frame: &Frame<'_>| {
                    opaques.push(frame.header.opaque);
                    ControlFlow::Break(())
                };
                incoming.feed(part, &mut serve).unwrap();
                while incoming.is_paused() {
                    incoming.resume(&mut serve).unwrap();
                }
            }
            assert_eq!(opaques, (0..20).collect::<Vec<_>>(), "pieces of {piece}");
        }
    }

    #[test]
    fn memory_follows_the_bytes_that_came() {
        let mut bytes = (16 * 1024 * 1024 - 4u32).to_be_bytes().to_vec();
        bytes.resize(100_000, 0);
        let mut incoming = Incoming::default();
        for part in bytes.chunks(10) {
            incoming.feed(part, &mut |_| ControlFlow::Continue(())).unwrap();
            assert!(incoming.kept.capacity() <= 2 * incoming.kept.len() + GROWTH_BYTES_MIN);
        }
    }

    #[test]
    fn a_bad_length_is_seen_at_its_fourth_byte() {
        let mut incoming = Incoming::default();
        let mut serve = |_: &Frame<'_>| ControlFlow::Continue(());
        incoming.feed(&[0xff, 0xff, 0xff], &mut serve).unwrap();
        assert_eq!(incoming.feed(&[0xff], &mut serve), Err(FrameError::TooShort(-1)));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_taken_without_a_panic(pieces: Vec<Vec<u8>>) {
            let mut incoming = Incoming::default();
            for piece in pieces {
                // Short lengths get to the header, which random ones hardly do.
                let bytes = [&[0, 0, 0][..], &piece].concat();
                if incoming.feed(&bytes, &mut |_| ControlFlow::Continue(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
