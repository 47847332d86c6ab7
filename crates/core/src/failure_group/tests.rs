use proptest::prelude::*;

use super::*;
use crate::{
    failure::{Failure, FailureClass},
    job::NewJob,
    lifecycle::after_attempt,
    policy::{Dice, Preset},
    state::JobState,
    values::{Destination, JobId, Kind, Payload, WorkerName},
};
use std::{sync::Arc, time::Duration};

fn key() -> FailureKey {
    let tenant = crate::Tenant::new("acme").unwrap();
    FailureKey::new(tenant, FailureFingerprint::from_bits(7))
}

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn at(hours: u64) -> Timestamp {
    T0.plus(Duration::from_secs(hours * 3600))
}

fn observed(time: Timestamp, job: u64, dead: bool, destination: u64) -> FailureObservation {
    FailureObservation {
        key: key(),
        at: time,
        job: JobId::from_bits(job.into()),
        kind: Kind::new("mail").unwrap(),
        queue: crate::Queue::default(),
        attempt: 1,
        failure: Failure::new(FailureClass::ERROR, "no"),
        is_first_of_job: true,
        is_dead_letter: dead,
        destination: Some(Destination::new(&format!("https://h{destination}.example")).unwrap()),
        worker_version: Some(format!("1.{destination}")),
    }
}

fn counted(tally: FailureTally) -> FailureEvent {
    FailureEvent::Counted(Box::new(tally))
}

fn seen(time: Timestamp) -> FailureEvent {
    counted(FailureTally::of(&observed(time, 1, false, 1)))
}

/// What follows a list of events, as the state after each and the alert it made.
fn states(events: &[(u64, FailureEvent)]) -> Vec<String> {
    let mut stored: Option<FailureGroup> = None;
    let mut lines = Vec::new();
    for (hour, event) in events {
        let step = FailureGroup::step(stored.as_ref(), &key(), event.clone(), at(*hour));
        let alert = step.as_ref().and_then(|step| step.alert);
        stored = step.map(|step| step.group).or(stored);
        let state = stored.as_ref().map(|group| group.state(at(*hour)).as_str());
        let alert = alert.map_or("", FailureAlert::as_str);
        lines.push(
            format!("{} {alert}", state.unwrap_or("none"))
                .trim_end()
                .to_owned(),
        );
    }
    lines
}

