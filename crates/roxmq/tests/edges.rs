//! The crates' dependencies on each other are a decision: a new edge is added here first.

use std::fs;
use std::path::Path;

const ALLOWED: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("access", &["protocol"]),
    ("remoting", &["protocol"]),
    ("store", &["protocol"]),
    ("namesrv", &["protocol", "remoting"]),
    ("broker", &["access", "protocol", "remoting", "store"]),
    ("proxy", &["access", "protocol", "remoting"]),
    ("testkit", &["protocol", "store"]),
    ("roxmq", &["broker", "namesrv", "protocol", "proxy", "remoting", "store"]),
];

#[test]
fn dependencies_point_down() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in a folder");
    let mut seen = Vec::new();
    for entry in fs::read_dir(crates).expect("the folder of the crates can be listed") {
        let path = entry.expect("its entries can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("crate names are UTF-8").to_owned();
        let manifest = fs::read_to_string(path.join("Cargo.toml")).expect("each crate has a manifest");
        let (_, allowed) = ALLOWED
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("crate {name} isn't in the list of allowed edges"));
        for edge in edges(&manifest) {
            assert!(allowed.contains(&edge.as_str()), "{name} must not depend on {edge}");
        }
        seen.push(name);
    }
    assert_eq!(seen.len(), ALLOWED.len(), "a crate of the list is gone: {seen:?}");
}

/// The project's own crates among the ordinary dependencies; tests may use `testkit`.
fn edges(manifest: &str) -> Vec<String> {
    let dependencies = manifest.split("\n[dependencies]").nth(1).unwrap_or("");
    let dependencies = dependencies.split("\n[").next().unwrap_or("");
    dependencies
        .lines()
        .filter_map(|line| line.strip_prefix("roxmq-"))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .map(str::to_owned)
        .collect()
}
