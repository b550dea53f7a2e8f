//! Which state of a table somebody has.

json_object! {
    /// Two tables are the same if all three parts are.
    #[derive(Copy, Eq, Hash)]
    pub struct DataVersion {
        "counter" counter: i64,
        /// The epoch of the controller, or 0.
        "stateVersion" state_version: i64,
        "timestamp" timestamp: i64,
    }
}

impl DataVersion {
    /// The version after a change at a time.
    #[must_use]
    pub fn next(self, now_ms: i64) -> Self {
        DataVersion { counter: self.counter.wrapping_add(1), timestamp: now_ms, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    #[test]
    fn versions_are_written_as_java_writes_them() {
        let version = DataVersion { counter: 3, ..DataVersion::default() }.next(17);
        let text = r#"{"counter":4,"stateVersion":0,"timestamp":17}"#;
        assert_eq!(version.to_json_text(), text);
        assert_eq!(DataVersion::from_json_bytes(text.as_bytes()), Ok(version));
    }
}
