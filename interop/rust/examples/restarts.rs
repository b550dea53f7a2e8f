//! A producer and a simple consumer of the official Rust client that go on while somebody else stops and kills the
//! server: `restarts ENDPOINT TOPIC STOP_FILE`.
//!
//! Whatever was sent successfully has to reach the consumer. The producer stops when the file is there; then the
//! consumer has `LAST` to get the rest.

use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::MessageBuilder;
use rocketmq::{Producer, SimpleConsumer};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LAST: Duration = Duration::from_secs(120);
const INVISIBLE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

type Bodies = Arc<Mutex<BTreeSet<String>>>;
type Failure = Box<dyn std::error::Error>;

fn options(endpoint: &str) -> ClientOption {
    let mut options = ClientOption::default();
    options.set_access_url(endpoint);
    options.set_enable_tls(false);
    options.set_timeout(Duration::from_secs(3));
    options.set_long_polling_timeout(Duration::from_secs(5));
    options
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, topic, stop] = arguments.as_slice() else {
        return Err("restarts ENDPOINT TOPIC STOP_FILE".into());
    };
    let mut own = SimpleConsumerOption::default();
    own.set_topics(vec![topic]);
    own.set_consumer_group("restarts_rust");
    let mut consumer = SimpleConsumer::new(own, options(endpoint))?;
    consumer.start().await?;
    let received = Bodies::default();
    tokio::spawn(receive(consumer, topic.clone(), Arc::clone(&received)));

    let mut own = ProducerOption::default();
    own.set_topics(vec![topic]);
    let mut producer = Producer::new(own, options(endpoint))?;
    producer.start().await?;
    let (sent, refused) = send(&producer, topic, Path::new(stop)).await?;

    let lacking = || sent.difference(&received.lock().unwrap()).count();
    let end = Instant::now() + LAST;
    while lacking() > 0 && Instant::now() < end {
        tokio::time::sleep(PAUSE).await;
    }
    println!("{} sent, {refused} refused; the simple consumer of Rust lacks {}", sent.len(), lacking());
    Ok(if sent.is_empty() || lacking() > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What was sent for certain, and how many may have been.
async fn send(producer: &Producer, topic: &str, stop: &Path) -> Result<(BTreeSet<String>, usize), Failure> {
    let (mut sent, mut refused) = (BTreeSet::new(), 0);
    for number in 0.. {
        if stop.exists() {
            break;
        }
        let body = format!("message {number}");
        let message = MessageBuilder::builder()
            .set_topic(topic)
            .set_tag("a")
            .set_body(body.clone().into_bytes())
            .build()?;
        match producer.send(message).await {
            Ok(_) => {
                sent.insert(body);
                if sent.len() == 1 {
                    println!("sending");
                }
            }
            // Whether it was stored is unknown, so that nobody has to get it.
            Err(_) => refused += 1,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok((sent, refused))
}

async fn receive(consumer: SimpleConsumer, topic: String, received: Bodies) {
    let all = FilterExpression::new(FilterType::Tag, "*");
    loop {
        // To the client nothing new is an error, too.
        let Ok(messages) = consumer.receive_with(&topic, &all, 16, INVISIBLE).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        for message in messages {
            received.lock().unwrap().insert(String::from_utf8_lossy(message.body()).into_owned());
            // What couldn't be acknowledged comes again.
            let _ = consumer.ack(&message).await;
        }
    }
}
