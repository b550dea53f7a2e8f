//! Replacing a small file so that a crash leaves either the old or the new one, whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes beside the file and renames over it; makes absent directories. On return the disk has it.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = directory(path);
    fs::create_dir_all(dir)?;
    let tmp = with_suffix(path, ".tmp");
    let mut file = File::create(&tmp)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&tmp, path)?;
    // The rename itself is lost in a crash unless the directory is on the disk.
    File::open(dir)?.sync_all()
}

/// The content, or none if there is no such file.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The path with something appended to its file name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
