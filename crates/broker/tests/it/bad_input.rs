//! Requests that no client sends: each has its answer, and the connection and the broker go on.

use crate::node::Node;
use crate::requests::*;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;

#[tokio::test]
async fn unknown_codes() {
    let node = Node::start().await;
    for code in [0, -1, 9, 4_711, 299_999, i32::MAX] {
        let answer = node.call(Command::request(code)).await;
        assert_code(
            &answer,
            response::REQUEST_CODE_NOT_SUPPORTED,
            &[&format!(" request type {code} not supported")],
        );
    }
    node.stop().await;
}

#[tokio::test]
async fn requests_without_their_fields() {
    let node = Node::start().await;
    for code in
        [10, 310, 320, 11, 361, 12, 14, 15, 29, 30, 31, 32, 33, 36, 37, 323, 200_050, 200_051, 200_053]
    {
        let answer = node.call(Command::request(code)).await;
        assert_code(&answer, response::SYSTEM_ERROR, &["lacks the field"]);
        node.oneway(Command::request(code)).await;
    }
    for field in ["b", "e", "f", "g", "h"] {
        let answer = node.call(without(send("T", "x"), field)).await;
        assert_code(&answer, response::SYSTEM_ERROR, &["lacks the field", field]);
    }
    assert_code(&node.call(send("T", "still there")).await, response::SUCCESS, &[]);
    node.stop().await;
}

#[tokio::test]
async fn numbers_that_are_none_or_too_large() {
    let node = Node::start().await;
    assert_code(&node.call(send("T", "x")).await, response::SUCCESS, &[]);
    for value in ["x", "", "1.5", "99999999999999999999", " 1", "0x10"] {
        for field in ["e", "f", "g", "h", "j"] {
            let answer = node.call(change(send("T", "x"), field, value)).await;
            assert_code(&answer, response::SYSTEM_ERROR, &[field]);
        }
        for field in ["queueId", "queueOffset", "maxMsgNums", "sysFlag", "suspendTimeoutMillis"] {
            let answer = node.call(change(pull("g", "T", 0, 0), field, value)).await;
            assert_code(&answer, response::SYSTEM_ERROR, &[field]);
        }
    }
    for (field, value) in [("g", i64::MIN), ("g", i64::MAX), ("g", -1)] {
        assert_code(&node.call(change(send("T", "x"), field, value)).await, response::SUCCESS, &[]);
    }
    assert_eq!(node.all("T", 0).await.len(), 4);
    node.stop().await;
}

#[tokio::test]
async fn names_and_properties_that_are_no_text_of_a_client() {
    let node = Node::start().await;
    for properties in [
        "\u{1}",
        "\u{2}",
        "\u{2}\u{2}\u{2}",
        "a",
        "a\u{1}",
        "\u{1}b\u{2}",
        "a\u{1}b\u{1}c",
        "\u{0}\u{1}\u{0}\u{2}",
    ] {
        assert_code(&node.call(send_raw("T", 0, properties, "x")).await, response::SUCCESS, &[]);
    }
    for message in node.all("T", 0).await {
        assert!(message.property("UNIQ_KEY").is_some(), "{message:?}");
        assert_eq!(message.property("CLUSTER"), Some("DefaultCluster"));
    }
    let group = "g".repeat(100_000);
    let answer = node.call(pull(&group, "T", 0, 0)).await;
    assert_code(&answer, response::SUBSCRIPTION_GROUP_NOT_EXIST, &[]);
    let topic = "t".repeat(100_000);
    let answer = node.call(send(&topic, "x")).await;
    assert_code(&answer, response::INVALID_PARAMETER, &["100000", "127"]);
    assert!(answer.remark.expect("a remark").len() < 1_000);
    node.stop().await;
}

#[tokio::test]
async fn both_header_encodings_are_answered_in_kind() {
    use roxmq_protocol::header::Encoding;
    let node = Node::start().await;
    for encoding in [Encoding::Json, Encoding::Binary] {
        for request in [send("T", "x"), pull("g", "T", 0, 0), Command::request(request::GET_MAX_OFFSET)] {
            let (answered, code) = node.raw(encoding, request).await;
            assert_eq!(answered, encoding);
            assert!([0, 1].contains(&code), "{code}");
        }
    }
    node.stop().await;
}
