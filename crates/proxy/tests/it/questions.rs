//! What brokers ask of clients over their telemetry streams, and what becomes of the answers.

use crate::client::{Clients, Say, code, message, resource};
use crate::errors::requests::producer;
use crate::lives::{consumer, heartbeat};
use crate::node::Node;
use crate::remoting;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_proxy::ProxyConfig;
use roxmq_proxy::schema::retry_policy::Strategy;
use roxmq_proxy::schema::settings::PubSub;
use roxmq_proxy::schema::telemetry_command::Command as Telemetry;
use roxmq_proxy::schema::*;
use std::future::Future;
use std::time::Duration;
use tonic::Streaming;

const PATIENCE: Duration = Duration::from_secs(30);

async fn next(stream: &mut Streaming<TelemetryCommand>) -> Telemetry {
    let command = tokio::time::timeout(PATIENCE, stream.message()).await.unwrap().unwrap().unwrap();
    assert_eq!(code(command.status.as_ref()), Code::Ok);
    command.command.unwrap()
}

fn says(code: Code) -> Option<Status> {
    Some(Status { code: code.into(), message: "said so".to_owned() })
}

/// What an operator gets while the client answers what it is asked.
async fn ask(node: &Node, question: Command, answer: impl Future<Output = ()>) -> Command {
    let address = node.address().to_string();
    let client = roxmq_remoting::Client::new();
    tokio::join!(async { client.call(&address, question, PATIENCE).await.unwrap() }, answer).0
}

fn running_info(with_threads: bool) -> Command {
    Command::request(request::GET_CONSUMER_RUNNING_INFO)
        .with("consumerGroup", "G")
        .with("clientId", "c")
        .with("jstackEnable", with_threads)
}

