//! Asks a producer how a transaction ends: request 39, which it answers with an end of its own (37).

use super::half::HalfMessage;
use super::pending::Waiting;
use crate::Broker;
use crate::clients::ProducerGroup;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use roxmq_protocol::message_id::OffsetMessageId;
use roxmq_protocol::names;
use roxmq_protocol::properties::{self, name};
use roxmq_protocol::record::{self, RecordFields, TooLong};
use roxmq_remoting::Connection;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A connection with more than this unsent is busy, and isn't asked anything more.
const UNSENT_BYTES_MAX: usize = 4 << 20;

/// Who can be asked.
pub(super) enum Whom {
    Connection(Arc<Connection>),
    /// Every producer of the group has more to read than it does.
    AllBusy,
    Nobody,
}

/// A live producer of the group, another one each time.
pub(super) fn whom(broker: &Broker, group: Option<&str>) -> Whom {
    let Some(group) = group.and_then(|group| broker.clients.producer_group(group)) else {
        return Whom::Nobody;
    };
    let turn = broker.transactions.turn.fetch_add(1, Ordering::Relaxed);
    choose(&group, turn)
}

fn choose(group: &ProducerGroup, turn: usize) -> Whom {
    let live: Vec<_> = group
        .members
        .iter()
        .map(|member| &member.client.channel)
        .filter(|channel| !channel.is_closed())
        .collect();
    if live.is_empty() {
        return Whom::Nobody;
    }
    let first = turn % live.len();
    let mut from_first = live[first..].iter().chain(&live[..first]);
    match from_first.find(|channel| channel.unsent_bytes() <= UNSENT_BYTES_MAX) {
        Some(channel) => Whom::Connection(Arc::clone(channel)),
        None => Whom::AllBusy,
    }
}

/// The question about a half message, asked for the `checks`th time. The body is the message as it will be when it is
/// committed, at the place of the half message.
pub(super) fn question(
    broker: &Broker,
    half: &HalfMessage<'_>,
    waiting: &Waiting,
    checks: u32,
) -> Result<Command, TooLong> {
    let record = &half.record;
    let id = OffsetMessageId { store_host: record.store_host, phy_offset: waiting.phy_offset.0 };
    Ok(Command::request(request::CHECK_TRANSACTION_STATE)
        .with("topic", names::TRANS_HALF_TOPIC)
        .with("tranStateTableOffset", waiting.offset)
        .with("commitLogOffset", waiting.phy_offset)
        .with_some("msgId", half.uniq_key)
        .with_some("transactionId", half.uniq_key)
        .with("offsetMsgId", id)
        .with("bname", &broker.config().broker_name)
        .body(body(half, waiting, checks)?))
}

fn body(half: &HalfMessage<'_>, waiting: &Waiting, checks: u32) -> Result<Vec<u8>, TooLong> {
    let record = &half.record;
    let checks = checks.to_string();
    let mut message_properties = Vec::with_capacity(record.properties.raw().len() + 32);
    properties::rewrite(
        record.properties.raw(),
        &mut message_properties,
        &[(name::TRANSACTION_CHECK_TIMES, Some(&checks))],
    );
    let fields = RecordFields {
        topic: half.topic,
        queue_id: half.queue_id.0,
        properties: &message_properties,
        ..RecordFields::of(record)
    };
    let mut bytes = Vec::with_capacity(fields.total_size());
    record::encode(&mut bytes, &fields)?;
    record::patch(&mut bytes, waiting.offset, waiting.phy_offset.0, record.store_timestamp);
    Ok(bytes)
}
