//! Who may call what: each call of gRPC, each command of a telemetry stream, and each request that is passed on is checked
//! here before anything is done for it.
//!
//! The rules are those of [`roxmq_access`]. Whoever isn't let in is refused with `UNAUTHORIZED`, whether for who it is
//! or for what it may do; if nobody can say who it is, that is another failure, and no leave to go on.

mod accounts;
mod authorization;
mod needs;
mod stream;

pub use accounts::Accounts;
pub use needs::Guarded;
pub use stream::StreamGuard;

use crate::config::ProxyConfig;
use crate::invoker::NetworkInvoker;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use authorization::Authorization;
use roxmq_access::{
    Account, AuthenticationError, Check, Directory, Proof, Rules, authenticate, needs_of_request, shown,
};
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Encoding;
use roxmq_protocol::signature::{ACCESS_KEY, SIGNATURE, Signature, SigningKey};
use roxmq_remoting::LogPace;
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use tonic::metadata::MetadataMap;

pub struct AccessControl {
    rules: Rules,
    accounts: Accounts,
    log_pace: LogPace,
}

impl AccessControl {
    /// With the users of the broker of this process. None if nothing is checked.
    pub fn of_broker(rules: Rules, directory: Arc<dyn Directory>) -> Option<Arc<Self>> {
        AccessControl::of(rules, || Accounts::Own(directory))
    }

    /// With the users that the brokers of a cluster know. None if nothing is checked.
    pub fn of_cluster(config: &ProxyConfig, invoker: &Arc<NetworkInvoker>) -> Option<Arc<Self>> {
        let rules = Rules::new(
            config.authenticate,
            config.authorize,
            &config.authentication_whitelist,
            &config.authorization_whitelist,
        );
        AccessControl::of(rules, || Accounts::OfBrokers(Arc::clone(invoker)))
    }

    fn of(rules: Rules, accounts: impl FnOnce() -> Accounts) -> Option<Arc<Self>> {
        rules
            .is_on()
            .then(|| Arc::new(AccessControl { rules, accounts: accounts(), log_pace: LogPace::default() }))
    }

    /// Whether the call may be made, coming from there.
    pub async fn check_call<M: Guarded>(
        &self,
        metadata: &MetadataMap,
        source: IpAddr,
        message: &M,
    ) -> Result<()> {
        let check = self.rules.of_message(M::NAME);
        if check == Check::Nothing {
            return Ok(());
        }
        let checked = self.caller_may(check, metadata, source, message).await;
        checked.inspect_err(|refusal| self.log(&M::NAME, source, refusal))
    }

    async fn caller_may<M: Guarded>(
        &self,
        check: Check,
        metadata: &MetadataMap,
        source: IpAddr,
        message: &M,
    ) -> Result<()> {
        let said = Authorization::of(metadata).map_err(refused)?;
        let proof = Proof {
            name: said.map(|said| said.username),
            signature: said.and_then(|said| Signature::from_hex(said.signature.as_bytes())),
        };
        let content = said.map_or(&[][..], |said| said.content);
        let account = self.prove(proof, |key| key.sign(content)).await?;
        if check == Check::UserAndRights && !account.user.is_super() {
            account.may(&message.needs().map_err(refused)?, source).map_err(refused)?;
        }
        Ok(())
    }

    /// Whether a request of the remoting protocol may be passed on to brokers of this cluster, coming from there.
    pub async fn check_request(&self, request: &Command, cluster: &str, source: IpAddr) -> Result<()> {
        let check = self.rules.of_code(request.code);
        if check == Check::Nothing {
            return Ok(());
        }
        let checked = self.sender_may(check, request, cluster, source).await;
        checked.inspect_err(|refusal| self.log(&request.code, source, refusal))
    }

    async fn sender_may(&self, check: Check, request: &Command, cluster: &str, source: IpAddr) -> Result<()> {
        let proof = Proof {
            name: request.field(ACCESS_KEY),
            signature: request.field(SIGNATURE).and_then(|text| Signature::from_base64(text.as_bytes())),
        };
        // Its texts are those that were received, and nothing else of it is signed.
        let as_frame = || request.as_frame(Encoding::Json);
        let expected = |key: &SigningKey| key.sign_request(&as_frame().header, &request.body);
        let account = self.prove(proof, expected).await?;
        if check == Check::UserAndRights && !account.user.is_super() {
            let needs = needs_of_request(&as_frame(), cluster).map_err(refused)?;
            account.may(&needs, source).map_err(refused)?;
        }
        Ok(())
    }

    /// Who it is, if the proof is good. `expected` signs what was received.
    async fn prove(
        &self,
        proof: Proof<'_>,
        expected: impl FnOnce(&SigningKey) -> Signature,
    ) -> Result<Account> {
        let found = match proof.name {
            Some(name) => self.accounts.find(name).await?,
            None => None,
        };
        let proven = authenticate(proof, |_| found, |user| expected(user.key()));
        proven.map_err(|error: AuthenticationError| refused(error))
    }

    fn log(&self, request: &dyn Display, source: IpAddr, refusal: &Refusal) {
        if let Some(left_out) = self.log_pace.next(Instant::now()) {
            tracing::warn!(%request, %source, left_out, "a request was refused: {}", shown(&refusal.text));
        }
    }
}

fn refused(reason: impl std::error::Error) -> Refusal {
    Refusal::new(Code::Unauthorized, reason.to_string())
}
