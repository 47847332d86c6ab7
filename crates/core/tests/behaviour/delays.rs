//! Laws of backoff and jitter that hold for every policy, at every extreme.
use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use steadfast_core::{
    Backoff, Claim, Dice, Failure, FailureClass, Jitter, Job, JobId, JobState, Kind, NewJob,
    Outcome, Payload, PolicyPatch, RetryPolicy, Timestamp, WorkerName, after_attempt, limits,
};

const BACKOFFS: [Backoff; 5] = [
    Backoff::Exponential,
    Backoff::Linear,
    Backoff::Fixed,
    Backoff::Fibonacci,
    Backoff::Delays,
];
const JITTERS: [Jitter; 5] = [
    Jitter::None,
    Jitter::Proportional,
    Jitter::Full,
    Jitter::Equal,
    Jitter::Decorrelated,
];

prop_compose! {
    fn delay_up_to_a_month()(
        micros in prop_oneof![
            Just(0),
            1..1_000_000_u64,
            1..=2_592_000_000_000_u64,
        ]
    ) -> Duration {
        Duration::from_micros(micros)
    }
}

prop_compose! {
    fn policies()(
        backoff in prop::sample::select(BACKOFFS.to_vec()),
        jitter in prop::sample::select(JITTERS.to_vec()),
        base in delay_up_to_a_month(),
        cap in delay_up_to_a_month(),
        factor in 1.0..=10.0_f64,
        jitter_factor in 0.0..=1.0_f64,
        delays in prop::collection::vec(delay_up_to_a_month(), 1..20),
    ) -> Arc<RetryPolicy> {
        let patch = PolicyPatch::default()
            .max_retries(limits::MAX_RETRIES)
            .delays(delays)
            .backoff(backoff)
            .base_delay(base.min(cap))
            .max_delay(cap)
            .factor(factor)
            .jitter(jitter)
            .jitter_factor(jitter_factor);
        Arc::new(patch.build().unwrap())
    }
}

fn job(policy: &Arc<RetryPolicy>, previous: Option<Duration>, retry: u32, now: Timestamp) -> Claim {
    let kind = Kind::new("k").unwrap();
    let mut job: Job = NewJob::new(
        JobId::from_bits(1),
        kind,
        Payload::default(),
        policy.clone(),
    )
    .into_job(now);
    job.progress.attempt = retry - 1;
    job.progress.last_delay = previous;
    job.claim(WorkerName::new("w").unwrap(), None, now)
}

