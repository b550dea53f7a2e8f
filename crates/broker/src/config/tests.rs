use super::*;
use roxmq_store::FlushMode;
use std::path::PathBuf;

fn read(text: &str) -> Result<(BrokerConfig, Vec<String>), ConfigErrors> {
    BrokerConfig::from_pairs(text.lines().filter_map(|line| line.split_once('=')))
}

#[test]
fn java_keys_set_fields_and_blanks_around_values_are_no_matter() {
    let text = "brokerName= broker-x \nlistenPort=10921 \nautoCreateTopicEnable=FALSE\nflushDiskType=SYNC_FLUSH\n\
                storePathRootDir=/data/store\nbrokerRole=SYNC_MASTER";
    let (config, notes) = read(text).expect("a good configuration");
    assert_eq!(config.broker_name, "broker-x");
    assert_eq!(config.listen_port, 10921);
    assert!(!config.auto_create_topic_enable);
    assert_eq!(config.flush_disk_type, FlushMode::Sync);
    assert_eq!(config.store_root(), PathBuf::from("/data/store"));
    assert_eq!(config.broker_role, BrokerRole::SyncMaster);
    assert_eq!(notes, Vec::<String>::new());
    let options = config.store_options().expect("options");
    assert_eq!(options.commit_log_dir, PathBuf::from("/data/store/commitlog"));
    assert_eq!(options.flush, FlushMode::Sync);
    assert_eq!(options.retention.delete_hours, vec![4]);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = "listenPort=x\ndeleteWhen=24\nmaxMessageSize=0\nbrokerName=a b\nmessageDelayLevel=1x";
    let ConfigErrors(errors) = read(text).expect_err("five faults");
    for key in ["listenPort", "deleteWhen", "maxMessageSize", "brokerName", "messageDelayLevel"] {
        assert!(errors.iter().any(|error| error.contains(key)), "{key} in {errors:?}");
    }
    assert_eq!(errors.len(), 5, "{errors:?}");
    assert!(
        errors.contains(&"listenPort should be a number from 0 to 65535 but is 'x'".to_owned()),
        "{errors:?}"
    );
}

#[test]
fn what_is_not_there_yet_is_not_ignored() {
    for text in [
        "aclEnable=true",
        "migrateAuthFromV1Enabled=true",
        "brokerRole=SLAVE\nbrokerId=1",
        "enableControllerMode=true",
    ] {
        let ConfigErrors(errors) = read(text).expect_err(text);
        assert_eq!(errors.len(), 1, "{errors:?}");
    }
    assert!(read("aclEnable=false").is_ok());
}

#[test]
fn tools_see_no_passwords() {
    let text = "tls.server.keyPassword=open sesame\ninitAuthenticationUser={\"username\":\"u\",\"password\":\"sesame\"}";
    let (config, _) = read(text).expect("a good configuration");
    let listing = config.listing();
    assert_eq!(listing["tls.server.keyPassword"], "******");
    assert_eq!(listing["initAuthenticationUser"], "******");
    assert_eq!(listing["innerClientAuthenticationCredentials"], "");
    assert!(!format!("{config:?}").contains("\"sesame"), "{config:?}");
}

#[test]
fn access_control_is_not_half_on() {
    let refused = |text: &str, words: &[&str]| {
        let ConfigErrors(errors) = read(text).expect_err(text);
        assert_eq!(errors.len(), 1, "{errors:?}");
        words.iter().for_each(|word| assert!(errors[0].contains(word), "{word} in {errors:?}"));
        assert!(!errors[0].contains("secret"), "{errors:?}");
    };
    refused("authorizationEnabled=true", &["authorizationEnabled", "authenticationEnabled=true"]);
    refused("initAuthenticationUser={secret", &["initAuthenticationUser", "JSON"]);
    refused("initAuthenticationUser={\"password\":\"secret\"}", &["initAuthenticationUser", "username"]);
    refused("innerClientAuthenticationCredentials={\"secretKey\":\"secret\"}", &["accessKey"]);
    // Lines that users of the Java server have to have.
    let (_, notes) = read(
        "authenticationEnabled=true\nauthorizationEnabled=true\n\
         authenticationProvider=org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider\n\
         initAuthenticationUser={\"username\":\"u\",\"password\":\"secret\"}\nuserCacheMaxNum=1000",
    )
    .expect("a good configuration");
    assert_eq!(notes.len(), 2, "{notes:?}");
}

#[test]
fn unknown_keys_are_kept_and_named_with_a_hint() {
    let (config, notes) =
        read("flushDiskTyp=SYNC_FLUSH\nsendMessageThreadPoolNums=8\nqqqqqqqqqqqq=1").expect("no error");
    assert_eq!(
        notes,
        [
            "flushDiskTyp is no known key; did you mean flushDiskType?",
            "sendMessageThreadPoolNums has no effect in this server",
            "qqqqqqqqqqqq is no known key",
        ]
    );
    assert_eq!(config.listing().get("flushDiskTyp").map(String::as_str), Some("SYNC_FLUSH"));
    assert_eq!(config.listing().get("sendMessageThreadPoolNums").map(String::as_str), Some("8"));
}

#[test]
fn the_listing_has_the_java_servers_keys() {
    let listing = BrokerConfig::default().listing();
    let check =
        |key: &str, expected: &str| assert_eq!(listing.get(key).map(String::as_str), Some(expected), "{key}");
    check("brokerPermission", "6");
    check("flushDiskType", "ASYNC_FLUSH");
    check("mappedFileSizeCommitLog", "1073741824");
    check("waitTimeMillsInSendQueue", "200");
    check("transactionCheckMax", "15");
    assert!(listing.len() > 450, "{}", listing.len());
}

#[test]
fn a_change_says_what_needs_a_start() {
    let config = BrokerConfig::default();
    let pairs =
        [("maxMessageSize", "8388608"), ("flushDiskType", "SYNC_FLUSH"), ("ackThreadPoolQueueCapacity", "5")];
    let update = config.update(pairs).expect("a good change");
    assert_eq!(update.config.max_message_size, 8 << 20);
    assert_eq!(update.at_start, ["flushDiskType"]);
    assert_eq!(update.without_effect, ["ackThreadPoolQueueCapacity"]);
}

#[test]
fn a_change_with_a_fault_is_refused_as_a_whole() {
    let config = BrokerConfig::default();
    let check = |pairs: &[(&str, &str)], expected: &str| {
        let error = config.update(pairs.iter().copied()).expect_err("a fault");
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(&[("traceOn", "false"), ("maxMessageSize", "much")], "maxMessageSize should be a number");
    check(&[("maxMesageSize", "5")], "did you mean maxMessageSize?");
    check(&[("brokerPermission", "9")], "brokerPermission should be from 0 to 6 but is 9");
    check(&[("regionId", "a\nrocketmqHome=/tmp")], "the value of regionId has control characters");
}

/// The configuration request of the Java server let anybody write files and run commands.
#[test]
fn keys_that_name_files_are_not_changed_by_requests() {
    let config =
        BrokerConfig { config_black_list: "configBlackList;regionId".to_owned(), ..BrokerConfig::default() };
    for key in [
        "rocketmqHome",
        "brokerConfigPath",
        "configBlackList",
        "storePathRootDir",
        "remoteAdminEnable",
        "regionId",
    ] {
        let refused = UpdateError::Forbidden(key.to_owned());
        assert_eq!(config.update([(key, "/tmp/x")]).expect_err(key), refused);
    }
}
