//! Commits: a transition is written whole under its claim, or not at all.

use std::sync::Arc;

use steadfast_core::{
    AttemptStatus, Claim, Failure, Fence, Job, JobCommand, JobState, Note, Outcome, Tally,
    Transition,
};

use crate::conformance::fixture::{Fixture, MICRO, failure, held, json, permanent, secs, success};
use crate::{CommitResult, Renewal};

pub async fn every_outcome_is_written_as_decided(f: Fixture) {
    let detailed = Outcome::Failure {
        failure: Failure::http(503, "down, für Zoë").with_retry_after(secs(77)),
        output: Some(json(r#"{"status":  503}"#)),
    };
    let outcomes = [
        Outcome::Success {
            output: Some(json("[1.0]")),
        },
        success(),
        detailed,
        permanent("no"),
        Outcome::Lost,
        Outcome::Snoozed(secs(10)),
        Outcome::Cancelled {
            message: "called off".into(),
        },
        Outcome::Released { started: true },
        Outcome::Released { started: false },
    ];
    for outcome in outcomes {
        let mut ended = f
            .claimed(f.job())
            .await
            .end(outcome.clone(), f.clock.advance(secs(60)));
        ended.set_note(&Note::read("half way"));
        let transition = steadfast_core::after_attempt(
            &ended,
            &steadfast_core::Subscriptions::default(),
            steadfast_core::Dice::new(1 << 63),
        );
        let mut expected = ended.job().clone();
        expected.progress = transition.to.clone();

        let before = f.tally().await;
        assert_eq!(
            f.commit(transition.clone()).await,
            CommitResult::Done,
            "{outcome:?}"
        );
        assert_eq!(f.read(expected.id).await, expected, "{outcome:?}");
        let records = f.attempts_of(expected.id).await;
        assert_eq!(records, Vec::from_iter(transition.record), "{outcome:?}");
        let mut counted = before;
        counted += transition.tally;
        assert_eq!(f.tally().await, counted, "{outcome:?}");
        // Out of the way of the next round.
        f.store
            .run_command(vec![expected.id], JobCommand::Cancel, Arc::default(), None)
            .await
            .unwrap();
    }
}

pub async fn each_attempt_leaves_one_record(f: Fixture) {
    let mut claim = Some(f.claimed(f.job()).await);
    let id = claim.as_ref().unwrap().job().id;
    let mut statuses = Vec::new();
    for outcome in [
        failure("a"),
        Outcome::Snoozed(secs(1)),
        failure("b"),
        success(),
    ] {
        let claim_now = match claim.take() {
            Some(claim) => claim,
            None => f.claim_of(id).await,
        };
        let job = f.end(claim_now, outcome).await;
        f.clock.set(job.progress.run_at.max(f.now().plus(MICRO)));
    }
    for record in f.attempts_of(id).await {
        statuses.push((record.status, record.attempt, record.fence.0));
    }
    let expected = [
        (AttemptStatus::Success, 3, 4),
        (AttemptStatus::Failed, 2, 3),
        (AttemptStatus::Snoozed, 2, 2),
        (AttemptStatus::Failed, 1, 1),
    ];
    assert_eq!(statuses, expected);
}

pub async fn each_attempt_of_a_long_batch_leaves_its_record(f: Fixture) {
    f.enqueue(f.jobs(70)).await;
    let claims = f.claim(70).await;
    f.clock.advance(secs(1));
    let ends = claims.into_iter().enumerate().map(|(place, claim)| {
        let end = [success(), failure("a"), Outcome::Snoozed(secs(1))];
        f.decide(claim, end[place % 3].clone())
    });
    let ends: Vec<_> = ends.collect();
    let answers = f.store.commit(ends.clone()).await.unwrap();
    assert_eq!(answers, [CommitResult::Done; 70]);
    for end in ends {
        assert_eq!(f.attempts_of(end.job).await, Vec::from_iter(end.record));
        assert_eq!(f.read(end.job).await.progress, end.to);
    }
}

pub async fn another_fence_writes_nothing(f: Fixture) {
    let job = f.running(f.job()).await;
    for fence in [0, 2, u32::MAX] {
        let mut transition = f.decide(held(job.clone()), success());
        transition.guard.fence = Fence(fence);
        transition.outbox = f.jobs(1);
        refused(&f, &job, transition).await;
    }
}

pub async fn a_late_result_of_a_lost_attempt_is_refused(f: Fixture) {
    let stalled = f.running(f.job()).await;
    f.clock.set(stalled.progress.lease_until.unwrap());
    let waiting = f.end(f.held(stalled.id).await, Outcome::Lost).await;
    // While the job waits, its fence is still that of the stalled holder.
    refused(&f, &waiting, f.decide(held(stalled.clone()), success())).await;

    f.clock.set(waiting.progress.run_at);
    let second = f.claim_of(stalled.id).await;
    refused(&f, second.job(), f.decide(held(stalled.clone()), success())).await;

    let done = f.end(second, success()).await;
    refused(&f, &done, f.decide(held(stalled), success())).await;
}

pub async fn a_job_that_has_ended_stays_as_it_is(f: Fixture) {
    let running = f.running(f.job()).await;
    let done = f.end(held(running.clone()), success()).await;
    f.clock.advance(secs(1));
    for outcome in [
        failure("late"),
        success(),
        Outcome::Released { started: false },
    ] {
        refused(&f, &done, f.decide(held(running.clone()), outcome)).await;
    }
}

pub async fn a_job_that_is_gone_is_stale(f: Fixture) {
    let mut transition = f.decide(f.claimed(f.job()).await, success());
    transition.job = f.id();
    assert_eq!(f.commit(transition).await, CommitResult::Stale);
}

pub async fn an_expired_lease_that_is_not_settled_can_be_committed(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    f.clock.advance(secs(3_600));
    let job = f.end(claim, success()).await;
    assert_eq!(job.progress.state, JobState::Succeeded);
}

pub async fn a_loss_is_refused_if_the_lease_was_renewed(f: Fixture) {
    let job = f.running(f.job()).await;
    f.clock.set(job.progress.lease_until.unwrap());
    let swept = f.store.expired_leases(1).await.unwrap().remove(0);
    let lost = f.decide(swept, Outcome::Lost);
    let renewal = Renewal {
        job: job.id,
        fence: job.progress.fence,
        lease: secs(30),
        note: None,
        within_timeout: false,
    };
    f.store.renew(vec![renewal]).await.unwrap();
    let renewed = f.read(job.id).await;
    refused(&f, &renewed, lost.clone()).await;

    let until = renewed.progress.lease_until.unwrap();
    f.clock.set(until.minus(MICRO));
    refused(&f, &renewed, lost.clone()).await;
    f.clock.set(until);
    assert_eq!(f.commit(lost).await, CommitResult::Done);
}

pub async fn a_request_to_cancel_that_the_decision_did_not_know_sends_it_back(f: Fixture) {
    for outcome in [success(), failure("x"), Outcome::Lost] {
        let job = f.running(f.job()).await;
        let at = f.clock.advance(secs(60));
        let mut ended = held(job.clone()).end(outcome.clone(), at);
        let unaware = steadfast_core::after_attempt(
            &ended,
            &steadfast_core::Subscriptions::default(),
            steadfast_core::Dice::new(0),
        );
        let asked = f.command(job.id, JobCommand::Cancel).await;

        let before = f.tally().await;
        assert_eq!(
            f.commit(unaware).await,
            CommitResult::CancelRequested,
            "{outcome:?}"
        );
        assert_eq!(f.read(job.id).await, asked, "{outcome:?}");
        assert_eq!(f.attempts_of(job.id).await, [], "{outcome:?}");
        assert_eq!(f.tally().await, before, "{outcome:?}");

        ended.set_cancel_requested();
        let aware = steadfast_core::after_attempt(
            &ended,
            &steadfast_core::Subscriptions::default(),
            steadfast_core::Dice::new(0),
        );
        assert_eq!(
            f.commit(aware.clone()).await,
            CommitResult::Done,
            "{outcome:?}"
        );
        assert_eq!(f.read(job.id).await.progress, aware.to, "{outcome:?}");
    }
}

pub async fn a_stale_transition_does_not_hinder_the_others(f: Fixture) {
    f.enqueue(f.jobs(3)).await;
    let jobs: Vec<Job> = f
        .claim(3)
        .await
        .iter()
        .map(|claim| claim.job().clone())
        .collect();
    let asked = f.command(jobs[2].id, JobCommand::Cancel).await;
    let mut batch: Vec<Transition> = jobs
        .iter()
        .map(|job| f.decide(held(job.clone()), success()))
        .collect();
    let mut stale = batch[1].clone();
    stale.guard.fence = Fence(9);
    batch.insert(1, stale);
    let answers = f.store.commit(batch).await.unwrap();
    assert_eq!(
        answers,
        [
            CommitResult::Done,
            CommitResult::Stale,
            CommitResult::Done,
            CommitResult::CancelRequested,
        ]
    );
    for job in &jobs[..2] {
        assert_eq!(f.read(job.id).await.progress.state, JobState::Succeeded);
    }
    assert_eq!(f.read(asked.id).await, asked);
    assert_eq!(f.tally().await.successes, 2);
}

pub async fn the_first_of_two_ends_in_one_batch_is_written(f: Fixture) {
    let job = f.running(f.job()).await;
    let first = f.decide(held(job.clone()), success());
    let second = f.decide(held(job.clone()), failure("too late"));
    let answers = f.store.commit(vec![first.clone(), second]).await.unwrap();
    assert_eq!(answers, [CommitResult::Done, CommitResult::Stale]);
    assert_eq!(f.read(job.id).await.progress, first.to);
    assert_eq!(f.attempts_of(job.id).await, Vec::from_iter(first.record));
}

pub async fn a_repeated_commit_is_done_and_counted_once(f: Fixture) {
    for outcome in [
        success(),
        failure("x"),
        permanent("y"),
        Outcome::Snoozed(secs(5)),
    ] {
        let transition = f.decide(f.claimed(f.job()).await, outcome.clone());
        let batch = vec![transition.clone(), transition.clone()];
        let answers = f.store.commit(batch).await.unwrap();
        assert_eq!(answers, [CommitResult::Done; 2], "{outcome:?}");
        let (job, tally) = (f.read(transition.job).await, f.tally().await);

        f.clock.advance(secs(1));
        assert_eq!(
            f.commit(transition.clone()).await,
            CommitResult::Done,
            "{outcome:?}"
        );
        assert_eq!(f.read(transition.job).await, job, "{outcome:?}");
        assert_eq!(f.tally().await, tally, "{outcome:?}");
        assert_eq!(f.attempts_of(job.id).await.len(), 1, "{outcome:?}");
        f.store
            .run_command(vec![job.id], JobCommand::Cancel, Arc::default(), None)
            .await
            .unwrap();
    }
}

pub async fn another_end_that_looks_like_the_written_one_is_stale(f: Fixture) {
    let job = f.running(f.job()).await;
    let first = f.decide(held(job.clone()), failure("one"));
    assert_eq!(f.commit(first.clone()).await, CommitResult::Done);
    let after = f.read(job.id).await;
    // At the same moment and with the same status, but not the same record.
    refused(&f, &after, f.decide(held(job), failure("two"))).await;
    assert_eq!(f.commit(first).await, CommitResult::Done);
}

pub async fn a_commit_repeated_after_the_job_went_on_leaves_it_alone(f: Fixture) {
    let first = f.decide(f.claimed(f.job()).await, failure("x"));
    assert_eq!(f.commit(first.clone()).await, CommitResult::Done);
    f.clock.set(first.to.run_at);
    let second = f.claim_of(first.job).await;
    assert_eq!(f.commit(first.clone()).await, CommitResult::Done);
    assert_eq!(f.read(first.job).await, *second.job());

    let done = f.end(second, success()).await;
    let tally = f.tally().await;
    assert_eq!(f.commit(first.clone()).await, CommitResult::Done);
    assert_eq!(f.read(first.job).await, done);
    assert_eq!(f.tally().await, tally);
}

pub async fn a_repeated_release_without_a_record_is_done(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let release = f.decide(claim, Outcome::Released { started: false });
    assert_eq!(release.record, None);
    for _ in 0..2 {
        assert_eq!(f.commit(release.clone()).await, CommitResult::Done);
    }
    assert_eq!(f.read(release.job).await.progress, release.to);

    let second: Claim = f.claim_of(release.job).await;
    assert_eq!(f.commit(release).await, CommitResult::Stale);
    assert_eq!(f.read(second.job().id).await, *second.job());
}

/// The transition is stale, and nothing of it was written.
async fn refused(f: &Fixture, job: &Job, transition: Transition) {
    let outbox: Vec<_> = transition.outbox.iter().map(|new| new.id).collect();
    let records = f.attempts_of(job.id).await;
    let tally: Tally = f.tally().await;
    assert_eq!(f.commit(transition).await, CommitResult::Stale);
    assert_eq!(f.read(job.id).await, *job);
    assert_eq!(f.attempts_of(job.id).await, records);
    assert_eq!(f.tally().await, tally);
    for id in outbox {
        assert_eq!(f.find(id).await, None);
    }
}
