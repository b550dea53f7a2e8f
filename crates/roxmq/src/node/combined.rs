//! Name server and broker behind one port: each request goes to the one that knows its code.

use roxmq_broker::BrokerService;
use roxmq_namesrv::Namesrv;
use roxmq_protocol::frame::Frame;
use roxmq_remoting::{Connection, Output, Service};
use std::sync::Arc;

pub struct Combined {
    pub namesrv: Arc<Namesrv>,
    pub broker: BrokerService,
}

pub struct Session {
    namesrv: <Namesrv as Service>::Session,
    broker: <BrokerService as Service>::Session,
}

impl Service for Combined {
    type Session = Session;

    fn open(&self, connection: &Arc<Connection>) -> Session {
        Session { namesrv: self.namesrv.open(connection), broker: self.broker.open(connection) }
    }

    fn request(
        &self,
        session: &mut Session,
        connection: &Arc<Connection>,
        frame: &Frame<'_>,
        output: &mut Output,
    ) {
        if roxmq_namesrv::handles(frame.header.code) {
            self.namesrv.request(&mut session.namesrv, connection, frame, output);
        } else {
            self.broker.request(&mut session.broker, connection, frame, output);
        }
    }

    fn burst_end(&self, session: &mut Session, connection: &Arc<Connection>, output: &mut Output) {
        self.namesrv.burst_end(&mut session.namesrv, connection, output);
        self.broker.burst_end(&mut session.broker, connection, output);
    }

    fn close(&self, session: Session, connection: &Arc<Connection>) {
        self.namesrv.close(session.namesrv, connection);
        self.broker.close(session.broker, connection);
    }
}
