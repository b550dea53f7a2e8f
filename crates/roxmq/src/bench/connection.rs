//! A blocking connection for load: requests are written in bursts, responses read one by one.

use super::Target;
use super::signer::Signer;
use anyhow::{Context, bail};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::{self, Frame};
use roxmq_protocol::header::Encoding;
use std::io::{BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// A server that says nothing for this long is taken for dead.
const READ_TIMEOUT: Duration = Duration::from_secs(35);

pub struct Connection {
    reader: Reader,
    writer: Writer,
}

pub struct Writer {
    stream: TcpStream,
    burst: Vec<u8>,
    signer: Option<Signer>,
}

pub struct Reader {
    stream: BufReader<TcpStream>,
    frame: Vec<u8>,
}

impl Connection {
    pub fn open(target: &Target) -> anyhow::Result<Self> {
        let addr = target.addr(false);
        let resolved = addr
            .to_socket_addrs()
            .with_context(|| format!("'{addr}' is not HOST:PORT"))?
            .next()
            .with_context(|| format!("'{addr}' has no address"))?;
        let stream = TcpStream::connect_timeout(&resolved, CONNECT_TIMEOUT)
            .with_context(|| format!("cannot connect to {addr}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let reader =
            Reader { stream: BufReader::with_capacity(256 * 1024, stream.try_clone()?), frame: Vec::new() };
        let writer = Writer { stream, burst: Vec::new(), signer: target.signer() };
        Ok(Connection { reader, writer })
    }

    pub fn split(self) -> (Reader, Writer) {
        (self.reader, self.writer)
    }

    /// One request, and its response.
    pub fn call(&mut self, command: &Command) -> anyhow::Result<Command> {
        self.writer.push(command);
        self.writer.send()?;
        let frame = self.reader.next()?;
        Ok(Command::from_frame(&frame.header, frame.body))
    }

    /// A queue's first and next offsets.
    pub fn offsets(&mut self, topic: &str, queue_id: u32) -> anyhow::Result<(i64, i64)> {
        let mut offset = |code| -> anyhow::Result<i64> {
            let ask = Command::request(code).with("topic", topic).with("queueId", queue_id);
            let answer = self.call(&ask)?;
            match answer.field("offset").and_then(|offset| offset.parse().ok()) {
                Some(offset) if answer.code == 0 => Ok(offset),
                _ => bail!(
                    "the offset of queue {queue_id}: {}",
                    describe(answer.code, answer.remark.as_deref())
                ),
            }
        };
        Ok((offset(request::GET_MIN_OFFSET)?, offset(request::GET_MAX_OFFSET)?))
    }
}

impl Writer {
    pub fn push(&mut self, command: &Command) {
        match &self.signer {
            Some(signer) => signer.sign(command.clone()).encode(Encoding::Json, &mut self.burst),
            None => command.encode(Encoding::Json, &mut self.burst),
        }
    }

    /// Writes what was pushed.
    pub fn send(&mut self) -> std::io::Result<()> {
        let result = self.stream.write_all(&self.burst);
        self.burst.clear();
        result
    }

    /// Closes the connection, which ends the reader.
    pub fn finish(&self) {
        // A connection that is gone already needs no goodbye.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

impl Reader {
    pub fn next(&mut self) -> anyhow::Result<Frame<'_>> {
        let mut prefix = [0; 4];
        self.stream.read_exact(&mut prefix).context("the server closed the connection")?;
        let length = frame::length(&prefix)?.context("four bytes hold a length")?;
        self.frame.resize(length, 0);
        self.frame[..4].copy_from_slice(&prefix);
        self.stream
            .read_exact(&mut self.frame[4..])
            .context("the server closed the connection in a frame")?;
        Ok(frame::decode(&self.frame)?)
    }
}

/// A refusal as one line.
pub fn describe(code: i32, remark: Option<&str>) -> String {
    format!("code {code} {}", remark.unwrap_or("(no text)"))
}
