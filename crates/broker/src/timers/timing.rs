//! When a message asks to be delivered, and whether it may, as a function of values.

use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_protocol::properties::{Properties, name};
use roxmq_store::Millis;
use roxmq_store::timer::slot_before;

/// The properties of a message that ask for a time. Of several the first counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked<'a> {
    pub(crate) delay_sec: Option<&'a str>,
    pub(crate) delay_ms: Option<&'a str>,
    pub(crate) deliver_ms: Option<&'a str>,
    /// It takes another message back.
    pub(crate) is_recall: bool,
}

/// What becomes of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Its time has come already.
    Now,
    /// It waits in the slot of this time (`TIMER_OUT_MS`).
    Slot(Millis),
}

/// A time that is past is now, however long past. One too far ahead is refused, and so is what can't be a time.
pub(crate) fn timing(asked: Asked<'_>, config: &BrokerConfig, now: Millis) -> Result<Timing, Refusal> {
    let Some((property, value)) = asked.first() else { return Ok(Timing::Now) };
    if !config.timer_wheel_enable {
        return Err(Refusal::failed(format!(
            "accurate timer message is not enabled, timerWheelEnable is false; the message has the property {property}"
        )));
    }
    let due = asked.due(now).ok_or_else(|| {
        illegal(format!("timer message illegal, its property {property} is '{value}', which is no time"))
    })?;
    let wait_ms = due - i128::from(now.0);
    if wait_ms <= 0 {
        return if asked.is_recall { Err(late_recall(property, value)) } else { Ok(Timing::Now) };
    }
    let limit_ms = i128::from(config.timer_max_delay_sec) * 1_000;
    if wait_ms > limit_ms {
        return Err(illegal(format!(
            "timer message illegal, the delay time should not be bigger than the max delay {limit_ms}ms (timerMaxDelaySec={}): {property} is {value}",
            config.timer_max_delay_sec
        )));
    }
    let due =
        i64::try_from(due).map_err(|_| illegal(format!("timer message illegal, {property} is {value}")))?;
    Ok(Timing::Slot(slot_before(Millis(due), config.timer_precision_ms)))
}

impl<'a> Asked<'a> {
    /// What a stored message asks for; nothing if it has waited already.
    pub(crate) fn of(properties: Properties<'a>) -> Self {
        let [delay_sec, delay_ms, deliver_ms, recalls] = properties.get_all([
            name::TIMER_DELAY_SEC,
            name::TIMER_DELAY_MS,
            name::TIMER_DELIVER_MS,
            name::TIMER_DEL_UNIQKEY,
        ]);
        Asked { delay_sec, delay_ms, deliver_ms, is_recall: recalls.is_some() }
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.first().is_some()
    }

    fn first(&self) -> Option<(&'static str, &'a str)> {
        let named = |name, value: Option<&'a str>| value.map(|value| (name, value));
        named(name::TIMER_DELAY_SEC, self.delay_sec)
            .or_else(|| named(name::TIMER_DELAY_MS, self.delay_ms))
            .or_else(|| named(name::TIMER_DELIVER_MS, self.deliver_ms))
    }

    /// When the message is due, if it was stored at this time. No sum of two numbers overflows here.
    fn due(&self, stored: Millis) -> Option<i128> {
        let number = |value: &str| value.parse::<i64>().ok().map(i128::from);
        let stored = i128::from(stored.0);
        match (self.delay_sec, self.delay_ms, self.deliver_ms) {
            (Some(seconds), _, _) => Some(stored + number(seconds)? * 1_000),
            (None, Some(ms), _) => Some(stored + number(ms)?),
            (None, None, Some(at)) => number(at),
            (None, None, None) => None,
        }
    }

    /// When within its slot the message is due: at what it asked for, or at the slot's end if that is not known any
    /// more, as for a delay of a message that was stored anew.
    pub(crate) fn due_in_slot(&self, stored: Millis, slot: Millis, precision_ms: i64) -> Millis {
        let end = slot.0.saturating_add(precision_ms);
        let due = self.due(stored).and_then(|due| i64::try_from(due).ok());
        Millis(due.filter(|due| (slot.0 + 1..=end).contains(due)).unwrap_or(end))
    }
}

fn late_recall(property: &str, value: &str) -> Refusal {
    illegal(format!(
        "timer message illegal, if set del msg, the delay time should be bigger than the current time: {property} is {value}"
    ))
}

