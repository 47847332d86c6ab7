//! The deliveries of alerts: to which endpoints they go, what they carry, and what follows if they fail.

use steadfast_core::{
    AlertSubject, CommitResult, EventType, Failure, FailureClass, Kind, Outcome, Queue, Tenant,
};
use steadfast_store::Store;

use super::{
    ALERTS, Body, Fixture, MINUTE, dead_letter, deliveries, dlq_at_once, endpoint, events,
    firing_at_once,
};
use crate::common::{claim, settle};

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
