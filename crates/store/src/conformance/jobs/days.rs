//! Retention of days: a store may delete what ended on one day together, up to a day late and never early.

use std::time::Duration;

use steadfast_core::{
    BatchStatus, JobCommand, JobId, JobState, OnFailure, Outcome, RunAt, limits::DAY,
};

use crate::conformance::{
    fixture::{Fixture, failure, json, key, permanent, secs, step, success, walk},
    records::{
        after::after,
        batches::{counts, create, follow, read},
    },
};
use crate::{EnqueueResult, JobFilter};

const KEPT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// How late a day may be, and how long after its creation a job is of this day.
const LATE: Duration = Duration::from_secs(26 * 60 * 60);

/// Retention as a node runs it, until nothing is left to delete.
async fn prune(f: &Fixture) -> usize {
    let mut pruned = 0;
    loop {
        let some = f.prune(f.now().minus(KEPT), 10).await;
        if some == 0 {
            return pruned;
        }
        pruned += some;
    }
}

async fn listed(f: &Fixture) -> Vec<JobId> {
    let all = JobFilter::default();
    let jobs = walk(3, async |page| f.store.list_jobs(all.clone(), page).await);
    jobs.await.into_iter().map(|job| job.id).collect()
}

fn cancelled() -> Outcome {
    Outcome::Cancelled {
        message: "no".into(),
    }
}

fn retry() -> JobCommand {
    JobCommand::Retry { payload: None }
}

/// Nothing is counted that is not there.
async fn counts_are_right(f: &Fixture) {
    assert_eq!(f.store.recount(false).await.unwrap(), []);
}

pub async fn what_is_kept_for_days_goes_at_most_a_day_late(f: Fixture) {
    let keyed = || f.job_with(|job| job.idempotency_key = key("k"));
    let tags = || [("order".to_owned(), "7".to_owned())].into_iter().collect();
    let old = [
        f.ended(f.job(), success()).await.id,
        f.ended(keyed(), success()).await.id,
        f.ended(f.job().with_tags(tags()).unwrap(), success())
            .await
            .id,
        f.ended(f.job_in("other", f.job().policy), permanent("no"))
            .await
            .id,
    ];
    f.command(old[3], JobCommand::Discard).await;
    let cancelled = f.enqueue_one(f.job()).await;
    f.command(cancelled, JobCommand::Cancel).await;
    f.save_step(old[0], step("s"), json("1")).await;
    let mut all = vec![cancelled, old[3], old[2], old[1], old[0]];
    let ended_at = f.now();
    for day in 1..=3 {
        f.clock.set(ended_at.plus(DAY * day));
        assert_eq!(prune(&f).await, 0);
        assert_eq!(listed(&f).await, all);
        f.clock.advance(LATE - DAY + secs(3_600));
        let new = f.ended(f.job(), success()).await.id;
        assert_eq!(f.attempts_of(new).await.len(), 1);
        all.insert(0, new);
    }
    counts_are_right(&f).await;
    f.clock.set(ended_at.plus(KEPT + LATE));
    assert_eq!(prune(&f).await, 5);
    assert_eq!(listed(&f).await, all[..3]);
    for gone in all.drain(3..) {
        assert_eq!(f.find(gone).await, None);
        assert_eq!(f.attempts_of(gone).await, []);
    }
    assert_eq!(f.step_result(old[0], step("s")).await, None);
    let tagged = JobFilter {
        tags: vec!["order:7".to_owned()],
        ..JobFilter::default()
    };
    assert_eq!(f.store.count_jobs(tagged, 10).await.unwrap().count, 0);
    counts_are_right(&f).await;
    // Neither the key nor the ids are known any more.
    f.enqueue_one(keyed()).await;
    let mut again = f.job();
    again.id = old[0];
    f.enqueue_one(again).await;
    assert_eq!(f.attempts_of(old[0]).await, []);
}

