//! Bounds: the newest hundred, the last run, the end of the timetable.

use steadfast_core::{MissedTickPolicy, OverlapPolicy, ScheduleProgress};

use super::{at, cron, every, progress, second, show, show_skip};

#[test]
fn run_all_makes_up_for_the_newest_hundred_and_records_the_rest() {
    for timetable in [
        every(60, OverlapPolicy::Skip, MissedTickPolicy::Skip),
        cron("* * * * *"),
    ] {
        let timetable = timetable
            .with_overlap(OverlapPolicy::Allow)
            .with_missed(MissedTickPolicy::RunAll);
        let step = timetable.step(&progress(0), false, at(60 * 249 + 5));
        let fired: Vec<i64> = step.fire.iter().map(|tick| second(*tick) / 60).collect();
        assert_eq!(fired, (150..250).collect::<Vec<_>>());
        assert_eq!(
            step.skipped.iter().map(show_skip).collect::<Vec<_>>(),
            ["MissedLimit 0-8940 x150"]
        );
        assert_eq!(step.progress.next_tick, Some(at(60 * 250)));
        assert_eq!(step.progress.runs, 100);
    }
}

#[test]
fn a_year_of_missed_seconds_is_one_record() {
    let year = 365 * 86_400;
    let timetable = every(1, OverlapPolicy::Skip, MissedTickPolicy::Skip);
    let step = timetable.step(&progress(0), true, at(year));
    let skipped: Vec<String> = step.skipped.iter().map(show_skip).collect();
    assert_eq!(
        skipped,
        [
            "Missed 0-31535998 x31535999",
            "Overlap 31535999-31536000 x2"
        ]
    );

    let timetable = cron("* * * * * *")
        .with_missed(MissedTickPolicy::RunAll)
        .with_overlap(OverlapPolicy::Allow);
    let step = timetable.step(&progress(0), true, at(year));
    let fired: Vec<i64> = step.fire.iter().map(|tick| second(*tick)).collect();
    assert_eq!(fired, (year - 99..=year).collect::<Vec<_>>());
    let [skip] = step.skipped[..] else {
        panic!("{:?}", step.skipped)
    };
    assert_eq!((second(skip.from), second(skip.to)), (0, year - 100));
    assert!(
        (10_000..31_536_000).contains(&skip.count),
        "at least {}",
        skip.count
    );
    assert_eq!(step.progress.next_tick, Some(at(year + 1)));
}

#[test]
fn the_newest_ticks_are_found_behind_a_long_silence_too() {
    // Every second of January, checked in December: the newest lie eleven months back.
    let timetable = cron("* * * * 1 *")
        .with_missed(MissedTickPolicy::RunAll)
        .with_overlap(OverlapPolicy::Allow);
    let step = timetable.step(&progress(0), false, at(340 * 86_400));
    let last = 31 * 86_400 - 1;
    let fired: Vec<i64> = step.fire.iter().map(|tick| second(*tick)).collect();
    assert_eq!(fired, (last - 99..=last).collect::<Vec<_>>());
    assert_eq!(second(step.skipped[0].to), last - 100);
    // An hour of seconds each midnight, checked when the newest of them has only begun.
    let timetable = cron("* * 0 * * *")
        .with_missed(MissedTickPolicy::RunAll)
        .with_overlap(OverlapPolicy::Allow);
    let midnight = 10 * 86_400;
    let step = timetable.step(&progress(0), false, at(midnight + 70));
    let fired: Vec<i64> = step.fire.iter().map(|tick| second(*tick)).collect();
    let day_before = midnight - 86_400 + 3_600;
    let expected = (day_before - 29..day_before).chain(midnight..=midnight + 70);
    assert_eq!(fired, expected.collect::<Vec<_>>());
    assert_eq!(second(step.skipped[0].to), day_before - 30);
    // A bit more than is counted one by one, so that only few are left after the count.
    for extra in [1, 50, 150, 399, 400, 401, 900] {
        let now = 10_000 + extra;
        let timetable = cron("* * * * * *")
            .with_missed(MissedTickPolicy::RunOnce)
            .with_overlap(OverlapPolicy::Skip);
        let step = timetable.step(&progress(0), false, at(now));
        assert_eq!(step.fire, [at(now)], "{now}");
    }
}

#[test]
fn the_last_run_ends_the_schedule() {
    let timetable = every(60, OverlapPolicy::Allow, MissedTickPolicy::RunAll)
        .with_max_runs(Some(3))
        .unwrap();
    let used = |runs| ScheduleProgress {
        runs,
        ..progress(60)
    };
    assert_eq!(show(&timetable, &used(0), false, 60), "fire 60, next 120");
    assert_eq!(show(&timetable, &used(2), false, 60), "fire 60, end");
    assert_eq!(
        show(&timetable, &used(1), false, 230),
        "fire 120, fire 180, MaxRuns 60-60 x1, end"
    );
    assert_eq!(
        show(&timetable, &used(3), false, 60),
        "MaxRuns 60-60 x1, end"
    );
}

#[test]
fn a_waiting_tick_counts_against_the_runs_that_are_left() {
    let timetable = every(60, OverlapPolicy::QueueOne, MissedTickPolicy::RunAll)
        .with_max_runs(Some(3))
        .unwrap();
    let used = |runs| ScheduleProgress {
        runs,
        ..progress(60)
    };
    assert_eq!(show(&timetable, &used(2), true, 60), "queue 60, end");
    assert_eq!(
        show(&timetable, &used(1), false, 125),
        "fire 60, queue 120, end"
    );
    assert_eq!(
        show(&timetable, &used(2), false, 125),
        "fire 120, MaxRuns 60-60 x1, end"
    );
    let waiting = ScheduleProgress {
        next_tick: None,
        queued_tick: Some(at(60)),
        ..used(2)
    };
    assert!(!waiting.is_over());
    assert_eq!(show(&timetable, &waiting, false, 90), "fire 60, end");
    assert!(timetable.step(&waiting, false, at(90)).progress.is_over());
}

#[test]
fn if_overlap_leaves_no_more_than_the_runs_that_are_left_they_are_not_the_reason() {
    let timetable = every(60, OverlapPolicy::Skip, MissedTickPolicy::RunAll)
        .with_max_runs(Some(1))
        .unwrap();
    assert_eq!(
        show(&timetable, &progress(60), false, 125),
        "fire 120, Missed 60-60 x1, end"
    );
}

#[test]
fn skipped_ticks_do_not_use_up_runs() {
    let timetable = every(60, OverlapPolicy::Skip, MissedTickPolicy::RunOnce)
        .with_max_runs(Some(1))
        .unwrap();
    assert_eq!(
        show(&timetable, &progress(60), true, 60),
        "Overlap 60-60 x1, next 120"
    );
}

#[test]
fn no_tick_lies_past_the_end_and_those_before_it_are_still_made_up_for() {
    for timetable in [
        every(60, OverlapPolicy::Skip, MissedTickPolicy::RunOnce),
        cron("* * * * *"),
    ] {
        let timetable = timetable.with_window(None, Some(at(150))).unwrap();
        assert_eq!(
            show(&timetable, &progress(60), false, 60),
            "fire 60, next 120"
        );
        assert_eq!(
            show(&timetable, &progress(120), false, 120),
            "fire 120, end"
        );
        assert_eq!(
            show(&timetable, &progress(60), false, 9_000),
            "fire 120, Missed 60-60 x1, end"
        );
        assert_eq!(show(&timetable, &progress(180), false, 9_000), "end");
    }
}
