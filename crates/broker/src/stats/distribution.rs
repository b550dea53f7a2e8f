//! How long things took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest so far.
#[derive(Debug, Default)]
pub(super) struct Longest(AtomicU64);

impl Longest {
    pub(super) fn add(&self, elapsed: Duration) {
        let ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        if ms > self.0.load(Ordering::Relaxed) {
            self.0.fetch_max(ms, Ordering::Relaxed);
        }
    }

    pub(super) fn ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper ends, in microseconds, of the buckets: four for each doubling from 1 µs to over an hour.
const BUCKETS: usize = 128;
const BUCKETS_A_DOUBLING: u32 = 4;

/// The ranges that the Java server shows, with their upper ends in milliseconds.
const SHOWN: [(&str, u64); 13] = [
    ("<=0ms", 1),
    ("0~10ms", 10),
    ("10~50ms", 50),
    ("50~100ms", 100),
    ("100~200ms", 200),
    ("200~500ms", 500),
    ("500ms~1s", 1_000),
    ("1~2s", 2_000),
    ("2~3s", 3_000),
    ("3~4s", 4_000),
    ("4~5s", 5_000),
    ("5~10s", 10_000),
    ("10s~", u64::MAX),
];

/// Counts of durations, exact to a fifth.
#[derive(Debug)]
pub(super) struct Distribution {
    buckets: [AtomicU64; BUCKETS],
    shown: [AtomicU64; SHOWN.len()],
    longest: Longest,
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            shown: std::array::from_fn(|_| AtomicU64::new(0)),
            longest: Longest::default(),
        }
    }
}

impl Distribution {
    pub(super) fn add(&self, elapsed: Duration, times: u64) {
        let us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket(us)].fetch_add(times, Ordering::Relaxed);
        let shown = SHOWN.iter().position(|(_, end_ms)| us / 1000 < *end_ms).unwrap_or(SHOWN.len() - 1);
        self.shown[shown].fetch_add(times, Ordering::Relaxed);
        self.longest.add(elapsed);
    }

    /// The time in milliseconds within which this share of all was done.
    pub(super) fn quantile_ms(&self, share: f64) -> f64 {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let wanted = counts.iter().sum::<u64>() as f64 * share;
        let mut seen = 0;
        for (at, count) in counts.iter().enumerate() {
            seen += count;
            if *count > 0 && seen as f64 >= wanted {
                return upper_end_us(at) / 1000.0;
            }
        }
        0.0
    }

    pub(super) fn longest_ms(&self) -> u64 {
        self.longest.ms()
    }

    /// `[<=0ms]:n [0~10ms]:n …`
    pub(super) fn show(&self) -> String {
        let ranges = SHOWN.iter().zip(&self.shown);
        ranges.map(|((name, _), count)| format!("[{name}]:{} ", count.load(Ordering::Relaxed))).collect()
    }
}

fn bucket(us: u64) -> usize {
    if us == 0 {
        return 0;
    }
    let doublings = us.ilog2();
    // The two bits below the highest tell the quarter of the doubling.
    let quarter = if doublings >= 2 { (us >> (doublings - 2)) & 3 } else { (us << (2 - doublings)) & 3 };
    ((doublings * BUCKETS_A_DOUBLING) as usize + quarter as usize).min(BUCKETS - 1)
}

fn upper_end_us(bucket: usize) -> f64 {
    let (doublings, quarter) = (bucket / BUCKETS_A_DOUBLING as usize, bucket % BUCKETS_A_DOUBLING as usize);
    (1_u64 << doublings) as f64 * (1.0 + (quarter as f64 + 1.0) / f64::from(BUCKETS_A_DOUBLING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_a_fifth() {
        let distribution = Distribution::default();
        assert_eq!(distribution.quantile_ms(0.99), 0.0);
        for us in 1..=10_000 {
            distribution.add(Duration::from_micros(us), 1);
        }
        for share in [0.5, 0.9, 0.99, 0.999] {
            let found = distribution.quantile_ms(share);
            let exact = share * 10.0;
            assert!((exact..exact * 1.25).contains(&found), "{share}: {found} for {exact}");
        }
        assert_eq!(distribution.longest_ms(), 10);
    }

    #[test]
    fn every_duration_has_a_bucket() {
        for us in [0, 1, 2, 3, 4, 7, 8, 1 << 20, u64::MAX] {
            let at = bucket(us);
            assert!(at == BUCKETS - 1 || upper_end_us(at) > us as f64, "{us}");
        }
    }

    #[test]
    fn the_shown_ranges_are_javas() {
        let distribution = Distribution::default();
        distribution.add(Duration::from_micros(300), 2);
        distribution.add(Duration::from_millis(7), 1);
        distribution.add(Duration::from_secs(60), 1);
        let text = distribution.show();
        assert!(text.starts_with("[<=0ms]:2 [0~10ms]:1 [10~50ms]:0 "), "{text}");
        assert!(text.ends_with("[10s~]:1 "), "{text}");
    }
}
