//! Firing: runs, skips and progress together, once per tick.

use steadfast_core::{JobCommand, JobState};

use crate::conformance::{
    fixture::{Fixture, secs, success},
    planned::{EVERY, skip},
};
use crate::{FireResult, JobDetail, PageRequest, TickRecord};

pub async fn a_firing_is_written_whole(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let first = schedule.progress.next_tick.unwrap();
    let ticks = [first.plus(EVERY * 3), first.plus(EVERY * 4)];
    let now = f.clock.advance(secs(60 * 6));
    let mut firing = f.firing(&schedule, &ticks);
    firing.skipped = vec![skip(first, 3)];
    assert_eq!(f.fire(firing.clone()).await, FireResult::Done);

    for run in &firing.runs {
        assert_eq!(f.read(run.id).await, run.clone().into_job(now));
    }
    let [third, fourth] = [&firing.runs[0], &firing.runs[1]].map(|run| run.id);
    let expected = [
        TickRecord::Fired {
            tick: ticks[1],
            job: fourth,
        },
        TickRecord::Fired {
            tick: ticks[0],
            job: third,
        },
        TickRecord::Skipped(skip(first, 3)),
    ];
    assert_eq!(f.ticks(schedule.id).await, expected);
    let mut after = schedule;
    after.progress = firing.progress;
    after.revision = 2;
    assert_eq!(f.read_schedule(after.id).await, after);
}

pub async fn runs_can_be_claimed(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (_, run) = f.fired(&schedule, tick).await;
    let claim = f.claim_of(run.id).await;
    assert_eq!(claim.job().scheduled_run.unwrap().tick, tick);
}

pub async fn a_firing_without_runs_moves_the_schedule_on(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let mut firing = f.firing(&schedule, &[]);
    firing.progress.queued_tick = Some(tick);
    firing.progress.next_tick = None;
    assert_eq!(f.fire(firing.clone()).await, FireResult::Done);
    assert_eq!(f.read_schedule(schedule.id).await.progress, firing.progress);
    assert_eq!(f.count_all().await, 0);
    assert!(f.ticks(schedule.id).await.is_empty());
}

pub async fn a_firing_of_another_revision_writes_nothing(f: Fixture) {
    let first = f.saved_schedule("nightly").await;
    let mut changed = first.clone();
    changed.template.queue = crate::conformance::fixture::queue("other");
    let stored = f.save(changed).await;
    let tick = f.clock.advance(secs(60));
    for revision in [0, 1, 3] {
        let mut firing = f.firing(&first, &[tick]);
        firing.revision = revision;
        firing.skipped = vec![skip(tick.minus(secs(60)), 1)];
        assert_eq!(
            f.fire(firing).await,
            FireResult::Outdated,
            "revision {revision}"
        );
    }
    assert_eq!(f.count_all().await, 0);
    assert!(f.ticks(first.id).await.is_empty());
    assert_eq!(f.read_schedule(first.id).await, stored);
}

pub async fn a_repeated_firing_writes_nothing(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let firing = f.firing(&schedule, &[tick]);
    assert_eq!(f.fire(firing.clone()).await, FireResult::Done);
    let stored = f.read_schedule(schedule.id).await;
    assert_eq!(f.fire(firing).await, FireResult::Outdated);
    assert_eq!(f.read_schedule(schedule.id).await, stored);
    assert_eq!(f.count_all().await, 1);
}

pub async fn a_tick_that_has_fired_does_not_fire_again(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (stored, run) = f.fired(&schedule, tick).await;
    // The revision is right, but one of the ticks is not new: a clock may have gone back.
    let later = tick.plus(EVERY);
    let firing = f.firing(&stored, &[tick, later]);
    let new = firing.runs[1].id;
    assert_eq!((stored.progress.runs, firing.progress.runs), (1, 3));
    assert_eq!(f.fire(firing).await, FireResult::Done);
    assert_eq!(f.count_all().await, 2);
    assert_eq!(f.read_schedule(schedule.id).await.progress.runs, 2);
    assert_eq!(
        f.ticks(schedule.id).await,
        [
            TickRecord::Fired {
                tick: later,
                job: new
            },
            TickRecord::Fired { tick, job: run.id }
        ]
    );
}

pub async fn ticks_of_different_schedules_are_apart(f: Fixture) {
    let schedules = [f.saved_schedule("a").await, f.saved_schedule("b").await];
    let tick = f.clock.advance(secs(60));
    for schedule in &schedules {
        f.fired(schedule, tick).await;
    }
    for schedule in &schedules {
        assert_eq!(f.ticks(schedule.id).await.len(), 1);
    }
}

pub async fn a_deleted_schedule_fires_nothing(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    assert!(f.store.delete_schedule(schedule.id, None).await.unwrap());
    let tick = f.clock.advance(secs(60));
    let firing = f.firing(&schedule, &[tick]);
    assert_eq!(f.fire(firing).await, FireResult::Outdated);
    assert_eq!(f.count_all().await, 0);
    assert!(f.ticks(schedule.id).await.is_empty());
}

