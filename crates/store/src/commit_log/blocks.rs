//! Blocks of the log that several readers want, behind the end that [`Tail`](super::tail::Tail) keeps.
//!
//! Consumers that catch up read all queues of a topic at about the same place, and in the log these queues lie
//! interleaved: a read for each message would be a system call for each. A block is kept once enough of its messages
//! were asked for one by one; somebody who reads one queue of many never gets there, and costs nothing.
//! What is kept never changes: only blocks that the log has been written past are.

use parking_lot::Mutex;
use std::sync::Arc;

/// A block, and what it starts at a multiple of.
pub(crate) const BLOCK_BYTES: i64 = 64 << 10;
/// So many reads of a block are served from the file before it is kept.
const READS_BEFORE: u8 = 4;
/// Blocks kept, and blocks whose reads are counted. 2 MiB.
const BLOCKS_MAX: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The one used longest ago comes first.
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    number: i64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Counted(u8),
    Kept(Arc<[u8]>),
}

/// What is to be done for a read.
#[derive(Debug)]
pub(crate) enum Lookup {
    Kept(Arc<[u8]>),
    /// Enough have asked: whoever reads this much now hands it to [`Blocks::keep`].
    Wanted,
    Unknown,
}

impl Blocks {
    pub fn look_up(&self, number: i64) -> Lookup {
        let mut entries = self.entries.lock();
        let Some(at) = entries.iter().rposition(|entry| entry.number == number) else {
            if entries.len() == BLOCKS_MAX {
                entries.remove(0);
            }
            entries.push(Entry { number, state: State::Counted(1) });
            return Lookup::Unknown;
        };
        entries[at..].rotate_left(1);
        let Some(entry) = entries.last_mut() else { return Lookup::Unknown };
        match &mut entry.state {
            State::Kept(block) => Lookup::Kept(Arc::clone(block)),
            State::Counted(reads) if *reads >= READS_BEFORE => Lookup::Wanted,
            State::Counted(reads) => {
                *reads += 1;
                Lookup::Unknown
            }
        }
    }

    pub fn keep(&self, number: i64, block: Arc<[u8]>) {
        if let Some(entry) = self.entries.lock().iter_mut().find(|entry| entry.number == number) {
            entry.state = State::Kept(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Arc<[u8]> {
        vec![7; BLOCK_BYTES as usize].into()
    }

    /// Asks until the block is wanted; gives how often that was.
    fn ask_until_wanted(blocks: &Blocks, number: i64) -> usize {
        (0..100).position(|_| matches!(blocks.look_up(number), Lookup::Wanted)).expect("wanted at some time")
    }

    #[test]
    fn a_block_is_kept_once_enough_have_asked() {
        let blocks = Blocks::default();
        assert_eq!(ask_until_wanted(&blocks, 5), usize::from(READS_BEFORE));
        blocks.keep(5, block());
        assert!(matches!(blocks.look_up(5), Lookup::Kept(_)));
        assert!(matches!(blocks.look_up(6), Lookup::Unknown));
    }

    #[test]
    fn the_one_used_longest_ago_goes_first() {
        let blocks = Blocks::default();
        ask_until_wanted(&blocks, 0);
        blocks.keep(0, block());
        for number in 1..BLOCKS_MAX as i64 {
            blocks.look_up(number);
        }
        assert!(matches!(blocks.look_up(0), Lookup::Kept(_)));
        blocks.look_up(1000);
        assert!(matches!(blocks.look_up(0), Lookup::Kept(_)), "it was used just now");
        for number in 2000..2000 + BLOCKS_MAX as i64 {
            blocks.look_up(number);
        }
        assert!(matches!(blocks.look_up(0), Lookup::Unknown));
    }

    #[test]
    fn a_block_that_was_forgotten_meanwhile_is_not_kept() {
        let blocks = Blocks::default();
        blocks.keep(1, block());
        assert!(matches!(blocks.look_up(1), Lookup::Unknown));
    }
}
