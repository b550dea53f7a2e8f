//! Access control in front of several brokers: the proxy asks them who a caller is, and asks them as a user of its own.

use crate::client::{Peer, code, message};
use crate::cluster::{Cluster, PATIENCE, TestProxy, until};
use crate::errors::requests::receive;
use crate::guarded::{Credentials, allow, create_user, delete_user, set_status, signed};
use crate::receiving::{acknowledge, bodies, send};
use crate::remoting;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::sys_flag::pull::SUBSCRIPTION;
use roxmq_proxy::schema::{Broker, Code, Message, ReceiveMessageRequest};
use roxmq_remoting::Client;
use std::time::Instant;

const BROKERS: [&str; 2] = ["broker-a", "broker-b"];
const READER: Credentials = ("reader", "reader-secret");
const WRITER: Credentials = ("writer", "writer-secret");

async fn start() -> Cluster {
    let cluster = Cluster::start_guarded().await;
    cluster.topic("T", "NORMAL").await;
    for user in [READER, WRITER] {
        cluster.operate(create_user(user)).await;
    }
    cluster.operate(allow(READER.0, &[("Topic:T", "Sub"), ("Group:G", "Sub")])).await;
    cluster.operate(allow(WRITER.0, &[("Topic:T", "Pub")])).await;
    cluster
}

async fn signing(proxy: &TestProxy, (user, password): Credentials) -> Peer {
    proxy.client(user).await.signing(user, password)
}

async fn sends(client: &Peer) -> Code {
    code(client.clone().send(vec![message("T", "01AB", "x")]).await.status.as_ref())
}

async fn receives(client: &Peer) -> Code {
    client.clone().receive(receive("T", "G")).await.0.code()
}

/// What a broker has for the group; nothing if nothing comes for a moment.
async fn take(client: &mut Peer, broker: &str) -> Vec<Message> {
    let mut asked = ReceiveMessageRequest {
        long_polling_timeout: Some(prost_types::Duration { seconds: 0, nanos: 50_000_000 }),
        ..receive("T", "G")
    };
    let queue = asked.message_queue.as_mut().unwrap();
    queue.broker = Some(Broker { name: broker.to_owned(), ..Broker::default() });
    let (status, messages) = client.receive(asked).await;
    assert!(matches!(status.code(), Code::Ok | Code::MessageNotFound), "{status:?}");
    if !messages.is_empty() {
        acknowledge(client, "T", &messages).await;
    }
    messages
}

#[tokio::test]
async fn calls_pass_with_the_rights_that_brokers_know() {
    const COUNT: usize = 8;
    let cluster = start().await;
    let mut reader = signing(&cluster.proxy, READER).await;
    let mut writer = signing(&cluster.proxy, WRITER).await;
    for broker in BROKERS {
        assert_eq!(take(&mut reader, broker).await, []);
    }
    let texts: Vec<_> = (0..COUNT).map(|number| number.to_string()).collect();
    for text in &texts {
        send(&mut writer, "T", text).await;
    }
    let mut taken = Vec::new();
    let started = Instant::now();
    while taken.len() < COUNT {
        assert!(started.elapsed() < PATIENCE, "{} of {COUNT} came", taken.len());
        for broker in BROKERS {
            taken.extend(take(&mut reader, broker).await);
        }
    }
    assert_eq!(bodies(&taken), texts);

    assert_eq!((sends(&reader).await, receives(&writer).await), (Code::Unauthorized, Code::Unauthorized));
    let nobody = cluster.proxy.client("nobody").await;
    assert_eq!(sends(&nobody).await, Code::Unauthorized);
    assert_eq!(sends(&nobody.clone().signing("other", "secret")).await, Code::Unauthorized);
    assert_eq!(sends(&nobody.clone().signing(WRITER.0, "secret")).await, Code::Unauthorized);
    cluster.stop().await;
}

