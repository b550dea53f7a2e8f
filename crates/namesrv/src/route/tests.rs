use super::*;
use roxmq_protocol::body::data_version::DataVersion;
use roxmq_protocol::body::static_topic::TopicQueueMappingInfo;
use roxmq_protocol::json::{Form, ToJson};
use std::time::{Duration, Instant};

const PLAIN: RoutePolicy =
    RoutePolicy { acting_master: false, notify_min_broker_id: false, delete_unregistered_topics: false };
const ACTING: RoutePolicy = RoutePolicy { acting_master: true, notify_min_broker_id: true, ..PLAIN };

/// A table with a clock that the test moves.
struct Cluster {
    table: RouteTable,
    now: Instant,
    policy: RoutePolicy,
}

/// A registration of `name` with an id, at `name:id`, with topics of permission 6.
fn broker(name: &str, id: i64, topics: &[&str]) -> Registration {
    let queues = TopicQueues { read_queue_nums: 4, write_queue_nums: 4, perm: 6, topic_sys_flag: 0 };
    Registration {
        cluster: "c".to_owned(),
        broker_name: name.to_owned(),
        broker_id: id,
        broker_addr: format!("{name}:{id}"),
        ha_server_addr: format!("{name}:{id}-ha"),
        data_version: DataVersion { counter: 1, ..DataVersion::default() },
        topics: topics.iter().map(|topic| ((*topic).to_owned(), queues)).collect(),
        ..Registration::default()
    }
}

fn with_perm(mut registration: Registration, topic: &str, perm: i32) -> Registration {
    registration.topics.get_mut(topic).expect("the topic is there").perm = perm;
    registration.data_version.counter += 1;
    registration
}

impl Cluster {
    fn new(policy: RoutePolicy) -> Self {
        Cluster { table: RouteTable::default(), now: Instant::now(), policy }
    }

    fn try_register(&mut self, registration: Registration) -> Result<Registered, RegisterError> {
        self.table.register(registration, 1, self.now, self.policy)
    }

    fn register(&mut self, registration: Registration) -> Registered {
        self.try_register(registration).expect("the registration is accepted")
    }

    /// The route in short: `name{id=addr,...}perm` for each broker.
    fn route(&self, topic: &str) -> String {
        let Some(route) = self.table.route(topic, self.policy) else { return "none".to_owned() };
        let brokers = route.broker_datas.iter().zip(&route.queue_datas).map(|(broker, queues)| {
            assert_eq!(broker.broker_name, queues.broker_name);
            let addrs: Vec<String> =
                broker.broker_addrs.iter().map(|(id, addr)| format!("{id}={addr}")).collect();
            format!("{}{{{}}}{}", broker.broker_name, addrs.join(","), queues.perm)
        });
        brokers.collect::<Vec<_>>().join(" ")
    }

