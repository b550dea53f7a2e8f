//! The table of keys.

use super::{ConfigError, NamesrvConfig};
use std::fmt::Display;

/// What becomes of a change over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It takes effect with the next request.
    Live,
    /// It is kept and takes effect with the next start.
    AtStart,
    /// It is refused: the key names a path or guards other keys.
    Never,
}

pub struct Key {
    pub name: &'static str,
    pub change: Change,
    pub show: fn(&NamesrvConfig) -> String,
    expected: &'static str,
    read: fn(&mut NamesrvConfig, &str) -> Option<()>,
}

impl Key {
    /// Blanks around a value mean nothing: the Java server drops such a number in silence.
    pub fn set(&self, config: &mut NamesrvConfig, value: &str) -> Result<(), ConfigError> {
        let value = value.trim();
        let error =
            || ConfigError::Value { key: self.name, expected: self.expected, value: value.to_owned() };
        (self.read)(config, value).ok_or_else(error)
    }
}

macro_rules! keys {
    ($($name:literal $field:ident $change:ident $kind:ident;)*) => {
        pub static KEYS: &[Key] = &[$(Key {
            name: $name,
            change: Change::$change,
            show: |config| $kind::show(&config.$field),
            expected: $kind::EXPECTED,
            read: |config, value| $kind::read(value).map(|value| config.$field = value),
        },)*];
    };
}

keys! {
    "bindAddress" bind_address AtStart text;
    "configBlackList" config_black_list Never text;
    "configStorePath" config_store_path Never path;
    "deleteTopicWithBrokerRegistration" delete_topic_with_registration Live switch;
    "enableAllTopicList" enable_all_topic_list Live switch;
    "enableTopicList" enable_topic_list Live switch;
    "kvConfigPath" kv_config_path Never path;
    "listenPort" listen_port AtStart port;
    "needWaitForService" need_wait_for_service Live switch;
    "notifyMinBrokerIdChanged" notify_min_broker_id_changed Live switch;
    "orderMessageEnable" order_message_enable Live switch;
    "remoteAdminEnable" remote_admin_enable Never switch;
    "returnOrderTopicConfigToBroker" return_order_topic_config Live switch;
    "scanNotActiveBrokerInterval" scan_interval_ms Live interval;
    "serverChannelMaxIdleTimeSeconds" idle_timeout_seconds AtStart seconds;
    "serverSelectorThreads" selector_threads AtStart threads;
    "supportActingMaster" support_acting_master Live switch;
    "waitSecondsForService" wait_seconds_for_service Live seconds;
}

const THREADS: &str = "threads are chosen by the runtime";
const QUEUES: &str = "requests are answered as they come, without a queue";
const SOCKETS: &str = "sockets are tuned by the operating system";
const CONTROLLER: &str = "the controller is not part of this name server yet";
const CLUSTER_TEST: &str = "topics of another environment are not looked up";

/// Keys of the Java name server that do nothing here, and why.
pub static IGNORED: &[(&str, &str)] = &[
    ("clientRequestThreadPoolNums", THREADS),
    ("clientRequestThreadPoolQueueCapacity", QUEUES),
    ("clusterTest", CLUSTER_TEST),
    ("controllerDLegerGroup", CONTROLLER),
    ("controllerDLegerPeers", CONTROLLER),
    ("controllerDLegerSelfId", CONTROLLER),
    ("controllerStorePath", CONTROLLER),
    ("controllerType", CONTROLLER),
    ("defaultThreadPoolNums", THREADS),
    ("defaultThreadPoolQueueCapacity", QUEUES),
    ("enableControllerInNamesrv", CONTROLLER),
    ("productEnvName", CLUSTER_TEST),
    ("rocketmqHome", "nothing is read from an installation directory"),
    ("serverAsyncSemaphoreValue", QUEUES),
    ("serverCallbackExecutorThreads", THREADS),
    ("serverNettyWorkerGroupEnable", THREADS),
    ("serverOnewaySemaphoreValue", QUEUES),
    ("serverPooledByteBufAllocatorEnable", SOCKETS),
    ("serverSocketBacklog", SOCKETS),
    ("serverSocketRcvBufSize", SOCKETS),
    ("serverSocketSndBufSize", SOCKETS),
    ("serverWorkerThreads", THREADS),
    ("unRegisterBrokerQueueCapacity", QUEUES),
    ("useEpollNativeSelector", SOCKETS),
    ("writeBufferHighWaterMark", SOCKETS),
    ("writeBufferLowWaterMark", SOCKETS),
];

pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

pub fn find_ignored(name: &str) -> Option<(&'static str, &'static str)> {
    IGNORED.iter().copied().find(|(key, _)| *key == name)
}

/// A path given by a stranger is never kept, even if nothing reads it: the Java server may read the file next.
pub fn names_a_path(name: &str) -> bool {
    name == "rocketmqHome" || name.ends_with("Path")
}

/// The key that somebody may have meant: the closest one, if it is close.
pub fn nearest(name: &str) -> Option<&'static str> {
    /// More differing letters than this are another word.
    const DISTANCE_MAX: usize = 4;
    let known = KEYS.iter().map(|key| key.name).chain(IGNORED.iter().map(|(key, _)| *key));
    let (distance, key) = known.map(|key| (distance(name, key), key)).min()?;
    (distance <= DISTANCE_MAX.min(name.len() / 2)).then_some(key)
}

/// How many letters must be put in, left out or replaced to make one name of the other, whatever their case.
fn distance(from: &str, to: &str) -> usize {
    /// A longer name is nobody's typing mistake.
    const NAME_BYTES_MAX: usize = 80;
    if from.len() > NAME_BYTES_MAX {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(!a.eq_ignore_ascii_case(&b));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

/// How texts, numbers and switches are shown.
pub fn shown(value: &impl Display) -> String {
    value.to_string()
}

mod text {
    pub const EXPECTED: &str = "a text on one line";
    pub use super::shown as show;
    /// A line break would smuggle further keys into the file that changes are kept in.
    pub fn read(value: &str) -> Option<String> {
        (!value.contains(['\n', '\r'])).then(|| value.to_owned())
    }
}

mod path {
    use std::path::{Path, PathBuf};
    pub const EXPECTED: &str = "a path";
    pub fn show(value: &Path) -> String {
        value.display().to_string()
    }
    pub fn read(value: &str) -> Option<PathBuf> {
        (!value.is_empty()).then(|| PathBuf::from(value))
    }
}

mod switch {
    pub const EXPECTED: &str = "true or false";
    pub use super::shown as show;
    pub fn read(value: &str) -> Option<bool> {
        value.to_ascii_lowercase().parse().ok()
    }
}

mod port {
    pub const EXPECTED: &str = "a port from 0 to 65535";
    pub use super::shown as show;
    pub fn read(value: &str) -> Option<u16> {
        value.parse().ok()
    }
}

mod seconds {
    pub const EXPECTED: &str = "a number of seconds";
    pub use super::shown as show;
    pub fn read(value: &str) -> Option<u32> {
        value.parse().ok()
    }
}

mod interval {
    pub const EXPECTED: &str = "a number of milliseconds from 10 to 3600000";
    pub use super::shown as show;
    pub fn read(value: &str) -> Option<u64> {
        value.parse().ok().filter(|interval| (10..=3_600_000).contains(interval))
    }
}

mod threads {
    pub const EXPECTED: &str = "a number of threads from 1 to 1024, or 0 for half of the cores";
    pub use super::shown as show;
    pub fn read(value: &str) -> Option<u16> {
        value.parse().ok().filter(|threads| *threads <= 1024)
    }
}
