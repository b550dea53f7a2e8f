//! A user: a name, the password that signs its requests, and whether it is asked for its rights at all.

use roxmq_protocol::body::access::UserInfo;
use roxmq_protocol::signature::SigningKey;
use std::fmt;

/// Far beyond what anybody types, and far below what a record of the state may hold.
const NAME_CHARS_MAX: usize = 255;
const PASSWORD_CHARS_MAX: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserType {
    /// May do everything.
    Super,
    /// May do what its policies allow.
    Normal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserStatus {
    Enable,
    Disable,
}

#[derive(Clone)]
pub struct User {
    pub name: String,
    pub kind: UserType,
    pub status: UserStatus,
    password: String,
    key: SigningKey,
}

/// What a request to change a user asks for; nothing for what stays.
#[derive(Clone, Default)]
pub struct UserChange {
    pub password: Option<String>,
    pub kind: Option<UserType>,
    pub status: Option<UserStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    #[error("username can not be blank")]
    BlankName,
    #[error("password can not be blank")]
    BlankPassword,
    #[error("the username has {0} characters, more than {NAME_CHARS_MAX}")]
    LongName(usize),
    #[error("the password has {0} characters, more than {PASSWORD_CHARS_MAX}")]
    LongPassword(usize),
}

impl UserType {
    /// In any case. Nothing for a word that is none.
    pub fn from_name(name: &str) -> Option<Self> {
        [UserType::Super, UserType::Normal].into_iter().find(|kind| name.eq_ignore_ascii_case(kind.name()))
    }

    pub fn name(self) -> &'static str {
        match self {
            UserType::Super => "Super",
            UserType::Normal => "Normal",
        }
    }
}

impl UserStatus {
    /// In any case. Nothing for a word that is none.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [UserStatus::Enable, UserStatus::Disable];
        all.into_iter().find(|status| name.eq_ignore_ascii_case(status.name()))
    }

    pub fn name(self) -> &'static str {
        match self {
            UserStatus::Enable => "enable",
            UserStatus::Disable => "disable",
        }
    }
}

impl User {
    pub fn new(name: &str, password: &str, kind: UserType) -> Result<Self, UserError> {
        check_name(name)?;
        check_password(password)?;
        Ok(User {
            name: name.to_owned(),
            kind,
            status: UserStatus::Enable,
            password: password.to_owned(),
            key: SigningKey::new(password),
        })
    }

    /// A user as a body or a file tells of it: a normal one that is enabled, unless that says otherwise.
    pub fn from_info(info: &UserInfo) -> Result<Self, UserError> {
        let name = info.username.as_deref().unwrap_or_default();
        let change = UserChange::from_info(info);
        check_name(name)?;
        let password = change.password.ok_or(UserError::BlankPassword)?;
        let user = User::new(name, &password, change.kind.unwrap_or(UserType::Normal))?;
        Ok(User { status: change.status.unwrap_or(UserStatus::Enable), ..user })
    }

    pub fn to_info(&self) -> UserInfo {
        UserInfo {
            password: Some(self.password.clone()),
            user_status: Some(self.status.name().to_owned()),
            user_type: Some(self.kind.name().to_owned()),
            username: Some(self.name.clone()),
        }
    }

    pub fn changed(&self, change: &UserChange) -> Result<Self, UserError> {
        let password = change.password.as_deref().unwrap_or(&self.password);
        let user = User::new(&self.name, password, change.kind.unwrap_or(self.kind))?;
        Ok(User { status: change.status.unwrap_or(self.status), ..user })
    }

    #[must_use]
    pub fn with_kind(mut self, kind: UserType) -> Self {
        self.kind = kind;
        self
    }

    /// What signs the user's requests.
    pub fn key(&self) -> &SigningKey {
        &self.key
    }

    pub fn is_super(&self) -> bool {
        self.kind == UserType::Super
    }
}

impl UserChange {
    /// A blank password and words that nobody knows change nothing, as with the Java server.
    pub fn from_info(info: &UserInfo) -> Self {
        UserChange {
            password: info.password.clone().filter(|password| !password.trim().is_empty()),
            kind: info.user_type.as_deref().and_then(UserType::from_name),
            status: info.user_status.as_deref().and_then(UserStatus::from_name),
        }
    }
}

impl PartialEq for User {
    fn eq(&self, other: &Self) -> bool {
        let parts = |user: &User| (user.kind, user.status);
        self.name == other.name && self.password == other.password && parts(self) == parts(other)
    }
}

/// Without the password: a user may stand in a log.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} user {} ({})", self.kind.name(), self.name, self.status.name())
    }
}

fn check_name(name: &str) -> Result<(), UserError> {
    match name.chars().count() {
        _ if name.trim().is_empty() => Err(UserError::BlankName),
        chars if chars > NAME_CHARS_MAX => Err(UserError::LongName(chars)),
        _ => Ok(()),
    }
}

fn check_password(password: &str) -> Result<(), UserError> {
    match password.chars().count() {
        _ if password.trim().is_empty() => Err(UserError::BlankPassword),
        chars if chars > PASSWORD_CHARS_MAX => Err(UserError::LongPassword(chars)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::json::{FromJson, ToJson};

    fn read(text: &str) -> Result<User, UserError> {
        User::from_info(&UserInfo::from_json_bytes(text.as_bytes()).expect("JSON"))
    }

    #[test]
    fn what_is_not_said_is_normal_and_enabled() {
        let user = read(r#"{"username":"u","password":"p"}"#).expect("a user");
        assert_eq!((user.kind, user.status), (UserType::Normal, UserStatus::Enable));
        let text = r#"{"password":"p","userStatus":"disable","userType":"Super","username":"u"}"#;
        assert_eq!(read(text).expect("a user").to_info().to_json_text(), text);
        let other_case = read(r#"{"username":"u","password":"p","userType":"SUPER","userStatus":"DISABLE"}"#);
        assert_eq!(other_case, read(text));
    }

    #[test]
    fn a_user_needs_a_name_and_a_password() {
        let check = |text: &str, expected| assert_eq!(read(text).map(|user| user.name), Err(expected));
        check("{}", UserError::BlankName);
        check(r#"{"username":" ","password":"p"}"#, UserError::BlankName);
        check(r#"{"username":"u","password":" "}"#, UserError::BlankPassword);
        let (long, longer) = ("n".repeat(256), "p".repeat(1025));
        check(&format!(r#"{{"username":"{long}","password":"p"}}"#), UserError::LongName(256));
        check(&format!(r#"{{"username":"u","password":"{longer}"}}"#), UserError::LongPassword(1025));
    }

    #[test]
    fn a_change_changes_what_it_names() {
        let user = User::new("u", "p", UserType::Normal).expect("a user");
        let change = |text: &str| {
            let info = UserInfo::from_json_bytes(text.as_bytes()).expect("JSON");
            user.changed(&UserChange::from_info(&info)).expect("a change").to_info().to_json_text()
        };
        assert_eq!(change(r#"{"password":" ","userType":"King"}"#), user.to_info().to_json_text());
        assert_eq!(
            change(r#"{"password":"q","userStatus":"disable","userType":"super"}"#),
            r#"{"password":"q","userStatus":"disable","userType":"Super","username":"u"}"#
        );
    }

    #[test]
    fn no_log_learns_the_password() {
        let user = User::new("u", "secret", UserType::Super).expect("a user");
        assert_eq!(format!("{user:?}"), "Super user u (enable)");
    }
}
