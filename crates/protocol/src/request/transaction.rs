//! The end of a transaction: code 37.

use super::{ExtFields, FieldError};
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndTransaction<'a> {
    pub topic: Option<Cow<'a, str>>,
    pub producer_group: Cow<'a, str>,
    /// The half message's offset in its queue.
    pub tran_state_table_offset: i64,
    /// Where in the commit log the half message lies.
    pub commit_log_offset: i64,
    /// Transaction bits of [`crate::sys_flag`]; 0 is "don't know yet".
    pub commit_or_rollback: i32,
    pub from_transaction_check: bool,
    pub msg_id: Option<Cow<'a, str>>,
    pub transaction_id: Option<Cow<'a, str>>,
}

impl<'a> EndTransaction<'a> {
    pub fn decode(ext: &ExtFields<'a>) -> Result<Self, FieldError> {
        Ok(EndTransaction {
            topic: ext.str("topic"),
            producer_group: ext.need_str("producerGroup")?,
            tran_state_table_offset: ext.need_i64("tranStateTableOffset")?,
            commit_log_offset: ext.need_i64("commitLogOffset")?,
            commit_or_rollback: ext.need_i32("commitOrRollback")?,
            from_transaction_check: ext.bool("fromTransactionCheck").unwrap_or(false),
            msg_id: ext.str("msgId"),
            transaction_id: ext.str("transactionId"),
        })
    }
}
