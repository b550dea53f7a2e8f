//! How far the replicas of this broker are (907).

use super::answer;
use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::ha_status::HaStatus;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;

/// A broker is a master here, and no replica connects to it.
pub(crate) fn handle(broker: &Broker, _: &Caller<'_>, _: &Frame<'_>) -> Result<Command, Refusal> {
    Ok(answer(&HaStatus {
        master: true,
        master_commit_log_max_offset: broker.store.max_phy_offset().0,
        ..HaStatus::default()
    }))
}
