//! A file of `config/`, and the copy beside it. A file that can't be read is never deleted: it is moved aside.

use crate::replaced_file::{FileError, ReplacedFile};
use roxmq_protocol::json::{JsonError, Value, parse};
use roxmq_store::files::FileSystem;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// What was found of a file.
#[derive(Debug)]
pub(crate) enum Found<T> {
    /// Neither the file nor its copy was there.
    Nothing,
    Good(T),
    /// The copy, and what became of the file itself.
    Copy(T, String),
    /// Neither could be read.
    Damaged(String),
}

/// What one of the two is.
enum Content<T> {
    Absent,
    Good(T),
    /// It was moved aside; the text says where to, and why.
    Damaged(String),
}

#[derive(Clone, Debug)]
pub(crate) struct ConfigFile(ReplacedFile);

impl ConfigFile {
    pub(crate) fn new(files: Arc<dyn FileSystem>, config_dir: &Path, name: &str) -> Self {
        ConfigFile(ReplacedFile::new(files, config_dir.join(name)))
    }

    /// A file that nobody but its owner may read.
    pub(crate) fn private(files: Arc<dyn FileSystem>, config_dir: &Path, name: &str) -> Self {
        ConfigFile(ReplacedFile::private(files, config_dir.join(name)))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Reads the file, or its copy if it isn't there or `decode` can't make sense of it.
    pub(crate) fn load<T>(
        &self,
        decode: impl Fn(&Value) -> Result<T, JsonError>,
    ) -> Result<Found<T>, FileError> {
        self.load_bytes(|bytes| parse(bytes).and_then(|value| decode(&value)))
    }

    /// As [`load`](Self::load), for what isn't JSON.
    pub(crate) fn load_bytes<T, E: Display>(
        &self,
        decode: impl Fn(&[u8]) -> Result<T, E>,
    ) -> Result<Found<T>, FileError> {
        let reason = match read(&self.0, &decode)? {
            Content::Good(value) => return Ok(Found::Good(value)),
            Content::Absent => None,
            Content::Damaged(reason) => Some(reason),
        };
        let copy = self.0.copy();
        Ok(match (read(&copy, &decode)?, reason) {
            (Content::Good(value), reason) => {
                let reason = reason.unwrap_or_else(|| format!("{} is missing", self.path().display()));
                Found::Copy(value, format!("{reason}; went on with {}", copy.path().display()))
            }
            (Content::Absent, None) => Found::Nothing,
            (Content::Absent, Some(reason)) => Found::Damaged(format!("{reason}; there is no copy of it")),
            (Content::Damaged(of_copy), None) => Found::Damaged(of_copy),
            (Content::Damaged(of_copy), Some(reason)) => Found::Damaged(format!("{reason}; {of_copy}")),
        })
    }

    /// Puts new content in place, durably; what was there before becomes the copy.
    pub(crate) fn save(&self, content: &[u8]) -> Result<(), FileError> {
        self.0.write(content)
    }
}

fn read<T, E: Display>(
    file: &ReplacedFile,
    decode: &impl Fn(&[u8]) -> Result<T, E>,
) -> Result<Content<T>, FileError> {
    let Some(bytes) = file.read()? else { return Ok(Content::Absent) };
    let problem = if bytes.is_empty() {
        "is empty".to_owned()
    } else {
        match decode(&bytes) {
            Ok(value) => return Ok(Content::Good(value)),
            Err(error) => format!("can't be read: {error}"),
        }
    };
    let aside = file.move_aside()?;
    Ok(Content::Damaged(format!("{} {problem}; it was moved to {}", file.path().display(), aside.display())))
}
