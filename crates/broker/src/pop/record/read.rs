//! Reads a body. Nothing in it is believed before it is checked.

use super::{
    FINISHED, GAPS, HELD, MOVED, ORDER_FORGOTTEN, ORDERED, POPPED, PopChange, PopRecordError, QUEUE,
    QueueName, VERSION,
};
use crate::pop::batch::{Batch, BatchKey, Distances, Messages};
use roxmq_protocol::body::order_info::OrderInfo;
use roxmq_protocol::json::FromJson;
use roxmq_store::{Millis, QueueId};

/// Gives every change of a body, in order, with its queue.
pub(crate) fn read(
    body: &[u8],
    mut with: impl FnMut(QueueName<'_>, PopChange),
) -> Result<(), PopRecordError> {
    let mut rest = Rest { bytes: body };
    let version = rest.byte()?;
    if version != VERSION {
        return Err(PopRecordError::Version(version));
    }
    let mut queue = None;
    while !rest.bytes.is_empty() {
        let kind = rest.byte()?;
        if kind == QUEUE {
            queue =
                Some(QueueName { group: rest.text()?, topic: rest.text()?, id: QueueId(rest.int()? as i32) });
            continue;
        }
        with(queue.ok_or(PopRecordError::NoQueue)?, change(kind, &mut rest)?);
    }
    Ok(())
}

fn change(kind: u8, rest: &mut Rest<'_>) -> Result<PopChange, PopRecordError> {
    Ok(match kind {
        POPPED => {
            let key = rest.key()?;
            let (visible_at, next) = (Millis(rest.long()?), rest.long()?);
            let revive_queue = rest.byte()?;
            PopChange::Popped { key, batch: Batch::new(rest.distances()?, visible_at, revive_queue), next }
        }
        FINISHED => PopChange::Finished { key: rest.key()?, messages: Messages(rest.int()?) },
        MOVED => {
            let from = rest.key()?;
            let index = rest.byte()?;
            if index >= 32 {
                return Err(PopRecordError::Index(index));
            }
            let to = rest.key()?;
            let visible_at = Millis(rest.long()?);
            let revive_queue = rest.byte()?;
            PopChange::Moved { from, index: usize::from(index), to, visible_at, revive_queue }
        }
        ORDERED => {
            let next = rest.long()?;
            let bytes = rest.int()? as usize;
            PopChange::Ordered { info: OrderInfo::from_json_bytes(rest.part(bytes)?)?, next }
        }
        ORDER_FORGOTTEN => PopChange::OrderForgotten,
        HELD => {
            let key = rest.key()?;
            let visible_at = Millis(rest.long()?);
            let revive_queue = rest.byte()?;
            let distances = rest.distances()?;
            let known = Messages::first(distances.len());
            let (pending, moved) = (Messages(rest.int()?).and(known), Messages(rest.int()?).and(known));
            PopChange::Held { key, batch: Batch { distances, visible_at, revive_queue, pending, moved } }
        }
        unknown => return Err(PopRecordError::Kind(unknown)),
    })
}

struct Rest<'a> {
    bytes: &'a [u8],
}

impl<'a> Rest<'a> {
    fn part(&mut self, bytes: usize) -> Result<&'a [u8], PopRecordError> {
        let (part, rest) = self.bytes.split_at_checked(bytes).ok_or(PopRecordError::Truncated)?;
        self.bytes = rest;
        Ok(part)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PopRecordError> {
        let (part, rest) = self.bytes.split_first_chunk::<N>().ok_or(PopRecordError::Truncated)?;
        self.bytes = rest;
        Ok(*part)
    }

    fn byte(&mut self) -> Result<u8, PopRecordError> {
        Ok(self.array::<1>()?[0])
    }

    fn int(&mut self) -> Result<u32, PopRecordError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn long(&mut self) -> Result<i64, PopRecordError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<&'a str, PopRecordError> {
        let bytes = usize::from(u16::from_be_bytes(self.array()?));
        std::str::from_utf8(self.part(bytes)?).map_err(|_| PopRecordError::Name)
    }

    fn key(&mut self) -> Result<BatchKey, PopRecordError> {
        Ok(BatchKey { start: self.long()?, pop_time: self.long()? })
    }

    fn distances(&mut self) -> Result<Distances, PopRecordError> {
        let count = self.byte()?;
        if count & GAPS == 0 {
            return Ok(Distances::Run(count));
        }
        let each = (0..count & !GAPS).map(|_| self.int()).collect::<Result<_, _>>()?;
        Ok(Distances::Each(each))
    }
}
