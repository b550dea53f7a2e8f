//! Where settings come from: the file of `-c`, then each `--set`, in the Java server's keys.

use anyhow::{Context, bail};
use clap::Args;
use roxmq_broker::BrokerConfig;
use roxmq_protocol::properties_text;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, Args)]
pub struct Settings {
    /// A configuration file in the Java server's properties format.
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    config: Option<PathBuf>,
    /// A configuration key, over what the file says; may be given many times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The Java proxy's configuration (rmq-proxy.json), for what its keys say of gRPC.
    #[arg(long = "proxy-config", value_name = "FILE")]
    proxy_config: Option<PathBuf>,
}

impl Settings {
    /// Keys and values in order; of a key given twice the last counts.
    pub fn pairs(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut pairs = Vec::new();
        if let Some(path) = &self.config {
            let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            pairs = properties_text::parse(&String::from_utf8_lossy(&text));
        }
        pairs.append(&mut parse_sets(&self.set)?);
        Ok(pairs)
    }

    pub fn file(&self) -> Option<&PathBuf> {
        self.config.as_ref()
    }

    pub fn proxy_file(&self) -> Option<&Path> {
        self.proxy_config.as_deref()
    }
}

/// What `--set` gives.
pub fn parse_sets(sets: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let pair = |setting: &String| match setting.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => bail!("'--set {setting}' is not KEY=VALUE"),
    };
    sets.iter().map(pair).collect()
}

/// Sets a key unless the settings have it.
pub fn set_default(pairs: &mut Vec<(String, String)>, key: &str, value: impl ToString) {
    if !pairs.iter().any(|(known, _)| known == key) {
        pairs.push((key.to_owned(), value.to_string()));
    }
}

/// The home directory, for paths that nobody configured.
pub fn home() -> anyhow::Result<PathBuf> {
    std::env::home_dir().context("the home directory isn't known; set HOME, or give --store")
}

/// A broker's configuration. What doesn't stop it is logged; what does is reported all at once.
pub fn broker_config(
    mut pairs: Vec<(String, String)>,
    file: Option<&PathBuf>,
) -> anyhow::Result<BrokerConfig> {
    set_default(&mut pairs, "storePathRootDir", home()?.join("store").display());
    if let Some(file) = file {
        pairs.push(("brokerConfigPath".to_owned(), file.display().to_string()));
    } else {
        let mut changed = changed_in_store(&pairs)?;
        changed.append(&mut pairs);
        pairs = changed;
    }
    let own = |key: &str| OWN_KEYS.iter().any(|prefix| key.starts_with(prefix));
    pairs.retain(|(key, _)| !own(key));
    let (config, notes) = BrokerConfig::from_pairs(pairs).context("the configuration is wrong")?;
    for note in notes {
        tracing::warn!("{note}");
    }
    Ok(config)
}

/// What was changed over the network while no file was given: it is kept with the store, and what is given counts
/// more.
fn changed_in_store(pairs: &[(String, String)]) -> anyhow::Result<Vec<(String, String)>> {
    let Some(root) = last(pairs, "storePathRootDir") else { return Ok(Vec::new()) };
    let path = Path::new(root).join("config").join("broker.properties");
    match std::fs::read(&path) {
        Ok(text) => Ok(properties_text::parse(&String::from_utf8_lossy(&text))),
        // No store yet is the usual case; a root that is no directory is reported where the store is opened.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Keys that the binary reads itself, by how they start.
const OWN_KEYS: &[&str] =
    &["tls.", "serverChannelMaxIdleTimeSeconds", "serverSelectorThreads", "grpcServerPort"];

/// A port of one of the keys that the binary itself knows.
pub fn port(pairs: &[(String, String)], key: &str, default: u16) -> anyhow::Result<u16> {
    match last(pairs, key) {
        Some(value) => value.parse().with_context(|| format!("{key} is '{value}', which is not a port")),
        None => Ok(default),
    }
}

/// The value that counts of a key's values.
pub fn last<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.trim())
}
