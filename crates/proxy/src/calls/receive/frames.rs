//! The stream of answers to a receive: a status, the messages, the server's time.

use super::release::{Source, Undelivered};
use crate::proxy::now_ms;
use crate::refusal::Refusal;
use crate::schema::receive_message_response::Content;
use crate::schema::{Message, ReceiveMessageResponse, Status};
use crate::wire_time::timestamp;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::codegen::tokio_stream::Stream;

pub struct Frames {
    status: Option<Status>,
    messages: Option<Undelivered>,
    /// The time is still to come.
    timed: bool,
}

impl Frames {
    pub fn messages(status: Status, messages: Vec<Message>, source: Source) -> Self {
        Frames { status: Some(status), messages: Some(Undelivered::new(source, messages)), timed: true }
    }

    pub fn refusal(refusal: Refusal) -> Self {
        Frames { status: Some(refusal.into_status()), messages: None, timed: true }
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
        if !self.timed
            && let Some(messages) = &mut self.messages
        {
            messages.arrived();
        }
        std::mem::take(&mut self.timed).then(|| Content::DeliveryTimestamp(timestamp(now_ms())))
    }
}

impl Stream for Frames {
    type Item = Result<ReceiveMessageResponse, tonic::Status>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let content = self.get_mut().next();
        Poll::Ready(content.map(|content| Ok(ReceiveMessageResponse { content: Some(content) })))
    }
}
