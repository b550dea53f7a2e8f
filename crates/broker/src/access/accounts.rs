//! The users of this broker and what each may do. A change is in the state log before it is seen here.
//!
//! A user is looked up for every request, so that costs no copy.

use crate::state::{Change, StateError, StateLog, Turn};
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use roxmq_access::{Account, Directory, Policies, User};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Far more than anybody makes by hand. With as many policies as a user may have they still fit into memory.
const USERS_MAX: usize = 10_000;

pub(crate) struct Accounts {
    accounts: RwLock<HashMap<Box<str>, Account, RandomState>>,
    /// Counts changes, for the snapshots.
    generation: AtomicU64,
    log: Arc<StateLog>,
}

/// Why users or policies stay as they are. The words that the Java server has are its own.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("The user is existed")]
    UserExists,
    #[error("The user is not exist")]
    NoUser,
    #[error("The acl is not exist.")]
    NoPolicies,
    #[error("there are {USERS_MAX} users, and no more are taken")]
    TooManyUsers,
    #[error(transparent)]
    User(#[from] roxmq_access::UserError),
    #[error(transparent)]
    Policy(#[from] roxmq_access::PolicyError),
    #[error(transparent)]
    State(#[from] StateError),
}

impl Accounts {
    pub(crate) fn new(log: Arc<StateLog>) -> Self {
        Accounts { accounts: RwLock::default(), generation: AtomicU64::new(0), log }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.accounts.read().is_empty()
    }

    /// Users with their policies, in order of names.
    pub(crate) fn all(&self) -> Vec<(User, Option<Policies>)> {
        let accounts = self.accounts.read();
        let copy = |account: &Account| ((*account.user).clone(), account.policies.as_deref().cloned());
        let mut all: Vec<_> = accounts.values().map(copy).collect();
        all.sort_unstable_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        all
    }

    pub(crate) fn create(&self, user: User) -> Result<(), AccountError> {
        let mut turn = self.log.turn();
        if self.user(&user.name).is_some() {
            return Err(AccountError::UserExists);
        }
        if self.accounts.read().len() >= USERS_MAX {
            return Err(AccountError::TooManyUsers);
        }
        self.put(&mut turn, user)
    }

    /// Replaces a user by what `change` makes of it.
    pub(crate) fn update<E: From<AccountError>>(
        &self,
        name: &str,
        change: impl FnOnce(&User) -> Result<User, E>,
    ) -> Result<(), E> {
        let mut turn = self.log.turn();
        let old = self.user(name).ok_or(AccountError::NoUser)?;
        self.put(&mut turn, change(&old)?).map_err(E::from)
    }

    /// Removes a user and its policies.
    pub(crate) fn delete(&self, name: &str) -> Result<(), AccountError> {
        let mut turn = self.log.turn();
        turn.record(&Change::DeleteUser(name.to_owned())).map_err(AccountError::State)?;
        self.restore_removed(name);
        Ok(())
    }

    /// Adds policies to those that the user has; they take the places of those for the same resources.
    pub(crate) fn add_policies(&self, name: &str, added: &Policies) -> Result<(), AccountError> {
        self.change_policies(name, |old| Ok(Some(old.with(added)?)))
    }

    /// Removes policies: what `without` leaves stays.
    pub(crate) fn remove_policies(
        &self,
        name: &str,
        without: impl FnOnce(&Policies) -> Policies,
    ) -> Result<(), AccountError> {
        self.change_policies(name, |old| match without(old) {
            _ if old.is_empty() => Err(AccountError::NoPolicies),
            left => Ok(Some(left).filter(|left| !left.is_empty())),
        })
    }

    fn change_policies(
        &self,
        name: &str,
        change: impl FnOnce(&Policies) -> Result<Option<Policies>, AccountError>,
    ) -> Result<(), AccountError> {
        let mut turn = self.log.turn();
        let old = self.account(name).ok_or(AccountError::NoUser)?.policies.unwrap_or_default();
        let policies = change(&old)?;
        let user = name.to_owned();
        turn.record(&match policies.clone() {
            Some(policies) => Change::PutPolicies { user, policies },
            None => Change::DeletePolicies(user),
        })?;
        self.restore_policies(name, policies);
        Ok(())
    }

    fn put(&self, turn: &mut Turn<'_>, user: User) -> Result<(), AccountError> {
        turn.record(&Change::PutUser(user.clone()))?;
        self.restore(user);
        Ok(())
    }

    /// Puts what a snapshot or the state log has.
    pub(crate) fn restore(&self, user: User) {
        let mut accounts = self.accounts.write();
        let policies = accounts.get(user.name.as_str()).and_then(|account| account.policies.clone());
        accounts.insert(user.name.as_str().into(), Account { user: Arc::new(user), policies });
        self.changed();
    }

    /// Removes a user that the state log says was removed.
    pub(crate) fn restore_removed(&self, name: &str) {
        self.accounts.write().remove(name);
        self.changed();
    }

    /// Puts the policies of a user, if there is one.
    pub(crate) fn restore_policies(&self, name: &str, policies: Option<Policies>) {
        if let Some(account) = self.accounts.write().get_mut(name) {
            account.policies = policies.map(Arc::new);
            self.changed();
        }
    }

    /// Grows with each change.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }
}

impl Directory for Accounts {
    fn account(&self, name: &str) -> Option<Account> {
        self.accounts.read().get(name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::memory::MemoryJournal;
    use roxmq_access::{ResourcePattern, UserType};
    use roxmq_protocol::body::access::AclInfo;
    use roxmq_protocol::json::FromJson;

    fn accounts() -> (Accounts, MemoryJournal) {
        let journal = MemoryJournal::default();
        (Accounts::new(Arc::new(StateLog::new(journal.clone()))), journal)
    }

    fn user(name: &str) -> User {
        User::new(name, "p", UserType::Normal).expect("a user")
    }

    fn policies(resource: &str) -> Policies {
        let text = format!(
            r#"{{"policies":[{{"entries":[{{"actions":["Pub"],"decision":"Allow","resource":"{resource}"}}]}}]}}"#
        );
        Policies::from_info(&AclInfo::from_json_bytes(text.as_bytes()).expect("JSON")).expect("policies")
    }

    #[test]
    fn a_user_goes_with_its_policies() {
        let (accounts, journal) = accounts();
        accounts.create(user("u")).expect("a user");
        assert!(matches!(accounts.create(user("u")), Err(AccountError::UserExists)));
        accounts.add_policies("u", &policies("Topic:T")).expect("policies");
        assert_eq!(accounts.all(), [(user("u"), Some(policies("Topic:T")))]);
        accounts.delete("u").expect("a deletion");
        accounts.create(user("u")).expect("a user");
        assert_eq!(accounts.all(), [(user("u"), None)]);
        assert_eq!(journal.changes.lock().len(), 4);
    }

    #[test]
    fn policies_are_added_and_removed_by_their_resources() {
        let (accounts, _) = accounts();
        assert!(matches!(accounts.add_policies("u", &policies("Topic:T")), Err(AccountError::NoUser)));
        accounts.create(user("u")).expect("a user");
        let remove = |key: &str| {
            let resource = ResourcePattern::from_key(key).expect("a pattern");
            accounts.remove_policies("u", |old| old.without(roxmq_access::PolicyType::Custom, &resource))
        };
        assert!(matches!(remove("Topic:T"), Err(AccountError::NoPolicies)));
        accounts.add_policies("u", &policies("Topic:T")).expect("policies");
        accounts.add_policies("u", &policies("Topic:U")).expect("policies");
        remove("Topic:T").expect("a removal");
        assert_eq!(accounts.all(), [(user("u"), Some(policies("Topic:U")))]);
        remove("Topic:U").expect("a removal");
        assert_eq!(accounts.all(), [(user("u"), None)]);
    }

    #[test]
    fn what_the_log_does_not_take_is_not_done() {
        let (accounts, journal) = accounts();
        accounts.create(user("u")).expect("a user");
        journal.full.store(true, Ordering::Relaxed);
        assert!(accounts.create(user("v")).is_err());
        assert!(accounts.delete("u").is_err());
        assert!(accounts.add_policies("u", &policies("Topic:T")).is_err());
        assert_eq!(accounts.all(), [(user("u"), None)]);
    }
}
