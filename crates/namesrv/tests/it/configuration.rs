//! Codes 318 and 319.

use crate::support::TestNamesrv;
use roxmq_protocol::code::request;
use roxmq_protocol::command::Command;

fn update(text: &str) -> Command {
    Command::request(request::UPDATE_NAMESRV_CONFIG).body(text.to_owned())
}

#[tokio::test]
async fn changes_are_live_and_kept_in_the_file_that_people_edit() {
    let ns = TestNamesrv::start(&[]).await;
    let path = ns.home.path().join("namesrv/namesrv.properties");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "# ours\nsupportActingMaster = false\n").unwrap();
    assert_eq!(ns.call(update("supportActingMaster=true\nlistenPort=9999")).await.code, 0);
    assert_eq!(ns.call(update("")).await.code, 0);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "# ours\nsupportActingMaster=true\nlistenPort=9999\n"
    );
    assert!(ns.namesrv.config().support_acting_master);
    let shown = ns.text(Command::request(request::GET_NAMESRV_CONFIG)).await;
    assert!(shown.contains("supportActingMaster=true\n") && shown.contains("listenPort=9999\n"), "{shown}");
}

#[tokio::test]
async fn bad_changes_are_refused_whole() {
    let ns = TestNamesrv::start(&[]).await;
    let check = async |text: &str, code: i32, expected: &str| {
        let (found, remark) = ns.refusal(update(text)).await;
        assert_eq!(found, code, "{text}");
        assert!(remark.contains(expected), "{text}: {remark}");
    };
    check("orderMessageEnable=true\nkvConfigPath=/tmp/x", 16, "Can not update config in black list.").await;
    check("configStorePath=/tmp/x", 16, "configStorePath").await;
    check("rocketmqHome=/tmp/x", 16, "rocketmqHome").await;
    check("configBlackList=", 16, "configBlackList").await;
    check("orderMesageEnable=true", 1, "did you mean orderMessageEnable?").await;
    check("orderMessageEnable=yes", 1, "orderMessageEnable should be true or false but is 'yes'").await;
    check("bindAddress=::\\nkvConfigPath=/tmp/x", 1, "bindAddress should be a text on one line").await;
    let not_text = Command::request(request::UPDATE_NAMESRV_CONFIG).body(&b"\xff"[..]);
    assert!(ns.refusal(not_text).await.1.starts_with("string2Properties error"));
    assert!(!ns.namesrv.config().order_message_enable);
    assert!(!ns.home.path().join("namesrv/namesrv.properties").exists());
}
