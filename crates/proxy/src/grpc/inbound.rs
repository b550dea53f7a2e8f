//! The body of a call as it comes in. A message is handed on when all of it is there, so that nothing is allocated for
//! what a client has only announced; one that is too large is refused by the five bytes before it.

use super::framing::{Framing, TooLarge};
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tonic::Status;

/// Smaller pieces are copied together: each would keep the buffer that it was read into.
const PIECE_BYTES_MIN: usize = 4096;

pub struct Inbound<B> {
    body: B,
    limit: usize,
    framing: Framing,
    /// Of whole messages, on their way out.
    whole: VecDeque<Bytes>,
    /// Of the message that isn't whole, without the small pieces at the end.
    held: VecDeque<Bytes>,
    small: BytesMut,
}

impl<B> Inbound<B> {
    /// With messages of at most `limit` bytes.
    pub fn new(body: B, limit: usize) -> Self {
        Inbound {
            body,
            limit,
            framing: Framing::default(),
            whole: VecDeque::new(),
            held: VecDeque::new(),
            small: BytesMut::new(),
        }
    }

    fn take(&mut self, mut piece: Bytes) -> Result<(), TooLarge> {
        let ends_at = self.framing.read(&piece, self.limit)?;
        if ends_at > 0 {
            self.hold_small();
            self.whole.append(&mut self.held);
            self.whole.push_back(piece.split_to(ends_at));
        }
        if piece.len() >= PIECE_BYTES_MIN {
            self.hold_small();
            self.held.push_back(piece);
        } else {
            self.small.extend_from_slice(&piece);
        }
        Ok(())
    }

    fn hold_small(&mut self) {
        if !self.small.is_empty() {
            self.held.push_back(self.small.split().freeze());
        }
    }

    fn refusal(&self, TooLarge { bytes }: TooLarge) -> Status {
        Status::resource_exhausted(format!(
            "a message of the call has {bytes} bytes, the limit is {} (grpcMaxInboundMessageSize)",
            self.limit
        ))
    }
}

impl<B> Body for Inbound<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        loop {
            if let Some(piece) = this.whole.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                // The client is gone, or has thought better of it.
                Some(Err(error)) => return Poll::Ready(Some(Err(Status::cancelled(error.to_string())))),
                None if this.framing.is_between() => return Poll::Ready(None),
                None => return Poll::Ready(Some(Err(Status::internal("the call ends within a message")))),
            };
            match frame.into_data() {
                Ok(piece) => {
                    if let Err(too_large) = this.take(piece) {
                        return Poll::Ready(Some(Err(this.refusal(too_large))));
                    }
                }
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Hands out its pieces, and is over after them or has no more for now.
    struct Pieces {
        pieces: VecDeque<Bytes>,
        ends: bool,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.pieces.pop_front() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
                None if self.ends => Poll::Ready(None),
                None => Poll::Pending,
            }
        }
    }

    fn message(len: usize) -> Vec<u8> {
        let mut message = vec![0];
        message.extend_from_slice(&(len as u32).to_be_bytes());
        message.extend((0..len).map(|at| at as u8));
        message
    }

    /// What comes out for now, and how it ends if it does.
    fn read(bytes: &[u8], piece_bytes: usize, ends: bool) -> (Vec<u8>, Option<Result<(), tonic::Code>>) {
        let pieces = bytes.chunks(piece_bytes).map(Bytes::copy_from_slice).collect();
        let mut inbound = Inbound::new(Pieces { pieces, ends }, 10_000);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut read = Vec::new();
        loop {
            match Pin::new(&mut inbound).poll_frame(&mut context) {
                Poll::Ready(Some(Ok(frame))) => read.extend(frame.into_data().expect("data")),
                Poll::Ready(Some(Err(status))) => return (read, Some(Err(status.code()))),
                Poll::Ready(None) => return (read, Some(Ok(()))),
                Poll::Pending => return (read, None),
            }
        }
    }

    #[test]
    fn whole_messages_pass_in_whatever_pieces() {
        let all = [message(3), message(0), message(10_000), message(7)].concat();
        for piece_bytes in [1, 2, 5, 8, 4_095, 4_096, 9_999, all.len()] {
            assert_eq!(read(&all, piece_bytes, true), (all.clone(), Some(Ok(()))), "{piece_bytes}");
        }
    }

    #[test]
    fn what_is_not_whole_is_kept_back() {
        let (first, second) = (message(3), message(9_000));
        for cut in [1, 4, 5, 6, 9_004] {
            let bytes = [&first[..], &second[..cut]].concat();
            for piece_bytes in [1, 7, 5_000, bytes.len()] {
                assert_eq!(read(&bytes, piece_bytes, false), (first.clone(), None), "{cut} {piece_bytes}");
                let broken = Some(Err(tonic::Code::Internal));
                assert_eq!(read(&bytes, piece_bytes, true), (first.clone(), broken), "{cut} {piece_bytes}");
            }
        }
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_comes() {
        let bytes = [&message(3)[..], &message(10_001)[..5]].concat();
        for piece_bytes in [1, 4, bytes.len()] {
            let (_, end) = read(&bytes, piece_bytes, false);
            assert_eq!(end, Some(Err(tonic::Code::ResourceExhausted)), "{piece_bytes}");
        }
    }
}
