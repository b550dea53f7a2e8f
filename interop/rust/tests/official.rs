//! The official Rust client against a node in this process: what it sends, receives, delays and commits.
//!
//! Its one release, 5.0.0, has a producer and a simple consumer; push consumers came after it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(dead_code, reason = "the node has more to it than is asked of it here")]

#[path = "../../../crates/proxy/tests/it/client.rs"]
mod client;
#[path = "../../../crates/proxy/tests/it/guarded.rs"]
mod guarded;
#[path = "../../../crates/proxy/tests/it/node.rs"]
mod node;
#[path = "../../../crates/proxy/tests/it/script.rs"]
mod script;

use guarded::{KEYS, allow, create_user};
use node::Node;
use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::error::ClientError;
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::{MessageBuilder, MessageView};
use rocketmq::model::transaction::{Transaction, TransactionResolution};
use rocketmq::{Producer, SimpleConsumer};
use roxmq_proxy::ProxyConfig;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PATIENCE: Duration = Duration::from_secs(60);
const INVISIBLE: Duration = Duration::from_secs(30);
/// How long a receive waits. The client gives its calls no more time than this.
const POLLING: Duration = Duration::from_secs(2);

fn options(node: &Node) -> ClientOption {
    let mut options = ClientOption::default();
    options.set_access_url(node.address().to_string());
    options.set_enable_tls(false);
    options.set_timeout(Duration::from_secs(10));
    options.set_long_polling_timeout(POLLING);
    options
}

async fn producer(node: &Node, topic: &str) -> Producer {
    producer_with(options(node), topic).await.unwrap()
}

async fn producer_with(options: ClientOption, topic: &str) -> Result<Producer, ClientError> {
    let mut own = ProducerOption::default();
    own.set_topics(vec![topic]);
    let mut producer = Producer::new(own, options)?;
    producer.start().await?;
    Ok(producer)
}

async fn consumer(node: &Node, group: &str, topic: &str) -> SimpleConsumer {
    consumer_with(options(node), group, topic).await.unwrap()
}

async fn consumer_with(
    options: ClientOption,
    group: &str,
    topic: &str,
) -> Result<SimpleConsumer, ClientError> {
    let mut own = SimpleConsumerOption::default();
    own.set_topics(vec![topic]);
    own.set_consumer_group(group);
    let mut consumer = SimpleConsumer::new(own, options)?;
    consumer.start().await?;
    Ok(consumer)
}

/// To the client nothing new is an error, too.
async fn receive(consumer: &SimpleConsumer, topic: &str, tags: &str) -> Vec<MessageView> {
    let filter = FilterExpression::new(FilterType::Tag, tags);
    consumer.receive_with(topic, &filter, 16, INVISIBLE).await.unwrap_or_default()
}

/// Receives and acknowledges until there are so many.
async fn drain(consumer: &SimpleConsumer, topic: &str, count: usize) -> Vec<MessageView> {
    let (mut got, started) = (Vec::new(), Instant::now());
    while got.len() < count {
        assert!(started.elapsed() < PATIENCE, "{} of {count} messages came", got.len());
        for message in receive(consumer, topic, "*").await {
            consumer.ack(&message).await.unwrap();
            got.push(message);
        }
    }
    got
}

fn bodies(messages: &[MessageView]) -> Vec<&str> {
    messages.iter().map(|message| std::str::from_utf8(message.body()).unwrap()).collect()
}

