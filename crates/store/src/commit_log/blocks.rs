//! Blocks of the log that several readers want, behind the end that [`Tail`](super::tail::Tail) keeps.
//!
//! Consumers that catch up read all queues of a topic at about the same place, and in the log these queues lie
//! interleaved: a read for each message would be a system call for each. A block is kept once enough of its messages
//! were asked for that don't lie side by side; somebody who reads one queue of many never gets there, and costs nothing.
//! What is kept never changes: only blocks that the log has been written past are.
//!
//! The block that came first goes first, used or not: who comes last through a block wants it no more, and would push
//! out those that nobody behind the first reader has had yet.

use bytes::{Bytes, BytesMut};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

/// A block, and what it starts at a multiple of.
pub(crate) const BLOCK_BYTES: i64 = 64 << 10;
/// So many records of a block are read from the file one by one before it is kept.
const READS_BEFORE: usize = 4;
/// Blocks kept, and blocks whose reads are counted: 8 MiB while somebody reads so. Consumers that are no further apart
/// stay together, as who comes last is faster where the blocks are here already; others each read their own.
const BLOCKS_MAX: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    states: HashMap<i64, State, RandomState>,
    /// Their numbers, in the order in which they were first asked for.
    order: VecDeque<i64>,
    /// The memory of the last block that was forgotten.
    spare: Option<BytesMut>,
    /// Somebody has looked for a block since the last round.
    in_use: bool,
}

#[derive(Debug)]
enum State {
    /// How many records were asked for.
    Counted(usize),
    /// Somebody reads it from the file.
    Loading,
    Kept(Bytes),
}

/// A block of the log in memory.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(super) start: i64,
    pub(super) bytes: Bytes,
}

impl Block {
    /// The bytes from a position of the log to the end of the block, if it lies in there.
    pub fn from(&self, at: i64) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..).filter(|bytes| !bytes.is_empty())
    }

    /// Whether a position lies in the block behind this one.
    pub fn is_followed_by(&self, at: i64) -> bool {
        at / BLOCK_BYTES == self.start / BLOCK_BYTES + 1
    }
}

/// What is to be done for a read.
#[derive(Debug)]
pub(crate) enum Lookup {
    Kept(Bytes),
    /// Enough are asked for: the caller reads the block into this memory and hands it to [`Blocks::keep`], or
    /// gives up.
    Wanted(BytesMut),
    /// Somebody else is about to.
    Loading,
    Unknown,
}

impl Blocks {
    /// Looks for a block; `records` says how many of its records the caller wants.
    pub fn look_up(&self, number: i64, records: impl FnOnce() -> usize) -> Lookup {
        let mut entries = self.entries.lock();
        entries.in_use = true;
        let asked = match entries.states.get_mut(&number) {
            Some(State::Kept(block)) => return Lookup::Kept(block.clone()),
            Some(State::Loading) => return Lookup::Loading,
            Some(State::Counted(asked)) => asked.saturating_add(records()),
            None => {
                entries.make_room(number);
                records()
            }
        };
        let wanted = asked > READS_BEFORE;
        entries.states.insert(number, if wanted { State::Loading } else { State::Counted(asked) });
        if wanted { Lookup::Wanted(entries.take_memory()) } else { Lookup::Unknown }
    }

    /// Memory for a block that somebody else is about to read, too.
    pub fn memory(&self) -> BytesMut {
        self.entries.lock().take_memory()
    }

    pub fn keep(&self, number: i64, block: Bytes) {
        if let Some(state) = self.entries.lock().states.get_mut(&number) {
            *state = State::Kept(block);
        }
    }

    /// The block could not be read; the next one who wants some of it may.
    pub fn give_up(&self, number: i64) {
        if let Some(state @ State::Loading) = self.entries.lock().states.get_mut(&number) {
            *state = State::Counted(READS_BEFORE);
        }
    }

    /// Gives the memory back if nobody has looked for a block since the last time.
    pub fn release_idle(&self) {
        let mut entries = self.entries.lock();
        if !std::mem::take(&mut entries.in_use) {
            *entries = Entries::default();
        }
    }
}

