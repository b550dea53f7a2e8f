//! What is checked at all: the two switches, and what passes in spite of them.

use crate::whitelist::Whitelist;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// `authenticationEnabled`
    authenticate: bool,
    /// `authorizationEnabled`
    authorize: bool,
    /// `authenticationWhitelist`: what may be anybody's.
    open: Whitelist,
    /// `authorizationWhitelist`: what every user may do.
    free: Whitelist,
}

/// What a request has to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Nothing,
    /// It comes from the user it names.
    User,
    /// And that user may have what it needs.
    UserAndRights,
}

impl Rules {
    /// The values of the four keys.
    pub fn new(authenticate: bool, authorize: bool, open: &str, free: &str) -> Self {
        Rules { authenticate, authorize, open: Whitelist::read(open), free: Whitelist::read(free) }
    }

    pub fn is_on(&self) -> bool {
        self.authenticate || self.authorize
    }

    /// Whether users may have different rights.
    pub fn authorizes(&self) -> bool {
        self.authorize
    }

    /// For a request of the remoting protocol.
    pub fn of_code(&self, code: i32) -> Check {
        self.check(|list| list.has_code(code))
    }

    /// For a message of gRPC, by its full name.
    pub fn of_message(&self, name: &str) -> Check {
        self.check(|list| list.has_message(name))
    }

    /// Whose name nobody proves has no rights either: what is open has to be free, too.
    fn check(&self, is_in: impl Fn(&Whitelist) -> bool) -> Check {
        if self.authorize && !is_in(&self.free) {
            Check::UserAndRights
        } else if self.authenticate && !is_in(&self.open) {
            Check::User
        } else {
            Check::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_has_to_be_free() {
        let check = |authenticate: bool, authorize: bool, open: &str, free: &str, expected: Check| {
            let rules = Rules::new(authenticate, authorize, open, free);
            assert_eq!(rules.of_code(10), expected, "{rules:?}");
            assert_eq!(rules.of_message("M"), expected, "{rules:?}");
        };
        check(false, false, "", "", Check::Nothing);
        check(true, false, "", "", Check::User);
        check(true, false, "10,M", "", Check::Nothing);
        check(true, true, "", "", Check::UserAndRights);
        check(true, true, "10,M", "", Check::UserAndRights);
        check(true, true, "", "10,M", Check::User);
        check(true, true, "10,M", "10,M", Check::Nothing);
        check(true, true, "11,N", "11,N", Check::UserAndRights);
    }
}
