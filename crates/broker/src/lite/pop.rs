//! Pops from all lite topics of a client (200070).

use super::state::{ClientKey, client_key};
use super::turns::Turn;
use super::{bound_group, parent};
use crate::Broker;
use crate::dispatch::Answer;
use crate::pop::rules::{self, COUNT_MAX};
use crate::refusal::Refusal;
use crate::stats::GroupStats;
use crate::topics::Topic;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::receipt::ORDER_REVIVE_QUEUE;
use roxmq_protocol::request::lite::PopLiteHeader;
use roxmq_remoting::Connection;
use roxmq_store::files::ReadMode;
use roxmq_store::multi_dispatch::LMQ_QUEUE;
use roxmq_store::read::{NoFilter, ReadLimits, ReadResult, ReadStatus};
use roxmq_store::{Millis, QueueOffset};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Queue entries that one read looks at.
const SCAN_MAX: usize = 800;

/// A pop that may be carried out.
struct PopLite {
    key: ClientKey,
    topic: Arc<Topic>,
    stats: Arc<GroupStats>,
    count_max: usize,
    invisible_ms: i64,
    deadline: Millis,
    attempt_id: Option<Box<str>>,
    wake: Arc<Notify>,
    connection: Arc<Connection>,
    opaque: i32,
}

/// Messages that are out now.
#[derive(Default)]
struct Found {
    pop_time: Millis,
    records: Vec<u8>,
    counts: Vec<i32>,
}

enum Looked {
    Through,
    /// There is something on the disk.
    Cold,
}

pub(crate) fn pop(broker: Arc<Broker>, connection: Arc<Connection>, request: Command) -> Answer {
    Box::pin(async move {
        let pop = Arc::new(admit(&broker, connection, &request)?);
        let Some(_place) = Place::take(&broker) else {
            return Ok(nothing(&broker, &pop, response::POLLING_FULL));
        };
        serve(&broker, &pop).await
    })
}

/// One of those that may wait.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(broker: &'a Broker) -> Option<Self> {
        let waiting = &broker.lite.waiting;
        let place = Place(waiting);
        let before = waiting.fetch_add(1, Ordering::SeqCst);
        (before < broker.config().max_pop_polling_size).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Broker {
    /// How many pops from lite topics wait for messages.
    pub fn waiting_lite_pops(&self) -> usize {
        self.lite.waiting.load(Ordering::SeqCst)
    }
}

/// The rules in the order of the Java server.
fn admit(broker: &Broker, connection: Arc<Connection>, request: &Command) -> Result<PopLite, Refusal> {
    let fields = request.ext_fields();
    let header = PopLiteHeader::decode(&fields)?;
    let (config, now) = (broker.config(), broker.clock.now());
    let born = rules::born(header.born_time, now);
    rules::check_in_time(&config, born, header.poll_time, now)?;
    rules::check_broker(&config, "pop")?;
    if !(1..=COUNT_MAX).contains(&header.max_msg_num) {
        return Err(Refusal::invalid(format!(
            "the broker[{}] pop message's num is not from 1 to {COUNT_MAX}: maxMsgNum is {}",
            config.broker_name, header.max_msg_num
        )));
    }
    rules::check_invisible_time(header.invisible_time)?;
    let topic = broker.topics.get(&header.topic).ok_or_else(|| Refusal::topic_missing(&header.topic))?;
    rules::check_topic(&topic)?;
    parent(broker, &header.topic)?;
    let group = broker.groups.get(&header.consumer_group);
    let group = group.ok_or_else(|| Refusal::group_missing(&header.consumer_group))?;
    rules::check_group(&group)?;
    bound_group(broker, &header.consumer_group, &header.topic)?;
    let key = client_key(&header.consumer_group, &header.client_id);
    let wake = broker.lite.wake_of(&key, &header.topic, config.max_lite_subscription_count, now)?;
    Ok(PopLite {
        key,
        stats: broker.stats.group(&header.topic, &header.consumer_group),
        topic,
        count_max: header.max_msg_num as usize,
        invisible_ms: header.invisible_time,
        deadline: Millis(born.0.saturating_add(header.poll_time.max(0))),
        attempt_id: header.attempt_id.as_deref().map(Box::from),
        wake,
        connection,
        opaque: request.opaque,
    })
}

/// Looks until there is something or the time is up.
async fn serve(broker: &Arc<Broker>, pop: &Arc<PopLite>) -> Result<Command, Refusal> {
    if let Some(attempt_id) = &pop.attempt_id {
        broker.lite.ready_again(&pop.key, attempt_id);
    }
    loop {
        if broker.lite.is_closed() || pop.connection.is_given_up(pop.opaque) {
            return Ok(nothing(broker, pop, response::POLLING_TIMEOUT));
        }
        let found = find(broker, pop).await?;
        if !found.counts.is_empty() {
            return Ok(found.into_answer(pop));
        }
        let wait_ms = pop.deadline.0.saturating_sub(broker.clock.now().0);
        if wait_ms <= 0 {
            return Ok(nothing(broker, pop, response::POLLING_TIMEOUT));
        }
        // What came since the look has left its notice.
        let changed = async {
            tokio::select! {
                () = pop.wake.notified() => {}
                () = pop.connection.given_up(pop.opaque) => {}
            }
        };
        let up = tokio::time::timeout(Duration::from_millis(wait_ms as u64), changed).await;
        if up.is_err() {
            return Ok(nothing(broker, pop, response::POLLING_TIMEOUT));
        }
    }
}

