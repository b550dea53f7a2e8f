//! Producing over the remoting protocol: each connection keeps a window of sends under way.

use super::connection::{Connection, Reader, Writer, describe};
use super::report::{Report, Tally};
use super::server_cost::ServerCost;
use super::{Deadline, Target};
use bytes::Bytes;
use clap::Args;
use parking_lot::{Condvar, Mutex};
use roxmq_protocol::batch;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Clone, Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,
    /// Send over gRPC. The topic must be there.
    #[arg(long)]
    pub(super) grpc: bool,
    /// Connections, each with threads of its own.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) connections: u32,
    /// Sends under way on each connection.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) window: u32,
    /// Body bytes of a message.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pub(super) size: u32,
    /// Messages of one send; more than 1 sends batches.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) batch: u32,
    /// Messages a second over all connections; as fast as possible if not given.
    #[arg(long)]
    rate: Option<u32>,
}

impl Arguments {
    /// The time between two sends of one connection; none for as fast as possible.
    pub(super) fn gap(&self) -> Option<Duration> {
        let rate = f64::from(self.rate?.max(1));
        Some(Duration::from_secs_f64(f64::from(self.connections * self.batch) / rate))
    }
}

/// How long the last answers may take after the last send.
const LAST_ANSWERS_WAIT: Duration = Duration::from_secs(5);

/// The sends of a connection that have no answer yet: when each left, in the order of their opaques.
struct Window {
    sent: Mutex<Sent>,
    room: Condvar,
}

struct Sent {
    started: Vec<Instant>,
    under_way: u32,
    closed: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let target = &arguments.target;
    let cost = ServerCost::start(target.addr(false), target.pid);
    let deadline = Deadline::after(target.seconds);
    let tally = Tally::new("produce", target);
    let connections =
        (0..arguments.connections).map(|_| Connection::open(target)).collect::<anyhow::Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        for (number, connection) in connections.into_iter().enumerate() {
            let (deadline, tally) = (&deadline, &tally);
            scope.spawn(move || {
                let (mut reader, mut writer) = connection.split();
                let started = vec![Instant::now(); arguments.window as usize];
                let window = Window {
                    sent: Mutex::new(Sent { started, under_way: 0, closed: false }),
                    room: Condvar::new(),
                };
                std::thread::scope(|scope| {
                    scope.spawn(|| receive(&mut reader, &window, arguments, tally));
                    send(&mut writer, &window, arguments, number as u32, deadline);
                    window.wait_until_answered();
                    writer.finish();
                });
            });
        }
        tally.show_progress(&deadline);
    });
    Ok(tally.finish(cost))
}

fn send(writer: &mut Writer, window: &Window, arguments: &Arguments, number: u32, deadline: &Deadline) {
    let mut request = first_request(arguments);
    let mut opaque = 0;
    let mut queue_id = number;
    let gap = arguments.gap();
    let mut next = Instant::now();
    while !deadline.passed() {
        if let Some(gap) = gap {
            let now = Instant::now();
            if now < next {
                std::thread::sleep(next - now);
                continue;
            }
            next += gap;
        }
        let Some(room) = window.wait_for_room(arguments.window) else { return };
        let burst = if gap.is_some() { 1 } else { room };
        for _ in 0..burst {
            request.opaque = opaque;
            set_field(&mut request, "e", queue_id % arguments.target.queues);
            set_field(&mut request, "g", now_ms());
            writer.push(&request);
            window.note_sent(opaque, arguments.window);
            opaque = opaque.wrapping_add(1) & i32::MAX;
            queue_id = queue_id.wrapping_add(1);
        }
        if writer.send().is_err() {
            return;
        }
    }
}

fn receive(reader: &mut Reader, window: &Window, arguments: &Arguments, tally: &Tally) {
    let mut histogram = Tally::histogram();
    loop {
        let frame = match reader.next() {
            Ok(frame) => frame,
            // The sender closes the connection once everything is answered.
            Err(_) if window.is_answered() => break,
            Err(error) => {
                tally.error(format!("{error:#}"));
                break;
            }
        };
        let took = window.note_answered(frame.header.opaque, arguments.window);
        // Beyond the histogram's bound a time counts as the bound.
        histogram.saturating_record(took.as_nanos() as u64);
        if frame.header.code == 0 {
            tally.count(u64::from(arguments.batch), u64::from(arguments.batch * arguments.size));
        } else {
            tally.error(describe(
                frame.header.code,
                frame.header.remark.map(|remark| remark.decode()).as_deref(),
            ));
        }
    }
    window.close();
    tally.merge(&histogram);
}

impl Window {
    /// How many more sends may leave now; none if the connection is gone.
    fn wait_for_room(&self, window: u32) -> Option<u32> {
        let mut sent = self.sent.lock();
        while sent.under_way >= window && !sent.closed {
            self.room.wait(&mut sent);
        }
        if sent.closed { None } else { Some(window - sent.under_way) }
    }

    fn note_sent(&self, opaque: i32, window: u32) {
        let mut sent = self.sent.lock();
        sent.started[opaque as usize % window as usize] = Instant::now();
        sent.under_way += 1;
    }

    fn note_answered(&self, opaque: i32, window: u32) -> Duration {
        let mut sent = self.sent.lock();
        sent.under_way -= 1;
        // Waking the sender for each answer would cost more than the sends.
        if sent.under_way <= window / 2 {
            self.room.notify_one();
        }
        sent.started[opaque as usize % window as usize].elapsed()
    }

    fn is_answered(&self) -> bool {
        self.sent.lock().under_way == 0
    }

    /// Waits for the last answers, but not for ever.
    fn wait_until_answered(&self) {
        let deadline = Instant::now() + LAST_ANSWERS_WAIT;
        let mut sent = self.sent.lock();
        while sent.under_way > 0 && !sent.closed {
            if self.room.wait_until(&mut sent, deadline).timed_out() {
                return;
            }
        }
    }

    fn close(&self) {
        self.sent.lock().closed = true;
        self.room.notify_one();
    }
}

fn first_request(arguments: &Arguments) -> Command {
    let body = vec![b'x'; arguments.size as usize];
    let batched = arguments.batch > 1;
    let code = if batched { request::SEND_BATCH_MESSAGE } else { request::SEND_MESSAGE_V2 };
    let mut whole = Vec::new();
    if batched {
        for _ in 0..arguments.batch {
            let pushed = batch::push(&mut whole, 0, &body, b"");
            debug_assert!(pushed, "a body within the argument's range fits");
        }
    } else {
        whole = body;
    }
    send_request(code, &arguments.target, Bytes::from(whole))
}

/// A send to queue 0 of the topic, which is made if it isn't there.
pub fn send_request(code: i32, target: &Target, body: Bytes) -> Command {
    Command::request(code)
        .with("a", "roxmq_bench")
        .with("b", &target.topic)
        .with("c", "TBW102")
        .with("d", target.queues)
        .with("e", 0)
        .with("f", 0)
        .with("g", now_ms())
        .with("h", 0)
        .with("i", "")
        .with("j", 0)
        .with("k", false)
        .with("m", code == request::SEND_BATCH_MESSAGE)
        .body(body)
}

pub fn set_field(command: &mut Command, name: &str, value: impl std::fmt::Display) {
    use std::fmt::Write;
    if let Some((_, text)) = command.ext.iter_mut().find(|(field, _)| field == name) {
        text.clear();
        // Writing to a String can't fail.
        let _ = write!(text, "{value}");
    }
}

pub fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}
