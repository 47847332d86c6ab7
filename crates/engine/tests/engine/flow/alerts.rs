//! Alerts from the first dead letter to the delivery, on a clock that the test moves.

mod deliveries;
mod rules;
mod state;

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use steadfast_core::{
    AlertRule, AlertSettings, AlertState, AlertStatus, Endpoint, EndpointId, EndpointSecret,
    EventType, Job, JobId, Kind, Preset, Tenant, WebhookSecret,
};
use steadfast_engine::{
    Client, Context, Engine, EngineConfig, JobError, JobKind as _, testing::TestEngine,
};
use steadfast_store::{JobFilter, JobPageRequest, ManualClock, MemoryStore, Store};

use crate::common::{Calls, DEADLINE, Flaky, fails, flaky};

const MINUTE: Duration = Duration::from_secs(60);
const ALERTS: &[EventType] = &[
    EventType::AlertFired,
    EventType::AlertRenotified,
    EventType::AlertResolved,
];

/// A store and its clock, on which engines come and go.
pub struct Fixture {
    store: Arc<MemoryStore>,
    clock: ManualClock,
}

impl Fixture {
    pub fn new() -> Self {
        let clock = ManualClock::default();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        Self { store, clock }
    }

    pub fn engine(&self, alerts: AlertSettings) -> TestEngine {
        engine_on(self.store.clone(), self.clock.clone(), alerts)
    }

    /// Moves the clock and checks the rules; returns how many alerts changed.
    pub async fn watch_after(&self, engine: &TestEngine, time: Duration) -> usize {
        self.clock.advance(time);
        engine.watch().await.unwrap()
    }
}

/// A store with an engine whose dead letters fire at once, with a client and an endpoint of
/// tenant acme that wants all alerts.
async fn firing_at_once() -> (Fixture, TestEngine, Client) {
    let fixture = Fixture::new();
    let engine = fixture.engine(dlq_at_once());
    let client = engine.client();
    endpoint(&client, "acme", 1, ALERTS).await;
    (fixture, engine, client)
}

fn engine_on(store: Arc<dyn Store>, clock: ManualClock, alerts: AlertSettings) -> TestEngine {
    let config = EngineConfig::default().with_alerts(alerts);
    TestEngine::on(store, clock, |builder| {
        builder
            .state(Calls::default())
            .handler(flaky)
            .config(config)
    })
    .unwrap()
}

/// Only dead letters fire, without waiting.
fn dlq_at_once() -> AlertSettings {
    let mut settings = only(AlertRule::Dlq);
    settings.dlq.after = Duration::ZERO;
    settings
}

/// Only one rule, so that the others do not fire in between.
pub fn only(rule: AlertRule) -> AlertSettings {
    let mut settings = AlertSettings::default();
    settings.dlq.enabled = rule == AlertRule::Dlq;
    settings.retry_rate.enabled = rule == AlertRule::RetryRate;
    settings.retry_rate.min_attempts = 1;
    settings.retry_rate.after = Duration::ZERO;
    settings.exhausted.enabled = rule == AlertRule::Exhausted;
    settings.overdue.enabled = rule == AlertRule::Overdue;
    settings.destination.enabled = rule == AlertRule::Destination;
    settings.new_failure.enabled = rule == AlertRule::NewFailure;
    settings.regressed.enabled = rule == AlertRule::Regressed;
    settings.storm.enabled = rule == AlertRule::Storm;
    settings.certificate.enabled = rule == AlertRule::Certificate;
    settings.fragile.enabled = rule == AlertRule::Fragile;
    settings.corrected.enabled = rule == AlertRule::Corrected;
    settings.store_slow.enabled = rule == AlertRule::StoreSlow;
    settings
}

async fn endpoint(client: &Client, tenant: &str, number: u128, events: &[EventType]) {
    let (id, tenant) = (EndpointId::from_bits(number), Tenant::new(tenant).unwrap());
    let endpoint = Endpoint {
        events: events.to_vec(),
        secrets: vec![EndpointSecret {
            secret: WebhookSecret::new("whsec_c2VjcmV0"),
            expires_at: None,
        }],
        ..Endpoint::new(id, tenant, "https://example.com/hook", client.now())
    };
    client.create_endpoint(endpoint).await.unwrap();
}

/// A job of this tenant that has failed for good.
async fn dead_letter(engine: &TestEngine, tenant: &str) -> JobId {
    let job = fails(99).job().tenant(tenant).retry(Preset::Once);
    let id = engine.client().enqueue(job).await.unwrap();
    engine.run_due().await.unwrap();
    id
}

async fn deliveries(client: &Client) -> Vec<Job> {
    let filter = JobFilter {
        kind: Some(Kind::webhook()),
        ..JobFilter::default()
    };
    let mut listed = client
        .jobs(filter, JobPageRequest::first(99))
        .await
        .unwrap();
    listed.items.reverse();
    // A list has no payloads.
    let ids = listed.items.iter().map(|job| job.id).collect();
    let jobs = client.jobs_of(ids).await.unwrap();
    jobs.into_iter().flatten().collect()
}

#[derive(Deserialize)]
struct Body {
    r#type: EventType,
    data: AlertState,
}