    fn topics(&self) -> String {
        self.table.all_topics().into_iter().collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn brokers_of_a_topic_are_in_its_route() {
    let mut cluster = Cluster::new(PLAIN);
    assert_eq!(cluster.route("T"), "none");
    assert_eq!(cluster.register(broker("a", 0, &["T", "U"])), Registered::default());
    cluster.register(broker("b", 0, &["T", "V"]));
    let slave = cluster.register(broker("a", 1, &["T", "U"]));
    assert_eq!(slave.master_addr.as_deref(), Some("a:0"));
    assert_eq!(slave.ha_server_addr.as_deref(), Some("a:0-ha"));
    assert_eq!(cluster.route("T"), "a{0=a:0,1=a:1}6 b{0=b:0}6");
    assert_eq!(cluster.route("U"), "a{0=a:0,1=a:1}6");
    assert_eq!(cluster.topics(), "T U V");
}

/// A topic was created in the first seconds after a name server started, and hid all others of its broker.
#[test]
fn a_single_topic_is_no_first_registration() {
    let mut cluster = Cluster::new(PLAIN);
    let error = cluster.try_register(broker("a", 0, &["new"])).expect_err("the others would be hidden");
    assert!(error.to_string().starts_with("register broker failed"), "{error}");
    assert_eq!(
        cluster.table.cluster_info().to_json_text(),
        r#"{"brokerAddrTable":{},"clusterAddrTable":{}}"#
    );
    cluster.register(broker("a", 0, &["T", "U", "new"]));
    cluster.register(broker("a", 0, &["newer"]));
    assert_eq!(cluster.topics(), "T U new newer");
    // A broker that says that this is all it has is believed, and so is one without a topic.
    cluster.register(Registration { full: true, ..broker("b", 0, &["only"]) });
    cluster.register(broker("c", 0, &[]));
    assert_eq!(cluster.topics(), "T U new newer only");
}

/// With equal data versions too: the version tells nothing about topics that this server has lost.
#[test]
fn a_full_registration_after_single_ones_brings_all_topics() {
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("a", 0, &["x", "y"]));
    cluster.register(broker("a", 0, &["T", "U", "x", "y"]));
    assert_eq!(cluster.topics(), "T U x y");
}

#[test]
fn blank_names_are_refused() {
    let check = |registration: Registration, field: &'static str| {
        let error = Cluster::new(PLAIN).try_register(registration).expect_err(field);
        assert_eq!(error, RegisterError::Blank(field));
    };
    check(Registration { cluster: " ".to_owned(), ..broker("a", 0, &[]) }, "clusterName");
    check(Registration { broker_name: String::new(), ..broker("a", 0, &[]) }, "brokerName");
    check(Registration { broker_addr: String::new(), ..broker("a", 0, &[]) }, "brokerAddr");
}

#[test]
fn a_slave_that_becomes_master_has_one_id() {
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("a", 0, &["T", "U"]));
    cluster.register(broker("a", 1, &["T", "U"]));
    cluster.register(Registration { broker_addr: "a:1".to_owned(), ..broker("a", 0, &["T", "U"]) });
    assert_eq!(cluster.route("T"), "a{0=a:1}6");
}

#[test]
fn a_master_with_an_older_epoch_is_ignored() {
    let mut cluster = Cluster::new(PLAIN);
    let version = |state_version| DataVersion { state_version, ..DataVersion::default() };
    cluster.register(Registration { data_version: version(2), ..broker("a", 0, &["T", "U"]) });
    cluster.register(broker("a", 1, &["T", "U"]));
    let late = Registration {
        broker_addr: "a:1".to_owned(),
        data_version: version(1),
        ..broker("a", 0, &["T", "U", "stale"])
    };
    assert_eq!(cluster.register(late), Registered::default());
    assert_eq!(cluster.route("T"), "a{0=a:0}6");
    assert_eq!(cluster.topics(), "T U");
}

#[test]
fn only_the_master_or_the_prime_slave_speaks_for_the_set() {
    let new_slave =
        |id, topics: &[&str]| Registration { enable_acting_master: Some(false), ..broker("a", id, topics) };
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("a", 1, &["T", "U"]));
    assert_eq!(cluster.topics(), "", "a slave too old to be one");
    cluster.register(new_slave(2, &["T", "U"]));
    assert_eq!(cluster.topics(), "", "not the smallest id");
    cluster.register(new_slave(1, &["T", "U"]));
    assert_eq!(cluster.topics(), "T U");
    cluster.register(broker("a", 0, &["T", "U", "V"]));
    cluster.register(new_slave(1, &["T", "U", "W"]));
    assert_eq!(cluster.topics(), "T U V");
}

