use std::time::Duration;

use super::*;
use crate::{
    failure::{Failure, FailureClass},
    flow::{
        ClosedBy, DestinationHealth, GateState, HealthInput, HealthRules, HealthSubject,
        HealthTally, HoldCommand, Rate, RetryAfterScope, RetryShare, Room, SharedRetryAfter,
    },
    job::{NewJob, attempt::Outcome},
    policy::Preset,
    values::{ConcurrencyKey, Destination, JobId, Kind, Payload, Queue, WorkerName},
};

fn flow_key(tenant: &str) -> FlowKey {
    FlowKey {
        tenant: Tenant::new(tenant).unwrap(),
        queue: Queue::default(),
        kind: Kind::http(),
        destination: Destination::of_url("https://api.example.com/a"),
        concurrency_key: ConcurrencyKey::new("customer 7").ok(),
    }
}

fn gate(tenant: Option<&str>, scope: GateScope, key: &str, most: u32) -> Gate {
    Gate {
        id: GateId {
            tenant: tenant.map(|tenant| Tenant::new(tenant).unwrap()),
            scope,
            key: key.to_owned(),
        },
        limits: GateLimits {
            max_running: Some(most),
            ..GateLimits::default()
        },
    }
}

#[test]
fn workers_of_a_tenant_count_at_a_destination_for_that_tenant_only() {
    let mut set = gate(None, GateScope::Destination, "https://api.example.com", 5);
    let number = |set: &Gate, tenant: &str, kind: &str| {
        let gates = Gates::new([set.clone()], GateDefaults::default());
        let kind = Kind::new(kind).unwrap();
        let key = FlowKey {
            kind,
            ..flow_key(tenant)
        };
        let applied = gates.applying_to(&key);
        assert_eq!(applied.len(), 1);
        (applied[0].number, applied[0].id.to_string())
    };
    let for_all = number(&set, "a", "http");
    assert_eq!(for_all.1, "destination https://api.example.com");
    for (tenant, kind) in [("b", "http"), ("b", "webhook"), ("default", "report")] {
        assert_eq!(number(&set, tenant, kind), for_all);
    }
    let own = number(&set, "a", "report");
    assert_eq!(own.1, "destination https://api.example.com of tenant a");
    assert_ne!(own.0, for_all.0);
    assert_ne!(own.0, number(&set, "b", "report").0);
    assert_eq!(own, number(&set, "a", "mail"));
    // The tenant's own gate is another one.
    let tenants = Gate {
        id: GateId {
            tenant: Tenant::new("a").ok(),
            ..set.id.clone()
        },
        ..set.clone()
    };
    assert_ne!(own.0, number(&tenants, "a", "report").0);
    set.limits.share_retry_after = Some(true);
    assert_eq!(number(&set, "a", "report"), for_all);
}

#[test]
fn a_flow_key_passes_the_gates_of_all_its_parts() {
    let set = [
        gate(None, GateScope::Destination, "https://api.example.com", 5),
        gate(Some("a"), GateScope::Queue, "default", 4),
        gate(None, GateScope::Queue, "other", 3),
        gate(Some("a"), GateScope::Key, "customer 7", 1),
        gate(None, GateScope::Tenant, "a", 9),
    ];
    let gates = Gates::new(set, GateDefaults::default());
    let most = |tenant| {
        let applied = gates.applying_to(&flow_key(tenant));
        let mut most: Vec<_> = applied
            .iter()
            .filter_map(|gate| gate.limits.max_running)
            .collect();
        most.sort_unstable();
        most
    };
    assert_eq!(most("a"), [1, 4, 5, 9]);
    assert_eq!(most("b"), [5]);
}

#[test]
fn a_default_holds_for_every_key_that_has_no_gate_of_its_own() {
    let mut defaults = GateDefaults::default();
    defaults.key.ordered = true;
    defaults.destination.max_running = Some(7);
    let set = [gate(Some("a"), GateScope::Key, "customer 7", 3)];
    let gates = Gates::new(set, defaults);
    let applied = gates.applying_to(&flow_key("a"));
    let limits: Vec<_> = applied
        .iter()
        .map(|gate| (gate.id.scope, gate.limits.max_running, gate.limits.ordered))
        .collect();
    assert_eq!(
        limits,
        [
            (GateScope::Destination, Some(7), false),
            (GateScope::Key, Some(3), true)
        ]
    );
    assert!(!gates.is_empty());
    let none = Gates::new([], GateDefaults::default());
    assert!(none.is_empty() && none.applying_to(&flow_key("a")).is_empty());
}

