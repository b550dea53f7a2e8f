//! Between which times the messages of a topic lie, and at which of them a group is (303).

use super::answer;
use super::queue_view::QueueView;
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::body::time_span::{ConsumeTimeSpans, QueueTimeSpan};
use roxmq_protocol::command::Command;
use roxmq_protocol::request::group::GroupHeader;
use roxmq_protocol::request::topic::TopicHeader;
use roxmq_store::{Millis, local_time};

/// Stands for the time of a message that doesn't exist.
const NO_TIME: i64 = -1;

pub(crate) fn handle(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let group = GroupHeader::decode(&fields)?.group;
    let name = TopicHeader::decode(&fields)?.topic;
    let topic = broker.topics.get(&name).ok_or_else(|| Refusal::topic_missing(&name))?;
    let mut consume_time_span_set = Vec::new();
    for id in 0..topic.write_queue_nums {
        let queue = QueueView::of(broker, &name, id);
        consume_time_span_set.push(time_span(&queue, &group, broker.clock.now())?);
    }
    Ok(answer(&ConsumeTimeSpans { consume_time_span_set }))
}

fn time_span(queue: &QueueView<'_>, group: &str, now: Millis) -> Result<QueueTimeSpan, Refusal> {
    let time = |offset: i64| queue.store_time(offset).map(|time| time.unwrap_or(NO_TIME));
    let next = queue.consumed(group).unwrap_or(0).max(queue.min());
    let earliest = time(queue.min())?;
    let latest = time(queue.max() - 1)?;
    let consumed = if next > queue.min() { time(next - 1)? } else { earliest };
    // How long the message that the group gets next has been waiting for it.
    let waiting_since = queue.store_time(next)?;
    Ok(QueueTimeSpan {
        consume_timestamp: consumed,
        consume_timestamp_text: Some(text(consumed)),
        delay_ms: waiting_since.map_or(0, |since| (now.0 - since).max(0)),
        max_timestamp: latest,
        max_timestamp_text: Some(text(latest)),
        message_queue: Some(queue.name()),
        min_timestamp: earliest,
        min_timestamp_text: Some(text(earliest)),
    })
}

/// `yyyy-MM-dd#HH:mm:ss:SSS` where the broker is.
fn text(time: i64) -> String {
    // 17 digits, yyyyMMddHHmmssSSS.
    let digits = local_time::digits(Millis(time));
    let field = |shift: u32, width: u32| digits / 10_u64.pow(shift) % 10_u64.pow(width);
    format!(
        "{:04}-{:02}-{:02}#{:02}:{:02}:{:02}:{:03}",
        field(13, 4),
        field(11, 2),
        field(9, 2),
        field(7, 2),
        field(5, 2),
        field(3, 2),
        field(0, 3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The zone of the machine decides the hour, so only the parts that no zone changes are looked at.
    #[test]
    fn times_are_texts_of_fixed_width() {
        let text = text(1_700_000_003_045);
        assert_eq!(text.len(), "2023-11-14#22:13:23:045".len());
        assert!(text.starts_with("2023-11-1") && text.ends_with(":23:045"), "{text}");
    }
}
