//! What a server does with requests.

use crate::connection::Connection;
use crate::output::Output;
use roxmq_protocol::frame::Frame;
use std::sync::Arc;

/// The requests of one connection, in the order they came, on the task that reads it.
///
/// A burst is every whole frame that one read brought. Its requests come one by one, then `burst_end`; what was put
/// into the output meanwhile leaves in one write. Nothing here may block or wait: work that does is spawned and
/// answers later through [`Connection::respond`], which it has promised with [`Connection::promise_answer`]: a
/// shutdown waits for what was promised, and so does, for a moment, a connection whose peer has closed its side only.
pub trait Service: Send + Sync + 'static {
    /// What the service keeps for a connection between calls.
    type Session: Send + 'static;

    fn open(&self, connection: &Arc<Connection>) -> Self::Session;

    /// One request. Answers go to `output`, or later to the connection; a oneway request is never answered
    /// (`Output::reply` drops answers to those).
    fn request(
        &self,
        session: &mut Self::Session,
        connection: &Arc<Connection>,
        frame: &Frame<'_>,
        output: &mut Output,
    );

    /// The burst is over: what the requests of it collected is to be done now.
    fn burst_end(&self, session: &mut Self::Session, connection: &Arc<Connection>, output: &mut Output);

    /// The peer has given up waiting for what its request of this opaque waits for: it is to be answered at once, as if
    /// its time was up. Only peers in this process can say so; those over a network close their connection.
    fn call_off(&self, _connection: &Arc<Connection>, _opaque: i32) {}

    fn close(&self, session: Self::Session, connection: &Arc<Connection>);
}

/// Serves nothing: what a client is that only calls.
#[derive(Debug)]
pub struct NoService;

impl Service for NoService {
    type Session = ();

    fn open(&self, _: &Arc<Connection>) {}

    fn request(&self, (): &mut (), _: &Arc<Connection>, frame: &Frame<'_>, output: &mut Output) {
        let code = frame.header.code;
        let response = roxmq_protocol::command::Command::response(
            roxmq_protocol::code::response::REQUEST_CODE_NOT_SUPPORTED,
        )
        .remark(format!(" request type {code} not supported"));
        output.reply(&frame.header, response);
    }

    fn burst_end(&self, (): &mut (), _: &Arc<Connection>, _: &mut Output) {}

    fn close(&self, (): (), _: &Arc<Connection>) {}
}
