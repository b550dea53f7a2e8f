//! Ordered pops: the messages of one queue that a group has out, all from its last pop.
//!
//! While one of them is invisible and not acknowledged, the queue gives nothing else to the group. What isn't
//! acknowledged is given again from its own queue; there is no retry topic.

use roxmq_protocol::body::order_info::OrderInfo;
use roxmq_store::Millis;
use std::collections::BTreeMap;

/// What comes of the acknowledgement of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderAck {
    /// The group goes on from here.
    Next(i64),
    /// It is of an earlier pop, which doesn't count any more.
    Outdated,
    /// The message isn't among those that are out.
    Unknown,
}

/// What is out after a pop, and how often each was given before.
pub(super) fn popped(
    before: Option<&OrderInfo>,
    attempt_id: Option<&str>,
    pop_time: Millis,
    invisible_ms: i64,
    offsets: &[i64],
) -> OrderInfo {
    let first = offsets.first().copied().unwrap_or_default();
    let distances = offsets.iter().skip(1).map(|offset| offset - first);
    OrderInfo {
        attempt_id: attempt_id.map(str::to_owned),
        commit_offset_bit: 0,
        invisible_time: Some(invisible_ms),
        last_consume_timestamp: pop_time.0,
        offset_list: offsets.first().copied().into_iter().chain(distances).collect(),
        offset_consumed_count: before.map(|before| counts(before, attempt_id, offsets)),
        offset_next_visible_time: None,
        pop_time: pop_time.0,
    }
}

/// The same attempt is not another one: the client did not get the first answer.
fn counts(before: &OrderInfo, attempt_id: Option<&str>, offsets: &[i64]) -> BTreeMap<i64, i32> {
    let known = before.offset_consumed_count.clone().unwrap_or_default();
    if before.attempt_id.is_some() && before.attempt_id.as_deref() == attempt_id {
        return known;
    }
    let again = offsets.iter().filter(|offset| index_of(before, **offset).is_some());
    again.map(|offset| (*offset, known.get(offset).map_or(1, |count| count.saturating_add(1)))).collect()
}

/// The least count of the messages: 0 if one of them is new.
pub(super) fn least_count(info: &OrderInfo) -> i32 {
    match &info.offset_consumed_count {
        Some(counts) if counts.len() == info.offset_list.len() => counts.values().copied().min().unwrap_or(0),
        _ => 0,
    }
}

/// Whether nothing else may be given now.
pub(super) fn is_blocked(info: &OrderInfo, attempt_id: Option<&str>, now: Millis) -> bool {
    let same_attempt = info.attempt_id.is_some() && info.attempt_id.as_deref() == attempt_id;
    !same_attempt && free_at(info).is_some_and(|at| at > now)
}

/// When the last of the messages that are not acknowledged comes again; none if there is none.
pub(super) fn free_at(info: &OrderInfo) -> Option<Millis> {
    let changed = info.offset_next_visible_time.as_ref();
    let by_pop = info.pop_time.saturating_add(info.invisible_time.unwrap_or_default());
    let times = unacknowledged(info)
        .map(|offset| changed.and_then(|changed| changed.get(&offset)).copied().unwrap_or(by_pop));
    times.max().map(Millis)
}

pub(super) fn acknowledge(info: &mut OrderInfo, offset: i64, pop_time: i64) -> OrderAck {
    if info.offset_list.is_empty() {
        return OrderAck::Unknown;
    }
    if pop_time != info.pop_time {
        return OrderAck::Outdated;
    }
    let Some(index) = index_of(info, offset) else {
        return OrderAck::Unknown;
    };
    info.commit_offset_bit |= bit(index);
    let last = offsets(info).last().unwrap_or(offset);
    OrderAck::Next(unacknowledged(info).next().unwrap_or_else(|| last.saturating_add(1)))
}

/// A message that is out comes again at another time. False if it is of an earlier pop.
pub(super) fn hide_until(info: &mut OrderInfo, offset: i64, pop_time: i64, visible_at: Millis) -> bool {
    if pop_time != info.pop_time || index_of(info, offset).is_none() {
        return false;
    }
    info.offset_next_visible_time.get_or_insert_default().insert(offset, visible_at.0);
    true
}

/// Messages that are out and not acknowledged.
pub(super) fn pending(info: &OrderInfo) -> usize {
    unacknowledged(info).count()
}

