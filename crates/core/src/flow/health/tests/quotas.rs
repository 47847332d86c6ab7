//! What a destination says of its own limits is kept until its reset.

use super::*;
use crate::flow::{GateStop, Gates, SharedQuota, TargetQuota};

/// The answer to an attempt says how many remain for a minute.
fn quota(remaining: &'static str, from: Timestamp, to: Timestamp) -> SharedQuota {
    let header = |name: &str| match name {
        "x-ratelimit-remaining" => Some(remaining.to_owned()),
        "x-ratelimit-reset" => Some("60".to_owned()),
        _ => None,
    };
    let mut ended = ended(7, success(), from, to);
    ended.set_quota(TargetQuota::read(&header, to));
    SharedQuota::of(&ended).unwrap()
}

fn told(health: &DestinationHealth, quota: SharedQuota, now: Timestamp) -> DestinationHealth {
    let mut tally = HealthTally::default();
    tally.add_quota(quota, Some(health));
    if tally.quota().is_none() {
        return health.clone();
    }
    assert!(tally.is_worth_reporting(Some(health), &HealthRules::default(), now));
    let report = tally.take_report("n", now);
    let input = HealthInput {
        report: Some(&report),
        ..HealthInput::default()
    };
    step(health, input, now)
}

fn step(health: &DestinationHealth, input: HealthInput<'_>, now: Timestamp) -> DestinationHealth {
    let change = health.step(input, &HealthRules::default(), now);
    change.map_or(health.clone(), |change| change.health)
}

#[test]
fn a_quota_is_kept_until_its_reset_and_then_forgotten() {
    let first = quota("3", at(0), at(0));
    let health = told(&DestinationHealth::default(), first, at(1));
    assert_eq!(health.quota(at(1)), Some(&first));
    assert!(!health.is_quiet() && !health.keeps_back(HoldMode::Auto));
    let rules = HealthRules::default();
    assert_eq!(health.next_step_at(&rules, at(1)), Some(at(60)));
    assert_eq!(told(&health, first, at(1)), health, "no news");
    // The answer to a later attempt replaces it, and so does a stricter one.
    let later = told(&health, quota("2", at(19), at(20)), at(20));
    assert_eq!(later.quota(at(20)).map(|it| it.remaining), Some(2));
    let none = told(&health, quota("0", at(1), at(2)), at(2));
    assert_eq!(none.quota(at(2)).map(|it| it.remaining), Some(0));
    let over = step(&none, HealthInput::default(), at(62));
    assert!(over.is_quiet() && over.is_forgettable(at(62)));
}

#[test]
fn a_person_who_releases_a_destination_forgets_its_quota() {
    let health = told(
        &DestinationHealth::default(),
        quota("0", at(0), at(0)),
        at(0),
    );
    let release = HoldCommand::Release { by: None };
    let input = HealthInput {
        command: Some(&release),
        ..HealthInput::default()
    };
    assert_eq!(step(&health, input, at(1)).quota(at(1)), None);
}

#[test]
fn a_clock_that_is_set_back_does_not_make_a_quota_last_longer() {
    let health = told(
        &DestinationHealth::default(),
        quota("0", at(3_600), at(3_600)),
        at(3_600),
    );
    let known = step(&health, HealthInput::default(), at(0));
    assert_eq!(known.quota(at(0)).unwrap().until, at(60));
}

#[test]
fn jobs_are_stopped_where_nothing_remains_and_paced_where_something_does() {
    let job = ended(1, success(), at(0), at(0));
    let mut flow_key = crate::flow::FlowKey::from(job.job());
    let destination = crate::values::Destination::new("https://a.example").unwrap();
    flow_key.destination = Some(destination.clone());
    for (remaining, stop) in [("0", Some(GateStop::Quota)), ("2", None)] {
        let quota = quota(remaining, at(0), at(0));
        let health = told(&DestinationHealth::default(), quota, at(0));
        let gates = Gates::new([], crate::flow::GateDefaults::default());
        let gates = gates.with_health([(destination.clone(), Arc::new(health))]);
        let found = gates.stop_of(&flow_key, at(1));
        assert_eq!(found.map(|(_, stop)| stop), stop);
        assert!(gates.keep_back_any(at(1)) && !gates.keep_back_any(at(61)));
        assert_eq!(gates.applying_to(&flow_key).len(), 1);
    }
}
