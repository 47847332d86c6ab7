//! News of commands: written in one step with what it tells of.

use std::sync::Arc;

use steadfast_core::{
    BodyFormat, Destination, EndpointId, EventType, Gate, GateDefaults, GateId, GateLimits,
    GateScope, Gates, Job, JobCommand, Kind, NewJob, Pause, PolicyPatch, Preset, Subscription,
    Subscriptions, Tenant, Webhook, WebhookSecret, WebhookTarget,
};

use crate::conformance::fixture::{Fixture, ids_of, secs};
use crate::{FireResult, JobFilter, PageRequest};

pub async fn a_jobs_webhook_is_kept_with_it(f: Fixture) {
    let new = with_webhook(&f, EventType::OF_JOBS);
    let id = f.enqueue_one(new.clone()).await;
    assert_eq!(f.read(id).await, new.clone().into_job(f.now()));
    let claim = f.claim_of(id).await;
    assert_eq!(claim.job().webhook, new.webhook);
}

pub async fn a_cancelled_job_tells_in_the_same_step(f: Fixture) {
    let id = f
        .enqueue_one(with_webhook(&f, &[EventType::JobCancelled]))
        .await;
    let answer = f
        .store
        .run_command(
            vec![id],
            JobCommand::Cancel,
            Arc::new(subscriptions()),
            None,
        )
        .await;
    assert!(answer.unwrap()[0].is_ok());
    let deliveries = deliveries(&f).await;
    assert_eq!(deliveries.len(), 2, "its own, and that of the endpoint");
    for delivery in deliveries {
        assert_eq!(delivery.tags["job"], id.to_string());
        assert_eq!(delivery.tags["event"], "job.cancelled");
    }
}

pub async fn a_command_that_ends_nothing_tells_nothing(f: Fixture) {
    let running = f.running(with_webhook(&f, EventType::ALL)).await;
    let waiting = f.enqueue_one(with_webhook(&f, EventType::ALL)).await;
    for (job, command) in [
        (running.id, JobCommand::Cancel),
        (waiting, JobCommand::RunNow),
        (waiting, JobCommand::Discard),
    ] {
        let answer = f
            .store
            .run_command(vec![job], command, Arc::new(subscriptions()), None);
        answer.await.unwrap();
    }
    assert!(deliveries(&f).await.is_empty());
}

pub async fn a_run_cancelled_by_its_schedule_tells(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (schedule, run) = f.fired(&schedule, tick).await;
    let mut firing = f.firing(&schedule, &[f.clock.advance(secs(60))]);
    firing.cancel = Some(run.id);
    firing.subscriptions = Arc::new(subscriptions());
    assert_eq!(
        f.store.fire_schedules(vec![firing]).await.unwrap(),
        [FireResult::Done]
    );
    let deliveries = deliveries(&f).await;
    assert_eq!(deliveries.len(), 1);
    assert_eq!(deliveries[0].tags["job"], run.id.to_string());
}

pub async fn a_command_moves_a_delivery_to_the_address_of_its_endpoint(f: Fixture) {
    let [old, new] = ["https://old.example", "https://new.example"];
    let destination = |origin: &str| Destination::new(origin).unwrap();
    let delivery = f.job_with(|job| {
        job.kind = Kind::webhook();
        job.destination = Some(destination(old));
        job.webhook = Some(Arc::new(Webhook {
            target: WebhookTarget::Endpoint { endpoint: ENDPOINT },
            events: vec![EventType::JobCancelled],
            retry: PolicyPatch::default(),
        }));
    });
    let id = f.enqueue_one(delivery).await;
    // Nothing goes to the old address.
    let paused = GateLimits {
        paused: Some(Pause {
            by: None,
            since: f.now(),
            reason: None,
            until: None,
        }),
        ..GateLimits::default()
    };
    let gate = Gate {
        id: GateId::new(None, GateScope::Destination, old).unwrap(),
        limits: paused,
    };
    f.use_gates(&Gates::new([gate], GateDefaults::default()))
        .await;
    assert!(f.claim(1).await.is_empty());
    let mut subscriptions = Subscriptions::default();
    let moved = Subscription {
        destination: Some(destination(new)),
        ..subscription()
    };
    subscriptions.subscribe(Tenant::default(), moved);
    let command = JobCommand::RunNow;
    let done = f
        .store
        .run_command(vec![id], command, Arc::new(subscriptions), None);
    let done = done.await.unwrap().remove(0).unwrap();
    assert_eq!(done.destination, Some(destination(new)));
    assert_eq!(f.read(id).await, done);
    let claims = f.claim(1).await;
    assert_eq!(ids_of(&claims), [id]);
    assert_eq!(claims[0].job().destination, Some(destination(new)));
}

fn with_webhook(f: &Fixture, events: &[EventType]) -> NewJob {
    f.job_with(|job| {
        job.webhook = Some(Arc::new(Webhook {
            target: WebhookTarget::Url {
                url: "https://example.com/hook".to_owned(),
                secret: Some(WebhookSecret::new("whsec_c2VjcmV0")),
            },
            events: events.to_vec(),
            retry: Preset::Patient.into(),
        }));
    })
}

const ENDPOINT: EndpointId = EndpointId::from_bits(7);

fn subscriptions() -> Subscriptions {
    let mut subscriptions = Subscriptions::default();
    subscriptions.subscribe(Tenant::default(), subscription());
    subscriptions
}

fn subscription() -> Subscription {
    Subscription {
        endpoint: ENDPOINT,
        destination: None,
        events: vec![EventType::JobCancelled],
        format: BodyFormat::Standard,
        retry: PolicyPatch::default(),
    }
}

async fn deliveries(f: &Fixture) -> Vec<Job> {
    let filter = JobFilter {
        kind: Some(Kind::webhook()),
        ..JobFilter::default()
    };
    f.store
        .list_jobs(filter, PageRequest::first(10))
        .await
        .unwrap()
        .items
}
