//! What makes an HTTP request a call of gRPC, and what is answered to one that isn't.

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use std::time::Duration;
use tonic::Status;
use tonic::body::Body;

const GRPC: &str = "application/grpc";
const TIMEOUT: &str = "grpc-timeout";

/// A request that no call is in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCall {
    #[error("calls are made with POST, not with {0}")]
    Method(Method),
    #[error("the content type is {0:?}, calls have application/grpc")]
    ContentType(String),
}

pub fn check<B>(request: &Request<B>) -> Result<(), NoCall> {
    if request.method() != Method::POST {
        return Err(NoCall::Method(request.method().clone()));
    }
    let content_type = request.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if content_type == GRPC.as_bytes() {
        return Ok(());
    }
    let content_type = String::from_utf8_lossy(content_type);
    // Followed by a format, or by parameters; `application/grpc-web` is another protocol.
    let is_grpc = content_type
        .to_ascii_lowercase()
        .strip_prefix(GRPC)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';', ' ']));
    if is_grpc { Ok(()) } else { Err(NoCall::ContentType(content_type.into_owned())) }
}

/// In words, and for clients of gRPC in their terms.
impl NoCall {
    pub fn into_response(self) -> Response<Body> {
        let mut response =
            Status::internal(self.to_string()).into_http::<Body>().map(|_| Body::new(self.to_string()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        *response.status_mut() = match self {
            NoCall::Method(_) => {
                headers.insert(ALLOW, HeaderValue::from_static("POST"));
                StatusCode::METHOD_NOT_ALLOWED
            }
            NoCall::ContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        };
        response
    }
}

/// The time that the client gives the call, as it writes it.
pub fn timeout(headers: &HeaderMap) -> Option<&str> {
    headers.get(TIMEOUT)?.to_str().ok()
}

pub fn too_late(timeout: Duration) -> Status {
    Status::deadline_exceeded(format!("the call's time of {timeout:?} (grpc-timeout) is over"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_method_and_content_type() {
        let check = |method: Method, content_type: Option<&str>, expected: Option<StatusCode>| {
            let mut request = Request::builder().method(method);
            if let Some(content_type) = content_type {
                request = request.header(CONTENT_TYPE, content_type);
            }
            let request = request.body(()).expect("a request");
            let refused = super::check(&request).err().map(|no_call| no_call.into_response().status());
            assert_eq!(refused, expected, "{request:?}");
        };
        check(Method::POST, Some("application/grpc"), None);
        check(Method::POST, Some("application/grpc+proto"), None);
        check(Method::POST, Some("Application/GRPC; charset=utf-8"), None);
        check(Method::POST, Some("application/grpc-web"), Some(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        check(Method::POST, Some("application/json"), Some(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        check(Method::POST, None, Some(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        check(Method::GET, Some("application/grpc"), Some(StatusCode::METHOD_NOT_ALLOWED));
    }
}
