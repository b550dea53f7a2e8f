//! Codes 100, 101, 102 and 219.

use crate::support::TestNamesrv;
use roxmq_namesrv::RegisteredAddress;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;
use std::sync::Arc;

fn of(code: i32, namespace: &str, key: &str) -> Command {
    Command::request(code).with("namespace", namespace).with("key", key)
}

#[tokio::test]
async fn values_are_kept_over_a_restart() {
    let ns = TestNamesrv::start(&[]).await;
    assert_eq!(ns.call(of(request::PUT_KV_CONFIG, "NS", "k").with("value", "v=é")).await.code, 0);
    assert_eq!(ns.call(of(request::PUT_KV_CONFIG, "NS", "gone").with("value", "x")).await.code, 0);
    assert_eq!(ns.call(of(request::DELETE_KV_CONFIG, "NS", "gone")).await.code, 0);
    let home = ns.stop().await;

    let ns = TestNamesrv::start_in(home, &[], Arc::new(RegisteredAddress)).await;
    assert_eq!(ns.call(of(request::GET_KV_CONFIG, "NS", "k")).await.field("value"), Some("v=é"));
    let list =
        |namespace: &str| Command::request(request::GET_KVLIST_BY_NAMESPACE).with("namespace", namespace);
    assert_eq!(ns.text(list("NS")).await, r#"{"table":{"k":"v=é"}}"#);
    let (code, remark) = ns.refusal(of(request::GET_KV_CONFIG, "NS", "gone")).await;
    assert_eq!((code, remark.as_str()), (22, "No config item, Namespace: NS Key: gone"));
    assert_eq!(ns.refusal(list("none")).await, (22, "No config item, Namespace: none".to_owned()));
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let ns = TestNamesrv::start(&[]).await;
    let cases = [
        (Command::request(request::PUT_KV_CONFIG), "namespace"),
        (Command::request(request::PUT_KV_CONFIG).with("namespace", "NS"), "key"),
        (of(request::PUT_KV_CONFIG, "NS", "k"), "value"),
        (Command::request(request::GET_KV_CONFIG), "namespace"),
        (Command::request(request::DELETE_KV_CONFIG), "namespace"),
        (Command::request(request::GET_KVLIST_BY_NAMESPACE), "namespace"),
    ];
    for (request, field) in cases {
        assert_eq!(ns.refusal(request).await, (1, format!("the request lacks the field {field}")));
    }
}
