//! A request that isn't carried out: the code a client acts on, and the words for whoever reads its log.

use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::ext::FieldError;
use roxmq_protocol::json::JsonError;
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{remark} (code {code})")]
pub(crate) struct Refusal {
    pub(crate) code: i32,
    pub(crate) remark: Cow<'static, str>,
}

impl Refusal {
    pub(crate) fn new(code: i32, remark: impl Into<Cow<'static, str>>) -> Self {
        Refusal { code, remark: remark.into() }
    }

    /// Something that was asked is wrong in itself; asking again won't help.
    pub(crate) fn invalid(remark: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(response::INVALID_PARAMETER, remark)
    }

    pub(crate) fn denied(remark: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(response::NO_PERMISSION, remark)
    }

    pub(crate) fn failed(remark: impl Into<Cow<'static, str>>) -> Self {
        Refusal::new(response::SYSTEM_ERROR, remark)
    }

    pub(crate) fn topic_missing(topic: &str) -> Self {
        Refusal::new(
            response::TOPIC_NOT_EXIST,
            format!(
                "topic[{topic}] not exist, apply first please! (roxmq or mqadmin updateTopic creates it)"
            ),
        )
    }

    pub(crate) fn group_missing(group: &str) -> Self {
        Refusal::new(
            response::SUBSCRIPTION_GROUP_NOT_EXIST,
            format!(
                "subscription group [{group}] does not exist, and autoCreateSubscriptionGroup doesn't make it"
            ),
        )
    }

    pub(crate) fn into_response(self) -> Command {
        Command::response(self.code).remark(self.remark)
    }
}

/// A missing or unreadable field is the Java server's system error; clients never send one.
impl From<FieldError> for Refusal {
    fn from(error: FieldError) -> Self {
        Refusal::failed(error.to_string())
    }
}

/// A body that isn't what the request needs.
impl From<JsonError> for Refusal {
    fn from(error: JsonError) -> Self {
        Refusal::failed(format!("the request's body can't be read: {error}"))
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Refusal::failed(format!("reading the store failed: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_error_names_the_field() {
        let refusal = Refusal::from(FieldError::Missing("queueId"));
        assert_eq!(refusal.code, response::SYSTEM_ERROR);
        assert!(refusal.remark.contains("queueId"), "{refusal}");
    }
}
