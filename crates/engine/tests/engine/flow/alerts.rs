//! Alerts from the first dead letter to the delivery, on a clock that the test moves.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use steadfast_core::{
    AlertRule, AlertSettings, AlertState, AlertStatus, AlertSubject, CommitResult, Endpoint,
    EndpointId, EndpointSecret, EventType, Failure, FailureClass, FailureMark, Job, JobId, Kind,
    Outcome, Payload, PolicyPatch, Preset, Queue, Tenant, WebhookSecret,
};
use steadfast_engine::{
    Client, Context, Engine, EngineConfig, JobError, JobKind as _, JobRequest, testing::TestEngine,
};
use steadfast_store::{
    Document, DocumentKind, DocumentStore as _, FailureFilter, JobFilter, JobPageRequest,
    ManualClock, MemoryStore, Outbox, PageRequest, Store,
};

use crate::{
    common::{Calls, DEADLINE, Flaky, claim, fails, flaky, settle},
    flaky_store::FlakyStore,
};

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
async fn a_delivery_is_a_job_of_the_tenant_that_carries_the_state_and_no_secret() {
    let (_fixture, engine, client) = firing_at_once().await;
    dead_letter(&engine, "acme").await;
    engine.watch().await.unwrap();
    let deliveries = deliveries(&client).await;
    let [delivery] = deliveries.as_slice() else {
        panic!("there should be one delivery: {deliveries:?}");
    };
    assert_eq!(delivery.queue, Queue::alerts());
    assert_eq!(delivery.tags["alert"], "dlq");
    assert_eq!(delivery.tags["event"], "alert.fired");
    let body: Body = delivery.payload.decode().unwrap();
    assert_eq!(
        body.data.message,
        "1 dead letter in queue default of tenant acme"
    );
    assert_eq!(client.alerts(None).await.unwrap(), [body.data]);
    assert!(!format!("{delivery:?}").contains("c2VjcmV0"));
}

