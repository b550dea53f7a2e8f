//! The end of the log in memory, for readers that keep up.
//!
//! Its pieces are the buffers that the bursts were encoded into, so nothing is copied on the way in.

use bytes::Bytes;
use parking_lot::RwLock;
use std::collections::VecDeque;

/// What a piece costs besides its bytes, so that many small ones don't take more than the limit.
const PIECE_OVERHEAD_BYTES: usize = 128;

#[derive(Debug)]
pub(crate) struct Tail {
    bytes_max: usize,
    pieces: RwLock<Pieces>,
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
}

impl Piece {
    fn get(&self, at: i64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}

impl Tail {
    pub fn new(bytes_max: usize) -> Self {
        Tail { bytes_max, pieces: RwLock::default() }
    }

    /// Takes what was just written behind everything that is here.
    pub fn push(&self, start: i64, bytes: Bytes) {
        let mut pieces = self.pieces.write();
        pieces.bytes += bytes.len() + PIECE_OVERHEAD_BYTES;
        pieces.queue.push_back(Piece { start, bytes });
        while pieces.bytes > self.bytes_max
            && let Some(oldest) = pieces.queue.pop_front()
        {
            pieces.bytes -= oldest.bytes.len() + PIECE_OVERHEAD_BYTES;
        }
    }

    pub fn reader(&self) -> TailReader<'_> {
        TailReader { tail: self, last: None }
    }

    fn find(&self, at: i64) -> Option<Piece> {
        let pieces = self.pieces.read();
        let behind = pieces.queue.partition_point(|piece| piece.start <= at);
        pieces.queue.get(behind.checked_sub(1)?).cloned()
    }
}

/// Reads from the tail; what lies in the piece of the read before is found without the lock.
pub(crate) struct TailReader<'a> {
    tail: &'a Tail,
    last: Option<Piece>,
}

impl TailReader<'_> {
    /// The bytes, if all of them are in memory.
    pub fn get(&mut self, at: i64, len: usize) -> Option<&[u8]> {
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
        tail.push(100, Bytes::from_static(b"abcd"));
        tail.push(104, Bytes::from_static(b"efgh"));
        tail.push(120, Bytes::from_static(b"ijkl"));
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
            tail.push(at * 10, Bytes::from(vec![at as u8; 10]));
        }
        assert_eq!(tail.reader().get(0, 1), None);
        assert_eq!(tail.reader().get(10, 10), Some(&[1; 10][..]));
        assert_eq!(tail.reader().get(29, 1), Some(&[2][..]));
    }
}
