//! Jobs that wait for others.

use std::sync::Arc;

use steadfast_core::{
    ConcurrencyKey, Dependencies, EndReason, Gate, GateDefaults, GateId, GateLimits, GateScope,
    Gates, IdempotencyKey, JobCommand, JobId, JobState, NewJob, NewJobExtras, OnFailure,
    PrerequisiteState, RefusalReason, RunAt, Tenant,
};

use crate::conformance::fixture::{Fixture, MICRO, ids_of, permanent, secs, success, tenant};
use crate::{CommandError, EnqueueError, EnqueueResult, ReleasedDependants};

pub async fn a_job_starts_when_all_that_it_waits_for_have_succeeded(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let second = f.claimed(f.job()).await;
    let others = [first.job().id, second.job().id];
    let waiting = f.enqueue_one(after(&f, &others, OnFailure::Wait)).await;
    let stored = f.read(waiting).await;
    assert!(stored.is_blocked());
    assert_eq!(stored.earliest_run_at(), f.now());
    assert_eq!(stored.on_failure(), Some(OnFailure::Wait));
    assert_eq!(f.claim(2).await.len(), 0);

    f.end(first, success()).await;
    assert_eq!(follow(&f).await, []);
    let links = f.store.job_links(waiting, 10).await.unwrap();
    let expected = [
        (others[0], PrerequisiteState::Succeeded),
        (others[1], PrerequisiteState::Unfinished),
    ];
    assert_eq!(links.after, expected);
    assert_eq!(f.claim(2).await.len(), 0);

    f.clock.advance(secs(5));
    f.end(second, success()).await;
    assert_eq!(follow(&f).await, [waiting]);
    let released = f.read(waiting).await;
    assert!(!released.is_blocked());
    assert_eq!(released.progress.run_at, f.now());
    let claim = f.claim_of(waiting).await;
    f.end(claim, success()).await;
    let links = f.store.job_links(others[0], 10).await.unwrap();
    assert_eq!((links.after.len(), links.dependants.count), (0, 1));
    assert_eq!(links.first_dependants, [waiting]);
    for (id, most) in [(others[0], 0), (waiting, 10)] {
        let links = f.store.job_links(id, most).await.unwrap();
        assert_eq!(links.first_dependants, []);
    }
}

pub async fn a_job_waits_for_its_time_as_well(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let mut job = after(&f, &[first.job().id], OnFailure::Wait);
    job.run_at = RunAt::After(secs(60));
    let waiting = f.enqueue_one(job).await;
    let run_at = f.now().plus(secs(60));
    assert_eq!(f.read(waiting).await.earliest_run_at(), run_at);
    f.end(first, success()).await;
    assert_eq!(follow(&f).await, [waiting]);
    assert_eq!(f.read(waiting).await.progress.run_at, run_at);
    assert_eq!(f.claim(1).await.len(), 0);
    f.clock.advance(secs(60));
    f.claim_of(waiting).await;
}

pub async fn a_job_after_one_that_has_succeeded_starts_at_once(f: Fixture) {
    let first = f.ended(f.job(), success()).await;
    let job = f.enqueue_one(after(&f, &[first.id], OnFailure::Fail)).await;
    assert!(!f.read(job).await.is_blocked());
    f.claim_of(job).await;
    assert_eq!(follow(&f).await, []);
}

pub async fn what_a_failure_means_is_as_the_job_says(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let id = first.job().id;
    let mut jobs = Vec::new();
    for on_failure in [OnFailure::Wait, OnFailure::Fail, OnFailure::Run] {
        jobs.push(f.enqueue_one(after(&f, &[id], on_failure)).await);
    }
    f.end(first, permanent("no")).await;
    assert_eq!(follow(&f).await, jobs[1..]);
    assert!(f.read(jobs[0]).await.is_blocked());
    let failed = f.read(jobs[1]).await;
    assert_eq!(failed.progress.state, JobState::Failed);
    assert_eq!(failed.progress.reason, Some(EndReason::PrerequisiteFailed));
    assert!(failed.is_dead_letter());
    let claim = f.claim_of(jobs[2]).await;
    f.end(claim, success()).await;
    // One that is created only now learns of it as well.
    let late = f.enqueue_one(after(&f, &[id], OnFailure::Fail)).await;
    assert_eq!(f.claim(1).await.len(), 0);
    assert_eq!(follow(&f).await, [late]);
    assert_eq!(f.read(late).await.progress.state, JobState::Failed);
}

