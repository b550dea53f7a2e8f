//! The end of the log in memory, for readers that keep up.
//!
//! Its pieces are the buffers that large bursts were encoded into, so those aren't copied on the way in. A piece that
//! makes room gives its buffer to the next burst: filling memory costs less than asking the system for it.

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;

/// What a piece costs besides its bytes, so that many small ones don't take more than the limit.
const PIECE_OVERHEAD_BYTES: usize = 128;
/// How many buffers wait for bursts to come, and how large each may be.
const SPARE_MAX: usize = 4;
const SPARE_BYTES: std::ops::RangeInclusive<usize> = 4 << 10..=512 << 10;

#[derive(Debug)]
pub(crate) struct Tail {
    bytes_max: usize,
    pieces: RwLock<Pieces>,
    spare: Mutex<Vec<Vec<u8>>>,
}

#[derive(Debug, Default)]
struct Pieces {
    /// In order of their positions; between two files there may be a gap for the filler.
    queue: VecDeque<Piece>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Piece {
    start: i64,
    bytes: Bytes,
    /// The memory it holds, with the room behind its bytes.
    held_bytes: usize,
}

impl Piece {
    fn get(&self, at: i64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}

impl Tail {
    pub fn new(bytes_max: usize) -> Self {
        Tail { bytes_max, pieces: RwLock::default(), spare: Mutex::default() }
    }

    /// Takes what was just written behind everything that is here; `room` is what its buffer holds unused.
    pub fn push(&self, start: i64, bytes: Bytes, room: usize) {
        let held_bytes = bytes.len() + room + PIECE_OVERHEAD_BYTES;
        let mut pieces = self.pieces.write();
        pieces.bytes += held_bytes;
        pieces.queue.push_back(Piece { start, bytes, held_bytes });
        while pieces.bytes > self.bytes_max
            && let Some(oldest) = pieces.queue.pop_front()
        {
            pieces.bytes -= oldest.held_bytes;
            self.put_aside(oldest);
        }
    }

    /// Keeps the buffer of a piece for [`spare`](Self::spare), if nobody reads it any more.
    fn put_aside(&self, piece: Piece) {
        let Ok(mut buffer) = piece.bytes.try_into_mut() else { return };
        buffer.clear();
        let buffer = Vec::from(buffer);
        let mut spare = self.spare.lock();
        if spare.len() < SPARE_MAX && SPARE_BYTES.contains(&buffer.capacity()) {
            spare.push(buffer);
        }
    }

    /// An empty buffer with room, if there is one.
    pub fn spare(&self) -> Option<Vec<u8>> {
        self.spare.lock().pop()
    }

    pub fn reader(&self) -> TailReader<'_> {
        let start = self.pieces.read().queue.front().map_or(i64::MAX, |oldest| oldest.start);
        TailReader { tail: self, start, last: None }
    }

    fn find(&self, at: i64) -> Option<Piece> {
        let pieces = self.pieces.read();
        let behind = pieces.queue.partition_point(|piece| piece.start <= at);
        pieces.queue.get(behind.checked_sub(1)?).cloned()
    }
}

/// Reads from the tail; what lies in the piece of the read before is found without the lock, and what lies before all
/// pieces is not looked for.
pub(crate) struct TailReader<'a> {
    tail: &'a Tail,
    /// Where the tail began when the reader was made; it never begins before that again.
    start: i64,
    last: Option<Piece>,
}

impl TailReader<'_> {
    /// The bytes, if all of them are in memory.
    #[inline]
    pub fn get(&mut self, at: i64, len: usize) -> Option<&[u8]> {
        if at < self.start {
            return None;
        }
        if self.last.as_ref().is_none_or(|piece| piece.get(at, len).is_none()) {
            self.last = self.tail.find(at);
        }
        self.last.as_ref()?.get(at, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_one_piece_is_found() {
        let tail = Tail::new(1 << 20);
        tail.push(100, Bytes::from_static(b"abcd"), 0);
        tail.push(104, Bytes::from_static(b"efgh"), 0);
        tail.push(120, Bytes::from_static(b"ijkl"), 0);
        let mut reader = tail.reader();
        let mut check = |at: i64, len: usize, expected: Option<&[u8]>| {
            assert_eq!(reader.get(at, len), expected, "{at} {len}");
        };
        check(100, 4, Some(b"abcd"));
        check(102, 2, Some(b"cd"));
        check(105, 2, Some(b"fg"));
        check(121, 3, Some(b"jkl"));
        check(99, 1, None);
        check(103, 2, None);
        check(110, 1, None);
        check(123, 2, None);
        check(i64::MAX, usize::MAX, None);
    }

    #[test]
    fn the_oldest_pieces_make_room() {
        let tail = Tail::new(2 * (10 + PIECE_OVERHEAD_BYTES));
        for at in 0..3 {
            tail.push(at * 10, Bytes::from(vec![at as u8; 10]), 0);
        }
        assert_eq!(tail.reader().get(0, 1), None);
        assert_eq!(tail.reader().get(10, 10), Some(&[1; 10][..]));
        assert_eq!(tail.reader().get(29, 1), Some(&[2][..]));
    }

    #[test]
    fn room_counts_and_is_used_again() {
        let tail = Tail::new(40 << 10);
        let burst = |byte: u8| {
            let mut bytes = Vec::with_capacity(16 << 10);
            bytes.resize(10 << 10, byte);
            Bytes::from(bytes)
        };
        tail.push(0, burst(1), 6 << 10);
        let mut reader = tail.reader();
        assert!(reader.get(0, 1).is_some());
        for at in 1..4 {
            tail.push(at * (10 << 10), burst(1), 6 << 10);
        }
        // Two fit with their room. The first of the others was being read, so only the second came back.
        assert_eq!(tail.reader().get(10 << 10, 1), None);
        assert!(tail.reader().get(20 << 10, 1).is_some());
        let spare = tail.spare().expect("a buffer");
        assert_eq!((spare.len(), spare.capacity()), (0, 16 << 10));
        assert_eq!(tail.spare(), None);
    }
}
