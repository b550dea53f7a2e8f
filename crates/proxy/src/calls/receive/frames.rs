//! The stream of answers to a receive: a status, the messages, the server's time.

use super::release::Undelivered;
use crate::proxy::now_ms;
use crate::refusal::Refusal;
use crate::schema::receive_message_response::Content;
use crate::schema::{ReceiveMessageResponse, Status};
use crate::wire_time::timestamp;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::codegen::tokio_stream::Stream;

pub struct Frames {
    status: Option<Status>,
    messages: Option<Undelivered>,
    /// The time is still to come.
    timed: bool,
    /// Everything was handed over to be sent.
    handed_over: bool,
}

impl Frames {
    pub fn messages(status: Status, messages: Undelivered) -> Self {
        Frames { messages: Some(messages), ..Frames::status(status) }
    }

    pub fn refusal(refusal: Refusal) -> Self {
        Frames::status(refusal.into_status())
    }

    fn status(status: Status) -> Self {
        Frames { status: Some(status), messages: None, timed: true, handed_over: false }
    }

    /// What a call gets that wasn't even looked at.
    pub fn refusal_alone(refusal: Refusal) -> Self {
        Frames { timed: false, ..Frames::refusal(refusal) }
    }

    fn next(&mut self) -> Option<Content> {
        if let Some(status) = self.status.take() {
            return Some(Content::Status(status));
        }
        if let Some(message) = self.messages.as_mut().and_then(Undelivered::next) {
            return Some(Content::Message(message));
        }
        std::mem::take(&mut self.timed).then(|| Content::DeliveryTimestamp(timestamp(now_ms())))
    }
}

impl Stream for Frames {
    type Item = Result<ReceiveMessageResponse, tonic::Status>;

    /// The end is there only when it is asked for once more: frames are collected until there is none for now, and
    /// sent when the client takes them. So who comes back for the end has sent them.
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(content) = this.next() {
            return Poll::Ready(Some(Ok(ReceiveMessageResponse { content: Some(content) })));
        }
        if let Some(messages) = &mut this.messages {
            if !std::mem::replace(&mut this.handed_over, true) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            messages.arrived();
        }
        Poll::Ready(None)
    }
}
