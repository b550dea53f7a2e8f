//! Clients of the remoting protocol that take the proxy for their name server.

use crate::cluster::{Cluster, PATIENCE, until};
use crate::remoting::{self, bodies};
use parking_lot::Mutex;
use roxmq_protocol::body::list::ConsumerIdList;
use roxmq_protocol::body::route::TopicRouteData;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::header::Encoding;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::sys_flag::TRANSACTION_COMMIT;
use roxmq_protocol::sys_flag::pull::{SUBSCRIPTION, SUSPEND};
use roxmq_remoting::{Client, ClientOptions, Connection, Output, Service};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// Keeps what it is asked, and answers with its name.
#[derive(Default)]
struct Asked {
    name: String,
    requests: Mutex<Vec<Command>>,
}

impl Service for Asked {
    type Session = ();

    fn open(&self, _: &Arc<Connection>) {}

    fn request(&self, (): &mut (), _: &Arc<Connection>, frame: &Frame<'_>, output: &mut Output) {
        self.requests.lock().push(Command::from_frame(&frame.header, frame.body));
        output.reply(&frame.header, Command::response(0).remark(self.name.clone()));
    }

    fn burst_end(&self, (): &mut (), _: &Arc<Connection>, _: &mut Output) {}

    fn close(&self, (): (), _: &Arc<Connection>) {}
}

/// A client at the proxy.
struct Remote {
    client: Client,
    address: String,
    asked: Arc<Asked>,
}

impl Remote {
    fn at(cluster: &Cluster, name: &str) -> Remote {
        let asked = Arc::new(Asked { name: name.to_owned(), ..Asked::default() });
        let client = Client::with_service(ClientOptions::default(), Arc::clone(&asked)).unwrap();
        Remote { client, address: cluster.proxy.address().to_string(), asked }
    }

    async fn call(&self, request: Command) -> Command {
        self.client.call(&self.address, request, PATIENCE).await.unwrap()
    }

    async fn ok(&self, request: Command) -> Command {
        let answer = self.call(request).await;
        assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
        answer
    }

    async fn was_asked(&self, code: i32) -> Command {
        let find = || self.asked.requests.lock().iter().find(|request| request.code == code).cloned();
        until(&format!("{} is asked {code}", self.asked.name), || async { find().is_some() }).await;
        find().unwrap()
    }

    /// As a consumer of T, or as a producer.
    async fn heartbeat(&self) {
        let body = format!(
            r#"{{"clientID":"{}","producerDataSet":[{{"groupName":"PG"}}],"consumerDataSet":[{{"groupName":"G",
            "consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET",
            "subscriptionDataSet":[{{"topic":"T","subString":"*","subVersion":1}}],"unitMode":false}}]}}"#,
            self.asked.name
        );
        self.ok(Command::request(request::HEART_BEAT).body(body)).await;
    }

    async fn ids(&self) -> Vec<String> {
        let answer =
            self.ok(Command::request(request::GET_CONSUMER_LIST_BY_GROUP).with("consumerGroup", "G")).await;
        ConsumerIdList::from_json_bytes(&answer.body).unwrap().consumer_id_list
    }
}

fn send(broker: &str, properties: &str, body: &str) -> Command {
    remoting::send("T", properties, body).with("n", broker)
}

/// A pull of what is there.
fn pull(broker: &str) -> Command {
    pull_with(broker, SUBSCRIPTION, 0)
}

fn pull_with(broker: &str, sys_flag: i32, wait_ms: i64) -> Command {
    remoting::pull("T", 1, sys_flag, wait_ms).with("bname", broker)
}

#[tokio::test]
async fn requests_go_to_the_broker_that_they_name() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let client = Remote::at(&cluster, "c");
    let ask = Command::request(request::GET_ROUTEINFO_BY_TOPIC).with("topic", "T");
    let route = TopicRouteData::from_json_bytes(&client.ok(ask).await.body).unwrap();
    let brokers: Vec<_> =
        route.broker_datas.iter().map(|data| (&*data.broker_name, &*data.broker_addrs[&0])).collect();
    assert_eq!(brokers, [("broker-a", &*client.address), ("broker-b", &*client.address)]);

    for broker in ["broker-a", "broker-b"] {
        client.ok(send(broker, "", broker)).await;
        assert_eq!(bodies(&client.ok(pull(broker)).await), [broker]);
        let queue = |code| Command::request(code).with("topic", "T").with("queueId", 1).with("bname", broker);
        assert_eq!(client.ok(queue(request::GET_MAX_OFFSET)).await.field("offset"), Some("1"));
        let update =
            queue(request::UPDATE_CONSUMER_OFFSET).with("consumerGroup", "G").with("commitOffset", 1);
        client.client.oneway(&client.address, update).await.unwrap();
        until("the offset is there", || async {
            let query = queue(request::QUERY_CONSUMER_OFFSET).with("consumerGroup", "G");
            client.call(query).await.field("offset") == Some("1")
        })
        .await;
    }

    let check = async |request: Command, code: i32, text: &str| {
        let answer = client.call(request).await;
        assert_eq!(answer.code, code, "{answer:?}");
        assert!(answer.remark.as_ref().unwrap().contains(text), "{answer:?}");
    };
    let unnamed = Command::request(request::GET_MAX_OFFSET).with("topic", "T").with("queueId", 1);
    check(unnamed, response::VERSION_NOT_SUPPORTED, "bname").await;
    check(pull("broker-x"), response::SERVICE_NOT_AVAILABLE, "broker-x").await;
    check(Command::request(request::GET_BROKER_CONFIG), response::REQUEST_CODE_NOT_SUPPORTED, "26").await;
    let missing = Command::request(request::GET_ROUTEINFO_BY_TOPIC).with("topic", "Missing");
    check(missing, response::TOPIC_NOT_EXIST, "Missing").await;
    check(Command::request(request::HEART_BEAT).body("{"), response::SYSTEM_ERROR, "heartbeat").await;
    cluster.stop().await;
}

