//! The health of destinations, from the first failure to the last job of the backlog.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    AlertRule, Destination, Failure, FailureClass, GateId, GatePatch, GateScope, HealthStatus,
    HoldMode, IncidentCause, JobId, JobState, PausePatch, Payload, PolicyPatch, Tenant,
};
use steadfast_engine::{
    ClientError, Context, DestinationFilter, DestinationState, JobError, JobKind, JobRequest,
    testing::TestEngine,
};
use steadfast_store::{DocumentKind, DocumentPage, DocumentStore as _, ManualClock, MemoryStore};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const JOBS: usize = 30;

#[derive(Serialize, Deserialize)]
struct Call;

impl JobKind for Call {
    const KIND: &'static str = "call";
}

/// A system that works, or does not, or asks callers to wait.
#[derive(Default)]
struct Partner {
    is_down: AtomicBool,
    asks_to_wait: AtomicBool,
    calls: AtomicU32,
}

impl Partner {
    fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn call(_: Call, ctx: Context<Arc<Partner>>) -> Result<(), JobError> {
    let partner = ctx.state();
    partner.calls.fetch_add(1, Ordering::SeqCst);
    if partner.asks_to_wait.swap(false, Ordering::SeqCst) {
        let failure = Failure::http(429, "slow down").with_retry_after(MINUTE);
        return Err(JobError::Failure(failure));
    }
    match partner.is_down.load(Ordering::SeqCst) {
        true => Err(JobError::failure(
            FailureClass::CONNECTION.as_str(),
            "refused",
        )),
        false => Ok(()),
    }
}

/// Nodes on one store, and the system that their jobs call.
struct Fixture {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    partner: Arc<Partner>,
}

impl Fixture {
    fn new() -> Self {
        let clock = ManualClock::default();
        Self {
            store: Arc::new(MemoryStore::new(Arc::new(clock.clone()))),
            clock,
            partner: Arc::default(),
        }
    }