#[test]
fn a_cause_is_new_then_known_and_regresses_only_after_it_was_fixed() {
    let mark = |mark| FailureEvent::Marked(mark, Some("kim".to_owned()));
    let lines = states(&[
        (0, mark(FailureMark::Fixed)),
        (1, seen(at(1))),
        (2, seen(at(2))),
        (26, seen(at(26))),
        (27, mark(FailureMark::Fixed)),
        // Counted by another node before the mark.
        (28, seen(at(26))),
        (29, counted(FailureTally::of_resolved(1))),
        (30, seen(at(30))),
        (31, seen(at(31))),
        (32, mark(FailureMark::Known)),
        (33, seen(at(33))),
        (34, mark(FailureMark::Fixed)),
        (35, seen(at(35))),
    ]);
    let expected = [
        "none",
        "new new_failure",
        "new",
        "known",
        "fixed",
        "fixed",
        "fixed",
        "regressed regressed",
        "regressed",
        "known",
        "known",
        "fixed",
        "regressed regressed",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_mark_covers_failures_of_the_same_hour_whatever_the_clocks() {
    // The node that counted was ahead of the one that took the mark.
    let ahead = at(5);
    let lines = states(&[
        (1, seen(ahead)),
        (2, FailureEvent::Marked(FailureMark::Fixed, None)),
        (3, seen(ahead)),
    ]);
    assert_eq!(lines, ["new new_failure", "fixed", "fixed"]);
}

#[test]
fn nothing_is_written_for_nothing() {
    let group = FailureGroup::step(None, &key(), seen(at(0)), at(0))
        .unwrap()
        .group;
    let none = counted(FailureTally::of_resolved(0));
    assert_eq!(FailureGroup::step(Some(&group), &key(), none, at(1)), None);
    let resolved = counted(FailureTally::of_resolved(3));
    assert_eq!(FailureGroup::step(None, &key(), resolved, at(1)), None);
}

#[test]
fn hours_of_a_clock_that_was_ahead_do_not_hide_the_true_ones() {
    let ahead = at(24 * 365);
    let first = FailureGroup::step(None, &key(), seen(ahead), at(0))
        .unwrap()
        .group;
    let group = FailureGroup::step(Some(&first), &key(), seen(at(1)), at(1))
        .unwrap()
        .group;
    let hours = group.tally.hours.until(at(1));
    assert_eq!(
        hours.len(),
        usize::try_from(limits::FAILURE_HOURS_MAX).unwrap()
    );
    assert_eq!(hours.iter().rev().take(2).collect::<Vec<_>>(), [&1, &0]);
    assert_eq!(group.tally.count, 2);
}

#[test]
fn retention_deletes_old_groups_without_dead_letters() {
    let group = |hour, dead| {
        let tally = FailureTally::of(&observed(at(hour), 1, dead, 1));
        let step = FailureGroup::step(None, &key(), counted(tally), at(hour));
        step.unwrap().group
    };
    assert!(group(1, false).may_be_pruned(at(5)));
    assert!(!group(1, true).may_be_pruned(at(5)));
    assert!(!group(9, false).may_be_pruned(at(5)));
}

#[test]
fn a_group_reads_back_as_it_was_stored() {
    let group = FailureGroup::step(None, &key(), seen(at(3)), at(3))
        .unwrap()
        .group;
    let text = serde_json::to_string(&group).unwrap();
    assert_eq!(serde_json::from_str::<FailureGroup>(&text).unwrap(), group);
    insta::assert_snapshot!(text);
}

#[test]
fn an_attempt_is_observed_once_with_what_became_of_its_job() {
    let kind = Kind::new("mail").unwrap();
    let policy = Arc::new(Preset::Http.policy());
    let mut job = NewJob::new(JobId::from_bits(1), kind, Payload::default(), policy).into_job(T0);
    let mut lines = Vec::new();
    for message in ["row 1", "row 2", "no disk", "row 3"] {
        let claim = job
            .clone()
            .claim(WorkerName::new("w").unwrap(), None, job.progress.run_at);
        let failure = Failure::new(FailureClass::ERROR, message).with_trace("t");
        let outcome = crate::Outcome::Failure {
            failure,
            output: None,
        };
        let ended = claim.end(outcome, job.progress.run_at);
        let transition = after_attempt(&ended, &crate::Subscriptions::default(), Dice::TYPICAL);
        let observed = transition.observation.clone().unwrap();
        assert_eq!(observed.failure.trace, None);
        lines.push((observed.is_first_of_job, observed.is_dead_letter));
        job.progress = transition.to;
    }
    assert_eq!(
        lines,
        [(true, false), (false, false), (true, false), (true, true)]
    );
    assert_eq!(job.progress.state, JobState::Failed);
    let job = job.claim(WorkerName::new("w").unwrap(), None, T0);
    let ended = job.end(crate::Outcome::Success { output: None }, T0);
    let transition = after_attempt(&ended, &crate::Subscriptions::default(), Dice::TYPICAL);
    assert_eq!(transition.observation, None);
}

fn tallies() -> impl Strategy<Value = FailureTally> {
    let one = (0..600_u64, 0..9_u64, any::<bool>(), 0..40_u64)
        .prop_map(|(hour, job, dead, host)| FailureTally::of(&observed(at(hour), job, dead, host)));
    let resolved = (0..3_u32).prop_map(FailureTally::of_resolved);
    let part = prop_oneof![4 => one, 1 => resolved];
    proptest::collection::vec(part, 1..30).prop_map(|parts| sum(&parts))
}

fn sum(parts: &[FailureTally]) -> FailureTally {
    let mut sum = FailureTally::of_resolved(0);
    for part in parts {
        sum.merge(part);
    }
    sum
}

proptest! {
    #[test]
    fn what_nodes_counted_adds_up_to_the_same_in_any_order(a in tallies(), b in tallies(), c in tallies()) {
        let [a, b, c] = [&a, &b, &c].map(Clone::clone);
        let left = sum(&[sum(&[a.clone(), b.clone()]), c.clone()]);
        let right = sum(&[a.clone(), sum(&[c.clone(), b.clone()])]);
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(&left, &sum(&[c, a, b]));
        prop_assert!(left.destinations.names.len() <= limits::FAILURE_NAMES_MAX);
    }
}

#[test]
fn a_group_of_failures_without_a_message_is_called_by_its_class() {
    let of = |failure| {
        let tally = FailureTally::of(&FailureObservation {
            failure,
            ..observed(T0, 1, false, 1)
        });
        let step = FailureGroup::step(None, &key(), counted(tally), T0);
        step.unwrap().group.summary()
    };
    assert_eq!(of(Failure::new(FailureClass::LOST, "")), "lost");
    assert_eq!(of(Failure::new(FailureClass::ERROR, "no")), "no");
}
