//! What the brokers of a cluster ask of gRPC clients behind a proxy.

use crate::client::{code, message, resource};
use crate::cluster::{Cluster, PATIENCE};
use crate::lives::consumer;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_proxy::schema::settings::PubSub;
use roxmq_proxy::schema::telemetry_command::Command as Telemetry;
use roxmq_proxy::schema::*;
use roxmq_remoting::Client;
use tonic::Streaming;

async fn next(stream: &mut Streaming<TelemetryCommand>) -> Telemetry {
    let command = tokio::time::timeout(PATIENCE, stream.message()).await.unwrap().unwrap().unwrap();
    assert_eq!(code(command.status.as_ref()), Code::Ok);
    command.command.unwrap()
}

#[tokio::test]
async fn a_producer_ends_the_transactions_of_both_brokers() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "TRANSACTION").await;
    let mut client = cluster.proxy.client("p").await;
    let publishing = Publishing { topics: vec![resource("T")], ..Publishing::default() };
    let settings = Settings {
        client_type: Some(ClientType::Producer.into()),
        pub_sub: Some(PubSub::Publishing(publishing)),
        ..Settings::default()
    };
    let mut stream = client.telemetry(settings).await;
    next(&mut stream).await;
    for number in 0..4 {
        let mut half = message("T", &format!("K{number}"), "half");
        half.system_properties.as_mut().unwrap().set_message_type(MessageType::Transaction);
        let sent = client.send(vec![half]).await;
        assert_eq!(code(sent.status.as_ref()), Code::Ok, "{sent:?}");
    }
    let mut ended = std::collections::BTreeSet::new();
    while ended.len() < 4 {
        let Telemetry::RecoverOrphanedTransactionCommand(asked) = next(&mut stream).await else {
            panic!("the transactions are asked for")
        };
        let message = asked.message.unwrap();
        let end = EndTransactionRequest {
            topic: Some(resource("T")),
            message_id: message.system_properties.unwrap().message_id,
            transaction_id: asked.transaction_id,
            resolution: TransactionResolution::Commit.into(),
            source: TransactionSource::SourceServerCheck.into(),
            ..EndTransactionRequest::default()
        };
        // It may be asked for twice.
        if ended.insert(end.message_id.clone()) {
            let request = client.request(end);
            let answer = client.stub.end_transaction(request).await.unwrap().into_inner();
            assert_eq!(code(answer.status.as_ref()), Code::Ok, "{answer:?}");
        }
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_consumer_shows_its_threads_to_each_broker() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let mut client = cluster.proxy.client("c").await;
    let (mut stream, say) = client.conversation(consumer("G")).await;
    next(&mut stream).await;
    for broker in [&cluster.a, &cluster.b] {
        let ask = Command::request(request::GET_CONSUMER_RUNNING_INFO)
            .with("consumerGroup", "G")
            .with("clientId", "c")
            .with("jstackEnable", true);
        let (address, operator) = (broker.address(), Client::new());
        let (answer, ()) = tokio::join!(operator.call(&address, ask, PATIENCE), async {
            let Telemetry::PrintThreadStackTraceCommand(asked) = next(&mut stream).await else {
                panic!("threads are asked for")
            };
            let trace =
                ThreadStackTrace { nonce: asked.nonce, thread_stack_trace: Some("main: parked".to_owned()) };
            say.say(None, Telemetry::ThreadStackTrace(trace));
        });
        let answer = answer.unwrap();
        assert!(String::from_utf8_lossy(&answer.body).contains(r#""jstack":"main: parked""#), "{answer:?}");
    }
    cluster.stop().await;
}
