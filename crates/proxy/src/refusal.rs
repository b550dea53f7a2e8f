//! What a call is refused with: a code of the protocol and the reason in words.

use crate::schema::{Code, Status};
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    pub code: Code,
    pub text: String,
}

pub type Result<T, E = Refusal> = std::result::Result<T, E>;

impl Refusal {
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Refusal { code, text: text.into() }
    }

    /// The broker's own words under the code that goes with its answer's.
    pub fn from_broker(answer: &Command) -> Self {
        let code = match answer.code {
            response::TOPIC_NOT_EXIST => Code::TopicNotFound,
            response::SYSTEM_BUSY | response::FLOW_CONTROL => Code::TooManyRequests,
            response::REQUEST_CODE_NOT_SUPPORTED => Code::NotImplemented,
            response::SUBSCRIPTION_GROUP_NOT_EXIST => Code::ConsumerGroupNotFound,
            response::LMQ_QUOTA_EXCEEDED => Code::LiteTopicQuotaExceeded,
            response::LITE_SUBSCRIPTION_QUOTA_EXCEEDED => Code::LiteSubscriptionQuotaExceeded,
            _ => Code::InternalServerError,
        };
        let name = response::name(answer.code).unwrap_or("an unknown code");
        let text = answer.remark.clone().unwrap_or_else(|| format!("the broker answered {name}"));
        Refusal { code, text }
    }

    pub fn into_status(self) -> Status {
        Status { code: self.code.into(), message: self.text }
    }
}

pub fn ok() -> Status {
    status_of(Code::Ok)
}

/// A status that says nothing but its code.
pub fn status_of(code: Code) -> Status {
    Status { code: code.into(), message: code.as_str_name().to_owned() }
}

/// The status of a whole whose parts ended so: that of the first, if the others have its code.
pub fn common<'a>(parts: impl IntoIterator<Item = &'a Status>) -> Option<Status> {
    let mut parts = parts.into_iter();
    let first = parts.next()?;
    let agree = parts.all(|other| other.code == first.code);
    Some(if agree { first.clone() } else { status_of(Code::MultipleResults) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brokers_codes_have_codes_here() {
        let check = |code: i32, expected: Code| {
            let answer = Command::response(code).remark("because");
            assert_eq!(Refusal::from_broker(&answer), Refusal::new(expected, "because"), "{code}");
        };
        check(response::TOPIC_NOT_EXIST, Code::TopicNotFound);
        check(response::SYSTEM_BUSY, Code::TooManyRequests);
        check(response::REQUEST_CODE_NOT_SUPPORTED, Code::NotImplemented);
        check(response::SUBSCRIPTION_GROUP_NOT_EXIST, Code::ConsumerGroupNotFound);
        check(response::LMQ_QUOTA_EXCEEDED, Code::LiteTopicQuotaExceeded);
        check(response::LITE_SUBSCRIPTION_QUOTA_EXCEEDED, Code::LiteSubscriptionQuotaExceeded);
        check(response::NO_PERMISSION, Code::InternalServerError);
        check(response::SYSTEM_ERROR, Code::InternalServerError);
        let silent = Refusal::from_broker(&Command::response(response::NO_PERMISSION));
        assert_eq!(silent.text, "the broker answered NO_PERMISSION");
    }

    #[test]
    fn parts_have_a_common_code_or_several() {
        let refused = |text: &str| Refusal::new(Code::HaNotAvailable, text).into_status();
        assert_eq!(common([]), None);
        assert_eq!(common([&ok(), &ok()]), Some(ok()));
        assert_eq!(common([&refused("a"), &refused("b")]), Some(refused("a")));
        assert_eq!(common([&ok(), &refused("a")]), Some(status_of(Code::MultipleResults)));
    }
}
