//! What is coming, and the alert about it, on a clock that the test moves.

use std::time::Duration;

use steadfast_core::{AlertRule, AlertStatus};
use steadfast_engine::JobKind as _;

use super::alerts::{Fixture, only, status};
use crate::common::fails;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_storm_fires_before_it_comes_and_is_over_when_it_was_worked_off() {
    let fixture = Fixture::new();
    let engine = fixture.engine(only(AlertRule::Storm));
    let client = engine.client();
    let soon = (0..10).map(|_| fails(0).job());
    client.enqueue_all(soon).await.unwrap();
    engine.run_due().await.unwrap();
    let later = (0..1_000).map(|_| fails(0).job().delay(90 * MINUTE));
    client.enqueue_all(later).await.unwrap();

    let forecasts = client.forecast(None, 120).await.unwrap();
    let [of] = &forecasts.queues[..] else {
        panic!("{forecasts:?}");
    };
    assert_eq!(of.forecast.minutes[90].due.round(), 1_000.0);
    assert_eq!(
        of.forecast.throughput_per_minute, None,
        "the minute goes on"
    );

    // Without an hour of history, nothing is announced.
    assert_eq!(fixture.watch_after(&engine, MINUTE).await, 0);
    assert_eq!(fixture.watch_after(&engine, 59 * MINUTE).await, 1);
    assert_eq!(
        status(&client, AlertRule::Storm).await,
        Some(AlertStatus::Pending)
    );
    fixture.watch_after(&engine, 2 * MINUTE).await;
    assert_eq!(
        status(&client, AlertRule::Storm).await,
        Some(AlertStatus::Firing)
    );
    let alert = client.alerts(None).await.unwrap().remove(0);
    let message = &alert.message;
    let expected = "will be due at once, but at most 10 per minute succeeded recently: the last of them will wait 1h 39m";
    assert!(message.contains(expected), "{message}");
    assert_eq!(alert.queue.unwrap().as_str(), "default");

    fixture.watch_after(&engine, 28 * MINUTE).await;
    engine.run_due().await.unwrap();
    fixture.watch_after(&engine, MINUTE).await;
    assert_eq!(
        status(&client, AlertRule::Storm).await,
        Some(AlertStatus::Ok)
    );
}

#[tokio::test]
async fn forecasts_are_compared_with_ended_attempts() {
    let fixture = Fixture::new();
    let engine = fixture.engine(only(AlertRule::Storm));
    let other = fixture.engine(only(AlertRule::Storm));
    let client = engine.client();
    for _ in 0..30 {
        let jobs = (0..20).map(|_| fails(0).job());
        client.enqueue_all(jobs).await.unwrap();
        engine.run_due().await.unwrap();
        fixture.watch_after(&engine, MINUTE).await;
        // A second look in the same minute, of this node or of another, changes nothing.
        engine.watch().await.unwrap();
        other.watch().await.unwrap();
    }
    let forecasts = client.forecast(None, 10).await.unwrap();
    let error = forecasts.queues[0].error.unwrap();
    assert!(error < 0.5, "{error}");
    assert_eq!(forecasts.queues[0].forecast.throughput_per_minute, Some(20));
    let tenant = steadfast_core::Tenant::new("other").unwrap();
    let others = client.forecast(Some(tenant), 10).await.unwrap();
    assert!(others.queues.is_empty(), "{others:?}");
}