#[tokio::test]
async fn only_endpoints_of_the_tenant_that_subscribed_to_alerts_get_them() {
    let fixture = Fixture::new();
    let engine = fixture.engine(dlq_at_once());
    let client = engine.client();
    endpoint(&client, "acme", 1, &[EventType::AlertResolved]).await;
    endpoint(&client, "acme", 2, &[EventType::JobSucceeded]).await;
    endpoint(&client, "other", 3, ALERTS).await;
    let id = dead_letter(&engine, "acme").await;
    engine.watch().await.unwrap();
    assert_eq!(events(&client).await, [""; 0]);
    client.discard(id).await.unwrap();
    engine.watch().await.unwrap();
    assert_eq!(events(&client).await, ["alert.resolved dlq of acme"]);

    let other = Tenant::new("other").unwrap();
    assert_eq!(client.alerts(Some(&other)).await.unwrap(), []);
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
async fn alerts_survive_a_restart() {
    let fixture = Fixture::new();
    let first = fixture.engine(only(AlertRule::Dlq));
    endpoint(&first.client(), "acme", 1, ALERTS).await;
    dead_letter(&first, "acme").await;
    first.watch().await.unwrap();
    drop(first);

    fixture.clock.advance(5 * MINUTE);
    let second = fixture.engine(only(AlertRule::Dlq));
    assert_eq!(second.watch().await.unwrap(), 1);
    drop(second);

    fixture.clock.advance(5 * MINUTE);
    let third = fixture.engine(only(AlertRule::Dlq));
    third.watch().await.unwrap();
    assert_eq!(events(&third.client()).await, ["alert.fired dlq of acme"]);
}

#[tokio::test]
async fn of_two_nodes_that_check_at_once_one_sends_the_alert() {
    let store = FlakyStore::default();
    let node = || {
        let clock = ManualClock::default();
        engine_on(Arc::new(store.clone()), clock, dlq_at_once())
    };
    let (one, other) = (node(), node());
    endpoint(&one.client(), "acme", 1, ALERTS).await;
    dead_letter(&one, "acme").await;
    store.let_alert_readers_meet(2);
    let (first, second) = tokio::join!(one.watch(), other.watch());
    assert_eq!(first.unwrap() + second.unwrap(), 1);
    assert_eq!(events(&one.client()).await, ["alert.fired dlq of acme"]);
}

#[tokio::test]
async fn a_notification_that_fails_for_good_is_an_alert_that_is_not_sent() {
    let (fixture, engine, client) = firing_at_once().await;
    let id = dead_letter(&engine, "acme").await;
    engine.watch().await.unwrap();
    client.discard(id).await.unwrap();
    engine.watch().await.unwrap();
    let before = events(&client).await;
    assert_eq!(before.len(), 2);

    refuse_deliveries(&*fixture.store).await;
    assert_eq!(fixture.watch_after(&engine, MINUTE).await, 1);
    assert_eq!(fixture.watch_after(&engine, 61 * MINUTE).await, 1);
    let alerts = client.alerts(None).await.unwrap();
    let found = alerts
        .iter()
        .find(|alert| alert.subject == AlertSubject::Notifications);
    assert_eq!(
        found.unwrap().message,
        "2 dead letters among the notifications of tenant acme for 1h 1m"
    );
    assert_eq!(events(&client).await, before);

    // Alerts about jobs are still sent.
    dead_letter(&engine, "acme").await;
    engine.watch().await.unwrap();
    assert_eq!(events(&client).await.len(), 3);
}

/// Every delivery that waits fails in a way that no retry can cure.
async fn refuse_deliveries(store: &dyn Store) {
    for delivery in claim(store, vec![Kind::webhook()]).await {
        let gone = Outcome::Failure {
            failure: Failure::new(FailureClass::NOT_FOUND, "gone"),
            output: None,
        };
        assert_eq!(settle(store, delivery, gone).await, CommitResult::Done);
    }
}

#[tokio::test]
async fn retries_and_exhausted_jobs_fire_within_the_window_and_resolve_after_it() {
    let fixture = Fixture::new();
    let mut settings = AlertSettings::default();
    settings.exhausted.above = 1;
    settings.retry_rate.min_attempts = 1;
    settings.retry_rate.after = Duration::ZERO;
    let engine = fixture.engine(settings);
    let client = engine.client();
    endpoint(&client, "acme", 1, ALERTS).await;
    for _ in 0..2 {
        let retry = PolicyPatch::fixed(Duration::from_secs(1)).max_retries(1);
        let job = fails(99).job().tenant("acme").retry(retry);
        client.enqueue(job).await.unwrap();
    }
    engine.run_to_end().await.unwrap();
    engine.watch().await.unwrap();
    fixture.watch_after(&engine, 7 * MINUTE).await;
    let events = events(&client).await;
    for line in [
        "alert.fired retry_rate of acme",
        "alert.fired exhausted of acme",
        "alert.resolved retry_rate of acme",
        "alert.resolved exhausted of acme",
        "alert.fired dlq of acme",
    ] {
        assert!(
            events.iter().any(|event| event == line),
            "{line}: {events:#?}"
        );
    }
    assert_eq!(events.len(), 5);
}

#[tokio::test]
async fn a_job_that_no_node_claims_is_overdue_unless_its_queue_is_paused() {
    let fixture = Fixture::new();
    let engine = fixture.engine(AlertSettings::default());
    let client = engine.client();
    let job = JobRequest::new("unheard-of", Payload::default()).tenant("acme");
    client.enqueue(job).await.unwrap();
    assert_eq!(fixture.watch_after(&engine, 5 * MINUTE).await, 0);
    fixture.watch_after(&engine, MINUTE).await;
    let alerts = client.alerts(None).await.unwrap();
    assert_eq!(alerts.len(), 1);
    assert_eq!(
        alerts[0].message,
        "the oldest ready job in queue default of tenant acme has been due for 6m, since 2026-01-01T00:00:00Z; \
         the limit is 5m"
    );
    let acme = Tenant::new("acme").unwrap();
    client.pause_queue(acme, Queue::default()).await.unwrap();
    engine.watch().await.unwrap();
    assert_eq!(
        status(&client, AlertRule::Overdue).await,
        Some(AlertStatus::Ok)
    );
}

#[tokio::test]
async fn an_alert_of_a_tenant_without_data_resolves() {
    let fixture = Fixture::new();
    let engine = fixture.engine(dlq_at_once());
    dead_letter(&engine, "acme").await;
    engine.watch().await.unwrap();
    let documents = fixture
        .store
        .list_documents(DocumentKind::Alert)
        .await
        .unwrap();
    assert_eq!(documents[0].id, "acme/jobs/dlq");

    let empty = Fixture::new();
    for document in documents {
        let new = Document {
            revision: 0,
            ..document
        };
        empty
            .store
            .save_document(new, Outbox::default())
            .await
            .unwrap();
    }
    let engine = empty.engine(AlertSettings::default());
    assert_eq!(engine.watch().await.unwrap(), 1);
    let client = engine.client();
    assert_eq!(status(&client, AlertRule::Dlq).await, Some(AlertStatus::Ok));
}

#[tokio::test]
async fn a_state_that_cannot_be_read_is_written_over() {
    let fixture = Fixture::new();
    let engine = fixture.engine(dlq_at_once());
    let broken = Document {
        kind: DocumentKind::Alert,
        id: "acme/jobs/dlq".to_owned(),
        body: Payload::default(),
        revision: 0,
    };
    fixture
        .store
        .save_document(broken, Outbox::default())
        .await
        .unwrap();
    dead_letter(&engine, "acme").await;
    assert_eq!(engine.watch().await.unwrap(), 1);
    assert_eq!(
        status(&engine.client(), AlertRule::Dlq).await,
        Some(AlertStatus::Firing)
    );
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

#[tokio::test]
async fn a_destination_that_does_not_work_fires_for_those_who_call_it_and_resolves() {
    let fixture = Fixture::new();
    let engine = fixture.engine(only(AlertRule::Destination));
    let client = engine.client();
    endpoint(&client, "acme", 1, ALERTS).await;
    endpoint(&client, "other", 2, ALERTS).await;
    let job = Flaky {
        failures: 1,
        class: FailureClass::CONNECTION.as_str().to_owned(),
    };
    let jobs = (0..25).map(|_| {
        let job = job.job().tenant("acme");
        job.destination("https://partner.example.com")
            .retry(PolicyPatch::fixed(Duration::from_secs(5)))
    });
    client.enqueue_all(jobs).await.unwrap();
    for _ in 0..2 {
        engine.run_due().await.unwrap();
        fixture.clock.advance(Duration::from_secs(2));
    }
    engine.run_due().await.unwrap();
    assert_eq!(engine.watch().await.unwrap(), 1);
    assert_eq!(
        engine.watch().await.unwrap(),
        0,
        "each change is reported once"
    );
    assert_eq!(events(&client).await, ["alert.fired destination of acme"]);
    let alerts = client.alerts(None).await.unwrap();
    assert_eq!(
        alerts[0].message,
        "https://partner.example.com is unhealthy: 100% of recent attempts failed, including attempts \
         of tenant acme; most recent: connection: failure 1"
    );
    let destination = alerts[0].destination.as_ref().unwrap();
    assert_eq!(destination.as_str(), "https://partner.example.com");
    for _ in 0..20 {
        fixture.watch_after(&engine, Duration::from_secs(10)).await;
        engine.run_due().await.unwrap();
    }
    let events = events(&client).await;
    let expected = [
        "alert.fired destination of acme",
        "alert.resolved destination of acme",
    ];
    assert_eq!(events, expected);
    let alerts = client.alerts(None).await.unwrap();
    let message = "https://partner.example.com has recovered for tenant acme";
    assert_eq!(alerts[0].message, message);
}

#[tokio::test]
async fn a_cause_of_failures_fires_when_it_is_new_and_when_it_comes_back() {
    let fixture = Fixture::new();
    let mut settings = only(AlertRule::NewFailure);
    settings.regressed.enabled = true;
    settings.new_failure.min_failures = 2;
    let engine = fixture.engine(settings);
    let client = engine.client();
    endpoint(&client, "acme", 1, ALERTS).await;
    dead_letter(&engine, "acme").await;
    assert_eq!(
        engine.watch().await.unwrap(),
        0,
        "one failure is not enough"
    );
    for _ in 0..3 {
        dead_letter(&engine, "acme").await;
    }
    assert_eq!(engine.watch().await.unwrap(), 1);
    assert_eq!(events(&client).await, ["alert.fired new_failure of acme"]);
    let filter = FailureFilter::default();
    let groups = client
        .failures(filter, PageRequest::first(9))
        .await
        .unwrap();
    let [group] = &groups.items[..] else {
        panic!("there is one cause: {groups:?}");
    };
    let alerts = client.alerts(None).await.unwrap();
    let expected = format!(
        "jobs of tenant acme fail for 1 cause that is new; most recent: {} ({})",
        group.pattern(),
        group.key.fingerprint
    );
    assert_eq!(alerts[0].message, expected);
    let mark = async |mark| {
        let marked = client.mark_failure(group.key.clone(), mark, Some("kim"));
        marked.await.unwrap().unwrap()
    };
    mark(FailureMark::Fixed).await;
    assert_eq!(engine.watch().await.unwrap(), 1, "it is resolved");
    fixture.clock.advance(MINUTE);
    dead_letter(&engine, "acme").await;
    assert_eq!(engine.watch().await.unwrap(), 1);
    mark(FailureMark::Known).await;
    assert_eq!(engine.watch().await.unwrap(), 1);
    let expected = [
        "alert.fired new_failure of acme",
        "alert.resolved new_failure of acme",
        "alert.fired regressed of acme",
        "alert.resolved regressed of acme",
    ];
    assert_eq!(events(&client).await, expected);
}