#[test]
fn an_acting_master_can_be_asked_but_not_written_to() {
    let member = |id| Registration { enable_acting_master: Some(true), ..broker("a", id, &["T", "U"]) };
    let mut cluster = Cluster::new(ACTING);
    cluster.register(member(0));
    cluster.register(member(1));
    cluster.register(member(2));
    assert_eq!(cluster.route("T"), "a{0=a:0,1=a:1,2=a:2}6");
    let notice = cluster.table.unregister("a", "a:0", ACTING).expect("the smallest id left");
    assert_eq!(notice.to, ["a:1", "a:2"]);
    assert_eq!((notice.min_broker_id, notice.min_broker_addr.as_str()), (1, "a:1"));
    assert_eq!(notice.offline_broker_addr.as_deref(), Some("a:0"));
    assert_eq!(cluster.route("T"), "a{0=a:1,2=a:2}4");
    cluster.policy = PLAIN;
    assert_eq!(cluster.route("T"), "a{1=a:1,2=a:2}4", "shown as it is unless supportActingMaster is on");
    cluster.policy = ACTING;
    let notice = cluster.register(member(0)).notice.expect("the smallest id changed");
    assert_eq!(notice.to, ["a:1", "a:2"]);
    assert_eq!((notice.min_broker_id, notice.ha_broker_addr.as_deref()), (0, Some("a:0-ha")));
    assert_eq!(cluster.route("T"), "a{0=a:0,1=a:1,2=a:2}6");
}

#[test]
fn members_of_a_set_without_acting_master_are_not_told_who_left() {
    let mut cluster = Cluster::new(ACTING);
    cluster.register(broker("a", 0, &["T", "U"]));
    cluster.register(broker("a", 1, &["T", "U"]));
    assert_eq!(cluster.table.unregister("a", "a:0", ACTING), None);
    assert_eq!(cluster.route("T"), "a{1=a:1}6");
}

#[test]
fn the_topic_for_members_is_not_the_acting_masters() {
    let topic = "rmq_sys_SYNC_BROKER_MEMBER_a";
    let mut cluster = Cluster::new(ACTING);
    cluster.register(Registration { enable_acting_master: Some(true), ..broker("a", 1, &["T", topic]) });
    assert_eq!(cluster.route("T"), "a{0=a:1}4");
    assert_eq!(cluster.route(topic), "a{1=a:1}4");
}

#[test]
fn the_last_member_takes_everything_with_it() {
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("a", 0, &["T", "U"]));
    cluster.register(broker("a", 1, &["T", "U"]));
    cluster.register(broker("b", 0, &["T", "V"]));
    cluster.table.unregister("a", "a:0", PLAIN);
    assert_eq!(cluster.route("T"), "a{1=a:1}6 b{0=b:0}6");
    cluster.table.unregister("a", "a:1", PLAIN);
    cluster.table.unregister("a", "a:1", PLAIN);
    assert_eq!(cluster.route("T"), "b{0=b:0}6");
    assert_eq!(cluster.topics(), "T V");
    cluster.table.unregister("b", "b:0", PLAIN);
    assert_eq!(
        cluster.table.cluster_info().to_json_text(),
        r#"{"brokerAddrTable":{},"clusterAddrTable":{}}"#
    );
}

#[test]
fn silent_brokers_expire_after_what_they_said() {
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("default", 0, &["T", "U"]));
    cluster.register(Registration { heartbeat_timeout_ms: Some(10_000), ..broker("quick", 0, &["T", "U"]) });
    let start = cluster.now;
    let check = |cluster: &mut Cluster, after_ms: u64, expected: &[&str]| {
        let (gone, _) = cluster.table.expire(start + Duration::from_millis(after_ms), PLAIN);
        let names: Vec<&str> = gone.iter().map(|gone| gone.broker_name.as_str()).collect();
        assert_eq!(names, expected, "after {after_ms} ms");
    };
    check(&mut cluster, 10_000, &[]);
    check(&mut cluster, 10_001, &["quick"]);
    check(&mut cluster, 120_000, &[]);
    cluster.table.heard_of("c", "default", "default:0", start + Duration::from_millis(120_000));
    check(&mut cluster, 240_000, &[]);
    check(&mut cluster, 240_001, &["default"]);
    assert_eq!(cluster.route("T"), "none");
}

