//! The places of a shard and who waits in them. Knows no lock: whoever has the shard's lock uses it.
//!
//! A place is open while somebody is inside: waits there, or was taken out to look and may come back.

use super::Waiter;
use super::watches::Queues;
use crate::hold_table::{Asker, Held, HoldId, HoldTable, Turn};
use foldhash::HashMap;
use roxmq_protocol::names;
use roxmq_store::{Millis, QueueId};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a group waits for messages of a topic.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) group: Box<str>,
    pub(super) topic: Box<str>,
    /// The topics of what comes again to the group, in both forms of their names.
    retry_topics: [String; 2],
}

impl Place {
    fn new(group: &str, topic: &str) -> Self {
        let retry_topics = [false, true].map(|v2| names::pop_retry_topic(topic, group, v2));
        Place { group: group.into(), topic: topic.into(), retry_topics }
    }

    pub(super) fn topics(&self) -> [&str; 3] {
        let [v1, v2] = &self.retry_topics;
        [&self.topic, v1, v2]
    }
}

/// Those who wait for one queue at a place, or for any of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Lane {
    /// The number of an open place in its shard; never used again.
    place: u64,
    queue_id: Option<QueueId>,
}

#[derive(Debug)]
pub(super) struct OpenPlace {
    pub(super) place: Arc<Place>,
    number: u64,
    /// How often there may have been something for somebody here.
    events: u64,
    inside: usize,
    /// Those that somebody has been in.
    lanes: BTreeSet<Option<QueueId>>,
    pub(super) queues: Queues,
}

/// Somebody who is inside but out of the table, to look.
pub(super) struct Looking<W> {
    pub(super) place: Arc<Place>,
    pub(super) lane: Lane,
    pub(super) turn: Turn,
    pub(super) waiter: Box<W>,
    /// Of the place, when looking began.
    pub(super) events: u64,
}

pub(super) struct Shard<W> {
    /// Topic to group.
    places: HashMap<Box<str>, HashMap<Box<str>, OpenPlace>>,
    holds: HoldTable<Lane, Box<W>>,
    next_number: u64,
}

impl<W> Default for Shard<W> {
    fn default() -> Self {
        Shard { places: HashMap::default(), holds: HoldTable::new(usize::MAX), next_number: 0 }
    }
}

impl<W: Waiter> Shard<W> {
    /// Goes into the waiter's place, which opens if need be, and has its queues watched; gives the waiter back if too
    /// many are in its lane.
    pub(super) fn enter(
        &mut self,
        waiter: Box<W>,
        lane_max: usize,
        watch: impl FnOnce(&Arc<Place>, &mut Queues),
    ) -> Result<Looking<W>, Box<W>> {
        let wait = waiter.wait();
        let (group, topic) = (wait.group_name(), wait.topic_name());
        let groups = match self.places.get_mut(topic) {
            Some(groups) => groups,
            None => self.places.entry(topic.into()).or_default(),
        };
        let open = match groups.get_mut(group) {
            Some(open) => open,
            None => {
                let opened = OpenPlace::new(Place::new(group, topic), self.next_number);
                self.next_number += 1;
                groups.entry(group.into()).or_insert(opened)
            }
        };
        let lane = Lane { place: open.number, queue_id: wait.queue_id };
        if self.holds.count(lane) > lane_max {
            return Err(waiter);
        }
        open.inside += 1;
        open.lanes.insert(lane.queue_id);
        watch(&open.place, &mut open.queues);
        let turn = self.holds.new_turn(wait.asker(), wait.deadline);
        Ok(Looking { place: Arc::clone(&open.place), lane, turn, waiter, events: open.events })
    }

    /// Somebody is gone for good; gives the place if that was the last.
    pub(super) fn leave(&mut self, group: &str, topic: &str) -> Option<OpenPlace> {
        let groups = self.places.get_mut(topic)?;
        let open = groups.get_mut(group)?;
        open.inside -= 1;
        if open.inside > 0 {
            return None;
        }
        let closed = groups.remove(group);
        if groups.is_empty() {
            self.places.remove(topic);
        }
        closed
    }

