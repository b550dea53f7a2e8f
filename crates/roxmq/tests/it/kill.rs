//! Kills the server again and again under load, and holds what it answered against what is there afterwards.
//!
//! A killed process leaves the page cache alive, so this is about the process: what a power failure leaves is tested
//! in the store's own crash tests. A run is repeated with the seed that a failed one prints.

mod delivered;
mod ledger;
mod load;
mod message;
mod pop;
mod state;
mod timers;
mod transactions;

use crate::client::{Peer, create_topic};
use crate::process::{PATIENCE, now_ms};
use crate::server::{Server, check_store};
use ledger::Ledger;
use load::{Acknowledged, Producer};
use state::State;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ROUNDS: u32 = 20;
const PRODUCERS: u32 = 4;
const QUEUES: i32 = 8;
const TOPIC: &str = "Ledger";
/// One round of so many is long enough that committed offsets must have gone into the log.
const LONG_ROUND_EVERY: u32 = 5;
const LONG_ROUND: Duration = Duration::from_millis(1_200);
/// From the spawn to the ready line, whatever the last kill left.
const START_MAX: Duration = Duration::from_secs(10);

#[test]
fn nothing_acknowledged_is_lost_with_asynchronous_flush() {
    kill_again_and_again("ASYNC_FLUSH");
}

#[test]
fn nothing_acknowledged_is_lost_with_synchronous_flush() {
    kill_again_and_again("SYNC_FLUSH");
}

fn kill_again_and_again(flush: &str) {
    let seed = std::env::var("KILL_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("the same kills again: KILL_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let store = TempDir::new().unwrap();
    let flush = format!("flushDiskType={flush}");
    // Pulls of many messages read the ledger back quickly.
    let settings = [&flush, "maxTransferCountOnMessageInMemory=512", "maxTransferCountOnMessageInDisk=512"];
    let mut producers: Vec<_> = (0..PRODUCERS).map(|number| Producer::new(number, rng.fork())).collect();
    let (mut ledger, mut state) = (Ledger::new(QUEUES), State::new(QUEUES));

    let mut server = Server::start(store.path(), &settings);
    let mut peer = server.connect();
    assert_eq!(peer.call(create_topic(TOPIC)).code, 0);
    state.begin(&mut peer);
    for round in 0..ROUNDS {
        if round % LONG_ROUND_EVERY == LONG_ROUND_EVERY - 1 {
            state.change_for(LONG_ROUND, &mut peer);
        }
        let moment = Duration::from_micros(rng.u64(5_000..80_000));
        let acknowledged = load_until_killed(server, &mut peer, &mut producers, &mut state, moment);
        acknowledged.into_iter().for_each(|sent| ledger.add(sent));

        let started = Instant::now();
        server = Server::start(store.path(), &settings);
        assert!(
            started.elapsed() < START_MAX,
            "round {round}: {:?} until {}",
            started.elapsed(),
            server.ready
        );
        peer = server.connect();
        ledger.verify_new(&mut peer);
        state.verify(&mut peer);
    }
    ledger.verify_all(&mut peer);
    println!("{} messages, all there", ledger.len());

    assert!(server.terminate().status.success());
    let checked = check_store(store.path(), &[]);
    assert!(checked.status.success(), "{checked:#?}");
}

/// What the producers were answered before the server was killed in the midst of it.
fn load_until_killed(
    server: Server,
    peer: &mut Peer,
    producers: &mut [Producer],
    state: &mut State,
    moment: Duration,
) -> Vec<Acknowledged> {
    let port = server.ports.broker;
    std::thread::scope(|scope| {
        let (first_answers, answered) = channel();
        let start = |producer| {
            let first_answer = first_answers.clone();
            scope.spawn(move || Producer::run(producer, port, first_answer))
        };
        let threads: Vec<_> = producers.iter_mut().map(start).collect();
        // The load is on once every producer has had an answer.
        threads.iter().for_each(|_| answered.recv_timeout(PATIENCE).unwrap());
        state.change_for(moment, peer);
        state.leave_unanswered(peer);
        server.kill();
        state.killed();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Kills the server a moment after each producer's first answer. Gives the time.
fn kill_under_load<P: Send>(
    server: Server,
    producers: &mut [P],
    moment: Duration,
    run: impl Fn(&mut P, u16, Sender<()>) -> io::Result<()> + Sync,
) -> i64 {
    let (port, run) = (server.ports.broker, &run);
    std::thread::scope(|scope| {
        let (first_answers, answered) = channel();
        let count = producers.len();
        for producer in producers {
            let first_answer = first_answers.clone();
            // The connection breaks in the end: that is what this is about.
            scope.spawn(move || drop(run(producer, port, first_answer)));
        }
        (0..count).for_each(|_| answered.recv_timeout(PATIENCE).unwrap());
        std::thread::sleep(moment);
        let killed = now_ms();
        server.kill();
        killed
    })
}
