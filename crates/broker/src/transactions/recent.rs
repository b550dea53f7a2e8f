//! The last decisions, so that a producer that asks twice hears the same again.

use super::pending::Decision;

/// One in each slot; a later one takes the slot of one so many offsets before.
const SLOTS: usize = 16_384;

#[derive(Debug)]
pub(super) struct Recent {
    /// Queue offset and decision.
    slots: Vec<(i64, Decision)>,
}

impl Default for Recent {
    fn default() -> Self {
        Recent { slots: vec![(-1, Decision::GiveUp); SLOTS] }
    }
}

impl Recent {
    pub(super) fn note(&mut self, offset: i64, decision: Decision) {
        self.slots[slot(offset)] = (offset, decision);
    }

    pub(super) fn get(&self, offset: i64) -> Option<Decision> {
        let (kept, decision) = self.slots[slot(offset)];
        (kept == offset && offset >= 0).then_some(decision)
    }
}

fn slot(offset: i64) -> usize {
    offset.rem_euclid(SLOTS as i64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_decisions_are_kept() {
        let mut recent = Recent::default();
        assert_eq!((recent.get(0), recent.get(-1)), (None, None));
        recent.note(0, Decision::Commit);
        recent.note(7, Decision::Rollback);
        assert_eq!((recent.get(0), recent.get(7)), (Some(Decision::Commit), Some(Decision::Rollback)));
        recent.note(SLOTS as i64, Decision::GiveUp);
        assert_eq!((recent.get(0), recent.get(SLOTS as i64)), (None, Some(Decision::GiveUp)));
    }
}
