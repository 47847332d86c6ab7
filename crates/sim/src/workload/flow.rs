//! Gates that people set, and jobs that come in masses.

use std::{sync::Arc, time::Duration};

use rand::{RngExt as _, rngs::StdRng, seq::IndexedRandom as _};
use steadfast_core::{
    ConcurrencyKey, Destination, Gate, GateDefaults, GateId, GateLimits, GateScope, Guarantee,
    HealthPatch, HoldMode, JobId, Kind, NewJob, PaceMode, Pause, Payload, PolicyPatch, Rate,
    RetryShare, RunAt, Tenant, Timestamp, Weight,
};
use steadfast_store::{Document, DocumentKind};

use super::{KINDS, QUEUES, TENANTS, random_job};

const DESTINATIONS: [&str; 2] = ["https://one.example.org", "https://two.example.org"];
const CONCURRENCY_KEYS: [&str; 2] = ["customer-1", "customer-2"];
/// As many as come at once.
const MASS: usize = 10;
/// As many as call a destination that stops working.
const CALLS: usize = 6;

pub fn destination(random: &mut StdRng) -> Option<Destination> {
    let is_known = random.random_ratio(1, 2);
    let destination = Destination::new(DESTINATIONS.choose(random).unwrap()).unwrap();
    is_known.then_some(destination)
}

/// One that some jobs call.
pub fn any_destination(random: &mut StdRng) -> Destination {
    Destination::new(DESTINATIONS.choose(random).unwrap()).unwrap()
}

/// The rules of all destinations: few failures are enough, and holds are short.
pub fn defaults(hold: HoldMode) -> GateDefaults {
    let mut defaults = GateDefaults::default();
    defaults.destination.hold = Some(hold);
    defaults.destination.health = HealthPatch {
        min_attempts: Some(4),
        min_jobs: Some(2),
        failed_share: Some(0.6),
        window: Some(Duration::from_secs(60)),
        max_hold: Some(Duration::from_secs(120)),
    };
    defaults
}

pub fn concurrency_key(random: &mut StdRng) -> Option<ConcurrencyKey> {
    let has_one = random.random_ratio(1, 3);
    let key = ConcurrencyKey::new(CONCURRENCY_KEYS.choose(random).unwrap()).unwrap();
    has_one.then_some(key)
}

/// Many jobs of each tenant that are due at once.
pub fn mass(random: &mut StdRng, now: Timestamp) -> Vec<NewJob> {
    let mut jobs = Vec::new();
    for tenant in TENANTS {
        for _ in 0..MASS {
            let id = JobId::new(now, random.random());
            let mut job = random_job(random, id);
            job.tenant = Tenant::new(tenant).unwrap();
            job.run_at = RunAt::Now;
            job.webhook = None;
            jobs.push(job);
        }
    }
    jobs
}

/// Jobs that call one destination as long as their age allows.
pub fn calls(random: &mut StdRng, destination: &Destination, now: Timestamp) -> Vec<NewJob> {
    let calls = (0..CALLS).map(|_| {
        let id = JobId::new(now, random.random());
        let delay = Duration::from_secs(random.random_range(1..4));
        let most = Duration::from_secs(random.random_range(5..40));
        let patch = PolicyPatch::fixed(delay).max_retries(20).max_elapsed(most);
        let mut job = random_job(random, id);
        job.kind = Kind::http();
        job.destination = Some(destination.clone());
        job.policy = Arc::new(patch.build().unwrap());
        job.guarantee = Guarantee::AtLeastOnce;
        job.run_at = RunAt::Now;
        job.webhook = None;
        job
    });
    calls.collect()
}

/// A gate that a person might set.
pub fn gate(random: &mut StdRng, now: Timestamp) -> Gate {
    let tenant = Tenant::new(TENANTS.choose(random).unwrap()).unwrap();
    let of_one = random.random_ratio(1, 2).then(|| tenant.clone());
    let (tenant, scope, key) = match random.random_range(0..6) {
        0 => (of_one, GateScope::Queue, *QUEUES.choose(random).unwrap()),
        1 => (of_one, GateScope::Kind, *KINDS.choose(random).unwrap()),
        2 => (None, GateScope::Tenant, *TENANTS.choose(random).unwrap()),
        3 => {
            let key = *DESTINATIONS.choose(random).unwrap();
            (of_one, GateScope::Destination, key)
        }
        _ => {
            let key = *CONCURRENCY_KEYS.choose(random).unwrap();
            (Some(tenant), GateScope::Key, key)
        }
    };
    let id = GateId::new(tenant, scope, key).unwrap();
    let limits = limits(random, scope, now);
    Gate { id, limits }
}

fn limits(random: &mut StdRng, scope: GateScope, now: Timestamp) -> GateLimits {
    let mut limits = GateLimits::default();
    let secs = |random: &mut StdRng, most| Duration::from_secs(random.random_range(1..=most));
    match random.random_range(0..8) {
        0..3 => limits.max_running = Some(random.random_range(1..4)),
        3..5 => {
            let burst = random.random_range(0..3);
            let rate = Rate::new(random.random_range(1..5), secs(random, 8), burst);
            limits.rate = Some(rate.unwrap());
        }
        5..7 => limits.retry_share = RetryShare::new(random.random_range(0.0..0.5)),
        _ => {
            let until = random.random_ratio(1, 2).then(|| secs(random, 60));
            limits.paused = Some(pause(now, until));
        }
    }
    match scope {
        GateScope::Tenant => limits.weight = Weight::new(random.random_range(1..5)),
        GateScope::Key => limits.ordered = random.random_ratio(2, 3),
        GateScope::Destination if random.random_ratio(2, 3) => limits.pace = Some(PaceMode::Learn),
        _ => {}
    }
    limits
}

/// A pause of one tenant's queue.
pub fn queue_pause(random: &mut StdRng, now: Timestamp) -> Gate {
    let tenant = Tenant::new(TENANTS.choose(random).unwrap()).unwrap();
    let key = QUEUES.choose(random).unwrap();
    let id = GateId::new(Some(tenant), GateScope::Queue, key).unwrap();
    let limits = GateLimits {
        paused: Some(pause(now, None)),
        ..GateLimits::default()
    };
    Gate { id, limits }
}

fn pause(now: Timestamp, time: Option<Duration>) -> Pause {
    Pause {
        by: Some("a person".to_owned()),
        since: now,
        reason: None,
        until: time.map(|time| now.plus(time)),
    }
}

/// As it is stored.
pub fn document(gate: &Gate, revision: u64) -> Document {
    Document {
        kind: DocumentKind::Gate,
        id: gate.id.to_string(),
        body: Payload::encode(gate).unwrap(),
        revision,
    }
}
