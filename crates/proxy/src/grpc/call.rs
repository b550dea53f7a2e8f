//! One call: its answer is awaited, then sent as fast as the client takes it.
//!
//! A call is polled first on the task of its connection, which sends what is known at once. If it takes longer it
//! becomes a task, which ends when the client gives the call up, or its time is over before there is an answer.

use super::protocol;
use super::routes::Begun;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::Body as _;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;
use tonic::body::Body;

pub type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

pub enum Answer {
    /// The one message of a call that went well, with its prefix.
    Message(Bytes),
    Response(http::Response<Body>),
}

pub const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const STATUS_OK: HeaderValue = HeaderValue::from_static("0");

pub struct Call {
    respond: SendResponse<Bytes>,
    stage: Stage,
    timeout: Option<Duration>,
    /// Only a task's time can be over.
    deadline: Option<Pin<Box<Sleep>>>,
}

enum Stage {
    Answering(Answering),
    Sending(Sending),
}

/// The rest of a response whose head is sent.
struct Sending {
    stream: SendStream<Bytes>,
    body: Pin<Box<Body>>,
}

impl Call {
    pub fn new(Begun { answering, timeout }: Begun, respond: SendResponse<Bytes>) -> Self {
        Call { respond, stage: Stage::Answering(answering), timeout, deadline: None }
    }

    /// Without a look at whether the client still waits.
    pub fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.stage {
                Stage::Answering(answering) => match ready!(answering.as_mut().poll(context)) {
                    Answer::Message(message) => {
                        self.send_message(message);
                        return Poll::Ready(());
                    }
                    Answer::Response(response) => match self.send_head(response) {
                        Some(sending) => self.stage = Stage::Sending(sending),
                        None => return Poll::Ready(()),
                    },
                },
                Stage::Sending(sending) => return sending.poll(context),
            }
        }
    }

    /// If the client has given the call up there is nobody to send it to.
    fn send_message(&mut self, message: Bytes) {
        let mut response = http::Response::new(());
        response.headers_mut().insert(CONTENT_TYPE, GRPC);
        let Ok(mut stream) = self.respond.send_response(response, false) else { return };
        if stream.send_data(message, false).is_ok() {
            let mut trailers = HeaderMap::with_capacity(1);
            trailers.insert(STATUS, STATUS_OK);
            // As above.
            let _ = stream.send_trailers(trailers);
        }
    }

    /// None if nothing follows, or nobody is there.
    fn send_head(&mut self, response: http::Response<Body>) -> Option<Sending> {
        let (head, body) = response.into_parts();
        let is_all = body.is_end_stream();
        let stream = self.respond.send_response(http::Response::from_parts(head, ()), is_all).ok()?;
        (!is_all).then(|| Sending { stream, body: Box::pin(body) })
    }
}

impl Future for Call {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let call = self.get_mut();
        if let Stage::Answering(answering) = &mut call.stage {
            if call.respond.poll_reset(context).is_ready() {
                return Poll::Ready(());
            }
            if let Some(timeout) = call.timeout {
                let sleep = || Box::pin(tokio::time::sleep(timeout));
                if call.deadline.get_or_insert_with(sleep).as_mut().poll(context).is_ready() {
                    let late = Answer::Response(protocol::too_late(timeout).into_http());
                    *answering = Box::pin(std::future::ready(late));
                    call.timeout = None;
                }
            }
        }
        call.poll_answer(context)
    }
}

impl Sending {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if !ready!(self.poll_room(context)) {
                return Poll::Ready(());
            }
            let sent = match ready!(self.body.as_mut().poll_frame(context)) {
                None => self.stream.send_data(Bytes::new(), true),
                Some(Err(_)) => {
                    self.stream.send_reset(Reason::INTERNAL_ERROR);
                    return Poll::Ready(());
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => {
                        let is_last = self.body.is_end_stream();
                        match self.stream.send_data(bytes, is_last) {
                            Ok(()) if !is_last => continue,
                            ended => ended,
                        }
                    }
                    Err(frame) => self.stream.send_trailers(frame.into_trailers().unwrap_or_default()),
                },
            };
            if let Err(error) = sent {
                tracing::debug!(%error, "the client has given a call up");
            }
            return Poll::Ready(());
        }
    }

    /// Whether the client is still there, once it takes more: nothing is made before it can be sent.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        self.stream.reserve_capacity(1);
        while self.stream.capacity() == 0 {
            match ready!(self.stream.poll_capacity(context)) {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Poll::Ready(false),
            }
        }
        Poll::Ready(self.stream.poll_reset(context).is_pending())
    }
}
