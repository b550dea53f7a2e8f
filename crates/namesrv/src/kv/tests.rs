use super::*;
use std::fs;

fn file() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("namesrv/kvConfig.json");
    (dir, path)
}

fn open(path: &Path) -> KvConfig {
    KvConfig::open(path).expect("the file can be read or is absent")
}

#[test]
fn what_was_put_is_there_after_a_restart() {
    let (_dir, path) = file();
    let kv = open(&path);
    kv.put("NS", "k", "v").expect("saved");
    kv.put("NS", "gone", "x").expect("saved");
    kv.put(ORDER_TOPIC_CONFIG, "T", "broker-a:4;broker-b:4").expect("saved");
    kv.delete("NS", "gone").expect("saved");
    kv.delete("no such namespace", "k").expect("nothing to do");
    let expected = r#"{"configTable":{"NS":{"k":"v"},"ORDER_TOPIC_CONFIG":{"T":"broker-a:4;broker-b:4"}}}"#;
    assert_eq!(fs::read_to_string(&path).expect("the file is there"), expected);

    let again = open(&path);
    assert_eq!(again.get("NS", "k").as_deref(), Some("v"));
    assert_eq!(again.get("NS", "gone"), None);
    assert_eq!(
        again.namespace_json(ORDER_TOPIC_CONFIG).as_deref(),
        Some(&br#"{"table":{"T":"broker-a:4;broker-b:4"}}"#[..])
    );
    assert_eq!(again.namespace_json("none"), None);
}

#[test]
fn an_emptied_namespace_stays() {
    let (_dir, path) = file();
    open(&path).put("NS", "k", "v").expect("saved");
    open(&path).delete("NS", "k").expect("saved");
    assert_eq!(open(&path).namespace_json("NS").as_deref(), Some(&br#"{"table":{}}"#[..]));
}

#[test]
fn a_damaged_file_is_put_aside_and_the_backup_used() {
    for damaged in ["", "{\"configTable\":{\"NS\":{\"k\":", "[]", "{\"configTable\":7}"] {
        let (_dir, path) = file();
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(&path, damaged).expect("written");
        let backup = files::with_suffix(&path, ".bak");
        fs::write(&backup, r#"{"configTable":{"NS":{"k":"old"}}}"#).expect("written");
        let kv = open(&path);
        assert_eq!(kv.get("NS", "k").as_deref(), Some("old"), "{damaged:?}");
        kv.put("NS", "k", "new").expect("saved");
        let aside = files::with_suffix(&path, ".damaged");
        assert_eq!(fs::read_to_string(aside).expect("put aside"), damaged);
        assert_eq!(open(&path).get("NS", "k").as_deref(), Some("new"));
    }
}

#[test]
fn what_the_java_server_writes_is_read() {
    let (_dir, path) = file();
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(&path, "{\n\t\"configTable\":{\"NS\":{\"k\":\"v\",\"n\":5,\"none\":null},\"E\":{},}\n}")
        .expect("written");
    let kv = open(&path);
    assert_eq!(kv.get("NS", "n").as_deref(), Some("5"));
    assert!(kv.namespace_json("E").is_some());
}

#[test]
fn a_change_that_is_not_saved_did_not_happen() {
    let (dir, path) = file();
    let kv = open(&path);
    kv.put("NS", "k", "v").expect("saved");
    let error = kv.put("NS", "big", &"x".repeat(TABLE_BYTES_MAX)).expect_err("over the limit");
    assert_eq!(
        error.to_string(),
        "the KV configuration would have 4194311 bytes of names and values; the limit is 4194304"
    );

    // A file where the directory should be makes every save fail.
    fs::remove_dir_all(path.parent().expect("a directory")).expect("removed");
    fs::write(dir.path().join("namesrv"), "").expect("written");
    let error = kv.put("NS", "k", "w").expect_err("no directory");
    assert!(error.to_string().contains("kvConfig.json (kvConfigPath)"), "{error}");
    assert_eq!(kv.get("NS", "k").as_deref(), Some("v"));
    assert_eq!(kv.get("NS", "big"), None);
}
