//! Requests that pass without a check (`authenticationWhitelist`, `authorizationWhitelist`).

/// Request codes of the remoting protocol, and full names of gRPC's messages, with commas between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whitelist {
    codes: Vec<i32>,
    messages: Vec<Box<str>>,
}

impl Whitelist {
    /// What is no number is a name, and may be nobody's.
    pub fn read(text: &str) -> Self {
        let mut list = Whitelist::default();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            match item.parse() {
                Ok(code) => list.codes.push(code),
                Err(_) => list.messages.push(item.into()),
            }
        }
        list
    }

    pub fn has_code(&self, code: i32) -> bool {
        self.codes.contains(&code)
    }

    pub fn has_message(&self, name: &str) -> bool {
        self.messages.iter().any(|message| **message == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_messages_are_listed_together() {
        let list = Whitelist::read(" 105, apache.rocketmq.v2.QueryRouteRequest ,,-1");
        assert!(list.has_code(105) && list.has_code(-1) && !list.has_code(10));
        assert!(list.has_message("apache.rocketmq.v2.QueryRouteRequest") && !list.has_message("105"));
        assert_eq!(Whitelist::read(" "), Whitelist::default());
    }
}