pub async fn an_outdated_firing_does_not_hinder_the_others(f: Fixture) {
    let schedules = [
        f.saved_schedule("a").await,
        f.saved_schedule("b").await,
        f.saved_schedule("c").await,
    ];
    let tick = f.clock.advance(secs(60));
    let mut firings = schedules
        .each_ref()
        .map(|schedule| f.firing(schedule, &[tick]));
    firings[1].revision = 9;
    let runs: Vec<_> = firings.iter().map(|firing| firing.runs[0].id).collect();
    let answers = f.store.fire_schedules(firings.into()).await.unwrap();
    assert_eq!(
        answers,
        [FireResult::Done, FireResult::Outdated, FireResult::Done]
    );
    let found = f.store.get_jobs(runs, JobDetail::Full).await.unwrap();
    let found: Vec<bool> = found.iter().map(Option::is_some).collect();
    assert_eq!(found, [true, false, true]);
}

pub async fn a_waiting_run_is_cancelled_with_the_firing(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (schedule, waiting) = f.fired(&schedule, tick).await;
    let tick = f.clock.advance(secs(60));
    let mut firing = f.firing(&schedule, &[tick]);
    firing.cancel = Some(waiting.id);
    let expected = steadfast_core::on_command(
        waiting,
        &JobCommand::Cancel,
        &steadfast_core::Subscriptions::default(),
        f.now(),
    )
    .unwrap()
    .job;
    assert_eq!(f.fire(firing).await, FireResult::Done);
    assert_eq!(f.read(expected.id).await, expected);
    assert_eq!(expected.progress.state, JobState::Cancelled);
}

pub async fn a_running_run_is_asked_to_stop_with_the_firing(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (schedule, run) = f.fired(&schedule, tick).await;
    f.claim_of(run.id).await;
    let tick = f.clock.advance(secs(60));
    let mut firing = f.firing(&schedule, &[tick]);
    firing.cancel = Some(run.id);
    assert_eq!(f.fire(firing).await, FireResult::Done);
    let run = f.read(run.id).await;
    assert_eq!(
        (run.progress.state, run.progress.cancel_requested),
        (JobState::Running, true)
    );
}

pub async fn a_run_to_cancel_that_has_ended_does_not_hinder_the_firing(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (mut schedule, run) = f.fired(&schedule, tick).await;
    let claim = f.claim_of(run.id).await;
    let done = f.end(claim, success()).await;
    for cancel in [done.id, f.id()] {
        let tick = f.clock.advance(secs(60));
        let mut firing = f.firing(&schedule, &[tick]);
        firing.cancel = Some(cancel);
        assert_eq!(f.fire(firing).await, FireResult::Done);
        schedule = f.read_schedule(schedule.id).await;
    }
    assert_eq!(f.read(done.id).await, done);
    assert_eq!(f.count_all().await, 3);
}

pub async fn an_outdated_firing_cancels_nothing(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (_, waiting) = f.fired(&schedule, tick).await;
    let mut late = f.firing(&schedule, &[tick.plus(EVERY)]);
    late.cancel = Some(waiting.id);
    assert_eq!(f.fire(late).await, FireResult::Outdated);
    assert_eq!(f.read(waiting.id).await, waiting);
}

pub async fn ticks_are_listed_newest_first(f: Fixture) {
    let mut schedule = f.saved_schedule("nightly").await;
    let mut ticks = Vec::new();
    for _ in 0..5 {
        let tick = f.clock.advance(secs(60));
        (schedule, _) = f.fired(&schedule, tick).await;
        ticks.insert(0, tick);
    }
    let met: Vec<_> = f
        .ticks(schedule.id)
        .await
        .iter()
        .map(TickRecord::at)
        .collect();
    assert_eq!(met, ticks);
    let page = PageRequest {
        limit: 2,
        after: Some(ticks[1]),
    };
    let listed = f.store.list_ticks(schedule.id, page).await.unwrap();
    let met: Vec<_> = listed.items.iter().map(TickRecord::at).collect();
    assert_eq!(met, ticks[2..4]);
}

/// A batch is written by few statements, and each of its firings stands alone all the same.
pub async fn a_schedule_may_be_in_a_batch_twice(f: Fixture) {
    let first = f.saved_schedule("first").await;
    let other = f.saved_schedule("other").await;
    let ticks = [f.clock.advance(secs(60)), f.clock.advance(secs(60))];
    let firing = f.firing(&first, &ticks[..1]);
    let mut next = f.firing(&first, &ticks[1..]);
    next.revision += 1;
    let outdated = f.firing(&first, &ticks);
    let firings = vec![firing, f.firing(&other, &ticks), next, outdated];
    let answers = f.store.fire_schedules(firings).await.unwrap();
    use FireResult::{Done, Outdated};
    assert_eq!(answers, [Done, Done, Done, Outdated]);
    for schedule in [first, other] {
        let fired: Vec<_> = f
            .ticks(schedule.id)
            .await
            .iter()
            .map(TickRecord::at)
            .collect();
        assert_eq!(fired, [ticks[1], ticks[0]]);
    }
}
