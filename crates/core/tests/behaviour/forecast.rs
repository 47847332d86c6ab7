//! Forecasts, last attempts and refusals agree with what the lifecycle then decides.
use std::{sync::Arc, time::Duration};

use steadfast_core::{
    AttemptForecast, CommitResult, Dice, Failure, FailureClass, Guarantee, Jitter, Job, JobId,
    JobState, Kind, NewJob, Outcome, Payload, PolicyPatch, Preset, Subscriptions, Timestamp,
    Transition, WorkerName, after_attempt,
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn policies() -> Vec<PolicyPatch> {
    let secs = Duration::from_secs;
    let fixed = || {
        PolicyPatch::fixed(secs(10))
            .jitter(Jitter::None)
            .max_retries(50)
    };
    let mut policies: Vec<PolicyPatch> = Preset::ALL.map(PolicyPatch::preset).into();
    policies.extend([
        fixed().max_elapsed(secs(25)),
        // The boundary: the third attempt fails at the very end of the time allowed.
        fixed().max_elapsed(secs(20)),
        PolicyPatch::preset(Preset::Http)
            .jitter(Jitter::Decorrelated)
            .max_retries(9),
    ]);
    policies
}

fn job(policy: PolicyPatch, guarantee: Guarantee) -> Job {
    let policy = Arc::new(policy.build().unwrap());
    let kind = Kind::new("mail").unwrap();
    let mut job = NewJob::new(JobId::from_bits(1), kind, Payload::default(), policy);
    job.guarantee = guarantee;
    job.into_job(T0)
}

fn claimed(job: Job) -> Job {
    let at = job.progress.run_at;
    let claim = job.claim(WorkerName::new("node-1").unwrap(), None, at);
    claim.job().clone()
}

fn fail(running: Job) -> Transition {
    let (at, fence) = (running.progress.started_at.unwrap(), running.progress.fence);
    let claim = steadfast_core::Claim::resume(running, fence).unwrap();
    let failure = Failure::new(FailureClass::ERROR, "it broke");
    let ended = claim.end(
        Outcome::Failure {
            failure,
            output: None,
        },
        at,
    );
    after_attempt(&ended, &Subscriptions::default(), Dice::TYPICAL)
}

/// Starts of all attempts of a job whose attempts fail at once.
fn starts(mut job: Job) -> Vec<Timestamp> {
    let mut starts = Vec::new();
    while job.progress.state == JobState::Waiting {
        starts.push(job.progress.run_at);
        let running = claimed(job);
        let to = fail(running.clone()).to;
        job = Job {
            progress: to,
            ..running
        };
    }
    starts
}

fn times(forecast: &[AttemptForecast]) -> Vec<Timestamp> {
    forecast.iter().map(|attempt| attempt.at).collect()
}

#[test]
fn a_forecast_comes_true_if_every_attempt_fails() {
    for guarantee in [Guarantee::AtLeastOnce, Guarantee::AtMostOnce] {
        for policy in policies() {
            let mut job = job(policy.clone(), guarantee);
            let expected = starts(job.clone());
            assert_eq!(times(&job.forecast(T0)), expected, "{policy:?}");
            let mut past = 0;
            while job.progress.state == JobState::Waiting {
                let now = job.progress.run_at;
                let forecast = job.forecast(now);
                assert_eq!(
                    times(&forecast),
                    expected[past..],
                    "{policy:?} after {past}"
                );
                assert_eq!(forecast[0].attempt, job.progress.attempt + 1);
                let running = claimed(job);
                assert_eq!(
                    times(&running.forecast(now)),
                    expected[past + 1..],
                    "{policy:?}"
                );
                past += 1;
                job = Job {
                    progress: fail(running.clone()).to,
                    ..running
                };
            }
            assert_eq!(
                job.forecast(T0),
                [],
                "a job that has ended has nothing ahead"
            );
        }
    }
}

#[test]
fn a_forecast_counts_retries_by_budget() {
    let mut job = job(Preset::Http.into(), Guarantee::AtLeastOnce);
    job.progress.attempt = 4;
    job.progress.attempts_before = 4;
    let forecast = job.forecast(T0);
    let numbers: Vec<(u32, u32)> = forecast
        .iter()
        .map(|it| (it.attempt, it.retry_count))
        .collect();
    assert_eq!(numbers, [(5, 0), (6, 1), (7, 2), (8, 3)]);
}

#[test]
fn the_last_attempt_is_the_one_whose_failure_ends_the_job() {
    for guarantee in [Guarantee::AtLeastOnce, Guarantee::AtMostOnce] {
        let mut job = job(Preset::Http.into(), guarantee);
        while job.progress.state == JobState::Waiting {
            let running = claimed(job);
            let to = fail(running.clone()).to;
            let ends = to.state == JobState::Failed;
            assert_eq!(running.is_last_attempt(), ends, "{guarantee} {to:?}");
            job = Job {
                progress: to,
                ..running
            };
        }
    }
}

#[test]
fn a_transition_says_why_it_may_not_be_written() {
    let running = claimed(job(Preset::Http.into(), Guarantee::AtLeastOnce));
    let transition = fail(running.clone());
    let record = transition.record.as_ref();
    let refusal = |change: fn(&mut Job), now| {
        let mut stored = running.clone();
        change(&mut stored);
        transition.refusal(Some(&stored.progress), None, 0, now)
    };
    assert_eq!(refusal(|_| {}, T0), None);
    assert_eq!(
        transition.refusal(None, None, 0, T0),
        Some(CommitResult::Stale)
    );
    let swept = |job: &mut Job| job.progress.fence = job.progress.fence.next();
    assert_eq!(refusal(swept, T0), Some(CommitResult::Stale));
    let cancel = |job: &mut Job| job.progress.cancel_requested = true;
    assert_eq!(refusal(cancel, T0), Some(CommitResult::CancelRequested));
    // The answer was lost: the job is as this transition left it, and its record is there.
    let written = transition.refusal(Some(&transition.to), record, 0, T0);
    assert_eq!(written, Some(CommitResult::Done));
    let other = transition.refusal(Some(&transition.to), None, 0, T0);
    assert_eq!(other, Some(CommitResult::Stale));

    let mut lost = transition.clone();
    lost.guard.lease_expired = true;
    let until = running.progress.lease_until.unwrap();
    let at = |now| lost.refusal(Some(&running.progress), None, 0, now);
    assert_eq!(
        at(T0),
        Some(CommitResult::Stale),
        "it was renewed after all"
    );
    assert_eq!(at(until), None);

    let mut told = transition.clone();
    told.guard.endpoints = Some(6);
    let at = |endpoints| told.refusal(Some(&running.progress), None, endpoints, T0);
    assert_eq!(at(6), None);
    assert_eq!(at(7), Some(CommitResult::EndpointsChanged));
    let written = told.refusal(Some(&told.to), told.record.as_ref(), 7, T0);
    assert_eq!(
        written,
        Some(CommitResult::Done),
        "it was written before they changed"
    );
}
