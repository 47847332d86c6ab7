//! Health for one tenant and for all.

use super::*;
use crate::values::Destination;

/// Calls of a tenant that could not reach the destination.
fn failing(tenant: &str, first: u128, count: u128) -> Vec<EndedAttempt> {
    of_tenant(tenant, first, count, &unreachable())
}

/// Attempts of a tenant that ended together.
fn of_tenant(name: &str, first: u128, count: u128, outcome: &Outcome) -> Vec<EndedAttempt> {
    let attempt = |number| {
        let policy = Arc::new(Preset::Http.policy());
        let id = JobId::from_bits(number << 8);
        let mut job = NewJob::new(id, Kind::http(), Payload::default(), policy);
        job.tenant = Tenant::new(name).unwrap();
        let worker = WorkerName::new("n").unwrap();
        let claim = job.into_job(T0).claim(worker, None, T0);
        claim.end(outcome.clone(), T0)
    };
    (first..first + count).map(attempt).collect()
}

/// Whether an incident begins when the calls of nodes end like this.
fn are_held(attempts: impl IntoIterator<Item = EndedAttempt>) -> bool {
    let mut tally = HealthTally::default();
    for ended in attempts {
        tally.add_for_all(&ended, None);
    }
    let report = tally.take_report("n", T0);
    let input = HealthInput {
        report: Some(&report),
        ..HealthInput::default()
    };
    let change = DestinationHealth::default().step(input, &HealthRules::default(), T0);
    let health = change.unwrap().health;
    let json = serde_json::to_string(&health).unwrap();
    assert_eq!(
        serde_json::from_str::<DestinationHealth>(&json).unwrap(),
        health
    );
    health.incident().is_some()
}

#[test]
fn one_tenant_alone_does_not_have_a_destination_held_for_all() {
    assert!(!are_held(failing("a", 1, 500)));
    // One failure of another one is not enough either.
    let others = failing("b", 1_000, 1);
    assert!(!are_held(failing("a", 1, 500).into_iter().chain(others)));
    let works = of_tenant("b", 1_000, 10, &success());
    assert!(!are_held(failing("a", 1, 500).into_iter().chain(works)));
}

#[test]
fn a_destination_that_fails_for_several_tenants_is_held_for_all() {
    let two = failing("a", 1, 10).into_iter();
    assert!(are_held(two.chain(failing("b", 1_000, 10))));
    let many = (0..20_u128).flat_map(|number| failing(&format!("t{number}"), number, 1));
    assert!(are_held(many));
}

#[test]
fn a_document_is_named_after_its_subject() {
    let destination = Destination::new("https://api.example.com:8443").unwrap();
    let of_tenant = HealthSubject::of_tenant(&destination, &Tenant::new("a/b@c").unwrap());
    for subject in [HealthSubject::from(destination), of_tenant] {
        let id = subject.document_id();
        assert_eq!(HealthSubject::from_document_id(&id), Some(subject));
    }
    assert_eq!(HealthSubject::from_document_id("no origin"), None);
}
