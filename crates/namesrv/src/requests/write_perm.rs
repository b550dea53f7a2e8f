//! Taking a broker out of service for writers, and back (205, 327).

use super::{Answer, Ask, success};
use crate::namesrv::Namesrv;
use tracing::info;

pub fn wipe(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    ask.need_admin(server)?;
    let broker_name = ask.fields().need_str("brokerName")?;
    let count = server.table().write().wipe_write_perm(&broker_name);
    info!(%broker_name, topics = count, by = %ask.asker.remote, "write permission taken away");
    Ok(success().with("wipeTopicCount", count))
}

pub fn add(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    ask.need_admin(server)?;
    let broker_name = ask.fields().need_str("brokerName")?;
    let count = server.table().write().add_write_perm(&broker_name);
    info!(%broker_name, topics = count, by = %ask.asker.remote, "write permission given back");
    Ok(success().with("addTopicCount", count))
}
