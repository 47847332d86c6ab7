//! The rules other than that of dead letters: when each fires, what it says, and when it resolves.

use std::time::Duration;

use steadfast_api::{CertificateWord, CertifyPolicyRequest};
use steadfast_core::{
    AlertRule, AlertSettings, AlertStatus, CertificateName, FailureClass, FailureMark, Payload,
    PolicyPatch, Queue, Tenant,
};
use steadfast_engine::{JobKind as _, JobRequest, testing::TestEngine};
use steadfast_store::{FailureFilter, PageRequest};

use super::{ALERTS, Fixture, MINUTE, dead_letter, endpoint, events, only, status};
use crate::common::{Flaky, fails};

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

const PARTNER: &str = "https://partner.example.com";

/// Calls of a destination that succeed, one after each pause.
async fn succeed_at(fixture: &Fixture, engine: &TestEngine, calls: u32, pause: Duration) {
    for _ in 0..calls {
        let job = fails(0).job().tenant("acme").destination(PARTNER);
        engine.client().enqueue(job).await.unwrap();
        engine.run_due().await.unwrap();
        fixture.clock.advance(pause);
    }
}

// long: one story, from a good verdict to none
#[tokio::test]
async fn a_kept_certificate_is_computed_again_with_the_traffic_of_the_day() {
    let fixture = Fixture::new();
    let engine = fixture.engine(only(AlertRule::Fragile));
    let client = engine.client();
    endpoint(&client, "acme", 1, ALERTS).await;
    let acme = Tenant::new("acme").unwrap();
    let name = CertificateName::new("payments").unwrap();
    let settings = CertifyPolicyRequest {
        destination: Some(PARTNER.to_owned()),
        capacity: Some(0.5),
        outage: Some(MINUTE.into()),
        ..CertifyPolicyRequest::default()
    };
    let kept = async || {
        let page = PageRequest {
            after: None,
            limit: 9,
        };
        client
            .certificates(None, page)
            .await
            .unwrap()
            .items
            .remove(0)
    };
    succeed_at(&fixture, &engine, 60, Duration::from_secs(6)).await;
    let first = client
        .keep_certificate(&acme, &name, settings, ())
        .await
        .unwrap();
    assert_eq!(
        first.certificate.verdict,
        CertificateWord::Recovers,
        "{first:?}"
    );
    engine.compute_certificates().await.unwrap();
    assert_eq!(engine.watch().await.unwrap(), 0);
    assert_eq!(kept().await, first, "it is not due");

    // Two days later four times as much is called.
    fixture.clock.advance(48 * 60 * MINUTE);
    succeed_at(&fixture, &engine, 240, Duration::from_millis(1_500)).await;
    engine.compute_certificates().await.unwrap();
    assert_eq!(engine.watch().await.unwrap(), 1);
    assert_eq!(
        engine.watch().await.unwrap(),
        0,
        "each change is reported once"
    );
    let message = client.alerts(None).await.unwrap().remove(0).message;
    let summary = kept().await.certificate.summary;
    assert!(
        summary.starts_with("does not recover: 134 % load without any fault"),
        "{summary}"
    );
    assert_eq!(
        message,
        format!("certificate payments: {PARTNER} {summary}")
    );

    // Without calls nothing is known, and the alert claims nothing.
    fixture.clock.advance(48 * 60 * MINUTE);
    engine.compute_certificates().await.unwrap();
    let unknown = kept().await;
    let problem = unknown.problem.unwrap();
    assert!(
        problem.contains("fewer than 50 successful calls"),
        "{problem}"
    );
    assert_eq!(unknown.certificate.summary, summary);
    assert!(unknown.computed_at < unknown.checked_at);
    engine.watch().await.unwrap();
    let events = events(&client).await;
    assert_eq!(
        events,
        [
            "alert.fired fragile of acme",
            "alert.resolved fragile of acme"
        ]
    );
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
    assert_eq!(alerts[0].fingerprint, Some(group.key.fingerprint));
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
