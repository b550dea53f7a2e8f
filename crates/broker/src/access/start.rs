//! The users that a broker starts with: those that its configuration names, if they aren't there yet.

use super::Accounts;
use super::accounts::AccountError;
use crate::config::BrokerConfig;
use roxmq_access::{Credentials, CredentialsError, Directory, User, UserError, UserType};
use roxmq_protocol::body::access::UserInfo;
use roxmq_protocol::json::{FromJson, JsonError};

/// Why a key's user can't be made. None of these texts has the value: it holds a password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FirstUserError {
    #[error("initAuthenticationUser should be {{\"username\":\"..\",\"password\":\"..\"}}: {0}")]
    Json(#[from] JsonError),
    #[error("initAuthenticationUser: {0}")]
    User(#[from] UserError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("innerClientAuthenticationCredentials: {0}")]
    InnerUser(UserError),
}

/// The users that the configuration names, all of them super users.
pub(crate) fn first_users(config: &BrokerConfig) -> Result<Vec<User>, FirstUserError> {
    let mut users = Vec::new();
    let text = config.init_authentication_user.reveal();
    if !text.trim().is_empty() {
        let info = UserInfo::from_json_bytes(text.as_bytes())?;
        users.push(User::from_info(&info)?.with_kind(UserType::Super));
    }
    let inner = Credentials::read(config.inner_client_authentication_credentials.reveal())?;
    if let Some(Credentials { access_key, secret_key }) = inner {
        users.push(User::new(&access_key, &secret_key, UserType::Super).map_err(FirstUserError::InnerUser)?);
    }
    Ok(users)
}

/// Makes those of them that aren't there. One that is there stays as it is, whatever its password.
pub(crate) fn make_first_users(accounts: &Accounts, config: &BrokerConfig) -> Result<(), AccountError> {
    // The configuration was validated, so that there is nothing wrong with these.
    for user in first_users(config).unwrap_or_default() {
        if accounts.user(&user.name).is_none() {
            tracing::info!(user = user.name, "made the super user that the configuration names");
            accounts.create(user)?;
        }
    }
    if config.authentication_enabled && accounts.is_empty() {
        tracing::error!(
            "authenticationEnabled is true and there is no user, so that nobody can ask anything: set \
             initAuthenticationUser to {{\"username\":\"..\",\"password\":\"..\"}} and start again"
        );
    }
    Ok(())
}
