//! When a message that failed comes again, by its group's policy.

use roxmq_protocol::body::group_config::{GroupRetryPolicy, RetryPolicyType};

/// The pauses where a group has none of its own, in milliseconds.
const PAUSES_MS: [i64; 18] = [
    1_000, 5_000, 10_000, 30_000, 60_000, 120_000, 180_000, 240_000, 300_000, 360_000, 420_000, 480_000,
    540_000, 600_000, 1_200_000, 1_800_000, 3_600_000, 7_200_000,
];
/// The first pauses are shorter than what brokers begin with.
const FIRST_PAUSE: usize = 2;
const DOUBLINGS_MAX: u32 = 32;

/// The pauses of a policy that lists them.
pub fn pauses_ms(policy: &GroupRetryPolicy) -> &[i64] {
    let given = policy.customized_retry_policy.as_ref().map(|policy| policy.next_ms.as_slice());
    given.filter(|pauses| !pauses.is_empty()).unwrap_or(&PAUSES_MS)
}

/// The pause after a message was tried `reconsume_times` times before the last.
pub fn pause_ms(policy: &GroupRetryPolicy, reconsume_times: i32) -> i64 {
    let times = u32::try_from(reconsume_times).unwrap_or(0);
    match policy.policy_type {
        RetryPolicyType::Exponential => {
            let given = policy.exponential_retry_policy.clone().unwrap_or_default();
            let factor = given.multiplier.saturating_pow(times.min(DOUBLINGS_MAX));
            given.initial_ms.saturating_mul(factor).min(given.max_ms)
        }
        _ => {
            let pauses = pauses_ms(policy);
            let at = usize::try_from(times).unwrap_or(usize::MAX).saturating_add(FIRST_PAUSE);
            pauses.get(at).or(pauses.last()).copied().unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::body::group_config::{CustomizedRetryPolicy, ExponentialRetryPolicy};

    fn check(policy: &GroupRetryPolicy, expected: &[(i32, i64)]) {
        for (times, pause) in expected {
            assert_eq!(pause_ms(policy, *times), *pause, "{times} times under {policy:?}");
        }
    }

    #[test]
    fn pauses_grow_and_end() {
        let default = GroupRetryPolicy::default();
        check(&default, &[(-1, 10_000), (0, 10_000), (1, 30_000), (15, 7_200_000), (i32::MAX, 7_200_000)]);
        let listed = CustomizedRetryPolicy { next_ms: vec![1, 2] };
        let listed = GroupRetryPolicy { customized_retry_policy: Some(listed), ..default.clone() };
        check(&listed, &[(0, 2), (9, 2)]);
        let doubling = GroupRetryPolicy { policy_type: RetryPolicyType::Exponential, ..default.clone() };
        check(&doubling, &[(0, 5_000), (1, 10_000), (2, 20_000), (i32::MAX, 7_200_000)]);
        let steep = ExponentialRetryPolicy { initial_ms: i64::MAX, max_ms: 9, multiplier: i64::MAX };
        check(&GroupRetryPolicy { exponential_retry_policy: Some(steep), ..doubling }, &[(3, 9)]);
    }
}