#[test]
fn a_setting_of_the_tenant_overrides_that_of_the_destination() {
    let destination = Destination::of_url("https://api.example.com").unwrap();
    let of = |tenant: Option<&str>, scope, key: &str, hold| {
        let mut gate = gate(tenant, scope, key, 1);
        gate.limits.hold = Some(hold);
        gate
    };
    let of_pair = of(
        Some("a"),
        GateScope::Destination,
        destination.as_str(),
        HoldMode::Off,
    );
    let of_tenant = of(None, GateScope::Tenant, "b", HoldMode::Watch);
    let of_destination = of(
        None,
        GateScope::Destination,
        destination.as_str(),
        HoldMode::Auto,
    );
    let mut defaults = GateDefaults::default();
    defaults.tenant.hold = Some(HoldMode::Off);
    let all = [of_pair, of_tenant, of_destination];
    let gates = Gates::new(all, defaults.clone());
    let mode = |gates: &Gates, tenant| gates.hold_mode(&Tenant::new(tenant).unwrap(), &destination);
    assert_eq!(mode(&gates, "a"), HoldMode::Off);
    assert_eq!(mode(&gates, "b"), HoldMode::Watch);
    assert_eq!(mode(&gates, "c"), HoldMode::Auto);
    let gates = Gates::new([], defaults);
    assert_eq!(mode(&gates, "c"), HoldMode::Off);
    assert_eq!(mode(&Gates::default(), "c"), HoldMode::Auto);
}

#[test]
fn jobs_of_workers_are_held_only_if_a_hold_is_set() {
    let destination = Destination::of_url("https://api.example.com").unwrap();
    let tenant = Tenant::new("a").unwrap();
    let mode = |gates: &Gates, kind: Kind| gates.hold_mode_of(&kind, &tenant, &destination);
    let charge = || Kind::new("charge").unwrap();
    let none = Gates::default();
    assert_eq!(mode(&none, charge()), HoldMode::Watch);
    assert_eq!(mode(&none, Kind::http()), HoldMode::Auto);
    assert_eq!(mode(&none, Kind::webhook()), HoldMode::Auto);
    let mut defaults = GateDefaults::default();
    defaults.destination.hold = Some(HoldMode::Auto);
    assert_eq!(mode(&Gates::new([], defaults), charge()), HoldMode::Auto);
}

#[test]
fn a_held_destination_closes_a_gate_of_its_own_for_those_who_hold() {
    let hold = HoldCommand::Hold {
        by: None,
        reason: None,
        until: None,
    };
    let input = HealthInput {
        command: Some(&hold),
        ..HealthInput::default()
    };
    let now = Timestamp::from_millis(1_767_225_600_000);
    let health = DestinationHealth::default();
    let change = health.step(input, &HealthRules::default(), now).unwrap();
    let health = Arc::new(change.health);
    let destination = Destination::of_url("https://api.example.com").unwrap();
    let set = [gate(None, GateScope::Destination, destination.as_str(), 5)];
    let gates = Gates::new(set, GateDefaults::default());
    let known = Gates::default().with_health([(destination.clone(), health.clone())]);
    assert!(!known.is_empty());
    let gates = gates.with_health([(destination.clone(), health)]);
    let applied = gates.applying_to(&flow_key("a"));
    let [own, of_health] = applied.as_slice() else {
        panic!("{applied:?}");
    };
    assert_eq!(own.id, of_health.id);
    assert_ne!(own.number, of_health.number);
    assert_eq!(own.limits.max_running, Some(5));
    let room = |gate: &AppliedGate| gate.limits.room(&GateState::default(), false, now);
    assert_eq!(room(own), Room::For(5));
    assert!(matches!(
        room(of_health),
        Room::Closed(ClosedBy::ManualHold { .. })
    ));
    let later = now.plus(Duration::from_secs(60));
    let policy = Arc::new(Preset::Http.policy());
    let kind = Kind::new("call").unwrap();
    let mut job = NewJob::new(JobId::from_bits(1), kind, Payload::default(), policy);
    job.destination = Some(destination);
    let held = gates.held_between(&job.into_job(now), now, later);
    assert_eq!(held, Duration::from_secs(60));
}

