//! What goes to a client over its telemetry stream. A client that opens a new stream gets it there.

use crate::schema::TelemetryCommand;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use tokio::sync::oneshot;
use tonic::Status;
use tonic::codegen::tokio_stream::Stream;

/// What may wait for a client that doesn't read; it is cut off beyond.
const WAITING_MAX: usize = 256;

type Item = Result<TelemetryCommand, Status>;

/// One client's stream, if it has one open.
#[derive(Debug, Default)]
pub struct Outbound {
    current: Mutex<Option<Current>>,
}

#[derive(Debug)]
struct Current {
    id: u64,
    sender: Sender,
}

/// What waits for the client. There is one for each client, mostly empty, and the channels of `tokio` take ten times as
/// much memory.
#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Box<Item>>,
    /// Nothing is added any more.
    ended: bool,
    taker: Option<Waker>,
}

/// Ends the queue when it is dropped.
#[derive(Debug, Default)]
struct Sender(Arc<Mutex<Queue>>);

impl Sender {
    /// False if there is no room.
    fn send(&self, item: Item) -> bool {
        self.change(|queue| {
            let has_room = queue.items.len() < WAITING_MAX;
            if has_room {
                queue.items.push_back(Box::new(item));
            }
            has_room
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        let mut queue = self.0.lock();
        let changed = change(&mut queue);
        let taker = queue.taker.take();
        drop(queue);
        if let Some(taker) = taker {
            taker.wake();
        }
        changed
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.change(|queue| queue.ended = true);
    }
}

/// The stream as gRPC sends it.
#[derive(Debug)]
pub struct OutboundStream {
    id: u64,
    queue: Arc<Mutex<Queue>>,
    outbound: Arc<Outbound>,
    /// Dropped with the stream.
    ended: Option<oneshot::Sender<()>>,
}

impl Outbound {
    /// Takes the place of a stream that was there, which ends.
    pub fn open(self: &Arc<Self>) -> OutboundStream {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let sender = Sender::default();
        let queue = Arc::clone(&sender.0);
        *self.current.lock() = Some(Current { id, sender });
        OutboundStream { id, queue, outbound: Arc::clone(self), ended: None }
    }

    pub fn is_open(&self) -> bool {
        self.current.lock().is_some()
    }

    /// False if there is nobody to read it.
    pub fn send(&self, command: TelemetryCommand) -> bool {
        let mut current = self.current.lock();
        let sent = current.as_ref().is_some_and(|current| current.sender.send(Ok(command)));
        if !sent {
            *current = None;
        }
        sent
    }

    /// Ends the stream of this id with these words, if it still is the current one.
    pub fn end(&self, id: u64, last: impl IntoIterator<Item = Item>) {
        let mut current = self.current.lock();
        if let Some(ended) = current.take_if(|current| current.id == id) {
            for item in last {
                // A client that doesn't read doesn't learn why.
                ended.sender.send(item);
            }
        }
    }

    /// Ends whatever stream there is.
    pub fn close(&self) {
        *self.current.lock() = None;
    }
}

impl OutboundStream {
    /// A stream with one command and no more.
    pub fn of(command: TelemetryCommand) -> Self {
        let outbound = Arc::<Outbound>::default();
        let stream = outbound.open();
        outbound.send(command);
        outbound.close();
        stream
    }

    /// Done when the stream is over, for whoever listens to the client meanwhile: a client may keep its own side open
    /// for ever, and with it the connection.
    pub fn ended(&mut self) -> oneshot::Receiver<()> {
        let (sender, ended) = oneshot::channel();
        self.ended = Some(sender);
        ended
    }

    pub fn id(&self) -> u64 {
        self.id
    }
}

impl Stream for OutboundStream {
    type Item = Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Item>> {
        let mut queue = self.queue.lock();
        match queue.items.pop_front() {
            Some(item) => Poll::Ready(Some(*item)),
            None if queue.ended => Poll::Ready(None),
            None => {
                queue.taker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for OutboundStream {
    fn drop(&mut self) {
        self.outbound.end(self.id, []);
    }
}
