//! A broker on a free port with a store of its own, and connections to it.

use crate::requests::{Message, assert_code, messages, pull, send};
use roxmq_broker::config::{BrokerConfig, CurrentConfig};
use roxmq_broker::registration::NoNameServers;
use roxmq_broker::{Broker, BrokerOptions, BrokerService};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame;
use roxmq_protocol::header::{Encoding, Header};
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::record::Records;
use roxmq_remoting::{Client, Connection, Server, ServerOptions};
use roxmq_store::clock::{Clock, SystemClock};
use roxmq_store::files::OsFiles;
use roxmq_testkit::TestClock;
use std::fs::DirEntry;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What any answer is waited for. Longer than any test takes, so that a hang fails and a slow machine doesn't.
const PATIENCE: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(5);

pub struct Node {
    settings: Vec<(String, String)>,
    clock: Arc<dyn Clock>,
    dir: TempDir,
    broker: Arc<Broker>,
    server: Server,
    connection: Peer,
}

impl Node {
    pub async fn start() -> Node {
        Node::start_with(&[]).await
    }

    pub async fn start_with(settings: &[(&str, &str)]) -> Node {
        Node::start_at(Arc::new(SystemClock), settings).await
    }

    /// With a clock that the test moves.
    pub async fn start_at(clock: Arc<dyn Clock>, settings: &[(&str, &str)]) -> Node {
        Node::start_on(clock, settings, TempDir::new().unwrap()).await
    }

    /// With 20 messages in queue 0 of topic T, over several files of the log, and a clock to have their time pass.
    pub async fn start_with_many_files() -> (Node, Arc<TestClock>) {
        // The files have the times of the machine.
        let clock = Arc::new(TestClock::at(SystemClock.now()));
        let settings = [("mappedFileSizeCommitLog", "262144"), ("maxMessageSize", "65536")];
        let node = Node::start_at(clock.clone(), &settings).await;
        for _ in 0..20 {
            assert_code(&node.call(send("T", vec![b'x'; 60_000])).await, 0, &[]);
        }
        (node, clock)
    }

    /// Over the store of another node.
    pub async fn start_in(dir: TempDir) -> Node {
        Node::start_on(Arc::new(SystemClock), &[], dir).await
    }

    pub async fn start_on(clock: Arc<dyn Clock>, settings: &[(&str, &str)], dir: TempDir) -> Node {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Node::open(clock, settings.iter().map(owned).collect(), dir).await
    }

