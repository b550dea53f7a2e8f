//! What a server says once it is ready: who can reach it, and how.

use super::Advertised;
use roxmq_store::RecoveryReport;
use std::path::Path;
use std::time::Duration;

pub struct Banner {
    rows: Vec<(&'static str, String)>,
}

impl Banner {
    pub fn new() -> Self {
        Banner { rows: Vec::new() }
    }

    pub fn row(&mut self, name: &'static str, value: impl Into<String>) -> &mut Self {
        self.rows.push((name, value.into()));
        self
    }

    /// Where a broker says it is, and what follows from that.
    pub fn reach(&mut self, advertised: Advertised) -> &mut Self {
        let addr = advertised.addr;
        if addr.ip().is_loopback() {
            self.row(
                "reached by",
                format!("this machine only, at {addr} (set brokerIP1 and bindAddress for others)"),
            )
        } else if advertised.guessed {
            self.row(
                "reached by",
                format!(
                    "this machine and others, at {addr}, a guess (if clients can't connect, set brokerIP1)"
                ),
            )
        } else {
            self.row("reached by", format!("whoever can connect to {addr}"))
        }
    }

    pub fn store(&mut self, root: &Path, report: &RecoveryReport) -> &mut Self {
        self.row("store", root.display().to_string());
        if report.crashed {
            self.row(
                "recovered",
                format!(
                    "after a crash: {} bytes read again, {} messages dispatched again",
                    report.scanned_bytes, report.redispatched
                ),
            );
        }
        if let Some((at, reason)) = &report.cut {
            self.row("damage", format!("the log was cut at {at}: {reason}"));
        }
        if report.rebuilt_queues > 0 {
            self.row("rebuilt", format!("{} queues, from the log", report.rebuilt_queues));
        }
        self
    }

    pub fn print(&self, what: &str, took: Duration) {
        println!("{what} is ready ({:.0} ms)", took.as_secs_f64() * 1000.0);
        let width = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in &self.rows {
            println!("  {name:<width$}  {value}");
        }
    }
}
