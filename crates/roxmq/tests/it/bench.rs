//! `roxmq bench` against a server of its own, and against none.

use crate::client::{Peer, create_topic};
use crate::process::{Process, run};
use crate::start::dev_port;
use serde_json::Value;
use std::net::TcpListener;
use tempfile::TempDir;

#[test]
fn every_workload_measures_a_server() {
    let temporary = TempDir::new().unwrap();
    let process = Process::spawn_in(temporary.path(), &["dev"]);
    let (process, ready) = process.wait_for_line("ready").unwrap();
    let port = dev_port(&ready);
    let address = format!("127.0.0.1:{port}");
    let bench = |workload: &str, more: &[&str]| -> Value {
        let common = ["bench", workload, "--addr", &address, "--seconds", "1", "--json"];
        let ended = run(&[&common, more].concat());
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        serde_json::from_str(&ended.stdout).unwrap()
    };
    let measure = |workload: &str, more: &[&str]| {
        let report = bench(workload, more);
        let name =
            if more.contains(&"--grpc") { format!("{workload} over gRPC") } else { workload.to_owned() };
        assert_sane(&report, &name, process.pid());
        report
    };
    let produced = measure("produce", &["--size", "200"]);
    let batches = measure("produce", &["--size", "200", "--batch", "16"]);
    let consumed = measure("consume", &[]);
    let sent = messages(&produced) + messages(&batches);
    assert!(messages(&consumed) <= sent, "{consumed:#} after {produced:#} and {batches:#}");
    measure("latency", &["--rate", "200"]);
    measure("produce", &["--grpc", "--size", "200", "--window", "4"]);
    measure("produce", &["--grpc", "--rate", "500", "--batch", "2"]);
    measure("consume", &["--grpc", "--fill", "2000"]);
    // A new group gets the last messages of a topic.
    assert_eq!(Peer::connect(port).unwrap().call(create_topic("BenchIdle")).code, 0);
    let waiting = bench("idle", &["--connections", "20", "--topic", "BenchIdle"]);
    assert_eq!(waiting["connections"], 20, "{waiting:#}");
    assert_eq!(waiting["waiting"]["pid"], process.pid(), "{waiting:#}");
    assert!(process.terminate().status.success());
}

#[test]
fn a_server_that_asks_who_comes_is_told() {
    let temporary = TempDir::new().unwrap();
    let user = r#"initAuthenticationUser={"username":"root","password":"secret"}"#;
    let keys = ["--set", "authenticationEnabled=true", "--set", "authorizationEnabled=true", "--set", user];
    let process = Process::spawn_in(temporary.path(), &[&["dev"][..], &keys].concat());
    let (process, ready) = process.wait_for_line("ready").unwrap();
    let address = format!("127.0.0.1:{}", dev_port(&ready));
    let bench = |workload: &[&str], password: &str| {
        let common = ["--addr", &address, "--seconds", "1", "--access-key", "root", "--secret-key", password];
        run(&[&["bench"], workload, &common].concat())
    };
    let workloads: [&[&str]; 5] = [
        &["produce", "--window", "4"],
        &["consume"],
        &["latency", "--rate", "100"],
        &["produce", "--grpc", "--window", "4"],
        &["consume", "--grpc", "--fill", "100"],
    ];
    for workload in workloads {
        let ended = bench(workload, "secret");
        assert_eq!(ended.status.code(), Some(0), "{workload:?}: {ended:#?}");
        let refused = bench(workload, "wrong");
        assert_eq!(refused.status.code(), Some(1), "{workload:?}: {refused:#?}");
    }
    assert!(process.terminate().status.success());
}

fn messages(report: &Value) -> u64 {
    report["messages"].as_u64().unwrap()
}

#[track_caller]
fn assert_sane(report: &Value, workload: &str, pid: u32) {
    let figure = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no figure: {report:#}"));
    assert_eq!(report["workload"], workload);
    assert_eq!(report["errors"], 0, "{report:#}");
    let (messages, seconds) = (messages(report), figure(&report["seconds"]));
    assert!(messages > 0 && seconds > 0.0, "{report:#}");
    let rate = messages as f64 / seconds;
    assert!((figure(&report["messages_per_second"]) - rate).abs() <= rate / 100.0, "{report:#}");
    let latency: Vec<f64> =
        ["p50", "p90", "p99", "p999", "max"].iter().map(|key| figure(&report["latency_us"][key])).collect();
    assert!(latency.is_sorted() && latency[0] > 0.0, "{report:#}");
    assert_eq!(report["server"]["pid"], pid, "the server was found by its port");
    assert!(figure(&report["server"]["anonymous_mib"]) > 0.0, "{report:#}");
}

#[test]
fn nobody_there() {
    // Bound and let go: a port where nobody listens.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let workloads: [&[&str]; 5] =
        [&["produce"], &["consume"], &["latency"], &["produce", "--grpc"], &["consume", "--grpc"]];
    for workload in workloads {
        let common: [&str; 4] = ["--addr", &address, "--seconds", "1"];
        let ended = run(&[&["bench"], workload, &common].concat());
        assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert!(text.contains(&format!("cannot connect to {address}")), "{ended:#?}");
        assert!(text.contains("refused"), "{ended:#?}");
    }
}
