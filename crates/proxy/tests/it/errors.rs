//! What is wrong with a call, and what it is answered: the table of errors of the gRPC protocol, a file for each
//! family of calls. Each row is a call and the code that it gets, some with pieces of the text.
//!
//! Codes are those of the Java server, in its cluster mode where its modes differ, but for accidents of it: where a
//! row says `unlike the Java server`, that one fails inside, or gives a code that makes clients try again for ever.

mod access;
mod brokers;
mod clients;
mod lite;
mod metadata;
mod names;
mod receipts;
mod receives;
pub mod requests;
mod sends;
mod transactions;

use crate::client::{Peer, receipt};
use roxmq_proxy::schema::*;

/// How a call ended.
#[derive(Debug)]
pub enum Ended {
    /// Its status, and those of the entries of its answer.
    Said(Vec<Status>),
    Failed(tonic::Status),
}

/// How it is to end.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Said(Code),
    Failed(tonic::Code),
}

impl From<Code> for End {
    fn from(code: Code) -> Self {
        End::Said(code)
    }
}

impl From<tonic::Code> for End {
    fn from(code: tonic::Code) -> Self {
        End::Failed(code)
    }
}

macro_rules! calls {
    ($($request:ident $method:ident $entries:expr,)*) => {
        /// A call of any kind; settings stand for a telemetry stream that begins with them.
        #[derive(Clone, Debug)]
        pub enum Call {
            $($request($request),)*
            ReceiveMessageRequest(ReceiveMessageRequest),
            PullMessageRequest(PullMessageRequest),
            Settings(Box<Settings>),
        }

        $(impl From<$request> for Call {
            fn from(request: $request) -> Self {
                Call::$request(request)
            }
        })*

        impl Call {
            async fn ask(self, client: &mut Peer) -> Result<Vec<Status>, tonic::Status> {
                match self {
                    $(Call::$request(request) => {
                        let request = client.request(request);
                        let answer = client.stub.$method(request).await?.into_inner();
                        let entries: fn(&_) -> Vec<Option<Status>> = $entries;
                        let statuses = std::iter::once(answer.status.clone()).chain(entries(&answer));
                        Ok(statuses.map(|status| status.expect("every answer and entry has a status")).collect())
                    })*
                    Call::ReceiveMessageRequest(request) => receive(client, request).await,
                    Call::PullMessageRequest(request) => pull(client, request).await,
                    Call::Settings(settings) => tell(client, *settings).await,
                }
            }
        }
    };
}

calls! {
    QueryRouteRequest query_route |_| vec![],
    QueryAssignmentRequest query_assignment |_| vec![],
    SendMessageRequest send_message |answer: &SendMessageResponse| {
        answer.entries.iter().map(|entry| entry.status.clone()).collect()
    },
    AckMessageRequest ack_message |answer: &AckMessageResponse| {
        answer.entries.iter().map(|entry| entry.status.clone()).collect()
    },
    ChangeInvisibleDurationRequest change_invisible_duration |_| vec![],
    ForwardMessageToDeadLetterQueueRequest forward_message_to_dead_letter_queue |_| vec![],
    EndTransactionRequest end_transaction |_| vec![],
    RecallMessageRequest recall_message |_| vec![],
    HeartbeatRequest heartbeat |_| vec![],
    NotifyClientTerminationRequest notify_client_termination |_| vec![],
    SyncLiteSubscriptionRequest sync_lite_subscription |_| vec![],
    UpdateOffsetRequest update_offset |_| vec![],
    GetOffsetRequest get_offset |_| vec![],
    QueryOffsetRequest query_offset |_| vec![],
}

impl From<ReceiveMessageRequest> for Call {
    fn from(request: ReceiveMessageRequest) -> Self {
        Call::ReceiveMessageRequest(request)
    }
}

impl From<PullMessageRequest> for Call {
    fn from(request: PullMessageRequest) -> Self {
        Call::PullMessageRequest(request)
    }
}

impl From<Settings> for Call {
    fn from(settings: Settings) -> Self {
        Call::Settings(Box::new(settings))
    }
}

/// A receive says how it went first.
async fn receive(client: &mut Peer, asked: ReceiveMessageRequest) -> Result<Vec<Status>, tonic::Status> {
    let request = client.request(asked);
    let mut frames = client.stub.receive_message(request).await?.into_inner();
    let first = frames.message().await?.expect("a receive is answered").content;
    while frames.message().await?.is_some() {}
    match first {
        Some(receive_message_response::Content::Status(status)) => Ok(vec![status]),
        other => panic!("a receive begins with {other:?}"),
    }
}

async fn pull(client: &mut Peer, asked: PullMessageRequest) -> Result<Vec<Status>, tonic::Status> {
    let request = client.request(asked);
    let mut frames = client.stub.pull_message(request).await?.into_inner();
    match frames.message().await?.expect("a pull is answered").content {
        Some(pull_message_response::Content::Status(status)) => Ok(vec![status]),
        other => panic!("a pull begins with {other:?}"),
    }
}

async fn tell(client: &mut Peer, settings: Settings) -> Result<Vec<Status>, tonic::Status> {
    let (mut stream, _say) = client.conversation(settings).await;
    let command = stream.message().await?.expect("settings are answered");
    Ok(vec![command.status.expect("a command has a status")])
}

/// Makes the call and checks how it ends. All statuses of an answer have the one code; each of the texts is in the
/// first.
pub async fn check(
    client: &mut Peer,
    what: &str,
    call: impl Into<Call>,
    expected: impl Into<End>,
    texts: &[&str],
) {
    let ended = match call.into().ask(client).await {
        Ok(statuses) => Ended::Said(statuses),
        Err(status) => Ended::Failed(status),
    };
    let text = match (&ended, expected.into()) {
        (Ended::Said(statuses), End::Said(code)) if statuses.iter().all(|status| status.code() == code) => {
            statuses[0].message.as_str()
        }
        (Ended::Failed(status), End::Failed(code)) if status.code() == code => status.message(),
        (_, expected) => panic!("{what}: {expected:?} is expected, it ended with {ended:?}"),
    };
    for piece in texts {
        assert!(text.contains(piece), "{what}: there is no {piece:?} in {text:?}");
    }
}

/// The receipt of a message that the group G received from the topic T.
async fn received(client: &mut Peer) -> String {
    client.receive(requests::receive("T", "G")).await;
    check(client, "a message", requests::send("T"), Code::Ok, &[]).await;
    let waiting = ReceiveMessageRequest {
        long_polling_timeout: Some(requests::seconds(20)),
        ..requests::receive("T", "G")
    };
    let (status, messages) = client.receive(waiting).await;
    assert_eq!(status.code(), Code::Ok, "{status:?}");
    receipt(&messages[0])
}
