//! `roxmq store check`: verifies a store offline, RoxMQ's or the Java server's.

use crate::settings::Settings;
use anyhow::Context;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use roxmq_store::check::{CheckReport, check};
use roxmq_store::files::OsFiles;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Verify logs, queues, index and checkpoint; nothing is changed. Exits with 1 if something is wrong.
    Check(CheckArguments),
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// The store's root (storePathRootDir).
    dir: PathBuf,
    /// Print what was found as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Action::Check(arguments) = arguments.action;
    let mut pairs = arguments.settings.pairs()?;
    pairs.push(("storePathRootDir".to_owned(), arguments.dir.display().to_string()));
    let options = crate::settings::broker_config(pairs, None)?.store_options()?;
    let bar = if arguments.json { ProgressBar::hidden() } else { ProgressBar::new(0) };
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
    bar.set_style(style.expect("the template is well formed"));
    let report = check(Arc::new(OsFiles), &options, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .with_context(|| format!("cannot check {}", arguments.dir.display()))?;
    bar.finish_and_clear();
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&as_json(&report))?);
    } else {
        print(&report);
    }
    Ok(if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &CheckReport) {
    let row = |name: &str, value: String| println!("{name:<20} {value}");
    row("log", format!("{} files, from {} to {}", report.log_files, report.log_start, report.log_end));
    row("records", report.records.to_string());
    row("queues", format!("{}, with {} right entries", report.queues, report.entries));
    row(
        "index",
        format!("{} files, with {} keys that lead to their record", report.index_files, report.keys),
    );
    if report.crashed {
        row("last stop", "a crash, or a server has the store open".to_owned());
    }
    if report.to_rebuild > 0 {
        row("to rebuild", format!("{} queue entries, which the next start writes", report.to_rebuild));
    }
    if report.without_queue > 0 {
        row("without a queue", format!("{} records, mostly of deleted topics", report.without_queue));
    }
    for problem in &report.problems {
        println!("problem: {} at byte {}: {}", problem.path.display(), problem.at, problem.text);
    }
    if report.more_problems > 0 {
        println!("and {} more problems", report.more_problems);
    }
    println!("{}", if report.is_sound() { "the store is sound" } else { "the store is damaged" });
}

fn as_json(report: &CheckReport) -> serde_json::Value {
    let problems: Vec<_> = report
        .problems
        .iter()
        .map(|problem| json!({ "file": problem.path, "byte": problem.at, "text": problem.text }))
        .collect();
    json!({
        "sound": report.is_sound(),
        "crashed": report.crashed,
        "logFiles": report.log_files,
        "logStart": report.log_start.0,
        "logEnd": report.log_end.0,
        "records": report.records,
        "queues": report.queues,
        "queueEntries": report.entries,
        "indexFiles": report.index_files,
        "keys": report.keys,
        "toRebuild": report.to_rebuild,
        "withoutQueue": report.without_queue,
        "problems": problems,
        "moreProblems": report.more_problems,
    })
}
