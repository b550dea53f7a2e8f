//! End to end: one producer at a rate, one long-polling consumer a queue; the body carries the time it left.

use super::connection::{Connection, describe};
use super::consume::{SUBSCRIPTION_IN_REQUEST, SUSPEND, pull_request, records};
use super::produce::{now_ms, send_request, set_field};
use super::report::{Report, Tally};
use super::server_cost::ServerCost;
use super::{Deadline, Target};
use bytes::Bytes;
use clap::Args;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::record::Record;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Messages a second.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Body bytes of a message, at least the 8 of its time.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(8..=4_194_304))]
    size: u32,
}

/// How long the broker may hold a pull; short, so that the end is soon seen.
const SUSPEND_MS: u64 = 500;

pub fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let target = &arguments.target;
    make_topic(arguments)?;
    let mut consumers = Vec::new();
    for queue_id in 0..target.queues {
        let mut connection = Connection::open(target)?;
        let (_, next) = connection.offsets(&target.topic, queue_id)?;
        consumers.push((connection, queue_id, next));
    }
    let cost = ServerCost::start(target.addr(false), target.pid);
    let deadline = Deadline::after(target.seconds);
    let tally = Tally::new("latency", target);
    let epoch = Instant::now();
    std::thread::scope(|scope| {
        for (mut connection, queue_id, next) in consumers {
            let (deadline, tally) = (&deadline, &tally);
            scope.spawn(move || {
                if let Err(error) = consume(&mut connection, target, queue_id, next, epoch, deadline, tally) {
                    tally.error(format!("{error:#}"));
                    deadline.stop();
                }
            });
        }
        scope.spawn(|| {
            if let Err(error) = produce(arguments, epoch, &deadline) {
                tally.error(format!("{error:#}"));
                deadline.stop();
            }
        });
        tally.show_progress(&deadline);
    });
    Ok(tally.finish(cost))
}

/// One message to the topic makes it, where the broker makes topics on first use.
fn make_topic(arguments: &Arguments) -> anyhow::Result<()> {
    let mut connection = Connection::open(&arguments.target)?;
    let answer = connection.call(&send_request(
        request::SEND_MESSAGE_V2,
        &arguments.target,
        Bytes::from(vec![0; 8]),
    ))?;
    anyhow::ensure!(
        answer.code == response::SUCCESS,
        "the first message: {}",
        describe(answer.code, answer.remark.as_deref())
    );
    Ok(())
}

fn produce(arguments: &Arguments, epoch: Instant, deadline: &Deadline) -> anyhow::Result<()> {
    let (mut reader, mut writer) = Connection::open(&arguments.target)?.split();
    std::thread::scope(|scope| {
        // The answers only have to be taken off the socket.
        scope.spawn(move || while reader.next().is_ok() {});
        let gap = Duration::from_secs(1) / arguments.rate;
        let mut next = Instant::now();
        let mut body = vec![b'x'; arguments.size as usize];
        let mut request = send_request(request::SEND_MESSAGE_V2, &arguments.target, Bytes::new());
        while !deadline.passed() {
            let now = Instant::now();
            if now < next {
                std::thread::sleep(next - now);
                continue;
            }
            next += gap;
            body[..8].copy_from_slice(&nanos_since(epoch).to_be_bytes());
            request.body = Bytes::copy_from_slice(&body);
            request.opaque = request.opaque.wrapping_add(1) & i32::MAX;
            let queue_id = request.opaque as u32 % arguments.target.queues;
            set_field(&mut request, "e", queue_id);
            set_field(&mut request, "g", now_ms());
            writer.push(&request);
            writer.send()?;
        }
        writer.finish();
        Ok(())
    })
}

fn consume(
    connection: &mut Connection,
    target: &Target,
    queue_id: u32,
    mut offset: i64,
    epoch: Instant,
    deadline: &Deadline,
    tally: &Tally,
) -> anyhow::Result<()> {
    let mut request = pull_request(&target.topic, 32, SUBSCRIPTION_IN_REQUEST | SUSPEND, SUSPEND_MS);
    set_field(&mut request, "queueId", queue_id);
    let mut histogram = Tally::histogram();
    while !deadline.passed() {
        set_field(&mut request, "queueOffset", offset);
        let answer = connection.call(&request)?;
        let arrived = nanos_since(epoch);
        match answer.code {
            response::SUCCESS => {
                for record in records(&answer.body) {
                    let record = Record::decode(record)?;
                    if let Some(sent) = record.body.first_chunk::<8>() {
                        histogram.saturating_record(arrived.saturating_sub(u64::from_be_bytes(*sent)).max(1));
                        tally.count(1, record.body.len() as u64);
                    }
                }
            }
            response::PULL_NOT_FOUND | response::PULL_RETRY_IMMEDIATELY | response::PULL_OFFSET_MOVED => {}
            code => anyhow::bail!("a pull: {}", describe(code, answer.remark.as_deref())),
        }
        offset = answer.field("nextBeginOffset").and_then(|next| next.parse().ok()).unwrap_or(offset);
    }
    tally.merge(&histogram);
    Ok(())
}

fn nanos_since(epoch: Instant) -> u64 {
    epoch.elapsed().as_nanos() as u64
}
