//! The name server's own configuration (318, 319).

use super::{Answer, Ask, Reply, RequestError, success};
use crate::namesrv::Namesrv;
use roxmq_protocol::properties_text;

pub fn get(server: &Namesrv, _: &Ask<'_, '_>) -> Answer {
    Ok(success().body(server.config().to_properties()))
}

pub fn update(server: &Namesrv, ask: &Ask<'_, '_>) -> Result<Reply, RequestError> {
    ask.need_admin(server)?;
    let text = std::str::from_utf8(ask.frame.body).map_err(|_| RequestError::NotProperties)?;
    let changes = properties_text::parse(text);
    if changes.is_empty() {
        return Ok(Reply::Now(success()));
    }
    let config = server.config_store().clone();
    Ok(Reply::Later(Box::new(move || {
        config.change(&changes)?;
        Ok(success())
    })))
}
