//! What brokers ask of clients and wait for: each question goes out over a telemetry stream under a number, and an
//! answer comes back with it, or doesn't.
//!
//! A broker asks on a thread of its own, perhaps under its locks. It is therefore never answered there: what can be
//! answered at once is left to [`Questions::run`], too.

use super::answers;
use crate::client::Client;
use crate::schema::Status;
use parking_lot::Mutex;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Of all clients together. Brokers wait in vain for answers to those beyond, until their own time is up.
const OPEN_MAX: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To consume a message now, and say how it went.
    Verify,
    /// To show what its threads do.
    Threads,
}

/// What a broker waits for.
pub struct Question {
    pub client: Weak<Client>,
    pub broker: Arc<str>,
    pub opaque: i32,
    pub subject: Subject,
}

pub enum Subject {
    /// Only the client knows.
    OfClient(Asked),
    /// The settings say it.
    Running,
    /// Nobody can answer it.
    Refused(i32, String),
}

struct Open {
    question: Question,
    until: Instant,
}

pub struct Questions {
    /// How long a client has for its answer.
    patience: Duration,
    table: Mutex<Table>,
    changed: Notify,
}

#[derive(Default)]
struct Table {
    last_nonce: u64,
    open: BTreeMap<u64, Open>,
}

impl Questions {
    pub fn new(patience: Duration) -> Self {
        Questions { patience, table: Mutex::default(), changed: Notify::new() }
    }

    /// Keeps the question; the number is what its answer will carry. None if there are too many.
    pub fn open(&self, question: Question) -> Option<u64> {
        let wait = match question.subject {
            Subject::OfClient(_) => self.patience,
            Subject::Running | Subject::Refused(..) => Duration::ZERO,
        };
        let nonce = {
            let mut table = self.table.lock();
            if table.open.len() >= OPEN_MAX {
                return None;
            }
            table.last_nonce += 1;
            let nonce = table.last_nonce;
            table.open.insert(nonce, Open { question, until: Instant::now() + wait });
            nonce
        };
        self.changed.notify_one();
        Some(nonce)
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.table.lock().open.len()
    }

    /// The question couldn't be sent.
    pub fn refuse(&self, nonce: u64, text: &str) {
        if let Some(open) = self.table.lock().open.get_mut(&nonce) {
            open.question.subject = Subject::Refused(response::SYSTEM_ERROR, text.to_owned());
            open.until = Instant::now();
        }
        self.changed.notify_one();
    }

    /// A client's answer. One that nobody waits for, or that somebody else was asked for, is passed over.
    pub fn answer(&self, client: &Arc<Client>, nonce: &str, asked: Asked, answer: Command) {
        let Ok(nonce) = nonce.parse::<u64>() else { return };
        let mut table = self.table.lock();
        let is_his = table.open.get(&nonce).is_some_and(|Open { question, .. }| {
            matches!(question.subject, Subject::OfClient(of) if of == asked)
                && std::ptr::eq(question.client.as_ptr(), Arc::as_ptr(client))
        });
        let open = if is_his { table.open.remove(&nonce) } else { None };
        drop(table);
        if let Some(Open { question, .. }) = open {
            client.answer(&question.broker, question.opaque, answer);
        }
    }

    /// Answers what clients didn't, until the future is dropped.
    pub async fn run(&self) {
        loop {
            let changed = self.changed.notified();
            let (due, next) = self.take_due(Instant::now());
            due.into_iter().for_each(|question| self.settle(question));
            match next {
                None => changed.await,
                // A question with an earlier end makes itself known.
                Some(until) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(until.into()) => {}
                },
            }
        }
    }

    /// What has waited long enough, and when the next will have.
    fn take_due(&self, now: Instant) -> (Vec<Question>, Option<Instant>) {
        let mut table = self.table.lock();
        let due = table.open.extract_if(.., |_, open| open.until <= now);
        let due = due.map(|(_, open)| open.question).collect();
        (due, table.open.values().map(|open| open.until).min())
    }

    fn settle(&self, question: Question) {
        let Some(client) = question.client.upgrade() else { return };
        let answer = match question.subject {
            Subject::Running => answers::running_info(&client, None),
            Subject::Refused(code, text) => Command::response(code).remark(text),
            Subject::OfClient(_) => Command::response(response::SYSTEM_BUSY).remark(format!(
                "the client {} gave no answer within {} s (grpcProxyRelayRequestTimeoutInSeconds)",
                client.id,
                self.patience.as_secs()
            )),
        };
        client.answer(&question.broker, question.opaque, answer);
    }
}

/// The status that a client's answer comes with. Some clients leave it out if all is well.
pub fn code_of(status: Option<&Status>) -> crate::schema::Code {
    status.map_or(crate::schema::Code::Ok, Status::code)
}
