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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ReconnectEndpointsCommand;
    use crate::schema::telemetry_command::Command;
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use tonic::Code;

    fn command(nonce: &str) -> TelemetryCommand {
        let reconnect = ReconnectEndpointsCommand { nonce: nonce.to_owned() };
        TelemetryCommand {
            command: Some(Command::ReconnectEndpointsCommand(reconnect)),
            ..TelemetryCommand::default()
        }
    }

    async fn next(stream: &mut OutboundStream) -> Option<Item> {
        poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
    }

    async fn rest(stream: &mut OutboundStream) -> Vec<Result<TelemetryCommand, Code>> {
        let mut rest = Vec::new();
        while let Some(item) = next(stream).await {
            rest.push(item.map_err(|status| status.code()));
        }
        rest
    }

    #[tokio::test]
    async fn commands_come_in_order_and_the_last_words_last() {
        let outbound = Arc::<Outbound>::default();
        let mut stream = outbound.open();
        assert!(outbound.send(command("1")) && outbound.send(command("2")));
        outbound.end(stream.id(), [Err(Status::unavailable("the server stops"))]);
        assert!(!outbound.is_open() && !outbound.send(command("3")));
        assert_eq!(rest(&mut stream).await, [Ok(command("1")), Ok(command("2")), Err(Code::Unavailable)]);
    }

    #[tokio::test]
    async fn a_stream_that_waits_is_woken() {
        let outbound = Arc::<Outbound>::default();
        let mut stream = outbound.open();
        let mut waiting = pin!(next(&mut stream));
        let first = poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context))).await;
        assert!(first.is_pending());
        let (came, sent) = tokio::join!(waiting, async { outbound.send(command("1")) });
        assert!(sent);
        assert_eq!(came.and_then(Result::ok), Some(command("1")));
    }

    #[tokio::test]
    async fn a_new_stream_ends_the_one_before() {
        let outbound = Arc::<Outbound>::default();
        let mut first = outbound.open();
        let mut second = outbound.open();
        assert_eq!(rest(&mut first).await, []);
        drop(first);
        assert!(outbound.send(command("1")), "the end of the first is not that of the second");
        assert_eq!(next(&mut second).await.and_then(Result::ok), Some(command("1")));
        drop(second);
        assert!(!outbound.is_open());
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_cut_off() {
        let outbound = Arc::<Outbound>::default();
        let mut stream = outbound.open();
        for _ in 0..WAITING_MAX {
            assert!(outbound.send(command("")));
        }
        assert!(!outbound.send(command("one too many")) && !outbound.is_open());
        assert_eq!(rest(&mut stream).await.len(), WAITING_MAX);
    }
}
