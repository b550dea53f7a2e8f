//! The tick that samples the counters, and what is seen of them.

use super::day::{DayTotals, InOut};
use super::windows::{RateSample, WindowSum};
use super::{Stats, TopicTable};
use roxmq_store::Millis;
use std::time::Duration;

/// Samples are this far apart.
pub(crate) const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);

/// The windows of one statistic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ThreeWindows {
    pub minute: WindowSum,
    pub hour: WindowSum,
    pub day: WindowSum,
}

impl Stats {
    /// Samples everything; to be called every ten seconds.
    pub(crate) fn sample(&self, topics: &TopicTable, now: Millis) {
        let of_broker = [
            &self.put,
            &self.put_system,
            &self.get,
            &self.get_system,
            &self.ack,
            &self.pop,
            &self.connections_opened,
            &self.connections_closed,
        ];
        of_broker.iter().for_each(|counter| counter.sample(now));
        for topic in topics.all() {
            topic.stats.put.sample(now);
        }
        for groups in self.groups.read().values() {
            groups.values().flat_map(|group| group.all()).for_each(|counter| counter.sample(now));
        }
        self.rates.lock().sample(self.rate_sample(now));
        self.days.lock().tick(now, self.in_out());
    }

    fn rate_sample(&self, now: Millis) -> RateSample {
        RateSample {
            at: now,
            put: self.put.totals(),
            get: self.get.totals(),
            found: self.get_found.count(),
            missed: self.get_missed.count(),
        }
    }

    /// Of everybody's own messages.
    fn in_out(&self) -> InOut {
        InOut {
            put: self.put.count().saturating_sub(self.put_system.count()),
            get: self.get.count().saturating_sub(self.get_system.count()),
        }
    }
}

/// What requests see: statistics by name and key (315), and the broker's own figures (28).
pub(crate) struct StatsView<'a> {
    pub(super) stats: &'a Stats,
    pub(super) topics: &'a TopicTable,
    pub(super) cluster: &'a str,
}

impl StatsView<'_> {
    /// The statistic of this name and key, if anything of it was ever counted.
    pub(crate) fn find(&self, name: &str, key: &str) -> Option<ThreeWindows> {
        match name {
            "TOPIC_PUT_NUMS" | "TOPIC_PUT_SIZE" => {
                let topic = self.topics.get(key)?;
                read(&topic.stats.put, name.ends_with("SIZE"))
            }
            "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC" if key == self.cluster => {
                difference(&self.stats.put, &self.stats.put_system)
            }
            "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC" if key == self.cluster => {
                difference(&self.stats.get, &self.stats.get_system)
            }
            "BROKER_PUT_NUMS" if key == self.cluster => read(&self.stats.put, false),
            "BROKER_GET_NUMS" if key == self.cluster => read(&self.stats.get, false),
            "BROKER_ACK_NUMS" if key == self.cluster => read(&self.stats.ack, false),
            "BROKER_CK_NUMS" if key == self.cluster => read(&self.stats.pop, false),
            "CHANNEL_ACTIVITY" => match key {
                "CONNECT" => read(&self.stats.connections_opened, false),
                "CLOSE" => read(&self.stats.connections_closed, false),
                _ => None,
            },
            _ => self.find_of_group(name, key),
        }
    }

    /// The statistics that each group has on each topic, by `topic@group`.
    fn find_of_group(&self, name: &str, key: &str) -> Option<ThreeWindows> {
        let (topic, group) = key.split_once('@')?;
        let group = self.stats.known_group(topic, group)?;
        match name {
            "GROUP_GET_NUMS" => read(&group.get, false),
            "GROUP_GET_SIZE" => read(&group.get, true),
            "GROUP_GET_LATENCY" => read(&group.get_took, true),
            "GROUP_ACK_NUMS" => read(&group.ack, false),
            "GROUP_CK_NUMS" => read(&group.pop, false),
            "SNDBCK_PUT_NUMS" => read(&group.send_back, false),
            _ => None,
        }
    }

    /// The rates and totals of request 28 under their keys.
    pub(crate) fn runtime(&self, now: Millis) -> Vec<(&'static str, String)> {
        let stats = self.stats;
        let rates = stats.rates.lock();
        let sample = stats.rate_sample(now);
        let (put, days): (_, DayTotals) = (stats.put.totals(), *stats.days.lock());
        let average = if put.count == 0 { 0.0 } else { put.bytes as f64 / put.count as f64 };
        vec![
            ("putTps", rates.show(sample, |sample| sample.put.count)),
            ("getTransferredTps", rates.show(sample, |sample| sample.get.count)),
            ("getFoundTps", rates.show(sample, |sample| sample.found)),
            ("getMissTps", rates.show(sample, |sample| sample.missed)),
            ("getTotalTps", rates.show(sample, |sample| sample.found + sample.missed)),
            ("putMessageTimesTotal", put.count.to_string()),
            ("putMessageFailedTimes", stats.put_failed.count().to_string()),
            ("putMessageSizeTotal", put.bytes.to_string()),
            ("putMessageAverageSize", average.to_string()),
            ("putMessageEntireTimeMax", stats.put_took.longest_ms().to_string()),
            ("getMessageEntireTimeMax", stats.get_took_max.ms().to_string()),
            ("putMessageDistributeTime", stats.put_took.show()),
            ("putLatency99", format!("{:.2}", stats.put_took.quantile_ms(0.99))),
            ("putLatency999", format!("{:.2}", stats.put_took.quantile_ms(0.999))),
            ("msgPutTotalYesterdayMorning", days.yesterday_morning.put.to_string()),
            ("msgPutTotalTodayMorning", days.today_morning.put.to_string()),
            ("msgPutTotalTodayNow", stats.in_out().put.to_string()),
            ("msgGetTotalYesterdayMorning", days.yesterday_morning.get.to_string()),
            ("msgGetTotalTodayMorning", days.today_morning.get.to_string()),
            ("msgGetTotalTodayNow", stats.in_out().get.to_string()),
        ]
    }
}

fn read(counter: &super::Sampled, bytes: bool) -> Option<ThreeWindows> {
    if counter.count() == 0 {
        return None;
    }
    let windows = counter.windows();
    let windows = if bytes { &windows.bytes } else { &windows.messages };
    Some(ThreeWindows { minute: windows.minute(), hour: windows.hour(), day: windows.day() })
}

/// A statistic without a part of it.
fn difference(whole: &super::Sampled, part: &super::Sampled) -> Option<ThreeWindows> {
    let (whole, part) = (read(whole, false)?, read(part, false).unwrap_or_default());
    Some(ThreeWindows {
        minute: whole.minute.without(part.minute),
        hour: whole.hour.without(part.hour),
        day: whole.day.without(part.day),
    })
}
