//! One HTTP/2 connection: takes the calls that came together, sends in one write the answers that are known at once,
//! and makes tasks of the others.
//!
//! It answers every ping, asks a silent peer whether it is still there, and says goodbye to one that has had no call
//! open for a while, and to all when the server shuts down; what has begun is finished first.

use super::call::Call;
use super::routes::Begun;
use bytes::Bytes;
use h2::{Ping, PingPong, RecvStream};
use roxmq_remoting::{HttpConnection, burst};
use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The rest of the client's first words takes no longer.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// A silent peer is asked so often whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(60);
/// It has so long to answer.
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Of a call that the client sends, and of the answers of all: what may be under way.
const WINDOW_BYTES: u32 = 1024 * 1024;
const HEADER_BYTES_MAX: u32 = 16 * 1024;
const SEND_BUFFER_BYTES_MAX: usize = 400 * 1024;
/// Calls that are served before the answers of the first are sent.
const BURST_CALLS_MAX: usize = 256;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub streams_max: u32,
    /// Without a call for so long the client is told to go; it comes again when it has one.
    pub idle: Duration,
}

thread_local! {
    /// Room for the calls that come together, which no connection needs while it sleeps.
    static CALLS: Cell<Vec<Call>> = const { Cell::new(Vec::new()) };
}

type Http = h2::server::Connection<Box<dyn roxmq_remoting::Stream>, Bytes>;

/// Until the peer goes, or the server shuts down and the last call is answered. `drain` is called at a shutdown.
pub async fn serve(
    connection: HttpConnection,
    limits: Limits,
    call: impl Fn(http::Request<RecvStream>) -> Begun,
    drain: impl Fn(),
) {
    let (remote, shutdown) = (connection.remote, connection.shutdown());
    let handshake = h2::server::Builder::new()
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_header_list_size(HEADER_BYTES_MAX)
        .max_send_buffer_size(SEND_BUFFER_BYTES_MAX)
        .max_concurrent_streams(limits.streams_max)
        .handshake(connection.stream);
    // On its own, for its room is needed only once, and the connection's lasts as long as the connection.
    let handshake = Box::pin(tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake));
    let http = match handshake.await {
        Ok(Ok(http)) => http,
        Ok(Err(error)) => return tracing::debug!(%remote, %error, "no HTTP/2"),
        Err(_) => return tracing::debug!(%remote, "closed: the HTTP/2 preface didn't end"),
    };
    let mut serving = Serving::new(http, limits.idle, remote);
    let mut shutdown = std::pin::pin!(shutdown);
    let mut draining = false;
    let ended = std::future::poll_fn(|context| {
        if !draining && shutdown.as_mut().poll(context).is_ready() {
            draining = true;
            drain();
            serving.http.graceful_shutdown();
        }
        serving.poll(&call, context)
    });
    match ended.await {
        Ok(()) => tracing::debug!(%remote, "HTTP/2 connection closed"),
        Err(error) => tracing::debug!(%remote, %error, "HTTP/2 connection lost"),
    }
}

struct Serving {
    /// Apart, so that neither it nor the rest is rounded up by much when it is allocated.
    http: Box<Http>,
    pings: Option<PingPong>,
    alarm: Pin<Box<Sleep>>,
    idle: Duration,
    /// When there was last a call open, or the connection was new.
    busy: Instant,
    had_calls: bool,
    /// When the peer last showed that it is there.
    heard: Instant,
    asked: Option<Instant>,
    remote: SocketAddr,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Http(#[from] h2::Error),
    #[error("the peer didn't answer a ping within {} s", PING_TIMEOUT.as_secs())]
    Silent,
}

impl Serving {
    fn new(mut http: Http, idle: Duration, remote: SocketAddr) -> Self {
        let now = Instant::now();
        Serving {
            pings: http.ping_pong(),
            http: Box::new(http),
            alarm: Box::pin(tokio::time::sleep(idle.min(PING_INTERVAL))),
            idle,
            busy: now,
            had_calls: false,
            heard: now,
            asked: None,
            remote,
        }
    }

