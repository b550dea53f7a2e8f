//! The KV configuration (100, 101, 102, 219).

use super::{Answer, Ask, Reply, RequestError, success};
use crate::namesrv::Namesrv;
use roxmq_protocol::request::FieldError;
use roxmq_protocol::request::namesrv::KvHeader;

pub fn put(server: &Namesrv, ask: &Ask<'_, '_>) -> Result<Reply, RequestError> {
    let KvHeader { namespace, key, value } = KvHeader::decode(ask.fields())?;
    let value = value.ok_or(FieldError::Missing("value"))?.into_owned();
    let (kv, namespace, key) = (server.kv().clone(), namespace.into_owned(), key.into_owned());
    Ok(Reply::Later(Box::new(move || {
        kv.put(&namespace, &key, &value)?;
        Ok(success())
    })))
}

pub fn delete(server: &Namesrv, ask: &Ask<'_, '_>) -> Result<Reply, RequestError> {
    ask.need_admin(server)?;
    let KvHeader { namespace, key, .. } = KvHeader::decode(ask.fields())?;
    let (kv, namespace, key) = (server.kv().clone(), namespace.into_owned(), key.into_owned());
    Ok(Reply::Later(Box::new(move || {
        kv.delete(&namespace, &key)?;
        Ok(success())
    })))
}

pub fn get(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let KvHeader { namespace, key, .. } = KvHeader::decode(ask.fields())?;
    match server.kv().get(&namespace, &key) {
        Some(value) => Ok(success().with("value", value)),
        None => Err(RequestError::NoKey { namespace: namespace.into_owned(), key: key.into_owned() }),
    }
}

pub fn list(server: &Namesrv, ask: &Ask<'_, '_>) -> Answer {
    let namespace = ask.fields().need_str("namespace")?;
    match server.kv().namespace_json(&namespace) {
        Some(json) => Ok(success().body(json)),
        None => Err(RequestError::NoNamespace { namespace: namespace.into_owned() }),
    }
}
