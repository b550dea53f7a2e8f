//! What a workload counted, and how it is shown.

use super::server_cost::{Cost, ServerCost};
use super::{Deadline, Target};
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Times up to a minute, to three digits.
const NANOS_MAX: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

/// The counters that a workload's threads share.
pub struct Tally {
    workload: &'static str,
    json: bool,
    seconds: u64,
    started: Instant,
    messages: AtomicU64,
    bytes: AtomicU64,
    errors: AtomicU64,
    first_error: Mutex<Option<String>>,
    latency: Mutex<Histogram<u64>>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    workload: &'static str,
    seconds: f64,
    messages: u64,
    messages_per_second: f64,
    mebibytes_per_second: f64,
    errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_error: Option<String>,
    latency_us: Latency,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_cpu_us_per_message: Option<f64>,
    #[serde(skip)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Latency {
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

impl Tally {
    pub fn new(workload: &'static str, target: &Target) -> Self {
        Tally {
            workload,
            json: target.json,
            seconds: target.seconds,
            started: Instant::now(),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            first_error: Mutex::new(None),
            latency: Mutex::new(Self::histogram()),
        }
    }

    /// A histogram for one thread, to be merged at its end.
    pub fn histogram() -> Histogram<u64> {
        Histogram::new_with_bounds(1, NANOS_MAX, DIGITS).expect("the bounds and digits are in range")
    }

    pub fn count(&self, messages: u64, bytes: u64) {
        self.messages.fetch_add(messages, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn error(&self, text: String) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        self.first_error.lock().get_or_insert(text);
    }

    pub fn merge(&self, histogram: &Histogram<u64>) {
        self.latency.lock().add(histogram).expect("both histograms have the same bounds");
    }

    /// A bar until the deadline; on a terminal only, and not beside JSON.
    pub fn show_progress(&self, deadline: &Deadline) {
        self.show_progress_while(deadline, || true);
    }

    pub fn show_progress_while(&self, deadline: &Deadline, at_work: impl Fn() -> bool) {
        let bar = if self.json { ProgressBar::hidden() } else { ProgressBar::new(self.seconds * 10) };
        let style = ProgressStyle::with_template("{bar:30} {elapsed:>4} {msg}");
        bar.set_style(style.expect("the template is well formed"));
        let mut before = 0;
        let mut shown = Instant::now();
        while !deadline.passed() && at_work() {
            std::thread::sleep(Duration::from_millis(100));
            bar.inc(1);
            if shown.elapsed() >= Duration::from_secs(1) {
                let messages = self.messages.load(Ordering::Relaxed);
                let rate = (messages - before) as f64 / shown.elapsed().as_secs_f64();
                bar.set_message(format!("{rate:.0} messages/s"));
                before = messages;
                shown = Instant::now();
            }
        }
        bar.finish_and_clear();
    }

    pub fn finish(self, cost: Option<ServerCost>) -> Report {
        let seconds = self.started.elapsed().as_secs_f64();
        let messages = self.messages.into_inner();
        let server = cost.and_then(|cost| cost.finish());
        let latency = self.latency.into_inner();
        let at = |quantile| latency.value_at_quantile(quantile) as f64 / 1000.0;
        Report {
            workload: self.workload,
            seconds,
            messages,
            messages_per_second: messages as f64 / seconds,
            mebibytes_per_second: self.bytes.into_inner() as f64 / seconds / f64::from(1 << 20),
            errors: self.errors.into_inner(),
            first_error: self.first_error.into_inner(),
            latency_us: Latency {
                p50: at(0.5),
                p90: at(0.9),
                p99: at(0.99),
                p999: at(0.999),
                max: latency.max() as f64 / 1000.0,
            },
            server_cpu_us_per_message: server
                .as_ref()
                .filter(|_| messages > 0)
                .map(|server| server.cpu_seconds * 1e6 / messages as f64),
            server,
            json: self.json,
        }
    }
}

pub fn print_json(report: &impl Serialize) {
    println!("{}", serde_json::to_string_pretty(report).expect("numbers and texts serialise"));
}

/// A line of a report for people.
pub fn row(name: &str, value: String) {
    println!("{name:<22} {value}");
}

impl Report {
    pub fn failed(&self) -> bool {
        self.errors > 0 || self.messages == 0
    }

    pub fn print(&self) {
        if self.json {
            return print_json(self);
        }
        row("workload", self.workload.to_owned());
        row("messages", format!("{} in {:.2} s", self.messages, self.seconds));
        row(
            "rate",
            format!("{:.0} messages/s, {:.1} MiB/s", self.messages_per_second, self.mebibytes_per_second),
        );
        let latency = &self.latency_us;
        row(
            "latency",
            format!(
                "p50 {:.0} us, p90 {:.0} us, p99 {:.0} us, p99.9 {:.0} us, max {:.0} us",
                latency.p50, latency.p90, latency.p99, latency.p999, latency.max
            ),
        );
        if let Some(server) = &self.server {
            let each = self
                .server_cpu_us_per_message
                .map_or_else(String::new, |us| format!(", {us:.2} us a message"));
            row("server CPU", format!("{:.2} s{each}", server.cpu_seconds));
            row(
                "server memory",
                format!("{:.1} MiB anonymous, {:.1} MiB peak", server.anonymous_mib, server.peak_mib),
            );
        }
        row("errors", self.errors.to_string());
        if let Some(error) = &self.first_error {
            row("first error", error.clone());
        }
        if self.messages == 0 {
            row("note", "not one message: is the topic there, and does it hold messages?".to_owned());
        }
    }
}