#[test]
fn counting_goes_on_without_a_change_and_a_hold_changes_its_destination_alone() {
    let at = Timestamp::from_micros;
    let [one, two] = ["https://one.example.com", "https://two.example.com"]
        .map(|url| Destination::new(url).unwrap());
    let held = |until| {
        let command = HoldCommand::Hold {
            by: None,
            reason: None,
            until: Some(at(until)),
        };
        let health = DestinationHealth::default();
        let input = HealthInput {
            command: Some(&command),
            ..HealthInput::default()
        };
        let change = health.step(input, &HealthRules::default(), at(1)).unwrap();
        Arc::new(change.health)
    };
    let gates = |health: Vec<(Destination, Arc<DestinationHealth>)>| {
        Gates::new(Vec::new(), GateDefaults::default()).with_health(health)
    };
    let before = gates(vec![(one.clone(), held(50)), (two, Arc::default())]);
    let same = gates(vec![(one.clone(), held(50))]);
    assert_eq!(same.change_since(&before), GatesChange::default());
    let longer = gates(vec![(one.clone(), held(60))]);
    let only_one = GatesChange {
        destinations: vec![one],
        ..GatesChange::default()
    };
    assert_eq!(longer.change_since(&before), only_one);
    assert_eq!(gates(Vec::new()).change_since(&before), only_one);
    assert_eq!(before.change_since(&gates(Vec::new())), only_one);
}

/// A destination as it looks after calls of these tenants have failed.
fn failing_with(tenants: &[&str], failure: &Failure, now: Timestamp) -> Arc<DestinationHealth> {
    let mut tally = HealthTally::default();
    for number in 0..40_usize {
        let policy = Arc::new(Preset::Http.policy());
        let id = JobId::from_bits(number as u128);
        let mut job = NewJob::new(id, Kind::http(), Payload::default(), policy);
        job.tenant = Tenant::new(tenants[number % tenants.len()]).unwrap();
        let worker = WorkerName::new("n").unwrap();
        let outcome = Outcome::Failure {
            failure: failure.clone(),
            output: None,
        };
        let ended = job.into_job(now).claim(worker, None, now).end(outcome, now);
        if let Some(retry_after) = SharedRetryAfter::of(&ended, true) {
            tally.add_retry_after(retry_after);
        }
        match tenants.len() {
            1 => tally.add(&ended, None),
            _ => tally.add_for_all(&ended, None),
        }
    }
    let report = tally.take_report("n", now);
    let input = HealthInput {
        report: Some(&report),
        ..HealthInput::default()
    };
    let health = DestinationHealth::default();
    let change = health.step(input, &HealthRules::default(), now).unwrap();
    Arc::new(change.health)
}

