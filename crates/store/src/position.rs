//! Positions and times as types of their own, so that no two of them are mixed up.

use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// A byte position in the commit log, counted from its first byte ever written.
    PhyOffset(i64)
);
number!(
    /// A message's number in its queue.
    QueueOffset(i64)
);
number!(
    /// A queue's number in its topic.
    QueueId(i32)
);
number!(
    /// Milliseconds since the epoch.
    Millis(i64)
);