    async fn open(clock: Arc<dyn Clock>, settings: Vec<(String, String)>, dir: TempDir) -> Node {
        // Small files, so that a test leaves little behind and starts at once.
        let root = dir.path().to_str().unwrap();
        let mut pairs = vec![
            ("storePathRootDir", root),
            ("mappedFileSizeCommitLog", "16777216"),
            ("maxHashSlotNum", "1000"),
            ("maxIndexNum", "4000"),
        ];
        pairs.extend(settings.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let (config, _) = BrokerConfig::from_pairs(pairs).unwrap();
        let (broker, _) = Broker::open(BrokerOptions {
            config: Arc::new(CurrentConfig::new(config)),
            files: Arc::new(OsFiles),
            clock: Arc::clone(&clock),
            name_servers: Arc::new(NoNameServers),
            advertised: SocketAddr::from(([127, 0, 0, 1], 10911)),
        })
        .unwrap();
        broker.run().unwrap();
        let options =
            ServerOptions { listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))], ..ServerOptions::default() };
        let server = Server::start(options, Arc::new(BrokerService::new(Arc::clone(&broker)))).await.unwrap();
        let connection = Peer::connect(server.local_addrs()[0]).await;
        Node { clock, settings, dir, broker, server, connection }
    }

    pub async fn stop(self) -> TempDir {
        self.broker.shutdown().await;
        self.server.shutdown(GRACE).await;
        self.dir
    }

    pub async fn restart(self) -> Node {
        self.restart_after(|_| {}).await
    }

    /// The files of the store as a crash at this moment leaves them, `change`d, and a broker that starts on them.
    pub async fn crash(self, change: impl FnOnce(&Path)) -> Node {
        let copy = TempDir::new().unwrap();
        copy_store(self.dir.path(), copy.path());
        change(copy.path());
        let (clock, settings) = (Arc::clone(&self.clock), self.settings.clone());
        self.stop().await;
        Node::open(clock, settings, copy).await
    }

    /// Does something to the store's files in between.
    pub async fn restart_after(self, change: impl FnOnce(&Path)) -> Node {
        let (clock, settings) = (Arc::clone(&self.clock), self.settings.clone());
        let dir = self.stop().await;
        change(dir.path());
        Node::open(clock, settings, dir).await
    }

    /// Has those who sleep until a time look at the clock that was moved.
    pub fn clock_was_set(&self) {
        self.broker.clock_was_set();
    }

    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    pub fn address(&self) -> SocketAddr {
        self.server.local_addrs()[0]
    }

    /// Another connection.
    pub async fn connect(&self) -> Peer {
        Peer::connect(self.address()).await
    }

    pub async fn call(&self, request: Command) -> Command {
        self.connection.call(request).await
    }

    /// Sends all requests before it reads the first answer.
    pub async fn call_all(&self, requests: Vec<Command>) -> Vec<Command> {
        let calls: Vec<_> = requests.into_iter().map(|request| self.connection.start(request)).collect();
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await);
        }
        answers
    }

    pub async fn oneway(&self, request: Command) {
        self.connection.connection.oneway(request);
    }

    /// Every message of a queue, by pulls that don't wait.
    pub async fn all(&self, topic: &str, queue_id: i32) -> Vec<Message> {
        let mut all: Vec<Message> = Vec::new();
        loop {
            let answer = self.call(pull("reader", topic, queue_id, all.len() as i64)).await;
            let found = messages(&answer);
            if found.is_empty() {
                return all;
            }
            all.extend(found);
        }
    }

    /// The message at an offset, as soon as it is there.
    pub async fn wait_for(&self, topic: &str, queue_id: i32, offset: i64) -> Message {
        let before = Instant::now();
        loop {
            let answer = self.call(crate::requests::long_pull("reader", topic, queue_id, offset, 500)).await;
            if let Some(message) = messages(&answer).into_iter().next() {
                return message;
            }
            assert!(before.elapsed() < PATIENCE, "{topic} {queue_id} has nothing at {offset}: {answer:?}");
        }
    }

    /// The message of an id, as tools look it up.
    pub async fn by_id(&self, id: &str) -> Message {
        let id: OffsetMessageId = id.parse().unwrap();
        let view = Command::request(request::VIEW_MESSAGE_BY_ID).with("offset", id.phy_offset);
        messages(&self.call(view).await).remove(0)
    }

    pub fn offset_id(&self, message: &Message) -> String {
        let store_host = SocketAddr::from(([127, 0, 0, 1], 10911));
        OffsetMessageId { store_host, phy_offset: message.phy_offset }.to_string()
    }

    pub async fn store_times(&self, topic: &str, queue_id: i32) -> Vec<i64> {
        let mut times = Vec::new();
        loop {
            let answer = self.call(pull("reader", topic, queue_id, times.len() as i64)).await;
            let before = times.len();
            times.extend(Records::new(&answer.body).map(|record| record.unwrap().store_timestamp));
            if times.len() == before {
                return times;
            }
        }
    }

    /// Does something at least a millisecond after whatever was done before.
    pub async fn at_another_millisecond(&self, act: impl AsyncFnOnce() -> Command) {
        tokio::time::sleep(Duration::from_millis(3)).await;
        assert_code(&act().await, 0, &[]);
    }

    pub async fn create_topic(&self, topic: &str, queues: i32, perm: i32) {
        let request = Command::request(request::UPDATE_AND_CREATE_TOPIC)
            .with("topic", topic)
            .with("defaultTopic", "TBW102")
            .with("readQueueNums", queues)
            .with("writeQueueNums", queues)
            .with("perm", perm)
            .with("topicFilterType", "SINGLE_TAG")
            .with("topicSysFlag", 0)
            .with("order", false);
        assert_code(&self.call(request).await, 0, &[]);
    }

    pub async fn put_group(&self, group: &str, retry_queues: i32, retries_max: i32) {
        let body = format!(
            r#"{{"groupName":"{group}","consumeEnable":true,"retryQueueNums":{retry_queues},"retryMaxTimes":{retries_max}}}"#
        );
        let request = Command::request(request::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP).body(body);
        assert_code(&self.call(request).await, 0, &[]);
    }

    /// Deletes the log files whose time is over.
    pub async fn delete_expired(&self) {
        assert_code(&self.call(Command::request(request::DELETE_EXPIRED_COMMITLOG)).await, 0, &[]);
    }

    pub fn hold_count(&self) -> usize {
        self.broker.held_pulls()
    }

    /// Waits until so many pulls are held.
    pub async fn holds(&self, count: usize) {
        until(count, || self.hold_count()).await;
    }

    /// Waits until so many pops wait.
    pub async fn pops_wait(&self, count: usize) {
        until(count, || self.broker.waiting_pops()).await;
    }

    /// Waits until so many pops from lite topics wait.
    pub async fn lite_pops_wait(&self, count: usize) {
        until(count, || self.broker.waiting_lite_pops()).await;
    }

    /// Waits until so many wait to be notified.
    pub async fn notifications_wait(&self, count: usize) {
        until(count, || self.broker.waiting_notifications()).await;
    }

    /// The answer to somebody who is not on this host, by what a PROXY header says.
    pub async fn call_from_elsewhere(&self, request: Command) -> Command {
        const HEADER: &[u8] = b"PROXY TCP4 203.0.113.9 203.0.113.1 4711 10911\r\n";
        self.exchange(HEADER, Encoding::Json, &request, Command::from_frame).await
    }

    /// The encoding and the code of the answer to a request in this encoding.
    pub async fn raw(&self, encoding: Encoding, request: Command) -> (Encoding, i32) {
        self.exchange(b"", encoding, &request, |header, _| (header.encoding, header.code)).await
    }

    /// Sends some bytes and a request over a connection of its own, and reads the answer.
    async fn exchange<T>(
        &self,
        before: &[u8],
        encoding: Encoding,
        request: &Command,
        read: impl FnOnce(&Header<'_>, &[u8]) -> T,
    ) -> T {
        let mut stream = tokio::net::TcpStream::connect(self.address()).await.unwrap();
        let mut bytes = before.to_vec();
        request.encode(encoding, &mut bytes);
        stream.write_all(&bytes).await.unwrap();
        let mut answer = vec![0; 4];
        stream.read_exact(&mut answer).await.unwrap();
        let length = u32::from_be_bytes([answer[0], answer[1], answer[2], answer[3]]) as usize;
        answer.resize(4 + length, 0);
        stream.read_exact(&mut answer[4..]).await.unwrap();
        let frame = frame::decode(&answer).unwrap();
        read(&frame.header, frame.body)
    }
}