#[test]
fn a_broker_that_came_back_outlives_its_old_connection() {
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("a", 0, &["T", "U"]));
    cluster.table.register(broker("a", 0, &["T", "U"]), 2, cluster.now, PLAIN).expect("fine");
    assert_eq!(cluster.table.connection_closed("a", "a:0", 1, PLAIN), None);
    assert_eq!(cluster.route("T"), "a{0=a:0}6");
    assert_eq!(cluster.table.connection_closed("a", "a:0", 2, PLAIN), Some(None));
    assert_eq!(cluster.route("T"), "none");
}

/// Wiping the write permission of a broker lasted until any of its topics changed.
#[test]
fn a_wiped_permission_stays_until_it_is_given_back_or_the_topic_changes() {
    let mut cluster = Cluster::new(PLAIN);
    let all = broker("a", 0, &["T", "U", "V"]);
    cluster.register(all.clone());
    cluster.register(broker("b", 0, &["T", "U"]));
    assert_eq!(cluster.table.wipe_write_perm("a"), 3);
    assert_eq!(cluster.table.wipe_write_perm("nobody"), 0);
    assert_eq!(cluster.route("T"), "a{0=a:0}4 b{0=b:0}6");
    cluster.register(all.clone());
    let changed = with_perm(all, "V", 7);
    cluster.register(changed.clone());
    assert_eq!([cluster.route("U"), cluster.route("V")], ["a{0=a:0}4 b{0=b:0}6", "a{0=a:0}7"]);
    let read_only = with_perm(changed, "U", 4);
    cluster.register(read_only);
    assert_eq!(cluster.table.add_write_perm("a"), 3);
    assert_eq!(cluster.route("T"), "a{0=a:0}6 b{0=b:0}6");
    assert_eq!(cluster.route("U"), "a{0=a:0}4 b{0=b:0}6", "the broker itself says read-only");
}

/// A topic deleted on one broker stayed in the route for ever.
#[test]
fn a_full_registration_drops_topics_that_are_gone() {
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("a", 0, &["T", "U"]));
    cluster.register(broker("b", 0, &["T", "U"]));
    cluster.register(broker("a", 0, &["U"]));
    assert_eq!(cluster.route("T"), "a{0=a:0}6 b{0=b:0}6", "it may be the change of a single topic");
    cluster.register(Registration { full: true, ..broker("a", 0, &["U"]) });
    assert_eq!(cluster.route("T"), "b{0=b:0}6");
    cluster.policy = RoutePolicy { delete_unregistered_topics: true, ..PLAIN };
    cluster.register(broker("b", 0, &["U", "W"]));
    assert_eq!(cluster.topics(), "U W");
}

#[test]
fn topics_are_deleted_everywhere_or_in_one_cluster() {
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("a", 0, &["T", "U"]));
    cluster.register(Registration { cluster: "d".to_owned(), ..broker("b", 0, &["T", "U"]) });
    assert!(!cluster.table.delete_topic("T", Some("no such cluster")));
    assert!(!cluster.table.delete_topic("T", Some("c")));
    assert_eq!(cluster.route("T"), "b{0=b:0}6");
    assert!(cluster.table.delete_topic("T", Some("d")));
    assert!(cluster.table.delete_topic("U", None));
    assert!(cluster.table.delete_topic("never there", None));
    assert_eq!(cluster.topics(), "");
}

#[test]
fn a_single_topic_is_told_for_known_brokers_only() {
    let mut cluster = Cluster::new(PLAIN);
    cluster.register(broker("a", 0, &["T", "U"]));
    let queues = TopicQueues { read_queue_nums: 1, write_queue_nums: 1, perm: 6, topic_sys_flag: 0 };
    let on = |name: &str| (name.to_owned(), queues);
    assert_eq!(cluster.table.register_topic("N", &[on("a"), on("ghost")]), Err("ghost".to_owned()));
    assert_eq!(cluster.route("N"), "none");
    assert_eq!(cluster.table.register_topic("N", &[on("a")]), Ok(()));
    assert_eq!(cluster.route("N"), "a{0=a:0}6");
}

