//! The offline check finds nothing in a sound store, and names what is wrong in another one.

use crate::fixture::{Fixture, append, fill, overwrite};
use roxmq_store::check::{CheckReport, check};

fn stopped_store() -> Fixture {
    let fixture = Fixture::new();
    let store = fixture.open();
    fill(&store, "T", 200);
    fill(&store, "deleted", 20);
    store.delete_topic("deleted").unwrap();
    append(&store, "deleted", b"again").unwrap();
    store.shutdown().unwrap();
    fixture
}

fn report(fixture: &Fixture) -> CheckReport {
    let mut last = (0, 0);
    let report =
        check(fixture.files.clone(), &fixture.options, &mut |done, total| last = (done, total)).unwrap();
    assert_eq!(last.0, last.1);
    report
}

#[test]
fn a_sound_store_has_no_problems() {
    let report = report(&stopped_store());
    assert!(report.is_sound(), "{:?}", report.problems);
    assert_eq!((report.records, report.entries), (222, 202));
    assert_eq!((report.crashed, report.to_rebuild, report.without_queue), (false, 0, 0));
}

#[test]
fn what_a_crash_leaves_is_no_problem() {
    let fixture = Fixture::new();
    let store = fixture.open();
    fill(&store, "T", 50);
    drop(store);
    let report = report(&fixture);
    assert!(report.is_sound(), "{:?}", report.problems);
    assert!(report.crashed);
    assert_eq!(report.entries + report.to_rebuild, 50);
}

#[test]
fn problems_are_named_with_file_and_position() {
    let check = |damage: &dyn Fn(&Fixture), file: &str, at: u64| {
        let fixture = stopped_store();
        damage(&fixture);
        let report = report(&fixture);
        let problem = &report.problems[0];
        assert!(problem.path.ends_with(file), "{problem:?}");
        assert_eq!(problem.at, at, "{problem:?}");
    };
    let log = "commitlog/00000000000000008192";
    check(&|fixture| overwrite(&fixture.path(log), 0, &[1; 8]), log, 0);
    let queue = "consumequeue/T/0/00000000000000000200";
    check(&|fixture| overwrite(&fixture.path(queue), 40, &[0, 0, 0, 0, 0, 0, 0, 1]), queue, 40);
    check(&|fixture| overwrite(&fixture.path(queue), 40, &[0; 20]), "consumequeue/T/0", 0);
    check(
        &|fixture| overwrite(&fixture.path("checkpoint"), 40, &[0, 0, 0, 0, 0, 0, 0, 77]),
        "checkpoint",
        40,
    );
}
