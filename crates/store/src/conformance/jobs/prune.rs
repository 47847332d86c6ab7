//! What may be forgotten, when, and what goes with it.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    BatchId, Job, JobCommand, Outcome, PolicyPatch, Preset, RetryPolicy, RunAt, Timestamp,
    limits::DAY,
};

use crate::conformance::{
    fixture::{Fixture, MICRO, json, key, permanent, secs, step, success},
    planned::skip,
};
use crate::{
    AttemptOwner, BatchCreateResult, EnqueueResult, FireResult, TickRecord, limits::MINUTES_KEPT,
};

pub async fn what_ended_before_the_time_goes(f: Fixture) {
    let succeeded = f.ended(f.job(), success()).await;
    let cancelled = f
        .ended(
            f.job(),
            Outcome::Cancelled {
                message: "no".into(),
            },
        )
        .await;
    let never_started = f.enqueue_one(f.job()).await;
    let never_started = f.command(never_started, JobCommand::Cancel).await;
    let ended_at = f.now();
    f.clock.advance(secs(60));
    let later = f.ended(f.job(), success()).await;

    assert_eq!(f.prune(ended_at, 10).await, 0, "not what ended just then");
    assert_eq!(f.prune(ended_at.plus(MICRO), 10).await, 3);
    for gone in [succeeded, cancelled, never_started] {
        assert_eq!(f.find(gone.id).await, None);
    }
    assert_eq!(f.read(later.id).await, later);
}

pub async fn what_has_not_ended_stays(f: Fixture) {
    let running = f.running(f.job()).await;
    let waiting = f
        .enqueue_one(f.job_with(|job| job.run_at = RunAt::After(secs(5))))
        .await;
    f.clock.advance(DAY * 400);
    assert_eq!(f.prune(f.now(), 10).await, 0);
    assert_eq!(f.find(running.id).await, Some(running));
    assert!(f.find(waiting).await.is_some());
}

pub async fn a_dead_letter_stays_until_it_was_discarded(f: Fixture) {
    let dead = f.ended(f.job(), permanent("no")).await;
    f.clock.advance(DAY * 400);
    assert_eq!(f.prune(f.now(), 10).await, 0);
    assert_eq!(f.read(dead.id).await, dead);

    f.command(dead.id, JobCommand::Discard).await;
    let discarded_at = f.now();
    f.clock.advance(secs(60));
    let pruned = f.prune(discarded_at, 10).await;
    assert_eq!(pruned, 0, "it counts from when it was discarded");
    let pruned = f.prune(discarded_at.plus(MICRO), 10).await;
    assert_eq!(pruned, 1);
    assert_eq!(f.find(dead.id).await, None);
}

pub async fn a_job_that_was_retried_after_its_end_stays(f: Fixture) {
    let dead = f.ended(f.job(), permanent("no")).await;
    f.command(dead.id, JobCommand::Discard).await;
    f.command(dead.id, JobCommand::Retry { payload: None })
        .await;
    f.clock.advance(DAY);
    assert_eq!(f.prune(f.now(), 10).await, 0);
    f.claim_of(dead.id).await;
}

pub async fn a_key_lives_a_day_and_then_goes_with_its_job(f: Fixture) {
    let keyed = || f.job_with(|job| job.idempotency_key = key("k"));
    let job = f.ended(keyed(), success()).await;
    let created_at = f.now();
    f.clock.set(created_at.plus(DAY).minus(MICRO));
    assert_eq!(f.prune(f.now(), 10).await, 0);
    let answers = f.store.enqueue(vec![keyed()], None).await.unwrap();
    assert_eq!(answers, [EnqueueResult::Existing(job.id)]);

    f.clock.set(created_at.plus(DAY));
    assert_eq!(f.prune(f.now(), 10).await, 1);
    f.enqueue_one(keyed()).await;
}

pub async fn the_key_of_a_batch_lives_a_day_and_then_goes_with_it(f: Fixture) {
    let create = async |batch| f.store.create_batch(batch, 10).await.unwrap();
    let mut batch = f.batch(0);
    batch.idempotency_key = key("k");
    let BatchCreateResult::Created(created, _) = create(batch.clone()).await else {
        panic!("it is new");
    };
    let created_at = f.now();
    let other = f.batch(0);
    let other_id = other.id;
    create(other).await;
    f.clock.set(created_at.plus(DAY).minus(MICRO));
    assert_eq!(f.prune_records(f.now(), 10).await.batches, 1);
    assert_eq!(f.store.get_batch(other_id).await.unwrap(), None);
    batch.id = BatchId::new(f.now(), f.next_number());
    let answer = create(batch.clone()).await;
    assert_eq!(answer, BatchCreateResult::Existing(created));

    f.clock.set(created_at.plus(DAY));
    assert_eq!(f.prune_records(f.now(), 10).await.batches, 1);
    (batch.on_end, batch.on_success) = (None, None);
    let answer = create(batch).await;
    assert!(matches!(answer, BatchCreateResult::Created(..)));
}

