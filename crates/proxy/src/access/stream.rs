//! The check of a telemetry stream: who opens it has to be somebody, and each command is checked again, for rights change
//! while a stream stays open.

use super::AccessControl;
use super::authorization::Authorization;
use crate::refusal::Result;
use crate::schema::TelemetryCommand;
use std::net::IpAddr;
use std::sync::Arc;
use tonic::metadata::MetadataMap;

pub struct StreamGuard {
    access: Arc<AccessControl>,
    /// Who the client has said that it is, which holds for as long as the stream.
    metadata: MetadataMap,
    source: IpAddr,
}

impl StreamGuard {
    /// For a stream that is opened from there with this metadata.
    pub async fn open(access: &Arc<AccessControl>, metadata: &MetadataMap, source: IpAddr) -> Result<Self> {
        let guard =
            StreamGuard { access: Arc::clone(access), metadata: Authorization::kept(metadata), source };
        guard.check(&TelemetryCommand::default()).await?;
        Ok(guard)
    }

    pub async fn check(&self, command: &TelemetryCommand) -> Result<()> {
        self.access.check_call(&self.metadata, self.source, command).await
    }
}
