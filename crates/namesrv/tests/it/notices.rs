//! Code 905.

use crate::support::{SOON, TestNamesrv, body, broker};
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::json::ToJson;
use roxmq_remoting::{Connection, Output, Server, ServerOptions, Service};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A broker that hands on what it is told.
struct Told(mpsc::UnboundedSender<Command>);

impl Service for Told {
    type Session = ();
    fn open(&self, _: &Arc<Connection>) {}
    fn request(&self, (): &mut (), _: &Arc<Connection>, frame: &Frame<'_>, _: &mut Output) {
        self.0.send(Command::from_frame(&frame.header, frame.body)).unwrap();
    }
    fn burst_end(&self, (): &mut (), _: &Arc<Connection>, _: &mut Output) {}
    fn close(&self, (): (), _: &Arc<Connection>) {}
}

#[tokio::test]
async fn slaves_are_told_when_the_smallest_id_changes() {
    let ns = TestNamesrv::start(&[("notifyMinBrokerIdChanged", "true")]).await;
    let (sender, mut told) = mpsc::unbounded_channel();
    let options = ServerOptions::listen(["127.0.0.1:0".parse().unwrap()]);
    let slave = Server::start(options, Arc::new(Told(sender))).await.unwrap();
    let slave_addr = slave.local_addrs()[0].to_string();
    let register = |id: i64| {
        broker(request::REGISTER_BROKER, "a", id)
            .with("enableActingMaster", true)
            .body(body(&["T", "U"]).to_json())
    };
    ns.call(register(1).with("brokerAddr", &slave_addr)).await;
    ns.call(register(0)).await;
    let notice = tokio::time::timeout(SOON, told.recv()).await.unwrap().unwrap();
    assert_eq!(notice.code, request::NOTIFY_MIN_BROKER_ID_CHANGE);
    assert!(notice.is_oneway());
    assert_eq!(notice.field("minBrokerId"), Some("0"));
    assert_eq!(notice.field("minBrokerAddr"), Some("a:0"));
    assert_eq!(notice.field("haBrokerAddr"), Some("a:0-ha"));
    assert_eq!(notice.field("offlineBrokerAddr"), None);

    ns.call(broker(request::UNREGISTER_BROKER, "a", 0)).await;
    let notice = tokio::time::timeout(SOON, told.recv()).await.unwrap().unwrap();
    assert_eq!(notice.field("minBrokerId"), Some("1"));
    assert_eq!(notice.field("minBrokerAddr"), Some(slave_addr.as_str()));
    assert_eq!(notice.field("offlineBrokerAddr"), Some("a:0"));
    assert_eq!(notice.field("haBrokerAddr"), None);
}
