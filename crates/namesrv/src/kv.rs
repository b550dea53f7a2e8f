//! The KV configuration: namespaces of keys and values that tools keep in name servers, such as the order of topics.
//!
//! It is kept in the Java server's file, `{"configTable":{namespace:{key:value}}}`, whole, at every change. A change
//! that the disk didn't take didn't happen. Each name server has its own; tools write to all of them.

use crate::files;
use parking_lot::{Mutex, RwLock};
use roxmq_protocol::body::list::{KvConfig as KvFile, KvTable};
use roxmq_protocol::json::{FromJson, JsonError, ToJson};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracing::{error, info};

/// The namespace of topics whose queues are given in a fixed order: `broker:queues;broker:queues`.
pub const ORDER_TOPIC_CONFIG: &str = "ORDER_TOPIC_CONFIG";

/// The largest sum of all names and values. A namespace must fit into an answer, and the file is written whole.
const TABLE_BYTES_MAX: usize = 4 * 1024 * 1024;

type Namespaces = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Debug)]
pub struct KvConfig {
    path: PathBuf,
    /// What is on the disk. Replaced, never changed, so that readers don't wait for the disk.
    saved: RwLock<Arc<Namespaces>>,
    writing: Mutex<()>,
}

#[derive(Debug, thiserror::Error)]
pub enum KvError {
    #[error("cannot save the KV configuration to {path} (kvConfigPath): {source}")]
    Save { path: PathBuf, source: io::Error },
    #[error(
        "the KV configuration would have {bytes} bytes of names and values; the limit is {TABLE_BYTES_MAX}"
    )]
    Full { bytes: usize },
}

impl KvConfig {
    /// Reads the file if there is one. A damaged file is put aside, not overwritten, and the server goes on with the
    /// backup that the Java server makes, or with nothing: routes don't depend on it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let namespaces = match files::read(path)? {
            None => Namespaces::new(),
            Some(content) => match decode(&content) {
                Ok(namespaces) => namespaces,
                Err(damage) => put_aside(path, &content, &damage)?,
            },
        };
        Ok(KvConfig {
            path: path.to_owned(),
            saved: RwLock::new(Arc::new(namespaces)),
            writing: Mutex::new(()),
        })
    }

    pub fn get(&self, namespace: &str, key: &str) -> Option<String> {
        self.saved.read().get(namespace)?.get(key).cloned()
    }

    /// `{"table":{key:value}}` for an existing namespace.
    pub fn namespace_json(&self, namespace: &str) -> Option<Vec<u8>> {
        let table = self.saved.read().get(namespace)?.clone();
        Some(KvTable { table }.to_json())
    }

    /// Returns when the disk has it.
    pub fn put(&self, namespace: &str, key: &str, value: &str) -> Result<(), KvError> {
        info!(namespace, key, value, "KV configuration set");
        self.change(|namespaces| {
            let keys = namespaces.entry(namespace.to_owned()).or_default();
            keys.insert(key.to_owned(), value.to_owned()).as_deref() != Some(value)
        })
    }

    /// Returns when the disk has it. An absent key is no error; the namespace stays even if it is empty now.
    pub fn delete(&self, namespace: &str, key: &str) -> Result<(), KvError> {
        info!(namespace, key, "KV configuration deleted");
        self.change(|namespaces| namespaces.get_mut(namespace).is_some_and(|keys| keys.remove(key).is_some()))
    }

    /// Saves what `apply` makes of the table, if it says that it changed something.
    fn change(&self, apply: impl FnOnce(&mut Namespaces) -> bool) -> Result<(), KvError> {
        let _one_at_a_time = self.writing.lock();
        let mut namespaces = Namespaces::clone(&self.saved.read());
        if !apply(&mut namespaces) {
            return Ok(());
        }
        let bytes = size(&namespaces);
        if bytes > TABLE_BYTES_MAX {
            return Err(KvError::Full { bytes });
        }
        let save = |source| KvError::Save { path: self.path.clone(), source };
        let file = KvFile { config_table: namespaces };
        files::replace(&self.path, &file.to_json()).map_err(save)?;
        *self.saved.write() = Arc::new(file.config_table);
        Ok(())
    }
}

fn decode(content: &[u8]) -> Result<Namespaces, JsonError> {
    Ok(KvFile::from_json_bytes(content)?.config_table)
}

fn size(namespaces: &Namespaces) -> usize {
    let keys = |keys: &BTreeMap<String, String>| keys.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>();
    namespaces.iter().map(|(name, table)| name.len() + keys(table)).sum()
}

/// Keeps the damaged file under another name, and reads the backup instead.
fn put_aside(path: &Path, content: &[u8], damage: &JsonError) -> io::Result<Namespaces> {
    let aside = files::with_suffix(path, ".damaged");
    files::replace(&aside, content)?;
    let backup = files::with_suffix(path, ".bak");
    let saved = files::read(&backup)?.and_then(|content| decode(&content).ok());
    let instead = saved.as_ref().map_or_else(|| "nothing".to_owned(), |_| backup.display().to_string());
    error!(
        "the KV configuration {} (kvConfigPath) is damaged: {damage}. It was copied to {}; {instead} is used instead",
        path.display(),
        aside.display(),
    );
    Ok(saved.unwrap_or_default())
}

#[cfg(test)]
mod tests;