#[tokio::test]
async fn topics_take_only_the_kind_of_message_that_they_are_for() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "FIFO").await;
    let client = Remote::at(&cluster, "c");
    let refused = client.call(send("broker-a", "", "x")).await;
    assert_eq!(refused.code, response::MESSAGE_ILLEGAL, "{refused:?}");
    assert!(refused.remark.as_ref().unwrap().contains("FIFO"), "{refused:?}");
    client.client.oneway(&client.address, send("broker-a", "", "x")).await.unwrap();
    client.ok(send("broker-a", "__SHARDINGKEY\u{1}g", "right")).await;
    client.ok(send("broker-a", "TRANSFER_FLAG\u{1}true", "moved")).await;
    assert_eq!(cluster.a.stored("T", 2).await, 2);
    // Whether a topic that isn't there is made is the broker's matter.
    let unknown = client.call(send("broker-a", "", "x").with("b", "%RETRY%G")).await;
    assert_ne!(unknown.code, response::MESSAGE_ILLEGAL, "{unknown:?}");
    cluster.stop().await;
}

/// Nothing is lost between the two forms of a header, though the one has no room for a long name.
#[tokio::test]
async fn clients_may_use_either_form_of_headers() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let client = Remote::at(&cluster, "c");
    let connection = client.client.connection(&client.address).await.unwrap();
    for (encoding, body) in [(Encoding::Json, "json"), (Encoding::Binary, "binary")] {
        let mut request = send("broker-a", "KEYS\u{1}k\u{2}", body);
        request.ext.push(("n".repeat(40_000).into(), "v".to_owned()));
        let answer = connection.call_in(encoding, request, PATIENCE).await.unwrap();
        assert_eq!(answer.code, response::SUCCESS, "{answer:?}");
    }
    assert_eq!(bodies(&client.ok(pull("broker-a")).await), ["json", "binary"]);
    cluster.stop().await;
}

