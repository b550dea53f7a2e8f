//! Blocks of the log that several readers want, behind the end that [`Tail`](super::tail::Tail) keeps.
//!
//! Consumers that catch up read all queues of a topic at about the same place, and in the log these queues lie
//! interleaved: a read for each message would be a system call for each. A block is kept once enough of its messages
//! were asked for that don't lie side by side; somebody who reads one queue of many never gets there, and costs nothing.
//! What is kept never changes: only blocks that the log has been written past are.
//!
//! A block goes when all of it was taken as often as there seem to be readers, so that the next one gets its memory while
//! the processor still has that at hand. What never gets there, as something else lies in it or its readers are far apart,
//! goes in the order in which it came, used or not: who comes last through a block wants it no more, and would push out
//! those that nobody behind the first reader has had yet.

use bytes::{Bytes, BytesMut};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

/// A block, and what it starts at a multiple of.
pub(crate) const BLOCK_BYTES: i64 = 64 << 10;
/// So many records of a block are read from the file one by one before it is kept.
const READS_BEFORE: usize = 4;
/// Blocks kept, and blocks whose reads are counted: up to 16 MiB while somebody reads so. Consumers that are no further
/// apart stay together, as who comes last is faster where the blocks are here already; others each read their own.
const BLOCKS_MAX: usize = 256;
/// Memory of blocks that are gone, for those to come: a pull leaves a few behind, and the next one needs a few.
const SPARE_MAX: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    known: HashMap<i64, Entry, RandomState>,
    /// Their numbers, in the order in which they were first asked for.
    order: VecDeque<i64>,
    /// The memory of the last blocks that went.
    spare: Vec<BytesMut>,
    /// How many go the same way behind who comes first. They are noticed by what they ask for again, and are gone when
    /// they don't come for what was kept for them.
    followers: usize,
    /// Somebody has looked for a block since the last round.
    in_use: bool,
}

#[derive(Debug)]
struct Entry {
    state: State,
    /// Bytes that readers took out of it, all together.
    taken: usize,
}

