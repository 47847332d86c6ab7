//! Worlds whose truth is known: each policy can really be run in them.

use super::*;
use crate::{
    failure::FailureClass,
    policy::{Jitter, PolicyPatch, Preset},
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
const SECOND: Duration = Duration::from_secs(1);

/// What an attempt of a job at some second comes to; the third number is a roll.
type World = fn(u64, u64, f64) -> Option<(&'static str, u16)>;

/// Everything fails from minute 20 to minute 35.
fn outage(_: u64, second: u64, _: f64) -> Option<(&'static str, u16)> {
    (1200..2100)
        .contains(&second)
        .then_some(("no upstream", 503))
}

/// One job in twenty always fails.
fn bad_jobs(job: u64, _: u64, _: f64) -> Option<(&'static str, u16)> {
    (job % 20 == 7).then_some(("row is broken", 500))
}

/// Three attempts in ten are refused, by chance.
fn rate_limit(_: u64, _: u64, roll: f64) -> Option<(&'static str, u16)> {
    (roll < 0.3).then_some(("slow down", 429))
}

/// All of it at once.
fn everything(job: u64, second: u64, roll: f64) -> Option<(&'static str, u16)> {
    let failure = outage(job, second, roll).or(bad_jobs(job, second, roll));
    failure.or((roll < 0.05).then_some(("slow down", 429)))
}

/// The truth: a job every `every` seconds for two hours, under this policy.
fn run(world: World, policy: &Arc<RetryPolicy>, every: u64, seed: u64) -> Vec<RecordedAttempt> {
    let mut attempts = Vec::new();
    for number in 0..7200 / every {
        let start = T0.plus(Duration::from_secs(number * every));
        let id = JobId::new(start, number << 2);
        let new = NewJob::new(id, Kind::http(), Payload::default(), policy.clone());
        let mut job = new.into_job(start);
        let mut rolls = DiceSequence::from_seed(seed ^ (number << 20));
        while !job.progress.state.is_final() {
            let at = job.progress.run_at;
            let failure = world(number, at.since(T0).as_secs(), rolls.next().sample());
            let failure = failure.map(|(message, status)| Failure::http(status, message));
            let mut attempt = RecordedAttempt {
                job: id,
                retry_count: job.retry_count() + u32::from(job.progress.attempt > 0),
                started_at: at,
                finished_at: at.plus(SECOND / 10),
                failure: failure.map(|failure| RecordedFailure {
                    fingerprint: FailureFingerprint::of(&failure, &Kind::http(), None),
                    failure: Arc::new(failure),
                }),
                ends_job: false,
            };
            job = after(
                job,
                attempt.outcome(),
                at,
                attempt.finished_at,
                rolls.next(),
            );
            attempt.ends_job = job.progress.state.is_final();
            attempts.push(attempt);
        }
    }
    attempts
}

fn quick() -> Arc<RetryPolicy> {
    Arc::new(Preset::Http.policy())
}

fn patient() -> Arc<RetryPolicy> {
    let patch = PolicyPatch::preset(Preset::Http).max_retries(8);
    Arc::new(
        patch
            .base_delay(10 * SECOND)
            .max_delay(600 * SECOND)
            .build()
            .unwrap(),
    )
}

fn replay(
    history: &ReplayHistory,
    old: &Arc<RetryPolicy>,
    new: &Arc<RetryPolicy>,
    seed: u64,
) -> ReplayReport {
    let policies = ReplayPolicies { old, new };
    history.replay(|_| Some(policies), seed).unwrap()
}

fn recorded(history: &ReplayHistory) -> ReplayMetrics {
    history.recorded(history.runs().iter())
}

fn metrics_of(world: World, policy: &Arc<RetryPolicy>, seed: u64) -> ReplayMetrics {
    recorded(&ReplayHistory::new(run(world, policy, 2, seed)).unwrap())
}

/// Replays `new` over the record of `old`, and compares with what `new` really does: the counts may
/// be wrong by 5 % and three, the times by a minute and 5 %. Dead letters are few, and chance alone
/// moves their count by its root, so three of those are added.
fn check(world: World, old: &Arc<RetryPolicy>, new: &Arc<RetryPolicy>) {
    let history = ReplayHistory::new(run(world, old, 2, 1)).unwrap();
    let report = replay(&history, old, new, 99);
    let truth = metrics_of(world, new, 2);
    let known = report.new.unwrap_or_else(|| panic!("{report}"));
    let near = |a: u64, b: u64| a.abs_diff(b) <= 3 + b / 20;
    for (replayed, really) in [
        (known.jobs, truth.jobs),
        (known.attempts, truth.attempts),
        (known.successes, truth.successes),
        (known.peak_starts_per_minute, truth.peak_starts_per_minute),
    ] {
        assert!(near(replayed, really), "{known:#?} instead of {truth:#?}");
    }
    let bound = 3 + truth.dead_letters / 20 + 3 * truth.dead_letters.isqrt();
    let wrong_by = known.dead_letters.abs_diff(truth.dead_letters);
    assert!(wrong_by <= bound, "{known:#?} instead of {truth:#?}");
    for (replayed, really) in [
        (known.time_to_success_p50, truth.time_to_success_p50),
        (known.time_to_success_p95, truth.time_to_success_p95),
    ] {
        let (replayed, really) = (replayed.unwrap(), really.unwrap());
        let bound = 60 * SECOND + really / 20;
        assert!(
            replayed.abs_diff(really) <= bound,
            "{known:#?} instead of {truth:#?}"
        );
    }
}

#[test]
fn after_an_outage_a_patient_policy_is_seen_to_save_the_jobs() {
    check(outage, &quick(), &patient());
    // That the check means something: the two policies end differently.
    assert!(metrics_of(outage, &quick(), 2).dead_letters > 400);
    assert_eq!(metrics_of(outage, &patient(), 2).dead_letters, 0);
}

#[test]
fn after_an_outage_a_quick_policy_is_seen_to_lose_them() {
    check(outage, &patient(), &quick());
}

#[test]
fn jobs_that_always_fail_are_not_saved_by_patience() {
    check(bad_jobs, &quick(), &patient());
    check(bad_jobs, &patient(), &quick());
}

#[test]
fn retries_that_are_refused_now_and_then_are_counted() {
    check(rate_limit, &quick(), &patient());
    check(rate_limit, &patient(), &quick());
}

#[test]
fn causes_that_come_together_are_kept_apart() {
    check(everything, &quick(), &patient());
}

#[test]
fn replaying_the_used_policy_gives_the_recorded_results() {
    let steady = PolicyPatch::preset(Preset::Http).jitter(Jitter::None);
    let policy = Arc::new(steady.build().unwrap());
    for world in [outage as World, bad_jobs, rate_limit, everything] {
        let history = ReplayHistory::new(run(world, &policy, 2, 1)).unwrap();
        let report = replay(&history, &policy, &policy, 5);
        assert_eq!(report.old, Some(report.recorded));
        assert_eq!(report.new, report.old);
        assert_eq!(report.observed_share, 1.0);
    }
}

#[test]
fn where_too_little_was_observed_it_does_not_know() {
    // A job in ten minutes, all of which fail at first: no retry of the slow policy is near
    // another attempt.
    let slow = PolicyPatch::fixed(300 * SECOND)
        .jitter(Jitter::None)
        .max_retries(2);
    let slow = Arc::new(slow.build().unwrap());
    let world: World = |_, second, _| (second % 600 == 0).then_some(("not yet", 503));
    let history = ReplayHistory::new(run(world, &quick(), 600, 1)).unwrap();
    let report = replay(&history, &quick(), &slow, 1);
    assert!(
        !report.is_known() && report.observed_share < 0.2,
        "{report:?}"
    );
    assert!(report.old.is_some());
    assert_eq!(
        report.to_string(),
        "the effect of this policy is unknown: only 0 % of its retries are backed by attempts \
         observed within 1m, and 80 % are required"
    );
}

#[test]
fn retries_beyond_the_record_are_not_observed() {
    let week = PolicyPatch::fixed(7 * 24 * 3600 * SECOND).jitter(Jitter::None);
    let week = week.build().unwrap();
    let history = ReplayHistory::new(run(outage, &quick(), 2, 1)).unwrap();
    let report = replay(&history, &quick(), &Arc::new(week), 1);
    assert_eq!((report.new, report.observed_share), (None, 0.0));
}

#[test]
fn without_attempts_there_is_nothing_to_say() {
    let history = ReplayHistory::new(Vec::new()).unwrap();
    let report = replay(&history, &quick(), &patient(), 1);
    assert_eq!(report.new, Some(ReplayMetrics::default()));
    assert_eq!(report.to_string(), "there are no attempts to replay");
}

#[test]
fn a_job_that_was_requeued_counts_again_and_one_cut_off_does_not_count() {
    let failure = || {
        let failure = Failure::new(FailureClass::ERROR, "no");
        let fingerprint = FailureFingerprint::of(&failure, &Kind::http(), None);
        Some(RecordedFailure {
            fingerprint,
            failure: Arc::new(failure),
        })
    };
    let attempt =
        |job, retry_count, second, failure: Option<RecordedFailure>, ends_job| RecordedAttempt {
            job: JobId::from_bits(job),
            retry_count,
            started_at: T0.plus(second * SECOND),
            finished_at: T0.plus(second * SECOND),
            failure,
            ends_job,
        };
    let history = ReplayHistory::new(vec![
        attempt(1, 0, 100, None, true),
        attempt(1, 1, 2, failure(), true),
        attempt(1, 0, 1, failure(), false),
        // Its first attempt was before the time that was asked for.
        attempt(2, 3, 5, failure(), true),
    ]);
    let recorded = recorded(&history.unwrap());
    assert_eq!((recorded.jobs, recorded.attempts), (2, 3));
    assert_eq!((recorded.successes, recorded.dead_letters), (1, 1));
}

#[test]
fn too_many_attempts_are_refused() {
    let attempts = run(outage, &quick(), 2, 1);
    let many = attempts
        .iter()
        .cycle()
        .take(limits::REPLAY_ATTEMPTS_MAX + 1);
    let error = ReplayHistory::new(many.cloned().collect()).unwrap_err();
    let most = limits::REPLAY_ATTEMPTS_MAX;
    assert_eq!(
        error.to_string(),
        format!(
            "attempts is {}: must contain at most {most} attempts; choose a shorter time range",
            most + 1
        )
    );
}

#[test]
fn each_job_has_its_own_policies_and_one_without_does_not_count() {
    let attempts = run(outage, &quick(), 2, 1);
    let middle = JobId::new(T0.plus(1650 * SECOND), 0);
    let history = ReplayHistory::new(attempts).unwrap();
    let (quick, patient) = (quick(), patient());
    let half = |job: JobId| {
        let new = if job < middle { &patient } else { &quick };
        Some(ReplayPolicies { old: &quick, new })
    };
    let mixed = history.replay(half, 7).unwrap().new.unwrap().dead_letters;
    let all = replay(&history, &quick, &quick, 7)
        .new
        .unwrap()
        .dead_letters;
    assert!(0 < mixed && mixed < all, "{mixed} of {all}");
    let none = history.replay(|_| None, 7).unwrap();
    assert_eq!(none.recorded, ReplayMetrics::default());
}

#[test]
fn a_policy_that_makes_too_many_attempts_is_refused() {
    let history = ReplayHistory::new(run(outage, &quick(), 60, 1)).unwrap();
    let (quick, patient) = (quick(), patient());
    let runs = || history.runs().iter().map(|run| (run, &patient));
    let attempts = history.simulate(runs(), 1, u64::MAX).unwrap();
    let attempts = attempts.counter.metrics.attempts;
    assert!(attempts > replay(&history, &quick, &quick, 1).recorded.jobs);
    assert!(history.simulate(runs(), 1, attempts).is_ok());
    let error = history.simulate(runs(), 1, attempts - 1).err().unwrap();
    let expected = format!("must simulate at most {} attempts", attempts - 1);
    assert!(error.to_string().contains(&expected), "{error}");
}
