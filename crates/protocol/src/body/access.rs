//! Users and what they may do (3001 to 3010).
//!
//! What a word of these means is nobody's business here: a peer may send words that nobody knows.

json_object! {
    /// A user. A request to change one says only what is to change.
    pub struct UserInfo {
        "password" password: Option<String>,
        "userStatus" user_status: Option<String>,
        "userType" user_type: Option<String>,
        "username" username: Option<String>,
    }
}

json_object! {
    /// What a subject may do.
    pub struct AclInfo {
        "policies" policies: Vec<PolicyInfo>,
        /// `User:` and the name.
        "subject" subject: Option<String>,
    }
}

json_object! {
    pub struct PolicyInfo {
        "entries" entries: Vec<PolicyEntryInfo>,
        /// `Custom` or `Default`.
        "policyType" policy_type: Option<String>,
    }
}

json_object! {
    pub struct PolicyEntryInfo {
        "actions" actions: Vec<String>,
        /// `Allow` or `Deny`.
        "decision" decision: Option<String>,
        /// `*`, or a type and a name, or the beginning of names, as in `Topic:orders*`.
        "resource" resource: Option<String>,
        /// Addresses and networks (`10.0.0.0/8`); nothing for all.
        "sourceIps" source_ips: Option<Vec<String>>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{FromJson, ToJson};

    #[test]
    fn a_user_in_the_form_of_the_java_tools() {
        let text = r#"{"password":"p","userStatus":"enable","userType":"Normal","username":"u"}"#;
        let user = UserInfo::from_json_bytes(text.as_bytes()).expect("a user");
        assert_eq!(user.user_type.as_deref(), Some("Normal"));
        assert_eq!(user.to_json_text(), text);
        let change = UserInfo::from_json_bytes(br#"{"userStatus":"disable","username":"u"}"#);
        assert_eq!(change.expect("a change").password, None);
    }

    #[test]
    fn an_acl_in_the_form_of_the_java_tools() {
        let text = r#"{"policies":[{"entries":[{"actions":["Pub","Sub"],"decision":"Allow","resource":"Topic:T","sourceIps":["10.0.0.0/8"]}],"policyType":"Custom"}],"subject":"User:u"}"#;
        let acl = AclInfo::from_json_bytes(text.as_bytes()).expect("an ACL");
        assert_eq!(acl.policies[0].entries[0].resource.as_deref(), Some("Topic:T"));
        assert_eq!(acl.to_json_text(), text);
    }
}
