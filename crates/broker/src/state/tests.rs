//! The state over restarts, crashes, damaged files and the Java server's files.

use crate::broker::{Broker, BrokerOptions, StartReport};
use crate::config::{BrokerConfig, CurrentConfig};
use crate::groups::SubscriptionGroupConfig;
use crate::offsets::QueueOffsets;
use crate::registration::NoNameServers;
use crate::state::{Change, Which, log_offsets};
use crate::topics::topic_config;
use crate::upkeep;
use roxmq_access::{Policies, User, UserType};
use roxmq_protocol::body::access::AclInfo;
use roxmq_protocol::body::assignment::{MessageRequestMode, MessageRequestModeSetting};
use roxmq_protocol::json::FromJson;
use roxmq_store::files::{FileSystem, OpenMode, ReadMode};
use roxmq_store::{AppendBatch, Millis, NewMessage, QueueId};
use roxmq_testkit::{Crash, FaultFiles, TestClock};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROOT: &str = "/store";
const Q0: QueueId = QueueId(0);

fn try_open(files: &Arc<FaultFiles>) -> Result<(Arc<Broker>, StartReport), crate::broker::StartError> {
    let config = BrokerConfig {
        store_path_root_dir: Some(PathBuf::from(ROOT)),
        mapped_file_size_commit_log: 8 << 20,
        max_hash_slot_num: 100,
        max_index_num: 400,
        ..BrokerConfig::default()
    };
    Broker::open(BrokerOptions {
        config: Arc::new(CurrentConfig::new(config)),
        files: Arc::clone(files) as Arc<dyn FileSystem>,
        clock: Arc::new(TestClock::at(Millis(1_700_000_000_000))),
        name_servers: Arc::new(NoNameServers),
        advertised: "127.0.0.1:10911".parse().expect("an address"),
    })
}

fn open(files: &Arc<FaultFiles>) -> (Arc<Broker>, StartReport) {
    try_open(files).expect("the broker opens")
}

/// The broker after its process was killed.
fn reopen_killed(
    files: &Arc<FaultFiles>,
    broker: Arc<Broker>,
) -> (Arc<FaultFiles>, Arc<Broker>, StartReport) {
    let after = files.crash(Crash::Process, 0);
    drop(broker);
    let (broker, report) = open(&after);
    (after, broker, report)
}

fn log(broker: &Broker) {
    log_offsets(&broker.state_log, broker.tables()).expect("the log takes the offsets");
}

fn write_files(broker: &Broker) {
    write_files_at(broker, 1);
}

fn write_files_at(broker: &Broker, now: i64) {
    let written =
        broker.snapshots.write(&broker.state_log, &broker.store, broker.tables(), Which::All, Millis(now));
    written.expect("the files are written");
}

fn path(name: &str) -> PathBuf {
    Path::new(ROOT).join("config").join(name)
}

fn write_file(files: &Arc<FaultFiles>, name: &str, content: &[u8]) {
    files.create_dir_all(&Path::new(ROOT).join("config")).expect("the directory");
    let file = files.open(&path(name), OpenMode::Create).expect("the file");
    file.set_len(content.len() as u64).expect("its length");
    file.write_all_at(&[content], 0).expect("its content");
}

fn read_file(files: &Arc<FaultFiles>, name: &str) -> Option<String> {
    let file = files.open(&path(name), OpenMode::Read).ok()?;
    let mut content = vec![0; file.len().ok()? as usize];
    file.read_exact_at(&mut content, 0, ReadMode::Blocking).ok()?;
    String::from_utf8(content).ok()
}

/// A message, so that the log grows by something that is no state.
fn send(broker: &Broker, topic: &str, queue: QueueId) {
    let mut batch = AppendBatch::new();
    let host = broker.advertised;
    let message = NewMessage {
        topic,
        queue_id: queue,
        flag: 0,
        sys_flag: 0,
        born: Millis(1),
        born_host: host,
        store_host: host,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body: b"body",
        properties: b"",
        tags_code: 0,
        key_hashes: &[],
    };
    batch.push(&broker.store, &message).expect("room in the batch");
    broker.store.append(&mut batch).expect("room in the log");
}

