//! Is there anything for the group (200054)? Answered now if so, else when there is, or at the deadline.
//!
//! It takes nothing: whoever asked has to pop what it was told of, and may find that somebody else was faster.

use super::admit;
use super::availability::Availability;
use super::rules;
use crate::Broker;
use crate::filter::MessageFilter;
use crate::group_waits::{GaveUp, Looked, Wait, Waiter};
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::polling::NotificationHeader;
use roxmq_remoting::{Connection, Output};
use roxmq_store::Millis;
use std::sync::Arc;

pub(crate) struct Notification {
    pub(super) wait: Wait,
    pub(super) filter: MessageFilter,
    pub(super) order: bool,
    pub(super) attempt_id: Option<Box<str>>,
}

pub(crate) fn request(
    broker: &Arc<Broker>,
    connection: &Arc<Connection>,
    frame: &Frame<'_>,
    output: &mut Output,
) {
    let request = match admit(broker, connection, frame) {
        Ok(request) => request,
        Err(refusal) => return output.reply(&frame.header, refusal.into_response()),
    };
    if Availability::of(broker, &request).has_messages() {
        output.reply(&frame.header, answer(true, false));
    } else if request.wait.deadline <= broker.clock.now() {
        output.reply(&frame.header, answer(false, false));
    } else if !frame.header.is_oneway() {
        broker.pop_waits.park_notification(broker, Box::new(request));
    }
}

fn admit(broker: &Broker, connection: &Arc<Connection>, frame: &Frame<'_>) -> Result<Notification, Refusal> {
    let header = NotificationHeader::decode(&frame.header.ext)?;
    rules::check_broker(&broker.config(), "peeking")?;
    let target = admit::target(broker, &header.topic, header.queue_id, &header.consumer_group)?;
    let born = rules::born(header.born_time, broker.clock.now());
    let deadline = Millis(born.0.saturating_add(header.poll_time));
    let wait = admit::wait(connection, frame, target, header.queue_id, deadline);
    let (kind, expression) = (header.expression_type.as_deref(), header.expression.as_deref());
    let filter = admit::wanted(broker, &wait, kind, expression)?;
    Ok(Notification {
        wait,
        filter,
        order: header.order,
        attempt_id: header.attempt_id.as_deref().filter(|id| !id.is_empty()).map(Box::from),
    })
}

fn answer(has_messages: bool, polling_full: bool) -> Command {
    Command::response(response::SUCCESS).with("hasMsg", has_messages).with("pollingFull", polling_full)
}

impl Waiter for Notification {
    fn wait(&self) -> &Wait {
        &self.wait
    }

    fn look(self: Box<Self>, broker: &Arc<Broker>) -> Looked<Self> {
        if !Availability::of(broker, &self).has_messages() {
            return Looked::Nothing(self);
        }
        self.wait.respond(answer(true, false));
        // The next is told of the next message: one that was told pops this one.
        Looked::Answered { more: false }
    }

    /// A message that another was told of may still be there at the deadline.
    fn give_up(self: Box<Self>, broker: &Broker, why: GaveUp) {
        let has_messages = why == GaveUp::TimeUp && Availability::of(broker, &self).has_messages();
        self.wait.respond(answer(has_messages, why == GaveUp::Full));
    }
}
