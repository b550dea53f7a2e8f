//! One connection, as others see it: where it comes from, and a way to send to it.

mod queue;

use crate::calls::{Call, CallError, Calls, in_time};
use crate::output::Output;
use crate::socket::SocketWriter;
use parking_lot::{Mutex, MutexGuard};
pub(crate) use queue::{Abort, Stage};
use queue::{Queue, wake};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::header::Encoding;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::Context;
use std::time::Duration;
use tokio::sync::Notify;

/// Shared by the task that drives the socket and by everybody who wants to send to the peer.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    ends: Ends,
    output_bytes_max: usize,
    queue: Mutex<Queue>,
    calls: Calls,
    closed: AtomicBool,
    /// It closed, or a call was called off.
    given_up: Notify,
    /// Bytes went in or out since the last look at it.
    active: AtomicBool,
    /// How many looks in a row found it silent.
    silent_looks: AtomicU8,
}

/// The addresses of a connection's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The peer; with a PROXY header, the source it names.
    pub remote: SocketAddr,
    /// Where the peer reached us; with a PROXY header, the destination it names.
    pub local: SocketAddr,
    pub origin: Origin,
}

/// Where the other end of a connection is, whatever a PROXY header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In this process: a proxy, which calls for others.
    ThisProcess,
    ThisHost,
    Elsewhere,
}

/// The promise of an answer that comes later, from anywhere. A shutdown leaves the connection open until it is
/// dropped, which is to be done after the answer was handed to the connection.
#[derive(Debug)]
#[must_use = "the promise ends when it is dropped"]
pub struct LateAnswer(Arc<Connection>);

impl Drop for LateAnswer {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.late_answers -= 1;
        // As long as the connection is open nobody waits for that.
        if queue.late_answers == 0 && queue.stage > Stage::Open {
            queue.none_late_any_more = true;
            wake(queue);
        }
    }
}

