//! Requests of brokers to a client, as commands on its telemetry stream.

use super::Outbound;
use super::questions::{Asked, Question, Questions, Subject};
use crate::client::Client;
use crate::invoker::{FromBroker, TakeFromBroker};
use crate::message::stored::{self, Delivery};
use crate::message::transaction_id::TransactionId;
use crate::refusal::ok;
use crate::schema::telemetry_command::Command as Order;
use crate::schema::{
    Message, NotifyUnsubscribeLiteCommand, PrintThreadStackTraceCommand, RecoverOrphanedTransactionCommand,
    TelemetryCommand, VerifyMessageCommand,
};
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::record::Record;
use std::sync::{Arc, Weak};

/// Takes the requests of brokers to this client, to whatever stream it has open then.
pub fn take_from_broker(
    client: Weak<Client>,
    outbound: Arc<Outbound>,
    questions: Arc<Questions>,
) -> TakeFromBroker {
    let post = Post { client, outbound, questions };
    Box::new(move |from| post.take(from))
}

/// The way from brokers to one client. It doesn't keep the client: that goes with its link, under locks of the broker
/// if the last to hold it were here.
struct Post {
    client: Weak<Client>,
    outbound: Arc<Outbound>,
    questions: Arc<Questions>,
}

impl Post {
    fn take(&self, FromBroker { broker, request }: FromBroker) {
        match request.code {
            request::CHECK_TRANSACTION_STATE => self.tell(&broker, &request, recover(&broker, &request)),
            request::NOTIFY_UNSUBSCRIBE_LITE => self.tell(&broker, &request, unsubscribe_lite(&request)),
            request::CONSUME_MESSAGE_DIRECTLY => self.verify(broker, &request),
            request::GET_CONSUMER_RUNNING_INFO => self.running_info(broker, &request),
            code if request.is_oneway() => {
                // Such as news of other consumers: a client of gRPC has no queues to share out.
                tracing::debug!(%broker, code, "a broker's notice is nothing to a client of gRPC");
            }
            code => {
                let text = format!("a client of gRPC can't be asked with request code {code}");
                self.open(broker, &request, Subject::Refused(response::REQUEST_CODE_NOT_SUPPORTED, text));
            }
        }
    }

    /// What isn't answered, or answered by a call of the client's own.
    fn tell(&self, broker: &str, request: &Command, order: Option<Order>) {
        match order {
            Some(order) => {
                // Without a stream nothing is lost: the broker asks again, or somebody else.
                self.send(order);
            }
            None => {
                tracing::warn!(%broker, code = request.code, "a broker's request to a client is incomplete")
            }
        }
    }

    fn verify(&self, broker: Arc<str>, request: &Command) {
        let Some(message) = message(request) else {
            let text = "the request carries no message that can be read".to_owned();
            self.open(broker, request, Subject::Refused(response::SYSTEM_ERROR, text));
            return;
        };
        self.ask(broker, request, Asked::Verify, |nonce| {
            Order::VerifyMessageCommand(VerifyMessageCommand { nonce, message: Some(message) })
        });
    }

    fn running_info(&self, broker: Arc<str>, request: &Command) {
        if request.field("jstackEnable").is_some_and(|flag| flag.eq_ignore_ascii_case("true")) {
            self.ask(broker, request, Asked::Threads, |nonce| {
                Order::PrintThreadStackTraceCommand(PrintThreadStackTraceCommand { nonce })
            });
        } else {
            self.open(broker, request, Subject::Running);
        }
    }

    fn ask(&self, broker: Arc<str>, request: &Command, asked: Asked, order: impl FnOnce(String) -> Order) {
        let Some(nonce) = self.open(broker, request, Subject::OfClient(asked)) else { return };
        if !self.send(order(nonce.to_string())) {
            self.questions.refuse(nonce, "the client has no telemetry stream open, or doesn't read from it");
        }
    }

    fn open(&self, broker: Arc<str>, request: &Command, subject: Subject) -> Option<u64> {
        let question = Question { client: self.client.clone(), broker, opaque: request.opaque, subject };
        let nonce = self.questions.open(question);
        if nonce.is_none() {
            tracing::warn!(code = request.code, "too many questions to clients are open; one isn't answered");
        }
        nonce
    }

    fn send(&self, order: Order) -> bool {
        self.outbound.send(TelemetryCommand { status: Some(ok()), command: Some(order) })
    }
}

/// The question how a transaction ends.
fn recover(broker: &str, request: &Command) -> Option<Order> {
    let number = |name| request.field(name).and_then(|text| text.parse().ok());
    let id = TransactionId {
        broker,
        queue_offset: number("tranStateTableOffset")?,
        phy_offset: number("commitLogOffset")?,
        uniq_key: request.field("transactionId").or_else(|| request.field("msgId"))?,
    };
    let transaction_id = id.to_string();
    let message = Some(message(request)?);
    Some(Order::RecoverOrphanedTransactionCommand(RecoverOrphanedTransactionCommand {
        message,
        transaction_id,
    }))
}

fn unsubscribe_lite(request: &Command) -> Option<Order> {
    let lite_topic = request.field("liteTopic")?.to_owned();
    Some(Order::NotifyUnsubscribeLiteCommand(NotifyUnsubscribeLiteCommand { lite_topic }))
}

/// The message that is the request's body.
fn message(request: &Command) -> Option<Message> {
    let record = Record::decode(&request.body).ok()?;
    Some(stored::message(&request.body, &record, Delivery { topic: record.topic, ..Delivery::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_something_is_no_command() {
        let check = Command::request(request::CHECK_TRANSACTION_STATE)
            .with("tranStateTableOffset", 1)
            .with("commitLogOffset", "far")
            .with("transactionId", "01AB");
        assert_eq!(recover("b", &check), None);
        assert_eq!(unsubscribe_lite(&Command::request(request::NOTIFY_UNSUBSCRIBE_LITE)), None);
        for body in [&b""[..], b"\0\0\0\x04", &[0xff; 200]] {
            let request = Command::request(request::CONSUME_MESSAGE_DIRECTLY).body(body.to_vec());
            assert_eq!(message(&request), None, "{body:?}");
        }
    }
}
