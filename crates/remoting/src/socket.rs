//! A TCP socket that is driven by one task, and written to by others while that task sleeps.

use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The task's side.
#[derive(Debug)]
pub(crate) struct Socket {
    read: OwnedReadHalf,
    writer: SocketWriter,
}

/// The others' side. The socket stays open as long as one is left.
#[derive(Clone, Debug)]
pub(crate) struct SocketWriter(Arc<OwnedWriteHalf>);

impl Socket {
    pub fn new(stream: TcpStream) -> Self {
        let (read, write) = stream.into_split();
        Socket { read, writer: SocketWriter(Arc::new(write)) }
    }

    pub fn writer(&self) -> SocketWriter {
        self.writer.clone()
    }
}

impl SocketWriter {
    /// Writes what the socket takes at once; pending if it takes nothing.
    pub fn write(&self, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = match slices {
            [one] => self.0.try_write(one),
            many => self.0.try_write_vectored(many),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            written => Poll::Ready(written),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.read).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            if let Poll::Ready(written) = self.writer.write(slices) {
                return Poll::Ready(written);
            }
            ready!(self.read.as_ref().poll_write_ready(context))?;
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match shutdown(self.read.as_ref(), Shutdown::Write) {
            // The peer was faster.
            Err(Errno::NOTCONN) | Ok(()) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}
