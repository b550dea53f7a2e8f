//! What consumers ask about themselves: who is in the group (38), and whether the broker takes their filter (46).

use crate::Broker;
use crate::filter::{self, MessageFilter};
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::check_client::CheckClientRequest;
use roxmq_protocol::body::list::ConsumerIdList;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::json::{FromJson, ToJson};
use roxmq_protocol::request::group::ConsumerGroupHeader;

/// The client ids among which a group's queues are shared out.
pub(crate) fn consumer_ids(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let group = ConsumerGroupHeader::decode(&frame.header.ext)?.consumer_group;
    let Some(online) = broker.clients.consumer_group(&group) else {
        return Err(Refusal::failed(format!("no consumer for this group, {group}")));
    };
    let ids = ConsumerIdList { consumer_id_list: online.members.client_ids() };
    Ok(Command::response(response::SUCCESS).body(ids.to_json()))
}

/// Consumers with a filter other than by tags ask this before they start.
pub(crate) fn check_config(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let request = CheckClientRequest::from_json_bytes(frame.body)?;
    if let Some(subscription) = request.subscription_data {
        filter::check_allowed(&broker.config(), &subscription.expression_type)?;
        MessageFilter::of(&subscription)?;
    }
    Ok(Command::response(response::SUCCESS))
}
