//! How far the slowest group of a topic is in each queue (308).

use super::answer;
use crate::Broker;
use crate::offsets::QueueOffsets;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::offset_table::CorrectionOffsets;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::group::QueryCorrectionOffset;
use std::collections::BTreeMap;

/// Stands for a queue in which the group that is compared is the slowest.
const NOTHING_TO_CORRECT: i64 = i64::MAX;

pub(crate) fn handle(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = QueryCorrectionOffset::decode(&frame.header.ext)?;
    let topic = &*header.topic;
    let left_out: Vec<&str> = header.filter_groups.as_deref().unwrap_or_default().split(',').collect();
    let groups = broker.offsets.groups_of_topic(topic);
    let counting = groups.iter().filter(|group| !left_out.contains(&group.as_str()));
    let first_offset = |id| broker.store.queue(topic, id).map_or(0, |queue| queue.min_offset().0);
    let of_groups = counting.map(|group| {
        let mut offsets = broker.offsets.of(group, topic);
        // An offset that retention has passed says nothing of where the group is.
        offsets.retain(|id, offset| *offset >= first_offset(*id));
        offsets
    });
    let compared = broker.offsets.of(&header.compare_group, topic);
    Ok(answer(&CorrectionOffsets { correction_offsets: correct(of_groups, &compared) }))
}

fn correct(groups: impl Iterator<Item = QueueOffsets>, compared: &QueueOffsets) -> BTreeMap<i32, i64> {
    let mut slowest = QueueOffsets::new();
    for (id, offset) in groups.flatten() {
        let least = slowest.entry(id).or_insert(offset);
        *least = offset.min(*least);
    }
    for (id, own) in compared {
        if let Some(offset) = slowest.get_mut(id).filter(|offset| **offset > *own) {
            *offset = NOTHING_TO_CORRECT;
        }
    }
    slowest.into_iter().map(|(id, offset)| (id.0, offset)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_store::QueueId;

    #[test]
    fn the_slowest_group_counts_in_each_queue() {
        let offsets = |pairs: &[(i32, i64)]| -> QueueOffsets {
            pairs.iter().map(|(id, offset)| (QueueId(*id), *offset)).collect()
        };
        let groups = [offsets(&[(0, 5), (1, 7)]), offsets(&[(0, 9), (1, 2), (2, 4)])];
        let check = |compared: &[(i32, i64)], expected: &[(i32, i64)]| {
            let corrected = correct(groups.iter().cloned(), &offsets(compared));
            assert_eq!(corrected, expected.iter().copied().collect(), "{compared:?}");
        };
        check(&[], &[(0, 5), (1, 2), (2, 4)]);
        check(&[(0, 5), (1, 1), (3, 0)], &[(0, 5), (1, i64::MAX), (2, 4)]);
    }
}