pub async fn a_dead_letter_that_is_requeued_and_succeeds_releases_those_behind_it(f: Fixture) {
    let first = f.ended(f.job(), permanent("no")).await;
    let waiting = f.enqueue_one(after(&f, &[first.id], OnFailure::Wait)).await;
    assert_eq!(follow(&f).await, []);
    f.command(first.id, retry()).await;
    assert_eq!(follow(&f).await, []);
    let claim = f.claim_of(first.id).await;
    f.end(claim, success()).await;
    assert_eq!(follow(&f).await, [waiting]);
    f.claim_of(waiting).await;
}

pub async fn a_dead_letter_that_is_discarded_fails_those_behind_it(f: Fixture) {
    let first = f.ended(f.job(), permanent("no")).await;
    let waiting = f.enqueue_one(after(&f, &[first.id], OnFailure::Wait)).await;
    let runs = f.enqueue_one(after(&f, &[first.id], OnFailure::Run)).await;
    assert_eq!(follow(&f).await, []);
    f.command(first.id, JobCommand::Discard).await;
    assert_eq!(follow(&f).await, [waiting]);
    assert_eq!(f.read(waiting).await.progress.state, JobState::Failed);
    f.claim_of(runs).await;
}

pub async fn a_discarded_job_that_is_retried_and_succeeds_lets_those_behind_it_be_retried(
    f: Fixture,
) {
    let first = f.ended(f.job(), permanent("no")).await;
    let waiting = f.enqueue_one(after(&f, &[first.id], OnFailure::Wait)).await;
    f.command(first.id, JobCommand::Discard).await;
    assert_eq!(follow(&f).await, [waiting]);
    f.command(first.id, retry()).await;
    let claim = f.claim_of(first.id).await;
    f.end(claim, success()).await;
    assert_eq!(follow(&f).await, []);
    let links = f.store.job_links(waiting, 0).await.unwrap();
    assert_eq!(links.after, [(first.id, PrerequisiteState::Succeeded)]);
    assert!(!f.command(waiting, retry()).await.is_blocked());
    f.claim_of(waiting).await;
}

pub async fn a_job_that_has_started_waits_for_no_other_again(f: Fixture) {
    let first = f.ended(f.job(), permanent("no")).await;
    let behind = f.enqueue_one(after(&f, &[first.id], OnFailure::Run)).await;
    let claim = f.claim_of(behind).await;
    f.end(claim, permanent("no")).await;
    f.command(first.id, retry()).await;
    assert!(!f.command(behind, retry()).await.is_blocked());
}

pub async fn many_that_wait_for_one_do_not_hold_up_those_of_another(f: Fixture) {
    let (first, second) = (f.claimed(f.job()).await, f.claimed(f.job()).await);
    let jobs = (0..50).map(|_| after(&f, &[first.job().id], OnFailure::Wait));
    f.enqueue(jobs.collect()).await;
    let other = after(&f, &[second.job().id], OnFailure::Wait);
    let other = f.enqueue_one(other).await;
    f.end(first, success()).await;
    f.end(second, success()).await;
    let mut released = Vec::new();
    for _ in 0..3 {
        let round = f.store.release_dependants(3, Arc::default()).await.unwrap();
        released.extend(round.changed.iter().map(|job| job.id));
    }
    assert!(released.contains(&other), "{} came first", released.len());
    follow(&f).await;
    assert_eq!(f.claim(100).await.len(), 51);
}

pub async fn commands_to_a_job_that_waits_for_others_are_as_its_table_says(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let id = first.job().id;
    let waiting = f.enqueue_one(after(&f, &[id], OnFailure::Fail)).await;
    let refusal = |job: JobId, command: JobCommand| {
        let answers = f
            .store
            .run_command(vec![job], command, Arc::default(), None);
        async move {
            match answers.await.unwrap().remove(0) {
                Err(CommandError::Refused(refusal)) => refusal.reason,
                other => panic!("{other:?}"),
            }
        }
    };
    let reason = refusal(waiting, JobCommand::RunNow).await;
    assert_eq!(reason, RefusalReason::Blocked);
    // Cancelled and retried, it waits again.
    f.command(waiting, JobCommand::Cancel).await;
    assert!(f.command(waiting, retry()).await.is_blocked());
    assert!(f.read(waiting).await.is_blocked());
    f.end(first, permanent("no")).await;
    assert_eq!(follow(&f).await, [waiting]);
    let reason = refusal(waiting, retry()).await;
    assert_eq!(reason, RefusalReason::PrerequisiteFailed);
    f.command(id, retry()).await;
    let claim = f.claim_of(id).await;
    assert!(f.command(waiting, retry()).await.is_blocked());
    f.end(claim, success()).await;
    assert_eq!(follow(&f).await, [waiting]);
    f.claim_of(waiting).await;
}

