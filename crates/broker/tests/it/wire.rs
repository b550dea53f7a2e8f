//! A client's connection frame by frame: it sees what the broker sends on its own, and can answer it.

use crate::node::Node;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame;
use roxmq_protocol::header::Encoding;
use roxmq_protocol::language::Language;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What is waited for has come long before; a broker that hangs fails the test.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Wire {
    stream: TcpStream,
    opaque: i32,
    language: Language,
    version: i32,
    /// Requests of the broker that came while something else was waited for.
    pushed: VecDeque<Command>,
}

impl Wire {
    pub async fn connect(node: &Node) -> Wire {
        Wire::connect_as(node, Language::Java, roxmq_protocol::version::V5_5_0).await
    }

    pub async fn connect_as(node: &Node, language: Language, version: i32) -> Wire {
        let stream = TcpStream::connect(node.address()).await.unwrap();
        Wire { stream, opaque: 0, language, version, pushed: VecDeque::new() }
    }

    /// The port that the broker sees.
    pub fn port(&self) -> u16 {
        self.stream.local_addr().unwrap().port()
    }

    pub async fn send(&mut self, request: Command) -> i32 {
        self.opaque += 1;
        let request =
            Command { opaque: self.opaque, language: self.language, version: self.version, ..request };
        self.write(&request).await;
        self.opaque
    }

    pub async fn call(&mut self, request: Command) -> Command {
        let opaque = self.send(request).await;
        self.answer(opaque).await
    }

    /// The answer to a request sent before.
    pub async fn answer(&mut self, opaque: i32) -> Command {
        loop {
            let command = self.read().await.expect("an answer");
            if command.flag & 1 == 0 {
                self.pushed.push_back(command);
            } else if command.opaque == opaque {
                return command;
            }
        }
    }

    /// The next answer, whichever request it is for.
    pub async fn any_answer(&mut self) -> Command {
        loop {
            let command = self.read().await.expect("an answer");
            if command.flag & 1 != 0 {
                return command;
            }
            self.pushed.push_back(command);
        }
    }

    /// The next request that the broker sends or has sent.
    pub async fn pushed(&mut self) -> Command {
        loop {
            if let Some(command) = self.pushed.pop_front() {
                return command;
            }
            let command = self.read().await.expect("a request of the broker");
            assert_eq!(command.flag & 1, 0, "an answer that nobody waits for: {command:?}");
            self.pushed.push_back(command);
        }
    }

    /// The codes of everything that the broker has sent on its own up to now. What it queued before the requests
    /// here is not behind both of their answers.
    pub async fn pushed_so_far(&mut self) -> Vec<i32> {
        for _ in 0..2 {
            self.call(Command::request(-1)).await;
        }
        self.pushed.drain(..).map(|command| command.code).collect()
    }

    /// Answers a request of the broker.
    pub async fn respond(&mut self, request: &Command, response: Command) {
        self.write(&Command { opaque: request.opaque, ..response }).await;
    }

    /// Waits until the broker closes the connection.
    pub async fn closed(mut self) {
        while self.read().await.is_some() {}
    }

    async fn write(&mut self, command: &Command) {
        let mut bytes = Vec::new();
        command.encode(Encoding::Json, &mut bytes);
        self.stream.write_all(&bytes).await.unwrap();
    }

    /// The next frame; none at the end of the stream.
    async fn read(&mut self) -> Option<Command> {
        let mut bytes = vec![0; 4];
        timeout(PATIENCE, self.stream.read_exact(&mut bytes)).await.expect("something within 30 s").ok()?;
        let length = frame::length(&bytes).unwrap().unwrap();
        bytes.resize(length, 0);
        self.stream.read_exact(&mut bytes[4..]).await.unwrap();
        let frame = frame::decode(&bytes).unwrap();
        Some(Command::from_frame(&frame.header, frame.body))
    }
}
