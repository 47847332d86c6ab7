//! Which schedules have something to decide.

use steadfast_core::{JobCommand, JobId, Outcome, Schedule};

use crate::conformance::fixture::{Fixture, MICRO, failure, permanent, secs, success};

pub async fn a_schedule_is_due_at_its_tick_and_not_before(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = schedule.progress.next_tick.unwrap();
    f.clock.set(tick.minus(MICRO));
    let early = f.due().await;
    assert!(early.due.is_empty());
    assert_eq!(early.next_due, Some(tick));

    f.clock.set(tick);
    let due = f.due().await;
    assert_eq!(due.next_due, None);
    assert_eq!(due.due.len(), 1);
    assert_eq!(due.due[0].schedule, schedule);
    assert_eq!(due.due[0].unfinished, None);
}

pub async fn a_paused_schedule_is_neither_due_nor_next(f: Fixture) {
    let mut schedule = f.schedule("nightly");
    schedule.paused = true;
    schedule.progress.queued_tick = Some(f.now());
    let mut schedule = f.save(schedule).await;
    let paused = f.due().await;
    assert!(paused.due.is_empty());
    assert_eq!(paused.next_due, None);
    f.clock.advance(secs(60));
    assert!(f.due_ids().await.is_empty());

    schedule.paused = false;
    f.save(schedule.clone()).await;
    assert_eq!(f.due_ids().await, [schedule.id]);
}

pub async fn a_schedule_that_is_over_is_never_due(f: Fixture) {
    let mut schedule = f.schedule("nightly");
    schedule.progress.next_tick = None;
    f.save(schedule).await;
    f.clock.advance(secs(1_000_000));
    let due = f.due().await;
    assert!(due.due.is_empty());
    assert_eq!(due.next_due, None);
}

pub async fn the_next_tick_is_the_earliest_still_to_come(f: Fixture) {
    let now = f.now();
    let mut ids = Vec::new();
    for (name, tick) in [("a", 90), ("b", 30), ("c", 60)] {
        let mut schedule = f.schedule(name);
        schedule.progress.next_tick = Some(now.plus(secs(tick)));
        ids.push(f.save(schedule).await.id);
    }
    for (elapsed, due, next_due) in [
        (0, vec![], Some(30)),
        (30, vec![ids[1]], Some(60)),
        (89, vec![ids[1], ids[2]], Some(90)),
        (90, vec![ids[1], ids[2], ids[0]], None),
    ] {
        f.clock.set(now.plus(secs(elapsed)));
        assert_eq!(f.due_ids().await, due, "the longest due comes first");
        let next_due = next_due.map(|seconds| now.plus(secs(seconds)));
        assert_eq!(f.due().await.next_due, next_due);
    }
}

pub async fn no_more_than_asked_are_due(f: Fixture) {
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(f.saved_schedule(name).await.id);
        f.clock.advance(secs(1));
    }
    f.clock.advance(secs(120));
    for limit in 0..=3 {
        let due = f.store.due_schedules(limit).await.unwrap().due;
        let due: Vec<_> = due.iter().map(|due| due.schedule.id).collect();
        assert_eq!(due, ids[..limit]);
    }
}

pub async fn a_queued_tick_is_due_when_no_run_is_unfinished(f: Fixture) {
    let cancelled = Outcome::Cancelled {
        message: String::new(),
    };
    let ends = [
        ("success", success()),
        ("dead-letter", permanent("no")),
        ("cancelled", cancelled),
    ];
    for (name, outcome) in ends {
        let (schedule, run) = with_queued_tick(&f, name).await;
        assert!(f.due_ids().await.is_empty(), "{name}: while the run waits");
        let claim = f.claim_of(run).await;
        assert!(f.due_ids().await.is_empty(), "{name}: while it runs");
        let retrying = f.end(claim, failure("again")).await;
        assert!(f.due_ids().await.is_empty(), "{name}: while it is retried");
        f.clock.set(retrying.progress.run_at);
        let claim = f.claim_of(run).await;
        f.end(claim, outcome).await;

        let due = f.due().await.due;
        assert_eq!(due.len(), 1, "{name}");
        assert_eq!(due[0].schedule, schedule, "{name}");
        assert_eq!(due[0].unfinished, None, "{name}");
        assert!(f.store.delete_schedule(schedule.id, None).await.unwrap());
    }
}

pub async fn a_queued_tick_is_due_when_the_run_before_it_is_cancelled(f: Fixture) {
    let (schedule, run) = with_queued_tick(&f, "nightly").await;
    assert!(f.due_ids().await.is_empty());
    f.command(run, JobCommand::Cancel).await;
    assert_eq!(f.due_ids().await, [schedule.id]);
}

pub async fn a_schedule_that_is_due_for_two_reasons_is_due_once(f: Fixture) {
    let mut schedule = f.schedule("nightly");
    schedule.progress.queued_tick = Some(f.now());
    let schedule = f.save(schedule).await;
    f.clock.advance(secs(60));
    assert_eq!(f.due_ids().await, [schedule.id]);
}

pub async fn the_newest_unfinished_run_is_returned(f: Fixture) {
    let other = f.saved_schedule("other").await;
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    f.fired(&other, tick).await;
    let (schedule, first) = f.fired(&schedule, tick).await;
    let tick = f.clock.advance(secs(60));
    let (schedule, second) = f.fired(&schedule, tick).await;
    f.clock.advance(secs(60));
    let told = async || {
        let due = f.due().await.due;
        let due = due.into_iter().find(|due| due.schedule.id == schedule.id);
        due.unwrap().unfinished
    };
    assert_eq!(told().await, Some(second.id));
    f.command(second.id, JobCommand::Cancel).await;
    assert_eq!(told().await, Some(first.id));
    f.command(first.id, JobCommand::Cancel).await;
    assert_eq!(told().await, None);
}

/// A schedule with a tick that waits for an unfinished run, and that run.
async fn with_queued_tick(f: &Fixture, name: &str) -> (Schedule, JobId) {
    let schedule = f.saved_schedule(name).await;
    let tick = f.clock.advance(secs(60));
    let mut firing = f.firing(&schedule, &[tick]);
    firing.progress.queued_tick = Some(tick);
    firing.progress.next_tick = Some(tick.plus(secs(1_000_000)));
    let run = firing.runs[0].id;
    f.fire(firing).await;
    (f.read_schedule(schedule.id).await, run)
}