pub async fn what_ended_days_after_its_creation_is_kept_as_long_as_the_rest(f: Fixture) {
    let first = f.ended(f.job(), success()).await;
    let dead = f.ended(f.job(), permanent("no")).await;
    let letters = f.ended(f.job(), permanent("discarded later")).await;
    let created_at = f.now();
    let claim = f.claimed(f.job()).await;
    let late = f.end(claim, failure("once more")).await;
    f.save_step(late.id, step("s"), json("1")).await;
    let later = f.job_with(|job| job.run_at = RunAt::After(DAY * 2));
    let later = f.enqueue_one(later).await;

    f.clock.set(created_at.plus(DAY * 2));
    assert_eq!(prune(&f).await, 0);
    for claim in f.claim(2).await {
        f.end(claim, cancelled()).await;
    }
    f.command(letters.id, JobCommand::Discard).await;
    let kept = [late.id, later, letters.id];
    f.clock.set(created_at.plus(KEPT + LATE));
    assert_eq!(prune(&f).await, 1);
    assert_eq!(f.find(first.id).await, None);
    assert_eq!(f.read(dead.id).await, dead);
    for (id, attempts) in kept.into_iter().zip([2, 1, 1]) {
        assert!(f.read(id).await.progress.state.is_final());
        assert_eq!(f.attempts_of(id).await.len(), attempts);
    }
    assert_eq!(f.attempts_of(dead.id).await.len(), 1);
    assert_eq!(f.step_result(late.id, step("s")).await, Some(json("1")));
    assert_eq!(listed(&f).await, [later, late.id, letters.id, dead.id]);
    counts_are_right(&f).await;

    // They are jobs as any other.
    let again = f.command(late.id, retry()).await;
    assert_eq!(again.progress.state, JobState::Waiting);
    let claim = f.claim_of(late.id).await;
    f.end(claim, success()).await;
    assert_eq!(f.attempts_of(late.id).await.len(), 3);
    f.clock.set(created_at.plus(DAY * 2 + KEPT + LATE));
    assert_eq!(prune(&f).await, 2);
    assert_eq!(listed(&f).await, [late.id, dead.id]);
    f.clock.advance(DAY * 3);
    assert_eq!(prune(&f).await, 1);
    assert_eq!(f.attempts_of(late.id).await, []);
    assert_eq!(f.read(dead.id).await, dead);
    assert_eq!(f.attempts_of(dead.id).await.len(), 1);
    counts_are_right(&f).await;
}

pub async fn a_job_of_an_earlier_day_is_as_any_other(f: Fixture) {
    let job = f.ended(f.job(), cancelled()).await;
    let done = f.ended(f.job(), success()).await;
    let batch = f.batch(1);
    let member = batch.jobs[0].id;
    let id = create(&f, batch).await.id;
    let claim = f.claim_of(member).await;
    f.end(claim, cancelled()).await;
    follow(&f).await;
    f.clock.advance(secs(60));
    let callback = f.claim(5).await.remove(0);
    f.end(callback, success()).await;
    f.clock.advance(DAY * 2);
    for _ in 0..2 {
        assert_eq!(prune(&f).await, 0);
    }
    assert_eq!(f.read(job.id).await, job);
    // Its id is taken.
    let again = f.job_with(|new| new.id = done.id);
    let answers = f.store.enqueue(vec![again], None).await.unwrap();
    assert_eq!(answers, [EnqueueResult::Existing(done.id)]);
    // Others may wait for it.
    let waiting = f.enqueue_one(after(&f, &[done.id], OnFailure::Wait)).await;
    assert!(!f.read(waiting).await.is_blocked());
    let claim = f.claim_of(waiting).await;
    f.end(claim, success()).await;
    // Its batch counts what becomes of it.
    for of in [job.id, member] {
        let waiting = f.command(of, retry()).await;
        assert_eq!(waiting.progress.state, JobState::Waiting);
        let claim = f.claim_of(of).await;
        let ended = f.end(claim, success()).await;
        assert_eq!(ended.progress.state, JobState::Succeeded);
        assert_eq!(f.attempts_of(of).await.len(), 2);
    }
    follow(&f).await;
    let batch = read(&f, id).await;
    assert_eq!(counts(&batch), (1, 1, 0, BatchStatus::Succeeded));
    counts_are_right(&f).await;
}
