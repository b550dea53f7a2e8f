//! The task of one connection: takes, writes, reads, serves, and sleeps when none of it goes on.
//!
//! It is one hand-written loop, because a small frame's whole budget is a microsecond: no channel, no second task,
//! no lock held while serving. While it sleeps it holds no buffers.

use crate::connection::{Abort, Connection, Stage};
use crate::incoming::Incoming;
use crate::output::Output;
use crate::registry::Registry;
use crate::scratch;
use crate::server::Running;
use crate::service::Service;
use roxmq_protocol::frame::{Frame, FrameError};
use std::future::Future;
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Above it no more requests are served before some of the answers have been sent.
const OUTPUT_BYTES_PAUSE: usize = 4 * 1024 * 1024;
/// After so many rounds other tasks get a turn.
const ROUNDS_MAX: usize = 4;
/// How long the peer gets to close its side after we closed ours; without that a reset, provoked by bytes that nobody
/// read, could destroy answers on their way. And how long promised answers get after the peer has closed its side.
const LINGER: Duration = Duration::from_secs(1);

pub(crate) struct Driver<S: Service, IO> {
    io: IO,
    service: Arc<S>,
    connection: Arc<Connection>,
    registry: Arc<Registry>,
    /// Gone after `Service::close`.
    session: Option<S::Session>,
    incoming: Incoming,
    output: Output,
    /// Something was written since the last flush, which only TLS needs.
    unflushed: bool,
    ending: Ending,
    /// None for a connection that was not accepted.
    _running: Option<Running>,
}

/// The way to the end, once nothing more is served.
enum Ending {
    NotYet,
    /// The peer has closed its side, but may still read: what is left is to send the output, and promised answers.
    PeerClosed {
        over: Pin<Box<Sleep>>,
    },
    /// The requests can't be read any further.
    BrokenFrame,
    /// Our side is closed.
    Lingering {
        over: Pin<Box<Sleep>>,
        /// What comes are frames still.
        frames_follow: bool,
    },
}

/// Why a connection ended at once.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0:?}")]
    Aborted(Abort),
}

impl<S: Service, IO> Driver<S, IO> {
    /// `received` are bytes that were read from the stream already.
    pub fn new(
        io: IO,
        received: Vec<u8>,
        service: Arc<S>,
        connection: Arc<Connection>,
        registry: Arc<Registry>,
        running: Option<Running>,
    ) -> Self {
        registry.add(&connection);
        let session = Some(service.open(&connection));
        Driver {
            io,
            service,
            connection,
            registry,
            session,
            incoming: Incoming::starting_with(received),
            output: Output::default(),
            unflushed: false,
            ending: Ending::NotYet,
            _running: running,
        }
    }

    fn close_session(&mut self) {
        if let Some(session) = self.session.take() {
            self.service.close(session, &self.connection);
        }
    }
}

/// Nothing in it relies on staying where it is.
impl<S: Service, IO: Unpin> Unpin for Driver<S, IO> {}

impl<S: Service, IO: AsyncRead + AsyncWrite + Unpin> Future for Driver<S, IO> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let driver = self.get_mut();
        if driver.output.is_empty() {
            driver.output = scratch::take_output();
        }
        let driven = catch_unwind(AssertUnwindSafe(|| driver.drive(context)));
        if driver.output.is_empty() {
            scratch::give_back(std::mem::take(&mut driver.output));
        }
        let remote = driver.connection.remote();
        match driven {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(()))) => tracing::debug!(%remote, "connection closed"),
            Ok(Poll::Ready(Err(Failure::Io(error)))) => tracing::debug!(%remote, %error, "connection lost"),
            Ok(Poll::Ready(Err(Failure::Aborted(reason)))) => driver.log_abort(reason),
            Err(_) => tracing::error!(%remote, "a request's handler panicked; its connection is closed"),
        }
        Poll::Ready(())
    }
}

