//! Where the messages of a call begin and end: each comes after a byte that says whether it is compressed and four
//! bytes with its length.

const HEAD_BYTES: usize = 5;

/// Where the reader of a call is.
#[derive(Debug, Default)]
pub struct Framing {
    head: [u8; HEAD_BYTES],
    /// Of the head, what has been read.
    head_bytes: usize,
    /// Of the message, what is still to come.
    left: usize,
}

/// A message has more bytes than may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    pub bytes: usize,
}

impl Framing {
    /// Reads on; gives how many of these bytes belong to messages that end among them.
    pub fn read(&mut self, bytes: &[u8], limit: usize) -> Result<usize, TooLarge> {
        let (mut at, mut ends_at) = (0, 0);
        while at < bytes.len() {
            if self.head_bytes < HEAD_BYTES {
                let count = (HEAD_BYTES - self.head_bytes).min(bytes.len() - at);
                self.head[self.head_bytes..][..count].copy_from_slice(&bytes[at..at + count]);
                self.head_bytes += count;
                at += count;
                if self.head_bytes < HEAD_BYTES {
                    break;
                }
                let [_, length @ ..] = self.head;
                self.left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                if self.left > limit {
                    return Err(TooLarge { bytes: self.left });
                }
            }
            let count = self.left.min(bytes.len() - at);
            self.left -= count;
            at += count;
            if self.left == 0 {
                self.head_bytes = 0;
                ends_at = at;
            }
        }
        Ok(ends_at)
    }

    /// Whether no message has begun without having ended.
    pub fn is_between(&self) -> bool {
        self.head_bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found() {
        let check = |bytes: &[u8], expected: Result<usize, TooLarge>, is_between: bool| {
            let mut framing = Framing::default();
            assert_eq!(framing.read(bytes, 3), expected, "{bytes:?}");
            assert_eq!(framing.is_between(), is_between, "{bytes:?}");
        };
        check(&[], Ok(0), true);
        check(&[0, 0, 0, 0], Ok(0), false);
        check(&[0, 0, 0, 0, 0], Ok(5), true);
        check(&[1, 0, 0, 0, 2, 7, 7], Ok(7), true);
        check(&[0, 0, 0, 0, 3, 7, 7], Ok(0), false);
        check(&[0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 9], Ok(11), false);
        check(&[0, 0, 0, 0, 4], Err(TooLarge { bytes: 4 }), false);
        check(&[0, 255, 255, 255, 255], Err(TooLarge { bytes: u32::MAX as usize }), false);
    }
}