#[test]
fn lists_of_topics() {
    let mut cluster = Cluster::new(PLAIN);
    let mut units = broker("a", 0, &["none", "unit", "sub", "both"]);
    for (topic, flag) in [("unit", 1), ("sub", 2), ("both", 3)] {
        units.topics.get_mut(topic).expect("there").topic_sys_flag = flag;
    }
    cluster.register(units);
    cluster.register(Registration { cluster: "d".to_owned(), ..broker("b", 0, &["T", "U"]) });
    let check = |found: std::collections::BTreeSet<String>, expected: &str| {
        assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), expected);
    };
    check(cluster.table.unit_topics(UnitList::Unit), "both unit");
    check(cluster.table.unit_topics(UnitList::HasUnitSub), "both sub");
    check(cluster.table.unit_topics(UnitList::HasUnitSubButNoUnit), "sub");
    check(cluster.table.topics_of_cluster("d"), "T U");
    check(cluster.table.topics_of_cluster("none"), "");
    let (names, addr) = cluster.table.system_topics();
    check(names, "a b c d");
    assert_eq!(addr.as_deref(), Some("a:0"));
}

#[test]
fn a_zone_keeps_its_brokers_and_those_without_master() {
    let mut cluster = Cluster::new(PLAIN);
    let zoned = |name: &str, id, zone: &str| Registration {
        zone_name: Some(zone.to_owned()),
        enable_acting_master: Some(false),
        ..broker(name, id, &["T", "U"])
    };
    cluster.register(zoned("here", 0, "Z1"));
    cluster.register(zoned("there", 0, "z2"));
    cluster.register(zoned("orphan", 1, "z2"));
    let mut route = cluster.table.route("T", PLAIN).expect("a route");
    keep_zone(&mut route, "z1");
    let names: Vec<&str> = route.broker_datas.iter().map(|broker| broker.broker_name.as_str()).collect();
    let queues: Vec<&str> = route.queue_datas.iter().map(|queues| queues.broker_name.as_str()).collect();
    assert_eq!((names, queues), (vec!["here", "orphan"], vec!["here", "orphan"]));
}

#[test]
fn routes_have_the_forms_of_the_java_server() {
    let mut cluster = Cluster::new(PLAIN);
    let mapping = TopicQueueMappingInfo {
        bname: "a".to_owned(),
        topic: "T".to_owned(),
        total_queues: 1,
        curr_id_map: [(0, 0)].into(),
        ..Default::default()
    };
    cluster.register(Registration {
        zone_name: Some("zürich".to_owned()),
        mappings: [("T".to_owned(), mapping)].into(),
        filter_servers: Some(vec!["f:1".to_owned()]),
        ..broker("a", 0, &["T", "U"])
    });
    let route = cluster.table.route("T", PLAIN).expect("a route");
    let rest = |quote: &str| {
        format!(
            r#""brokerName":"a","cluster":"c","enableActingMaster":false,"zoneName":"ZONE"}}],"filterServerTable":{{"a:0":["f:1"]}},"queueDatas":[{{"brokerName":"a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}}],"topicQueueMappingByBroker":{{"a":{{"bname":"a","currIdMap":{{{quote}0{quote}:0}},"dirty":false,"epoch":0,"topic":"T","totalQueues":1}}}}}}"#
        )
    };
    let bare =
        format!(r#"{{"brokerDatas":[{{"brokerAddrs":{{0:"a:0"}},{}"#, rest("")).replace("ZONE", "zürich");
    assert_eq!(route.to_json_text(), bare);
    let standard = format!(r#"{{"brokerDatas":[{{"brokerAddrs":{{"0":"a:0"}},{}"#, rest("\""))
        .replace("ZONE", r"z\u00fcrich");
    assert_eq!(String::from_utf8(route.to_json_in(Form::Standard)).expect("ASCII"), standard);
    assert_eq!(
        cluster.table.cluster_info().to_json_text(),
        r#"{"brokerAddrTable":{"a":{"brokerAddrs":{0:"a:0"},"brokerName":"a","cluster":"c","enableActingMaster":false,"zoneName":"zürich"}},"clusterAddrTable":{"c":["a"]}}"#
    );
}
