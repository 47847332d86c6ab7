//! News of commands: written in one step with what it tells of.

use std::sync::Arc;

use steadfast_core::{
    BodyFormat, Command, EndpointId, EventType, Hooks, Job, Kind, NewJob, Preset, Secret,
    Subscription, Tenant, Webhook, WebhookTarget,
};

use super::fixture::{Fixture, secs};
use crate::{Fired, JobFilter, Page};

pub async fn a_jobs_webhook_is_kept_with_it(f: Fixture) {
    let new = with_webhook(&f, EventType::OF_JOBS);
    let id = f.enqueue_one(new.clone()).await;
    assert_eq!(f.read(id).await, new.clone().stored(f.now()));
    let claim = f.claim_of(id).await;
    assert_eq!(claim.job().webhook, new.webhook);
}

pub async fn a_cancelled_job_tells_in_the_same_step(f: Fixture) {
    let id = f
        .enqueue_one(with_webhook(&f, &[EventType::JobCancelled]))
        .await;
    let answer = f
        .store
        .command(vec![id], Command::Cancel, Arc::new(hooks()))
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
        (running.id, Command::Cancel),
        (waiting, Command::RunNow),
        (waiting, Command::Discard),
    ] {
        let answer = f.store.command(vec![job], command, Arc::new(hooks()));
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
    firing.hooks = Arc::new(hooks());
    assert_eq!(f.store.fire(vec![firing]).await.unwrap(), [Fired::Done]);
    let deliveries = deliveries(&f).await;
    assert_eq!(deliveries.len(), 1);
    assert_eq!(deliveries[0].tags["job"], run.id.to_string());
}

fn with_webhook(f: &Fixture, events: &[EventType]) -> NewJob {
    f.job_with(|job| {
        job.webhook = Some(Arc::new(Webhook {
            target: WebhookTarget::Url {
                url: "https://example.com/hook".to_owned(),
                secret: Some(Secret::new("whsec_c2VjcmV0")),
            },
            events: events.to_vec(),
            retry: Preset::Patient.into(),
        }));
    })
}

fn hooks() -> Hooks {
    let mut hooks = Hooks::default();
    let subscription = Subscription {
        endpoint: EndpointId::from_bits(7),
        events: vec![EventType::JobCancelled],
        format: BodyFormat::Standard,
        policy: Arc::new(Preset::Webhook.policy()),
    };
    hooks.subscribe(Tenant::default(), subscription);
    hooks
}

async fn deliveries(f: &Fixture) -> Vec<Job> {
    let filter = JobFilter {
        kind: Some(Kind::webhook()),
        ..JobFilter::default()
    };
    f.store.list(filter, Page::first(10)).await.unwrap().items
}