fn unacknowledged(info: &OrderInfo) -> impl Iterator<Item = i64> + '_ {
    let is_pending = |(index, _): &(usize, i64)| info.commit_offset_bit & bit(*index) == 0;
    offsets(info).enumerate().filter(is_pending).map(|(_, offset)| offset)
}

fn offsets(info: &OrderInfo) -> impl Iterator<Item = i64> + '_ {
    let first = info.offset_list.first().copied().unwrap_or_default();
    let absolute =
        move |(index, value): (usize, &i64)| if index == 0 { *value } else { first.saturating_add(*value) };
    info.offset_list.iter().enumerate().map(absolute)
}

fn index_of(info: &OrderInfo, offset: i64) -> Option<usize> {
    offsets(info).position(|other| other == offset)
}

/// Lists longer than the bits begin with them anew, as with the Java server.
fn bit(index: usize) -> i64 {
    1_i64.wrapping_shl(index as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(offsets: &[i64]) -> OrderInfo {
        popped(None, Some("a"), Millis(1_000), 500, offsets)
    }

    #[test]
    fn the_queue_is_blocked_while_a_message_is_out() {
        let mut out = info(&[5, 6, 9]);
        assert_eq!(out.offset_list, [5, 1, 4]);
        assert!(is_blocked(&out, None, Millis(1_499)));
        assert!(is_blocked(&out, Some("b"), Millis(1_499)));
        assert!(!is_blocked(&out, Some("a"), Millis(1_499)));
        assert!(!is_blocked(&out, None, Millis(1_500)));
        assert!(hide_until(&mut out, 6, 1_000, Millis(3_000)));
        assert!(is_blocked(&out, None, Millis(2_999)));
        assert_eq!(free_at(&out), Some(Millis(3_000)));
        assert_eq!(acknowledge(&mut out, 6, 1_000), OrderAck::Next(5));
        assert!(!is_blocked(&out, None, Millis(1_500)));
    }

    #[test]
    fn the_group_goes_on_from_the_first_that_is_not_acknowledged() {
        let mut out = info(&[5, 6, 9]);
        assert_eq!(acknowledge(&mut out, 6, 1_000), OrderAck::Next(5));
        assert_eq!(acknowledge(&mut out, 5, 1_000), OrderAck::Next(9));
        assert_eq!(acknowledge(&mut out, 5, 1_000), OrderAck::Next(9));
        assert_eq!(acknowledge(&mut out, 7, 1_000), OrderAck::Unknown);
        assert_eq!(acknowledge(&mut out, 9, 999), OrderAck::Outdated);
        assert_eq!(acknowledge(&mut out, 9, 1_000), OrderAck::Next(10));
        assert_eq!((free_at(&out), pending(&out)), (None, 0));
        assert!(!hide_until(&mut out, 9, 999, Millis(1)) && !hide_until(&mut out, 7, 1_000, Millis(1)));
    }

    #[test]
    fn messages_are_counted_each_time_they_are_given_again() {
        let first = info(&[5, 6]);
        assert_eq!((first.offset_consumed_count.as_ref(), least_count(&first)), (None, 0));
        let same = popped(Some(&first), Some("a"), Millis(2_000), 500, &[5, 6]);
        assert_eq!(same.offset_consumed_count, Some(BTreeMap::new()));
        let second = popped(Some(&same), Some("b"), Millis(3_000), 500, &[5, 6]);
        assert_eq!(second.offset_consumed_count, Some(BTreeMap::from([(5, 1), (6, 1)])));
        assert_eq!(least_count(&second), 1);
        let third = popped(Some(&second), None, Millis(4_000), 500, &[6, 7]);
        assert_eq!(third.offset_consumed_count, Some(BTreeMap::from([(6, 2)])));
        assert_eq!(least_count(&third), 0);
    }

    /// A damaged or hostile file must not bring the arithmetic down.
    #[test]
    fn any_numbers_are_taken() {
        let mut odd = OrderInfo {
            offset_list: vec![i64::MAX; 70],
            invisible_time: Some(i64::MAX),
            pop_time: i64::MAX,
            ..OrderInfo::default()
        };
        assert_eq!(acknowledge(&mut odd, i64::MAX, i64::MAX), OrderAck::Next(i64::MAX));
        assert!(is_blocked(&odd, None, Millis(0)) || free_at(&odd).is_none());
        assert_eq!(acknowledge(&mut OrderInfo::default(), 0, 0), OrderAck::Unknown);
    }
}
