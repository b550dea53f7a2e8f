//! A connection without a socket: its peer is in this process.
//!
//! The service sees a [`Connection`] like any other, so that whatever holds for clients over the network holds here:
//! sessions, promised answers, requests of the server's own, the end of a connection. There is no task behind it. A
//! request is served on the thread that calls, and what the server sends comes out on the thread that sends it.

use crate::connection::{CallError, Connection, Ends, Stage};
use crate::output::Output;
use crate::service::Service;
use parking_lot::Mutex;
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Encoding;
use std::fmt;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tokio::sync::oneshot::error::TryRecvError;

/// Takes what the server asks of its peer, on the thread that sends it, perhaps under the server's locks: it may
/// neither wait nor call back. Answers go to [`LocalConnection::answer`].
pub type TakeRequest = dyn Fn(Command) + Send + Sync;

/// Where the server sees a local peer. It never has the rights of somebody on this host: it calls for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalEnds {
    /// On whose behalf it calls.
    pub remote: SocketAddr,
    pub local: SocketAddr,
}

/// Dropped, it closes.
pub struct LocalConnection<S: Service> {
    service: Arc<S>,
    connection: Arc<Connection>,
    /// Gone after `Service::close`.
    session: Mutex<Option<S::Session>>,
    take_request: Box<TakeRequest>,
}

/// Wakes nobody: what was queued is taken out at once.
struct Delivery<S: Service>(Weak<LocalConnection<S>>);

impl<S: Service> LocalConnection<S> {
    pub fn open(
        service: Arc<S>,
        ends: LocalEnds,
        take_request: impl Fn(Command) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let ends = Ends { remote: ends.remote, local: ends.local, from_this_host: false };
        // What the peer is sent doesn't wait here, so there is nothing to bound.
        let connection = Arc::new(Connection::new(ends, usize::MAX));
        let session = Mutex::new(Some(service.open(&connection)));
        let opened =
            Arc::new(LocalConnection { service, connection, session, take_request: Box::new(take_request) });
        opened.deliver();
        opened
    }

    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Sends a request and waits for its answer, which often is there when the service returns.
    pub async fn call(&self, mut request: Command, timeout: Duration) -> Result<Command, CallError> {
        let mut call = self.connection.begin_call()?;
        request.opaque = call.opaque;
        self.serve(&request)?;
        match call.answer.try_recv() {
            Ok(answer) => return Ok(answer),
            Err(TryRecvError::Closed) => return Err(CallError::Closed),
            Err(TryRecvError::Empty) => {}
        }
        match tokio::time::timeout(timeout, &mut call.answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(CallError::Closed),
            Err(_) => Err(CallError::Timeout(timeout)),
        }
    }

    /// Sends a request that nobody answers.
    pub fn oneway(&self, request: Command) -> Result<(), CallError> {
        self.serve(&request.oneway())
    }

    /// Answers a request of the server's.
    pub fn answer(&self, opaque: i32, answer: Command) {
        self.connection.complete_with(opaque, || answer);
    }

    fn serve(&self, request: &Command) -> Result<(), CallError> {
        let mut output = Output::default();
        let served = {
            let mut session = self.session.lock();
            let session = session.as_mut().filter(|_| !self.is_closed()).ok_or(CallError::Closed)?;
            catch_unwind(AssertUnwindSafe(|| {
                let frame = request.as_frame(Encoding::Binary);
                self.service.request(session, &self.connection, &frame, &mut output);
                self.service.burst_end(session, &self.connection, &mut output);
            }))
        };
        if served.is_err() {
            tracing::error!(code = request.code, "a request's handler panicked; its connection is closed");
            self.connection.close();
            return Err(CallError::Closed);
        }
        self.dispatch(output);
        Ok(())
    }

    /// Takes out what the server has queued, until there is nothing; then the next to queue something comes here.
    fn deliver(self: &Arc<Self>) {
        let waker = Waker::from(Arc::new(Delivery(Arc::downgrade(self))));
        loop {
            let mut output = Output::default();
            let stage = self.connection.collect(&mut output);
            self.dispatch(output);
            if stage >= Stage::Closing {
                return self.connection.finish();
            }
            if self.connection.park(0, stage, &Context::from_waker(&waker)) {
                return;
            }
        }
    }

    fn dispatch(&self, output: Output) {
        if output.is_empty() {
            return;
        }
        let read = output.for_each_frame(|frame| {
            if frame.flag & roxmq_protocol::header::FLAG_RESPONSE != 0 {
                self.connection.complete_with(frame.opaque, || frame);
            } else {
                (self.take_request)(frame);
            }
        });
        if let Err(error) = read {
            tracing::error!(%error, "the server sent what isn't a frame to a peer in its own process");
            self.connection.close();
        }
    }
}

impl<S: Service> Wake for Delivery<S> {
    fn wake(self: Arc<Self>) {
        if let Some(connection) = self.0.upgrade() {
            connection.deliver();
        }
    }
}

impl<S: Service> Drop for LocalConnection<S> {
    fn drop(&mut self) {
        self.connection.finish();
        if let Some(session) = self.session.get_mut().take() {
            self.service.close(session, &self.connection);
        }
    }
}

impl<S: Service> fmt::Debug for LocalConnection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalConnection").field("connection", &self.connection).finish_non_exhaustive()
    }
}
