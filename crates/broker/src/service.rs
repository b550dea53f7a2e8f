//! The broker as the requests of a connection meet it.

use crate::Broker;
use crate::admin_rights;
use crate::clients::leaving;
use crate::dispatch::{self, Handler};
use crate::hold_table::Asker;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::transactions;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::header::Encoding;
use roxmq_remoting::{Connection, Output, Service};
use std::sync::Arc;

/// Who asks.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) connection: &'a Arc<Connection>,
}

pub struct BrokerService {
    broker: Arc<Broker>,
}

impl BrokerService {
    pub fn new(broker: Arc<Broker>) -> Self {
        BrokerService { broker }
    }

    /// Whether requests of this code are the broker's, for ports that it shares with others.
    pub fn handles(code: i32) -> bool {
        dispatch::handler(code).is_some()
    }

    /// Runs work that may wait for the disk on a thread of its own, and answers from there.
    fn answer_from_thread(
        &self,
        connection: &Arc<Connection>,
        frame: &Frame<'_>,
        handle: fn(&Broker, &Command) -> Result<Command, Refusal>,
    ) {
        let promise = connection.promise_answer();
        let (broker, connection) = (Arc::clone(&self.broker), Arc::clone(connection));
        let reply_to = ReplyTo::of(frame);
        let request = Command::from_frame(&frame.header, frame.body);
        tokio::spawn(async move {
            let work = {
                let broker = Arc::clone(&broker);
                move || handle(&broker, &request)
            };
            let answer = broker.disk_work.run(work).await.flatten();
            reply_to.respond(&connection, answer);
            drop(promise);
        });
    }

    fn answer_later(
        &self,
        connection: &Arc<Connection>,
        frame: &Frame<'_>,
        handle: fn(Arc<Broker>, Arc<Connection>, Command) -> dispatch::Answer,
    ) {
        let promise = connection.promise_answer();
        let reply_to = ReplyTo::of(frame);
        let request = Command::from_frame(&frame.header, frame.body);
        let connection = Arc::clone(connection);
        let answer = handle(Arc::clone(&self.broker), Arc::clone(&connection), request);
        tokio::spawn(async move {
            reply_to.respond(&connection, answer.await);
            drop(promise);
        });
    }
}

/// What an answer that comes later needs to know of its request.
pub(crate) struct ReplyTo {
    opaque: i32,
    encoding: Encoding,
    oneway: bool,
}

impl ReplyTo {
    pub(crate) fn of(frame: &Frame<'_>) -> Self {
        let header = &frame.header;
        ReplyTo { opaque: header.opaque, encoding: header.encoding, oneway: header.is_oneway() }
    }

    pub(crate) fn respond(&self, connection: &Connection, answer: Result<Command, Refusal>) {
        if !self.oneway {
            let response = answer.unwrap_or_else(Refusal::into_response);
            connection.respond(self.opaque, self.encoding, response);
        }
    }
}

impl Service for BrokerService {
    type Session = Session;

    fn open(&self, connection: &Arc<Connection>) -> Session {
        self.broker.stats.connection_opened();
        Session::new(connection.id())
    }

    fn request(
        &self,
        session: &mut Session,
        connection: &Arc<Connection>,
        frame: &Frame<'_>,
        output: &mut Output,
    ) {
        let broker = &self.broker;
        if let Err(refusal) = broker.guard.admit(connection, frame) {
            return output.reply(&frame.header, refusal.into_response());
        }
        let Some(handler) = dispatch::handler_of(frame) else {
            return output.reply(&frame.header, unsupported(frame.header.code));
        };
        if let Handler::Send = handler {
            return session.sends().request(broker, connection, frame, output);
        }
        if let Handler::Ack = handler {
            return session.acks().request(broker, frame, output);
        }
        // What was sent before counts for everything that is asked after it.
        flush(session, broker, connection, output);
        match handler {
            Handler::Send | Handler::Ack => {}
            Handler::Waits(handle) => handle(broker, connection, frame, output),
            Handler::End => transactions::end(broker, session.ends(), connection, frame, output),
            Handler::Now(handle) => {
                let answer = handle(broker, &Caller { connection }, frame);
                output.reply(&frame.header, answer.unwrap_or_else(Refusal::into_response));
            }
            Handler::Disk(handle) => self.answer_from_thread(connection, frame, handle),
            Handler::Operator(handle) => {
                match admin_rights::check(broker, connection, frame.header.code, &frame.header.ext) {
                    Ok(()) => self.answer_from_thread(connection, frame, handle),
                    Err(refusal) => output.reply(&frame.header, refusal.into_response()),
                }
            }
            Handler::Later(handle) => self.answer_later(connection, frame, handle),
        }
    }

    fn burst_end(&self, session: &mut Session, connection: &Arc<Connection>, output: &mut Output) {
        flush(session, &self.broker, connection, output);
    }

    fn call_off(&self, connection: &Arc<Connection>, opaque: i32) {
        let asker = Asker { connection: connection.id(), opaque };
        self.broker.holds.call_off(&self.broker, asker);
        self.broker.pop_waits.call_off(&self.broker, asker);
    }

    fn close(&self, _: Session, connection: &Arc<Connection>) {
        self.broker.stats.connection_closed();
        self.broker.holds.drop_connection(connection.id());
        self.broker.pop_waits.drop_connection(connection.id());
        leaving::disconnected(&self.broker, connection);
    }
}

/// Ends what the burst has collected.
fn flush(session: &mut Session, broker: &Arc<Broker>, connection: &Arc<Connection>, output: &mut Output) {
    if let Some(sends) = &mut session.sends {
        sends.flush(broker, connection, output);
    }
    if let Some(acks) = &mut session.acks {
        acks.flush(broker, output);
    }
}

fn unsupported(code: i32) -> Command {
    Command::response(response::REQUEST_CODE_NOT_SUPPORTED)
        .remark(format!(" request type {code} not supported"))
}
