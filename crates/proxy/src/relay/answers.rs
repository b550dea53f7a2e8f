//! Answers of the proxy itself, where no broker gives one.

use crate::invoker::Unanswered;
use crate::refusal::Refusal;
use crate::schema::Code;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_remoting::CallError;

/// Clients send elsewhere what is answered so.
pub fn unanswered(failure: &Unanswered) -> Command {
    let code = match failure {
        Unanswered::NoBroker(_) | Unanswered::Unreached { .. } => response::SERVICE_NOT_AVAILABLE,
        Unanswered::Call { reason: CallError::TooMany(_), .. } => response::SYSTEM_BUSY,
        Unanswered::Broken { .. } | Unanswered::Call { .. } => response::SYSTEM_ERROR,
    };
    Command::response(code).remark(failure.to_string())
}

pub fn refusal(refusal: Refusal) -> Command {
    let code = match refusal.code {
        Code::TopicNotFound => response::TOPIC_NOT_EXIST,
        Code::ConsumerGroupNotFound => response::SUBSCRIPTION_GROUP_NOT_EXIST,
        Code::MessagePropertyConflictWithType => response::MESSAGE_ILLEGAL,
        Code::Unauthorized => response::NO_PERMISSION,
        _ => response::SYSTEM_ERROR,
    };
    Command::response(code).remark(refusal.text)
}

/// Clients from before version 5 don't say which broker a request is for.
pub fn unnamed(code: i32) -> Command {
    let text = format!(
        "request code {code} doesn't name its broker in the field bname, as clients from version 5 on do, \
         and the proxy doesn't know of just one that it can be for"
    );
    Command::response(response::VERSION_NOT_SUPPORTED).remark(text)
}

pub fn unknown(code: i32) -> Command {
    let text = format!("a proxy doesn't pass on request code {code}; ask a broker or a name server");
    Command::response(response::REQUEST_CODE_NOT_SUPPORTED).remark(text)
}
