//! `roxmq store check` of a store that a server wrote.

use crate::client::{properties, send};
use crate::process::run;
use crate::server::{Server, check_store};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use tempfile::TempDir;

const MESSAGES: i32 = 200;
const BODY: &str = "a body that nothing else looks like";

fn written_store() -> TempDir {
    let store = TempDir::new().unwrap();
    let server = Server::start(store.path(), &[]);
    let mut peer = server.connect();
    let message =
        |n: i32| send("T", n % 8, &properties(&[("KEYS", &format!("k{n}"))]), format!("{BODY} {n}"));
    let answers = peer.call_all((0..MESSAGES).map(message).collect());
    assert!(answers.iter().all(|answer| answer.code == 0));
    assert!(server.terminate().status.success());
    store
}

/// Turns a bit of the last message's body over, and gives the byte at which its record starts.
fn damage_last_body(log: &Path) -> usize {
    const BODY_LENGTH_BYTES: usize = 4;
    let bytes = fs::read(log).unwrap();
    let last = format!("{BODY} {}", MESSAGES - 1);
    let at = bytes.windows(last.len()).position(|window| window == last.as_bytes()).unwrap();
    let file = OpenOptions::new().write(true).open(log).unwrap();
    file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
    let fixed = roxmq_protocol::record::Layout::of(0).body_length + BODY_LENGTH_BYTES;
    at - fixed
}

#[test]
fn a_sound_store() {
    let store = written_store();
    let ended = check_store(store.path(), &[]);
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    assert!(ended.stdout.contains("the store is sound"), "{ended:#?}");
    let ended = check_store(store.path(), &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["sound"], true, "{report:#}");
    assert_eq!(report["crashed"], false, "{report:#}");
    // Its key, and the unique key that the broker gives to a message without one.
    assert_eq!(report["keys"], 2 * MESSAGES, "{report:#}");
    assert!(report["records"].as_i64().unwrap() >= i64::from(MESSAGES), "{report:#}");
    assert_eq!(report["problems"], serde_json::json!([]), "{report:#}");
}

#[test]
fn a_damaged_body_is_named_and_left_alone() {
    let store = written_store();
    let log = store.path().join("commitlog/00000000000000000000");
    let at = damage_last_body(&log);
    let before = fs::read(&log).unwrap();
    let ended = check_store(store.path(), &[]);
    assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
    let problem = format!("problem: {} at byte {at}: ", log.display());
    assert!(ended.stdout.contains(&problem), "'{problem}' is not in {ended:#?}");
    assert!(ended.stdout.contains("the store is damaged"), "{ended:#?}");
    let ended = check_store(store.path(), &["--json"]);
    assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["sound"], false, "{report:#}");
    assert_eq!(report["problems"][0]["file"], log.display().to_string(), "{report:#}");
    assert_eq!(report["problems"][0]["byte"], at, "{report:#}");
    assert_eq!(fs::read(&log).unwrap(), before, "a check changes nothing");
}

#[test]
fn a_directory_that_is_not_there() {
    run(&["store", "check", "/nowhere/at/all"])
        .assert_failed(&["cannot check /nowhere/at/all", "No such file"]);
}
