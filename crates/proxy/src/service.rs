//! The service as gRPC calls it: each call's file does the work, and a refusal becomes the status of its answer.

use crate::access::{Guarded, StreamGuard};
use crate::calls;
use crate::client::Client;
use crate::proxy::{Proxy, call_site};
use crate::refusal::{Refusal, Result};
use crate::schema::messaging_service_server::MessagingService;
use crate::schema::*;
use crate::telemetry::{self, OutboundStream};
use std::sync::Arc;
use tonic::codegen::tokio_stream;
use tonic::{Request, Response, Status, Streaming, async_trait};

#[derive(Clone)]
pub struct Service {
    pub proxy: Arc<Proxy>,
}

/// For each call what answers it, and the answer that a refusal becomes.
macro_rules! answer {
    ($self:ident, $request:ident, $handle:path, $response:ident) => {
        Ok(Response::new(unrefused!($self, $request, $handle, $response)))
    };
}

macro_rules! unrefused {
    ($self:ident, $request:ident, $handle:path, $response:ident) => {{
        let handled = match $self.admit(&$request).await {
            Ok(()) => $handle(&$self.proxy, $request).await,
            Err(refusal) => Err(refusal),
        };
        handled.unwrap_or_else(|refusal: Refusal| $response {
            status: Some(refusal.into_status()),
            ..Default::default()
        })
    }};
}

impl Service {
    /// Whether the call may be made.
    async fn admit<M: Guarded>(&self, request: &Request<M>) -> Result<()> {
        match &self.proxy.access {
            None => Ok(()),
            Some(access) => {
                let source = call_site(request)?.peer.remote.ip();
                Box::pin(access.check_call(request.metadata(), source, request.get_ref())).await
            }
        }
    }

    /// Whose telemetry stream it is, and what its commands have to pass.
    async fn admit_stream(&self, opened: &Request<()>) -> Result<(Arc<Client>, Option<StreamGuard>)> {
        let guard = match &self.proxy.access {
            None => None,
            Some(access) => {
                let source = call_site(opened)?.peer.remote.ip();
                Some(StreamGuard::open(access, opened.metadata(), source).await?)
            }
        };
        Ok((self.proxy.client(opened)?, guard))
    }

    pub async fn send(&self, request: Request<SendMessageRequest>) -> SendMessageResponse {
        unrefused!(self, request, calls::send::handle, SendMessageResponse)
    }

    /// It waits for long, and the request's room is given back before.
    pub async fn receive(&self, request: Box<Request<ReceiveMessageRequest>>) -> calls::receive::Frames {
        match self.admit(&request).await {
            Ok(()) => calls::receive::handle(&self.proxy, request).await,
            Err(refusal) => calls::receive::Frames::refusal_alone(refusal),
        }
    }

    pub async fn ack(&self, request: Request<AckMessageRequest>) -> AckMessageResponse {
        unrefused!(self, request, calls::ack::handle, AckMessageResponse)
    }
}

/// Answers that are all there.
type Listed<T> = tokio_stream::Iter<std::iter::Map<std::vec::IntoIter<T>, fn(T) -> Result<T, Status>>>;
type Answer<T> = Result<Response<T>, Status>;

#[allow(clippy::needless_update, reason = "some answers are nothing but their status")]
#[async_trait]
impl MessagingService for Service {
    type ReceiveMessageStream = calls::receive::Frames;
    type PullMessageStream = Listed<PullMessageResponse>;
    type TelemetryStream = OutboundStream;

    async fn query_route(&self, request: Request<QueryRouteRequest>) -> Answer<QueryRouteResponse> {
        answer!(self, request, calls::query_route::handle, QueryRouteResponse)
    }

    async fn heartbeat(&self, request: Request<HeartbeatRequest>) -> Answer<HeartbeatResponse> {
        answer!(self, request, calls::heartbeat::handle, HeartbeatResponse)
    }