    fn node(&self) -> TestEngine {
        let partner = self.partner.clone();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        TestEngine::on(store, clock, |builder| builder.state(partner).handler(call)).unwrap()
    }
}

fn partner() -> Destination {
    Destination::new("https://partner.example.com").unwrap()
}

/// Jobs that are tried every two seconds, for a minute.
async fn enqueue(node: &TestEngine, count: usize) -> Vec<JobId> {
    let retry = PolicyPatch::fixed(2 * SECOND)
        .max_retries(100)
        .max_elapsed(MINUTE);
    let jobs = (0..count).map(|_| {
        Call.job()
            .tenant("acme")
            .destination(partner().as_str())
            .retry(retry.clone())
    });
    let stored = node.client().enqueue_all(jobs).await.unwrap();
    stored.into_iter().map(|stored| stored.id()).collect()
}

async fn set_hold(node: &TestEngine, patch: GatePatch) {
    let id = GateId::new(None, GateScope::Destination, partner().as_str()).unwrap();
    node.client().change_gate(id, &patch, None).await.unwrap();
}

async fn state(node: &TestEngine) -> DestinationState {
    let client = node.client();
    client.destination(&partner(), None).await.unwrap()
}

async fn count_in(node: &TestEngine, ids: &[JobId], state: JobState) -> usize {
    let mut count = 0;
    for id in ids {
        count += usize::from(node.job(*id).await.unwrap().progress.state == state);
    }
    count
}

#[tokio::test]
async fn a_destination_that_is_held_sees_probes_only_and_its_jobs_outlive_their_time() {
    let fixture = Fixture::new();
    let node = fixture.node();
    set_hold(&node, GatePatch::default().hold(HoldMode::Auto)).await;
    fixture.partner.set_down(true);
    let ids = enqueue(&node, JOBS).await;
    node.advance(5 * SECOND).await.unwrap();
    let held = state(&node).await;
    assert_eq!(held.status, HealthStatus::Held);
    assert_eq!(held.hold, HoldMode::Auto);
    let incident = held.health.incident().unwrap();
    assert!(matches!(incident.cause, IncidentCause::Failures { .. }));
    assert!(incident.tenants.contains(&Tenant::new("acme").unwrap()));

    let before = fixture.partner.calls();
    let more = enqueue(&node, JOBS).await;
    node.advance(10 * MINUTE).await.unwrap();
    let incident = state(&node).await.health.incident().unwrap().clone();
    assert_eq!(incident.jobs_delayed, 2 * JOBS as u64);
    assert_eq!(incident.attempts_saved(), incident.jobs_delayed);
    let probes = fixture.partner.calls() - before;
    // After 5, 10, 20 and 40 seconds, and then once a minute.
    assert!((10..=15).contains(&probes), "{probes} probes");
    assert_eq!(count_in(&node, &ids, JobState::Failed).await, 0);

    fixture.partner.set_down(false);
    for _ in 0..30 {
        node.advance(10 * SECOND).await.unwrap();
    }
    assert_eq!(count_in(&node, &ids, JobState::Succeeded).await, JOBS);
    assert_eq!(count_in(&node, &more, JobState::Succeeded).await, JOBS);
    let works = state(&node).await;
    assert_eq!(works.status, HealthStatus::Healthy);
    let [incident] = works.health.past_incidents() else {
        panic!("{:?}", works.health.past_incidents());
    };
    assert!(incident.ended_at.is_some() && incident.failed_probes >= 9);
    assert_eq!(incident.dead_letters, Some(0));
    assert!(incident.caught_up_in().is_some(), "{incident:?}");
}

#[tokio::test]
async fn watched_attempts_go_on_and_what_holding_would_have_saved_is_shown() {
    let fixture = Fixture::new();
    let node = fixture.node();
    assert_eq!(state(&node).await.hold, HoldMode::Auto, "by default");
    set_hold(&node, GatePatch::default().hold(HoldMode::Watch)).await;
    fixture.partner.set_down(true);
    let ids = enqueue(&node, JOBS).await;
    node.advance(MINUTE + 10 * SECOND).await.unwrap();
    assert_eq!(count_in(&node, &ids, JobState::Failed).await, JOBS);
    let watched = state(&node).await;
    assert_eq!(watched.hold, HoldMode::Watch);
    let incident = watched.health.incident().unwrap();
    assert!(incident.avoidable_attempts() > 100, "{incident:?}");
    assert_eq!(incident.jobs_delayed, 0, "none is kept back");
    assert!(incident.dead_letters > Some(0), "{incident:?}");
    let counts = node.client().destination_counts().await.unwrap();
    assert_eq!(counts.held + counts.probing, 1);
}

#[tokio::test]
async fn a_destination_that_is_not_watched_is_left_alone() {
    let fixture = Fixture::new();
    let node = fixture.node();
    set_hold(&node, GatePatch::default().hold(HoldMode::Off)).await;
    fixture.partner.set_down(true);
    enqueue(&node, JOBS).await;
    node.advance(MINUTE).await.unwrap();
    assert_eq!(state(&node).await.health.counts().ended(), 0);
}

#[tokio::test]
async fn a_retry_after_counts_for_all_jobs_of_its_tenant_for_the_destination_on_all_nodes() {
    let fixture = Fixture::new();
    let (node, other) = (fixture.node(), fixture.node());
    fixture.partner.asks_to_wait.store(true, Ordering::SeqCst);
    let told = enqueue(&node, 1).await;
    assert_eq!(node.run_due().await.unwrap(), 1);
    // Both nodes make the same ids.
    let later = enqueue(&node, 1).await;
    for each in [&node, &other] {
        assert_eq!(each.run_due().await.unwrap(), 0, "the other one may start");
        let health = state(each).await.health;
        let known = health.retry_after(each.now()).unwrap();
        assert_eq!((known.job, known.status), (told[0], 429));
        assert_eq!(known.until, each.now().plus(MINUTE));
    }
    other.advance(MINUTE).await.unwrap();
    assert_eq!(count_in(&other, &later, JobState::Succeeded).await, 1);

    set_hold(&node, GatePatch::default().share_retry_after(false)).await;
    fixture.partner.asks_to_wait.store(true, Ordering::SeqCst);
    enqueue(&node, 2).await;
    assert_eq!(node.run_due().await.unwrap(), 2, "it is not shared");
}

#[tokio::test]
async fn a_person_holds_a_destination_whatever_its_setting_and_releases_it() {
    let fixture = Fixture::new();
    let (node, other) = (fixture.node(), fixture.node());
    let client = node.client();
    let partner = partner();
    let ids = enqueue(&node, 3).await;
    let hold = client.hold_destination(&partner, Some("ann"), Some("they move"), None);
    assert_eq!(hold.await.unwrap().status, HealthStatus::Held);
    other.advance(10 * MINUTE).await.unwrap();
    assert_eq!(fixture.partner.calls(), 0);
    let health = state(&other).await.health;
    let by_hand = health.manual_hold().unwrap();
    assert_eq!(by_hand.by.as_deref(), Some("ann"));
    assert_eq!(by_hand.reason.as_deref(), Some("they move"));
    client
        .release_destination(&partner, Some("bob"))
        .await
        .unwrap();
    other.advance(MINUTE).await.unwrap();
    assert_eq!(count_in(&node, &ids, JobState::Succeeded).await, 3);

    let until = node.now().plus(MINUTE);
    let hold = client.hold_destination(&partner, None, None, Some(until));
    hold.await.unwrap();
    let later = enqueue(&node, 1).await;
    node.advance(59 * SECOND).await.unwrap();
    assert_eq!(count_in(&node, &later, JobState::Waiting).await, 1);
    node.advance(5 * SECOND).await.unwrap();
    assert_eq!(count_in(&node, &later, JobState::Succeeded).await, 1);
}

#[tokio::test]
async fn a_hold_that_is_over_or_that_has_a_long_reason_is_refused() {
    let node = Fixture::new().node();
    let client = node.client();
    let partner = partner();
    let past = client.hold_destination(&partner, None, None, Some(node.now()));
    let long = "x".repeat(2_000);
    let wordy = client.hold_destination(&partner, None, Some(&long), None);
    for (result, field) in [(past.await, "until"), (wordy.await, "reason")] {
        let Err(ClientError::Invalid(invalid)) = result else {
            panic!("{result:?}");
        };
        assert_eq!(invalid.field, field);
    }
    assert_eq!(state(&node).await.status, HealthStatus::Healthy);
}

#[tokio::test]
async fn destinations_are_listed_by_name_and_forgotten_a_week_after_their_last_incident() {
    let fixture = Fixture::new();
    let node = fixture.node();
    let client = node.client();
    let names = ["https://a.example.com", "https://b.example.com"];
    for name in names {
        let destination = Destination::new(name).unwrap();
        let hold = client.hold_destination(&destination, None, None, None);
        hold.await.unwrap();
    }
    let list = async |filter: DestinationFilter, after: Option<&str>| {
        let after = after.map(|name| Destination::new(name).unwrap());
        let listed = client.destinations(&filter, after.as_ref(), 10).await;
        let listed = listed.unwrap().into_iter();
        let names = listed.map(|state| state.destination.to_string());
        names.collect::<Vec<_>>()
    };
    let all = DestinationFilter::default;
    assert_eq!(list(all(), None).await, names);
    assert_eq!(list(all(), Some(names[0])).await, names[1..]);
    let healthy = all().with_status(HealthStatus::Healthy);
    assert_eq!(list(healthy.clone(), None).await, [""; 0]);
    assert_eq!(list(all().with_trouble(), None).await, names);
    let of_acme = all().with_tenant(Tenant::new("acme").unwrap());
    assert_eq!(list(of_acme, None).await, [""; 0]);

    for name in names {
        let destination = Destination::new(name).unwrap();
        let release = client.release_destination(&destination, None);
        release.await.unwrap();
    }
    let kept = async || {
        let kind = DocumentKind::Destination;
        fixture
            .store
            .list_documents(kind, DocumentPage::All)
            .await
            .unwrap()
            .len()
    };
    for _ in 0..5 {
        node.advance(MINUTE).await.unwrap();
        node.run_due().await.unwrap();
    }
    assert_eq!(kept().await, 2);
    assert_eq!(list(all().with_trouble(), None).await, [""; 0]);
    assert_eq!(list(healthy, None).await, names);
    node.advance(8 * 24 * 60 * MINUTE).await.unwrap();
    node.run_due().await.unwrap();
    assert_eq!(kept().await, 0);
}

#[tokio::test]
async fn a_job_that_a_held_destination_or_a_paused_gate_keeps_back_is_not_overdue() {
    let fixture = Fixture::new();
    let node = fixture.node();
    let client = node.client();
    let job = |queue: &str| {
        JobRequest::new("unheard-of", Payload::default())
            .queue(queue)
            .tenant("acme")
    };
    let partner = partner();
    let to_partner = job("default").destination(partner.as_str());
    client.enqueue(to_partner).await.unwrap();
    let hold = client.hold_destination(&partner, None, None, None);
    hold.await.unwrap();
    client.enqueue(job("b")).await.unwrap();
    let id = GateId::new(None, GateScope::Kind, "unheard-of").unwrap();
    let paused = GatePatch::default().paused(PausePatch::Pause {
        reason: None,
        until: None,
    });
    client.change_gate(id.clone(), &paused, None).await.unwrap();
    let overdue = async || {
        node.watch().await.unwrap();
        let alerts = client.alerts(None).await.unwrap();
        let overdue = alerts
            .into_iter()
            .filter(|it| it.rule == AlertRule::Overdue);
        let messages: Vec<String> = overdue.map(|alert| alert.message).collect();
        messages
    };
    fixture.clock.advance(6 * MINUTE);
    assert_eq!(overdue().await, Vec::<String>::new());
    // The one that only the gate has kept back is late now, the other one is not.
    client.delete_gate(&id).await.unwrap();
    let messages = overdue().await;
    assert_eq!(messages.len(), 1);
    assert!(messages[0].contains("queue b"), "{messages:?}");
}
