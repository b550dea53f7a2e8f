//! How groups read topics, as operators have set it. A change is in the state log before it is seen here.

use crate::state::{Change, StateError, StateLog};
use parking_lot::RwLock;
use roxmq_protocol::body::assignment::{MessageRequestModeSetting, RequestModesByTopic};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct RequestModes {
    modes: RwLock<RequestModesByTopic>,
    /// Counts changes, for the snapshots.
    generation: AtomicU64,
    log: Arc<StateLog>,
}

impl RequestModes {
    pub(crate) fn new(log: Arc<StateLog>) -> Self {
        RequestModes { modes: RwLock::default(), generation: AtomicU64::new(0), log }
    }

    pub(crate) fn get(&self, topic: &str, group: &str) -> Option<MessageRequestModeSetting> {
        self.modes.read().get(topic)?.get(group).cloned()
    }

    pub(crate) fn put(&self, setting: MessageRequestModeSetting) -> Result<(), StateError> {
        let mut turn = self.log.turn();
        turn.record(&Change::PutRequestMode(setting.clone()))?;
        self.restore(setting);
        Ok(())
    }

    /// Topic to group to setting.
    pub(crate) fn all(&self) -> RequestModesByTopic {
        self.modes.read().clone()
    }

    /// Puts what a snapshot or the state log has.
    pub(crate) fn restore(&self, setting: MessageRequestModeSetting) {
        let mut modes = self.modes.write();
        let groups = modes.entry(setting.topic.clone()).or_default();
        groups.insert(setting.consumer_group.clone(), setting);
        self.changed();
    }

    /// Forgets a topic, whose deletion is in the state log.
    pub(crate) fn remove_topic(&self, topic: &str) {
        if self.modes.write().remove(topic).is_some() {
            self.changed();
        }
    }

    /// Forgets a group, whose deletion is in the state log.
    pub(crate) fn remove_group(&self, group: &str) {
        let mut had = false;
        self.modes.write().retain(|_, groups| {
            had |= groups.remove(group).is_some();
            !groups.is_empty()
        });
        if had {
            self.changed();
        }
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::memory::MemoryJournal;
    use roxmq_protocol::body::assignment::MessageRequestMode;

    fn setting(topic: &str, group: &str) -> MessageRequestModeSetting {
        MessageRequestModeSetting {
            consumer_group: group.to_owned(),
            mode: MessageRequestMode::Pop,
            pop_share_queue_num: 4,
            topic: topic.to_owned(),
        }
    }

    #[test]
    fn a_setting_goes_with_its_topic_or_its_group() {
        let journal = MemoryJournal::default();
        let modes = RequestModes::new(Arc::new(StateLog::new(journal.clone())));
        for (topic, group) in [("T", "g"), ("T", "h"), ("U", "g")] {
            modes.put(setting(topic, group)).expect("room in the log");
        }
        assert_eq!(journal.changes.lock().len(), 3);
        assert_eq!(modes.get("T", "h"), Some(setting("T", "h")));
        modes.remove_group("g");
        assert_eq!(modes.get("T", "g"), None);
        assert_eq!(modes.get("U", "g"), None);
        modes.remove_topic("T");
        assert!(modes.all().is_empty());
        let generation = modes.generation();
        modes.remove_topic("T");
        modes.remove_group("g");
        assert_eq!(modes.generation(), generation);
    }

    #[test]
    fn what_the_log_does_not_take_is_not_set() {
        let journal = MemoryJournal::default();
        journal.full.store(true, Ordering::Relaxed);
        let modes = RequestModes::new(Arc::new(StateLog::new(journal)));
        assert!(modes.put(setting("T", "g")).is_err());
        assert_eq!(modes.get("T", "g"), None);
    }
}
