//! What a broker does without being asked: its state into the log and the files, samples of its counters.

use crate::broker::Broker;
use crate::clients::leaving;
use crate::filter::filter_file;
use crate::state::{Which, log_offsets as log_offset_batches};
use crate::stats::SAMPLE_INTERVAL;
use crate::transactions;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Changes within this time go to the log, or to the files, together.
const BATCH_INTERVAL: Duration = Duration::from_millis(200);
/// How often changed filters are written.
const FILTER_INTERVAL: Duration = Duration::from_secs(10);
/// How often somebody looks for clients that fell silent, at most.
const CLIENT_SCAN_INTERVAL: Duration = Duration::from_secs(10);

/// Committed offsets and the progress of delays into the log.
pub(crate) async fn log_offsets(broker: Arc<Broker>) {
    let mut failing = false;
    loop {
        tokio::select! {
            () = broker.offsets.wait_changed() => {}
            () = broker.delay_offsets.wait_changed() => {}
        }
        sleep(BATCH_INTERVAL).await;
        let outcome = log_offset_batches(&broker.state_log, broker.tables());
        if let Err(error) = &outcome
            && !failing
        {
            tracing::warn!(%error, "offsets can't be written to the state log; they are tried again");
        }
        failing = outcome.is_err();
    }
}

/// Topics and groups into their files, soon after they change.
pub(crate) async fn write_definitions(broker: Arc<Broker>) {
    loop {
        broker.state_log.wait_recorded().await;
        sleep(BATCH_INTERVAL).await;
        write(&broker, Which::Definitions).await;
    }
}

/// Offsets into their files, every few seconds.
pub(crate) async fn write_offsets(broker: Arc<Broker>) {
    let mut ticks = interval(Duration::from_millis(broker.config().flush_consumer_offset_interval_ms));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        write(&broker, Which::All).await;
    }
}

/// The filters of consumer groups into their file.
pub(crate) async fn write_filters(broker: Arc<Broker>) {
    loop {
        sleep(FILTER_INTERVAL).await;
        broker.filters.forget_dead(broker.clock.now(), broker.config().filter_data_clean_time_span_ms);
        if broker.filters.is_changed() {
            let broker = Arc::clone(&broker);
            if let Err(error) = tokio::task::spawn_blocking(move || save_filters(&broker)).await {
                tracing::error!(%error, "writing the filters of consumer groups was cut short");
            }
        }
    }
}

/// How far the half messages are done with into the offsets of their group.
pub(crate) async fn note_transactions(broker: Arc<Broker>) {
    let mut ticks = interval(Duration::from_millis(broker.config().flush_consumer_offset_interval_ms));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let noting = Arc::clone(&broker);
        match tokio::task::spawn_blocking(move || transactions::note_progress(&noting)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "the progress of transactions can't be noted; it is tried again")
            }
            Err(error) => tracing::error!(%error, "noting the progress of transactions was cut short"),
        }
    }
}

fn save_filters(broker: &Broker) {
    if let Err(error) = filter_file::save(&broker.filter_file, &broker.filters) {
        tracing::error!(%error, "the filters of consumer groups could not be written");
    }
}

pub(crate) async fn sample_stats(broker: Arc<Broker>) {
    let mut ticks = interval(SAMPLE_INTERVAL);
    loop {
        ticks.tick().await;
        broker.stats.sample(&broker.topics, broker.clock.now());
    }
}

/// Clients that fell silent.
pub(crate) async fn expire_clients(broker: Arc<Broker>) {
    loop {
        // A timeout that is set short is meant to be kept to.
        let timeout = Duration::from_millis(broker.config().channel_expired_timeout_ms);
        sleep(CLIENT_SCAN_INTERVAL.min(timeout / 2)).await;
        leaving::expire(&broker);
    }
}

async fn write(broker: &Arc<Broker>, which: Which) {
    if !broker.snapshots.is_behind(broker.tables(), which) {
        return;
    }
    let writing = Arc::clone(broker);
    let work = move || {
        writing.snapshots.write(
            &writing.state_log,
            &writing.store,
            writing.tables(),
            which,
            writing.clock.now(),
        )
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(%error, "the files of config/ could not be written; they are tried again")
        }
        Err(error) => tracing::error!(%error, "writing the files of config/ was cut short"),
    }
}

/// Everything into the log and the files, then the store is closed. Waits for the disk.
pub(crate) fn finish(broker: &Broker) {
    broker.schedule.stop();
    broker.transactions.stop();
    if let Err(error) = transactions::note_progress(broker) {
        tracing::warn!(%error, "the progress of transactions is not noted; the next start looks further back");
    }
    broker.pops.stop();
    broker.timers.stop();
    broker.pops.hand_over(broker);
    let tables = broker.tables();
    if let Err(error) = log_offset_batches(&broker.state_log, tables) {
        // The files take them all the same.
        tracing::warn!(%error, "the last offsets are not in the state log");
    }
    let now = broker.clock.now();
    if let Err(error) = broker.snapshots.write(&broker.state_log, &broker.store, tables, Which::All, now) {
        tracing::error!(%error, "the files of config/ could not be written at the stop; the log has what they lack");
    }
    save_filters(broker);
    if let Err(error) = broker.store.shutdown() {
        tracing::error!(%error, "the store could not be closed properly; the next start recovers it");
    }
}
