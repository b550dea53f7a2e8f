//! Why a request isn't done, and the code that says so.

use crate::config::ChangeError;
use crate::kv::KvError;
use crate::route::RegisterError;
use roxmq_protocol::body::register_broker::RegisterBodyError;
use roxmq_protocol::code::response;
use roxmq_protocol::json::JsonError;
use roxmq_protocol::request::FieldError;
use std::net::IpAddr;

// Clients and tools know the first words of some of these texts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("the body can't be read: {0}")]
    Json(#[from] JsonError),
    #[error("the body can't be read: {0}")]
    Body(#[from] RegisterBodyError),
    #[error("crc32 not match: the body has {found} where the field bodyCrc32 says {expected}")]
    Crc { found: i32, expected: i32 },
    #[error(transparent)]
    Register(#[from] RegisterError),
    #[error(transparent)]
    Kv(#[from] KvError),
    #[error("string2Properties error: the body isn't UTF-8")]
    NotProperties,
    #[error("{}{change}", black_list(.change))]
    Config {
        #[from]
        change: ChangeError,
    },
    #[error("disable: this list is switched off ({key}=false)")]
    ListDisabled { key: &'static str },
    #[error("name server not ready: it waits {seconds} s for brokers to register (waitSecondsForService)")]
    NotReady { seconds: u32 },
    #[error(
        "No topic route info in name server for the topic: {topic}\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
    )]
    NoRoute { topic: String },
    #[error("No config item, Namespace: {namespace} Key: {key}")]
    NoKey { namespace: String, key: String },
    #[error("No config item, Namespace: {namespace}")]
    NoNamespace { namespace: String },
    #[error(
        "request {code} from {from} was refused: what changes a name server is taken from its own host only; set \
         remoteAdminEnable=true in its configuration file to take it from everywhere"
    )]
    RemoteAdmin { code: i32, from: IpAddr },
    #[error(" request type {code} not supported")]
    NotSupported { code: i32 },
}

impl RequestError {
    pub fn code(&self) -> i32 {
        match self {
            RequestError::NotSupported { .. } => response::REQUEST_CODE_NOT_SUPPORTED,
            RequestError::RemoteAdmin { .. } => response::NO_PERMISSION,
            RequestError::Config { change } if names_protected(change) => response::NO_PERMISSION,
            RequestError::NoRoute { .. } => response::TOPIC_NOT_EXIST,
            RequestError::NoKey { .. } | RequestError::NoNamespace { .. } => response::QUERY_NOT_FOUND,
            _ => response::SYSTEM_ERROR,
        }
    }
}

fn black_list(error: &ChangeError) -> &'static str {
    if names_protected(error) { "Can not update config in black list. " } else { "" }
}

fn names_protected(error: &ChangeError) -> bool {
    matches!(error, ChangeError::Refused(errors) if errors.has_protected())
}
