//! Replies to requests between producers and consumers: requests 324 and 325, pushes 326.
//!
//! A producer that waits for a reply has put its client id into its message; whoever handled the message sends the
//! reply here, and the broker passes it on to that client. The replier is told whether it got there. The copy in the
//! reply topic is for operators to look at: nobody consumes it.

use crate::Broker;
use crate::dispatch::Answer;
use crate::refusal::Refusal;
use crate::send::SingleSend;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::properties::{self, Properties, name};
use roxmq_protocol::request::send::SendHeader;
use roxmq_remoting::Connection;
use std::sync::Arc;
use std::time::Duration;

/// How long a producer has to say that it got the reply.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn handle(broker: Arc<Broker>, replier: Arc<Connection>, reply: Command) -> Answer {
    Box::pin(async move {
        let answer = pass_on(&broker, &replier, &reply).await.unwrap_or_else(Refusal::into_response);
        // As in the answer to any send.
        let config = broker.config();
        Ok(answer.with("MSG_REGION", &config.region_id).with("TRACE_ON", config.trace_on))
    })
}

async fn pass_on(broker: &Broker, replier: &Connection, reply: &Command) -> Result<Command, Refusal> {
    let fields = reply.ext_fields();
    let header = SendHeader::decode(reply.code, &fields)?;
    let single = SingleSend::admit(broker, &header, &reply.body, reply.version)?;
    let pushed = push(broker, replier, &header, reply).await;
    let (mut msg_id, mut queue_offset) = ("0".to_owned(), 0);
    if broker.config().store_reply_message_enable {
        match single.store(broker, &header, &reply.body, replier.remote(), replier.id()) {
            Ok(stored) => {
                let id = OffsetMessageId { store_host: broker.advertised, phy_offset: stored.phy_offset.0 };
                (msg_id, queue_offset) = (id.to_string(), stored.queue_offset.0);
            }
            // The reply has got to where it was to go.
            Err(refusal) => tracing::warn!(topic = %header.topic, %refusal, "a reply could not be kept"),
        }
    }
    let answer = pushed.map_or_else(Refusal::into_response, |()| Command::response(response::SUCCESS));
    Ok(answer.with("msgId", msg_id).with("queueId", single.queue_id().0).with("queueOffset", queue_offset))
}

/// Passes the reply on to the producer that waits for it.
async fn push(
    broker: &Broker,
    replier: &Connection,
    header: &SendHeader<'_>,
    reply: &Command,
) -> Result<(), Refusal> {
    let sent = header.properties.decode();
    let Some(client_id) = Properties::new(sent.as_bytes()).get(name::MESSAGE_REPLY_TO_CLIENT) else {
        let property = name::MESSAGE_REPLY_TO_CLIENT;
        return Err(Refusal::failed(format!("reply message properties[{property}] is null")));
    };
    let Some(producer) = broker.clients.producer(client_id) else {
        return Err(Refusal::failed(format!("push reply message fail, channel of <{client_id}> not found.")));
    };
    let push = to_push(broker, replier, header, &sent).body(reply.body.clone());
    let failed = |why: &str| Refusal::failed(format!("push reply message to {client_id} fail: {why}"));
    match producer.call(push, ANSWER_TIMEOUT).await {
        Ok(answer) if answer.code == response::SUCCESS => Ok(()),
        Ok(answer) => Err(failed(answer.remark.as_deref().unwrap_or("it refused the reply"))),
        Err(error) => Err(failed(&error.to_string())),
    }
}

fn to_push(broker: &Broker, replier: &Connection, header: &SendHeader<'_>, sent: &str) -> Command {
    let now = broker.clock.now().0;
    let mut encoded = Vec::with_capacity(sent.len() + 64);
    properties::rewrite(sent.as_bytes(), &mut encoded, &[(name::PUSH_REPLY_TIME, Some(&now.to_string()))]);
    Command::request(request::PUSH_REPLY_MESSAGE_TO_CLIENT)
        .with("producerGroup", header.producer_group)
        .with("topic", &header.topic)
        .with("defaultTopic", header.default_topic)
        .with("defaultTopicQueueNums", header.default_topic_queue_nums)
        .with("queueId", header.queue_id)
        .with("sysFlag", header.sys_flag)
        .with("bornTimestamp", header.born_timestamp)
        .with("flag", header.flag)
        .with("properties", String::from_utf8_lossy(&encoded))
        .with("reconsumeTimes", header.reconsume_times)
        .with("unitMode", header.unit_mode)
        .with("bornHost", replier.remote())
        .with("storeHost", broker.advertised)
        .with("storeTimestamp", now)
}
