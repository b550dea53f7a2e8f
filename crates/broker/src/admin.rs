//! What operators ask and change: topics, groups, configuration, figures, cleaning.

pub(crate) mod broker_config;
pub(crate) mod broker_stats;
pub(crate) mod cleaning;
pub(crate) mod groups;
pub(crate) mod ha_status;
pub(crate) mod runtime;
pub(crate) mod system_topics;
mod table_part;
mod topic_attributes;
pub(crate) mod topics;

use crate::refusal::Refusal;
use crate::state::StateError;
use roxmq_protocol::body::attributes::AttributeError;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::names::NameError;

fn success() -> Command {
    Command::response(response::SUCCESS)
}

fn answer(body: &impl ToJson) -> Command {
    success().body(body.to_json())
}

impl From<StateError> for Refusal {
    fn from(error: StateError) -> Self {
        Refusal::failed(error.to_string())
    }
}

impl From<NameError> for Refusal {
    fn from(error: NameError) -> Self {
        Refusal::invalid(error.to_string())
    }
}

/// Java's own words, which tools look for.
impl From<AttributeError> for Refusal {
    fn from(error: AttributeError) -> Self {
        Refusal::failed(error.to_string())
    }
}
