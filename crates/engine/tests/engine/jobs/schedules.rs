//! Schedules, on a clock that the test moves.

use std::{sync::Arc, time::Duration};

use steadfast_core::{JobState, OverlapPolicy, Schedule, Timestamp};
use steadfast_engine::{
    Client, Context, Engine, JobError, JobEvent, JobKind as _, Notice, ScheduleRequest,
};
use steadfast_store::{JobPageRequest, ManualClock, MemoryStore, PageRequest, TickRecord};

use crate::common::{Wait, fails, notice, steady, test_engine};

async fn every_ten_seconds(client: &Client, overlap: OverlapPolicy) -> Schedule {
    let job = fails(99).job().retry(steady(3));
    let request = ScheduleRequest::cron("tens", "*/10 * * * * *", job).overlap(overlap);
    client.schedule(request).await.unwrap()
}

#[tokio::test]
async fn a_schedule_whose_runs_fail_goes_on_with_its_next_tick() {
    let engine = test_engine();
    let start = engine.now();
    let schedule = every_ten_seconds(&engine.client(), OverlapPolicy::Skip).await;
    engine.advance(Duration::from_secs(25)).await.unwrap();
    let page = PageRequest::first(99);
    let attempts = engine.client().attempts(schedule.id, page).await.unwrap();
    let mut seconds: Vec<u64> = attempts
        .items
        .iter()
        .map(|a| a.started_at.since(start).as_secs())
        .collect();
    seconds.sort_unstable();
    assert_eq!(seconds, [10, 11, 13, 17, 20, 21, 23]);
    let dead = engine
        .client()
        .dead_letters(JobPageRequest::first(9))
        .await
        .unwrap();
    assert_eq!(dead.items.len(), 1);
    assert_eq!(dead.items[0].scheduled_run.unwrap().schedule, schedule.id);
}

#[tokio::test]
async fn saving_an_unchanged_schedule_again_keeps_its_progress() {
    let engine = test_engine();
    let first = every_ten_seconds(&engine.client(), OverlapPolicy::Allow).await;
    engine.advance(Duration::from_secs(15)).await.unwrap();
    let second = every_ten_seconds(&engine.client(), OverlapPolicy::Allow).await;
    assert_eq!(second.id, first.id);
    assert_eq!(second.progress.runs, 1);
    engine.advance(Duration::from_secs(10)).await.unwrap();
    let ticks = engine
        .client()
        .ticks(first.id, PageRequest::first(9))
        .await
        .unwrap();
    let fired = ticks
        .items
        .iter()
        .filter(|tick| matches!(tick, TickRecord::Fired { .. }))
        .count();
    assert_eq!(fired, 2);
}

#[tokio::test]
async fn a_paused_schedule_does_not_fire_and_can_be_run_by_hand() {
    let engine = test_engine();
    let client = engine.client();
    let schedule = every_ten_seconds(&client, OverlapPolicy::Skip).await;
    client.pause_schedule(schedule.id).await.unwrap();
    assert_eq!(engine.advance(Duration::from_secs(30)).await.unwrap(), 0);
    let job = client.run_schedule_now(schedule.id).await.unwrap();
    assert_eq!(engine.run_due().await.unwrap(), 1);
    assert_eq!(
        engine
            .job(job)
            .await
            .unwrap()
            .scheduled_run
            .unwrap()
            .schedule,
        schedule.id
    );
    client.delete_schedule(schedule.id).await.unwrap();
    assert!(client.delete_schedule(schedule.id).await.is_err());
}

#[tokio::test]
async fn a_schedule_that_has_ended_can_be_declared_again_but_not_created() {
    let engine = test_engine();
    let request = || {
        let until: Timestamp = "2026-01-01T00:00:30Z".parse().unwrap();
        ScheduleRequest::cron("short", "*/10 * * * * *", fails(0)).end_at(until)
    };
    let client = engine.client();
    client.schedule(request()).await.unwrap();
    assert_eq!(engine.advance(Duration::from_secs(60)).await.unwrap(), 3);
    client.schedule(request()).await.unwrap();
    let other = ScheduleRequest::cron("late", "*/10 * * * * *", fails(0))
        .end_at("2026-01-01T00:00:30Z".parse::<Timestamp>().unwrap());
    let error = client.schedule(other).await.unwrap_err();
    assert!(error.to_string().starts_with("schedule is late"), "{error}");
}

#[tokio::test]
async fn what_a_schedule_decides_cannot_be_set_on_its_job() {
    let client = test_engine().client();
    for (job, field) in [
        (fails(0).job().delay(Duration::from_secs(1)), "job.delay"),
        (fails(0).job().idempotency_key("k"), "job.idempotencyKey"),
    ] {
        let request = ScheduleRequest::cron("wrong", "@hourly", job);
        let error = client.schedule(request).await.unwrap_err();
        assert!(error.to_string().starts_with(field), "{error}");
    }
}

#[tokio::test]
async fn a_run_by_hand_exactly_on_a_tick_does_not_stop_the_schedule() {
    let engine = test_engine();
    let client = engine.client();
    let schedule = every_ten_seconds(&client, OverlapPolicy::Allow).await;
    engine.advance(Duration::from_secs(10)).await.unwrap();
    let by_hand = client.run_schedule_now(schedule.id).await.unwrap();
    assert!(client.job(by_hand).await.unwrap().is_some());
    engine.advance(Duration::from_secs(10)).await.unwrap();
    let ticks = client
        .ticks(schedule.id, PageRequest::first(9))
        .await
        .unwrap();
    assert_eq!(ticks.items.len(), 3);
}

/// Runs until it should stop.
async fn until_stopped(_: Wait, ctx: Context) -> Result<(), JobError> {
    let reason = ctx.stopped().await;
    Err(JobError::failure("stopped", format!("{reason:?}")))
}

#[tokio::test(start_paused = true)]
async fn a_replaced_run_hears_of_it_at_once_and_ends_cancelled() {
    let clock = ManualClock::default();
    let store = MemoryStore::new(Arc::new(clock.clone()));
    let builder = Engine::builder(store).handler(until_stopped);
    let engine = builder.start().unwrap();
    let mut notices = engine.subscribe();
    let request =
        ScheduleRequest::cron("tens", "*/10 * * * * *", Wait.job()).overlap(OverlapPolicy::Replace);
    engine.client().schedule(request).await.unwrap();
    let is_started = |notice: &Notice| matches!(notice.event, JobEvent::Started { .. });
    clock.advance(Duration::from_secs(10));
    let first = notice(&mut notices, is_started).await.job;
    clock.advance(Duration::from_secs(10));
    let second = notice(&mut notices, is_started).await.job;
    assert_ne!(second, first);
    let first = engine.finished(first).await.unwrap();
    assert_eq!(first.progress.state, JobState::Cancelled);
    engine.stop_now().await;
}
