//! The types that values of keys have, and how they stand in a file.

use roxmq_protocol::body::assignment::MessageRequestMode;
use roxmq_store::FlushMode;
use std::fmt;
use std::path::PathBuf;

/// A value of a key, to and from its text.
pub trait ConfigValue: Sized {
    /// What a value should be, for error texts.
    const EXPECTED: &'static str;

    fn parse(text: &str) -> Option<Self>;

    fn show(&self) -> String;
}

macro_rules! number {
    ($($type:ty => $expected:literal),* $(,)?) => {
        $(impl ConfigValue for $type {
            const EXPECTED: &'static str = $expected;

            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn show(&self) -> String {
                self.to_string()
            }
        })*
    };
}

number! {
    i32 => "a 32-bit number",
    i64 => "a 64-bit number",
    u8 => "a number from 0 to 255",
    u16 => "a number from 0 to 65535",
    u32 => "a number from 0 to 4294967295",
    u64 => "a number that isn't negative",
    usize => "a number that isn't negative",
}

impl ConfigValue for String {
    const EXPECTED: &'static str = "a text";

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

/// What is shown instead of a secret.
pub(super) const HIDDEN: &str = "******";

/// A text with a password in it, which no log and no tool gets to see.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl ConfigValue for Secret {
    const EXPECTED: &'static str = "a text";

    fn parse(text: &str) -> Option<Self> {
        Some(Secret(text.to_owned()))
    }

    /// Only whether there is one.
    fn show(&self) -> String {
        if self.0.is_empty() { String::new() } else { HIDDEN.to_owned() }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show())
    }
}

/// Empty stands for not set.
impl ConfigValue for Option<PathBuf> {
    const EXPECTED: &'static str = "a path";

    fn parse(text: &str) -> Option<Self> {
        Some((!text.is_empty()).then(|| PathBuf::from(text)))
    }

    fn show(&self) -> String {
        self.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }
}

impl ConfigValue for bool {
    const EXPECTED: &'static str = "true or false";

    fn parse(text: &str) -> Option<Self> {
        match text {
            _ if text.eq_ignore_ascii_case("true") => Some(true),
            _ if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl ConfigValue for FlushMode {
    const EXPECTED: &'static str = "ASYNC_FLUSH or SYNC_FLUSH";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "ASYNC_FLUSH" => Some(FlushMode::Async),
            "SYNC_FLUSH" => Some(FlushMode::Sync),
            _ => None,
        }
    }

    fn show(&self) -> String {
        match self {
            FlushMode::Async => "ASYNC_FLUSH".to_owned(),
            FlushMode::Sync => "SYNC_FLUSH".to_owned(),
        }
    }
}

impl ConfigValue for MessageRequestMode {
    const EXPECTED: &'static str = "PULL or POP";

    fn parse(text: &str) -> Option<Self> {
        let mode = MessageRequestMode::from_name(text);
        (mode != MessageRequestMode::Unknown).then_some(mode)
    }

    fn show(&self) -> String {
        self.name().unwrap_or_default().to_owned()
    }
}

/// `metricsExporterType`. That the Java server also pushes metrics by OTLP, and writes them into a log, is not here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsExporter {
    Disable,
    #[default]
    Prom,
}

impl ConfigValue for MetricsExporter {
    const EXPECTED: &'static str = "PROM or DISABLE (OTLP_GRPC and LOG are not supported)";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "DISABLE" | "0" => Some(MetricsExporter::Disable),
            "PROM" | "2" => Some(MetricsExporter::Prom),
            _ => None,
        }
    }

    fn show(&self) -> String {
        match self {
            MetricsExporter::Disable => "DISABLE".to_owned(),
            MetricsExporter::Prom => "PROM".to_owned(),
        }
    }
}

/// `brokerRole`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BrokerRole {
    #[default]
    AsyncMaster,
    SyncMaster,
    Slave,
}

impl ConfigValue for BrokerRole {
    const EXPECTED: &'static str = "ASYNC_MASTER, SYNC_MASTER or SLAVE";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "ASYNC_MASTER" => Some(BrokerRole::AsyncMaster),
            "SYNC_MASTER" => Some(BrokerRole::SyncMaster),
            "SLAVE" => Some(BrokerRole::Slave),
            _ => None,
        }
    }

    fn show(&self) -> String {
        match self {
            BrokerRole::AsyncMaster => "ASYNC_MASTER".to_owned(),
            BrokerRole::SyncMaster => "SYNC_MASTER".to_owned(),
            BrokerRole::Slave => "SLAVE".to_owned(),
        }
    }
}