proptest! {
    #[test]
    fn delays_before_jitter_grow_and_stay_below_the_cap(policy in policies(), retry in 1_u32..200) {
        let this = policy.delay_before_jitter(retry);
        let next = policy.delay_before_jitter(retry + 1);
        prop_assert!(this <= policy.max_delay());
        if policy.backoff() != Backoff::Delays {
            prop_assert!(this <= next, "{this:?} then {next:?}");
        }
    }

    #[test]
    fn no_attempt_number_overflows(policy in policies(), retry in prop_oneof![Just(1_000_000_u32), Just(u32::MAX), 1_u32..]) {
        prop_assert!(policy.delay_before_jitter(retry) <= policy.max_delay());
    }

    #[test]
    fn the_next_attempt_is_never_in_the_past_and_within_the_jitters_bounds(
        policy in policies(),
        retry in 1_u32..=limits::MAX_RETRIES,
        random: u64,
        previous in prop::option::of(delay_up_to_a_month()),
        now in 0_i64..=253_402_207_200_000_000,
    ) {
        let now = Timestamp::from_micros(now);
        let outcome = Outcome::Failure {
            failure: Failure::new(FailureClass::ERROR, ""),
            output: None,
        };
        let ended = job(&policy, previous, retry, now).end(outcome, now);
        let transition = after_attempt(&ended, &steadfast_core::Subscriptions::default(), Dice::new(random));
        prop_assert_eq!(transition.to.state, JobState::Waiting);
        prop_assert!(transition.to.run_at >= now);

        let delay = transition.record.unwrap().decision.unwrap().delay.unwrap();
        let (waited, d) = (delay.jittered, policy.delay_before_jitter(retry));
        prop_assert!(waited <= policy.max_delay());
        prop_assert_eq!(transition.to.run_at, now.plus(waited));
        match policy.jitter() {
            Jitter::None => prop_assert_eq!(waited, d),
            Jitter::Proportional => prop_assert!(waited <= d * 2),
            Jitter::Full => prop_assert!(waited <= d),
            Jitter::Equal => prop_assert!(d / 2 <= waited && waited <= d),
            Jitter::Decorrelated => {
                let base = if policy.backoff() == Backoff::Delays { d } else { policy.base_delay() };
                let most = previous.unwrap_or(base).max(base) * 3;
                prop_assert!(base <= waited && waited <= most);
            }
            other => prop_assert!(false, "the bounds of {other:?} are not tested"),
        }
    }

    #[test]
    fn retry_after_is_never_undercut_and_jitter_only_adds(
        policy in policies(),
        retry in 1_u32..=limits::MAX_RETRIES,
        random: u64,
        seconds: u64,
    ) {
        let retry_after = Duration::from_secs(seconds);
        let failure = Failure::http(503, "").with_retry_after(retry_after);
        let outcome = Outcome::Failure { failure, output: None };
        let ended = job(&policy, None, retry, Timestamp::EPOCH).end(outcome, Timestamp::EPOCH);
        let transition = after_attempt(&ended, &steadfast_core::Subscriptions::default(), Dice::new(random));
        let delay = transition.record.unwrap().decision.unwrap().delay.unwrap();
        let floor = retry_after.min(limits::RETRY_AFTER_MAX);
        prop_assert_eq!(delay.retry_after, Some(floor));
        prop_assert!(delay.jittered >= floor);
        // The record alone explains the wait.
        let width = delay.high.saturating_sub(delay.low).as_secs_f64();
        let explained = delay.low.as_secs_f64() + delay.sample * width;
        let is_explained = (delay.jittered.as_secs_f64() - explained).abs() < 1e-3;
        let is_capped = delay.jittered == delay.cap && explained > delay.cap.as_secs_f64();
        prop_assert!(is_explained || is_capped, "{delay:?}");
        prop_assert!(delay.jittered <= floor.saturating_add(policy.max_delay()).max(policy.max_delay()));
    }

    #[test]
    fn the_dice_are_fair_to_their_range(random: u64) {
        let sample = Dice::new(random).sample();
        prop_assert!((0.0..1.0).contains(&sample));
    }

    #[test]
    fn no_json_makes_reading_a_policy_panic(text in ".*") {
        let _ = serde_json::from_str::<PolicyPatch>(&text);
    }
}

#[test]
fn the_backoffs_give_the_numbers_of_the_specification() {
    let minute = Duration::from_secs(60);
    let minutes = |patch: PolicyPatch| -> Vec<u64> {
        let policy = patch.max_delay(limits::DELAY_MAX).build().unwrap();
        (1..=6)
            .map(|retry| policy.delay_before_jitter(retry).as_secs() / 60)
            .collect()
    };
    assert_eq!(
        minutes(PolicyPatch::exponential(minute)),
        [1, 2, 4, 8, 16, 32]
    );
    assert_eq!(minutes(PolicyPatch::linear(minute)), [1, 2, 3, 4, 5, 6]);
    assert_eq!(minutes(PolicyPatch::fixed(minute)), [1, 1, 1, 1, 1, 1]);
    assert_eq!(minutes(PolicyPatch::fibonacci(minute)), [1, 1, 2, 3, 5, 8]);
    let list = vec![minute / 2, minute, minute * 2];
    let policy = PolicyPatch::default().delays(list).build().unwrap();
    let secs: Vec<u64> = (1..=4)
        .map(|retry| policy.delay_before_jitter(retry).as_secs())
        .collect();
    assert_eq!(secs, [30, 60, 120, 120]);
}

#[test]
fn an_exponential_backoff_runs_into_its_cap_as_its_formula_says() {
    let policy = steadfast_core::Preset::Queue.policy();
    let millis: Vec<u128> = (1..=8)
        .map(|n| policy.delay_before_jitter(n).as_millis())
        .collect();
    assert_eq!(
        millis,
        [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
    );
}
