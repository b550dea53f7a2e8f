//! Threads that drive connections: each a runtime of its own, on which a connection lives from when it is accepted until
//! it ends.
//!
//! Where many threads share a runtime, whoever wakes up to do something also wakes another to watch the sockets
//! meanwhile. Here a thread watches its own connections and does what they want, and wakes nobody. So a handler that
//! takes long keeps the other connections of its thread waiting: work that does is to run elsewhere, on the process's
//! main runtime or its blocking threads.
//!
//! What a handler spawns runs on its connection's thread, and may go on after the connection: the threads end last.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::{io, thread};
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
        Ok(ReactorThreads { reactors: Reactors(reactors.into()), stop, threads })
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
pub struct Reactors(Arc<[Reactor]>);

#[derive(Clone, Debug)]
struct Reactor {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

impl Reactors {
    /// How many connections each has.
    pub fn connections(&self) -> Vec<usize> {
        self.0.iter().map(|reactor| reactor.connections.load(Ordering::Relaxed)).collect()
    }

    pub(crate) fn places(&self) -> Places {
        let counts =
            self.0.iter().map(|reactor| Count { taken: AtomicUsize::new(0), reactor: reactor.clone() });
        Places { counts: counts.map(Arc::new).collect(), turn: 0 }
    }
}

/// The connections of one listener. They are spread by themselves: for each connection to a broker a client often has a
/// silent one to the name server, and if both counted alike, one reactor would get all those that do something.
pub(crate) struct Places {
    /// At least one.
    counts: Vec<Arc<Count>>,
    /// Who is next among those that have as few connections.
    turn: usize,
}

struct Count {
    /// Of the listener's connections.
    taken: AtomicUsize,
    reactor: Reactor,
}

impl Places {
    /// A place on the reactor with the fewest connections.
    pub fn take(&mut self) -> Place {
        let taken = |number: &usize| {
            let Count { taken, reactor } = &*self.counts[*number];
            (taken.load(Ordering::Relaxed), reactor.connections.load(Ordering::Relaxed))
        };
        let in_turn = (self.turn..self.counts.len()).chain(0..self.turn);
        let chosen = in_turn.min_by_key(taken).unwrap_or_default();
        self.turn = (chosen + 1) % self.counts.len();
        let count = &self.counts[chosen];
        count.taken.fetch_add(1, Ordering::Relaxed);
        count.reactor.connections.fetch_add(1, Ordering::Relaxed);
        Place(Arc::clone(count))
    }
}

/// A connection's place on its reactor: free again when it is dropped.
pub(crate) struct Place(Arc<Count>);

impl Place {
    pub fn runtime(&self) -> Handle {
        self.0.reactor.runtime.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
        self.0.reactor.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
