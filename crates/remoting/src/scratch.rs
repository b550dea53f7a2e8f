//! Buffers that connections of one thread share: needed only while a connection has something to do, so that an
//! idle one holds none.

use crate::output::Output;
use std::cell::Cell;

/// How much one read can bring; a burst is at most so long.
const READ_BYTES: usize = 256 * 1024;
/// A buffer that grew beyond this isn't kept.
const SPARE_BYTES_MAX: usize = 256 * 1024;

thread_local! {
    static READ: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
    static SPARE: Cell<Option<Output>> = const { Cell::new(None) };
}

/// Runs `work` with this thread's read buffer.
pub(crate) fn with_read_buffer<T>(work: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut buffer = READ.take().unwrap_or_else(|| vec![0; READ_BYTES].into_boxed_slice());
    let result = work(&mut buffer);
    READ.set(Some(buffer));
    result
}

/// An empty output whose buffer may have room already.
pub(crate) fn take_output() -> Output {
    SPARE.take().unwrap_or_default()
}

/// Gives back an output that is empty.
pub(crate) fn give_back(output: Output) {
    debug_assert!(output.is_empty());
    if (1..=SPARE_BYTES_MAX).contains(&output.capacity()) {
        SPARE.set(Some(output));
    }
}