/// A group's first receive begins at the end of its queues.
async fn begin(consumer: &SimpleConsumer, topic: &str) {
    assert!(receive(consumer, topic, "*").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sends_receives_and_acknowledges() {
    let node = Node::start().await;
    node.topic("T", "NORMAL").await;
    let producer = producer(&node, "T").await;
    let consumer = consumer(&node, "G", "T").await;
    begin(&consumer, "T").await;
    for number in 0..10 {
        let message = MessageBuilder::builder()
            .set_topic("T")
            .set_tag("a")
            .set_keys(vec!["k1", "k2"])
            .set_properties(HashMap::from([("color", format!("c{number}"))]))
            .set_body(format!("b{number}").into_bytes())
            .build();
        assert!(!producer.send(message.unwrap()).await.unwrap().message_id().is_empty());
    }
    let got = drain(&consumer, "T", 10).await;
    let found: BTreeSet<_> = bodies(&got).into_iter().map(str::to_owned).collect();
    assert_eq!(found, (0..10).map(|number| format!("b{number}")).collect());
    assert_eq!((got[0].tag(), got[0].keys().len(), got[0].delivery_attempt()), (Some("a"), 2, 1));
    assert!(got[0].properties()["color"].starts_with('c'));
    assert!(receive(&consumer, "T", "*").await.is_empty(), "what is acknowledged comes no more");
    // What is wrong it is told.
    let lost = MessageBuilder::builder().set_topic("Nowhere").set_tag("a").set_body(vec![1]).build().unwrap();
    assert!(producer.send(lost).await.is_err());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_the_order_of_a_group() {
    let node = Node::start().await;
    node.topic("F", "FIFO").await;
    node.group(r#"{"groupName":"G","consumeMessageOrderly":true}"#).await;
    let producer = producer(&node, "F").await;
    let consumer = consumer(&node, "G", "F").await;
    begin(&consumer, "F").await;
    for number in 0..6 {
        let body = format!("b{number}").into_bytes();
        let message = MessageBuilder::fifo_message_builder("F", body, "group").set_tag("a").build();
        producer.send(message.unwrap()).await.unwrap();
    }
    assert_eq!(bodies(&drain(&consumer, "F", 6).await), ["b0", "b1", "b2", "b3", "b4", "b5"]);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delays() {
    let node = Node::start().await;
    node.topic("D", "DELAY").await;
    let producer = producer(&node, "D").await;
    let consumer = consumer(&node, "G", "D").await;
    begin(&consumer, "D").await;
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let due = now().as_secs() + 3;
    let message =
        MessageBuilder::delay_message_builder("D", b"later".to_vec(), due as i64).set_tag("a").build();
    producer.send(message.unwrap()).await.unwrap();
    assert_eq!(bodies(&drain(&consumer, "D", 1).await), ["later"]);
    assert!(now() >= Duration::from_secs(due), "it came early");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_rolls_back_and_is_asked() {
    let keys = [("transactionTimeOut", "1000"), ("transactionCheckInterval", "1000")];
    let node = Node::start_with(&keys, ProxyConfig::default()).await;
    node.topic("X", "TRANSACTION").await;
    let consumer = consumer(&node, "G", "X").await;
    begin(&consumer, "X").await;
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let mut own = ProducerOption::default();
    own.set_topics(vec!["X"]);
    let checker = {
        let asked = Arc::clone(&asked);
        move |_: String, message: MessageView| {
            let body = String::from_utf8_lossy(message.body()).into_owned();
            asked.lock().unwrap().insert(body.clone());
            if body == "open-commit" {
                TransactionResolution::COMMIT
            } else {
                TransactionResolution::ROLLBACK
            }
        }
    };
    let mut producer = Producer::new_transaction_producer(own, options(&node), Box::new(checker)).unwrap();
    producer.start().await.unwrap();
    let mut open = Vec::new();
    for body in ["commit", "rollback", "open-commit", "open-rollback"] {
        let message = MessageBuilder::transaction_message_builder("X", body.into()).set_tag("a").build();
        let half = producer.send_transaction_message(message.unwrap()).await.unwrap();
        match body {
            "commit" => half.commit().await.unwrap(),
            "rollback" => half.rollback().await.unwrap(),
            _ => open.push(half),
        }
    }
    let mut found =
        bodies(&drain(&consumer, "X", 2).await).iter().map(|body| (*body).to_owned()).collect::<Vec<_>>();
    found.sort();
    assert_eq!(found, ["commit", "open-commit"]);
    let started = Instant::now();
    while asked.lock().unwrap().len() < 2 {
        assert!(started.elapsed() < PATIENCE, "the producer isn't asked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(receive(&consumer, "X", "*").await.is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_with_its_keys() {
    let node = Node::start_with(KEYS, ProxyConfig::default()).await;
    node.topic("T", "NORMAL").await;
    node.operate(create_user(("shop", "secret"))).await;
    node.operate(allow("shop", &[("Topic:T", "Pub,Sub"), ("Group:G", "Sub")])).await;
    let signing = |secret_key: &str| {
        let mut options = options(&node);
        options.set_access_key("shop");
        options.set_secret_key(secret_key);
        options
    };
    let producer = producer_with(signing("secret"), "T").await.unwrap();
    let consumer = consumer_with(signing("secret"), "G", "T").await.unwrap();
    begin(&consumer, "T").await;
    let message =
        || MessageBuilder::builder().set_topic("T").set_tag("a").set_body(vec![b'x']).build().unwrap();
    producer.send(message()).await.unwrap();
    assert_eq!(bodies(&drain(&consumer, "T", 1).await), ["x"]);

    for (options, text) in
        [(signing("wrong"), "check signature failed."), (self::options(&node), "username cannot be null.")]
    {
        let refused = match producer_with(options, "T").await {
            Ok(producer) => producer.send(message()).await.err(),
            Err(refused) => Some(refused),
        };
        let refused = format!("{:?}", refused.unwrap());
        assert!(refused.contains("UNAUTHORIZED") && refused.contains(text), "{refused}");
    }
    node.stop().await;
}
