//! Who may call what: each call of gRPC, each command of a telemetry stream, and each request that is passed on is checked
//! here before anything is done for it.
//!
//! The rules are those of [`roxmq_access`]. Whoever isn't let in is refused with `UNAUTHORIZED`, whether for who it is
//! or for what it may do; if nobody can say who it is, that is another failure, and no leave to go on.

mod accounts;
mod authorization;
mod needs;
mod stream;

pub use accounts::{Account, Accounts};
pub use needs::Guarded;
pub use stream::StreamGuard;

use crate::config::ProxyConfig;
use crate::invoker::NetworkInvoker;
use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use authorization::Authorization;
use roxmq_access::{
    AuthenticationError, Directory, Needs, Proof, Whitelist, authenticate, judge, needs_of_request,
};
use roxmq_protocol::command::Command;
use roxmq_protocol::header::Encoding;
use roxmq_protocol::signature::{ACCESS_KEY, SIGNATURE, Signature, SigningKey};
use std::net::IpAddr;
use std::sync::Arc;
use tonic::metadata::MetadataMap;

/// What is checked at all.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// `authenticationEnabled`
    pub authenticate: bool,
    /// `authorizationEnabled`
    pub authorize: bool,
    /// `authenticationWhitelist`
    pub unauthenticated: Whitelist,
    /// `authorizationWhitelist`
    pub unauthorized: Whitelist,
}

pub struct AccessControl {
    rules: AccessRules,
    accounts: Accounts,
    /// Of which cluster requests to brokers need rights on.
    cluster: String,
}

/// What is asked of a caller.
#[derive(Clone, Copy)]
struct Demand {
    authenticate: bool,
    authorize: bool,
}

impl AccessControl {
    /// With the users of the broker of this process. None if nothing is checked.
    pub fn of_broker(rules: AccessRules, cluster: &str, directory: Arc<dyn Directory>) -> Option<Arc<Self>> {
        AccessControl::of(rules, cluster, || Accounts::Own(directory))
    }

    /// With the users that the brokers of a cluster know. None if nothing is checked.
    pub fn of_cluster(config: &ProxyConfig, invoker: &Arc<NetworkInvoker>) -> Option<Arc<Self>> {
        let rules = AccessRules {
            authenticate: config.authenticate,
            authorize: config.authorize,
            unauthenticated: Whitelist::read(&config.authentication_whitelist),
            unauthorized: Whitelist::read(&config.authorization_whitelist),
        };
        AccessControl::of(rules, &config.cluster_name, || Accounts::OfBrokers(Arc::clone(invoker)))
    }

    fn of(rules: AccessRules, cluster: &str, accounts: impl FnOnce() -> Accounts) -> Option<Arc<Self>> {
        let is_on = rules.authenticate || rules.authorize;
        is_on.then(|| Arc::new(AccessControl { rules, accounts: accounts(), cluster: cluster.to_owned() }))
    }

    /// Whether the call may be made, coming from there.
    pub async fn check_call<M: Guarded>(
        &self,
        metadata: &MetadataMap,
        source: IpAddr,
        message: &M,
    ) -> Result<()> {
        let demand = self.demand(
            self.rules.unauthenticated.has_message(M::NAME),
            self.rules.unauthorized.has_message(M::NAME),
        );
        let Some(account) = self.caller(demand, metadata).await? else { return Ok(()) };
        if demand.authorize {
            let needs = message.needs().map_err(refused)?;
            account.may(&needs, source)?;
        }
        Ok(())
    }

    /// Whether a request of the remoting protocol may be passed on, coming from there.
    pub async fn check_request(&self, request: &Command, source: IpAddr) -> Result<()> {
        let demand = self.demand(
            self.rules.unauthenticated.has_code(request.code),
            self.rules.unauthorized.has_code(request.code),
        );
        if !demand.authenticate {
            return Ok(());
        }
        let proof = Proof {
            name: request.field(ACCESS_KEY),
            signature: request.field(SIGNATURE).and_then(|text| Signature::from_base64(text.as_bytes())),
        };
        // Its texts are those that were received, and nothing else of it is signed.
        let as_frame = || request.as_frame(Encoding::Json);
        let expected = |key: &SigningKey| key.sign_request(&as_frame().header, &request.body);
        let account = self.prove(proof, expected).await?;
        if demand.authorize {
            account.may(&needs_of_request(&as_frame(), &self.cluster).map_err(refused)?, source)?;
        }
        Ok(())
    }

    /// What goes without saying for messages on a whitelist. Nobody has rights who hasn't shown who it is.
    fn demand(&self, is_unauthenticated: bool, is_unauthorized: bool) -> Demand {
        let authorize = self.rules.authorize && !is_unauthorized;
        Demand { authenticate: authorize || self.rules.authenticate && !is_unauthenticated, authorize }
    }

    /// Who makes a call; none if it doesn't matter.
    async fn caller(&self, demand: Demand, metadata: &MetadataMap) -> Result<Option<Account>> {
        if !demand.authenticate {
            return Ok(None);
        }
        let said = Authorization::of(metadata).map_err(refused)?;
        let proof = Proof {
            name: said.map(|said| said.username),
            signature: said.and_then(|said| Signature::from_hex(said.signature.as_bytes())),
        };
        let content = said.map_or(&[][..], |said| said.content);
        self.prove(proof, |key| key.sign(content)).await.map(Some)
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
}

impl Account {
    fn may(&self, needs: &Needs<'_>, source: IpAddr) -> Result<()> {
        judge(&self.user, self.policies.as_deref(), needs, source).map_err(refused)
    }
}

fn refused(reason: impl std::error::Error) -> Refusal {
    Refusal::new(Code::Unauthorized, reason.to_string())
}
