//! The machine's local time: index files are named by it, and retention goes by its hours.

use crate::position::Millis;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The hour of the day, 0 to 23, where this machine is.
pub fn hour(at: Millis) -> u8 {
    local(at, TimeZone::system()).hour().unsigned_abs()
}

/// `yyyyMMddHHmmssSSS` as a number: 17 digits for the years of four.
pub fn digits(at: Millis) -> u64 {
    digits_of(&local(at, TimeZone::system()))
}

fn digits_of(t: &jiff::Zoned) -> u64 {
    let fields = [t.month(), t.day(), t.hour(), t.minute(), t.second()];
    let seconds = fields
        .iter()
        .fold(u64::from(t.year().unsigned_abs()), |n, &field| n * 100 + u64::from(field.unsigned_abs()));
    seconds * 1000 + u64::from(t.millisecond().unsigned_abs())
}

fn local(at: Millis, zone: TimeZone) -> jiff::Zoned {
    // A time outside jiff's years -9999 to 9999 is no time a message was stored at: the epoch stands for it.
    Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_seventeen_digits_where_the_machine_is() {
        let check = |at: i64, hours: i8, expected: u64| {
            let zone = TimeZone::fixed(jiff::tz::offset(hours));
            assert_eq!(digits_of(&local(Millis(at), zone)), expected);
        };
        check(1_795_987_788_001, 0, 20261129212948001);
        check(1_795_987_788_001, 8, 20261130052948001);
        check(0, 0, 19700101000000000);
        check(i64::MAX, 0, 19700101000000000);
    }
}