#[tokio::test]
async fn a_consumer_shows_its_threads() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let (mut stream, say) = client.conversation(consumer("G")).await;
    next(&mut stream).await;

    let answer = ask(&node, running_info(false), async {}).await;
    assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(body.contains(r#""PROP_CONSUME_TYPE":"CONSUME_PASSIVELY""#), "{body}");
    assert!(body.contains(r#""topic":"T""#) && !body.contains("jstack"), "{body}");

    let mut show = async |status: Option<Status>, stacks: &str| {
        ask(&node, running_info(true), async {
            let Telemetry::PrintThreadStackTraceCommand(asked) = next(&mut stream).await else {
                panic!("threads are asked for")
            };
            let stacks = Some(stacks.to_owned());
            // Answers to what nobody asked are passed over.
            for nonce in [String::new(), "no number".to_owned(), "999999".to_owned(), asked.nonce] {
                let trace = ThreadStackTrace { nonce, thread_stack_trace: stacks.clone() };
                say.say(status.clone(), Telemetry::ThreadStackTrace(trace));
            }
        })
        .await
    };
    let answer = show(says(Code::Ok), "main: parked").await;
    assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
    assert!(String::from_utf8_lossy(&answer.body).contains(r#""jstack":"main: parked""#));
    let answer = show(says(Code::InternalError), "").await;
    assert_eq!(answer.code, response::SYSTEM_ERROR);
    assert!(answer.remark.unwrap().contains("said so"));

    node.stop().await;
}

#[tokio::test]
async fn a_consumer_consumes_one_message_now() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let (mut stream, say) = client.conversation(consumer("G")).await;
    next(&mut stream).await;
    let sent = node.operate(remoting::send("T", "", "again")).await;
    let id = sent.field("msgId").unwrap();
    let question = Command::request(request::CONSUME_MESSAGE_DIRECTLY)
        .with("consumerGroup", "G")
        .with("clientId", "c")
        .with("msgId", id)
        .with("topic", "T");
    let mut check = async |status: Option<Status>, expected: Result<&str, i32>| {
        let answer = ask(&node, question.clone(), async {
            let Telemetry::VerifyMessageCommand(asked) = next(&mut stream).await else {
                panic!("a message is to be verified")
            };
            assert_eq!(&asked.message.unwrap().body[..], b"again");
            let result = VerifyMessageResult { nonce: asked.nonce };
            say.say(status.clone(), Telemetry::VerifyMessageResult(result));
        })
        .await;
        match expected {
            Ok(result) => {
                let body = String::from_utf8_lossy(&answer.body);
                assert!(body.contains(&format!(r#""consumeResult":"{result}""#)), "{status:?}: {answer:?}");
            }
            Err(code) => assert_eq!(answer.code, code, "{status:?}"),
        }
    };
    check(None, Ok("CR_SUCCESS")).await;
    check(says(Code::Ok), Ok("CR_SUCCESS")).await;
    check(says(Code::FailedToConsumeMessage), Ok("CR_LATER")).await;
    check(says(Code::MessageCorrupted), Ok("CR_RETURN_NULL")).await;
    check(says(Code::VerifyFifoMessageUnsupported), Err(response::NO_PERMISSION)).await;
    check(says(Code::InternalError), Err(response::SYSTEM_ERROR)).await;
    node.stop().await;
}

/// Operators waited ten seconds for a client that hadn't even a stream, and as long for one that didn't answer.
#[tokio::test]
async fn a_client_that_does_not_answer_is_not_waited_for_long() {
    let config = ProxyConfig { relay_timeout_s: 1, ..ProxyConfig::default() };
    let node = Node::start_with(&[], config).await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let (mut stream, say) = client.conversation(consumer("G")).await;
    next(&mut stream).await;
    let silent = ask(&node, running_info(true), async {}).await;
    assert_eq!(silent.code, response::SYSTEM_BUSY);
    assert!(silent.remark.unwrap().contains("grpcProxyRelayRequestTimeoutInSeconds"));
    assert!(matches!(next(&mut stream).await, Telemetry::PrintThreadStackTraceCommand(_)));

    drop(say);
    assert!(stream.message().await.unwrap().is_none());
    let gone = ask(&node, running_info(true), async {}).await;
    assert_eq!(gone.code, response::SYSTEM_ERROR);
    assert!(gone.remark.unwrap().contains("no telemetry stream"));
    node.stop().await;
}

#[tokio::test]
async fn a_producer_is_asked_how_its_transaction_ends() {
    let keys = [("transactionTimeOut", "100"), ("transactionCheckInterval", "100")];
    let node = Node::start_with(&keys, ProxyConfig::default()).await;
    node.topic("X", "TRANSACTION").await;
    let mut client = node.client("p").await;
    let publishing = Publishing { topics: vec![resource("X")], ..Publishing::default() };
    let settings = Settings {
        client_type: Some(ClientType::Producer.into()),
        pub_sub: Some(PubSub::Publishing(publishing)),
        ..Settings::default()
    };
    let (mut stream, _say): (_, Say) = client.conversation(settings).await;
    let Telemetry::Settings(told) = next(&mut stream).await else { panic!("no settings") };
    assert_eq!(told.backoff_policy.unwrap().max_attempts, 3);
    let mut half = message("X", "01CD", "half");
    half.user_properties.insert("color".to_owned(), "blue".to_owned());
    half.system_properties.as_mut().unwrap().set_message_type(MessageType::Transaction);
    let sent = client.send(vec![half]).await;
    assert_eq!(code(sent.status.as_ref()), Code::Ok);

    let Telemetry::RecoverOrphanedTransactionCommand(asked) = next(&mut stream).await else {
        panic!("the transaction is asked for")
    };
    assert_eq!(asked.transaction_id, sent.entries[0].transaction_id);
    let recovered = asked.message.unwrap();
    let system = recovered.system_properties.unwrap();
    assert_eq!((&recovered.body[..], system.message_id.as_str()), (&b"half"[..], "01CD"));
    assert_eq!((system.message_type(), system.receipt_handle), (MessageType::Transaction, None));
    assert_eq!(recovered.topic.unwrap().name, "X");
    assert_eq!(recovered.user_properties.get("color").map(String::as_str), Some("blue"));

    let end = EndTransactionRequest {
        topic: Some(resource("X")),
        message_id: "01CD".to_owned(),
        transaction_id: asked.transaction_id,
        resolution: TransactionResolution::Commit.into(),
        source: TransactionSource::SourceServerCheck.into(),
        trace_context: String::new(),
    };
    let request = client.request(end);
    let ended = client.stub.end_transaction(request).await.unwrap().into_inner();
    assert_eq!(code(ended.status.as_ref()), Code::Ok);
    let offsets = Command::request(request::GET_MAX_OFFSET).with("topic", "X");
    let mut stored = 0;
    for queue in 0..4 {
        let answer = node.operate(offsets.clone().with("queueId", queue)).await;
        stored += answer.field("offset").unwrap().parse::<i64>().unwrap();
    }
    assert_eq!(stored, 1);
    node.stop().await;
}

#[tokio::test]
async fn a_changed_group_changes_the_settings_of_its_clients() {
    let config = ProxyConfig { facts_kept_ms: 0, ..ProxyConfig::default() };
    let node = Node::start_with(&[], config).await;
    node.topic("T", "NORMAL").await;
    let mut client = node.client("c").await;
    let (mut stream, _say) = client.conversation(consumer("G")).await;
    next(&mut stream).await;
    let changed = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(
        br#"{"groupName":"G","consumeMessageOrderly":true,"retryMaxTimes":4,"groupRetryPolicy":
            {"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":1000,"max":60000,"multiplier":3}}}"#
            .to_vec(),
    );
    // The first heartbeat changes nothing, and says nothing.
    for _ in 0..2 {
        let request = client.request(heartbeat("G"));
        let beat = client.stub.heartbeat(request).await.unwrap().into_inner();
        assert_eq!(code(beat.status.as_ref()), Code::Ok);
        node.operate(changed.clone()).await;
    }
    let Telemetry::Settings(told) = next(&mut stream).await else { panic!("no settings") };
    let backoff = told.backoff_policy.unwrap();
    assert_eq!(backoff.max_attempts, 5);
    let Some(Strategy::ExponentialBackoff(backoff)) = backoff.strategy else { panic!("{backoff:?}") };
    assert_eq!((backoff.initial.unwrap().seconds, backoff.multiplier), (1, 3.0));
    let Some(PubSub::Subscription(subscription)) = told.pub_sub else { panic!("no subscription") };
    assert!(subscription.fifo());
    node.stop().await;
}

/// The one that sent the half message is gone; any other producer of the topic can say how it ends.
#[tokio::test]
async fn a_producer_that_is_there_is_asked_for_one_that_is_gone() {
    let keys = [("transactionTimeOut", "100"), ("transactionCheckInterval", "100")];
    let node = Node::start_with(&keys, ProxyConfig::default()).await;
    node.topic("X", "TRANSACTION").await;
    let gone = Clients::connect(node.address()).await;
    let mut sender = gone.client("gone");
    sender.telemetry(producer("X")).await.message().await.unwrap().unwrap();
    let mut half = message("X", "01CD", "half");
    half.system_properties.as_mut().unwrap().set_message_type(MessageType::Transaction);
    let sent = sender.send(vec![half]).await;
    assert_eq!(code(sent.status.as_ref()), Code::Ok);
    gone.cut();

    let mut other = node.client("other").await;
    let (mut stream, _say) = other.conversation(producer("X")).await;
    next(&mut stream).await;
    let Telemetry::RecoverOrphanedTransactionCommand(asked) = next(&mut stream).await else {
        panic!("the transaction is asked for")
    };
    assert_eq!(asked.transaction_id, sent.entries[0].transaction_id);
    node.stop().await;
}
