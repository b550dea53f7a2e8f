//! The configuration in use, and its file.

use super::{ConfigErrors, NamesrvConfig};
use crate::files;
use parking_lot::{Mutex, RwLock};
use roxmq_protocol::properties_text;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tracing::{info, warn};

#[derive(Debug)]
pub struct ConfigStore {
    /// Replaced, never changed.
    current: RwLock<Arc<NamesrvConfig>>,
    changing: Mutex<()>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot save the configuration to {path} (configStorePath): {source}")]
pub struct SaveError {
    path: PathBuf,
    source: io::Error,
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    Refused(#[from] ConfigErrors),
    #[error(transparent)]
    Save(#[from] SaveError),
}

impl ConfigStore {
    pub fn new(config: NamesrvConfig) -> Self {
        ConfigStore { current: RwLock::new(Arc::new(config)), changing: Mutex::new(()) }
    }

    pub fn current(&self) -> Arc<NamesrvConfig> {
        self.current.read().clone()
    }

    /// Changes keys for good, all or none of them: they are in the file before they count.
    pub fn change(&self, changes: &[(String, String)]) -> Result<(), ChangeError> {
        let _one_at_a_time = self.changing.lock();
        let config = self.current().changed(changes)?;
        save(&config, changes)
            .map_err(|source| SaveError { path: config.config_store_path.clone(), source })?;
        for key in NamesrvConfig::waits_for_restart(changes) {
            warn!(key, "this change takes effect with the next start");
        }
        info!(?changes, "configuration changed");
        *self.current.write() = Arc::new(config);
        Ok(())
    }
}

fn save(config: &NamesrvConfig, changes: &[(String, String)]) -> io::Result<()> {
    let path = &config.config_store_path;
    let before = String::from_utf8(files::read(path)?.unwrap_or_default()).map_err(io::Error::other)?;
    files::replace(path, properties_text::edit(&before, changes).as_bytes())
}