impl Entries {
    /// For a block that isn't here.
    fn make_room(&mut self, number: i64) {
        if self.order.len() == BLOCKS_MAX
            && let Some(State::Kept(bytes)) =
                self.order.pop_front().and_then(|first| self.states.remove(&first))
            && let Ok(memory) = bytes.try_into_mut()
        {
            self.spare = Some(memory);
        }
        self.order.push_back(number);
    }

    fn take_memory(&mut self) -> BytesMut {
        self.spare.take().unwrap_or_else(|| BytesMut::zeroed(BLOCK_BYTES as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Bytes {
        vec![7; BLOCK_BYTES as usize].into()
    }

    /// Asks until the block is wanted; gives how often that was.
    fn ask_until_wanted(blocks: &Blocks, number: i64) -> usize {
        (0..100)
            .position(|_| matches!(blocks.look_up(number, || 1), Lookup::Wanted(_)))
            .expect("wanted at some time")
    }

    #[test]
    fn a_block_is_kept_once_enough_have_asked() {
        let blocks = Blocks::default();
        assert_eq!(ask_until_wanted(&blocks, 5), READS_BEFORE);
        blocks.keep(5, block());
        assert!(matches!(blocks.look_up(5, || 1), Lookup::Kept(_)));
        assert!(matches!(blocks.look_up(6, || 1), Lookup::Unknown));
    }

    #[test]
    fn a_block_is_kept_at_once_for_somebody_who_wants_much_of_it() {
        let blocks = Blocks::default();
        assert!(matches!(blocks.look_up(5, || READS_BEFORE), Lookup::Unknown));
        assert!(matches!(blocks.look_up(6, || READS_BEFORE + 1), Lookup::Wanted(_)));
    }

    #[test]
    fn a_block_is_read_by_one_at_a_time() {
        let blocks = Blocks::default();
        ask_until_wanted(&blocks, 5);
        assert!(matches!(blocks.look_up(5, || 100), Lookup::Loading));
        blocks.give_up(5);
        assert!(matches!(blocks.look_up(5, || 1), Lookup::Wanted(_)));
        blocks.keep(5, block());
        blocks.give_up(5);
        assert!(matches!(blocks.look_up(5, || 1), Lookup::Kept(_)));
    }

    #[test]
    fn the_first_goes_first_whether_it_is_used_or_not() {
        let blocks = Blocks::default();
        ask_until_wanted(&blocks, 0);
        blocks.keep(0, block());
        for number in 1..BLOCKS_MAX as i64 {
            blocks.look_up(number, || 1);
            assert!(matches!(blocks.look_up(0, || 1), Lookup::Kept(_)), "{number}");
        }
        blocks.look_up(1000, || 1);
        assert!(matches!(blocks.look_up(0, || 1), Lookup::Unknown));
    }

    #[test]
    fn a_block_has_what_lies_in_it() {
        let block = Block { start: BLOCK_BYTES, bytes: block() };
        let check = |at: i64, expected: Option<i64>| {
            assert_eq!(block.from(at).map(|bytes| bytes.len() as i64), expected, "{at}");
        };
        check(BLOCK_BYTES - 1, None);
        check(BLOCK_BYTES, Some(BLOCK_BYTES));
        check(2 * BLOCK_BYTES - 1, Some(1));
        check(2 * BLOCK_BYTES, None);
        check(i64::MIN, None);
        check(i64::MAX, None);
    }

    #[test]
    fn what_nobody_looks_for_any_more_is_given_back() {
        let blocks = Blocks::default();
        ask_until_wanted(&blocks, 0);
        blocks.keep(0, block());
        for _ in 0..2 {
            blocks.release_idle();
            assert!(matches!(blocks.look_up(0, || 1), Lookup::Kept(_)));
        }
        blocks.release_idle();
        blocks.release_idle();
        assert!(matches!(blocks.look_up(0, || 1), Lookup::Unknown));
    }

    #[test]
    fn a_block_that_was_forgotten_meanwhile_is_not_kept() {
        let blocks = Blocks::default();
        blocks.keep(1, block());
        assert!(matches!(blocks.look_up(1, || 1), Lookup::Unknown));
    }
}