pub async fn a_job_must_wait_for_jobs_of_its_tenant_that_exist(f: Fixture) {
    let mut foreign = f.job();
    foreign.tenant = tenant("other");
    let foreign = f.enqueue_one(foreign).await;
    let unknown = f.id();
    for other in [foreign, unknown] {
        let jobs = vec![f.job(), after(&f, &[other], OnFailure::Run)];
        let first = jobs[0].id;
        match f.store.enqueue(jobs, None).await.unwrap_err() {
            EnqueueError::UnknownPrerequisite { index: 1, job } => assert_eq!(job, other),
            error => panic!("{error}"),
        }
        assert_eq!(f.find(first).await, None, "all or none");
    }
    let mut own = after(&f, &[foreign], OnFailure::Run);
    own.tenant = Tenant::new("other").unwrap();
    f.enqueue_one(own).await;
}

pub async fn a_job_waits_for_earlier_ones_of_its_request(f: Fixture) {
    let keyed = || {
        let mut job = f.job();
        job.idempotency_key = Some(IdempotencyKey::new("a").unwrap());
        job
    };
    let first = keyed();
    let second = after(&f, &[first.id], OnFailure::Wait);
    let ids = [first.id, second.id];
    f.store.enqueue(vec![first, second], None).await.unwrap();
    assert!(f.read(ids[1]).await.is_blocked());
    let late = f.job();
    let early = after(&f, &[late.id], OnFailure::Wait);
    match f.store.enqueue(vec![early, late], None).await.unwrap_err() {
        EnqueueError::UnknownPrerequisite { index: 0, .. } => {}
        error => panic!("{error}"),
    }
    let mut foreign = f.job();
    foreign.tenant = tenant("other");
    let own = after(&f, &[foreign.id], OnFailure::Wait);
    assert!(f.store.enqueue(vec![foreign, own], None).await.is_err());

    // Jobs that exist by their keys have other ids.
    let (again, twin) = (keyed(), keyed());
    let third = after(&f, &[again.id, twin.id], OnFailure::Wait);
    let third_id = third.id;
    let results = f
        .store
        .enqueue(vec![again, twin, third], None)
        .await
        .unwrap();
    assert_eq!(results[..2], [EnqueueResult::Existing(ids[0]); 2]);
    let links = f.store.job_links(third_id, 10).await.unwrap();
    assert_eq!(links.after, [(ids[0], PrerequisiteState::Unfinished)]);
    let claim = f.claim_of(ids[0]).await;
    f.end(claim, success()).await;
    let mut released = follow(&f).await;
    released.sort_unstable();
    let mut expected = vec![ids[1], third_id];
    expected.sort_unstable();
    assert_eq!(released, expected);

    // Two of one request with one key are one job.
    let new = |key: &str| {
        let mut job = f.job();
        job.idempotency_key = Some(IdempotencyKey::new(key).unwrap());
        job
    };
    let (one, same) = (new("b"), new("b"));
    let one_id = one.id;
    let last = after(&f, &[same.id], OnFailure::Wait);
    let last_id = last.id;
    f.store.enqueue(vec![one, same, last], None).await.unwrap();
    let links = f.store.job_links(last_id, 10).await.unwrap();
    assert_eq!(links.after, [(one_id, PrerequisiteState::Unfinished)]);
}

pub async fn retention_keeps_what_a_deleted_job_was(f: Fixture) {
    let good = f.ended(f.job(), success()).await;
    let bad = f.claimed(f.job()).await;
    let both = [good.id, bad.job().id];
    let waiting = f.enqueue_one(after(&f, &both, OnFailure::Wait)).await;
    let cancelled = f.enqueue_one(f.job()).await;
    let behind = f
        .enqueue_one(after(&f, &[cancelled], OnFailure::Wait))
        .await;
    f.command(cancelled, JobCommand::Cancel).await;
    // Before anyone has looked at what has happened.
    f.clock.advance(secs(60));
    assert_eq!(f.prune(f.now(), 10).await, 2);
    assert_eq!(follow(&f).await, [behind], "it will never succeed");
    f.end(bad, success()).await;
    assert_eq!(follow(&f).await, [waiting], "what has succeeded stays so");
    let claim = f.claim_of(waiting).await;
    f.end(claim, success()).await;
    f.clock.advance(secs(60));
    assert_eq!(f.prune(f.now(), 10).await, 2);
    assert_eq!(follow(&f).await, []);
}

pub async fn many_that_wait_for_one_are_released_in_batches(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let id = first.job().id;
    let jobs = (0..7).map(|_| after(&f, &[id], OnFailure::Wait));
    let mut expected = f.enqueue(jobs.collect()).await;
    expected.sort_unstable();
    f.end(first, success()).await;
    let mut released = Vec::new();
    let mut rounds = 0;
    loop {
        let round = f.store.release_dependants(3, Arc::default()).await.unwrap();
        assert!(round.changed.len() <= 3);
        released.extend(round.changed.iter().map(|job| job.id));
        rounds += 1;
        if !round.has_more {
            break;
        }
    }
    assert!(rounds >= 3);
    assert_eq!(released, expected);
    assert_eq!(f.claim(10).await.len(), 7);
}

