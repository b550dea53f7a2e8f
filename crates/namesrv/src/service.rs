//! The name server at the end of a connection.

use crate::address::Asker;
use crate::namesrv::Namesrv;
use crate::requests::{Answer, Ask, Reply, dispatch};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_remoting::{Connection, Output, Service};
use std::sync::Arc;
use tracing::{debug, error};

/// What is kept for a connection.
#[derive(Debug, Default)]
pub struct Session {
    /// The brokers that registered over it, by name and address.
    brokers: Vec<(String, String)>,
}

impl Session {
    pub(crate) fn remember(&mut self, broker_name: String, broker_addr: String) {
        let broker = (broker_name, broker_addr);
        if !self.brokers.contains(&broker) {
            self.brokers.push(broker);
        }
    }
}

impl Service for Namesrv {
    type Session = Session;

    fn open(&self, _: &Arc<Connection>) -> Session {
        Session::default()
    }

    fn request(
        &self,
        session: &mut Session,
        connection: &Arc<Connection>,
        frame: &Frame<'_>,
        output: &mut Output,
    ) {
        let ask = Ask {
            frame,
            connection,
            asker: Asker { remote: connection.remote(), local: connection.local() },
        };
        match dispatch(self, session, &ask) {
            Ok(Reply::Now(answer)) => output.reply(&frame.header, answer),
            Ok(Reply::Later(work)) => answer_later(connection, frame, work),
            Err(error) => {
                let code = frame.header.code;
                debug!(code, remote = %connection.remote(), %error, "request refused");
                output.reply(&frame.header, Command::response(error.code()).remark(error.to_string()));
            }
        }
    }

    fn burst_end(&self, _: &mut Session, _: &Arc<Connection>, _: &mut Output) {}

    fn close(&self, session: Session, connection: &Arc<Connection>) {
        self.connection_closed(connection, &session.brokers);
    }
}

/// Does what waits for the disk on a thread that may wait, and answers from there.
fn answer_later(connection: &Arc<Connection>, frame: &Frame<'_>, work: Box<dyn FnOnce() -> Answer + Send>) {
    let header = &frame.header;
    let (opaque, encoding, is_oneway) = (header.opaque, header.encoding, header.is_oneway());
    let (connection, promise) = (connection.clone(), connection.promise_answer());
    tokio::task::spawn_blocking(move || {
        let answer = work().unwrap_or_else(|failure| {
            error!(remote = %connection.remote(), "{failure}");
            Command::response(failure.code()).remark(failure.to_string())
        });
        if !is_oneway {
            connection.respond(opaque, encoding, answer);
        }
        drop(promise);
    });
}