fn illegal(remark: String) -> Refusal {
    Refusal::new(response::MESSAGE_ILLEGAL, remark)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_700_000_000_500);

    fn asked<'a>(property: &str, value: &'a str) -> Asked<'a> {
        let mut asked = Asked::default();
        match property {
            "sec" => asked.delay_sec = Some(value),
            "ms" => asked.delay_ms = Some(value),
            _ => asked.deliver_ms = Some(value),
        }
        asked
    }

    #[test]
    fn a_message_waits_in_the_slot_before_its_time() {
        let check = |property, value, expected: i64| {
            let timing = timing(asked(property, value), &BrokerConfig::default(), NOW);
            assert_eq!(timing, Ok(Timing::Slot(Millis(1_700_000_000_000 + expected))), "{property} {value}");
        };
        check("sec", "3", 3_000);
        check("ms", "3000", 3_000);
        check("ms", "499", 0);
        // A whole second is in the slot before it, as with the Java server.
        check("ms", "500", 0);
        check("ms", "501", 1_000);
        check("at", "1700000002001", 2_000);
        check("at", "1700000002000", 1_000);
        check("ms", "259200000", 259_200_000);
    }

    /// An overflow once made the longest delays none.
    #[test]
    fn what_is_past_is_now_and_what_is_too_far_is_refused() {
        let config = BrokerConfig::default();
        for (property, value) in [
            ("sec", "0"),
            ("sec", "-1"),
            ("ms", "-9223372036854775808"),
            ("at", "5"),
            ("at", "1700000000500"),
        ] {
            assert_eq!(timing(asked(property, value), &config, NOW), Ok(Timing::Now), "{property} {value}");
        }
        for (property, value) in [
            ("sec", "259201"),
            ("sec", "345600"),
            ("sec", "9223372036854775807"),
            ("sec", "4611686018427387904"),
            ("ms", "259200001"),
            ("ms", "9223372036854775807"),
            ("at", "9223372036854775807"),
        ] {
            let refusal = timing(asked(property, value), &config, NOW).expect_err(value);
            assert_eq!(refusal.code, response::MESSAGE_ILLEGAL);
            for word in [value, "259200000ms", "timerMaxDelaySec"] {
                assert!(refusal.remark.contains(word), "{refusal}");
            }
        }
        for value in ["soon", "", "1.5", "9223372036854775808"] {
            let refusal = timing(asked("ms", value), &config, NOW).expect_err(value);
            assert!(
                refusal.code == response::MESSAGE_ILLEGAL && refusal.remark.contains("TIMER_DELAY_MS"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn a_longer_limit_allows_months() {
        let config = BrokerConfig { timer_max_delay_sec: 8_000_000, ..BrokerConfig::default() };
        assert_eq!(
            timing(asked("sec", "7776000"), &config, NOW),
            Ok(Timing::Slot(Millis(1_707_776_000_000)))
        );
    }

    #[test]
    fn the_first_property_counts_and_a_late_recall_is_refused() {
        let both = Asked { delay_ms: Some("2000"), ..asked("sec", "1") };
        assert_eq!(timing(both, &BrokerConfig::default(), NOW), Ok(Timing::Slot(Millis(1_700_000_001_000))));
        let recall = Asked { is_recall: true, ..asked("at", "5") };
        assert_eq!(
            timing(recall, &BrokerConfig::default(), NOW).expect_err("late").code,
            response::MESSAGE_ILLEGAL
        );
        let off = BrokerConfig { timer_wheel_enable: false, ..BrokerConfig::default() };
        let refusal = timing(asked("ms", "5"), &off, NOW).expect_err("off");
        assert!(
            refusal.code == response::SYSTEM_ERROR && refusal.remark.contains("timerWheelEnable"),
            "{refusal}"
        );
    }

    #[test]
    fn the_time_within_the_slot() {
        let check = |asked: Asked<'_>, stored, expected| {
            assert_eq!(
                asked.due_in_slot(Millis(stored), Millis(5_000), 1_000),
                Millis(expected),
                "{asked:?}"
            );
        };
        check(asked("at", "5001"), 0, 5_001);
        check(asked("at", "6000"), 0, 6_000);
        check(asked("ms", "300"), 5_100, 5_400);
        check(asked("sec", "3"), 2_500, 5_500);
        check(asked("ms", "300"), 9_000, 6_000);
        check(asked("at", "5000"), 0, 6_000);
        check(Asked::default(), 0, 6_000);
    }
}