impl Connection {
    pub(crate) fn new(ends: Ends, output_bytes_max: usize) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Connection {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            ends,
            output_bytes_max,
            queue: Mutex::default(),
            calls: Calls::default(),
            closed: AtomicBool::new(false),
            given_up: Notify::new(),
            active: AtomicBool::new(true),
            silent_looks: AtomicU8::new(0),
        }
    }

    /// With a socket that others than its task may write to, too.
    pub(crate) fn written_through(mut self, writer: SocketWriter) -> Self {
        self.queue.get_mut().writer = Some(writer);
        self
    }

    /// A number that no other connection of this process has or had.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The peer; with a PROXY header, the source it names.
    pub fn remote(&self) -> SocketAddr {
        self.ends.remote
    }

    /// The address on which the peer reached us; with a PROXY header, the destination it names.
    pub fn local(&self) -> SocketAddr {
        self.ends.local
    }

    /// Whether the peer is on this host. Anybody can send a PROXY header that names a loopback address, so this
    /// is what decides about rights, and not [`Connection::remote`].
    pub fn is_from_this_host(&self) -> bool {
        self.ends.origin == Origin::ThisHost && self.ends.remote.ip().to_canonical().is_loopback()
    }

    /// Whether the peer is in this process: a proxy, which has looked at who calls before it calls for others.
    pub fn is_in_this_process(&self) -> bool {
        self.ends.origin == Origin::ThisProcess
    }

    /// Whether it is closed, or will be once its output is sent. Nothing can be sent to it any more, but for answers that
    /// were promised before its peer closed its side.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Closes after what is queued has been sent.
    pub fn close(&self) {
        self.advance(Stage::Closing);
    }

    /// Whether nobody wants any more what the request of this opaque waits for. It is to be answered at once then, and
    /// the answer may get lost.
    pub fn is_given_up(&self, opaque: i32) -> bool {
        self.is_closed() || self.calls.is_called_off(opaque)
    }

    /// Waits until nobody wants any more what the request of this opaque waits for.
    pub async fn given_up(&self, opaque: i32) {
        loop {
            let mut changed = std::pin::pin!(self.given_up.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.is_given_up(opaque) {
                return;
            }
            changed.await;
        }
    }

    /// For a peer in this process: marks its request as one that is given up.
    pub(crate) fn call_off(&self, opaque: i32) {
        self.calls.call_off(opaque);
        self.given_up.notify_waiters();
    }

    /// Queues frames that were put together elsewhere, and wakes the connection's task.
    /// From any thread; dropped if the connection is closed.
    pub fn send(&self, output: Output) {
        self.enqueue(|queued| queued.append(output));
    }

    /// As [`Connection::send`], but writes from this thread if the connection's task sleeps and its socket is free: to
    /// wake another thread would cost more, and take longer, than the write.
    pub fn send_now(&self, output: Output) {
        let Some(mut queue) = self.enqueued(|queued| queued.append(output)) else { return };
        if queue.write_now() {
            self.mark_active();
        } else {
            wake(queue);
        }
    }

    /// Answers the request of this opaque, in this encoding.
    pub fn respond(&self, opaque: i32, encoding: Encoding, response: Command) {
        self.enqueue(|queued| queued.respond(opaque, encoding, response));
    }

    /// Sends a request that nobody answers.
    pub fn oneway(&self, request: Command) {
        self.oneway_in(Encoding::Json, request);
    }

    /// As [`Connection::oneway`], in this encoding.
    pub fn oneway_in(&self, encoding: Encoding, request: Command) {
        let request = request.oneway();
        self.enqueue(|queued| queued.push(&request, encoding));
    }

    /// Sends a request under an opaque of its own and waits for the answer.
    pub async fn call(&self, request: Command, timeout: Duration) -> Result<Command, CallError> {
        self.call_in(Encoding::Json, request, timeout).await
    }

    /// As [`Connection::call`], in this encoding.
    pub async fn call_in(
        &self,
        encoding: Encoding,
        mut request: Command,
        timeout: Duration,
    ) -> Result<Command, CallError> {
        let mut call = self.begin_call()?;
        request.opaque = call.opaque;
        self.enqueue(|queued| queued.push(&request, encoding));
        in_time(timeout, &mut call.answer).await
    }

    /// A call whose request is sent by whoever begins it.
    pub(crate) fn begin_call(&self) -> Result<Call<'_>, CallError> {
        self.calls.begin()
    }

    /// How many bytes wait to be sent to the peer.
    pub fn unsent_bytes(&self) -> usize {
        let queue = self.queue.lock();
        queue.output.len() + queue.unwritten
    }

    /// Says that an answer comes later.
    pub fn promise_answer(self: &Arc<Self>) -> LateAnswer {
        self.queue.lock().late_answers += 1;
        LateAnswer(Arc::clone(self))
    }

    /// For the connection's task: whether answers were promised that have not come, or came just now.
    pub(crate) fn has_late_answers(&self) -> bool {
        let queue = self.queue.lock();
        queue.late_answers > 0 || !queue.output.is_empty()
    }

    fn enqueue(&self, add: impl FnOnce(&mut Output)) {
        if let Some(queue) = self.enqueued(add) {
            wake(queue);
        }
    }

    /// The queue with something more to send, of which its task doesn't know yet; none if the connection is closed.
    fn enqueued(&self, add: impl FnOnce(&mut Output)) -> Option<MutexGuard<'_, Queue>> {
        let mut queue = self.queue.lock();
        if queue.stage >= Stage::Closing {
            return None;
        }
        add(&mut queue.output);
        if queue.output.len() + queue.unwritten > self.output_bytes_max {
            queue.output = Output::default();
            queue.stage = Stage::Aborted(Abort::OutputLimit);
            self.mark_closed();
        }
        Some(queue)
    }

    /// Moves towards the end; a stage that was passed already changes nothing.
    pub(crate) fn advance(&self, stage: Stage) {
        let mut queue = self.queue.lock();
        if queue.stage >= stage {
            return;
        }
        queue.stage = stage;
        if stage >= Stage::PeerClosed {
            self.mark_closed();
        }
        wake(queue);
    }

    fn mark_closed(&self) {
        self.closed.store(true, Ordering::Release);
        self.given_up.notify_waiters();
    }

    /// For the connection's task: takes what others queued.
    pub(crate) fn collect(&self, output: &mut Output) -> Stage {
        let mut queue = self.queue.lock();
        queue.parked = false;
        if !queue.output.is_empty() {
            output.append(std::mem::take(&mut queue.output));
        }
        queue.stage
    }

    /// For the connection's task before it sleeps: false if there is something new to do instead.
    pub(crate) fn park(&self, unwritten: usize, seen: Stage, context: &Context<'_>) -> bool {
        let mut queue = self.queue.lock();
        let none_late_any_more = std::mem::take(&mut queue.none_late_any_more);
        if !queue.output.is_empty() || queue.stage != seen || none_late_any_more {
            return false;
        }
        queue.unwritten = unwritten;
        queue.parked = true;
        if !queue.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            queue.waker = Some(context.waker().clone());
        }
        true
    }

    /// For the connection's task: hands an answer to the call that waits for it.
    pub(crate) fn complete(&self, frame: &Frame<'_>) {
        self.complete_with(frame.header.opaque, || Command::from_frame(&frame.header, frame.body));
    }

    pub(crate) fn complete_with(&self, opaque: i32, answer: impl FnOnce() -> Command) {
        match self.calls.take(opaque) {
            // It may have timed out this moment; then the answer is late, as below.
            Some(call) => drop(call.send(answer())),
            None => {
                tracing::debug!(remote = %self.ends.remote, opaque, "an answer came that no call waits for");
            }
        }
    }

    /// For the connection's task at its end.
    pub(crate) fn finish(&self) {
        self.advance(Stage::Closing);
        self.calls.close();
        let mut queue = self.queue.lock();
        queue.output = Output::default();
        queue.waker = None;
        queue.writer = None;
    }

    pub(crate) fn mark_active(&self) {
        self.active.store(true, Ordering::Relaxed);
    }

    /// Looks whether bytes went in or out since the last look, and returns for how many looks none did.
    pub(crate) fn silent_looks(&self) -> u8 {
        if self.active.swap(false, Ordering::Relaxed) {
            self.silent_looks.store(0, Ordering::Relaxed);
            return 0;
        }
        self.silent_looks.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    pub(crate) fn output_bytes_max(&self) -> usize {
        self.output_bytes_max
    }
}
