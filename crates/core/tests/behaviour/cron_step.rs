//! The step of a schedule: overlap, missed ticks, limits, and clocks that misbehave.

mod laws;
mod limits;

use std::time::Duration;

use steadfast_core::{
    Cron, MissedTickPolicy, OverlapPolicy, ScheduleProgress, SkipReason, SkippedTicks, TickRule,
    Timestamp, Timetable, Zone,
};

/// Ticks are written as seconds of this day.
const DAY: i64 = 1_767_225_600;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis((DAY + second) * 1_000)
}

fn second(at: Timestamp) -> i64 {
    at.as_millis() / 1_000 - DAY
}

fn every(secs: u64, overlap: OverlapPolicy, missed: MissedTickPolicy) -> Timetable {
    Timetable::new(TickRule::Every(Duration::from_secs(secs)))
        .unwrap()
        .with_overlap(overlap)
        .with_missed(missed)
}

fn cron(pattern: &str) -> Timetable {
    let (cron, zone) = (Cron::parse(pattern).unwrap(), Zone::utc());
    Timetable::new(TickRule::Cron { cron, zone }).unwrap()
}

fn progress(next: i64) -> ScheduleProgress {
    ScheduleProgress {
        next_tick: Some(at(next)),
        ..ScheduleProgress::default()
    }
}

fn show_skip(skip: &SkippedTicks) -> String {
    let (from, to) = (second(skip.from), second(skip.to));
    format!("{:?} {from}-{to} x{}", skip.reason, skip.count)
}

/// One line per step: what fires, what waits, what is cancelled, what is skipped, what is next.
fn show(timetable: &Timetable, progress: &ScheduleProgress, unfinished: bool, now: i64) -> String {
    let step = timetable.step(progress, unfinished, at(now));
    let again = timetable.step(&step.progress, true, at(now));
    assert_eq!(
        (again.fire, again.skipped),
        (vec![], vec![]),
        "a step must not repeat itself"
    );
    let mut words = Vec::new();
    words.extend(
        step.fire
            .iter()
            .map(|tick| format!("fire {}", second(*tick))),
    );
    words.extend(
        step.progress
            .queued_tick
            .map(|tick| format!("queue {}", second(tick))),
    );
    words.extend(step.cancel_unfinished.then(|| "cancel".to_owned()));
    words.extend(step.skipped.iter().map(show_skip));
    words.push(match step.progress.next_tick {
        Some(next) => format!("next {}", second(next)),
        None => "end".to_owned(),
    });
    words.join(", ")
}

