//! Which files of the log may go, and whether the disk still takes messages: rules as functions of what was seen,
//! and the round that looks and does what they say.

use crate::commit_log::segments::{self, Found};
use crate::core::Core;
use crate::files::Space;
use crate::local_time;
use crate::options::RetentionOptions;
use crate::position::{Millis, PhyOffset};
use crate::topic_retention::files_before;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// Files that go in one round, as deleting big files keeps the disk busy. `deleteFileBatchMax` of the Java server.
const FILES_A_ROUND_MAX: usize = 10;

/// How full the disk is, in whole percent, rounded up.
pub(crate) fn used_percent(space: Space) -> u8 {
    let used = space.total.saturating_sub(space.free);
    let entire = used.saturating_add(space.available);
    if entire == 0 {
        return 0;
    }
    u128::from(used).saturating_mul(100).div_ceil(u128::from(entire)) as u8
}

/// Which files go in this round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deletion {
    None,
    /// Those that are older than they are kept.
    Expired,
    /// The oldest, whatever their age.
    Oldest,
}

/// The rule for one round. `None` for how much is used means that the disk doesn't tell: as if it was filling up.
pub(crate) fn deletion(options: &RetentionOptions, hour: u8, used: Option<u8>, by_hand: bool) -> Deletion {
    match used {
        Some(used) if used > options.force_percent.min(options.refuse_percent) => Deletion::Oldest,
        Some(used) if used <= options.clean_percent && !by_hand && !options.delete_hours.contains(&hour) => {
            Deletion::None
        }
        _ => Deletion::Expired,
    }
}

/// How many of the oldest files go. `modified_ms` has every file's time, the oldest first; the last one stays.
pub(crate) fn files_to_delete(deletion: Deletion, keep_ms: i64, now: Millis, modified_ms: &[i64]) -> usize {
    let candidates = modified_ms.len().saturating_sub(1);
    let goes = |modified: &&i64| match deletion {
        Deletion::None => false,
        Deletion::Expired => now.0 - **modified >= keep_ms,
        Deletion::Oldest => true,
    };
    modified_ms.iter().take(candidates).take_while(goes).take(FILES_A_ROUND_MAX).count()
}

/// Whether the disk is too full for messages.
#[derive(Debug, Default)]
pub(crate) struct DiskState {
    /// How full it was when messages were last refused; 0 if they are taken.
    refused: AtomicU8,
}

impl DiskState {
    pub fn refused(&self) -> Option<u8> {
        Some(self.refused.load(Ordering::Relaxed)).filter(|&used| used > 0)
    }

    /// True if it has changed whether messages are taken.
    fn set(&self, refused: Option<u8>) -> bool {
        let before = self.refused.swap(refused.unwrap_or(0), Ordering::Relaxed);
        (before > 0) != refused.is_some()
    }
}

impl Core {
    /// A round of the thread that writes behind.
    pub fn apply_retention(&self) {
        let used = self.look_at_disk();
        let hour = local_time::hour(self.clock.now());
        let deletion = deletion(&self.options.retention, hour, used, false);
        if let Err(error) = self.expire_topics().and_then(|()| self.delete_files(deletion)) {
            let path = self.options.commit_log_dir.display();
            tracing::warn!(%error, %path, "deleting expired files of the commit log failed");
        }
    }

    /// How full the disk of log or queues is, whichever is fuller; refuses messages or takes them again.
    pub fn look_at_disk(&self) -> Option<u8> {
        let options = &self.options;
        let used = |path| self.files.space(path).ok().map(used_percent);
        let used = used(&options.commit_log_dir)?.max(used(&options.root)?);
        let limit = options.retention.refuse_percent;
        if self.disk.set(Some(used).filter(|&used| used > limit)) {
            let path = options.commit_log_dir.display();
            if used > limit {
                tracing::error!(%path, used, limit, "the disk is too full: messages are refused (diskSpaceWarningLevelRatio)");
            } else {
                tracing::info!(%path, used, limit, "the disk has room again: messages are taken");
            }
        }
        Some(used)
    }

