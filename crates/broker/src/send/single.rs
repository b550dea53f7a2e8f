//! A message that is checked as a send is and stored by itself, some time later.

use super::admit::{Admitted, admit};
use super::burst::Settings;
use super::failure;
use super::message::Incoming;
use super::properties::MessageProperties;
use super::rules;
use super::topics::KnownTopics;
use super::unique_id::UniqueIds;
use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::request::send::SendHeader;
use roxmq_store::{AppendBatch, QueueId, Stored};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct SingleSend {
    settings: Settings,
    topics: KnownTopics,
    admitted: Admitted,
}

impl SingleSend {
    pub(crate) fn admit(
        broker: &Broker,
        header: &SendHeader<'_>,
        body: &[u8],
        client_version: i32,
    ) -> Result<Self, Refusal> {
        static TURN: AtomicU32 = AtomicU32::new(0);
        let settings = Settings::of(broker, broker.config());
        let turn = TURN.fetch_add(1, Ordering::Relaxed);
        let mut topics = KnownTopics::default();
        let admitted = admit(broker, &settings.config, &mut topics, header, client_version, turn)?;
        rules::check_body(body.len(), settings.config.max_message_size)?;
        Ok(SingleSend { settings, topics, admitted })
    }

    pub(crate) fn queue_id(&self) -> QueueId {
        self.admitted.queue_id
    }

    /// Puts the message into the log, without waiting for the disk.
    pub(crate) fn store(
        &self,
        broker: &Broker,
        header: &SendHeader<'_>,
        body: &[u8],
        born_host: SocketAddr,
        connection_id: u64,
    ) -> Result<Stored, Refusal> {
        let SingleSend { settings, topics, admitted } = self;
        let topic = &topics[admitted.topic];
        let mut batch = AppendBatch::new();
        let now = broker.clock.now();
        let incoming = Incoming { broker, settings, header, admitted, topic, born_host, now };
        let (mut properties, mut ids) = (MessageProperties::default(), UniqueIds::new(connection_id));
        let placed = incoming.place(&mut properties, &mut ids)?;
        incoming.push_single(body, &properties, placed, &mut batch)?;
        let bytes = batch.bytes() as u64;
        broker.store.append(&mut batch).map_err(|error| failure::refusal_of(&error))?;
        broker.stats.put(&topic.stats, 1, bytes);
        let stored = batch.stored().first().cloned();
        stored.ok_or_else(|| Refusal::failed("the log took no message"))
    }
}
