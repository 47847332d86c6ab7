//! Wake-ups: a fetcher that waits until the next due time is woken for an earlier one.

use std::time::Duration;

use rand::{RngExt, seq::IndexedRandom};
use steadfast_core::{
    Dependencies, Gate, GateDefaults, GateId, GateLimits, GateScope, Gates, JobCommand, JobEdit,
    NewJobExtras, OnFailure, Outcome, Rate, RunAt, Timestamp,
};

use crate::conformance::{
    fixture::{Fixture, failure, kind, permanent, queue, request, secs, success, tenant},
    workload::{QUEUES, Workload},
};
use crate::{ClaimRequest, CommitResult, FireResult, WakeInterest, Wakeups};

pub async fn enqueueing_wakes(f: Fixture) {
    let wakeups = f.store.wakeups();
    f.enqueue_one(f.job()).await;
    woken(wakeups).await;
}

/// What they wait for is said by queue, kind or tenant, and found again whatever made the job wait.
pub async fn those_who_wait_for_a_job_by_name_are_woken(f: Fixture) {
    let by_name: [fn(&mut ClaimRequest); 5] = [
        |_| {},
        |request| request.queues = vec![queue("z"), queue("default")],
        |request| request.kinds = vec![kind("mail"), kind("a")],
        |request| request.tenant = Some(tenant("default")),
        |request| {
            request.tenant = Some(tenant("default"));
            request.queues = vec![queue("default")];
            request.kinds = vec![kind("mail")];
            request.except_kinds = vec![kind("http")];
        },
    ];
    for name in by_name {
        let mut request = request(9);
        name(&mut request);
        let listen = || f.store.wakeups_for(WakeInterest::of(&request));
        let wakeups = listen();
        f.enqueue_one(f.job()).await;
        woken(wakeups).await;
        let claim = f
            .store
            .claim(request.clone())
            .await
            .unwrap()
            .claims
            .remove(0);
        let wakeups = listen();
        let released = Outcome::Released { started: false };
        f.end(claim, released).await;
        woken(wakeups).await;
        let claim = f
            .store
            .claim(request.clone())
            .await
            .unwrap()
            .claims
            .remove(0);
        f.end(claim, success()).await;
    }
}

pub async fn every_sleeper_is_woken(f: Fixture) {
    let [first, second] = [f.store.wakeups(), f.store.wakeups()];
    let third = first.clone();
    f.enqueue_one(f.job()).await;
    woken(first).await;
    woken(second).await;
    woken(third).await;
}

pub async fn a_sleeper_is_woken_again(f: Fixture) {
    let mut wakeups = f.store.wakeups();
    for _ in 0..3 {
        f.enqueue_one(f.job()).await;
        wakeups = woken(wakeups).await;
    }
}

pub async fn a_command_that_makes_a_job_due_sooner_wakes(f: Fixture) {
    let far = || f.job_with(|job| job.run_at = RunAt::After(secs(600)));
    let [run_now, edited] = [f.enqueue_one(far()).await, f.enqueue_one(far()).await];
    let retried = f.ended(f.job(), permanent("no")).await.id;
    let edit = JobEdit {
        run_at: Some(f.now().plus(secs(1))),
        ..JobEdit::default()
    };
    for (id, command) in [
        (run_now, JobCommand::RunNow),
        (edited, JobCommand::Edit(edit)),
        (retried, JobCommand::Retry { payload: None }),
    ] {
        let wakeups = f.store.wakeups();
        f.command(id, command).await;
        woken(wakeups).await;
        // A fetcher that is woken looks, and waits until the next due time.
        f.claim(10).await;
    }
}

pub async fn a_job_that_is_due_elsewhere_does_not_drown_a_wake_up(f: Fixture) {
    let elsewhere = f.job_with(|job| job.queue = queue("b"));
    f.enqueue_one(elsewhere).await;
    assert_eq!(look(&f, "a", 1).await, None);
    let wakeups = f.store.wakeups();
    f.enqueue_one(f.job_with(|job| job.queue = queue("a")))
        .await;
    woken(wakeups).await;
}

pub async fn a_later_job_wakes_once_the_earlier_one_is_gone(f: Fixture) {
    let at = |seconds: u64| f.job_with(|job| job.run_at = RunAt::After(secs(seconds)));
    let cancelled = f.enqueue_one(at(10)).await;
    f.command(cancelled, JobCommand::Cancel).await;
    assert_eq!(look(&f, "default", 1).await, None);
    let wakeups = f.store.wakeups();
    f.enqueue_one(at(20)).await;
    woken(wakeups).await;

    f.clock.advance(secs(20));
    assert_eq!(f.claim(10).await.len(), 1);
    assert_eq!(look(&f, "default", 1).await, None);
    let wakeups = f.store.wakeups();
    f.enqueue_one(at(30)).await;
    woken(wakeups).await;
}

pub async fn a_retry_wakes(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let wakeups = f.store.wakeups();
    f.end(claim, failure("again")).await;
    woken(wakeups).await;
}

pub async fn an_outbox_wakes(f: Fixture) {
    let mut transition = f.decide(f.claimed(f.job()).await, success());
    transition.outbox = f.jobs(1);
    let wakeups = f.store.wakeups();
    assert_eq!(f.commit(transition).await, CommitResult::Done);
    woken(wakeups).await;
}

