//! Versions as the ordinals that travel in headers. `5.x.y` is `413 + 20 x + 2 y`.

/// Older consumers can't be asked for their running info.
pub const V3_1_8_SNAPSHOT: i32 = 62;
/// From here on a broker's registration has the wrapped body.
pub const V3_0_11: i32 = 37;
/// From here on `maxReconsumeTimes` of a request counts.
pub const V3_4_9: i32 = 121;
/// From here on a client reads a route's integer keys quoted.
pub const V4_9_4: i32 = 401;
/// From here on a compressed registration has the static topics' section.
pub const V5_0_0: i32 = 413;
/// Newer clients understand that a server goes away.
pub const V5_3_1: i32 = 475;
/// What we pose as: the release whose behaviour we keep.
pub const V5_5_0: i32 = 513;

/// The name of a version, for lists that people read.
pub fn name(ordinal: i32) -> String {
    if ordinal >= V5_0_0 {
        let (minor, rest) = ((ordinal - V5_0_0) / 20, (ordinal - V5_0_0) % 20);
        let snapshot = if rest % 2 == 1 { "_SNAPSHOT" } else { "" };
        // An odd ordinal is the snapshot before the release that follows it.
        let patch = (rest + 1) / 2;
        return format!("V5_{minor}_{patch}{snapshot}");
    }
    format!("V{ordinal}")
}
