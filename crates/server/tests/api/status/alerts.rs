//! A delivery that fails three times is a dead letter, which fires an alert, which resolves.

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_core::{AlertSettings, DlqAlert};

use crate::{
    client::Http,
    server::{Server, Setup, each, id_of, millis, until},
    target::{Target, says},
};

/// Alerts after a second in the place of five minutes.
fn quick() -> Setup {
    Setup {
        config: Setup::default()
            .config
            .with_watch_every(Duration::from_millis(200))
            .with_alerts(AlertSettings {
                dlq: DlqAlert {
                    after: Duration::from_secs(1),
                    ..DlqAlert::default()
                },
                ..AlertSettings::default()
            }),
        ..Setup::default()
    }
}

async fn alert(http: &Http, rule: &str, subject: &str, status: &str) -> Value {
    until(&format!("{rule} of {subject} to be {status}"), || async {
        let alerts = http.get("/api/v1/alerts").await.is(200);
        let mut alerts = alerts["alerts"].as_array().unwrap().clone().into_iter();
        alerts.find(|it| it["rule"] == rule && it["subject"] == subject && it["status"] == status)
    })
    .await
}

#[tokio::test]
async fn a_webhook_is_tried_four_times_then_a_dead_letter_then_an_alert_until_it_is_requeued() {
    let server = Server::with(quick()).await;
    let work = Target::always(200).await;
    let hook = Target::failing(4).await;
    // The delays of the preset, a thousand times shorter.
    let retry = json!({"preset": "webhook", "delays": ["30ms", "60ms", "120ms"]});
    let body = json!({"api": work.url(), "webhook": {"url": hook.url(), "retry": retry}});
    server.http.create_id(body).await;
    let letter = until("the delivery to be a dead letter", || async {
        let letters = server.http.get("/api/v1/dlq?kind=webhook").await.is(200);
        letters["jobs"].get(0).cloned()
    })
    .await;
    let id = id_of(&letter);
    assert_eq!(letter["reason"], "exhausted");
    let attempts = server.http.attempts(&id).await;
    let waited: Vec<i64> = attempts[..3]
        .iter()
        .map(|it| millis(&it["finishedAt"], &it["nextRunAt"]))
        .collect();
    assert_eq!(waited, [30, 60, 120]);
    assert_eq!(attempts.len(), 4);

    let fired = alert(&server.http, "dlq", "deliveries", "firing").await;
    assert!(millis(&fired["since"], &fired["firedAt"]) >= 1_000);
    let body = json!({"ids": [id]});
    let done = server.http.post("/api/v1/dlq/requeue", body).await.is(200);
    assert_eq!(done["count"], 1);
    server.http.wait_for_label(&id, "succeeded").await;
    assert_eq!(hook.seen().len(), 5);
    let resolved = alert(&server.http, "dlq", "deliveries", "ok").await;
    assert!(resolved["resolvedAt"].is_string());
}

#[tokio::test]
async fn alerts_are_delivered_to_subscribed_endpoints_also_in_slack_format() {
    let server = Server::with(quick()).await;
    let work = Target::start(|number| says(if number == 0 { 404 } else { 200 })).await;
    let (plain, slack) = (Target::always(200).await, Target::always(200).await);
    for (target, format) in [(&plain, "standard"), (&slack, "slack")] {
        let body = json!({
            "url": target.url(), "format": format,
            "events": ["alert.fired", "alert.resolved"]
        });
        server.http.post("/api/v1/endpoints", body).await.is(201);
    }
    let id = server.http.create_id(json!({"api": work.url()})).await;
    server.http.wait_for_label(&id, "failed").await;
    alert(&server.http, "dlq", "jobs", "firing").await;
    let metrics = server.http.get("/metrics").await;
    let firing = r#"steadfast_alert_firing{tenant="default",rule="dlq",subject="jobs"} 1"#;
    assert!(metrics.body.contains(firing), "{}", metrics.body);
    server.http.command("jobs", &id, "retry").await.is(200);
    server.http.wait_for_label(&id, "succeeded").await;
    alert(&server.http, "dlq", "jobs", "ok").await;

    let deliveries = |target: Target| async move {
        until("both alerts to be delivered", || async {
            let seen = target.seen();
            let of_dlq = seen.into_iter().filter(|it| it.body.contains("dead"));
            let bodies: Vec<Value> = of_dlq.map(|it| it.json()).collect();
            (bodies.len() >= 2).then_some(bodies)
        })
        .await
    };
    let events = deliveries(plain).await;
    assert_eq!(each(&events, "type"), ["alert.fired", "alert.resolved"]);
    assert_eq!(events[0]["data"]["rule"], "dlq");
    assert_eq!(events[0]["data"]["tenant"], "default");
    let lines = deliveries(slack).await;
    for line in lines {
        let fields: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["id", "text"]);
        assert!(!line["text"].as_str().unwrap().contains('\n'));
    }
}
