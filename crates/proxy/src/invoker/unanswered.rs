//! Why a broker gave no answer: what may be tried elsewhere depends on it.

use crate::refusal::Refusal;
use crate::schema::Code;
use roxmq_remoting::CallError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    #[error("there is no broker '{0}'")]
    NoBroker(Box<str>),
    /// Nothing of the request was sent.
    #[error("broker '{broker}' can't be reached: {reason}")]
    Unreached { broker: Box<str>, reason: String },
    /// The connection broke under the call: the broker may have done what it was asked.
    #[error("the connection to broker '{broker}' broke before the answer")]
    Broken { broker: Box<str> },
    #[error("broker '{broker}': {reason}")]
    Call { broker: Box<str>, reason: CallError },
}

impl Unanswered {
    /// How a call ended that was handed to the connection.
    pub fn of_call(broker: &str, reason: CallError) -> Self {
        let broker = broker.into();
        match reason {
            CallError::Closed => Unanswered::Broken { broker },
            reason => Unanswered::Call { broker, reason },
        }
    }

    /// Whether the broker has not seen the request.
    pub fn is_unasked(&self) -> bool {
        matches!(self, Unanswered::NoBroker(_) | Unanswered::Unreached { .. })
    }

    /// Whether the broker has left, or doesn't take connections.
    pub fn is_of_connection(&self) -> bool {
        self.is_unasked() || matches!(self, Unanswered::Broken { .. })
    }
}

impl From<Unanswered> for Refusal {
    fn from(unanswered: Unanswered) -> Self {
        let code = match &unanswered {
            Unanswered::NoBroker(_) => Code::BadRequest,
            Unanswered::Unreached { .. } | Unanswered::Broken { .. } => Code::InternalServerError,
            Unanswered::Call { reason, .. } => match reason {
                CallError::Timeout(_) => Code::ProxyTimeout,
                CallError::TooMany(_) => Code::TooManyRequests,
                CallError::Connect { .. } | CallError::Closed => Code::InternalServerError,
            },
        };
        Refusal::new(code, unanswered.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_has_a_code_and_says_what_may_be_tried_again() {
        let check = |unanswered: Unanswered, code: Code, is_unasked: bool, is_of_connection: bool| {
            assert_eq!(unanswered.is_unasked(), is_unasked, "{unanswered}");
            assert_eq!(unanswered.is_of_connection(), is_of_connection, "{unanswered}");
            assert_eq!(Refusal::from(unanswered).code, code);
        };
        let unreached = Unanswered::Unreached { broker: "b".into(), reason: "refused".to_owned() };
        check(Unanswered::NoBroker("b".into()), Code::BadRequest, true, true);
        check(unreached, Code::InternalServerError, true, true);
        check(Unanswered::of_call("b", CallError::Closed), Code::InternalServerError, false, true);
        let slow = CallError::Timeout(Duration::from_secs(2));
        check(Unanswered::of_call("b", slow), Code::ProxyTimeout, false, false);
        check(Unanswered::of_call("b", CallError::TooMany(9)), Code::TooManyRequests, false, false);
    }
}
