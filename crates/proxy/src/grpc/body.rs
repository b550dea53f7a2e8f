//! What a client sends in a call, as it comes in.

use bytes::Bytes;
use h2::RecvStream;
use http_body::{Body, Frame};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

#[derive(Debug)]
pub struct RequestBody {
    /// What was looked at already.
    first: Option<Bytes>,
    stream: RecvStream,
    /// All data has come; trailers may follow.
    data_ended: bool,
}

impl RequestBody {
    pub fn new(stream: RecvStream) -> Self {
        RequestBody { first: None, stream, data_ended: false }
    }

    /// All of it, if it has come and in one piece. What has come stays to be read.
    pub fn at_once(&mut self) -> Option<&Bytes> {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(Some(Ok(bytes))) = self.poll_data(&mut context) {
            self.first = Some(bytes);
        }
        self.first.as_ref().filter(|_| self.stream.is_end_stream())
    }

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, h2::Error>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let data = ready!(self.stream.poll_data(context));
        if let Some(Ok(bytes)) = &data {
            // What was taken is gone, and the client may send as much again.
            self.stream.flow_control().release_capacity(bytes.len())?;
        }
        Poll::Ready(data)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        if !self.data_ended {
            match ready!(self.poll_data(context)) {
                Some(data) => return Poll::Ready(Some(data.map(Frame::data))),
                None => self.data_ended = true,
            }
        }
        let trailers = ready!(self.stream.poll_trailers(context)?);
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }
}
