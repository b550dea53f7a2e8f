//! A transaction committed, rolled back, or left open for longer.

use super::ack::check_broker_name;
use crate::invoker::success;
use crate::message::transaction_id::TransactionId;
use crate::names;
use crate::proxy::Proxy;
use crate::refusal::{Refusal, Result, ok};
use crate::schema::{
    Code, EndTransactionRequest, EndTransactionResponse, TransactionResolution, TransactionSource,
};
use roxmq_protocol::code::request;
use roxmq_protocol::sys_flag;
use std::time::Duration;
use tonic::Request;

const TIMEOUT: Duration = Duration::from_secs(2);

pub async fn handle(
    proxy: &Proxy,
    request: Request<EndTransactionRequest>,
) -> Result<EndTransactionResponse> {
    let client = proxy.client(&request)?;
    let asked = request.get_ref();
    let topic = names::topic(asked.topic.as_ref())?;
    let text = asked.transaction_id.as_str();
    if text.trim().is_empty() {
        return Err(Refusal::new(Code::InvalidTransactionId, "the transaction has no id"));
    }
    let id = TransactionId::parse(text).ok_or_else(|| {
        Refusal::new(Code::InternalServerError, format!("there is no transaction {text:?}"))
    })?;
    check_broker_name(proxy, id.broker, Code::InternalServerError)?;
    let resolution = match asked.resolution() {
        TransactionResolution::Commit => sys_flag::TRANSACTION_COMMIT,
        TransactionResolution::Rollback => sys_flag::TRANSACTION_ROLLBACK,
        TransactionResolution::Unspecified => sys_flag::TRANSACTION_NONE,
    };
    let end = client
        .request(request::END_TRANSACTION)
        .with("topic", topic)
        .with("producerGroup", topic)
        .with("tranStateTableOffset", id.queue_offset)
        .with("commitLogOffset", id.phy_offset)
        .with("commitOrRollback", resolution)
        .with("fromTransactionCheck", asked.source() == TransactionSource::SourceServerCheck)
        .with("msgId", &asked.message_id)
        .with("transactionId", id.uniq_key);
    success(client.call(id.broker, end, TIMEOUT).await?)?;
    Ok(EndTransactionResponse { status: Some(ok()) })
}
