//! A file that is only ever replaced as a whole: written beside its place, then renamed into it. What was there before
//! stays as `.bak`, where the Java server looks, too.

use roxmq_store::files::{FileSystem, OpenMode, ReadMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More than tables of millions of queues need; a longer file is none of ours.
const FILE_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} has {bytes} bytes, the limit is {FILE_BYTES_MAX}")]
    TooLong { path: PathBuf, bytes: u64 },
}

#[derive(Clone, Debug)]
pub(crate) struct ReplacedFile {
    files: Arc<dyn FileSystem>,
    path: PathBuf,
    create: OpenMode,
}

impl ReplacedFile {
    pub(crate) fn new(files: Arc<dyn FileSystem>, path: PathBuf) -> Self {
        ReplacedFile { files, path, create: OpenMode::Create }
    }

    /// A file that nobody but its owner may read.
    pub(crate) fn private(files: Arc<dyn FileSystem>, path: PathBuf) -> Self {
        ReplacedFile { create: OpenMode::CreatePrivate, ..ReplacedFile::new(files, path) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file that was replaced last.
    pub(crate) fn copy(&self) -> ReplacedFile {
        ReplacedFile { path: self.beside("bak"), ..self.clone() }
    }

    /// The content, or nothing if there is no such file.
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, FileError> {
        let file = match self.files.open(&self.path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(&self.path)(error)),
        };
        let bytes = file.len().map_err(at(&self.path))?;
        if bytes > FILE_BYTES_MAX {
            return Err(FileError::TooLong { path: self.path.clone(), bytes });
        }
        let mut content = vec![0; bytes as usize];
        file.read_exact_at(&mut content, 0, ReadMode::Blocking).map_err(at(&self.path))?;
        Ok(Some(content))
    }

    /// Puts new content in place, durably.
    pub(crate) fn write(&self, content: &[u8]) -> Result<(), FileError> {
        let new = self.beside("tmp");
        let dir = self.path.parent().unwrap_or(Path::new("."));
        self.files.create_dir_all(dir).map_err(at(dir))?;
        self.write_new(&new, content).map_err(at(&new))?;
        match self.files.rename(&self.path, &self.beside("bak")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&self.path)(error)),
            _ => {}
        }
        self.files.rename(&new, &self.path).map_err(at(&self.path))?;
        self.files.sync_dir(dir).map_err(at(dir))
    }

    /// Gives a damaged file a name that nobody reads, so that its bytes stay for whoever wants to look at them.
    pub(crate) fn move_aside(&self) -> Result<PathBuf, FileError> {
        let aside = self.beside("damaged");
        self.files.rename(&self.path, &aside).map_err(at(&self.path))?;
        Ok(aside)
    }

    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let file = self.files.open(path, self.create)?;
        file.set_len(content.len() as u64)?;
        file.write_all_at(&[content], 0)?;
        file.sync()
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(".");
        path.push(suffix);
        PathBuf::from(path)
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> FileError + '_ {
    move |source| FileError::Io { path: path.to_owned(), source }
}
