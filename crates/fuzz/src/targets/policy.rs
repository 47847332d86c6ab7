//! Retry policies: what is written reads as the same, and no delay leaves its bounds.

use std::time::Duration;

use steadfast_core::{Backoff, Dice, PolicyPatch, Preset, RetryPolicy, limits};

pub fn check(input: &[u8]) -> bool {
    let Ok(patch) = serde_json::from_slice::<PolicyPatch>(input) else {
        // A policy that is complete is read as a patch, so what is no patch is no policy.
        assert!(serde_json::from_slice::<RetryPolicy>(input).is_err());
        return false;
    };
    let json = serde_json::to_string(&patch).unwrap_or_default();
    let again = serde_json::from_str::<PolicyPatch>(&json);
    assert_eq!(again.ok(), Some(patch.clone()), "{json}");
    let mut is_taken = false;
    for preset in Preset::ALL {
        if let Ok(policy) = patch.over(&preset.policy()) {
            reads_as_it_was_written(&policy);
            delays_are_within_bounds(&policy);
            is_taken = true;
        }
    }
    is_taken
}

fn reads_as_it_was_written(policy: &RetryPolicy) {
    let json = serde_json::to_string(policy).unwrap_or_default();
    let again = serde_json::from_str::<RetryPolicy>(&json);
    assert_eq!(again.ok().as_ref(), Some(policy), "{json}");
    let built = policy.to_patch().build();
    assert_eq!(built.ok().as_ref(), Some(policy), "{json}");
}

fn delays_are_within_bounds(policy: &RetryPolicy) {
    let cap = policy.max_delay();
    assert!(policy.max_retries() <= limits::MAX_RETRIES && cap <= limits::DELAY_MAX);
    let mut before = Duration::ZERO;
    for retry in (0..=policy.max_retries()).chain([u32::MAX]) {
        let delay = policy.delay_before_jitter(retry);
        let grows = policy.backoff() == Backoff::Delays || before <= delay;
        assert!(
            delay <= cap && grows,
            "{policy:?}: {delay:?} before retry {retry}"
        );
        before = delay;
    }
    for roll in [0, u64::MAX / 3, u64::MAX] {
        let line = policy.delays_after(0, Duration::ZERO, None, || Dice::new(roll));
        let most = usize::try_from(policy.max_retries()).unwrap_or(usize::MAX);
        assert!(line.len() <= most, "{policy:?}: {} retries", line.len());
        for step in &line {
            let is_within = step.low.min(cap) <= step.jittered && step.jittered <= step.high;
            assert!(is_within && step.jittered <= cap, "{policy:?}: {step:?}");
        }
    }
    let preview = policy.preview();
    let starts = preview.rows.iter().map(|row| row.at);
    assert!(
        starts
            .clone()
            .is_sorted_by(|a, b| a.min <= b.min && a.typical <= b.typical && a.max <= b.max)
    );
    for at in starts.chain([preview.gives_up]) {
        assert!(
            at.min <= at.typical && at.typical <= at.max,
            "{policy:?}: {at:?}"
        );
    }
}