/// Topics `T` and `U` and a group `G` with offsets, and what was deleted again.
fn fill(broker: &Broker) {
    broker.topics.put(topic_config("T", 4, 6)).expect("T");
    broker.topics.put(topic_config("U", 1, 6)).expect("U");
    broker.topics.put(topic_config("Gone", 1, 6)).expect("Gone");
    broker
        .groups
        .put(SubscriptionGroupConfig { retry_max_times: 3, ..SubscriptionGroupConfig::new("G") })
        .expect("G");
    broker.groups.get_or_create("Left").expect("Left");
    broker.groups.set_forbidden("G", "T", 1).expect("forbidden");
    for (topic, group) in [("T", "G"), ("Gone", "G"), ("T", "Left")] {
        broker.request_modes.put(popping(topic, group)).expect("a mode");
    }
    for name in ["kept", "gone"] {
        broker.accounts.create(user(name)).expect("a user");
        broker.accounts.add_policies(name, &policies("Topic:T")).expect("policies");
    }
    broker.accounts.delete("gone").expect("a deletion");
    for (group, topic, queue, offset) in
        [("G", "T", 0, 5), ("G", "T", 3, 7), ("G", "Gone", 0, 1), ("Left", "T", 0, 9), ("Left", "U", 0, 2)]
    {
        broker.offsets.commit(group, topic, QueueId(queue), offset);
    }
    log(broker);
    broker.delete_topic("Gone").expect("delete Gone");
    broker.delete_group("Left", true).expect("delete Left");
    broker.offsets.commit("G", "U", Q0, 11);
    broker.delay_offsets.set(3, 40);
    log(broker);
}

fn user(name: &str) -> User {
    User::new(name, "secret", UserType::Normal).expect("a user")
}

fn policies(resource: &str) -> Policies {
    let entry = format!(r#"{{"actions":["Pub"],"decision":"Allow","resource":"{resource}"}}"#);
    let text = format!(r#"{{"policies":[{{"entries":[{entry}]}}]}}"#);
    Policies::from_info(&AclInfo::from_json_bytes(text.as_bytes()).expect("JSON")).expect("policies")
}

fn popping(topic: &str, group: &str) -> MessageRequestModeSetting {
    MessageRequestModeSetting {
        consumer_group: group.to_owned(),
        mode: MessageRequestMode::Pop,
        pop_share_queue_num: 2,
        topic: topic.to_owned(),
    }
}

#[track_caller]
fn check_filled(broker: &Broker) {
    let topic = broker.topics.get("T").expect("T");
    assert_eq!((topic.read_queue_nums, topic.perm), (4, 6));
    assert!(broker.topics.get("U").is_some());
    assert!(broker.topics.get("Gone").is_none());
    assert_eq!(broker.groups.get("G").expect("G").retry_max_times, 3);
    assert!(broker.groups.get("Left").is_none());
    assert_eq!(broker.groups.forbidden("G", "T"), 1);
    let modes = [("T".to_owned(), [("G".to_owned(), popping("T", "G"))].into())].into();
    assert_eq!(broker.request_modes.all(), modes);
    assert_eq!(broker.accounts.all(), [(user("kept"), Some(policies("Topic:T")))]);
    let of_t = QueueOffsets::from([(Q0, 5), (QueueId(3), 7)]);
    let expected = [("T".to_owned(), of_t), ("U".to_owned(), QueueOffsets::from([(Q0, 11)]))].into();
    assert_eq!(broker.offsets.all(), [("G".to_owned(), expected)].into());
    assert_eq!(broker.delay_offsets.all(), [(3, 40)].into());
}

#[test]
fn a_killed_broker_has_everything_from_the_log() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    fill(&broker);
    let version = broker.topics.data_version();
    let (files, broker, report) = reopen_killed(&files, broker);
    check_filled(&broker);
    assert!(report.replayed_changes > 0);
    assert_eq!(report.repairs, Vec::<String>::new());
    assert_eq!(broker.topics.data_version().counter, version.counter);
    let (_, broker, report) = reopen_killed(&files, broker);
    check_filled(&broker);
    assert_eq!(report.replayed_changes, 0, "the start before has written the files");
}

#[test]
fn what_came_after_the_files_is_made_again_on_top_of_them() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    fill(&broker);
    broker.offsets.commit("G", "T", Q0, 3);
    broker.topics.put(topic_config("Gone", 1, 6)).expect("Gone");
    log(&broker);
    write_files(&broker);
    broker.delete_topic("Gone").expect("delete Gone");
    broker.offsets.commit("G", "T", Q0, 5);
    log(&broker);
    let (_, broker, report) = reopen_killed(&files, broker);
    check_filled(&broker);
    assert_eq!(report.replayed_changes, 2);
}

#[test]
fn a_deletion_that_was_cut_short_is_finished() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    broker.topics.put(topic_config("T", 1, 6)).expect("T");
    send(&broker, "T", Q0);
    // The process dies between the record of the deletion and the removal of the queues.
    let mut turn = broker.state_log.turn();
    turn.record(&Change::DeleteTopic("T".to_owned())).expect("the record");
    drop(turn);
    let (_, broker, _) = reopen_killed(&files, broker);
    assert!(broker.topics.get("T").is_none());
    assert!(broker.store.queues("T").is_empty());
}