/// Runs it until it has taken less than the limit. A single run may be late because the machine has other things to do;
/// that all are says that it always takes so long.
pub async fn soon(limit: Duration, mut run: impl AsyncFnMut() -> Duration) {
    const RUNS: usize = 20;
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        fastest = fastest.min(run().await);
        if fastest < limit {
            return;
        }
    }
    panic!("the fastest of {RUNS} runs took {fastest:?}, not less than {limit:?}");
}

/// Waits until so many requests wait.
async fn until(count: usize, waiting: impl Fn() -> usize) {
    let before = Instant::now();
    while waiting() != count {
        assert!(before.elapsed() < PATIENCE, "{} wait, not {count}", waiting());
        tokio::task::yield_now().await;
    }
}

/// What promises something of other files before these, as the broker writes while this copies: the checkpoint speaks
/// of the queues, and everything else of the log.
fn copy_store(from: &Path, to: &Path) {
    let mut entries: Vec<_> = entries(from).collect();
    entries.sort_by_key(|entry| match entry.file_name().to_str() {
        Some("checkpoint") => 0,
        Some("config") => 1,
        Some("commitlog") => 3,
        _ => 2,
    });
    entries.iter().for_each(|entry| copy(entry, to));
}

fn copy(entry: &DirEntry, to_dir: &Path) {
    let to = to_dir.join(entry.file_name());
    if entry.file_type().unwrap().is_dir() {
        std::fs::create_dir(&to).unwrap();
        entries(&entry.path()).for_each(|entry| copy(&entry, &to));
    } else {
        // The broker runs on, and takes away the files that it puts others in place of.
        match std::fs::copy(entry.path(), &to) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => drop(copied.unwrap()),
        }
    }
}

fn entries(dir: &Path) -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir(dir).unwrap().map(Result::unwrap)
}

/// A connection to the broker.
pub struct Peer {
    client: Client,
    connection: Arc<Connection>,
}

impl Peer {
    async fn connect(address: SocketAddr) -> Peer {
        let client = Client::new();
        let connection = client.connection(&address.to_string()).await.unwrap();
        Peer { client, connection }
    }

    pub async fn call(&self, request: Command) -> Command {
        self.connection.call(request, PATIENCE).await.unwrap()
    }

    /// Sends the request now; the answer can be waited for later.
    pub fn start(&self, request: Command) -> impl Future<Output = Command> + use<> {
        let answer = self.start_unsure(request);
        async { answer.await.expect("an answer") }
    }

    /// As [`Peer::start`], where the connection may end before the answer.
    pub fn start_unsure(&self, request: Command) -> impl Future<Output = Option<Command>> + use<> {
        let connection = Arc::clone(&self.connection);
        let call = tokio::spawn(async move { connection.call(request, PATIENCE).await });
        async { call.await.unwrap().ok() }
    }

    pub fn close(&self) {
        self.client.close();
    }
}