    /// Deletes files of the log, and what queues and index hold of them. Gives how many files went.
    pub fn delete_files(&self, deletion: Deletion) -> io::Result<usize> {
        if deletion == Deletion::None || self.find_to_delete(deletion)?.is_empty() {
            return Ok(0);
        }
        // The queues must have on the disk what can't be read from the log again.
        self.checkpoint()?;
        let _one_at_a_time = self.checkpointing.lock();
        let found = self.find_to_delete(deletion)?;
        for file in &found {
            self.log.segments.remove_first()?;
            tracing::info!(path = %file.path.display(), ?deletion, "deleted a file of the commit log");
        }
        self.removals.fetch_add(1, Ordering::AcqRel);
        self.trim(PhyOffset(self.log.segments.first()))?;
        Ok(found.len())
    }

    fn find_to_delete(&self, deletion: Deletion) -> io::Result<Vec<Found>> {
        let mut found = segments::find(&*self.files, self.log.segments.dir())?;
        // A file made ahead isn't the last one.
        let last = self.log.segments.start_of(self.log.marks.appended());
        found.retain(|file| file.start <= last);
        let modified: Vec<i64> = found.iter().map(|file| file.modified_ms).collect();
        let keep_ms = self.options.retention.keep.as_millis() as i64;
        let mut count = files_to_delete(deletion, keep_ms, self.clock.now(), &modified);
        if deletion == Deletion::Expired {
            count = count.min(self.unneeded(&found));
        }
        found.truncate(count);
        Ok(found)
    }

    /// How many of the oldest files no topic needs that keeps its messages for longer.
    fn unneeded(&self, found: &[Found]) -> usize {
        if !self.options.topic_retention.is_complete() {
            return 0;
        }
        let starts: Vec<i64> = found.iter().map(|file| file.start).collect();
        files_before(self.kept_from(), &starts, self.options.commit_log_file_bytes as i64)
    }

    fn trim(&self, log_min: PhyOffset) -> io::Result<()> {
        self.queues.trim(log_min)?;
        match &self.index {
            Some(index) => index.trim(log_min),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_rounded_up() {
        let check = |total, free, available, expected| {
            assert_eq!(
                used_percent(Space { total, free, available }),
                expected,
                "{total} {free} {available}"
            );
        };
        check(100, 100, 100, 0);
        check(100, 25, 25, 75);
        check(1000, 249, 249, 76);
        // What is kept for the administrator counts for nobody.
        check(100, 50, 30, 63);
        check(100, 0, 0, 100);
        check(0, 0, 0, 0);
        check(u64::MAX, 1, 1, 100);
    }

    #[test]
    fn files_go_at_their_hour_or_when_the_disk_fills() {
        let options = RetentionOptions { delete_hours: vec![4, 16], ..RetentionOptions::default() };
        let check = |hour, used, by_hand, expected| {
            assert_eq!(deletion(&options, hour, used, by_hand), expected, "{hour} {used:?} {by_hand}");
        };
        check(3, Some(75), false, Deletion::None);
        check(4, Some(10), false, Deletion::Expired);
        check(16, Some(10), false, Deletion::Expired);
        check(3, Some(76), false, Deletion::Expired);
        check(3, Some(85), false, Deletion::Expired);
        check(3, Some(86), false, Deletion::Oldest);
        check(4, Some(99), false, Deletion::Oldest);
        check(3, Some(10), true, Deletion::Expired);
        check(3, None, false, Deletion::Expired);
    }

    #[test]
    fn the_oldest_go_up_to_the_first_that_stays() {
        let check = |deletion, modified: &[i64], expected| {
            assert_eq!(
                files_to_delete(deletion, 100, Millis(1000), modified),
                expected,
                "{deletion:?} {modified:?}"
            );
        };
        check(Deletion::Expired, &[], 0);
        check(Deletion::Expired, &[1], 0);
        check(Deletion::Expired, &[900, 901, 950], 1);
        check(Deletion::Expired, &[901, 1, 950], 0);
        check(Deletion::Expired, &[1, 2, 3], 2);
        check(Deletion::Oldest, &[990, 991, 992], 2);
        check(Deletion::None, &[1, 2, 3], 0);
        check(Deletion::Oldest, &[1; 20], FILES_A_ROUND_MAX);
    }
}
