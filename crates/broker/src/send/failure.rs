//! Why messages could not be stored, as answers to their senders.

use crate::refusal::Refusal;
use roxmq_protocol::code::response;
use roxmq_store::AppendError;
use roxmq_store::FlushError;

/// Code 14 tells a client to try another broker.
pub(crate) fn refusal_of(error: &AppendError) -> Refusal {
    let code = match error {
        AppendError::TooLarge { .. } => response::MESSAGE_ILLEGAL,
        _ => response::SERVICE_NOT_AVAILABLE,
    };
    Refusal::new(code, error.to_string())
}

/// What a sender is told when its messages are in the log but not known to be on the disk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FlushFailure {
    /// They may still get there: they count as stored, with a code that says so.
    Late { remark: String },
    /// They can't be counted on.
    Lost(Refusal),
}

pub(super) fn of_flush(error: &FlushError) -> FlushFailure {
    match error {
        FlushError::Timeout(_) => FlushFailure::Late { remark: error.to_string() },
        FlushError::Failed(_) => {
            FlushFailure::Lost(Refusal::new(response::SERVICE_NOT_AVAILABLE, error.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::path::PathBuf;

    #[test]
    fn a_full_disk_is_named_and_another_broker_tried() {
        let error = AppendError::DiskFull { path: PathBuf::from("/data"), used: 93, limit: 90 };
        let refusal = refusal_of(&error);
        assert_eq!(refusal.code, response::SERVICE_NOT_AVAILABLE);
        for word in ["/data", "93", "90"] {
            assert!(refusal.remark.contains(word), "{refusal}");
        }
        let error = AppendError::Io { path: PathBuf::from("/data"), source: io::Error::other("broken") };
        assert_eq!(refusal_of(&error).code, response::SERVICE_NOT_AVAILABLE);
    }

    #[test]
    fn only_a_slow_flush_counts_as_stored() {
        assert!(
            matches!(of_flush(&FlushError::Timeout(5000)), FlushFailure::Late { remark } if remark.contains("5000"))
        );
        let FlushFailure::Lost(refusal) = of_flush(&FlushError::Failed("EIO".to_owned())) else {
            panic!("a failed flush is no success");
        };
        assert_eq!(refusal.code, response::SERVICE_NOT_AVAILABLE);
    }
}
