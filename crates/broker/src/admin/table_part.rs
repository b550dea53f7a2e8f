//! Parts of a table that is too long for one answer (21 and 201).
//!
//! Asked for nothing in particular, the answer is the whole table. Else it is so many entries from a sequence number
//! on; if the table has changed since the version that the caller has seen, it is its first part again.

use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::request::topic::TablePart;
use std::ops::Range;

/// Which of so many entries, in order of names, the answer has.
pub(super) fn range(
    part: &TablePart<'_>,
    config: &BrokerConfig,
    version: DataVersion,
    entries: usize,
) -> Result<Range<usize>, Refusal> {
    let whole = part.sequence.is_none() && part.data_version.is_none() && part.max_num.is_none();
    if whole || !config.enable_split_metadata {
        return Ok(0..entries);
    }
    let seen =
        part.data_version.as_ref().map(|text| DataVersion::from_json_bytes(text.as_bytes())).transpose()?;
    let asked = part.sequence.and_then(|sequence| usize::try_from(sequence).ok()).unwrap_or(0);
    let first = if seen == Some(version) { asked.min(entries) } else { 0 };
    let wanted = part.max_num.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
    let count = wanted.min(config.split_metadata_size);
    Ok(first..first.saturating_add(count).min(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::json::ToJson;

    #[test]
    fn parts() {
        let version = DataVersion { counter: 3, state_version: 0, timestamp: 5 };
        let old = DataVersion { counter: 2, ..version };
        let config = BrokerConfig { split_metadata_size: 10, ..BrokerConfig::default() };
        let check = |sequence: Option<i32>,
                     seen: Option<DataVersion>,
                     max_num: Option<i32>,
                     expected: Range<usize>| {
            let data_version = seen.map(|seen| seen.to_json_text().into());
            let part = TablePart { sequence, data_version, max_num };
            assert_eq!(range(&part, &config, version, 25).expect("a range"), expected);
        };
        check(None, None, None, 0..25);
        check(Some(0), None, Some(4), 0..4);
        check(Some(4), Some(version), Some(4), 4..8);
        check(Some(4), Some(old), Some(4), 0..4);
        check(Some(20), Some(version), Some(100), 20..25);
        check(Some(0), None, None, 0..10);
        check(Some(99), Some(version), Some(4), 25..25);
        check(Some(-1), Some(version), Some(-1), 0..10);
    }
}
