//! Who may change configuration, data and users: users with the right to, the broker's own host where nobody looks who
//! asks, and others only where that was allowed.

use crate::Broker;
use crate::refusal::Refusal;
use roxmq_protocol::ext::ExtFields;
use roxmq_protocol::signature::ACCESS_KEY;
use roxmq_remoting::Connection;

/// To be asked by every request that changes configuration, deletes, or sets offsets, and by those about users.
pub(crate) fn check(
    broker: &Broker,
    connection: &Connection,
    code: i32,
    fields: &ExtFields<'_>,
) -> Result<(), Refusal> {
    let is_allowed = connection.is_from_this_host()
        || broker.config().remote_admin_enable
        || broker.guard.vouches_for(connection, code, fields.str(ACCESS_KEY).as_deref());
    if is_allowed {
        return Ok(());
    }
    Err(Refusal::denied(format!(
        "requests that change configuration, data or users are not taken from {}; send them from the broker's own host, \
         as a super user, or as one who may with authorizationEnabled, or set remoteAdminEnable=true",
        connection.remote()
    )))
}
