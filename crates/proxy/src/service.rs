//! The service as gRPC calls it: each call's file does the work, and a refusal becomes the status of its answer.

use crate::calls;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result};
use crate::schema::messaging_service_server::MessagingService;
use crate::schema::*;
use crate::telemetry::{self, OutboundStream};
use std::pin::Pin;
use std::sync::Arc;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming, async_trait};

pub struct Service {
    pub proxy: Arc<Proxy>,
}

/// For each call what answers it, and the answer that a refusal becomes.
macro_rules! answer {
    ($self:ident, $request:ident, $handle:path, $response:ident) => {{
        let answered = $handle(&$self.proxy, $request).await;
        Ok(Response::new(answered.unwrap_or_else(|refusal: Refusal| $response {
            status: Some(refusal.into_status()),
            ..Default::default()
        })))
    }};
}

type Frames<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;
type Answer<T> = Result<Response<T>, Status>;

#[async_trait]
impl MessagingService for Service {
    type ReceiveMessageStream = Frames<ReceiveMessageResponse>;
    type PullMessageStream = Frames<PullMessageResponse>;
    type TelemetryStream = OutboundStream;

    async fn query_route(&self, request: Request<QueryRouteRequest>) -> Answer<QueryRouteResponse> {
        answer!(self, request, calls::query_route::handle, QueryRouteResponse)
    }

    async fn heartbeat(&self, request: Request<HeartbeatRequest>) -> Answer<HeartbeatResponse> {
        answer!(self, request, calls::heartbeat::handle, HeartbeatResponse)
    }

    async fn send_message(&self, request: Request<SendMessageRequest>) -> Answer<SendMessageResponse> {
        answer!(self, request, calls::send::handle, SendMessageResponse)
    }

    async fn query_assignment(
        &self,
        request: Request<QueryAssignmentRequest>,
    ) -> Answer<QueryAssignmentResponse> {
        answer!(self, request, calls::query_assignment::handle, QueryAssignmentResponse)
    }

    async fn receive_message(&self, _: Request<ReceiveMessageRequest>) -> Answer<Self::ReceiveMessageStream> {
        Err(Status::unimplemented("ReceiveMessage"))
    }

    async fn ack_message(&self, _: Request<AckMessageRequest>) -> Answer<AckMessageResponse> {
        Err(Status::unimplemented("AckMessage"))
    }

    async fn forward_message_to_dead_letter_queue(
        &self,
        _: Request<ForwardMessageToDeadLetterQueueRequest>,
    ) -> Answer<ForwardMessageToDeadLetterQueueResponse> {
        Err(Status::unimplemented("ForwardMessageToDeadLetterQueue"))
    }

    async fn pull_message(&self, _: Request<PullMessageRequest>) -> Answer<Self::PullMessageStream> {
        Err(Status::unimplemented("PullMessage"))
    }

    async fn update_offset(&self, _: Request<UpdateOffsetRequest>) -> Answer<UpdateOffsetResponse> {
        Err(Status::unimplemented("UpdateOffset"))
    }

    async fn get_offset(&self, _: Request<GetOffsetRequest>) -> Answer<GetOffsetResponse> {
        Err(Status::unimplemented("GetOffset"))
    }

    async fn query_offset(&self, _: Request<QueryOffsetRequest>) -> Answer<QueryOffsetResponse> {
        Err(Status::unimplemented("QueryOffset"))
    }

    async fn end_transaction(&self, _: Request<EndTransactionRequest>) -> Answer<EndTransactionResponse> {
        Err(Status::unimplemented("EndTransaction"))
    }

    async fn telemetry(
        &self,
        request: Request<Streaming<TelemetryCommand>>,
    ) -> Answer<Self::TelemetryStream> {
        let stream = match self.proxy.client(&request) {
            Ok(client) => telemetry::open(Arc::clone(&self.proxy), client, request.into_inner()),
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
        _: Request<ChangeInvisibleDurationRequest>,
    ) -> Answer<ChangeInvisibleDurationResponse> {
        Err(Status::unimplemented("ChangeInvisibleDuration"))
    }

    async fn recall_message(&self, _: Request<RecallMessageRequest>) -> Answer<RecallMessageResponse> {
        Err(Status::unimplemented("RecallMessage"))
    }

    async fn sync_lite_subscription(
        &self,
        _: Request<SyncLiteSubscriptionRequest>,
    ) -> Answer<SyncLiteSubscriptionResponse> {
        Err(Status::unimplemented("SyncLiteSubscription"))
    }
}
