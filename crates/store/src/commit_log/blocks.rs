//! Blocks of the log that several readers want, behind the end that [`Tail`](super::tail::Tail) keeps.
//!
//! Consumers that catch up read all queues of a topic at about the same place, and in the log these queues lie
//! interleaved: a read for each message would be a system call for each. A block is kept once enough of its messages
//! were asked for that don't lie side by side; somebody who reads one queue of many never gets there, and costs nothing.
//! What is kept never changes: only blocks that the log has been written past are.

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;

/// A block, and what it starts at a multiple of.
pub(crate) const BLOCK_BYTES: i64 = 64 << 10;
/// So many records of a block are read from the file one by one before it is kept.
const READS_BEFORE: usize = 4;
/// Blocks kept, and blocks whose reads are counted. 8 MiB: consumers of one topic drift apart by some.
const BLOCKS_MAX: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// The one used longest ago comes first.
    queue: Vec<Entry>,
    /// The memory of the last block that was forgotten.
    spare: Option<BytesMut>,
}

#[derive(Debug)]
struct Entry {
    number: i64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// How many records were asked for.
    Counted(usize),
    Kept(Bytes),
}

/// A block of the log in memory.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(super) start: i64,
    pub(super) bytes: Bytes,
}

impl Block {
    /// The bytes at a position of the log, if the block has all of them.
    pub fn get(&self, at: i64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}

/// What is to be done for a read.
#[derive(Debug)]
pub(crate) enum Lookup {
    Kept(Bytes),
    /// Enough are asked for: whoever reads the block into this memory hands it to [`Blocks::keep`].
    Wanted(BytesMut),
    Unknown,
}

impl Blocks {
    /// Looks for a block that somebody wants so many records of.
    pub fn look_up(&self, number: i64, records: usize) -> Lookup {
        let mut entries = self.entries.lock();
        let Entries { queue, spare } = &mut *entries;
        match queue.iter().rposition(|entry| entry.number == number) {
            Some(at) => queue[at..].rotate_left(1),
            None => {
                if queue.len() == BLOCKS_MAX
                    && let State::Kept(bytes) = queue.remove(0).state
                {
                    *spare = bytes.try_into_mut().ok();
                }
                queue.push(Entry { number, state: State::Counted(0) });
            }
        }
        match queue.last_mut().map(|entry| &mut entry.state) {
            Some(State::Kept(block)) => Lookup::Kept(block.clone()),
            Some(State::Counted(asked)) => {
                *asked = asked.saturating_add(records);
                if *asked <= READS_BEFORE {
                    return Lookup::Unknown;
                }
                Lookup::Wanted(spare.take().unwrap_or_else(|| BytesMut::zeroed(BLOCK_BYTES as usize)))
            }
            None => Lookup::Unknown,
        }
    }

    pub fn keep(&self, number: i64, block: Bytes) {
        if let Some(entry) = self.entries.lock().queue.iter_mut().find(|entry| entry.number == number) {
            entry.state = State::Kept(block);
        }
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
            .position(|_| matches!(blocks.look_up(number, 1), Lookup::Wanted(_)))
            .expect("wanted at some time")
    }

    #[test]
    fn a_block_is_kept_once_enough_have_asked() {
        let blocks = Blocks::default();
        assert_eq!(ask_until_wanted(&blocks, 5), READS_BEFORE);
        blocks.keep(5, block());
        assert!(matches!(blocks.look_up(5, 1), Lookup::Kept(_)));
        assert!(matches!(blocks.look_up(6, 1), Lookup::Unknown));
    }

    #[test]
    fn a_block_is_kept_at_once_for_somebody_who_wants_much_of_it() {
        let blocks = Blocks::default();
        assert!(matches!(blocks.look_up(5, READS_BEFORE), Lookup::Unknown));
        assert!(matches!(blocks.look_up(6, READS_BEFORE + 1), Lookup::Wanted(_)));
    }

    #[test]
    fn the_one_used_longest_ago_goes_first() {
        let blocks = Blocks::default();
        ask_until_wanted(&blocks, 0);
        blocks.keep(0, block());
        for number in 1..BLOCKS_MAX as i64 {
            blocks.look_up(number, 1);
        }
        assert!(matches!(blocks.look_up(0, 1), Lookup::Kept(_)));
        blocks.look_up(1000, 1);
        assert!(matches!(blocks.look_up(0, 1), Lookup::Kept(_)), "it was used just now");
        for number in 2000..2000 + BLOCKS_MAX as i64 {
            blocks.look_up(number, 1);
        }
        assert!(matches!(blocks.look_up(0, 1), Lookup::Unknown));
    }

    #[test]
    fn a_block_that_was_forgotten_meanwhile_is_not_kept() {
        let blocks = Blocks::default();
        blocks.keep(1, block());
        assert!(matches!(blocks.look_up(1, 1), Lookup::Unknown));
    }
}
