//! How many messages a second one thread asks an SQL92 expression about:
//! `cargo run --release -p roxmq-broker --example sql_filter`

use roxmq_broker::filter::sql::SqlExpression;
use roxmq_protocol::properties::push;
use std::hint::black_box;
use std::time::Instant;

const EVALUATIONS: u32 = 4_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let messages: Vec<Vec<u8>> = (0..64).map(properties).collect();
    for text in [
        "price > 100 AND region = 'EU' AND TAGS IN ('paid', 'shipped')",
        "price BETWEEN 10 AND 90.5 OR region IS NULL OR note CONTAINS 'late'",
        "region = 'EU'",
        "missing > 5",
    ] {
        let expression = SqlExpression::compile(text)?;
        let before = Instant::now();
        let mut matched = 0;
        for n in 0..EVALUATIONS {
            let properties = &messages[n as usize % messages.len()];
            matched += u32::from(black_box(&expression).matches(black_box(properties)));
        }
        let took = before.elapsed().as_secs_f64();
        let share = f64::from(matched) / f64::from(EVALUATIONS) * 100.0;
        println!("{:>6.2} million/s, {share:>5.1} % match: {text}", f64::from(EVALUATIONS) / took / 1e6);
    }
    Ok(())
}

/// What the messages of a shop carry, with what the client and the broker add: some 250 bytes.
fn properties(n: usize) -> Vec<u8> {
    let mut properties = Vec::new();
    for (name, value) in [
        ("UNIQ_KEY", "7F000001A1B218B4AAC2000000000001".to_owned()),
        ("KEYS", format!("order-{n:08}")),
        ("price", (n * 7 % 200).to_string()),
        ("region", ["EU", "US", "APAC"][n % 3].to_owned()),
        ("note", ["left at the door", "came late", "nothing to say"][n % 3].to_owned()),
        ("WAIT", "true".to_owned()),
        ("TAGS", ["paid", "open", "shipped", "lost"][n % 4].to_owned()),
        ("MSG_REGION", "DefaultRegion".to_owned()),
        ("TRACE_ON", "true".to_owned()),
        ("CLUSTER", "DefaultCluster".to_owned()),
    ] {
        push(&mut properties, name, &value);
    }
    properties
}
