//! A name server on a free port, and brokers that are nothing but their registrations.

use roxmq_namesrv::config::NamesrvConfig;
use roxmq_namesrv::{AddressRule, Namesrv, RegisteredAddress};
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::body::register_broker::RegisterBrokerBody;
use roxmq_protocol::body::topic_config::TopicConfig;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_remoting::{Client, Server, ServerOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Long enough for anything that should happen at all.
pub const SOON: Duration = Duration::from_secs(20);

pub struct TestNamesrv {
    pub addr: String,
    pub namesrv: Arc<Namesrv>,
    pub client: Client,
    pub home: tempfile::TempDir,
    _server: Server,
    maintenance: JoinHandle<()>,
}

impl TestNamesrv {
    pub async fn start(properties: &[(&str, &str)]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), properties, Arc::new(RegisteredAddress)).await
    }

    /// With files that an earlier one left.
    pub async fn start_in(
        home: tempfile::TempDir,
        properties: &[(&str, &str)],
        addresses: Arc<dyn AddressRule>,
    ) -> Self {
        let namesrv = Namesrv::with_addresses(config(home.path(), properties), addresses).unwrap();
        let options = ServerOptions::listen(["127.0.0.1:0".parse().unwrap()]);
        let server = Server::start(options, namesrv.clone()).await.unwrap();
        let maintenance = tokio::spawn(namesrv.clone().run_maintenance());
        TestNamesrv {
            addr: server.local_addrs()[0].to_string(),
            namesrv,
            client: Client::new(),
            home,
            _server: server,
            maintenance,
        }
    }

    /// Stops everything and leaves the files.
    pub async fn stop(self) -> tempfile::TempDir {
        self.namesrv.shutdown();
        self.maintenance.await.unwrap();
        self.home
    }

    pub async fn call(&self, command: Command) -> Command {
        self.client.call(&self.addr, command, SOON).await.unwrap()
    }

    /// Code and remark of an answer.
    pub async fn refusal(&self, command: Command) -> (i32, String) {
        let answer = self.call(command).await;
        (answer.code, answer.remark.unwrap_or_default())
    }

    /// The body of an answer that must be a success, as text.
    pub async fn text(&self, command: Command) -> String {
        let answer = self.call(command).await;
        assert_eq!(answer.code, 0, "{:?}", answer.remark);
        String::from_utf8(answer.body.to_vec()).unwrap()
    }

    /// Says how many queues the brokers have of an ordered topic.
    pub async fn order(&self, topic: &str, queues: &str) {
        let put = Command::request(request::PUT_KV_CONFIG)
            .with("namespace", "ORDER_TOPIC_CONFIG")
            .with("key", topic)
            .with("value", queues);
        assert_eq!(self.call(put).await.code, 0);
    }

    pub async fn topics(&self) -> String {
        self.text(Command::request(request::GET_ALL_TOPIC_LIST_FROM_NAMESERVER)).await
    }

    pub async fn route(&self, topic: &str) -> Command {
        self.call(Command::request(request::GET_ROUTEINFO_BY_TOPIC).with("topic", topic)).await
    }

    /// Asks until the topic has a route, or has none.
    pub async fn wait_for_route(&self, topic: &str, expected: bool) {
        let asking = async {
            while (self.route(topic).await.code == 0) != expected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, asking).await.expect("the route changes");
    }
}

fn config(home: &Path, properties: &[(&str, &str)]) -> NamesrvConfig {
    let pairs: Vec<(String, String)> =
        properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    NamesrvConfig::from_properties(home, &pairs).unwrap().0
}

/// The fields of a registration of `name` with an id, at `name:id`.
pub fn broker(code: i32, name: &str, id: i64) -> Command {
    Command::request(code)
        .with("brokerName", name)
        .with("brokerAddr", format!("{name}:{id}"))
        .with("clusterName", "c")
        .with("haServerAddr", format!("{name}:{id}-ha"))
        .with("brokerId", id)
}

pub fn body(topics: &[&str]) -> RegisterBrokerBody {
    let mut body = RegisterBrokerBody { filter_server_list: Some(Vec::new()), ..Default::default() };
    body.topic_table.data_version = DataVersion { counter: 1, ..Default::default() };
    for topic in topics {
        let config = TopicConfig {
            topic_name: (*topic).to_owned(),
            read_queue_nums: 4,
            write_queue_nums: 4,
            perm: 6,
            ..TopicConfig::default()
        };
        body.topic_table.topic_config_table.insert((*topic).to_owned(), config);
    }
    body
}

/// A registration in the plain form.
pub fn registration(name: &str, id: i64, topics: &[&str]) -> Command {
    broker(request::REGISTER_BROKER, name, id).body(body(topics).to_json())
}
