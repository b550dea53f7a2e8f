//! How long a receive waits for messages: as long as the client wants, within the server's limits, and never so long
//! that the answer comes after the client has stopped to wait.

use crate::schema::Code;
use std::ops::RangeInclusive;

/// What is left of the client's time when the answer sets out.
const ANSWER_MS: i64 = 200;
/// The first version of clients that know the code for a time that is too short.
const CODE_KNOWN_SINCE: &str = "5.0.3";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// What the request says.
    pub asked_ms: Option<i64>,
    /// Until the deadline of the call; none for no deadline.
    pub remaining_ms: Option<i64>,
    /// What the client adds to the time it waits for messages.
    pub request_timeout_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {remaining_ms} ms until the deadline are not enough to wait {wanted_ms} ms for messages")]
pub struct TooShort {
    wanted_ms: i64,
    remaining_ms: i64,
}

impl Wish {
    /// A time below the lower limit is kept to if the client asks for it and has it.
    pub fn poll_ms(self, limits: RangeInclusive<i64>) -> Result<i64, TooShort> {
        let (min, max) = limits.into_inner();
        let Some(remaining_ms) = self.remaining_ms else {
            return Ok(self.asked_ms.unwrap_or(max).clamp(0, max));
        };
        let wanted_ms = self.asked_ms.unwrap_or(remaining_ms.saturating_sub(self.request_timeout_ms / 2));
        let fits = wanted_ms > 0 && wanted_ms <= remaining_ms;
        if !fits && remaining_ms < min {
            return Err(TooShort { wanted_ms: wanted_ms.max(min), remaining_ms });
        }
        let wanted_ms = if fits { wanted_ms } else { wanted_ms.max(min) };
        Ok(wanted_ms.min(max).min(remaining_ms - ANSWER_MS).max(0))
    }
}

/// The code that a client of this version understands. Versions are compared as texts, as the Java server does.
pub fn error_code(version: &str) -> Code {
    if version < CODE_KNOWN_SINCE { Code::BadRequest } else { Code::IllegalPollingTime }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_keeps_within_what_is_wanted_allowed_and_left() {
        let check = |asked_ms: Option<i64>, remaining_ms: Option<i64>, expected: Option<i64>| {
            let wish = Wish { asked_ms, remaining_ms, request_timeout_ms: 3_000 };
            assert_eq!(wish.poll_ms(5_000..=20_000).ok(), expected, "{wish:?}");
        };
        check(Some(20_000), Some(23_000), Some(20_000));
        check(Some(40_000), Some(43_000), Some(20_000));
        check(Some(40_000), Some(40_000), Some(20_000));
        check(None, Some(18_000), Some(16_500));
        check(None, Some(90_000), Some(20_000));
        check(Some(30_000), Some(8_000), Some(7_800));
        check(Some(8_000), Some(8_000), Some(7_800));
        check(Some(1_000), Some(4_000), Some(1_000));
        check(None, Some(4_000), Some(2_500));
        check(Some(20_000), Some(4_999), None);
        check(None, Some(1_000), None);
        check(Some(0), Some(1_000), None);
        check(Some(0), Some(10_000), Some(5_000));
        check(Some(10_000), None, Some(10_000));
        check(None, None, Some(20_000));
        check(Some(i64::MIN), Some(i64::MAX), Some(5_000));
        check(None, Some(0), None);
    }

    #[test]
    fn the_code_goes_with_the_clients_version() {
        let check = |version, expected| assert_eq!(error_code(version), expected, "{version}");
        check("", Code::BadRequest);
        check("5.0.2", Code::BadRequest);
        check("5.0.3", Code::IllegalPollingTime);
        check("5.2.1", Code::IllegalPollingTime);
    }
}
