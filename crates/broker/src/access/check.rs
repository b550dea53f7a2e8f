//! The check that stands before all handlers: who asks, and whether that is allowed.
//!
//! What was received is checked as it came; for a send or a pull nothing is copied or allocated.

use super::Accounts;
use crate::config::BrokerConfig;
use crate::refusal::Refusal;
use roxmq_access::{
    Account, AuthenticationError, Check, Directory, Need, Proof, Rules, authenticate, needs_of_request, shown,
};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::signature::{ACCESS_KEY, SIGNATURE, Signature};
use roxmq_remoting::{Connection, LogPace};
use std::sync::Arc;
use std::time::Instant;

pub(crate) struct Guard {
    accounts: Arc<Accounts>,
    rules: Rules,
    cluster: String,
    log_pace: LogPace,
}

impl Guard {
    pub(crate) fn new(config: &BrokerConfig, accounts: Arc<Accounts>) -> Self {
        Guard {
            accounts,
            rules: Rules::new(
                config.authentication_enabled,
                config.authorization_enabled,
                &config.authentication_whitelist,
                &config.authorization_whitelist,
            ),
            cluster: config.broker_cluster_name.clone(),
            log_pace: LogPace::default(),
        }
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whether anybody has to prove who it is.
    pub(crate) fn is_on(&self) -> bool {
        self.rules.is_on()
    }

    /// Whether this request may be anybody's, whatever name it has.
    fn leaves_open(&self, code: i32) -> bool {
        self.rules.of_code(code) == Check::Nothing
    }

    /// Whether users may have different rights.
    pub(crate) fn authorizes(&self) -> bool {
        self.rules.authorizes()
    }

    /// Whether the check, which let a request through, has found that its caller may have what it asks for.
    pub(crate) fn vouches_for(&self, connection: &Connection, code: i32, caller: Option<&str>) -> bool {
        if !self.checks(connection) || self.leaves_open(code) {
            return false;
        }
        self.authorizes() || self.is_super(caller)
    }

    /// Whether a request that the check let through comes from a super user.
    pub(crate) fn is_from_super(&self, code: i32, caller: Option<&str>) -> bool {
        !self.leaves_open(code) && self.is_super(caller)
    }

    /// Whether the caller of a request that the check let through may have something else, too, which only its handler
    /// knows of.
    pub(crate) fn lets_have(
        &self,
        connection: &Connection,
        request: &Command,
        need: Need<'_>,
    ) -> Result<(), Refusal> {
        if !self.checks(connection) || self.rules.of_code(request.code) != Check::UserAndRights {
            return Ok(());
        }
        let name = request.field(ACCESS_KEY).unwrap_or_default();
        // Deleted since the check.
        let unknown = || denied(&AuthenticationError::UnknownUser(name.to_owned()));
        let account = self.accounts.account(name).ok_or_else(unknown)?;
        judge(connection, &account, &[need])
    }

    fn is_super(&self, caller: Option<&str>) -> bool {
        caller.and_then(|name| self.accounts.user(name)).is_some_and(|user| user.is_super())
    }

    fn checks(&self, connection: &Connection) -> bool {
        self.is_on() && !connection.is_in_this_process()
    }

    /// To be asked for every request before anything else is done with it.
    #[inline]
    pub(crate) fn admit(&self, connection: &Connection, frame: &Frame<'_>) -> Result<(), Refusal> {
        if !self.checks(connection) {
            return Ok(());
        }
        self.check(connection, frame).inspect_err(|refusal| self.log(connection, frame, refusal))
    }

    fn check(&self, connection: &Connection, frame: &Frame<'_>) -> Result<(), Refusal> {
        let check = self.rules.of_code(frame.header.code);
        if check == Check::Nothing {
            return Ok(());
        }
        let account = self.caller(frame)?;
        if account.user.is_super() || check == Check::User {
            return Ok(());
        }
        let needs = needs_of_request(frame, &self.cluster).map_err(|error| denied(&error))?;
        judge(connection, &account, &needs)
    }

    /// The user that the request comes from, which is proven by its signature.
    fn caller(&self, frame: &Frame<'_>) -> Result<Account, Refusal> {
        let ext = &frame.header.ext;
        let name = ext.str(ACCESS_KEY);
        let signature = ext.str(SIGNATURE).and_then(|text| Signature::from_base64(text.as_bytes()));
        let proof = Proof { name: name.as_deref(), signature };
        let find = |name: &str| self.accounts.account(name);
        authenticate(proof, find, |user| user.key().sign_request(&frame.header, frame.body))
            .map_err(|error| denied(&error))
    }

    fn log(&self, connection: &Connection, frame: &Frame<'_>, refusal: &Refusal) {
        if let Some(left_out) = self.log_pace.next(Instant::now()) {
            tracing::warn!(
                code = frame.header.code,
                user = frame.header.ext.str(ACCESS_KEY).map(|name| shown(&name)),
                remote = %connection.remote(),
                left_out,
                "a request was refused: {}",
                shown(&refusal.remark)
            );
        }
    }
}

fn judge(connection: &Connection, account: &Account, needs: &[Need<'_>]) -> Result<(), Refusal> {
    account.may(needs, connection.remote().ip()).map_err(|denial| denied(&denial))
}

fn denied(reason: &dyn std::error::Error) -> Refusal {
    Refusal::denied(reason.to_string())
}
