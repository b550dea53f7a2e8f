//! What the tests of the other crates stand on: files that crash and fail on demand, a clock moved
//! by hand, and messages as the log has them.

mod disk;
mod fault_files;
mod node;
mod sparse;
mod stored;
mod test_clock;

pub use disk::Crash;
pub use fault_files::FaultFiles;
pub use stored::record;
pub use test_clock::TestClock;