pub async fn saving_a_schedule_wakes(f: Fixture) {
    let wakeups = f.store.wakeups_for(WakeInterest::Schedules);
    f.saved_schedule("nightly").await;
    woken(wakeups).await;
}

pub async fn firing_wakes(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let firing = f.firing(&schedule, &[tick]);
    let wakeups = f.store.wakeups();
    assert_eq!(f.fire(firing).await, FireResult::Done);
    woken(wakeups).await;
}

pub async fn the_end_of_a_run_wakes_because_a_tick_may_wait_for_it(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let mut firing = f.firing(&schedule, &[tick]);
    firing.progress.queued_tick = Some(tick);
    let run = firing.runs[0].id;
    assert_eq!(f.fire(firing).await, FireResult::Done);
    let claim = f.claim_of(run).await;
    let wakeups = f.store.wakeups_for(WakeInterest::Schedules);
    f.end(claim, success()).await;
    woken(wakeups).await;
    assert_eq!(f.due_ids().await, [schedule.id]);
}

/// A driver may wake all callers once, when it begins to listen; so each is done more than once.
pub async fn what_happens_to_a_job_of_a_batch_wakes_those_who_count(f: Fixture) {
    let mut wakeups = f.store.wakeups_for(WakeInterest::Links);
    for _ in 0..3 {
        let batch = f.batch(1);
        let job = batch.jobs[0].id;
        f.store.create_batch(batch, 10).await.unwrap();
        let claim = f.claim_of(job).await;
        f.end(claim, permanent("no")).await;
        wakeups = woken(wakeups).await;
        f.command(job, JobCommand::Retry { payload: None }).await;
        wakeups = woken(wakeups).await;
        f.command(job, JobCommand::Cancel).await;
        wakeups = woken(wakeups).await;
    }
}

pub async fn the_end_of_a_job_wakes_those_who_release_others(f: Fixture) {
    let mut wakeups = f.store.wakeups_for(WakeInterest::Links);
    for _ in 0..3 {
        let first = f.claimed(f.job()).await;
        let job = f.job();
        let after = Dependencies::new(job.id, [first.job().id], OnFailure::Fail).unwrap();
        let job = job.with_extras(NewJobExtras {
            after: Some(after),
            ..NewJobExtras::default()
        });
        f.enqueue_one(job).await;
        f.end(first, success()).await;
        wakeups = woken(wakeups).await;
    }
}

/// At a full gate no caller knows yet when the rate lets the next one start.
pub async fn an_end_at_a_full_gate_with_a_rate_is_not_slept_through(f: Fixture) {
    let limits = GateLimits {
        max_running: Some(1),
        rate: Rate::new(1, secs(1), 0).ok(),
        ..GateLimits::default()
    };
    let id = GateId::new(None, GateScope::Queue, "default").unwrap();
    let gates = Gates::new([Gate { id, limits }], GateDefaults::default());
    f.use_gates(&gates).await;
    let request = request(9);
    f.enqueue(f.jobs(2)).await;
    let next_start = f.now().plus(Duration::from_millis(1_000));
    let mut first = f.store.claim(request.clone()).await.unwrap().claims;
    assert_eq!(first.len(), 1);
    let told = f.store.claim(request.clone()).await.unwrap().next_due;
    let wakeups = f.store.wakeups_for(WakeInterest::of(&request));
    f.clock.advance(Duration::from_millis(100));
    f.end(first.remove(0), success()).await;
    if told.is_none_or(|told| told > next_start) {
        woken(wakeups).await;
    }
    let next = f.store.claim(request.clone()).await.unwrap();
    assert_eq!((next.claims.len(), next.next_due), (0, Some(next_start)));
    f.clock.advance(Duration::from_millis(900));
    assert_eq!(f.store.claim(request).await.unwrap().claims.len(), 1);
}

/// Whatever happens, a fetcher that waits until the next due time is not late for a job.
pub async fn no_earlier_time_goes_unannounced(f: Fixture) {
    let mut workload = Workload::run(&f, 3, 0).await;
    let mut woken_rightly = 0;
    for _ in 0..300 {
        let lane = *QUEUES.choose(&mut workload.random).unwrap();
        let told = look(&f, lane, 100).await;
        let wakeups = f.store.wakeups_for(WakeInterest::of(&request_of(lane, 1)));
        for _ in 0..workload.random.random_range(1..6) {
            workload.step().await;
        }
        let true_time = look(&f, lane, 0).await.unwrap_or(Timestamp::MAX);
        if true_time < told.unwrap_or(Timestamp::MAX) {
            woken(wakeups).await;
            woken_rightly += 1;
        }
    }
    assert!(woken_rightly > 20, "{woken_rightly}");
}

/// Takes up to `max` jobs of one queue, and answers when to look again.
async fn look(f: &Fixture, lane: &str, max: usize) -> Option<Timestamp> {
    let claimed = f.store.claim(request_of(lane, max)).await;
    claimed.unwrap().next_due
}

fn request_of(lane: &str, max: usize) -> ClaimRequest {
    ClaimRequest {
        queues: vec![queue(lane)],
        ..request(max)
    }
}

/// The bound is only for a driver that never wakes: one that does answers at once.
async fn woken(mut wakeups: Wakeups) -> Wakeups {
    let woken = tokio::time::timeout(Duration::from_secs(10), wakeups.next());
    assert!(woken.await.is_ok(), "no wake-up came");
    wakeups
}
