//! A blocking client of raw frames: requests out, answers in, as many under way as one likes.

use crate::process::PATIENCE;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame;
use roxmq_protocol::header::Encoding;
use roxmq_protocol::sys_flag::{perm, pull};
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

pub struct Peer {
    writer: TcpStream,
    reader: BufReader<TcpStream>,
    opaque: i32,
}

impl Peer {
    pub fn connect(port: u16) -> io::Result<Peer> {
        Peer::connect_to("127.0.0.1", port)
    }

    pub fn connect_to(ip: &str, port: u16) -> io::Result<Peer> {
        let writer = TcpStream::connect((ip, port))?;
        writer.set_nodelay(true)?;
        writer.set_read_timeout(Some(PATIENCE))?;
        Ok(Peer { reader: BufReader::new(writer.try_clone()?), writer, opaque: 0 })
    }

    /// Sends a request without waiting, and gives the opaque of its answer.
    pub fn send(&mut self, mut request: Command) -> io::Result<i32> {
        self.opaque += 1;
        request.opaque = self.opaque;
        let mut bytes = Vec::new();
        request.encode(Encoding::Json, &mut bytes);
        self.writer.write_all(&bytes)?;
        Ok(self.opaque)
    }

    /// The next answer, whichever request it is for.
    pub fn receive(&mut self) -> io::Result<Command> {
        let mut bytes = vec![0; 4];
        self.reader.read_exact(&mut bytes)?;
        let length = frame::length(&bytes).unwrap().unwrap();
        bytes.resize(length, 0);
        self.reader.read_exact(&mut bytes[4..])?;
        let frame = frame::decode(&bytes).unwrap();
        Ok(Command::from_frame(&frame.header, frame.body))
    }

    pub fn try_call(&mut self, request: Command) -> io::Result<Command> {
        self.send(request)?;
        self.receive()
    }

    #[track_caller]
    pub fn call(&mut self, request: Command) -> Command {
        self.try_call(request).unwrap()
    }

    /// Asks a name server again until brokers have told it of what is asked for.
    #[track_caller]
    pub fn call_until_found(&mut self, request: Command) -> Command {
        let before = Instant::now();
        loop {
            let answer = self.call(request.clone());
            if answer.code == 0 {
                return answer;
            }
            assert!(before.elapsed() < PATIENCE, "{answer:?}");
        }
    }

    /// The answers to all requests in their order, with some of them under way at a time.
    #[track_caller]
    pub fn call_all(&mut self, requests: Vec<Command>) -> Vec<Command> {
        const UNDER_WAY: usize = 64;
        let first = self.opaque + 1;
        let mut answers = vec![None; requests.len()];
        for (sent, request) in requests.into_iter().enumerate() {
            if sent >= UNDER_WAY {
                self.receive_into(&mut answers, first);
            }
            self.send(request).unwrap();
        }
        while answers.contains(&None) {
            self.receive_into(&mut answers, first);
        }
        answers.into_iter().map(|answer| answer.expect("all are there")).collect()
    }

    fn receive_into(&mut self, answers: &mut [Option<Command>], first: i32) {
        let answer = self.receive().unwrap();
        let slot = &mut answers[(answer.opaque - first) as usize];
        assert!(slot.replace(answer).is_none(), "a request was answered twice");
    }

    /// A number that a request is answered with.
    #[track_caller]
    pub fn number(&mut self, request: Command, name: &str) -> i64 {
        let answer = self.call(request);
        assert_eq!(answer.code, 0, "{answer:?}");
        number(&answer, name)
    }
}

#[track_caller]
pub fn number(answer: &Command, name: &str) -> i64 {
    answer
        .field(name)
        .and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {answer:?}"))
}

/// A property string.
pub fn properties(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!("{name}\u{1}{value}\u{2}")).collect()
}

pub fn send(topic: &str, queue_id: i32, properties: &str, body: impl Into<Vec<u8>>) -> Command {
    Command::request(request::SEND_MESSAGE_V2)
        .with("a", "producers")
        .with("b", topic)
        .with("c", "TBW102")
        .with("d", 8)
        .with("e", queue_id)
        .with("f", 0)
        .with("g", 1_700_000_000_000_i64)
        .with("h", 0)
        .with("i", properties)
        .body(body.into())
}

/// Messages as one send, each with its property string and its body.
pub fn batch(topic: &str, queue_id: i32, messages: &[(String, Vec<u8>)]) -> Command {
    let mut whole = Vec::new();
    for (properties, body) in messages {
        assert!(roxmq_protocol::batch::push(&mut whole, 0, body, properties.as_bytes()));
    }
    let request = send(topic, queue_id, "", whole).with("m", true);
    Command { code: request::SEND_BATCH_MESSAGE, ..request }
}

/// A pull of what is there.
pub fn pull(topic: &str, queue_id: i32, offset: i64, max: i32) -> Command {
    Command::request(request::PULL_MESSAGE)
        .with("consumerGroup", "readers")
        .with("topic", topic)
        .with("queueId", queue_id)
        .with("queueOffset", offset)
        .with("maxMsgNums", max)
        .with("sysFlag", pull::SUBSCRIPTION)
        .with("commitOffset", 0)
        .with("suspendTimeoutMillis", 0)
        .with("subscription", "*")
        .with("subVersion", 0)
}

/// A question about a queue that has only those fields: 30 and 31.
pub fn about_queue(code: i32, topic: &str, queue_id: i32) -> Command {
    Command::request(code).with("topic", topic).with("queueId", queue_id)
}

pub fn create_topic(topic: &str) -> Command {
    Command::request(request::UPDATE_AND_CREATE_TOPIC)
        .with("topic", topic)
        .with("defaultTopic", "TBW102")
        .with("readQueueNums", 8)
        .with("writeQueueNums", 8)
        .with("perm", perm::READ | perm::WRITE)
        .with("topicFilterType", "SINGLE_TAG")
        .with("topicSysFlag", 0)
        .with("order", false)
}

pub fn create_group(group: &str) -> Command {
    Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(format!(
        r#"{{"groupName":"{group}","consumeEnable":true,"retryQueueNums":1,"retryMaxTimes":16}}"#
    ))
}

pub fn commit(group: &str, topic: &str, queue_id: i32, offset: i64) -> Command {
    Command::request(request::UPDATE_CONSUMER_OFFSET)
        .with("consumerGroup", group)
        .with("topic", topic)
        .with("queueId", queue_id)
        .with("commitOffset", offset)
}

pub fn committed(group: &str, topic: &str, queue_id: i32) -> Command {
    Command::request(request::QUERY_CONSUMER_OFFSET)
        .with("consumerGroup", group)
        .with("topic", topic)
        .with("queueId", queue_id)
}
