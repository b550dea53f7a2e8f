//! What the tests of the other crates stand on: files that crash and fail on demand, and a clock moved by hand.

mod disk;
mod fault_files;
mod node;
mod sparse;
mod test_clock;

pub use disk::Crash;
pub use fault_files::FaultFiles;
pub use test_clock::TestClock;
