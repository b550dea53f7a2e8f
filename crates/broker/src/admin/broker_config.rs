//! The configuration shown and changed: 26 and 25.

use super::success;
use crate::Broker;
use crate::config::{Update, UpdateError};
use crate::refusal::Refusal;
use crate::replaced_file::{FileError, ReplacedFile};
use roxmq_protocol::command::Command;
use roxmq_protocol::json::ToJson;
use roxmq_protocol::properties_text;
use std::sync::Arc;

/// Every key that the Java server lists, with its value (26).
pub(crate) fn show(broker: &Broker, _: &Command) -> Result<Command, Refusal> {
    let listing = broker.config().listing();
    let body = properties_text::write(listing.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    Ok(success().with("version", broker.config_version().to_json_text()).body(body.into_bytes()))
}

/// Changes values (25): at once where that is possible, and in the file that the configuration came from. The answer
/// says what needs a restart. A request with a fault changes nothing.
pub(crate) fn change(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let Ok(text) = std::str::from_utf8(&request.body) else {
        return Err(Refusal::failed("string2Properties error: the body isn't UTF-8"));
    };
    let pairs = properties_text::parse(text);
    let update = broker.update_config(|config| {
        let update = config.update(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())))?;
        keep(broker, &update, &pairs)?;
        Ok::<Update, Refusal>(update)
    })?;
    let names: Vec<&str> = pairs.iter().map(|(key, _)| key.as_str()).collect();
    tracing::info!(keys = names.join(", "), "the configuration was changed");
    if names.contains(&"brokerPermission") {
        broker.topics.bump_version();
    }
    Ok(match remark(&update) {
        Some(remark) => success().remark(remark),
        None => success(),
    })
}

/// Writes the changes to the file.
fn keep(broker: &Broker, update: &Update, pairs: &[(String, String)]) -> Result<(), Refusal> {
    let unchanged = |error: FileError| Refusal::failed(format!("nothing was changed: {error}"));
    let file = ReplacedFile::new(Arc::clone(&broker.files), update.config.config_file());
    let bytes = file.read().map_err(unchanged)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let trimmed: Vec<_> =
        pairs.iter().map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect();
    file.write(properties_text::edit(&text, &trimmed).as_bytes()).map_err(unchanged)
}

fn remark(update: &Update) -> Option<String> {
    let mut parts = Vec::new();
    if !update.at_start.is_empty() {
        parts.push(format!("takes effect at the next start: {}", update.at_start.join(", ")));
    }
    if !update.without_effect.is_empty() {
        parts.push(format!("has no effect in this server: {}", update.without_effect.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

impl From<UpdateError> for Refusal {
    fn from(error: UpdateError) -> Self {
        match error {
            UpdateError::Forbidden(_) => Refusal::denied(error.to_string()),
            UpdateError::Invalid(_) => Refusal::invalid(error.to_string()),
        }
    }
}