/// Retention need not look at such jobs every time, but now and then.
pub async fn a_job_that_was_passed_over_for_its_key_goes_soon_after_its_day(f: Fixture) {
    let hour = secs(3_600);
    let created_at = f.now();
    let keyed = f.job_with(|job| job.idempotency_key = key("k"));
    let keyed = f.enqueue_one(keyed).await;
    f.clock.advance(hour * 12);
    let claim = f.claim_of(keyed).await;
    f.end(claim, success()).await;
    for _ in 0..3 {
        let other = f.ended(f.job(), success()).await;
        let dead = f.ended(f.job(), permanent("no")).await;
        f.command(dead.id, JobCommand::Discard).await;
        f.clock.advance(secs(120));
        assert_eq!(f.prune(f.now(), 1).await, 1);
        assert_eq!(f.prune(f.now(), 10).await, 1);
        assert_eq!(f.find(other.id).await, None);
        assert_eq!(f.find(dead.id).await, None);
    }
    f.clock.set(created_at.plus(DAY).minus(MICRO));
    assert_eq!(f.prune(f.now(), 10).await, 0);
    f.clock.set(created_at.plus(DAY + hour));
    assert_eq!(f.prune(f.now(), 10).await, 1);
    assert_eq!(f.find(keyed).await, None);
}

pub async fn no_more_than_asked_go(f: Fixture) {
    for _ in 0..5 {
        f.ended(f.job(), success()).await;
    }
    f.clock.advance(secs(60));
    for (pruned, left) in [(2, 3), (2, 1), (1, 0), (0, 0)] {
        assert_eq!(f.prune(f.now(), 2).await, pruned);
        assert_eq!(f.count_all().await, left);
    }
}

pub async fn attempts_and_steps_go_with_their_job(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (_, run) = f.fired(&schedule, tick).await;
    let claim = f.claim_of(run.id).await;
    f.save_step(run.id, step("s"), json("1")).await;
    f.end(claim, success()).await;
    f.clock.advance(secs(60));
    assert_eq!(f.prune(f.now(), 10).await, 1);
    nothing_is_left_of(&f, &run).await;
    assert!(
        f.attempts(AttemptOwner::Schedule(schedule.id))
            .await
            .is_empty()
    );

    // Not even for a job that takes the same place, or the same id.
    let mut again = f.job();
    again.id = run.id;
    let other = f.job();
    let other_id = other.id;
    f.enqueue(vec![other, again]).await;
    nothing_is_left_of(&f, &run).await;
    assert!(f.attempts_of(other_id).await.is_empty());
    let recalled = f.step_result(other_id, step("s")).await;
    assert_eq!(recalled, None);
}

pub async fn tick_records_from_before_the_time_go(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let start = f.now();
    let tick = f.clock.advance(secs(60));
    let mut firing = f.firing(&schedule, &[tick]);
    firing.skipped = vec![skip(start, 1)];
    assert_eq!(f.fire(firing).await, FireResult::Done);
    let schedule = f.read_schedule(schedule.id).await;
    let later = f.clock.advance(secs(60));
    f.fired(&schedule, later).await;

    for (before, left) in [(start, 3), (tick, 2), (tick.plus(MICRO), 1), (later, 1)] {
        f.prune(before, 10).await;
        assert_eq!(f.ticks(schedule.id).await.len(), left);
    }
    let ticks = f.ticks(schedule.id).await;
    assert_eq!(
        ticks.iter().map(TickRecord::at).collect::<Vec<_>>(),
        [later]
    );
    assert_eq!(f.count_all().await, 2, "their runs have not ended");
}