#[derive(Debug)]
enum State {
    /// How many records were asked for.
    Counted(usize),
    /// Somebody reads it from the file.
    Loading,
    Kept(Bytes),
    /// Everybody seems to have had it.
    Finished,
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
        let asked = match entries.known.get(&number).map(|entry| &entry.state) {
            Some(State::Kept(block)) => return Lookup::Kept(block.clone()),
            Some(State::Loading) => return Lookup::Loading,
            Some(State::Counted(asked)) => asked.saturating_add(records()),
            Some(State::Finished) => {
                entries.followers = entries.followers.saturating_add(1);
                usize::MAX
            }
            None => {
                entries.add(number);
                records()
            }
        };
        let wanted = asked > READS_BEFORE;
        entries.change(number, if wanted { State::Loading } else { State::Counted(asked) });
        if wanted { Lookup::Wanted(entries.take_memory()) } else { Lookup::Unknown }
    }

    /// Memory for a block that somebody else is about to read, too.
    pub fn memory(&self) -> BytesMut {
        self.entries.lock().take_memory()
    }

    pub fn keep(&self, number: i64, block: Bytes) {
        self.entries.lock().change(number, State::Kept(block));
    }

    /// The block could not be read; the next one who wants some of it may.
    pub fn give_up(&self, number: i64) {
        if let Some(Entry { state: state @ State::Loading, .. }) = self.entries.lock().known.get_mut(&number)
        {
            *state = State::Counted(READS_BEFORE);
        }
    }

    /// Somebody has taken so many bytes out of a block, and no longer holds it.
    pub fn took(&self, number: i64, bytes: usize) {
        self.entries.lock().took(number, bytes);
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
    /// Takes in a block that isn't here.
    fn add(&mut self, number: i64) {
        if self.order.len() == BLOCKS_MAX
            && let Some(Entry { state: State::Kept(block), taken }) =
                self.order.pop_front().and_then(|first| self.known.remove(&first))
        {
            let times_taken = (taken + BLOCK_BYTES as usize / 2) / BLOCK_BYTES as usize;
            self.followers = self.followers.min(times_taken.saturating_sub(1));
            self.put_aside(block);
        }
        self.order.push_back(number);
        self.known.insert(number, Entry { state: State::Counted(0), taken: 0 });
    }

    /// Nothing if the block was forgotten meanwhile.
    fn change(&mut self, number: i64, state: State) {
        if let Some(entry) = self.known.get_mut(&number) {
            entry.state = state;
        }
    }

    fn took(&mut self, number: i64, bytes: usize) {
        let Some(entry) = self.known.get_mut(&number) else { return };
        entry.taken = entry.taken.saturating_add(bytes);
        if entry.taken / BLOCK_BYTES as usize > self.followers
            && let State::Kept(block) = &mut entry.state
        {
            let block = std::mem::take(block);
            entry.state = State::Finished;
            self.put_aside(block);
        }
    }

    /// Keeps the memory of a block, if nobody else reads it any more.
    fn put_aside(&mut self, block: Bytes) {
        if self.spare.len() < SPARE_MAX
            && let Ok(memory) = block.try_into_mut()
        {
            self.spare.push(memory);
        }
    }

    /// What was used last is what the processor most likely has at hand.
    fn take_memory(&mut self) -> BytesMut {
        self.spare.pop().unwrap_or_else(|| BytesMut::zeroed(BLOCK_BYTES as usize))
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

    /// Has a block kept, and so many readers take all of it one after the other.
    fn keep_and_take(blocks: &Blocks, number: i64, readers: usize) {
        assert!(matches!(blocks.look_up(number, || 100), Lookup::Wanted(_)), "{number}");
        blocks.keep(number, block());
        for _ in 0..readers {
            assert!(matches!(blocks.look_up(number, || 1), Lookup::Kept(_)), "{number}");
            blocks.took(number, 1);
            blocks.took(number, BLOCK_BYTES as usize - 1);
        }
    }

    fn is_kept(blocks: &Blocks, number: i64) -> bool {
        matches!(blocks.entries.lock().known.get(&number).unwrap().state, State::Kept(_))
    }

    #[test]
    fn a_block_of_which_all_was_taken_leaves_its_memory_to_the_next() {
        let blocks = Blocks::default();
        keep_and_take(&blocks, 0, 1);
        assert!(!is_kept(&blocks, 0));
        assert_eq!(blocks.entries.lock().spare.len(), 1);
        assert_eq!(blocks.memory(), block());
        // Who reads it still keeps its memory.
        blocks.look_up(1, || 100);
        let read = block();
        blocks.keep(1, read.clone());
        blocks.took(1, BLOCK_BYTES as usize);
        assert!(!is_kept(&blocks, 1) && blocks.entries.lock().spare.is_empty());
        assert_eq!(read, block());
    }

    #[test]
    fn a_block_waits_for_those_who_follow() {
        let blocks = Blocks::default();
        keep_and_take(&blocks, 0, 1);
        // A second reader is noticed by what isn't here any more.
        keep_and_take(&blocks, 0, 1);
        keep_and_take(&blocks, 1, 1);
        assert!(is_kept(&blocks, 1));
        blocks.took(1, BLOCK_BYTES as usize);
        assert!(!is_kept(&blocks, 1));
        // And that it comes no more, when blocks go without it.
        for number in 2..BLOCKS_MAX as i64 + 2 {
            keep_and_take(&blocks, number, 1);
            assert!(is_kept(&blocks, number), "{number}");
        }
        keep_and_take(&blocks, -1, 1);
        assert!(is_kept(&blocks, BLOCKS_MAX as i64 + 1) && !is_kept(&blocks, -1));
    }

    #[test]
    fn a_block_that_somebody_reads_is_not_finished_by_others() {
        let blocks = Blocks::default();
        assert!(matches!(blocks.look_up(0, || 100), Lookup::Wanted(_)));
        blocks.took(0, 2 * BLOCK_BYTES as usize);
        assert!(matches!(blocks.look_up(0, || 100), Lookup::Loading));
        blocks.took(1, 1);
        assert!(matches!(blocks.look_up(1, || 1), Lookup::Unknown));
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
