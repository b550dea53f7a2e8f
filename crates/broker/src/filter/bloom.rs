//! The bits that stand for a group and topic in the Java server's bitmaps of filters.
//!
//! Here nobody reads them. The Java server throws away a whole `consumerFilter.json` in which they are missing or
//! belong to other settings than its own, so they are written, for its default settings.

/// Bits of a bitmap: for 32 consumers with filters and an error rate of 20 %.
pub(super) const BITS: u32 = 112;
/// Bits that one consumer sets.
const HASHES: u32 = 3;

/// The bits of a consumer group's filter for a topic.
pub(super) fn positions(group: &str, topic: &str) -> [i32; HASHES as usize] {
    let hash = murmur3_low(format!("{group}#{topic}").as_bytes());
    let (low, high) = (hash as u32, (hash >> 32) as u32);
    let mut times = 0;
    [(); HASHES as usize].map(|()| {
        times += 1;
        let combined = low.wrapping_add(high.wrapping_mul(times)) as i32;
        let positive = if combined < 0 { !combined } else { combined };
        positive % BITS as i32
    })
}

/// The first half of the 128 bits of MurmurHash3 for 64-bit machines, with the seed 0.
fn murmur3_low(bytes: &[u8]) -> u64 {
    let (mut h1, mut h2) = (0u64, 0u64);
    let (blocks, rest) = bytes.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = halves(block);
        h1 ^= mix_1(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix_2(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    let (k1, k2) = halves(&last);
    h1 ^= mix_1(k1) ^ bytes.len() as u64;
    h2 ^= mix_2(k2) ^ bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    finish(h1).wrapping_add(finish(h2))
}

fn halves(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

const FACTOR_1: u64 = 0x87c3_7b91_1142_53d5;
const FACTOR_2: u64 = 0x4cf5_ad43_2745_937f;

fn mix_1(half: u64) -> u64 {
    half.wrapping_mul(FACTOR_1).rotate_left(31).wrapping_mul(FACTOR_2)
}

fn mix_2(half: u64) -> u64 {
    half.wrapping_mul(FACTOR_2).rotate_left(33).wrapping_mul(FACTOR_1)
}

fn finish(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_java_servers_bits() {
        let check = |group: &str, topic: &str, expected: [i32; 3]| {
            assert_eq!(positions(group, topic), expected, "{group}#{topic}");
        };
        check("G", "T", [24, 26, 83]);
        check("filter-group", "orders", [110, 12, 103]);
        check("%RETRY%g", "é", [22, 55, 23]);
        check("a", "0123456789abcdef0123", [33, 57, 62]);
        check("g", "0123456789abcd", [17, 54, 20]);
        check("", "", [3, 62, 22]);
    }
}
