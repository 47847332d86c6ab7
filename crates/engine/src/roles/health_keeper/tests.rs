use std::sync::atomic::{AtomicU64, Ordering};

use steadfast_core::{
    Claim, Destination, Failure, FailureClass, FlowKey, GateDefaults, GateState, HoldMode, JobId,
    Kind, NewJob, Outcome, Payload, Preset, Queue, Room, Tenant, WorkerName,
};
use steadfast_store::{
    ClaimRequest, Document, DocumentSaveResult, JobStore as _, LayeredStore, ManualClock,
    MemoryStore, Outbox, StoreLayer,
};

use super::*;
use crate::{
    builder::EngineBuilder, client::request::JobRequest, config::EngineConfig,
    limits::TALLIES_PER_TENANT_MAX, parts::Parts,
};

/// The answer to the first save is lost.
struct LosesAnswer {
    memory: MemoryStore,
    saves: AtomicU64,
}

#[async_trait]
impl StoreLayer for LosesAnswer {
    fn inner(&self) -> &dyn Store {
        &self.memory
    }

    async fn save_document(
        &self,
        document: Document,
        outbox: Outbox,
    ) -> Result<DocumentSaveResult, StoreError> {
        let saved = self.inner().save_document(document, outbox).await;
        match self.saves.fetch_add(1, Ordering::SeqCst) {
            0 => Err(StoreError::unavailable("save a document", "for the test")),
            _ => saved,
        }
    }
}

fn partner() -> Destination {
    Destination::new("https://partner.example.com").unwrap()
}

fn refused() -> Outcome {
    Outcome::Failure {
        failure: Failure::new(FailureClass::CONNECTION, "refused"),
        output: None,
    }
}

/// Jobs that could not reach the partner.
async fn fail(parts: &Parts, count: usize) {
    let jobs = (0..count)
        .map(|_| JobRequest::new("call", Payload::default()).destination(partner().as_str()));
    parts.client.enqueue_all(jobs).await.unwrap();
    let request = ClaimRequest::new(WorkerName::new("w").unwrap(), count);
    let claims = parts.store.claim(request).await.unwrap().claims;
    let end = |claim: Claim| {
        parts
            .settler
            .pending(claim.end(refused(), parts.store.now()))
    };
    let mut batch: Vec<_> = claims.into_iter().map(end).collect();
    parts.settler.settle(&mut batch).await.unwrap();
}

#[tokio::test]
async fn a_report_whose_answer_was_lost_is_counted_once_and_a_node_that_dies_loses_no_more() {
    let clock = ManualClock::default();
    let store = Arc::new(LayeredStore(LosesAnswer {
        memory: MemoryStore::new(Arc::new(clock.clone())),
        saves: AtomicU64::new(0),
    }));
    let parts = EngineBuilder::new(store.clone()).parts().unwrap();
    fail(&parts, 10).await;
    assert!(parts.health_keeper.keep().await.is_err());
    fail(&parts, 3).await;
    clock.advance(HEALTH_REPORT_EVERY);
    parts.health_keeper.keep().await.unwrap();
    let ended = async |parts: &Parts| {
        let state = parts.client.destination(&partner(), None).await.unwrap();
        state.health.counts().ended()
    };
    assert_eq!(ended(&parts).await, 10);
    clock.advance(HEALTH_REPORT_EVERY);
    parts.health_keeper.keep().await.unwrap();
    assert_eq!(ended(&parts).await, 13);
    fail(&parts, 5).await;
    // What a node has not reported is lost with it; what it has is known to the next one.
    drop(parts);
    let next = EngineBuilder::new(store).parts().unwrap();
    assert_eq!(ended(&next).await, 13);
}

