//! The remoting port of a proxy before one broker: clients that don't name it, as the official Go client, get along.

use crate::cluster::{PATIENCE, TestBroker, TestNamesrv, TestProxy, until};
use crate::remoting;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_remoting::{Client, TlsMode};

#[tokio::test]
async fn the_only_broker_needs_no_name() {
    let mut namesrv = TestNamesrv::new().await;
    let mut broker = TestBroker::new("broker-a", &namesrv.address(), TlsMode::Permissive, Vec::new()).await;
    let proxy = TestProxy::start(&namesrv.address(), None).await;
    until("the broker is known", || async { proxy.invoker.readiness().is_ok() }).await;
    let (client, address) = (Client::new(), proxy.address().to_string());
    let ok = async |request: Command| {
        let answer = client.call(&address, request, PATIENCE).await.unwrap();
        assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
        answer
    };
    // A topic that is made by the send, and a request that names none.
    let sent = ok(remoting::send("Made", "", "x")).await;
    let id: OffsetMessageId = sent.field("msgId").unwrap().parse().unwrap();
    let back = Command::request(request::CONSUMER_SEND_MSG_BACK)
        .with("offset", id.phy_offset)
        .with("group", "G")
        .with("delayLevel", 0);
    ok(back).await;
    proxy.stop().await;
    broker.stop().await;
    namesrv.stop().await;
}
