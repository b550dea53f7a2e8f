//! What answers a call. Sends, receives and acknowledgements, of which there are many, go the short way if they came in
//! one piece; `tonic` serves all others.

use super::SchemaError;
use super::body::RequestBody;
use super::call::{Answer, Answering};
use super::inbound::Inbound;
use super::{protocol, unary};
use crate::caller;
use crate::peer::{CallSite, Peer};
use crate::proxy::Proxy;
use crate::schema::DESCRIPTORS;
use crate::schema::messaging_service_server::{MessagingServiceServer, SERVICE_NAME};
use crate::service::Service;
use foldhash::fast::RandomState;
use h2::RecvStream;
use http::HeaderValue;
use http::uri::PathAndQuery;
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tonic::Status;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::server::NamedService;

type Request = http::Request<Inbound<RequestBody>>;
type Response = http::Response<Body>;
type Route = Box<dyn Fn(Request) -> Answering + Send + Sync>;

pub struct Routes {
    messaging: Service,
    message_bytes_max: usize,
    /// By the names of services.
    by_service: HashMap<&'static str, Route, RandomState>,
}

/// A call whose answer is awaited.
pub struct Begun {
    pub answering: Answering,
    /// The client doesn't wait any longer, but some don't say so.
    pub timeout: Option<Duration>,
}

impl Routes {
    pub async fn of(proxy: &Arc<Proxy>) -> Result<Self, SchemaError> {
        let (health_reporter, health) = tonic_health::server::health_reporter();
        health_reporter.set_service_status(SERVICE_NAME, tonic_health::ServingStatus::Serving).await;
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let messaging = Service { proxy: Arc::clone(proxy) };
        let message_bytes_max = proxy.config.inbound_message_bytes_max;
        let by_tonic = MessagingServiceServer::new(messaging.clone())
            // Checked where they come in; here it is what a compressed message may become.
            .max_decoding_message_size(message_bytes_max)
            .accept_compressed(CompressionEncoding::Gzip)
            .max_encoding_message_size(usize::MAX);
        let mut routes = Routes { messaging, message_bytes_max, by_service: HashMap::default() };
        routes.add(by_tonic);
        routes.add(health);
        routes.add(reflection().build_v1()?);
        routes.add(reflection().build_v1alpha()?);
        Ok(routes)
    }

    fn add<S>(&mut self, service: S)
    where
        S: tower_service::Service<Request, Response = Response, Error = Infallible>,
        S: NamedService + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        let route = move |request: Request| -> Answering {
            let path = request.uri().path_and_query().cloned();
            Box::pin(answered(path, service.clone().call(request)))
        };
        self.by_service.insert(S::NAME, Box::new(route));
    }

    pub fn services(&self) -> impl std::fmt::Debug {
        self.by_service.keys()
    }

    pub fn call(&self, mut request: http::Request<RecvStream>, peer: Peer) -> Begun {
        let at_once = |response| Begun {
            answering: Box::pin(std::future::ready(Answer::Response(response))),
            timeout: None,
        };
        if let Err(no_call) = protocol::check(&request) {
            return at_once(no_call.into_response());
        }
        let path = request.uri().path();
        let mut names = path.split('/').skip(1);
        let (service, method) = (names.next().unwrap_or_default(), names.next());
        let Some(route) = self.by_service.get(service) else {
            return at_once(unimplemented(path).into_http());
        };
        let timeout = protocol::timeout(request.headers()).and_then(caller::timeout);
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return at_once(protocol::too_late(Duration::ZERO).into_http());
        }
        let method = method.filter(|_| service == SERVICE_NAME).and_then(Short::of);
        let authority = request.uri().authority().cloned();
        request.extensions_mut().insert(CallSite { peer, authority });
        let answering = match method {
            Some(method) => self.call_short(method, route, request),
            None => route(request.map(|body| self.inbound(RequestBody::new(body)))),
        };
        Begun { answering, timeout }
    }

    fn inbound(&self, body: RequestBody) -> Inbound<RequestBody> {
        Inbound::new(body, self.message_bytes_max)
    }

    /// What is special about the call is for the ordinary route.
    fn call_short(&self, method: Short, route: &Route, request: http::Request<RecvStream>) -> Answering {
        let (head, body) = request.into_parts();
        let mut body = RequestBody::new(body);
        let Some(message) = unary::whole(&mut body, self.message_bytes_max) else {
            return route(http::Request::from_parts(head, self.inbound(body)));
        };
        let messaging = self.messaging.clone();
        let begun = match method {
            Short::Send => unary::request(head, message).map(|request| -> Answering {
                Box::pin(async move { unary::answer(&messaging.send(request).await) })
            }),
            Short::Ack => unary::request(head, message).map(|request| -> Answering {
                Box::pin(async move { unary::answer(&messaging.ack(request).await) })
            }),
            Short::Receive => unary::request(head, message).map(Box::new).map(|request| -> Answering {
                Box::pin(async move { unary::answers(messaging.receive(request).await) })
            }),
        };
        begun.unwrap_or_else(|status| Box::pin(std::future::ready(Answer::Response(status.into_http()))))
    }
}

/// The calls that there are many of.
enum Short {
    Send,
    Receive,
    Ack,
}

impl Short {
    fn of(method: &str) -> Option<Self> {
        match method {
            "SendMessage" => Some(Short::Send),
            "ReceiveMessage" => Some(Short::Receive),
            "AckMessage" => Some(Short::Ack),
            _ => None,
        }
    }
}

async fn answered(
    path: Option<PathAndQuery>,
    response: impl Future<Output = Result<Response, Infallible>>,
) -> Answer {
    let mut response = match response.await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    // The routes know only the code for calls that there are not.
    let headers = response.headers_mut();
    if headers.get(Status::GRPC_STATUS).is_some_and(|code| code == UNIMPLEMENTED)
        && !headers.contains_key(Status::GRPC_MESSAGE)
    {
        return Answer::Response(unimplemented(path.as_ref().map_or("", PathAndQuery::path)).into_http());
    }
    Answer::Response(response)
}

/// [`tonic::Code::Unimplemented`] on the wire.
const UNIMPLEMENTED: HeaderValue = HeaderValue::from_static("12");

fn unimplemented(path: &str) -> Status {
    Status::unimplemented(format!("there is no call {path} here"))
}