/// The events that wait to be delivered, oldest first, as lines.
async fn events(client: &Client) -> Vec<String> {
    let deliveries = deliveries(client).await;
    let lines = deliveries.iter().map(|job| {
        let Body { r#type, data } = job.payload.decode().unwrap();
        format!("{type} {} of {}", data.rule, job.tenant)
    });
    lines.collect()
}

pub async fn status(client: &Client, rule: AlertRule) -> Option<AlertStatus> {
    let alerts = client.alerts(None).await.unwrap();
    let found = alerts.iter().find(|alert| alert.rule == rule);
    found.map(|alert| alert.status)
}

#[tokio::test]
async fn dead_letters_fire_after_five_minutes_remind_after_an_hour_and_resolve_when_requeued() {
    let fixture = Fixture::new();
    let engine = fixture.engine(only(AlertRule::Dlq));
    let client = engine.client();
    endpoint(&client, "acme", 1, ALERTS).await;
    let id = dead_letter(&engine, "acme").await;

    assert_eq!(engine.watch().await.unwrap(), 1);
    assert_eq!(
        status(&client, AlertRule::Dlq).await,
        Some(AlertStatus::Pending)
    );
    assert_eq!(fixture.watch_after(&engine, 4 * MINUTE).await, 0);
    assert_eq!(fixture.watch_after(&engine, MINUTE).await, 1);
    assert_eq!(engine.watch().await.unwrap(), 0);
    assert_eq!(events(&client).await, ["alert.fired dlq of acme"]);

    assert_eq!(fixture.watch_after(&engine, 59 * MINUTE).await, 0);
    assert_eq!(fixture.watch_after(&engine, MINUTE).await, 1);

    client.retry(id).await.unwrap();
    assert_eq!(engine.watch().await.unwrap(), 1);
    assert_eq!(engine.watch().await.unwrap(), 0);
    assert_eq!(
        events(&client).await,
        [
            "alert.fired dlq of acme",
            "alert.renotified dlq of acme",
            "alert.resolved dlq of acme"
        ]
    );
    let alerts = client.alerts(None).await.unwrap();
    assert_eq!(alerts[0].status, AlertStatus::Ok);
    assert_eq!(alerts[0].resolved_at, Some(engine.now()));
}

#[tokio::test]
async fn discarding_the_last_dead_letter_resolves() {
    let fixture = Fixture::new();
    let engine = fixture.engine(only(AlertRule::Dlq));
    let client = engine.client();
    let id = dead_letter(&engine, "acme").await;
    engine.watch().await.unwrap();
    fixture.watch_after(&engine, 5 * MINUTE).await;
    assert_eq!(
        status(&client, AlertRule::Dlq).await,
        Some(AlertStatus::Firing)
    );
    client.discard(id).await.unwrap();
    engine.watch().await.unwrap();
    assert_eq!(status(&client, AlertRule::Dlq).await, Some(AlertStatus::Ok));
    // It is kept for a while, and deleted then.
    let week = 7 * 24 * 60 * MINUTE;
    fixture.watch_after(&engine, week).await;
    assert_eq!(status(&client, AlertRule::Dlq).await, Some(AlertStatus::Ok));
    fixture.watch_after(&engine, MINUTE).await;
    assert_eq!(status(&client, AlertRule::Dlq).await, None);
}

#[tokio::test]
async fn a_tenant_has_its_own_alerts_and_not_those_of_names_that_begin_like_its_own() {
    let fixture = Fixture::new();
    let engine = fixture.engine(dlq_at_once());
    let tenants = ["acme", "acme/eu", "acme2"];
    for tenant in tenants {
        dead_letter(&engine, tenant).await;
    }
    engine.watch().await.unwrap();
    for tenant in tenants {
        let tenant = Tenant::new(tenant).unwrap();
        let alerts = engine.client().alerts(Some(&tenant)).await.unwrap();
        assert!(matches!(&alerts[..], [alert] if alert.tenant == tenant));
    }
}

#[tokio::test]
async fn an_engine_with_settings_that_make_no_sense_does_not_start() {
    let mut config = EngineConfig::default();
    config.alerts.window = Duration::ZERO;
    let builder = Engine::builder(MemoryStore::default()).config(config);
    let error = builder.start().err().unwrap();
    assert_eq!(error.field, "alerts.window");
}

#[tokio::test]
async fn a_running_engine_watches_by_itself() {
    async fn refuse(_: Flaky, _: Context) -> Result<(), JobError> {
        Err(JobError::failure("validation", "no"))
    }
    let config = EngineConfig::default()
        .with_watch_every(Duration::from_millis(10))
        .with_alerts(dlq_at_once());
    let builder = Engine::builder(MemoryStore::default()).handler(refuse);
    let engine = builder.config(config).start().unwrap();
    let client = engine.client();
    let id = client.enqueue(fails(0)).await.unwrap();
    engine.finished(id).await.unwrap();
    let fires = async {
        while status(&client, AlertRule::Dlq).await != Some(AlertStatus::Firing) {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(DEADLINE, fires).await;
    waited.expect("the alert did not fire in time");
    engine.stop().await;
}
