//! The CPU and memory of a server on this machine, from `/proc`.

use serde::Serialize;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};

/// Kernel ticks a second, the same on every Linux that this runs on (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;
/// Memory that isn't a file's.
const ANONYMOUS: &str = "RssAnon:";

/// What a server had used at the start of a measurement.
#[derive(Clone, Copy)]
pub struct ServerCost {
    pid: u32,
    cpu_seconds: f64,
    anonymous_mib: f64,
}

#[derive(Debug, Serialize)]
pub struct Cost {
    pub pid: u32,
    pub cpu_seconds: f64,
    pub anonymous_mib: f64,
    /// Anonymous memory beyond that at the start.
    pub growth_mib: f64,
    pub peak_mib: f64,
}

impl ServerCost {
    /// None if the server isn't on this machine or isn't to be seen.
    pub fn start(addr: &str, pid: Option<u32>) -> Option<Self> {
        let pid = pid.or_else(|| find_listener(addr))?;
        Some(ServerCost {
            pid,
            cpu_seconds: cpu_seconds(pid)?,
            anonymous_mib: mebibytes(&status(pid)?, ANONYMOUS)?,
        })
    }

    /// What it used since.
    pub fn finish(self) -> Option<Cost> {
        let status = status(self.pid)?;
        let anonymous_mib = mebibytes(&status, ANONYMOUS)?;
        Some(Cost {
            pid: self.pid,
            cpu_seconds: cpu_seconds(self.pid)? - self.cpu_seconds,
            anonymous_mib,
            growth_mib: anonymous_mib - self.anonymous_mib,
            peak_mib: mebibytes(&status, "VmHWM:")?,
        })
    }
}

fn status(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

fn mebibytes(status: &str, key: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold blanks: count from its end.
    let mut fields = stat[stat.rfind(')')? + 2..].split(' ');
    let user: f64 = fields.nth(11)?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

/// The process that listens on a local address.
fn find_listener(addr: &str) -> Option<u32> {
    let port = addr.to_socket_addrs().ok()?.find(|addr| is_local(*addr))?.port();
    let inode = listening_inode(port)?;
    let wanted = format!("socket:[{inode}]");
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else { continue };
        let holds =
            |link: fs::DirEntry| fs::read_link(link.path()).is_ok_and(|to| to.as_os_str() == wanted.as_str());
        if descriptors.flatten().any(holds) {
            return Some(pid);
        }
    }
    None
}

fn is_local(addr: SocketAddr) -> bool {
    addr.ip().is_loopback() || std::net::TcpListener::bind((addr.ip(), 0)).is_ok()
}

fn listening_inode(port: u16) -> Option<String> {
    const LISTENING: &str = "0A";
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(text) = fs::read_to_string(table) else { continue };
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(&state), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9))
            else {
                continue;
            };
            let local_port = local.rsplit(':').next().and_then(|hex| u16::from_str_radix(hex, 16).ok());
            if state == LISTENING && local_port == Some(port) {
                return Some((*inode).to_owned());
            }
        }
    }
    None
}
