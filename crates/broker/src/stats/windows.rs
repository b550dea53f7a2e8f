//! Sums over the last minute, hour and day, from samples of a counter.
//!
//! As in the Java server a minute is seven samples ten seconds apart, an hour seven samples ten minutes apart, a day
//! twenty-five an hour apart, and a sum is the last sample less the first. Until there are samples of a window it is
//! empty.

use super::Totals;
use roxmq_store::Millis;
use std::collections::VecDeque;

const MINUTE: Spacing = Spacing { ms: 10_000, kept: 7 };
const HOUR: Spacing = Spacing { ms: 600_000, kept: 7 };
const DAY: Spacing = Spacing { ms: 3_600_000, kept: 25 };

struct Spacing {
    ms: i64,
    kept: usize,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Millis,
    sum: u64,
    times: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Windows {
    minute: VecDeque<Sample>,
    hour: VecDeque<Sample>,
    day: VecDeque<Sample>,
}

/// What happened in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowSum {
    pub sum: u64,
    /// Of the sum, per second.
    pub tps: f64,
    /// Of the sum, each time.
    pub average: f64,
}

impl WindowSum {
    /// The sum without a part of it.
    pub(super) fn without(self, part: WindowSum) -> WindowSum {
        let tps = (self.tps - part.tps).max(0.0);
        WindowSum { sum: self.sum.saturating_sub(part.sum), tps, average: self.average }
    }
}

impl Windows {
    /// To be called every ten seconds.
    pub(crate) fn sample(&mut self, now: Millis, sum: u64, times: u64) {
        let sample = Sample { at: now, sum, times };
        push(&mut self.minute, sample, &MINUTE);
        push(&mut self.hour, sample, &HOUR);
        push(&mut self.day, sample, &DAY);
    }

    pub(crate) fn minute(&self) -> WindowSum {
        sum(&self.minute)
    }

    pub(crate) fn hour(&self) -> WindowSum {
        sum(&self.hour)
    }

    pub(crate) fn day(&self) -> WindowSum {
        sum(&self.day)
    }
}

/// Takes the sample if the last one is old enough. Ticks are never exact: half a tick early is in time.
fn push(samples: &mut VecDeque<Sample>, sample: Sample, spacing: &Spacing) {
    let due = spacing.ms - MINUTE.ms / 2;
    if samples.back().is_some_and(|last| sample.at.0 - last.at.0 < due && sample.at >= last.at) {
        return;
    }
    if samples.is_empty() {
        // Counted from nothing: the first sample is of what happened since the tick before.
        samples.push_back(Sample { at: Millis(sample.at.0 - MINUTE.ms), sum: 0, times: 0 });
    }
    samples.push_back(sample);
    while samples.len() > spacing.kept {
        samples.pop_front();
    }
}

fn sum(samples: &VecDeque<Sample>) -> WindowSum {
    let (Some(first), Some(last)) = (samples.front(), samples.back()) else { return WindowSum::default() };
    let sum = last.sum.saturating_sub(first.sum);
    let times = last.times.saturating_sub(first.times);
    let ms = (last.at.0 - first.at.0).max(1);
    let average = if times == 0 { 0.0 } else { sum as f64 / times as f64 };
    WindowSum { sum, tps: sum as f64 * 1000.0 / ms as f64, average }
}

/// The broker's counters over ten minutes, for rates of 10, 60 and 600 seconds.
#[derive(Debug, Default)]
pub(super) struct RecentRates {
    samples: VecDeque<RateSample>,
}

/// The counters whose rates are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RateSample {
    pub at: Millis,
    pub put: Totals,
    pub get: Totals,
    pub found: u64,
    pub missed: u64,
}

const RATE_SECONDS: [i64; 3] = [10, 60, 600];
/// Ten minutes of samples ten seconds apart, and the one they are counted from.
const RATE_SAMPLES_MAX: usize = 61;

impl RecentRates {
    pub(super) fn sample(&mut self, sample: RateSample) {
        self.samples.push_back(sample);
        while self.samples.len() > RATE_SAMPLES_MAX {
            self.samples.pop_front();
        }
    }

    /// Rates over 10, 60 and 600 seconds up to now, separated by blanks; fewer while there is no sample so old.
    pub(super) fn show(&self, now: RateSample, of: impl Fn(&RateSample) -> u64) -> String {
        let rates = RATE_SECONDS.iter().filter_map(|seconds| {
            let from = self.samples.iter().rev().find(|sample| now.at.0 - sample.at.0 >= seconds * 1000)?;
            let happened = of(&now).saturating_sub(of(from));
            Some((happened as f64 * 1000.0 / (now.at.0 - from.at.0).max(1) as f64).to_string())
        });
        rates.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_what_seven_samples_span() {
        let mut windows = Windows::default();
        assert_eq!(windows.minute(), WindowSum::default());
        windows.sample(Millis(100_000), 50, 50);
        assert_eq!(windows.minute(), WindowSum { sum: 50, tps: 5.0, average: 1.0 });
        for tick in 1..=20 {
            windows.sample(Millis(100_000 + tick * 10_000), 50 + tick as u64 * 10, 50 + tick as u64 * 5);
        }
        assert_eq!(windows.minute(), WindowSum { sum: 60, tps: 1.0, average: 2.0 });
    }

    #[test]
    fn an_hour_is_sampled_every_ten_minutes() {
        let mut windows = Windows::default();
        for tick in 0..=720 {
            windows.sample(Millis(tick * 10_000), tick as u64, tick as u64);
        }
        assert_eq!(windows.hour.len(), 7);
        assert_eq!(windows.hour().sum, 360);
        assert_eq!(windows.hour().tps, 0.1);
    }

    #[test]
    fn rates_appear_as_samples_get_old_enough() {
        let mut rates = RecentRates::default();
        let at = |seconds: i64, count: u64| RateSample {
            at: Millis(seconds * 1000),
            put: Totals { count, bytes: 0 },
            ..RateSample::default()
        };
        let show = |rates: &RecentRates, now| rates.show(now, |sample| sample.put.count);
        assert_eq!(show(&rates, at(5, 100)), "");
        rates.sample(at(0, 0));
        assert_eq!(show(&rates, at(5, 100)), "");
        assert_eq!(show(&rates, at(10, 100)), "10");
        rates.sample(at(50, 100));
        assert_eq!(show(&rates, at(60, 600)), "50 10");
    }
}
