//! A connection without a socket: its peer is in this process.
//!
//! The service sees a [`Connection`] like any other, so that whatever holds for clients over the network holds here:
//! sessions, promised answers, requests of the server's own, the end of a connection. There is no task behind it. A
//! request is served on the thread that calls, and what the server sends comes out on the thread that sends it.
//!
//! Requests that are called within one [`burst`] are a burst for the service, too.

use crate::calls::{Call, CallError, in_time};
use crate::connection::{Connection, Ends, Origin, Stage};
use crate::output::Output;
use crate::service::Service;
use parking_lot::Mutex;
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Encoding;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
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
    session: Mutex<Option<Session<S>>>,
    take_request: Box<TakeRequest>,
}

struct Session<S: Service> {
    of_service: S::Session,
    /// What the requests of a burst have brought until it ends.
    output: Output,
    in_burst: bool,
}

thread_local! {
    /// Whose requests wait for the end of this thread's burst; none outside of one.
    static BURST: RefCell<Option<Vec<Arc<dyn EndBurst>>>> = const { RefCell::new(None) };
}

trait EndBurst {
    fn end_burst(&self);
}

/// Whatever `calls` asks of connections is served together when it returns. A call that was polled in it has its
/// answer afterwards at the earliest, and wakes nobody for that: it has to be polled again.
pub fn burst(calls: impl FnOnce()) {
    /// Ends the burst even if the calls panic.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            for connection in BURST.take().into_iter().flatten() {
                connection.end_burst();
            }
        }
    }

    BURST.set(Some(Vec::new()));
    let _end = End;
    calls();
}

/// Wakes nobody: what was queued is taken out at once.
struct Delivery<S: Service>(Weak<LocalConnection<S>>);

impl<S: Service> LocalConnection<S> {
    pub fn open(
        service: Arc<S>,
        ends: LocalEnds,
        take_request: impl Fn(Command) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let ends = Ends { remote: ends.remote, local: ends.local, origin: Origin::ThisProcess };
        // What the peer is sent doesn't wait here, so there is nothing to bound.
        let connection = Arc::new(Connection::new(ends, usize::MAX));
        let of_service = service.open(&connection);
        let session = Mutex::new(Some(Session { of_service, output: Output::default(), in_burst: false }));
        let opened =
            Arc::new(LocalConnection { service, connection, session, take_request: Box::new(take_request) });
        opened.deliver();
        opened
    }

    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Sends a request and waits for its answer, which often is there when the service returns.
    pub async fn call(
        self: &Arc<Self>,
        mut request: Command,
        timeout: Duration,
    ) -> Result<Command, CallError> {
        let mut call = self.begin(&mut request).await?;
        match call.answer.try_recv() {
            Ok(answer) => return Ok(answer),
            Err(TryRecvError::Closed) => return Err(CallError::Closed),
            Err(TryRecvError::Empty) => {}
        }
        in_time(timeout, &mut call.answer).await
    }

    /// As [`LocalConnection::call`], for a request that waits for something. Once `given_up` is done nobody wants that
    /// any more: the request is called off, and its answer, which comes soon then, says what it has taken by then.
    ///
    /// The request is boxed so that its room is free while it waits.
    pub async fn call_until(
        self: &Arc<Self>,
        mut request: Box<Command>,
        timeout: Duration,
        given_up: impl Future<Output = ()>,
    ) -> Result<Command, CallError> {
        let mut call = self.begin(&mut request).await?;
        drop(request);
        let opaque = call.opaque;
        let answered = std::pin::pin!(async {
            tokio::select! {
                biased;
                answer = &mut call.answer => return answer,
                () = given_up => {}
            }
            self.connection.call_off(opaque);
            self.service.call_off(&self.connection, opaque);
            (&mut call.answer).await
        });
        in_time(timeout, answered).await
    }

    async fn begin(self: &Arc<Self>, request: &mut Command) -> Result<Call<'_>, CallError> {
        let call = self.connection.begin_call()?;
        request.opaque = call.opaque;
        if self.serve(request)? == Served::WithItsBurst {
            polled_again().await;
        }
        Ok(call)
    }

    /// Sends a request that nobody answers.
    pub fn oneway(self: &Arc<Self>, request: Command) -> Result<(), CallError> {
        self.serve(&request.oneway()).map(drop)
    }

    /// Answers a request of the server's.
    pub fn answer(&self, opaque: i32, answer: Command) {
        self.connection.complete_with(opaque, || answer);
    }

    fn serve(self: &Arc<Self>, request: &Command) -> Result<Served, CallError> {
        let mut session = self.session.lock();
        let open = session.as_mut().filter(|_| !self.is_closed()).ok_or(CallError::Closed)?;
        let Session { of_service, output, in_burst } = open;
        self.catch(request.code, || {
            let frame = request.as_frame(Encoding::Binary);
            self.service.request(of_service, &self.connection, &frame, output);
        })?;
        if self.join_burst() {
            *in_burst = true;
            return Ok(Served::WithItsBurst);
        }
        let output = self.finish_burst(open)?;
        drop(session);
        self.dispatch(output);
        Ok(Served::Now)
    }

    /// False if this thread has no burst.
    fn join_burst(self: &Arc<Self>) -> bool {
        BURST.with_borrow_mut(|burst| {
            let Some(connections) = burst else { return false };
            // Most bursts are of one client; that one is here twice does no harm.
            let this = Arc::as_ptr(self).cast::<()>();
            if connections.last().is_none_or(|last| Arc::as_ptr(last).cast() != this) {
                connections.push(Arc::clone(self) as Arc<dyn EndBurst>);
            }
            true
        })
    }

    fn finish_burst(&self, session: &mut Session<S>) -> Result<Output, CallError> {
        session.in_burst = false;
        let Session { of_service, output, .. } = session;
        self.catch(0, || self.service.burst_end(of_service, &self.connection, output))?;
        Ok(std::mem::take(output))
    }

    fn catch(&self, code: i32, serve: impl FnOnce()) -> Result<(), CallError> {
        catch_unwind(AssertUnwindSafe(serve)).map_err(|_| {
            tracing::error!(code, "a request's handler panicked; its connection is closed");
            self.connection.close();
            CallError::Closed
        })
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

/// When a request's answer may be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    Now,
    /// It is served when the burst ends.
    WithItsBurst,
}

impl<S: Service> EndBurst for LocalConnection<S> {
    fn end_burst(&self) {
        let mut session = self.session.lock();
        // Another thread may have ended it with a request of its own.
        let Some(open) = session.as_mut().filter(|open| open.in_burst) else { return };
        // A panic is logged and has closed the connection, which ends the calls.
        let Ok(output) = self.finish_burst(open) else { return };
        drop(session);
        self.dispatch(output);
    }
}

/// Done when it is polled a second time.
async fn polled_again() {
    let mut polled = false;
    std::future::poll_fn(
        |_| {
            if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
        },
    )
    .await;
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
            self.service.close(session.of_service, &self.connection);
        }
    }
}

impl<S: Service> fmt::Debug for LocalConnection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalConnection").field("connection", &self.connection).finish_non_exhaustive()
    }
}