    fn poll(
        &mut self,
        call: &impl Fn(http::Request<RecvStream>) -> Begun,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        let mut calls = CALLS.take();
        let polled = self.poll_with(&mut calls, call, context);
        CALLS.set(calls);
        polled
    }

    /// Leaves no calls behind.
    fn poll_with(
        &mut self,
        calls: &mut Vec<Call>,
        call: &impl Fn(http::Request<RecvStream>) -> Begun,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        loop {
            let accepted = self.accept(calls, call, context);
            if !calls.is_empty() {
                self.serve_calls(calls);
                if accepted.is_pending() {
                    // The answers are sent by the next look for calls.
                    continue;
                }
            }
            if accepted.is_ready() {
                return accepted;
            }
            self.hear_pong(context);
            self.note_calls();
            if self.alarm.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            if let Err(failure) = self.look_at_the_clock() {
                return Poll::Ready(Err(failure));
            }
        }
    }

    /// Takes what calls have come; ready at the end of the connection.
    fn accept(
        &mut self,
        calls: &mut Vec<Call>,
        call: &impl Fn(http::Request<RecvStream>) -> Begun,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        while calls.len() < BURST_CALLS_MAX {
            match std::task::ready!(self.http.poll_accept(context)) {
                Some(Ok((request, respond))) => calls.push(Call::new(call(request), respond)),
                Some(Err(error)) => return Poll::Ready(Err(error.into())),
                None => return Poll::Ready(Ok(())),
            }
        }
        Poll::Pending
    }

    /// What these calls ask of the broker is done together; then most of them have their answers.
    fn serve_calls(&mut self, calls: &mut Vec<Call>) {
        self.heard = Instant::now();
        // Each call is polled again, here or in its task.
        let mut context = Context::from_waker(Waker::noop());
        let remote = self.remote;
        burst(|| calls.retain_mut(|call| is_pending(call, &mut context, remote)));
        for mut call in calls.drain(..) {
            if is_pending(&mut call, &mut context, remote) {
                tokio::spawn(call);
            }
        }
    }

    /// What begins and what ends a call both come here.
    fn note_calls(&mut self) {
        let has_calls = self.http.has_streams();
        if has_calls || self.had_calls {
            self.busy = Instant::now();
        }
        self.had_calls = has_calls;
    }

    fn hear_pong(&mut self, context: &mut Context<'_>) {
        let Some(pings) = &mut self.pings else { return };
        if self.asked.is_some() && pings.poll_pong(context).is_ready() {
            self.asked = None;
            self.heard = Instant::now();
        }
    }

    /// Asks, gives up or says goodbye if it is time to, and sets the next alarm.
    fn look_at_the_clock(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if !self.had_calls && now >= self.busy + self.idle {
            self.http.graceful_shutdown();
            self.busy = now;
        }
        if self.asked.is_some_and(|asked| now >= asked + PING_TIMEOUT) {
            return Err(Failure::Silent);
        }
        if self.asked.is_none()
            && now >= self.heard + PING_INTERVAL
            && let Some(pings) = &mut self.pings
        {
            pings.send_ping(Ping::opaque())?;
            self.asked = Some(now);
        }
        let answer = self.asked.map_or(self.heard + PING_INTERVAL, |asked| asked + PING_TIMEOUT);
        self.alarm.as_mut().reset(answer.min(self.busy + self.idle));
        Ok(())
    }
}

/// A call whose handler panics ends its stream, and no other.
fn is_pending(call: &mut Call, context: &mut Context<'_>, remote: SocketAddr) -> bool {
    let polled = catch_unwind(AssertUnwindSafe(|| call.poll_answer(context)));
    if polled.is_err() {
        tracing::error!(%remote, "the handler of a call panicked");
    }
    polled.is_ok_and(|polled| polled.is_pending())
}
