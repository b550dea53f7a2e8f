//! A JSON file of `config/`, and the copy beside it.
//!
//! It is written beside its place and then renamed into it, and the one before it stays as `.bak`, where the Java
//! server looks, too. A file that can't be read is never deleted: it is moved aside.

use roxmq_protocol::json::{JsonError, Value, parse};
use roxmq_store::files::{FileSystem, OpenMode, ReadMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More than tables of millions of queues need; a longer file is none of ours.
const FILE_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, thiserror::Error)]
pub enum ConfigFileError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} can't be read: {source}")]
    Json { path: PathBuf, source: JsonError },
    #[error("{path} is empty")]
    Empty { path: PathBuf },
    #[error("{path} has {bytes} bytes, the limit is {FILE_BYTES_MAX}")]
    TooLong { path: PathBuf, bytes: u64 },
}

impl ConfigFileError {
    /// The bytes are there but they are not what they should be.
    fn is_damage(&self) -> bool {
        !matches!(self, ConfigFileError::Io { .. })
    }
}

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

#[derive(Clone, Debug)]
pub(crate) struct ConfigFile {
    files: Arc<dyn FileSystem>,
    path: PathBuf,
}

impl ConfigFile {
    pub(crate) fn new(files: Arc<dyn FileSystem>, config_dir: &Path, name: &str) -> Self {
        ConfigFile { files, path: config_dir.join(name) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file, or its copy if it isn't there or `decode` can't make sense of it.
    pub(crate) fn load<T>(
        &self,
        decode: impl Fn(&Value) -> Result<T, JsonError>,
    ) -> Result<Found<T>, ConfigFileError> {
        let own = self.read(&self.path, &decode);
        let reason = match own {
            Ok(Some(value)) => return Ok(Found::Good(value)),
            Ok(None) => None,
            Err(error) if error.is_damage() => {
                let aside = self.move_aside(&self.path)?;
                Some(format!("{error}; it was moved to {}", aside.display()))
            }
            Err(error) => return Err(error),
        };
        let copy = self.beside("bak");
        match (self.read(&copy, &decode), reason) {
            (Ok(Some(value)), reason) => {
                let reason = reason.unwrap_or_else(|| format!("{} is missing", self.path.display()));
                Ok(Found::Copy(value, format!("{reason}; went on with {}", copy.display())))
            }
            (Ok(None), None) => Ok(Found::Nothing),
            (Ok(None), Some(reason)) => Ok(Found::Damaged(format!("{reason}; there is no copy of it"))),
            (Err(error), reason) if error.is_damage() => {
                let aside = self.move_aside(&copy)?;
                let reason = reason.map(|reason| format!("{reason}; ")).unwrap_or_default();
                Ok(Found::Damaged(format!("{reason}{error}; it was moved to {}", aside.display())))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Puts new content in place, durably; what was there before becomes the copy.
    pub(crate) fn save(&self, content: &[u8]) -> Result<(), ConfigFileError> {
        let new = self.beside("tmp");
        let dir = self.path.parent().unwrap_or(Path::new("."));
        self.write_new(&new, content)?;
        match self.files.rename(&self.path, &self.beside("bak")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&self.path)(error)),
            _ => {}
        }
        self.files.rename(&new, &self.path).map_err(at(&self.path))?;
        self.files.sync_dir(dir).map_err(at(dir))
    }

    fn write_new(&self, path: &Path, content: &[u8]) -> Result<(), ConfigFileError> {
        let dir = path.parent().unwrap_or(Path::new("."));
        self.files.create_dir_all(dir).map_err(at(dir))?;
        let write = || {
            let file = self.files.open(path, OpenMode::Create)?;
            file.set_len(0)?;
            file.write_all_at(&[content], 0)?;
            file.set_len(content.len() as u64)?;
            file.sync()
        };
        write().map_err(at(path))
    }

    fn read<T>(
        &self,
        path: &Path,
        decode: &impl Fn(&Value) -> Result<T, JsonError>,
    ) -> Result<Option<T>, ConfigFileError> {
        let Some(bytes) = self.read_bytes(path)? else { return Ok(None) };
        if bytes.is_empty() {
            return Err(ConfigFileError::Empty { path: path.to_owned() });
        }
        let decoded = parse(&bytes).and_then(|value| decode(&value));
        decoded.map(Some).map_err(|source| ConfigFileError::Json { path: path.to_owned(), source })
    }

    fn read_bytes(&self, path: &Path) -> Result<Option<Vec<u8>>, ConfigFileError> {
        let file = match self.files.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(path)(error)),
        };
        let bytes = file.len().map_err(at(path))?;
        if bytes > FILE_BYTES_MAX {
            return Err(ConfigFileError::TooLong { path: path.to_owned(), bytes });
        }
        let mut content = vec![0; bytes as usize];
        file.read_exact_at(&mut content, 0, ReadMode::Blocking).map_err(at(path))?;
        Ok(Some(content))
    }

    /// Gives a damaged file a name that nobody reads, so that its bytes stay for whoever wants to look at them.
    fn move_aside(&self, path: &Path) -> Result<PathBuf, ConfigFileError> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".damaged");
        let aside = PathBuf::from(aside);
        self.files.rename(path, &aside).map_err(at(path))?;
        Ok(aside)
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(".");
        path.push(suffix);
        PathBuf::from(path)
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> ConfigFileError + '_ {
    move |source| ConfigFileError::Io { path: path.to_owned(), source }
}