// long: it is one table
#[test]
fn overlap_by_missed_by_lateness_as_one_table() {
    use MissedTickPolicy::{RunAll, RunOnce, Skip as SkipMissed};
    use OverlapPolicy::{Allow, QueueOne, Replace, Skip};
    // Every 60 s, the first tick at 60. Checked at 65: on time; at 181: two missed (60, 120) and
    // one on time (180); at 230: three missed and none on time.
    let expected = [
        (Skip, SkipMissed, false, 65, "fire 60, next 120"),
        (Skip, SkipMissed, true, 65, "Overlap 60-60 x1, next 120"),
        (
            Skip,
            SkipMissed,
            false,
            181,
            "fire 180, Missed 60-120 x2, next 240",
        ),
        (
            Skip,
            SkipMissed,
            true,
            181,
            "Missed 60-120 x2, Overlap 180-180 x1, next 240",
        ),
        (Skip, SkipMissed, false, 230, "Missed 60-180 x3, next 240"),
        (Skip, RunOnce, false, 65, "fire 60, next 120"),
        (
            Skip,
            RunOnce,
            false,
            181,
            "fire 180, Missed 60-120 x2, next 240",
        ),
        (
            Skip,
            RunOnce,
            false,
            230,
            "fire 180, Missed 60-120 x2, next 240",
        ),
        (
            Skip,
            RunOnce,
            true,
            230,
            "Missed 60-120 x2, Overlap 180-180 x1, next 240",
        ),
        (
            Skip,
            RunAll,
            false,
            230,
            "fire 180, Missed 60-120 x2, next 240",
        ),
        (Skip, RunAll, true, 230, "Missed 60-180 x3, next 240"),
        (Allow, SkipMissed, true, 65, "fire 60, next 120"),
        (
            Allow,
            SkipMissed,
            true,
            181,
            "fire 180, Missed 60-120 x2, next 240",
        ),
        (Allow, SkipMissed, true, 230, "Missed 60-180 x3, next 240"),
        (
            Allow,
            RunOnce,
            true,
            230,
            "fire 180, Missed 60-120 x2, next 240",
        ),
        (
            Allow,
            RunAll,
            true,
            230,
            "fire 60, fire 120, fire 180, next 240",
        ),
        (QueueOne, SkipMissed, false, 65, "fire 60, next 120"),
        (QueueOne, SkipMissed, true, 65, "queue 60, next 120"),
        (
            QueueOne,
            SkipMissed,
            true,
            230,
            "Missed 60-180 x3, next 240",
        ),
        (
            QueueOne,
            RunOnce,
            true,
            230,
            "queue 180, Missed 60-120 x2, next 240",
        ),
        (
            QueueOne,
            RunOnce,
            false,
            230,
            "fire 180, Missed 60-120 x2, next 240",
        ),
        (
            QueueOne,
            RunAll,
            true,
            230,
            "queue 180, Missed 60-120 x2, next 240",
        ),
        (
            QueueOne,
            RunAll,
            false,
            230,
            "fire 120, queue 180, Missed 60-60 x1, next 240",
        ),
        (Replace, SkipMissed, false, 65, "fire 60, next 120"),
        (Replace, SkipMissed, true, 65, "fire 60, cancel, next 120"),
        (Replace, SkipMissed, true, 230, "Missed 60-180 x3, next 240"),
        (
            Replace,
            RunOnce,
            true,
            230,
            "fire 180, cancel, Missed 60-120 x2, next 240",
        ),
        (
            Replace,
            RunAll,
            true,
            230,
            "fire 180, cancel, Missed 60-120 x2, next 240",
        ),
    ];
    for (overlap, missed, unfinished, now, expected) in expected {
        let timetable = every(60, overlap, missed);
        let found = show(&timetable, &progress(60), unfinished, now);
        assert_eq!(
            found, expected,
            "{overlap:?} {missed:?} unfinished {unfinished} at {now}"
        );
    }
}

#[test]
fn a_tick_that_is_10_seconds_late_is_not_missed_and_a_later_one_is() {
    let timetable = every(3_600, OverlapPolicy::Skip, MissedTickPolicy::Skip);
    assert_eq!(
        show(&timetable, &progress(60), false, 60),
        "fire 60, next 3660"
    );
    assert_eq!(
        show(&timetable, &progress(60), false, 70),
        "fire 60, next 3660"
    );
    assert_eq!(
        show(&timetable, &progress(60), false, 71),
        "Missed 60-60 x1, next 3660"
    );
}

#[test]
fn after_an_hour_of_downtime_a_fast_rule_that_skips_makes_up_for_nothing() {
    let timetable = every(1, OverlapPolicy::Allow, MissedTickPolicy::Skip);
    assert_eq!(
        show(&timetable, &progress(10), false, 3_610),
        "fire 3609, fire 3610, Missed 10-3608 x3599, next 3611"
    );
    // A node that was busy for a while has missed nothing.
    let found = show(&timetable, &progress(10), false, 20);
    assert_eq!(found.matches("fire").count(), 11, "{found}");
}

#[test]
fn run_all_goes_with_runs_that_may_overlap_and_with_no_others() {
    for overlap in [
        OverlapPolicy::Skip,
        OverlapPolicy::QueueOne,
        OverlapPolicy::Replace,
    ] {
        let refused = every(60, overlap, MissedTickPolicy::RunAll).check_policies();
        let refused = refused.unwrap_err();
        assert_eq!(refused.field, "missed");
        assert!(refused.expected.contains("overlap must be allow"));
        for missed in [MissedTickPolicy::Skip, MissedTickPolicy::RunOnce] {
            assert!(every(60, overlap, missed).check_policies().is_ok());
        }
    }
    let all = every(60, OverlapPolicy::Allow, MissedTickPolicy::RunAll);
    assert!(all.check_policies().is_ok());
}