async fn find(broker: &Arc<Broker>, pop: &Arc<PopLite>) -> Result<Found, Refusal> {
    let mut found = Found::default();
    match look(broker, pop, ReadMode::Cached, &mut found)? {
        Looked::Cold if found.counts.is_empty() => {}
        _ => return Ok(found),
    }
    let work = {
        let (broker, pop) = (Arc::clone(broker), Arc::clone(pop));
        move || {
            let mut found = Found::default();
            look(&broker, &pop, ReadMode::Blocking, &mut found).map(|_| found)
        }
    };
    Ok(broker.disk_work.run(work).await??)
}

/// Goes through the lite topics that may have something.
fn look(broker: &Broker, pop: &PopLite, mode: ReadMode, found: &mut Found) -> io::Result<Looked> {
    let now = broker.clock.now();
    found.pop_time = now;
    while found.counts.len() < pop.count_max {
        let Some(turn) = broker.lite.next_turn(&pop.key, pop.attempt_id.as_deref(), now) else { break };
        let read = read(broker, pop, &turn, mode, found);
        let is_cold = matches!(&read, Ok(result) if result.status == ReadStatus::Cold);
        broker.lite.done(&turn, is_cold || read.is_err());
        read?;
        if is_cold {
            return Ok(Looked::Cold);
        }
    }
    Ok(Looked::Through)
}

/// Reads where the group is in the light queue, and takes what it finds out of the others' sight.
fn read(
    broker: &Broker,
    pop: &PopLite,
    turn: &Turn,
    mode: ReadMode,
    found: &mut Found,
) -> io::Result<ReadResult> {
    let config = broker.config();
    let mut position = position(broker, turn);
    let mut moved = false;
    loop {
        let wanted = pop.count_max - found.counts.len();
        let limits = ReadLimits {
            count_max: wanted.min(broker.lite.run_from(turn, position)).max(1),
            bytes_max: config.max_transfer_bytes_on_message_in_memory,
            scan_max: SCAN_MAX,
        };
        let before = found.records.len();
        let from = QueueOffset(position);
        let result = broker.store.read(&turn.queue, from, limits, &NoFilter, mode, &mut found.records)?;
        match result.status {
            ReadStatus::Found => {
                let first = result.next_offset.0 - result.count as i64;
                let visible = Millis(found.pop_time.0.saturating_add(pop.invisible_ms));
                let offsets = first..result.next_offset.0;
                let counts =
                    broker.lite.give(turn, offsets, found.pop_time, visible, pop.attempt_id.as_deref());
                found.counts.extend(counts);
                let bytes = (found.records.len() - before) as u64;
                broker.stats.get_found(&pop.stats, result.count as u64, bytes);
            }
            // The group's place is no longer there, or never was.
            ReadStatus::OffsetTooSmall | ReadStatus::OffsetOverflowBadly | ReadStatus::MessageWasRemoving
                if !moved =>
            {
                moved = true;
                position = result.next_offset.0;
                broker.offsets.commit(&turn.key.0, &turn.name, LMQ_QUEUE, position);
                continue;
            }
            _ => {}
        }
        return Ok(result);
    }
}

/// Where the group goes on. A new one begins at the start of a young queue, else with the last message.
fn position(broker: &Broker, turn: &Turn) -> i64 {
    let (group, queue) = (&turn.key.0, &turn.name);
    if let Some(reset) = broker.resets.take(group, queue, LMQ_QUEUE) {
        broker.lite.clear_order(group, queue);
        broker.offsets.commit(group, queue, LMQ_QUEUE, reset);
        return reset;
    }
    if let Some(committed) = broker.offsets.get(group, queue, LMQ_QUEUE) {
        return committed;
    }
    let (min, max) = (turn.queue.min_offset().0, turn.queue.max_offset().0);
    let start = if min == 0 { 0 } else { (max - 1).max(min) };
    if max > 0 {
        broker.offsets.commit(group, queue, LMQ_QUEUE, start);
    }
    start
}

impl Found {
    fn into_answer(self, pop: &PopLite) -> Command {
        let counts: Vec<String> = self.counts.iter().map(i32::to_string).collect();
        tracing::debug!(topic = pop.topic.topic_name, group = &*pop.key.0, messages = counts.len(), "popped");
        head(pop, response::SUCCESS, "FOUND", self.pop_time)
            .with("orderCountInfo", counts.join(";"))
            .body(self.records)
    }
}

fn nothing(broker: &Broker, pop: &PopLite, code: i32) -> Command {
    broker.stats.get_missed();
    head(pop, code, "NO_MESSAGE_IN_QUEUE", broker.clock.now())
}

fn head(pop: &PopLite, code: i32, remark: &str, pop_time: Millis) -> Command {
    Command::response(code)
        .remark(remark)
        .with("popTime", pop_time.0)
        .with("invisibleTime", pop.invisible_ms)
        .with("reviveQid", ORDER_REVIVE_QUEUE)
}
