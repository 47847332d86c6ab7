//! What is coming, over the API.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    server::{Server, until},
    target::Target,
};

fn sum(series: &Value) -> f64 {
    let minutes = series.as_array().unwrap().iter();
    minutes.map(|minute| minute.as_f64().unwrap()).sum()
}

#[tokio::test]
async fn waiting_jobs_are_forecast_by_queue_and_destination() {
    let server = Server::start().await;
    let http = &server.http;
    for delay in ["10m", "20m", "5h"] {
        http.create(json!({"kind": "mail", "queue": "images", "delay": delay}))
            .await;
    }
    let forecast = http.get("/api/v1/forecast?minutes=60").await.is(200);
    let of = &forecast["queues"][0];
    assert_eq!(of["queue"], "images", "{forecast:#}");
    assert_eq!(of["due"].as_array().unwrap().len(), 60);
    assert_eq!((sum(&of["due"]), sum(&of["backlog"])), (2.0, 0.0));
    assert_eq!(
        (&of["sustainedPerMinute"], &of["errorShare"]),
        (&Value::Null, &Value::Null)
    );
    let summary = "2 due within 1h, at most 1 per minute; the sustainable rate is unknown";
    assert_eq!(of["summary"], summary);
    assert_eq!(
        (&forecast["isCut"], &forecast["destinations"]),
        (&json!(false), &json!([]))
    );
    let whole = http.get("/api/v1/forecast?minutes=720").await.is(200);
    assert_eq!(sum(&whole["queues"][0]["due"]), 3.0);

    let busy = Target::always(503).await;
    let retry = json!({"backoff": "fixed", "baseDelay": "20m", "jitter": "none"});
    http.create(json!({"api": busy.url(), "retry": retry}))
        .await;
    let found = until("a destination with a retry to come", || async {
        let forecast = http.get("/api/v1/forecast").await.is(200);
        let found = forecast["destinations"].get(0)?.clone();
        (sum(&found["due"]) >= 1.0).then_some(found)
    })
    .await;
    let origin = found["destination"].as_str().unwrap();
    assert!(busy.url().starts_with(origin), "{found:#}");
    for minutes in ["0", "721"] {
        let path = format!("/api/v1/forecast?minutes={minutes}");
        let refused = http.get(&path).await.is(422);
        assert_eq!(refused["field"], "minutes", "{refused:#}");
    }

    let other = server.key(Scope::Read, Some("other")).await;
    let others = other.get("/api/v1/forecast").await.is(200);
    assert_eq!(
        (&others["queues"], &others["destinations"]),
        (&json!([]), &json!([]))
    );
}
