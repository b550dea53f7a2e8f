//! Messages that the client gets, given to the renewals to keep them out of the sight of others.

use super::release::Source;
use super::screen::handle_of;
use crate::proxy::{Proxy, now_ms};
use crate::renewals::{self, Kept, Received};
use crate::schema::Message;
use std::sync::Arc;

#[derive(Clone)]
pub struct Renewer {
    proxy: Arc<Proxy>,
}

impl Renewer {
    pub fn of(proxy: &Arc<Proxy>) -> Self {
        Renewer { proxy: Arc::clone(proxy) }
    }

    pub fn keep(&self, source: &Source, message: &Message) {
        let handle = handle_of(message);
        let Some(due_ms) = renewals::due_ms(&self.proxy, handle) else { return };
        let attempt = message.system_properties.as_ref().map_or(1, |system| system.delivery_attempt());
        let received = Received {
            client_id: &source.client.id,
            topic: &source.topic,
            group: &source.group,
            lite_topic: source.received(message).lite_topic,
            handle,
            reconsume_times: attempt.saturating_sub(1),
        };
        if !self.proxy.renewals.keep(Kept::new(received, now_ms()), due_ms) {
            tracing::debug!(group = %source.group, "too many messages are being renewed; one comes again when its time is up");
        }
    }

    pub fn forget<'a>(&self, source: &Source, handles: impl Iterator<Item = &'a str>) {
        for handle in handles {
            self.proxy.renewals.forget(&source.client.id, handle);
        }
    }
}