#[test]
fn nothing_happens_before_the_next_tick() {
    let timetable = every(60, OverlapPolicy::Replace, MissedTickPolicy::RunAll);
    let before = ScheduleProgress {
        last_tick: Some(at(0)),
        runs: 7,
        ..progress(60)
    };
    let step = timetable.step(&before, true, at(59));
    assert_eq!(step.progress, before);
    assert!(step.fire.is_empty() && step.skipped.is_empty() && !step.cancel_unfinished);
}

#[test]
fn a_fast_rule_that_is_checked_late_fires_each_tick_if_runs_may_overlap() {
    let timetable = every(1, OverlapPolicy::Allow, MissedTickPolicy::RunOnce);
    assert_eq!(
        show(&timetable, &progress(10), true, 12),
        "fire 10, fire 11, fire 12, next 13"
    );
}

#[test]
fn a_waiting_tick_stays_first_and_runs_when_the_unfinished_run_has_ended() {
    let timetable = every(60, OverlapPolicy::QueueOne, MissedTickPolicy::RunOnce);
    let waiting = ScheduleProgress {
        queued_tick: Some(at(60)),
        ..progress(120)
    };
    assert_eq!(show(&timetable, &waiting, true, 90), "queue 60, next 120");
    assert_eq!(
        show(&timetable, &waiting, true, 125),
        "queue 60, Overlap 120-120 x1, next 180"
    );
    assert_eq!(show(&timetable, &waiting, false, 90), "fire 60, next 120");
    assert_eq!(
        show(&timetable, &waiting, false, 125),
        "fire 60, queue 120, next 180"
    );
}

#[test]
fn a_tick_that_waits_when_the_policy_changes_is_treated_as_the_new_one_says() {
    let waiting = ScheduleProgress {
        queued_tick: Some(at(60)),
        ..progress(120)
    };
    for (overlap, expected) in [
        (OverlapPolicy::Skip, "Overlap 60-60 x1, next 120"),
        (OverlapPolicy::Allow, "fire 60, next 120"),
        (OverlapPolicy::Replace, "fire 60, cancel, next 120"),
    ] {
        let timetable = every(60, overlap, MissedTickPolicy::RunOnce);
        assert_eq!(
            show(&timetable, &waiting, true, 90),
            expected,
            "{overlap:?}"
        );
    }
}

#[test]
fn a_clock_that_goes_back_fires_nothing_twice() {
    let timetable = every(60, OverlapPolicy::Allow, MissedTickPolicy::RunAll);
    let step = timetable.step(&progress(60), false, at(300));
    assert_eq!(step.progress.last_tick, Some(at(300)));
    for now in [0, 60, 299, 300, 359] {
        let back = timetable.step(&step.progress, false, at(now));
        assert_eq!(
            (back.fire, back.progress),
            (vec![], step.progress),
            "at {now}"
        );
    }
    // Even if the next tick was calculated again by the wrong clock.
    let reset = ScheduleProgress {
        next_tick: Some(at(120)),
        ..step.progress
    };
    assert_eq!(show(&timetable, &reset, false, 300), "next 360");
    assert_eq!(show(&timetable, &reset, false, 360), "fire 360, next 420");
    assert_eq!(
        timetable.resume(&step.progress, at(10)).next_tick,
        Some(at(360))
    );
}

#[test]
fn ticks_of_a_pause_are_not_missed_and_the_spacing_stays() {
    let timetable = every(60, OverlapPolicy::Skip, MissedTickPolicy::RunAll);
    let paused = ScheduleProgress {
        last_tick: Some(at(7)),
        runs: 3,
        ..progress(67)
    };
    let resumed = timetable.resume(&paused, at(1_000));
    assert_eq!(
        resumed,
        ScheduleProgress {
            next_tick: Some(at(1_027)),
            ..paused
        }
    );
}

#[test]
fn reasons_are_stored_in_the_spelling_of_the_api() {
    let skip = SkippedTicks {
        from: at(0),
        to: at(60),
        count: 2,
        reason: SkipReason::MissedLimit,
    };
    let json = serde_json::to_string(&skip).unwrap();
    assert_eq!(
        json,
        r#"{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:01:00Z","count":2,"reason":"missedLimit"}"#
    );
    let stored: ScheduleProgress = serde_json::from_str("{}").unwrap();
    assert!(stored.is_over());
}
