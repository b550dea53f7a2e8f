//! Versions as the ordinals that travel in headers.
//!
//! Each release has two ordinals: the snapshot before it and itself. The first release has more, and the series of
//! 3.0 and from 3.3 to 3.9 start at patch 1. From 4.0 on it is `4.x.y = 213 + 20 x + 2 y` and
//! `5.x.y = 413 + 20 x + 2 y`.

/// From here on a broker's registration has the wrapped body.
pub const V3_0_11: i32 = 37;
/// Older consumers can't be asked to reset their offsets.
pub const V3_0_7_SNAPSHOT: i32 = 28;
/// Older consumers can't be asked for their running info.
pub const V3_1_8_SNAPSHOT: i32 = 62;
/// From here on `maxReconsumeTimes` of a request counts.
pub const V3_4_9: i32 = 121;
/// Java clients don't send SQL92 subscriptions to older brokers.
pub const V4_1_0_SNAPSHOT: i32 = 232;
/// Up to here a signature leaves out the field that says that a query is by unique key.
pub const V4_9_3: i32 = 399;
/// From here on a client reads a route's integer keys quoted.
pub const V4_9_4: i32 = 401;
/// From here on a compressed registration has the static topics' section.
pub const V5_0_0: i32 = 413;
/// Newer clients understand that a server goes away.
pub const V5_3_1: i32 = 475;
/// What we pose as: the release whose behaviour we keep.
pub const V5_5_0: i32 = 513;

/// The names of the first release, whose stages were counted.
const V3_0_0_STAGES: [&str; 16] = [
    "V3_0_0_SNAPSHOT",
    "V3_0_0_ALPHA1",
    "V3_0_0_BETA1",
    "V3_0_0_BETA2",
    "V3_0_0_BETA3",
    "V3_0_0_BETA4",
    "V3_0_0_BETA5",
    "V3_0_0_BETA6_SNAPSHOT",
    "V3_0_0_BETA6",
    "V3_0_0_BETA7_SNAPSHOT",
    "V3_0_0_BETA7",
    "V3_0_0_BETA8_SNAPSHOT",
    "V3_0_0_BETA8",
    "V3_0_0_BETA9_SNAPSHOT",
    "V3_0_0_BETA9",
    "V3_0_0_FINAL",
];

/// Beyond the last series.
const HIGHER_VERSION: &str = "HIGHER_VERSION";

/// Runs of series with the same patches: major, first and last minor, first and last patch.
const SERIES: [(i32, i32, i32, i32, i32); 5] =
    [(3, 0, 0, 1, 15), (3, 1, 2, 0, 9), (3, 3, 9, 1, 9), (4, 0, 9, 0, 9), (5, 0, 9, 0, 9)];

/// The name of a version, for lists that people read.
pub fn name(ordinal: i32) -> String {
    let Ok(at) = usize::try_from(ordinal) else {
        return format!("V{ordinal}");
    };
    if let Some(stage) = V3_0_0_STAGES.get(at) {
        return (*stage).to_owned();
    }
    let mut rest = ordinal - V3_0_0_STAGES.len() as i32;
    for (major, first_minor, last_minor, first_patch, last_patch) in SERIES {
        let patches = last_patch - first_patch + 1;
        let versions = 2 * patches * (last_minor - first_minor + 1);
        if rest < versions {
            let minor = first_minor + rest / (2 * patches);
            let patch = first_patch + rest % (2 * patches) / 2;
            let stage = if rest % 2 == 0 { "_SNAPSHOT" } else { "" };
            return format!("V{major}_{minor}_{patch}{stage}");
        }
        rest -= versions;
    }
    HIGHER_VERSION.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_reference() {
        let check = |ordinal: i32, expected: &str| assert_eq!(name(ordinal), expected, "{ordinal}");
        check(0, "V3_0_0_SNAPSHOT");
        check(15, "V3_0_0_FINAL");
        check(16, "V3_0_1_SNAPSHOT");
        check(28, "V3_0_7_SNAPSHOT");
        check(V3_0_11, "V3_0_11");
        check(45, "V3_0_15");
        check(46, "V3_1_0_SNAPSHOT");
        check(V3_1_8_SNAPSHOT, "V3_1_8_SNAPSHOT");
        check(85, "V3_2_9");
        check(86, "V3_3_1_SNAPSHOT");
        check(V3_4_9, "V3_4_9");
        check(211, "V3_9_9");
        check(212, "V4_0_0_SNAPSHOT");
        check(V4_1_0_SNAPSHOT, "V4_1_0_SNAPSHOT");
        check(317, "V4_5_2");
        check(V4_9_3, "V4_9_3");
        check(V4_9_4, "V4_9_4");
        check(412, "V5_0_0_SNAPSHOT");
        check(V5_0_0, "V5_0_0");
        check(433, "V5_1_0");
        check(V5_3_1, "V5_3_1");
        check(V5_5_0, "V5_5_0");
        check(611, "V5_9_9");
        check(612, "HIGHER_VERSION");
        check(i32::MAX, "HIGHER_VERSION");
        check(-1, "V-1");
    }
}
