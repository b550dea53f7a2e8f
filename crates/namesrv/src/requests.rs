//! The requests of the name server, a file for each kind: fields and body in, the answer out.

mod brokers;
mod configuration;
mod error;
mod kv;
mod routes;
mod topics;
mod write_perm;

pub use brokers::FULL_REGISTRATION;
pub(crate) use error::RequestError;

use crate::address::Asker;
use crate::namesrv::Namesrv;
use crate::service::Session;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::ExtFields;
use roxmq_remoting::Connection;
use std::sync::Arc;

/// A request and where it comes from.
pub(crate) struct Ask<'r, 'f> {
    pub frame: &'r Frame<'f>,
    pub connection: &'r Arc<Connection>,
    pub asker: Asker,
}

/// What a request comes to.
pub(crate) enum Reply {
    Now(Command),
    /// The answer waits for the disk.
    Later(Box<dyn FnOnce() -> Answer + Send>),
}

pub(crate) type Answer = Result<Command, RequestError>;

macro_rules! table {
    ($($code:ident => $handler:expr,)*) => {
        /// Whether this request is the name server's, so that a port can serve a broker as well.
        pub fn handles(code: i32) -> bool {
            matches!(code, $(request::$code)|*)
        }

        pub(crate) fn dispatch(
            server: &Namesrv,
            session: &mut Session,
            ask: &Ask<'_, '_>,
        ) -> Result<Reply, RequestError> {
            match ask.frame.header.code {
                $(request::$code => Handler::run($handler, server, session, ask),)*
                code => Err(RequestError::NotSupported { code }),
            }
        }
    };
}

table! {
    PUT_KV_CONFIG => Saving(kv::put),
    GET_KV_CONFIG => Reading(kv::get),
    DELETE_KV_CONFIG => Saving(kv::delete),
    REGISTER_BROKER => Registering(brokers::register),
    UNREGISTER_BROKER => Reading(brokers::unregister),
    GET_ROUTEINFO_BY_TOPIC => Reading(routes::route),
    GET_BROKER_CLUSTER_INFO => Reading(routes::cluster_info),
    WIPE_WRITE_PERM_OF_BROKER => Reading(write_perm::wipe),
    GET_ALL_TOPIC_LIST_FROM_NAMESERVER => Reading(topics::all),
    DELETE_TOPIC_IN_NAMESRV => Saving(topics::delete),
    REGISTER_TOPIC_IN_NAMESRV => Reading(topics::register),
    GET_KVLIST_BY_NAMESPACE => Reading(kv::list),
    GET_TOPICS_BY_CLUSTER => Reading(topics::of_cluster),
    GET_SYSTEM_TOPIC_LIST_FROM_NS => Reading(topics::system),
    GET_UNIT_TOPIC_LIST => Reading(topics::unit),
    GET_HAS_UNIT_SUB_TOPIC_LIST => Reading(topics::unit),
    GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST => Reading(topics::unit),
    UPDATE_NAMESRV_CONFIG => Saving(configuration::update),
    GET_NAMESRV_CONFIG => Reading(configuration::get),
    QUERY_DATA_VERSION => Reading(brokers::data_version),
    ADD_WRITE_PERM_OF_BROKER => Reading(write_perm::add),
    GET_BROKER_MEMBER_GROUP => Reading(routes::member_group),
    BROKER_HEARTBEAT => Reading(brokers::heartbeat),
}

/// How a request is answered, by what it needs.
trait Handler {
    fn run(self, server: &Namesrv, session: &mut Session, ask: &Ask<'_, '_>) -> Result<Reply, RequestError>;
}

/// Answers from memory.
struct Reading<F>(F);
/// Does its part at once and returns what has to wait for the disk.
struct Saving<F>(F);
/// Answers from memory, and ties brokers to the connection.
struct Registering<F>(F);

impl<F: Fn(&Namesrv, &Ask<'_, '_>) -> Answer> Handler for Reading<F> {
    fn run(self, server: &Namesrv, _: &mut Session, ask: &Ask<'_, '_>) -> Result<Reply, RequestError> {
        (self.0)(server, ask).map(Reply::Now)
    }
}

impl<F: Fn(&Namesrv, &Ask<'_, '_>) -> Result<Reply, RequestError>> Handler for Saving<F> {
    fn run(self, server: &Namesrv, _: &mut Session, ask: &Ask<'_, '_>) -> Result<Reply, RequestError> {
        (self.0)(server, ask)
    }
}

impl<F: Fn(&Namesrv, &mut Session, &Ask<'_, '_>) -> Answer> Handler for Registering<F> {
    fn run(self, server: &Namesrv, session: &mut Session, ask: &Ask<'_, '_>) -> Result<Reply, RequestError> {
        (self.0)(server, session, ask).map(Reply::Now)
    }
}

impl<'f> Ask<'_, 'f> {
    fn fields(&self) -> &ExtFields<'f> {
        &self.frame.header.ext
    }

    fn code(&self) -> i32 {
        self.frame.header.code
    }

    /// Refuses requests that reconfigure a cluster when they come from another host, unless that is allowed.
    fn need_admin(&self, server: &Namesrv) -> Result<(), RequestError> {
        if self.connection.is_from_this_host() || server.config().remote_admin_enable {
            return Ok(());
        }
        Err(RequestError::RemoteAdmin { code: self.code(), from: self.asker.remote.ip() })
    }
}

fn success() -> Command {
    Command::response(response::SUCCESS)
}
