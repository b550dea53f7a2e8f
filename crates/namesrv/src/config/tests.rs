use super::*;

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(list: &[(&str, &str)]) -> Result<(NamesrvConfig, Vec<ConfigNotice>), ConfigErrors> {
    NamesrvConfig::from_properties(Path::new("/home/rmq"), &pairs(list))
}

#[test]
fn keys_of_a_file_change_the_defaults() {
    let (config, notices) = read(&[
        ("listenPort", "9877 "),
        ("supportActingMaster", "TRUE"),
        ("kvConfigPath", "/data/kv.json"),
        ("serverWorkerThreads", "8"),
        ("listenport", "1"),
        ("<!--", "licence"),
    ])
    .expect("every value is fine");
    assert_eq!(config.listen_port, 9877);
    assert!(config.support_acting_master);
    assert_eq!(config.kv_config_path, Path::new("/data/kv.json"));
    assert_eq!(config.config_store_path, Path::new("/home/rmq/namesrv/namesrv.properties"));
    let texts: Vec<String> = notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "serverWorkerThreads has no effect in this name server: threads are chosen by the runtime",
            "listenport is not a key of the name server and was ignored; did you mean listenPort?",
            "<!-- is not a key of the name server and was ignored",
        ]
    );
}

#[test]
fn everything_wrong_is_reported_at_once() {
    let errors =
        read(&[("listenPort", "98765"), ("enableTopicList", "yes"), ("scanNotActiveBrokerInterval", "0")])
            .expect_err("three values are wrong");
    assert_eq!(
        errors.to_string(),
        "listenPort should be a port from 0 to 65535 but is '98765'\n\
         enableTopicList should be true or false but is 'yes'\n\
         scanNotActiveBrokerInterval should be a number of milliseconds from 10 to 3600000 but is '0'"
    );
}

#[test]
fn changes_over_the_network_are_all_or_nothing() {
    let config = NamesrvConfig::new(Path::new("/home/rmq"));
    let check = |list: &[(&str, &str)], expected: &str| {
        let told = config.changed(&pairs(list)).map_or_else(|errors| errors.to_string(), |_| "ok".to_owned());
        assert_eq!(told, expected, "{list:?}");
    };
    let protected = |key: &str| {
        format!("{key} can't be changed over the network; set it in the configuration file and restart")
    };
    check(&[("orderMessageEnable", "true"), ("serverWorkerThreads", "9")], "ok");
    check(&[("kvConfigPath", "/etc/passwd")], &protected("kvConfigPath"));
    check(&[("rocketmqHome", "/tmp")], &protected("rocketmqHome"));
    check(&[("controllerStorePath", "/tmp")], &protected("controllerStorePath"));
    check(&[("remoteAdminEnable", "true")], &protected("remoteAdminEnable"));
    check(
        &[("bindAddress", "::\nkvConfigPath=/x")],
        "bindAddress should be a text on one line but is '::\nkvConfigPath=/x'",
    );
    check(
        &[("orderMesageEnable", "true"), ("enableTopicList", "1")],
        "orderMesageEnable is not a key of the name server; did you mean orderMessageEnable?\n\
         enableTopicList should be true or false but is '1'",
    );
}

#[test]
fn the_black_list_protects_further_keys() {
    let (config, _) = read(&[("configBlackList", "listenPort; enableTopicList")]).expect("a valid list");
    let errors = config.changed(&pairs(&[("enableTopicList", "false")])).expect_err("it is listed");
    assert!(errors.has_protected());
    assert!(
        config.changed(&pairs(&[("kvConfigPath", "/x")])).expect_err("paths stay protected").has_protected()
    );
}

#[test]
fn shown_values_read_back() {
    let (config, _) = read(&[("orderMessageEnable", "true"), ("clusterTest", "false")]).expect("valid");
    let text = config.to_properties();
    assert!(text.contains("\nclusterTest=false\n") && text.contains("orderMessageEnable=true\n"), "{text}");
    let list: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let (again, _) = NamesrvConfig::from_properties(Path::new("/"), &list).expect("what was shown is valid");
    assert_eq!(again, config);
}