#[tokio::test]
async fn what_brokers_learn_of_users_the_proxy_learns_soon() {
    let cluster = start().await;
    let (reader, writer) = (signing(&cluster.proxy, READER).await, signing(&cluster.proxy, WRITER).await);
    let newcomer = signing(&cluster.proxy, ("newcomer", "secret")).await;
    assert_eq!(sends(&newcomer).await, Code::Unauthorized);
    assert_eq!((receives(&reader).await, sends(&writer).await), (Code::MessageNotFound, Code::Ok));

    cluster.operate(create_user(("newcomer", "secret"))).await;
    cluster.operate(allow("newcomer", &[("Topic:T", "Pub")])).await;
    cluster.operate(set_status(WRITER.0, "disable")).await;
    cluster.operate(delete_user(READER.0)).await;
    until("the newcomer may send", || async { sends(&newcomer).await == Code::Ok }).await;
    until("the writer is disabled", || async { sends(&writer).await == Code::Unauthorized }).await;
    until("the reader is gone", || async { receives(&reader).await == Code::Unauthorized }).await;
    cluster.stop().await;
}

/// Whom nobody can be asked about is neither let in nor sent away.
#[tokio::test]
async fn a_broker_that_does_not_answer_is_said_to() {
    let mut cluster = start().await;
    // Brokers take the proxy itself for a stranger.
    let stranger = TestProxy::start_guarded(&cluster.namesrv_address(), "proxy", "another-secret").await;
    let mut writer = signing(&stranger, WRITER).await;
    let route = writer.route("T").await.status.unwrap();
    assert_eq!(route.code(), Code::InternalServerError, "{route:?}");
    for piece in ["broker-", "writer", "check signature failed.", "innerClientAuthenticationCredentials"] {
        assert!(route.message.contains(piece), "there is no {piece:?} in {:?}", route.message);
    }
    stranger.stop().await;

    let known = signing(&cluster.proxy, WRITER).await;
    assert_eq!(sends(&known).await, Code::Ok);
    cluster.a.break_down().await;
    cluster.b.break_down().await;
    let unknown = signing(&cluster.proxy, READER).await;
    let code = receives(&unknown).await;
    assert!(!matches!(code, Code::Unauthorized | Code::Ok | Code::MessageNotFound), "{code:?}");
    // Who was let in before isn't sent away now.
    assert_ne!(sends(&known).await, Code::Unauthorized);
    cluster.stop().await;
}

#[tokio::test]
async fn remoting_requests_are_checked_before_they_are_passed_on() {
    let cluster = start().await;
    let address = cluster.proxy.address().to_string();
    let client = Client::new();
    let code_of = async |request: Command| client.call(&address, request, PATIENCE).await.unwrap();
    let send = || remoting::send("T", "", "x").with("n", "broker-a");
    let pull = || remoting::pull("T", 1, SUBSCRIPTION, 0).with("bname", "broker-a");
    let route = || Command::request(request::GET_ROUTEINFO_BY_TOPIC).with("topic", "T");
    let check = async |request: Command, expected: i32, text: &str| {
        let answer = code_of(request).await;
        assert_eq!(answer.code, expected, "{answer:?}");
        let remark = answer.remark.unwrap_or_default();
        assert!(remark.contains(text), "there is no {text:?} in {remark:?}");
    };
    const REFUSED: i32 = response::NO_PERMISSION;
    check(send(), REFUSED, "username cannot be null.").await;
    check(route(), REFUSED, "username cannot be null.").await;
    check(signed(("other", "secret"), send()), REFUSED, "User:other is not found.").await;
    check(signed((WRITER.0, "secret"), send()), REFUSED, "check signature failed.").await;
    check(signed(READER, send()), REFUSED, "has no permission to access Topic:T").await;
    check(signed(WRITER, pull()), REFUSED, "has no permission").await;
    // Changed after it was signed.
    check(signed(WRITER, send()).with("b", "U"), REFUSED, "check signature failed.").await;

    for user in [READER, WRITER] {
        check(signed(user, route()), response::SUCCESS, "").await;
    }
    check(signed(WRITER, send()), response::SUCCESS, "").await;
    check(signed(READER, pull()), response::SUCCESS, "").await;
    cluster.stop().await;
}