#[test]
fn a_clean_stop_leaves_nothing_to_replay() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    fill(&broker);
    broker.offsets.commit("G", "T", Q0, 6);
    broker.offsets.commit("G", "T", Q0, 5);
    upkeep::finish(&broker);
    drop(broker);
    let (broker, report) = open(&files);
    check_filled(&broker);
    assert_eq!(report.replayed_changes, 0);
    assert!(!report.store.crashed);
}

const FILES: [&str; 6] = [
    "topics.json",
    "subscriptionGroup.json",
    "messageRequestMode.json",
    "accessControl.json",
    "consumerOffset.json",
    "delayOffset.json",
];

/// Topic, offset or delay-progress files were zero bytes or garbled after a power cut, and the server failed to start,
/// or started as if new.
#[test]
fn a_damaged_file_is_replaced_by_its_copy_and_the_log() {
    let damages: [&[u8]; 4] = [b"", &[0; 100], b"{\"offsetTable\":{", b"{}"];
    for name in FILES {
        for damage in damages {
            let files = FaultFiles::new();
            let (broker, _) = open(&files);
            broker.topics.put(topic_config("Early", 1, 6)).expect("Early");
            broker.topics.remove(&mut broker.state_log.turn(), "Early");
            broker.groups.get_or_create("Left").expect("Left");
            broker.offsets.commit("Left", "T", Q0, 1);
            broker.delay_offsets.set(3, 1);
            broker.request_modes.put(popping("Gone", "Left")).expect("a mode");
            broker.accounts.create(user("early")).expect("a user");
            broker.accounts.delete("early").expect("a deletion");
            write_files(&broker);
            fill(&broker);
            upkeep::finish(&broker);
            drop(broker);
            write_file(&files, name, damage);
            let (broker, report) = open(&files);
            check_filled(&broker);
            assert_eq!(report.repairs.len(), 1, "{name}: {:?}", report.repairs);
            assert!(report.repairs[0].contains(name), "{name}: {:?}", report.repairs);
            assert!(
                files.open(&path(&format!("{name}.damaged")), OpenMode::Read).is_ok(),
                "{name} was kept aside"
            );
            drop(broker);
            let (_, report) = open(&files);
            assert_eq!(report.repairs, Vec::<String>::new(), "{name} was written anew");
        }
    }
}

#[test]
fn without_any_good_file_the_log_is_enough() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    fill(&broker);
    upkeep::finish(&broker);
    drop(broker);
    for name in FILES {
        write_file(&files, name, b"garbage");
        write_file(&files, &format!("{name}.bak"), b"garbage");
    }
    let (broker, report) = open(&files);
    check_filled(&broker);
    assert_eq!(report.repairs.len(), FILES.len(), "{:?}", report.repairs);
}

/// A file as the Java server writes it: without the log's position.
fn java_offsets(offset: i64) -> String {
    format!("{{\n\t\"dataVersion\":{{\"counter\":7}},\n\t\"offsetTable\":{{\"T@G\":{{0:{offset}}}}}\n}}")
}

const JAVA_TOPICS: &str = r#"{"dataVersion":{"counter":9,"stateVersion":0,"timestamp":5},"topicConfigTable":{
    "T":{"attributes":{},"order":false,"perm":6,"readQueueNums":2,"topicFilterType":"SINGLE_TAG","topicName":"T",
    "topicSysFlag":0,"writeQueueNums":2}}}"#;

const JAVA_GROUPS: &str = r#"{"dataVersion":{"counter":1},"forbiddenTable":{},"subscriptionGroupTable":{
    "G":{"groupName":"G","retryMaxTimes":5,"groupRetryPolicy":{"type":"CUSTOMIZED"}}}}"#;

#[test]
fn the_java_servers_files_are_adopted_once() {
    let files = FaultFiles::new();
    write_file(&files, "topics.json", JAVA_TOPICS.as_bytes());
    write_file(&files, "subscriptionGroup.json", JAVA_GROUPS.as_bytes());
    write_file(&files, "consumerOffset.json", java_offsets(5).as_bytes());
    let (broker, report) = open(&files);
    assert_eq!(report.repairs, Vec::<String>::new());
    assert_eq!(broker.groups.get("G").expect("G").retry_max_times, 5);
    assert_eq!(broker.topics.get("T").expect("T").write_queue_nums, 2);
    assert_eq!(broker.topics.data_version().counter, 9);
    assert_eq!(broker.offsets.get("G", "T", Q0), Some(5));
    // What follows counts although the process dies before any file is written again.
    broker.offsets.commit("G", "T", Q0, 8);
    log(&broker);
    let (_, broker, report) = reopen_killed(&files, broker);
    assert_eq!(broker.offsets.get("G", "T", Q0), Some(8));
    assert_eq!(report.replayed_changes, 1);
}

