//! The bits of the flags that the protocol itself reads: of messages, of pulls, of permissions, of topics.

/// The body is compressed; [`COMPRESSION_MASK`] says how.
pub const COMPRESSED: i32 = 0x1;
/// The TAGS property holds several tags.
pub const MULTI_TAGS: i32 = 0x2;
/// Where a message stands in a transaction.
pub const TRANSACTION_MASK: i32 = 0xC;
pub const TRANSACTION_NONE: i32 = 0;
pub const TRANSACTION_PREPARED: i32 = 0x4;
pub const TRANSACTION_COMMIT: i32 = 0x8;
pub const TRANSACTION_ROLLBACK: i32 = 0xC;
/// The born host takes 20 bytes rather than 8.
pub const BORN_HOST_V6: i32 = 0x10;
/// The store host takes 20 bytes rather than 8.
pub const STORE_HOST_V6: i32 = 0x20;
/// The consumer splits the record into its messages.
pub const NEED_UNWRAP: i32 = 0x40;
/// One record with many messages.
pub const INNER_BATCH: i32 = 0x80;
pub const COMPRESSION_MASK: i32 = 0x700;
pub const COMPRESSION_LZ4: i32 = 0x100;
pub const COMPRESSION_ZSTD: i32 = 0x200;
pub const COMPRESSION_ZLIB: i32 = 0x300;

/// The transaction bits of a message.
pub const fn transaction(sys_flag: i32) -> i32 {
    sys_flag & TRANSACTION_MASK
}

/// The flag with other transaction bits.
pub const fn with_transaction(sys_flag: i32, transaction: i32) -> i32 {
    (sys_flag & !TRANSACTION_MASK) | (transaction & TRANSACTION_MASK)
}

/// Whether records with this flag take part in a queue's numbering: half and rolled-back ones don't.
pub const fn is_queued(sys_flag: i32) -> bool {
    matches!(transaction(sys_flag), TRANSACTION_NONE | TRANSACTION_COMMIT)
}

/// Bits of a pull request's `sysFlag`.
pub mod pull {
    /// Store `commitOffset` as the group's offset.
    pub const COMMIT_OFFSET: i32 = 0x1;
    /// The broker may wait for a message.
    pub const SUSPEND: i32 = 0x2;
    /// The request's subscription counts rather than that of the heartbeat.
    pub const SUBSCRIPTION: i32 = 0x4;
    /// Of the filter servers of old; without meaning.
    pub const CLASS_FILTER: i32 = 0x8;
    pub const LITE_PULL: i32 = 0x10;
}

/// Bits of a topic's or a broker's permission.
pub mod perm {
    /// New topics may be made after this one.
    pub const INHERIT: i32 = 0x1;
    pub const WRITE: i32 = 0x2;
    pub const READ: i32 = 0x4;
    pub const PRIORITY: i32 = 0x8;

    pub const fn is_readable(perm: i32) -> bool {
        perm & READ != 0
    }

    pub const fn is_writeable(perm: i32) -> bool {
        perm & WRITE != 0
    }

    pub const fn is_inherited(perm: i32) -> bool {
        perm & INHERIT != 0
    }
}

/// Bits of a topic's `topicSysFlag`.
pub mod topic {
    pub const UNIT: i32 = 0x1;
    pub const UNIT_SUB: i32 = 0x2;
}
