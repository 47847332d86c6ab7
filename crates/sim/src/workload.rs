//! The requests of clients: jobs, schedules and changes, chosen by the seed.

mod flow;
mod promises;

use std::{sync::Arc, time::Duration};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use steadfast_core::{
    Endpoint, EndpointId, EventType, Guarantee, IdempotencyKey, JobCommand, JobEdit, JobId, Kind,
    MissedTickPolicy, NewJob, OverlapPolicy, Payload, PolicyPatch, Priority, Queue, RetryPolicy,
    RunAt, Schedule, ScheduleId, ScheduleName, Tenant, TickRule, Timestamp, Timetable, Webhook,
    WebhookTarget,
};
use steadfast_store::{Document, DocumentKind};

use crate::script::REMOTE;
pub use flow::{any_destination, calls, defaults, document, gate, mass, queue_pause};
pub use promises::{
    CALLBACK_QUEUE, DEBOUNCE, DEBOUNCE_MAX, added_to_batch, batch, operation, with_promises,
};

pub const TENANTS: [&str; 2] = ["acme", "zeta"];
const QUEUES: [&str; 2] = ["a", "b"];
const KINDS: [&str; 5] = ["x", "x", "y", REMOTE, "http"];
/// Few, so that they are used again.
const KEYS: u64 = 10;

pub fn tenant(random: &mut StdRng) -> Tenant {
    Tenant::new(TENANTS.choose(random).unwrap()).unwrap()
}

pub fn queue(random: &mut StdRng) -> Queue {
    Queue::new(QUEUES.choose(random).unwrap()).unwrap()
}

fn secs(random: &mut StdRng, most: u64) -> Duration {
    Duration::from_secs(random.random_range(0..=most))
}

fn policy(random: &mut StdRng) -> Arc<RetryPolicy> {
    Arc::new(policy_patch(random).build().unwrap())
}

fn policy_patch(random: &mut StdRng) -> PolicyPatch {
    let patch = PolicyPatch::fixed(secs(random, 8)).max_retries(random.random_range(0..4));
    let most = Duration::from_secs(random.random_range(30..90));
    match random.random_ratio(1, 3) {
        true => patch.max_elapsed(most),
        false => patch,
    }
}

pub fn job(random: &mut StdRng, now: Timestamp) -> NewJob {
    let id = JobId::new(now, random.random());
    if random.random_ratio(3, 4) {
        return random_job(random, id);
    }
    let number = random.random_range(0..KEYS);
    // What was asked with a key follows from the key, so that asking again is the same request.
    let mut job = random_job(&mut StdRng::seed_from_u64(number), id);
    job.idempotency_key = Some(IdempotencyKey::new(&format!("key-{number}")).unwrap());
    if random.random_ratio(1, 10) {
        job.payload = Payload::from_json(r#"{"another": "request"}"#).unwrap();
    }
    job
}

fn random_job(random: &mut StdRng, id: JobId) -> NewJob {
    let kind = Kind::new(KINDS.choose(random).unwrap()).unwrap();
    let payload = Payload::from_json("{}").unwrap();
    let mut job = NewJob::new(id, kind, payload, policy(random));
    job.tenant = tenant(random);
    job.queue = queue(random);
    job.priority = Priority::new(random.random_range(0..=9)).unwrap();
    job.run_at = match random.random_range(0..4) {
        0 => RunAt::After(secs(random, 60)),
        _ => RunAt::Now,
    };
    job.destination = flow::destination(random);
    job.concurrency_key = flow::concurrency_key(random);
    if random.random_ratio(1, 4) {
        job.guarantee = Guarantee::AtMostOnce;
    }
    if random.random_ratio(1, 3) {
        job.webhook = Some(Arc::new(webhook(random)));
    }
    let lease = Duration::from_secs(random.random_range(2..30));
    let job = job.with_lease(lease).unwrap();
    if random.random_ratio(1, 3) {
        job.with_timeout(Duration::from_secs(random.random_range(1..40)))
            .unwrap()
    } else {
        job
    }
}

fn soon() -> PolicyPatch {
    PolicyPatch::fixed(Duration::from_secs(3)).max_retries(2)
}

fn webhook(random: &mut StdRng) -> Webhook {
    let all = [
        EventType::JobSucceeded,
        EventType::JobFailed,
        EventType::JobRetrying,
        EventType::JobCancelled,
    ];
    let events = all.iter().copied().filter(|_| random.random_ratio(2, 3));
    Webhook {
        events: events.collect(),
        target: WebhookTarget::Url {
            url: "https://example.org/hook".to_owned(),
            secret: None,
        },
        retry: soon(),
    }
}

/// One tenant's endpoint, which wants to know of failures.
pub fn endpoint(now: Timestamp) -> Document {
    let id = EndpointId::new(now, 4);
    let tenant = Tenant::new(TENANTS[0]).unwrap();
    let endpoint = Endpoint {
        events: vec![EventType::JobFailed, EventType::JobCancelled],
        retry: soon(),
        ..Endpoint::new(id, tenant, "https://example.org/news", now)
    };
    Document {
        kind: DocumentKind::Endpoint,
        id: id.to_string(),
        body: Payload::encode(&endpoint).unwrap(),
        revision: 0,
    }
}

pub fn schedule(random: &mut StdRng, number: u64, now: Timestamp) -> Schedule {
    let overlaps = [
        OverlapPolicy::Skip,
        OverlapPolicy::Allow,
        OverlapPolicy::QueueOne,
        OverlapPolicy::Replace,
    ];
    let misses = [
        MissedTickPolicy::Skip,
        MissedTickPolicy::RunOnce,
        MissedTickPolicy::RunAll,
    ];
    let every = Duration::from_secs(random.random_range(30..90));
    let timetable = Timetable::new(TickRule::Every(every))
        .and_then(|timetable| timetable.with_max_runs(Some(random.random_range(3..9))))
        .unwrap()
        .with_overlap(*overlaps.choose(random).unwrap())
        .with_missed(*misses.choose(random).unwrap());
    let mut template = random_job(random, JobId::new(now, number));
    template.run_at = RunAt::Now;
    Schedule {
        id: ScheduleId::new(now, number << 2),
        name: ScheduleName::new(&format!("schedule-{number}")).unwrap(),
        progress: timetable.begin(now),
        timetable,
        template,
        paused: false,
        created_at: now,
        revision: 0,
    }
}

pub fn command(random: &mut StdRng, now: Timestamp) -> JobCommand {
    match random.random_range(0..10) {
        0..3 => JobCommand::Cancel,
        3..6 => JobCommand::Retry { payload: None },
        6 => JobCommand::RunNow,
        7..9 => JobCommand::Edit(JobEdit {
            payload: None,
            policy: random.random_ratio(1, 2).then(|| policy(random)),
            run_at: Some(now.plus(secs(random, 40))),
            priority: Some(Priority::new(random.random_range(0..=9)).unwrap()),
        }),
        _ => JobCommand::Discard,
    }
}