/// HTTP jobs of a tenant, as a node or a worker has ended them.
async fn end_calls(parts: &Parts, tenant: &str, outcome: &Outcome, is_reported: bool) {
    let payload = format!(r#"{{"url": "{}/orders"}}"#, partner());
    let payload = Payload::from_json(&payload).unwrap();
    let jobs = (0..30).map(|_| JobRequest::new("http", payload.clone()).tenant(tenant));
    parts.client.enqueue_all(jobs).await.unwrap();
    let request = ClaimRequest {
        tenant: Some(Tenant::new(tenant).unwrap()),
        ..ClaimRequest::new(WorkerName::new("w").unwrap(), 30)
    };
    let claims = parts.store.claim(request).await.unwrap().claims;
    assert_eq!(claims.len(), 30);
    let end = |claim: Claim| {
        let ended = claim.end(outcome.clone(), parts.store.now());
        match is_reported {
            true => parts.settler.reported(ended),
            false => parts.settler.pending(ended),
        }
    };
    let mut batch: Vec<_> = claims.into_iter().map(end).collect();
    parts.settler.settle(&mut batch).await.unwrap();
    parts.health_keeper.keep().await.unwrap();
}

/// Whether jobs of a tenant are kept from starting, HTTP jobs and others.
async fn are_kept(parts: &Parts, tenant: &str) -> [bool; 2] {
    let gates = parts.gates.refresh_all().await.unwrap();
    ["http", "call"].map(|kind| {
        let gates = gates.applying_to(&FlowKey {
            tenant: Tenant::new(tenant).unwrap(),
            queue: Queue::default(),
            kind: Kind::new(kind).unwrap(),
            destination: Some(partner()),
            concurrency_key: None,
        });
        let rooms = gates.iter().map(|gate| {
            let room = gate
                .limits
                .room(&GateState::default(), false, parts.store.now());
            matches!(room, Room::Closed(_))
        });
        rooms.max().unwrap_or(false)
    })
}

fn holding_parts(clock: &ManualClock) -> Parts {
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let mut defaults = GateDefaults::default();
    defaults.destination.hold = Some(HoldMode::Auto);
    EngineBuilder::new(store)
        .config(EngineConfig::default().with_gate_defaults(defaults))
        .parts()
        .unwrap()
}

#[tokio::test]
async fn what_workers_report_holds_a_destination_for_their_own_tenant_only() {
    let clock = ManualClock::default();
    let parts = holding_parts(&clock);
    end_calls(&parts, "loud", &refused(), true).await;
    assert_eq!(are_kept(&parts, "loud").await, [true; 2]);
    assert_eq!(are_kept(&parts, "other").await, [false; 2]);
    let known = parts.client.destination(&partner(), None).await.unwrap();
    assert_eq!(known.tenant, Tenant::new("loud").ok());
    clock.advance(HEALTH_REPORT_EVERY);
    let wait = Failure::http(429, "wait").with_retry_after(Duration::from_secs(60));
    let limited = Outcome::Failure {
        failure: wait,
        output: None,
    };
    end_calls(&parts, "limited", &limited, true).await;
    assert_eq!(are_kept(&parts, "limited").await, [true; 2]);
    assert_eq!(are_kept(&parts, "other").await, [false; 2]);
    // The destination itself has sent it to a node, and then to another tenant as well.
    clock.advance(HEALTH_REPORT_EVERY);
    end_calls(&parts, "third", &limited, false).await;
    assert_eq!(are_kept(&parts, "third").await, [true; 2]);
    assert_eq!(are_kept(&parts, "other").await, [false; 2]);
    clock.advance(HEALTH_REPORT_EVERY);
    end_calls(&parts, "fourth", &limited, false).await;
    assert_eq!(are_kept(&parts, "other").await, [true; 2]);
}

#[tokio::test]
async fn calls_that_fail_for_one_tenant_hold_its_jobs_and_those_of_several_hold_all_calls() {
    let clock = ManualClock::default();
    let parts = holding_parts(&clock);
    end_calls(&parts, "first", &refused(), false).await;
    assert_eq!(are_kept(&parts, "first").await, [true; 2]);
    assert_eq!(are_kept(&parts, "third").await, [false; 2]);
    clock.advance(HEALTH_REPORT_EVERY);
    end_calls(&parts, "second", &refused(), false).await;
    assert_eq!(are_kept(&parts, "third").await, [true, false]);
    let known = parts.client.destination(&partner(), None).await.unwrap();
    assert_eq!(known.tenant, None);
    let release = parts.client.release_destination(&partner(), None).await;
    assert_eq!(release.unwrap().status, HealthStatus::Ramping);
    assert_eq!(are_kept(&parts, "first").await, [false; 2]);
}

#[tokio::test]
async fn one_tenant_with_very_many_destinations_does_not_keep_others_from_being_watched() {
    let tallies = HealthTallies::default();
    let gates = Gates::default();
    let now = Timestamp::from_millis(1_767_225_600_000);
    let add = |tenant: &str, number: usize| {
        let id = JobId::new(now, u64::try_from(number).unwrap());
        let policy = Arc::new(Preset::Http.policy());
        let kind = Kind::new("call").unwrap();
        let mut job = NewJob::new(id, kind, Payload::default(), policy);
        job.tenant = Tenant::new(tenant).unwrap();
        let host = format!("https://{tenant}-{number}.example.com");
        job.destination = Some(Destination::new(&host).unwrap());
        let worker = WorkerName::new("w").unwrap();
        let claim = job.into_job(now).claim(worker, None, now);
        tallies.add(&claim.end(refused(), now), false, false, &gates);
    };
    for number in 0..TALLIES_PER_TENANT_MAX + 10 {
        add("loud", number);
    }
    add("small", 0);
    let mut destinations = std::collections::HashSet::new();
    for round in 0..2 * TALLIES_PER_TENANT_MAX as u64 / 100 {
        let now = now.plus(HEALTH_REPORT_EVERY * u32::try_from(round).unwrap());
        for unsaved in tallies.reports("n", &gates, now) {
            tallies.saved(&unsaved.subject);
            destinations.insert(unsaved.subject);
        }
    }
    assert_eq!(destinations.len(), TALLIES_PER_TENANT_MAX + 1);
}