    async fn send_message(&self, request: Request<SendMessageRequest>) -> Answer<SendMessageResponse> {
        Ok(Response::new(self.send(request).await))
    }

    async fn query_assignment(
        &self,
        request: Request<QueryAssignmentRequest>,
    ) -> Answer<QueryAssignmentResponse> {
        answer!(self, request, calls::query_assignment::handle, QueryAssignmentResponse)
    }

    async fn receive_message(
        &self,
        request: Request<ReceiveMessageRequest>,
    ) -> Answer<Self::ReceiveMessageStream> {
        Ok(Response::new(self.receive(Box::new(request)).await))
    }

    async fn ack_message(&self, request: Request<AckMessageRequest>) -> Answer<AckMessageResponse> {
        Ok(Response::new(self.ack(request).await))
    }

    async fn forward_message_to_dead_letter_queue(
        &self,
        request: Request<ForwardMessageToDeadLetterQueueRequest>,
    ) -> Answer<ForwardMessageToDeadLetterQueueResponse> {
        answer!(self, request, calls::dead_letter::handle, ForwardMessageToDeadLetterQueueResponse)
    }

    async fn pull_message(&self, request: Request<PullMessageRequest>) -> Answer<Self::PullMessageStream> {
        let frames = match self.admit(&request).await {
            Ok(()) => calls::pull::handle(&self.proxy, request).await,
            Err(refusal) => calls::pull::refusal(refusal),
        };
        Ok(Response::new(tokio_stream::iter(frames.into_iter().map(Ok as fn(_) -> _))))
    }

    async fn update_offset(&self, request: Request<UpdateOffsetRequest>) -> Answer<UpdateOffsetResponse> {
        answer!(self, request, calls::offsets::update, UpdateOffsetResponse)
    }

    async fn get_offset(&self, request: Request<GetOffsetRequest>) -> Answer<GetOffsetResponse> {
        answer!(self, request, calls::offsets::get, GetOffsetResponse)
    }

    async fn query_offset(&self, request: Request<QueryOffsetRequest>) -> Answer<QueryOffsetResponse> {
        answer!(self, request, calls::offsets::query, QueryOffsetResponse)
    }

    async fn end_transaction(
        &self,
        request: Request<EndTransactionRequest>,
    ) -> Answer<EndTransactionResponse> {
        answer!(self, request, calls::end_transaction::handle, EndTransactionResponse)
    }

    async fn telemetry(
        &self,
        request: Request<Streaming<TelemetryCommand>>,
    ) -> Answer<Self::TelemetryStream> {
        let (metadata, extensions, inbound) = request.into_parts();
        let stream = match self.admit_stream(&Request::from_parts(metadata, extensions, ())).await {
            Ok((client, guard)) => telemetry::open(Arc::clone(&self.proxy), client, guard, inbound),
            Err(refusal) => {
                OutboundStream::of(TelemetryCommand { status: Some(refusal.into_status()), command: None })
            }
        };
        Ok(Response::new(stream))
    }

    async fn notify_client_termination(
        &self,
        request: Request<NotifyClientTerminationRequest>,
    ) -> Answer<NotifyClientTerminationResponse> {
        answer!(self, request, calls::termination::handle, NotifyClientTerminationResponse)
    }

    async fn change_invisible_duration(
        &self,
        request: Request<ChangeInvisibleDurationRequest>,
    ) -> Answer<ChangeInvisibleDurationResponse> {
        answer!(self, request, calls::change_invisible::handle, ChangeInvisibleDurationResponse)
    }

    async fn recall_message(&self, request: Request<RecallMessageRequest>) -> Answer<RecallMessageResponse> {
        answer!(self, request, calls::recall::handle, RecallMessageResponse)
    }

    async fn sync_lite_subscription(
        &self,
        request: Request<SyncLiteSubscriptionRequest>,
    ) -> Answer<SyncLiteSubscriptionResponse> {
        answer!(self, request, calls::sync_lite::handle, SyncLiteSubscriptionResponse)
    }
}
