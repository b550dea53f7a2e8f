//! Timer messages over stops, and over the loss of files.

use crate::timers::*;
use roxmq_store::Millis;

#[tokio::test]
async fn a_stop_loses_nothing_and_repeats_nothing() {
    let timers = Timers::start(&[]).await;
    for n in 0..30 {
        timers.send(&[("TIMER_DELAY_MS", &(500 + n * 100).to_string())], &n.to_string()).await;
    }
    timers.entered().await;
    timers.set(1_750);
    assert_eq!(timers.delivered(13).await.len(), 13);
    // In the middle of a slot.
    let timers = timers.restart_after(|_| {}).await;
    timers.pending(17).await;
    assert_eq!(timers.texts().await.len(), 13);
    timers.set(2_000);
    assert_eq!(timers.delivered(16).await.len(), 16);
    timers.clock.set(Millis(START + 90_000));
    let timers = timers.restart_after(|_| {}).await;
    let expected: Vec<_> = (0..30).map(|n| n.to_string()).collect();
    assert_eq!(timers.delivered(30).await, expected);
    let timers = timers.restart_after(|_| {}).await;
    timers.pending(0).await;
    assert_eq!(timers.texts().await, expected);
    timers.node.stop().await;
}

/// The wheel and its log are made anew from the log when they are gone.
#[tokio::test]
async fn lost_files_cost_no_message() {
    type Loss = fn(&std::path::Path);
    let losses: [Loss; 3] = [
        |root| std::fs::remove_file(root.join("timerwheel")).unwrap(),
        |root| std::fs::remove_dir_all(root.join("timerlog")).unwrap(),
        |root| {
            std::fs::remove_file(root.join("timerwheel")).unwrap();
            std::fs::remove_dir_all(root.join("timerlog")).unwrap();
            std::fs::remove_file(root.join("config/timercheck")).unwrap();
        },
    ];
    for loss in losses {
        let timers = Timers::start(&[]).await;
        for n in 0..20 {
            timers.send(&[("TIMER_DELAY_MS", &(n * 500 + 100).to_string())], &n.to_string()).await;
        }
        timers.entered().await;
        timers.set(3_200);
        assert_eq!(timers.delivered(7).await.len(), 7);
        let timers = timers.restart_after(loss).await;
        timers.pending(13).await;
        timers.set(60_000);
        let expected: Vec<_> = (0..20).map(|n| n.to_string()).collect();
        assert_eq!(timers.delivered(20).await, expected);
        timers.pending(0).await;
        timers.node.stop().await;
    }
}

/// After the log was cut the state of the timers once pointed beyond its end, and they stood still.
#[tokio::test]
async fn timers_go_on_behind_a_log_that_was_cut() {
    let timers = Timers::start(&[]).await;
    for n in 0..100 {
        timers.send(&[("TIMER_DELAY_SEC", "5")], &n.to_string()).await;
    }
    timers.entered().await;
    let timers = timers
        .restart_after(|root| {
            // As if it had crashed, and a part of the log had not reached the disk.
            std::fs::write(root.join("abort"), "").unwrap();
            let log = root.join("commitlog/00000000000000000000");
            let bytes = std::fs::read(&log).unwrap();
            let end = bytes.windows(4).rposition(|bytes| bytes == b"\x01T\x02R").unwrap();
            let cut = end / 2;
            let file = std::fs::File::options().write(true).open(log).unwrap();
            use std::os::unix::fs::FileExt;
            file.write_all_at(&vec![0; bytes.len() - cut], cut as u64).unwrap();
        })
        .await;
    for n in 0..10 {
        timers.send(&[("TIMER_DELAY_SEC", "5")], &format!("new{n}")).await;
    }
    timers.entered().await;
    timers.set(5_000);
    timers.pending(0).await;
    let texts = timers.texts().await;
    let old = texts.len() - 10;
    assert!((20..80).contains(&old), "{old}");
    let expected: Vec<_> =
        (0..old).map(|n| n.to_string()).chain((0..10).map(|n| format!("new{n}"))).collect();
    assert_eq!(texts, expected);
    timers.node.stop().await;
}

/// Killed before anything was delivered and before the files were written, a new broker lost what waited.
#[tokio::test]
async fn the_first_messages_of_all_survive_a_kill() {
    let timers = Timers::start(&[]).await;
    timers.send(&[("TIMER_DELAY_MS", "1500")], "first").await;
    timers.entered().await;
    let timers = timers.crash().await;
    timers.set(9_000);
    assert_eq!(timers.delivered(1).await, ["first"]);
    timers.pending(0).await;
    timers.node.stop().await;
}

/// The slot of the last message stayed open over a time as long as the wheel: the next message was lost in it.
#[tokio::test]
async fn a_message_comes_after_weeks_without_any() {
    const WEEKS_3: i64 = 21 * 86_400_000;
    let timers = Timers::start(&[]).await;
    timers.send(&[("TIMER_DELAY_MS", "1500")], "early").await;
    timers.entered().await;
    timers.set(1_500);
    assert_eq!(timers.delivered(1).await, ["early"]);
    timers.clock.set(Millis(START + WEEKS_3));
    timers.send(&[("TIMER_DELAY_MS", "1500")], "late").await;
    timers.entered().await;
    timers.set(WEEKS_3 + 1_500);
    assert_eq!(timers.delivered(2).await, ["early", "late"]);
    timers.node.stop().await;
}
