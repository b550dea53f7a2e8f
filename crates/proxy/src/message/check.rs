//! What a message must be like to be sent. The first thing that is wrong is what the client is told.

use super::reserved::is_reserved;
use crate::config::ProxyConfig;
use crate::refusal::{Refusal, Result};
use crate::schema::{Code, Message, MessageType, SystemProperties};
use crate::wire_time::{ms_of, ms_of_duration};

pub fn check(message: &Message, config: &ProxyConfig, now_ms: i64) -> Result<()> {
    let default = SystemProperties::default();
    let system = message.system_properties.as_ref().unwrap_or(&default);
    body(&message.body, config)?;
    own_properties(message, config)?;
    tag(system.tag.as_deref().unwrap_or_default())?;
    system.keys.iter().try_for_each(|key| text(key, Code::IllegalMessageKey, "key"))?;
    property_bytes(message, system, config)?;
    if system.message_id.trim().is_empty() {
        return Err(Refusal::new(Code::IllegalMessageId, "the message has no id"));
    }
    transaction(system, config)?;
    delivery_time(system, config, now_ms)?;
    if let Some(priority) = system.priority.filter(|priority| *priority < 0) {
        return Err(Refusal::new(
            Code::BadRequest,
            format!("the priority is {priority}; it must be 0 or more"),
        ));
    }
    message_group(system.message_group.as_deref().unwrap_or_default(), config)?;
    if let Some(lite) = system.lite_topic.as_deref().filter(|lite| !lite.is_empty()) {
        lite_topic(lite, config)?;
    }
    one_kind(system)
}

/// The name of a lite topic.
pub fn lite_topic(name: &str, config: &ProxyConfig) -> Result<()> {
    let limit = config.lite_topic_bytes_max;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || !name.bytes().all(is_allowed) {
        let text = format!("the lite topic {name:?} is not made of a-z A-Z 0-9 _ -");
        return Err(Refusal::new(Code::IllegalLiteTopic, text));
    }
    if name.len() > limit {
        let text =
            format!("the lite topic has {} bytes, the limit is {limit} (maxLiteTopicSize)", name.len());
        return Err(Refusal::new(Code::IllegalLiteTopic, text));
    }
    Ok(())
}

fn body(body: &[u8], config: &ProxyConfig) -> Result<()> {
    let limit = config.body_bytes_max;
    if body.is_empty() && config.refuse_empty_body {
        return Err(Refusal::new(
            Code::MessageBodyEmpty,
            "the message has no body (enableMessageBodyEmptyCheck)",
        ));
    }
    if limit > 0 && body.len() > limit {
        let text = format!("the body has {} bytes, the limit is {limit} (maxMessageSize)", body.len());
        return Err(Refusal::new(Code::MessageBodyTooLarge, text));
    }
    Ok(())
}

fn own_properties(message: &Message, config: &ProxyConfig) -> Result<()> {
    let (count, limit) = (message.user_properties.len(), config.user_properties_max);
    if count > limit {
        let text = format!("the message has {count} properties, the limit is {limit} (userPropertyMaxNum)");
        return Err(Refusal::new(Code::MessagePropertiesTooLarge, text));
    }
    for (key, value) in &message.user_properties {
        let illegal = |what: &str| Err(Refusal::new(Code::IllegalMessagePropertyKey, what.to_owned()));
        if is_reserved(key) {
            return illegal(&format!("the property {key} is the system's"));
        }
        if has_control(key) {
            return illegal(&format!("the property {key:?} has a control character in its name"));
        }
        if has_control(value) {
            return illegal(&format!("the property {key:?} has a control character in its value"));
        }
    }
    Ok(())
}

fn tag(tag: &str) -> Result<()> {
    if tag.contains('|') {
        return Err(Refusal::new(Code::IllegalMessageTag, format!("the tag {tag:?} has a '|' in it")));
    }
    text(tag, Code::IllegalMessageTag, "tag")
}

/// A text that may be missing but not blank.
fn text(value: &str, code: Code, what: &str) -> Result<()> {
    if !value.is_empty() && value.trim().is_empty() {
        return Err(Refusal::new(code, format!("the {what} is blank")));
    }
    if has_control(value) {
        return Err(Refusal::new(code, format!("the {what} {value:?} has a control character in it")));
    }
    Ok(())
}

fn property_bytes(message: &Message, system: &SystemProperties, config: &ProxyConfig) -> Result<()> {
    let own: usize = message.user_properties.iter().map(|(key, value)| key.len() + value.len()).sum();
    let keys: usize = system.keys.iter().map(String::len).sum();
    let bytes = own + keys + system.tag.as_deref().map_or(0, str::len);
    let limit = config.user_property_bytes_max;
    if bytes > limit {
        let text = format!(
            "properties, tag and keys of the message have {bytes} bytes, the limit is {limit} (maxUserPropertySize)"
        );
        return Err(Refusal::new(Code::MessagePropertiesTooLarge, text));
    }
    Ok(())
}

fn transaction(system: &SystemProperties, config: &ProxyConfig) -> Result<()> {
    let limit = config.transaction_recovery_s_max;
    let Some(recovery) = &system.orphaned_transaction_recovery_duration else { return Ok(()) };
    let seconds = ms_of_duration(recovery) / 1000;
    if system.message_type() == MessageType::Transaction && limit > 0 && seconds > limit {
        let text = format!(
            "the transaction is to be asked for after {seconds} s, the limit is {limit} (maxTransactionRecoverySecond)"
        );
        return Err(Refusal::new(Code::BadRequest, text));
    }
    Ok(())
}

fn delivery_time(system: &SystemProperties, config: &ProxyConfig, now_ms: i64) -> Result<()> {
    let limit = config.delay_ms_max;
    let Some(time) = &system.delivery_timestamp else { return Ok(()) };
    let ahead = ms_of(time).saturating_sub(now_ms);
    if limit > 0 && ahead > limit {
        let text = format!("the message is due in {ahead} ms, the limit is {limit} (maxDelayTimeMills)");
        return Err(Refusal::new(Code::IllegalDeliveryTime, text));
    }
    Ok(())
}

fn message_group(group: &str, config: &ProxyConfig) -> Result<()> {
    text(group, Code::IllegalMessageGroup, "message group")?;
    let end = config.message_group_bytes_end;
    if end > 0 && group.len() >= end {
        let text = format!(
            "the message group has {} bytes, it must have fewer than {end} (maxMessageGroupSize)",
            group.len()
        );
        return Err(Refusal::new(Code::IllegalMessageGroup, text));
    }
    Ok(())
}

/// A message can't be of two kinds: one of them would be forgotten in silence.
fn one_kind(system: &SystemProperties) -> Result<()> {
    let kinds = [
        (system.message_type() == MessageType::Transaction, "a transaction"),
        (system.delivery_timestamp.is_some(), "a delivery time"),
        (system.message_group.as_deref().is_some_and(|group| !group.is_empty()), "a message group"),
    ];
    let mut present = kinds.iter().filter(|(is, _)| *is).map(|(_, what)| *what);
    match (present.next(), present.next()) {
        (Some(one), Some(other)) => Err(Refusal::new(
            Code::MessagePropertyConflictWithType,
            format!("the message has {one} and {other}, which don't go together"),
        )),
        _ => Ok(()),
    }
}

/// The control characters of ISO: up to U+001F, and U+007F to U+009F.
fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
