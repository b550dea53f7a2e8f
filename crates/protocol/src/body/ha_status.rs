//! How far the replicas of a broker are (code 907).

json_object! {
    pub struct HaStatus {
        /// What a replica knows of its master.
        "haClientRuntimeInfo" ha_client_runtime_info: HaClientStatus,
        /// What a master knows of its replicas.
        "haConnectionInfo" ha_connection_info: Vec<HaConnectionStatus>,
        "inSyncSlaveNums" in_sync_slave_nums: i32,
        "master" master: bool,
        "masterCommitLogMaxOffset" master_commit_log_max_offset: i64,
    }
}

json_object! {
    pub struct HaClientStatus {
        "activated" activated: bool,
        "lastReadTimestamp" last_read_timestamp: i64,
        "lastWriteTimestamp" last_write_timestamp: i64,
        "masterAddr" master_addr: Option<String>,
        "masterFlushOffset" master_flush_offset: i64,
        "maxOffset" max_offset: i64,
        "transferredByteInSecond" transferred_byte_in_second: i64,
    }
}

json_object! {
    pub struct HaConnectionStatus {
        "addr" addr: String,
        "diff" diff: i64,
        "inSync" in_sync: bool,
        "slaveAckOffset" slave_ack_offset: i64,
        "transferFromWhere" transfer_from_where: i64,
        "transferredByteInSecond" transferred_byte_in_second: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::ToJson;

    #[test]
    fn a_master_without_replicas_as_java_writes_it() {
        let status = HaStatus { master: true, master_commit_log_max_offset: 7, ..HaStatus::default() };
        let expected = r#"{"haClientRuntimeInfo":{"activated":false,"lastReadTimestamp":0,"lastWriteTimestamp":0,"masterFlushOffset":0,"maxOffset":0,"transferredByteInSecond":0},"haConnectionInfo":[],"inSyncSlaveNums":0,"master":true,"masterCommitLogMaxOffset":7}"#;
        assert_eq!(status.to_json_text(), expected);
    }
}
