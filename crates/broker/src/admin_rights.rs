//! Who may change configuration and data: the broker's own host, and others only where that was allowed.

use crate::Broker;
use crate::refusal::Refusal;
use roxmq_remoting::Connection;

/// To be asked by every request that changes configuration, deletes, or sets offsets.
pub(crate) fn check(broker: &Broker, connection: &Connection) -> Result<(), Refusal> {
    if connection.is_from_this_host() || broker.config().remote_admin_enable {
        return Ok(());
    }
    Err(Refusal::denied(format!(
        "requests that change configuration or data are not taken from {}; send them from the broker's own host, \
         or set remoteAdminEnable=true",
        connection.remote()
    )))
}
