//! Requests that consumers answer through the broker: 223, 307 and 309.

use crate::clients::{assert_noticed, body, heartbeat, of_group};
use crate::node::Node;
use crate::requests::{assert_code, change, messages, send};
use crate::wire::Wire;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::language::Language;

fn running_info(group: &str, client_id: &str) -> Command {
    of_group(request::GET_CONSUMER_RUNNING_INFO, group).with("clientId", client_id).with("jstackEnable", true)
}

#[tokio::test]
async fn a_consumer_answers_through_the_broker() {
    let node = Node::start().await;
    let (mut consumer, mut tool) = (Wire::connect(&node).await, Wire::connect(&node).await);
    consumer.call(heartbeat("c", "g", &["T"])).await;
    assert_noticed(&mut consumer, "g").await;

    let opaque = tool.send(running_info("g", "c").with("unknownField", "kept")).await;
    let asked = consumer.pushed().await;
    assert_eq!(asked.code, request::GET_CONSUMER_RUNNING_INFO);
    assert!(!asked.is_oneway());
    let fields = ["consumerGroup", "clientId", "jstackEnable", "unknownField"].map(|name| asked.field(name));
    assert_eq!(fields, [Some("g"), Some("c"), Some("true"), Some("kept")]);
    let info = r#"{"mqTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"commitOffset":5}}}"#;
    consumer.respond(&asked, Command::response(response::SUCCESS).body(info)).await;
    let answer = tool.answer(opaque).await;
    assert_code(&answer, response::SUCCESS, &[]);
    assert_eq!(body(&answer), info);

    let opaque = tool.send(running_info("g", "c")).await;
    let asked = consumer.pushed().await;
    consumer.respond(&asked, Command::response(response::SYSTEM_ERROR).remark("no such consumer here")).await;
    assert_code(&tool.answer(opaque).await, response::SYSTEM_ERROR, &["no such consumer here"]);

    let opaque = tool.send(running_info("g", "c")).await;
    consumer.pushed().await;
    drop(consumer);
    assert_code(&tool.answer(opaque).await, response::SYSTEM_ERROR, &["invoke consumer <g> <c> failed"]);
    node.stop().await;
}

#[tokio::test]
async fn a_consumer_gets_one_message_through_the_broker() {
    let node = Node::start_with(&[("brokerName", "b")]).await;
    let (mut consumer, mut tool) = (Wire::connect(&node).await, Wire::connect(&node).await);
    consumer.call(heartbeat("c", "g", &["T"])).await;
    assert_noticed(&mut consumer, "g").await;
    let sent = tool.call(send("T", "again")).await;
    let id = sent.field("msgId").unwrap();
    let directly = |id: &str| {
        of_group(request::CONSUME_MESSAGE_DIRECTLY, "g")
            .with("clientId", "c")
            .with("msgId", id)
            .with("topic", "T")
    };

    let opaque = tool.send(directly(id)).await;
    let asked = consumer.pushed().await;
    assert_eq!(asked.code, request::CONSUME_MESSAGE_DIRECTLY);
    assert_eq!(asked.field("brokerName"), Some("b"));
    assert_eq!((asked.field("topicSysFlag"), asked.field("groupSysFlag")), (Some("0"), Some("0")));
    assert_eq!(messages(&asked)[0].text(), "again");
    consumer
        .respond(&asked, Command::response(response::SUCCESS).body(r#"{"consumeResult":"CR_SUCCESS"}"#))
        .await;
    assert_eq!(body(&tool.answer(opaque).await), r#"{"consumeResult":"CR_SUCCESS"}"#);

    let beyond = format!("{}{:016X}", &id[..16], 1_u64 << 40);
    assert_code(&tool.call(directly(&beyond)).await, response::SYSTEM_ERROR, &["no message"]);
    assert_code(&tool.call(directly("none")).await, response::SYSTEM_ERROR, &["'none'"]);
    node.stop().await;
}

#[tokio::test]
async fn consumers_say_where_they_are() {
    let node = Node::start().await;
    let mut tool = Wire::connect(&node).await;
    let (mut first, mut second) = (Wire::connect(&node).await, Wire::connect(&node).await);
    first.call(heartbeat("c1", "g", &["T"])).await;
    second.call(heartbeat("c2", "g", &["T"])).await;
    assert_noticed(&mut first, "g").await;
    assert_noticed(&mut first, "g").await;
    assert_noticed(&mut second, "g").await;
    let asked =
        Command::request(request::INVOKE_BROKER_TO_GET_CONSUMER_STATUS).with("topic", "T").with("group", "g");
    let table = r#"{{"brokerName":"b","queueId":0,"topic":"T"}:5}"#;
    let stands = || {
        let body = format!(r#"{{"consumerTable":{{}},"messageQueueTable":{table}}}"#);
        Command::response(response::SUCCESS).body(body)
    };

    let opaque = tool.send(asked.clone()).await;
    for (consumer, answer) in
        [(&mut first, stands()), (&mut second, Command::response(response::SYSTEM_ERROR))]
    {
        let request = consumer.pushed().await;
        assert_eq!(request.code, request::GET_CONSUMER_STATUS_FROM_CLIENT);
        assert_eq!((request.field("topic"), request.field("group")), (Some("T"), Some("g")));
        consumer.respond(&request, answer).await;
    }
    let of = |client: &str| format!(r#"{{"consumerTable":{{"{client}":{table}}},"messageQueueTable":{{}}}}"#);
    assert_eq!(body(&tool.answer(opaque).await), of("c1"));

    let opaque = tool.send(asked.clone().with("clientAddr", "c2")).await;
    let request = second.pushed().await;
    second.respond(&request, stands()).await;
    assert_eq!(body(&tool.answer(opaque).await), of("c2"));
    assert_eq!(first.pushed_so_far().await, Vec::<i32>::new());

    let nobody = node.call(change(asked.clone(), "group", "nobody")).await;
    assert_code(&nobody, response::SYSTEM_ERROR, &["No Any Consumer online", "[nobody]"]);
    let mut old = Wire::connect_as(&node, Language::Java, 1).await;
    old.call(heartbeat("old", "g", &["T"])).await;
    assert_code(&node.call(asked).await, response::SYSTEM_ERROR, &["does not support", "old"]);
    node.stop().await;
}

#[tokio::test]
async fn consumers_that_can_not_answer_are_not_asked() {
    let node = Node::start().await;
    let mut old = Wire::connect_as(&node, Language::Java, 61).await;
    old.call(heartbeat("old", "g", &["T"])).await;
    let check = async |client_id: &str, words: &[&str]| {
        assert_code(&node.call(running_info("g", client_id)).await, response::SYSTEM_ERROR, words);
    };
    check("old", &["too low", "V3_1_8_SNAPSHOT"]).await;
    check("nobody", &["The Consumer <g> <nobody> not online"]).await;
    node.stop().await;
}
