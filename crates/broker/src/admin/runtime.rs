//! The broker's figures under the keys and in the odd formats that tools read (28).

use super::answer;
use crate::Broker;
use crate::refusal::Refusal;
use crate::timers;
use roxmq_protocol::body::list::KvTable;
use roxmq_protocol::command::Command;
use roxmq_protocol::{names, version};
use roxmq_store::QueueId;
use std::collections::BTreeMap;
use std::path::Path;

/// What the Java server shows when there is no pool of buffers.
const NO_BUFFER_POOL: &str = "2147483647";
/// Thread pools of the Java server. There are none here, so nothing ever waits in them.
const POOLS: [&str; 5] = ["send", "pull", "litePull", "query", "ack"];

pub(crate) fn handle(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    let mut table = BTreeMap::new();
    let mut add = |entries: Vec<(String, String)>| table.extend(entries);
    add(identity(broker));
    add(named(
        broker.stats.view(&broker.topics, &broker.config().broker_cluster_name).runtime(broker.clock.now()),
    ));
    add(pools(broker));
    add(groups(broker));
    add(store(broker)?);
    add(disks(broker));
    add(named(timers::runtime(broker)));
    add(delays(broker));
    Ok(answer(&KvTable { table }))
}

fn named(entries: Vec<(&str, String)>) -> Vec<(String, String)> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn identity(broker: &Broker) -> Vec<(String, String)> {
    let started = broker.stats.started;
    named(vec![
        ("brokerVersion", version::V5_5_0.to_string()),
        ("brokerVersionDesc", version::name(version::V5_5_0)),
        ("brokerActive", "true".to_owned()),
        ("bootTimestamp", started.to_string()),
        ("startAcceptSendRequestTimeStamp", "0".to_owned()),
        ("runtime", run_time(broker.clock.now().0 - started.0)),
    ])
}

/// `[ 0 days, 0 hours, 2 minutes, 27 seconds ]`
fn run_time(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    format!("[ {days} days, {hours} hours, {minutes} minutes, {} seconds ]", seconds % 60)
}

fn pools(broker: &Broker) -> Vec<(String, String)> {
    let listing = broker.config().listing();
    let capacity = |key: &str| listing.get(key).cloned().unwrap_or_default();
    let mut entries = Vec::new();
    for pool in POOLS {
        let key = format!("{pool}ThreadPoolQueueCapacity");
        entries.push((format!("{pool}ThreadPoolQueueSize"), "0".to_owned()));
        entries.push((format!("{pool}ThreadPoolQueueHeadWaitTimeMills"), "0".to_owned()));
        entries.push((key.clone(), capacity(&key)));
    }
    entries.extend(named(vec![
        ("EndTransactionQueueSize", "0".to_owned()),
        ("EndTransactionThreadPoolQueueCapacity", capacity("endTransactionPoolQueueCapacity")),
    ]));
    entries
}

/// Not a key of the Java server: the consumer groups whose members subscribe to different things.
fn groups(broker: &Broker) -> Vec<(String, String)> {
    named(vec![("consumerGroupsWithDifferentSubscriptions", broker.clients.disagreeing_groups().join(","))])
}

fn store(broker: &Broker) -> Result<Vec<(String, String)>, Refusal> {
    let store = &broker.store;
    let oldest = broker.oldest_store_time()?;
    Ok(named(vec![
        // Messages are dispatched as they are appended, under no lock that anybody waits for.
        ("dispatchBehindBytes", "0".to_owned()),
        ("dispatchMaxBuffer", "0".to_owned()),
        ("pageCacheLockTimeMills", "0".to_owned()),
        ("remainTransientStoreBufferNumbs", NO_BUFFER_POOL.to_owned()),
        ("remainHowManyDataToFlush", bytes(broker.unflushed_bytes())),
        ("commitLogMinOffset", store.min_phy_offset().to_string()),
        ("commitLogMaxOffset", store.max_phy_offset().to_string()),
        ("earliestMessageTimeStamp", oldest.map_or(-1, |time| time.0).to_string()),
    ]))
}

fn disks(broker: &Broker) -> Vec<(String, String)> {
    let config = broker.config();
    let root = config.store_root();
    let log = config.store_path_commit_log.clone().unwrap_or_else(|| root.join("commitlog"));
    let mut entries = vec![
        ("commitLogDiskRatio".to_owned(), used_ratio(broker, &log)),
        (format!("commitLogDiskRatio_{}", log.display()), used_ratio(broker, &log)),
        ("consumeQueueDiskRatio".to_owned(), used_ratio(broker, &root)),
    ];
    if let Ok(space) = broker.files.space(&root) {
        let capacity = format!("Total : {}, Free : {}.", bytes(space.total), bytes(space.free));
        entries.push(("commitLogDirCapacity".to_owned(), capacity));
    }
    entries
}

/// The used share of the disk that holds the path; -1 if nobody can tell.
fn used_ratio(broker: &Broker, path: &Path) -> String {
    match broker.files.space(path) {
        Ok(space) if space.total > 0 => {
            let used = space.total.saturating_sub(space.free);
            // What an ordinary user can't have counts as not there, as df counts.
            let usable = used + space.available;
            (used as f64 / usable.max(1) as f64).to_string()
        }
        _ => "-1".to_owned(),
    }
}

/// `scheduleMessageOffset_3`: how far the level is delivered and how far it goes.
fn delays(broker: &Broker) -> Vec<(String, String)> {
    let offset = |(level, offset): (i32, i64)| {
        let queue = broker.store.queue(names::SCHEDULE_TOPIC, QueueId(level - 1));
        let max = queue.map_or(0, |queue| queue.max_offset().0);
        (format!("scheduleMessageOffset_{level}"), format!("{offset},{max}"))
    };
    broker.delay_offsets.all().into_iter().map(offset).collect()
}

/// `252.0 GiB`
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let unit = (bytes.ilog2() / 10 - 1) as usize;
    format!("{:.1} {}", bytes as f64 / 1024_f64.powi(unit as i32 + 1), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_as_java_shows_them() {
        let check = |size, expected: &str| assert_eq!(bytes(size), expected);
        check(0, "0 B");
        check(1023, "1023 B");
        check(1024, "1.0 KiB");
        check(1536, "1.5 KiB");
        check(252 << 30, "252.0 GiB");
        check(u64::MAX, "16.0 EiB");
    }

    #[test]
    fn the_run_time_is_shown_as_java_shows_it() {
        assert_eq!(run_time(147_000), "[ 0 days, 0 hours, 2 minutes, 27 seconds ]");
        assert_eq!(run_time(90_061_000), "[ 1 days, 1 hours, 1 minutes, 1 seconds ]");
    }
}
