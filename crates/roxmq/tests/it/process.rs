//! A `roxmq` process: started, listened to, ended.

use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// What anything is waited for. Longer than any test takes, so that a hang fails and a slow machine doesn't.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn now_ms() -> i64 {
    UNIX_EPOCH.elapsed().unwrap().as_millis() as i64
}

pub struct Process {
    child: Child,
    /// Lines of standard output as they come.
    lines: Receiver<String>,
    output: Option<JoinHandle<String>>,
    errors: Option<JoinHandle<String>>,
}

/// What a process left behind.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    pub fn spawn(arguments: &[impl AsRef<OsStr>]) -> Process {
        Process::spawn_in(&std::env::temp_dir(), arguments)
    }

    /// With another directory for temporary files.
    pub fn spawn_in(temporary: &Path, arguments: &[impl AsRef<OsStr>]) -> Process {
        let mut child = Command::new(env!("CARGO_BIN_EXE_roxmq"))
            .args(arguments)
            .env("TMPDIR", temporary)
            .env_remove("RUST_LOG")
            .env_remove("NAMESRV_ADDR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let output = std::thread::spawn(move || {
            let mut text = String::new();
            for line in stdout.lines().map_while(Result::ok) {
                text.push_str(&line);
                text.push('\n');
                // Nobody may be listening any more.
                let _ = sender.send(line);
            }
            text
        });
        let errors = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Process { child, lines, output: Some(output), errors: Some(errors) }
    }

    /// The first line that has the word, or what the process left behind if it ended before.
    pub fn wait_for_line(mut self, word: &str) -> Result<(Process, String), Ended> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(word) => return Ok((self, line)),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.wait()),
                Err(RecvTimeoutError::Timeout) => {
                    self.child.kill().unwrap();
                    panic!("no line with '{word}' within {PATIENCE:?}: {:#?}", self.wait());
                }
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it where it is: nothing of it runs after this.
    pub fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.wait()
    }

    /// Asks it to stop, and waits until it has.
    pub fn terminate(self) -> Ended {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.wait()
    }

    pub fn wait(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        // The end of its output is the end of the process; its status follows at once.
        while let Ok(_) | Err(RecvTimeoutError::Timeout) =
            self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if Instant::now() >= deadline {
                self.child.kill().unwrap();
                panic!(
                    "the process did not end within {PATIENCE:?}: {}",
                    self.errors.take().unwrap().join().unwrap()
                );
            }
        }
        let status = self.child.wait().unwrap();
        let text = |thread: &mut Option<JoinHandle<String>>| thread.take().unwrap().join().unwrap();
        Ended { status, stdout: text(&mut self.output), stderr: text(&mut self.errors) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A test that failed leaves no process behind. One that has ended can't be killed, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end.
pub fn run(arguments: &[impl AsRef<OsStr>]) -> Ended {
    Process::spawn(arguments).wait()
}

impl Ended {
    /// It failed, with a complaint that has every one of the words.
    #[track_caller]
    pub fn assert_failed(&self, words: &[&str]) {
        assert_eq!(self.status.code(), Some(1), "{self:#?}");
        let complaint = self.complaint();
        for word in words {
            assert!(complaint.contains(word), "'{word}' is not in: {complaint}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
    }

    /// What it says last, behind its name.
    #[track_caller]
    fn complaint(&self) -> &str {
        let at = self.stderr.find("roxmq: ").unwrap_or_else(|| panic!("no complaint: {self:#?}"));
        &self.stderr[at..]
    }
}