#[tokio::test]
async fn members_of_a_group_are_known_at_every_broker() {
    let mut cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let (first, second) = (Remote::at(&cluster, "c1"), Remote::at(&cluster, "c2"));
    first.heartbeat().await;
    assert_eq!(first.ids().await, ["c1"]);
    second.heartbeat().await;
    assert_eq!(second.ids().await, ["c1", "c2"]);
    first.was_asked(request::NOTIFY_CONSUMER_IDS_CHANGED).await;

    for broker in ["broker-a", "broker-b"] {
        let lock = |client: &str, code| {
            let body = format!(
                r#"{{"consumerGroup":"G","clientId":"{client}","mqSet":[{{"topic":"T","brokerName":"{broker}","queueId":0}}]}}"#
            );
            Command::request(code).body(body)
        };
        assert!(
            first
                .ok(lock("c1", request::LOCK_BATCH_MQ))
                .await
                .body
                .ends_with(br#""queueId":0,"topic":"T"}]}"#)
        );
        let refused = second.ok(lock("c2", request::LOCK_BATCH_MQ)).await;
        assert_eq!(&refused.body[..], br#"{"lockOKMQSet":[]}"#);
        first.ok(lock("c1", request::UNLOCK_BATCH_MQ)).await;
    }

    // A broker that was just started is told by whoever calls it; the other one knows everybody all the time.
    cluster.b.break_down().await;
    assert_eq!(second.ids().await, ["c1", "c2"]);
    cluster.b.start().await;
    cluster.queues("T", 4).await;
    let of_b = || async {
        let ask = Command::request(request::GET_CONSUMER_LIST_BY_GROUP).with("consumerGroup", "G");
        let answer = Client::new().call(&cluster.b.address(), ask, PATIENCE).await.unwrap();
        ConsumerIdList::from_json_bytes(&answer.body).unwrap_or_default().consumer_id_list
    };
    until("the broker knows who calls it", || async {
        second.call(pull("broker-b")).await;
        of_b().await == ["c2"]
    })
    .await;
    until("the broker knows everybody", || async {
        first.heartbeat().await;
        of_b().await == ["c1", "c2"]
    })
    .await;

    let leave =
        Command::request(request::UNREGISTER_CLIENT).with("clientID", "c1").with("consumerGroup", "G");
    first.ok(leave).await;
    assert_eq!(second.ids().await, ["c2"]);
    // Gone with its connection, whatever it waits for.
    let address = second.address.clone();
    let connection = second.client.connection(&address).await.unwrap();
    let mut waiting =
        Box::pin(connection.call(pull_with("broker-a", SUBSCRIPTION | SUSPEND, 60_000), PATIENCE));
    tokio::time::timeout(Duration::from_millis(100), &mut waiting).await.unwrap_err();
    second.client.close();
    assert!(waiting.await.map_or(true, |answer| answer.code == response::SYSTEM_ERROR));
    until("nobody is there", || async {
        let ask = Command::request(request::GET_CONSUMER_LIST_BY_GROUP).with("consumerGroup", "G");
        first.client.call(&address, ask, PATIENCE).await.unwrap().code == response::SYSTEM_ERROR
    })
    .await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_producer_is_asked_how_its_transaction_ends() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "TRANSACTION").await;
    let client = Remote::at(&cluster, "p");
    client.heartbeat().await;
    let properties = "TRAN_MSG\u{1}true\u{2}PGROUP\u{1}PG\u{2}UNIQ_KEY\u{1}K";
    let half = client.ok(send("broker-b", properties, "half")).await;
    let id: OffsetMessageId = half.field("msgId").unwrap().parse().unwrap();
    let check = client.was_asked(request::CHECK_TRANSACTION_STATE).await;
    assert_eq!(check.field("bname"), Some("broker-b"));
    assert_eq!(client.call(pull("broker-b")).await.code, response::PULL_NOT_FOUND);
    let end = Command::request(request::END_TRANSACTION)
        .with("producerGroup", "PG")
        .with("tranStateTableOffset", check.field("tranStateTableOffset").unwrap())
        .with("commitLogOffset", check.field("commitLogOffset").unwrap())
        .with("commitOrRollback", TRANSACTION_COMMIT)
        .with("fromTransactionCheck", true)
        .with("msgId", "K")
        .with("bname", check.field("bname").unwrap());
    assert!(id.phy_offset > 0);
    client.client.oneway(&client.address, end).await.unwrap();
    until("the message is there", || async { bodies(&client.call(pull("broker-b")).await) == ["half"] })
        .await;
    cluster.stop().await;
}

#[tokio::test]
async fn operators_reach_a_client_behind_the_proxy() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let client = Remote::at(&cluster, "c1");
    client.heartbeat().await;
    for broker in [&cluster.a, &cluster.b] {
        let ask = Command::request(request::GET_CONSUMER_RUNNING_INFO)
            .with("consumerGroup", "G")
            .with("clientId", "c1")
            .with("jstackEnable", false);
        let answer = Client::new().call(&broker.address(), ask, PATIENCE).await.unwrap();
        assert_eq!((answer.code, answer.remark.as_deref()), (0, Some("c1")));
    }
    cluster.stop().await;
}

#[tokio::test]
async fn messages_are_popped_and_acknowledged() {
    let cluster = Cluster::start().await;
    cluster.topic("T", "NORMAL").await;
    let client = Remote::at(&cluster, "c1");
    client.heartbeat().await;
    let assignment = br#"{"topic":"T","consumerGroup":"G","clientId":"c1","strategyName":"AVG","messageModel":"CLUSTERING"}"#;
    let assigned = client.ok(Command::request(request::QUERY_ASSIGNMENT).body(&assignment[..])).await;
    assert!(String::from_utf8_lossy(&assigned.body).contains("broker-a"), "{assigned:?}");
    client.ok(send("broker-b", "", "hello")).await;
    let pop = Command::request(request::POP_MESSAGE)
        .with("consumerGroup", "G")
        .with("topic", "T")
        .with("queueId", -1)
        .with("maxMsgNums", 8)
        .with("invisibleTime", 30_000)
        .with("pollTime", 100)
        .with("bornTime", UNIX_EPOCH.elapsed().unwrap().as_millis())
        .with("initMode", 1)
        .with("bname", "broker-b");
    let popped = client.ok(pop.clone()).await;
    assert_eq!(bodies(&popped), ["hello"]);
    let starts = popped.field("startOffsetInfo").unwrap().split(' ').collect::<Vec<_>>();
    let extra = format!(
        "{} {} {} {} 0 broker-b {} 0",
        starts[2].trim_end_matches(';'),
        popped.field("popTime").unwrap(),
        popped.field("invisibleTime").unwrap(),
        popped.field("reviveQid").unwrap(),
        starts[1],
    );
    let ack = Command::request(request::ACK_MESSAGE)
        .with("consumerGroup", "G")
        .with("topic", "T")
        .with("queueId", starts[1])
        .with("extraInfo", extra)
        .with("offset", 0)
        .with("bname", "broker-b");
    client.ok(ack).await;
    assert_ne!(client.call(pop).await.code, response::SUCCESS);
    cluster.stop().await;
}