pub async fn more_tick_records_than_one_batch_go(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let start = f.now();
    let mut firing = f.firing(&schedule, &[]);
    firing.skipped = (0..7)
        .map(|second| skip(start.plus(secs(second)), 1))
        .collect();
    assert_eq!(f.fire(firing).await, FireResult::Done);
    assert_eq!(f.ticks(schedule.id).await.len(), 7);
    let before = f.clock.advance(secs(60));
    assert_eq!(f.prune(before, 2).await, 0);
    assert!(f.ticks(schedule.id).await.is_empty());
}

pub async fn counts_by_the_minute_go_after_a_month(f: Fixture) {
    for _ in 0..5 {
        f.ended(f.job(), success()).await;
        f.clock.advance(secs(60));
    }
    let minutes = async || f.store.minute_stats(None, Timestamp::EPOCH).await.unwrap();
    f.prune(f.now(), 2).await;
    assert_eq!(minutes().await.len(), 5, "although their jobs go");
    let now = f.clock.advance(MINUTES_KEPT + secs(120));
    f.prune(now, 2).await;
    assert_eq!(minutes().await, []);
}

/// A policy that no other job of the case has.
fn own_policy(retries: u32) -> Arc<RetryPolicy> {
    let patch = PolicyPatch::preset(Preset::Queue).max_retries(retries);
    Arc::new(patch.build().unwrap())
}

/// Looks for unused names day by day, until some were found.
async fn delete_unused_names(f: &Fixture) {
    for _ in 0..300 {
        if f.prune_names(0).await > 0 {
            return;
        }
        // sleep: what other tests do on the same server has to end first
        tokio::time::sleep(Duration::from_millis(10)).await;
        f.clock.advance(DAY);
    }
    panic!("none were found");
}

async fn queues_counted(f: &Fixture) -> Vec<String> {
    let lanes = f.store.lane_stats(None, f.now()).await.unwrap();
    lanes.iter().map(|lane| lane.queue.to_string()).collect()
}

pub async fn names_that_no_job_has_go_after_a_while(f: Fixture) {
    let mut kept = Vec::new();
    f.ended(f.job_in("gone", own_policy(7)), success()).await;
    let dead = f.job_in("dead", own_policy(8));
    kept.push(f.ended(dead, permanent("no")).await);
    let mut later = f.job_in("later", own_policy(9));
    later.run_at = RunAt::After(DAY * 400);
    let later = f.enqueue_one(later).await;
    kept.push(f.read(later).await);
    f.clock.advance(secs(60));
    assert_eq!(f.prune(f.now(), 10).await, 1);
    for _ in 0..5 {
        // What is counted by the minute stays.
        f.prune_names(0).await;
        assert_eq!(queues_counted(&f).await, ["dead", "gone", "later"]);
        f.clock.advance(DAY);
    }

    f.clock.advance(MINUTES_KEPT + DAY);
    f.prune(f.now(), 10).await;
    assert_eq!(queues_counted(&f).await, ["dead", "gone", "later"]);
    assert_eq!(f.prune_names(3).await, 0, "there are few");
    f.clock.advance(DAY);
    delete_unused_names(&f).await;
    assert_eq!(queues_counted(&f).await, ["dead", "later"]);
    f.clock.advance(DAY);
    assert_eq!(f.prune_names(0).await, 0, "the rest is used");
    for job in kept {
        assert_eq!(f.read(job.id).await, job);
    }
}

pub async fn a_name_that_went_can_be_used_again(f: Fixture) {
    let job = || f.job_in("again", own_policy(7));
    f.ended(job(), success()).await;
    f.enqueue_one(f.job_with(|job| job.run_at = RunAt::After(DAY * 400)))
        .await;
    f.clock.advance(MINUTES_KEPT + DAY);
    assert_eq!(f.prune(f.now(), 10).await, 1);
    assert_eq!(f.prune_names(0).await, 0);
    f.clock.advance(DAY);
    delete_unused_names(&f).await;

    let again = f.ended(job(), success()).await;
    assert_eq!((again.queue, again.policy), (job().queue, job().policy));
    let lanes = f.store.lane_stats(None, f.now()).await.unwrap();
    let counted = lanes
        .iter()
        .map(|lane| (lane.queue.as_str(), lane.total.attempts));
    assert_eq!(counted.collect::<Vec<_>>(), [("again", 1), ("default", 0)]);
    assert!(f.store.recount(false).await.unwrap().is_empty());
}

async fn nothing_is_left_of(f: &Fixture, job: &Job) {
    assert!(f.attempts_of(job.id).await.is_empty());
    let recalled = f.step_result(job.id, step("s")).await;
    assert_eq!(recalled, None);
}