#[test]
fn failures_of_all_hold_calls_and_failures_of_a_tenant_hold_its_jobs() {
    let now = Timestamp::from_millis(1_767_225_600_000);
    let destination = Destination::of_url("https://api.example.com").unwrap();
    let refused = Failure::new(FailureClass::CONNECTION, "refused");
    let failing = |tenants: &[&str]| failing_with(tenants, &refused, now);
    let mut defaults = GateDefaults::default();
    defaults.destination.hold = Some(HoldMode::Auto);
    let gates = Gates::new([], defaults);
    let own = HealthSubject::of_tenant(&destination, &Tenant::new("a").unwrap());
    let applied = |gates: &Gates, tenant: &str, kind: &str| {
        let kind = Kind::new(kind).unwrap();
        let flow_key = FlowKey {
            kind,
            ..flow_key(tenant)
        };
        let applied = gates.applying_to(&flow_key).into_iter();
        let ids = applied.map(|gate| gate.id.tenant.map(|tenant| tenant.to_string()));
        ids.collect::<Vec<_>>()
    };
    let of_tenant = gates.clone().with_health([(own.clone(), failing(&["a"]))]);
    for kind in ["http", "call"] {
        assert_eq!(applied(&of_tenant, "a", kind), [Some("a".to_owned())]);
        assert_eq!(applied(&of_tenant, "b", kind), []);
    }
    let all = HealthSubject::from(destination);
    let for_all = failing(&["a", "b"]);
    // What one tenant was asked to wait for counts for it, whatever is known for all.
    let busy = Failure::http(503, "busy").with_retry_after(Duration::from_secs(9));
    let asked = [
        (own.clone(), failing_with(&["a"], &busy, now)),
        (all.clone(), for_all.clone()),
    ];
    let asked = gates.clone().with_health(asked);
    assert_eq!(applied(&asked, "a", "http"), [None, Some("a".to_owned())]);
    assert_eq!(applied(&asked, "b", "http"), [None]);
    let both = [(own, failing(&["a"])), (all, for_all)];
    let both = gates.with_health(both);
    assert_eq!(applied(&both, "a", "http"), [None]);
    assert_eq!(applied(&both, "b", "http"), [None]);
    // Whether what workers do there works is not known from calls.
    assert_eq!(applied(&both, "a", "call"), [Some("a".to_owned())]);
    assert_eq!(applied(&both, "b", "call"), []);
}

#[test]
fn a_retry_after_applies_as_operator_and_tenant_say() {
    let destination = Destination::of_url("https://api.example.com").unwrap();
    let tenant = |name: &str| Tenant::new(name).unwrap();
    let gate = |of: Option<&str>, share| Gate {
        id: GateId::new(of.map(tenant), GateScope::Destination, destination.as_str()).unwrap(),
        limits: GateLimits {
            share_retry_after: Some(share),
            ..GateLimits::default()
        },
    };
    let scopes = |set: Vec<Gate>| {
        let gates = Gates::new(set, GateDefaults::default());
        ["a", "b"].map(|name| gates.retry_after_scope(Some(&tenant(name)), &destination))
    };
    use RetryAfterScope::{All, Job, Tenant as One};
    assert_eq!(scopes(vec![]), [One, One]);
    assert_eq!(scopes(vec![gate(Some("a"), false)]), [Job, One]);
    // A tenant does not decide for others.
    assert_eq!(scopes(vec![gate(Some("a"), true)]), [One, One]);
    assert_eq!(
        scopes(vec![gate(None, true), gate(Some("a"), false)]),
        [Job, All]
    );
    assert_eq!(scopes(vec![gate(None, false)]), [Job, Job]);
}

#[test]
fn the_limits_of_a_destination_are_the_stricter_of_its_gates_over_the_defaults() {
    let origin = "https://api.example.com";
    let [destination, other] =
        [origin, "https://b.example.com"].map(|it| Destination::new(it).unwrap());
    let mut own = gate(Some("acme"), GateScope::Destination, origin, 5);
    own.limits.rate = Rate::new(100, Duration::from_secs(60), 0).ok();
    own.limits.hold = Some(HoldMode::Watch);
    let mut for_all = gate(None, GateScope::Destination, origin, 9);
    for_all.limits.rate = Rate::new(1, Duration::from_secs(1), 0).ok();
    let defaults = GateDefaults {
        destination: GateLimits {
            max_running: Some(30),
            retry_share: RetryShare::new(0.2),
            ..GateLimits::default()
        },
        ..GateDefaults::default()
    };
    let gates = Gates::new([own, for_all.clone()], defaults.clone());
    let acme = Tenant::new("acme").unwrap();
    let limits = gates.destination_limits(Some(&acme), &destination);
    assert_eq!(limits.max_running, Some(5));
    assert_eq!(limits.rate, for_all.limits.rate);
    assert_eq!(limits.retry_share, RetryShare::new(0.2));
    assert_eq!(limits.hold, Some(HoldMode::Watch));
    let limits = gates.destination_limits(None, &destination);
    assert_eq!((limits.max_running, limits.hold), (Some(9), None));
    let limits = gates.destination_limits(Some(&acme), &other);
    assert_eq!(limits, defaults.destination);
}