impl<S: Service, IO: AsyncRead + AsyncWrite + Unpin> Driver<S, IO> {
    fn drive(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        for _ in 0..ROUNDS_MAX {
            let stage = self.connection.collect(&mut self.output);
            if let Stage::Aborted(reason) = stage {
                return Poll::Ready(Err(Failure::Aborted(reason)));
            }
            let all_sent = self.write(context)?.is_ready();
            if stage == Stage::Closing || !matches!(self.ending, Ending::NotYet) {
                if all_sent && self.end(context)?.is_ready() {
                    return Poll::Ready(Ok(()));
                }
            } else if self.output.len() < OUTPUT_BYTES_PAUSE {
                if self.incoming.is_paused() {
                    self.serve(None);
                    continue;
                }
                if self.read(context)?.is_ready() {
                    continue;
                }
                if stage == Stage::Draining && all_sent && !self.connection.has_late_answers() {
                    self.connection.close();
                    continue;
                }
            }
            if self.connection.park(self.output.len(), stage, context) {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes as much as the socket takes; ready when all is on its way.
    fn write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Driver { io, connection, output, unflushed, .. } = self;
        ready!(output.send(|slices| {
            let written = ready!(Pin::new(&mut *io).poll_write_vectored(context, slices));
            *unflushed = true;
            connection.mark_active();
            Poll::Ready(written)
        }))?;
        if self.unflushed {
            ready!(Pin::new(&mut self.io).poll_flush(context))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads once and serves what came; pending when there is nothing to read.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        scratch::with_read_buffer(|buffer| {
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer))?;
            self.connection.mark_active();
            match buffer.filled() {
                [] => self.peer_closed(),
                fresh => self.serve(Some(fresh)),
            }
            Poll::Ready(Ok(()))
        })
    }

    /// Nothing of the peer's waits any longer. Answers that somebody is about to give get a little time.
    fn peer_closed(&mut self) {
        self.ending = Ending::PeerClosed { over: Box::pin(tokio::time::sleep(LINGER)) };
        self.connection.advance(Stage::PeerClosed);
        self.close_session();
    }

    /// Serves a burst: the frames in `fresh`, or those that waited behind a pause.
    fn serve(&mut self, fresh: Option<&[u8]>) {
        let Driver { service, connection, session, incoming, output, .. } = self;
        let Some(session) = session else {
            return;
        };
        let mut requests = false;
        let mut serve = |frame: &Frame<'_>| {
            if frame.header.is_response() {
                connection.complete(frame);
                return ControlFlow::Continue(());
            }
            requests = true;
            service.request(session, connection, frame, output);
            if output.len() < OUTPUT_BYTES_PAUSE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let served = match fresh {
            Some(bytes) => incoming.feed(bytes, &mut serve),
            None => incoming.resume(&mut serve),
        };
        if requests {
            service.burst_end(session, connection, output);
        }
        if let Err(error) = served {
            self.break_off(&error);
        }
    }

    /// The requests before the broken frame are answered, then the connection closes.
    fn break_off(&mut self, error: &FrameError) {
        if let Some(left_out) = self.registry.broken_frames.next(Instant::now()) {
            let remote = self.connection.remote();
            tracing::warn!(%remote, %error, left_out, "not a frame of the remoting protocol; closing");
        }
        self.incoming = Incoming::default();
        self.ending = Ending::BrokenFrame;
        self.connection.close();
    }

    /// Everything has been sent: closes our side, then waits a little for the peer to close its own. Answers that it sends
    /// until then are taken, requests are not.
    fn end(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Ending::PeerClosed { over } = &mut self.ending {
            if self.connection.has_late_answers() {
                ready!(over.as_mut().poll(context));
            }
            return Poll::Ready(Ok(()));
        }
        if !matches!(self.ending, Ending::Lingering { .. }) {
            ready!(Pin::new(&mut self.io).poll_shutdown(context))?;
            let frames_follow = !matches!(self.ending, Ending::BrokenFrame);
            let over = Box::pin(tokio::time::sleep(LINGER));
            self.ending = Ending::Lingering { over, frames_follow };
        }
        let Driver { io, connection, incoming, ending, .. } = self;
        let Ending::Lingering { over, frames_follow } = ending else {
            return Poll::Ready(Ok(()));
        };
        if over.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut take = |frame: &Frame<'_>| {
            if frame.header.is_response() {
                connection.complete(frame);
            }
            ControlFlow::Continue(())
        };
        if incoming.is_paused() {
            *frames_follow &= incoming.resume(&mut take).is_ok();
        }
        scratch::with_read_buffer(|buffer| {
            loop {
                let mut buffer = ReadBuf::new(buffer);
                ready!(Pin::new(&mut *io).poll_read(context, &mut buffer))?;
                match buffer.filled() {
                    [] => return Poll::Ready(Ok(())),
                    fresh => *frames_follow = *frames_follow && incoming.feed(fresh, &mut take).is_ok(),
                }
            }
        })
    }

    fn log_abort(&self, reason: Abort) {
        let remote = self.connection.remote();
        match reason {
            Abort::Idle => tracing::debug!(%remote, "closed: nothing came or went within the idle timeout"),
            Abort::OutputLimit => tracing::warn!(
                %remote,
                limit = self.connection.output_bytes_max(),
                "closed: the peer doesn't read, and more than the limit waits to be sent to it",
            ),
            Abort::GraceOver => {
                tracing::warn!(%remote, "closed: still busy at the end of the time for shutting down");
            }
            Abort::Dropped => tracing::debug!(%remote, "closed: its owner is gone"),
        }
    }
}

impl<S: Service, IO> Drop for Driver<S, IO> {
    fn drop(&mut self) {
        self.connection.finish();
        self.registry.remove(self.connection.id());
        self.close_session();
    }
}