    /// There may be something in the queue, or in any; gives the lanes whose first should look.
    pub(super) fn event(
        &mut self,
        group: &str,
        topic: &str,
        queue_id: Option<QueueId>,
    ) -> SmallVec<[Lane; 2]> {
        let Some(open) = self.open(group, topic) else { return SmallVec::new() };
        open.events += 1;
        let concerned = |lane: &&Option<QueueId>| queue_id.is_none() || lane.is_none() || **lane == queue_id;
        let lanes = open.lanes.iter().filter(concerned);
        lanes.map(|queue_id| Lane { place: open.number, queue_id: *queue_id }).collect()
    }

    /// Takes the first of a lane out to look.
    pub(super) fn take_first(&mut self, lane: Lane) -> Option<Looking<W>> {
        let Held { turn, value: waiter } = self.holds.take_first(lane)?;
        let open = self.open(waiter.wait().group_name(), waiter.wait().topic_name())?;
        Some(Looking { place: Arc::clone(&open.place), lane, turn, waiter, events: open.events })
    }

    /// Puts back who has found nothing, to where it was; gives it to look again if something has happened since.
    pub(super) fn put_back(&mut self, mut looking: Looking<W>) -> Option<Looking<W>> {
        if let Some(open) = self.open(&looking.place.group, &looking.place.topic)
            && open.events != looking.events
        {
            looking.events = open.events;
            return Some(looking);
        }
        self.holds.put_back(looking.lane, Held { turn: looking.turn, value: looking.waiter });
        None
    }

    pub(super) fn take(&mut self, lane: Lane, id: HoldId) -> Option<Box<W>> {
        self.holds.take(lane, id).map(|held| held.value)
    }

    pub(super) fn take_due(&mut self, now: Millis) -> Vec<Box<W>> {
        waiters(self.holds.take_due(now))
    }

    pub(super) fn take_connection(&mut self, connection: u64) -> Vec<Box<W>> {
        waiters(self.holds.take_connection(connection))
    }

    pub(super) fn take_request(&mut self, asker: Asker) -> Vec<Box<W>> {
        waiters(self.holds.take_request(asker))
    }

    /// Takes everybody at the places that are meant.
    pub(super) fn take_at(&mut self, meant: impl Fn(&Place) -> bool) -> Vec<Box<W>> {
        let mut taken = Vec::new();
        for open in self.places.values().flat_map(HashMap::values).filter(|open| meant(&open.place)) {
            for queue_id in &open.lanes {
                let lane = Lane { place: open.number, queue_id: *queue_id };
                taken.extend(self.holds.take_key(lane).into_iter().map(|(_, waiter)| waiter));
            }
        }
        taken
    }

    /// How many wait in a lane.
    pub(super) fn count(&self, group: &str, topic: &str, queue_id: Option<QueueId>) -> usize {
        let open = self.places.get(topic).and_then(|groups| groups.get(group));
        open.map_or(0, |open| self.holds.count(Lane { place: open.number, queue_id }))
    }

    pub(super) fn next_deadline(&self) -> Option<Millis> {
        self.holds.next_deadline()
    }

    fn open(&mut self, group: &str, topic: &str) -> Option<&mut OpenPlace> {
        self.places.get_mut(topic)?.get_mut(group)
    }
}

impl OpenPlace {
    fn new(place: Place, number: u64) -> Self {
        OpenPlace {
            place: Arc::new(place),
            number,
            events: 0,
            inside: 0,
            lanes: BTreeSet::new(),
            queues: Queues::default(),
        }
    }
}

fn waiters<W>(taken: Vec<(Lane, Box<W>)>) -> Vec<Box<W>> {
    taken.into_iter().map(|(_, waiter)| waiter).collect()
}