pub async fn the_time_of_a_blocked_job_can_be_edited(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let waiting = f
        .enqueue_one(after(&f, &[first.job().id], OnFailure::Run))
        .await;
    let run_at = f.now().plus(secs(30));
    let edit = steadfast_core::JobEdit {
        run_at: Some(run_at),
        ..steadfast_core::JobEdit::default()
    };
    assert!(
        f.command(waiting, JobCommand::Edit(edit))
            .await
            .is_blocked()
    );
    f.end(first, success()).await;
    assert_eq!(follow(&f).await, [waiting]);
    assert_eq!(f.read(waiting).await.progress.run_at, run_at);
}

pub async fn a_request_that_is_repeated_waits_once(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let job = after(&f, &[first.job().id], OnFailure::Wait);
    let waiting = f.enqueue_one(job.clone()).await;
    let again = f.store.enqueue(vec![job], None).await.unwrap();
    assert_eq!(again, [EnqueueResult::Existing(waiting)]);
    let links = f.store.job_links(first.job().id, 10).await.unwrap();
    assert_eq!(links.dependants.count, 1);
    f.end(first, success()).await;
    assert_eq!(follow(&f).await, [waiting]);
    assert_eq!(follow(&f).await, []);
}

pub async fn callers_at_once_release_each_job_once(f: Fixture) {
    let mut expected = Vec::new();
    let mut claims = Vec::new();
    for _ in 0..8 {
        let claim = f.claimed(f.job()).await;
        let behind = after(&f, &[claim.job().id], OnFailure::Wait);
        expected.push(f.enqueue_one(behind).await);
        claims.push(claim);
    }
    for claim in claims {
        f.end(claim, success()).await;
    }
    let looks = (0..4).map(|_| follow(&f));
    let changed = futures_util::future::join_all(looks).await;
    let mut changed: Vec<JobId> = changed.into_iter().flatten().collect();
    // Of those that another had at work at the time.
    changed.extend(follow(&f).await);
    changed.sort_unstable();
    assert_eq!(changed, expected);
}

pub async fn a_job_comes_behind_those_that_it_waits_for_whatever_the_clock_says(f: Fixture) {
    let gate = Gate {
        id: GateId::new(Some(Tenant::default()), GateScope::Key, "k").unwrap(),
        limits: GateLimits {
            ordered: true,
            ..GateLimits::default()
        },
    };
    f.use_gates(&Gates::new([gate], GateDefaults::default()))
        .await;
    let only = async |id| {
        let mut claims = f.claim(10).await;
        assert_eq!(ids_of(&claims), [id]);
        claims.remove(0)
    };
    let keyed = |mut job: NewJob| {
        job.concurrency_key = ConcurrencyKey::new("k").ok();
        job
    };
    let (noon, earlier) = (f.now(), f.now().minus(secs(60)));
    let first = f.enqueue_one(keyed(f.job())).await;
    f.clock.set(earlier);
    let between = f.enqueue_one(after(&f, &[first], OnFailure::Wait)).await;
    let last = f
        .enqueue_one(keyed(after(&f, &[between], OnFailure::Wait)))
        .await;
    for id in [between, last] {
        let job = f.read(id).await;
        assert!((noon..=noon.plus(2 * MICRO)).contains(&job.created_at));
        assert_eq!(job.earliest_run_at(), earlier);
    }
    f.clock.set(noon);
    for id in [first, between, last] {
        f.end(only(id).await, success()).await;
        follow(&f).await;
    }
}

pub(crate) fn after(f: &Fixture, others: &[JobId], on_failure: OnFailure) -> NewJob {
    let job = f.job();
    let others = others.iter().copied();
    let extras = NewJobExtras {
        after: Some(Dependencies::new(job.id, others, on_failure).unwrap()),
        ..NewJobExtras::default()
    };
    job.with_extras(extras)
}

fn retry() -> JobCommand {
    JobCommand::Retry { payload: None }
}

/// Does all that follows, and answers with the jobs that were changed.
async fn follow(f: &Fixture) -> Vec<JobId> {
    let mut changed = Vec::new();
    loop {
        let ReleasedDependants {
            changed: some,
            has_more,
        } = f
            .store
            .release_dependants(10, Arc::default())
            .await
            .unwrap();
        changed.extend(some.into_iter().map(|job| job.id));
        if !has_more {
            changed.sort_unstable();
            return changed;
        }
    }
}
