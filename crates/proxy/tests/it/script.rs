//! A broker that answers some requests otherwise than it would, or not at all.

use parking_lot::Mutex;
use roxmq_broker::BrokerService;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_remoting::{Connection, Output, Service};
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Default)]
pub struct Script(Mutex<HashMap<i32, Act>>);

#[derive(Clone, Copy)]
enum Act {
    Answer(i32),
    Silence,
}

impl Script {
    /// Requests of this code are answered with this response code.
    pub fn answer(&self, request: i32, response: i32) {
        self.0.lock().insert(request, Act::Answer(response));
    }

    /// Requests of this code are not answered.
    pub fn silence(&self, request: i32) {
        self.0.lock().insert(request, Act::Silence);
    }

    pub fn around(self: &Arc<Self>, broker: BrokerService) -> ScriptedService {
        ScriptedService { broker, script: Arc::clone(self) }
    }
}

pub struct ScriptedService {
    broker: BrokerService,
    script: Arc<Script>,
}

impl Service for ScriptedService {
    type Session = <BrokerService as Service>::Session;

    fn open(&self, connection: &Arc<Connection>) -> Self::Session {
        self.broker.open(connection)
    }

    fn request(
        &self,
        session: &mut Self::Session,
        connection: &Arc<Connection>,
        frame: &Frame<'_>,
        output: &mut Output,
    ) {
        let act = self.script.0.lock().get(&frame.header.code).copied();
        match act {
            Some(Act::Answer(code)) => {
                output.reply(&frame.header, Command::response(code).remark("as the script says"));
            }
            Some(Act::Silence) => {}
            None => self.broker.request(session, connection, frame, output),
        }
    }

    fn burst_end(&self, session: &mut Self::Session, connection: &Arc<Connection>, output: &mut Output) {
        self.broker.burst_end(session, connection, output);
    }

    fn call_off(&self, connection: &Arc<Connection>, opaque: i32) {
        self.broker.call_off(connection, opaque);
    }

    fn close(&self, session: Self::Session, connection: &Arc<Connection>) {
        self.broker.close(session, connection);
    }
}
