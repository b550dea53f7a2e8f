//! Where reading the log again has to start.

use crate::checkpoint::Checkpoint;

/// What is known before the log is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub crashed: bool,
    pub checkpoint: Checkpoint,
    /// Where the log's first file starts and its last one ends.
    pub log: (i64, i64),
    /// The starts of the log's files.
    pub file_starts: &'a [i64],
    /// One past the newest record that any queue knows.
    pub queues_end: i64,
    /// Where the log must be read from for queues that have lost entries.
    pub queues_incomplete: Option<i64>,
    /// The index knows every record before this one; none if there is no index to keep.
    pub index_end: Option<i64>,
}

/// The first record of a file, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstRecord {
    pub phy_offset: i64,
    pub store_time: i64,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Queues that weren't damaged hold everything before this position, on the disk.
    pub whole_until: i64,
    /// Where to start reading.
    pub scan_from: i64,
}

/// Finds the place. `first_record` reads the first record of the file that starts at a position.
pub(crate) fn find(known: &Known<'_>, first_record: &mut dyn FnMut(i64) -> Option<FirstRecord>) -> Start {
    let (first, end) = known.log;
    let dispatched = known.checkpoint.dispatched;
    let by_checkpoint = dispatched > 0 && (first..end).contains(&dispatched);
    let whole_until = if by_checkpoint { dispatched } else { by_files(known, first_record) };
    let index = known.index_end.map_or(whole_until, |index_end| {
        let marked = known.checkpoint.index_end;
        let lost_nothing = by_checkpoint && marked > 0 && index_end + 1 >= marked;
        if lost_nothing { whole_until } else { index_end }
    });
    let scan_from = whole_until.min(known.queues_incomplete.unwrap_or(whole_until)).min(index).max(first);
    Start { whole_until, scan_from }
}

/// The rule of Java servers before 5.5.0: the newest file whose first record was surely dispatched. After a crash
/// the checkpoint's times say so, else the queues do.
fn by_files(known: &Known<'_>, first_record: &mut dyn FnMut(i64) -> Option<FirstRecord>) -> i64 {
    let dispatched = |record: FirstRecord| {
        if record.store_time == 0 {
            false
        } else if known.crashed {
            record.store_time <= known.checkpoint.min_time()
        } else {
            record.phy_offset <= known.queues_end
        }
    };
    let found = known.file_starts.iter().rev().find(|start| first_record(**start).is_some_and(dispatched));
    found.copied().unwrap_or(known.log.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTS: [i64; 3] = [100, 200, 300];

    fn known() -> Known<'static> {
        Known {
            crashed: false,
            checkpoint: Checkpoint::default(),
            log: (100, 400),
            file_starts: &STARTS,
            queues_end: 0,
            queues_incomplete: None,
            index_end: None,
        }
    }

    /// The record at each file's start was stored at ten times its position.
    fn check(known: Known<'_>, whole_until: i64, scan_from: i64) {
        let mut first = |start: i64| Some(FirstRecord { phy_offset: start, store_time: start * 10 });
        assert_eq!(find(&known, &mut first), Start { whole_until, scan_from }, "{known:?}");
    }

    #[test]
    fn the_checkpoint_says_where_unless_it_is_outside_the_log() {
        let checkpoint = |dispatched| Checkpoint { dispatched, ..Checkpoint::default() };
        check(Known { checkpoint: checkpoint(250), ..known() }, 250, 250);
        check(Known { checkpoint: checkpoint(250), crashed: true, ..known() }, 250, 250);
        check(Known { checkpoint: checkpoint(99), queues_end: 399, ..known() }, 300, 300);
        check(Known { checkpoint: checkpoint(400), queues_end: 250, ..known() }, 200, 200);
    }

    #[test]
    fn older_stores_are_read_from_the_start_of_a_file() {
        check(Known { queues_end: 350, ..known() }, 300, 300);
        check(Known { queues_end: 299, ..known() }, 200, 200);
        check(known(), 100, 100);
        let times = |time: i64| Checkpoint {
            log_time: time + 3_000,
            queue_time: time + 3_000,
            ..Checkpoint::default()
        };
        check(Known { crashed: true, checkpoint: times(2_500), queues_end: 399, ..known() }, 200, 200);
        check(Known { crashed: true, checkpoint: times(0), queues_end: 399, ..known() }, 100, 100);
    }

    #[test]
    fn what_lacks_something_is_read_from_further_back() {
        let checkpoint = Checkpoint { dispatched: 350, index_end: 341, ..Checkpoint::default() };
        check(Known { checkpoint, index_end: Some(340), ..known() }, 350, 350);
        check(Known { checkpoint, index_end: Some(120), ..known() }, 350, 120);
        check(Known { checkpoint, index_end: Some(0), ..known() }, 350, 100);
        check(Known { checkpoint, queues_incomplete: Some(220), ..known() }, 350, 220);
        let of_java = Checkpoint { index_end: 0, ..checkpoint };
        check(Known { checkpoint: of_java, index_end: Some(330), ..known() }, 350, 330);
    }
}