#[test]
fn what_the_java_server_wrote_last_counts_more_than_an_older_log() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    broker.topics.put(topic_config("T", 1, 6)).expect("T");
    broker.offsets.commit("G", "T", Q0, 100);
    log(&broker);
    upkeep::finish(&broker);
    drop(broker);
    write_file(&files, "consumerOffset.json", java_offsets(50).as_bytes());
    let (broker, _) = open(&files);
    assert_eq!(broker.offsets.get("G", "T", Q0), Some(50));
    assert!(broker.topics.get("T").is_some());
}

#[test]
fn topics_and_groups_of_a_java_store_are_guessed_if_their_files_are_lost() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    for queue in 0..3 {
        send(&broker, "Lost", QueueId(queue));
    }
    upkeep::finish(&broker);
    drop(broker);
    write_file(&files, "topics.json", b"garbage");
    write_file(&files, "subscriptionGroup.json", b"garbage");
    write_file(&files, "consumerOffset.json", java_offsets(5).as_bytes());
    let (broker, report) = open(&files);
    assert_eq!(broker.topics.get("Lost").expect("the topic").write_queue_nums, 3);
    assert!(broker.groups.get("G").is_some());
    let said = |word: &str| report.repairs.iter().any(|repair| repair.contains(word));
    assert!(said("topics.json") && said("Lost") && said("group G"), "{:?}", report.repairs);
    let (_, broker, _) = reopen_killed(&files, broker);
    assert_eq!(broker.topics.get("Lost").expect("the topic").write_queue_nums, 3);
}

#[test]
fn the_files_say_up_to_where_they_hold_the_log() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    fill(&broker);
    write_files(&broker);
    let text = read_file(&files, "consumerOffset.json").expect("the file");
    assert!(text.contains(&format!("\"roxmqLogOffset\":{}", broker.store.max_phy_offset())), "{text}");
    assert!(text.contains("\"T@G\":{\n\t\t\t0:5,\n\t\t\t3:7\n\t\t}"), "{text}");
}

/// A table that never changed kept the position of its file, and every start read the log from there on.
#[test]
fn files_that_nothing_changes_are_written_now_and_then() {
    let files = FaultFiles::new();
    let (broker, _) = open(&files);
    fill(&broker);
    write_files(&broker);
    let check = |now: i64, expected: bool| {
        broker.offsets.commit("G", "T", Q0, now);
        log(&broker);
        write_files_at(&broker, now);
        let end = format!("\"roxmqLogOffset\":{}", broker.store.max_phy_offset());
        let text = read_file(&files, "topics.json").expect("the file");
        assert_eq!(text.contains(&end), expected, "at {now}: {text}");
        assert!(read_file(&files, "consumerOffset.json").expect("the file").contains(&end));
    };
    check(2, false);
    check(300_000, true);
    check(599_999, false);
    check(600_000, true);
}

/// The power fails at every sync of a run; whatever the disk kept, the broker starts, and what had been made durable
/// before is there.
#[test]
fn a_power_failure_at_any_sync_loses_nothing_that_was_durable() {
    let run = |files: &Arc<FaultFiles>| -> usize {
        let Ok((broker, _)) = try_open(files) else { return 0 };
        let mut durable = 0;
        for count in 1..=4 {
            let made = broker.topics.put(topic_config(&format!("T{count}"), 1, 6)).is_ok();
            broker.offsets.commit("G", "T", Q0, count as i64);
            let logged = log_offsets(&broker.state_log, broker.tables()).is_ok();
            let written = broker.snapshots.write(
                &broker.state_log,
                &broker.store,
                broker.tables(),
                Which::All,
                Millis(1),
            );
            if !made || !logged || written.is_err() {
                break;
            }
            durable = count;
        }
        durable
    };
    let whole = FaultFiles::new();
    assert_eq!(run(&whole), 4);
    for sync in 0..whole.syncs() {
        let files = FaultFiles::new();
        files.turn_off_at_sync(sync);
        let durable = run(&files);
        for (mode, seed) in
            [(Crash::LoseUnsynced, 0), (Crash::ScatterUnsynced, 1), (Crash::ScatterUnsynced, 2)]
        {
            let (broker, report) = open(&files.crash(mode, seed));
            for count in 1..=durable {
                assert!(
                    broker.topics.get(&format!("T{count}")).is_some(),
                    "T{count} after {mode:?} at sync {sync}: {report:?}"
                );
            }
            let offset = broker.offsets.get("G", "T", Q0).unwrap_or(0);
            assert!(offset >= durable as i64, "offset {offset} of {durable} after {mode:?} at sync {sync}");
        }
    }
}
