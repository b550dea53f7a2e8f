//! Threads that drive connections: each a runtime of its own, on which a connection lives from when it is accepted until
//! it ends.
//!
//! Where many threads share a runtime, whoever wakes up to do something also wakes another to watch the sockets
//! meanwhile. Here a thread watches its own connections and does what they want, and wakes nobody. So a handler that
//! takes long keeps the other connections of its thread waiting: work that does is to run elsewhere, on the process's
//! main runtime or its blocking threads.
//!
//! What a handler spawns runs on its connection's thread, and may go on after the connection: the threads end last.

use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::{fmt, io, thread};
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;

/// The threads. Dropped, they end, and with them what is left of their connections; that is waited for, so it isn't to
/// be done on a runtime's thread.
#[derive(Debug)]
pub struct ReactorThreads {
    reactors: Reactors,
    stop: watch::Sender<()>,
    threads: Vec<JoinHandle<()>>,
}

impl ReactorThreads {
    pub fn start(count: NonZeroUsize) -> io::Result<Self> {
        let (stop, stopped) = watch::channel(());
        let (mut reactors, mut threads) = (Vec::new(), Vec::new());
        for number in 0..count.get() {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            reactors.push(Reactor { runtime: runtime.handle().clone(), connections: Arc::default() });
            let mut stopped = stopped.clone();
            let life = move || {
                // An error says that starting another one failed, which ends this one as well.
                let _ = runtime.block_on(stopped.changed());
            };
            threads.push(thread::Builder::new().name(format!("reactor-{number}")).spawn(life)?);
        }
        let reactors = Reactors(Arc::new(Set { reactors, turn: Mutex::default() }));
        Ok(ReactorThreads { reactors, stop, threads })
    }

    pub fn reactors(&self) -> Reactors {
        self.reactors.clone()
    }
}

impl Drop for ReactorThreads {
    fn drop(&mut self) {
        self.stop.send_replace(());
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of connections panicked");
            }
        }
    }
}

/// Where servers put their connections. Once the threads have ended, what is put here is dropped.
#[derive(Clone, Debug)]
pub struct Reactors(Arc<Set>);

#[derive(Debug)]
struct Set {
    /// At least one.
    reactors: Vec<Reactor>,
    /// Who is next among those that have as few connections.
    turn: Mutex<usize>,
}

struct Reactor {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

impl Reactors {
    /// A place on the reactor with the fewest connections, and its runtime.
    pub(crate) fn place(&self) -> (&Handle, Place) {
        let Set { reactors, turn } = &*self.0;
        // Whoever takes a place at the same time sees this one taken.
        let mut turn = turn.lock();
        let fewest = |number: &usize| reactors[*number].connections.load(Ordering::Relaxed);
        let in_turn = (*turn..reactors.len()).chain(0..*turn);
        let chosen = in_turn.min_by_key(fewest).unwrap_or_default();
        *turn = (chosen + 1) % reactors.len();
        let Reactor { runtime, connections } = &reactors[chosen];
        connections.fetch_add(1, Ordering::Relaxed);
        (runtime, Place(Arc::clone(connections)))
    }

    /// How many connections each has.
    pub fn connections(&self) -> Vec<usize> {
        self.0.reactors.iter().map(|reactor| reactor.connections.load(Ordering::Relaxed)).collect()
    }
}

impl fmt::Debug for Reactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reactor").field(&self.connections).finish()
    }
}

/// A connection's place on its reactor: free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
