//! Figures for those who watch.

use serde_json::json;

use crate::{
    server::{Server, until},
    target::Target,
};

#[tokio::test]
async fn every_documented_metric_has_its_value() {
    let server = Server::start().await;
    let (good, bad) = (Target::failing(1).await, Target::always(500).await);
    let retry = json!({"baseDelay": 20, "maxRetries": 1});
    let saved = json!({"api": good.url(), "retry": retry});
    let saved = server.http.create_id(saved).await;
    let lost = json!({"api": bad.url(), "retry": retry});
    let lost = server.http.create_id(lost).await;
    server.http.wait_for_label(&saved, "succeeded").await;
    server.http.wait_for_label(&lost, "failed").await;

    let lane = r#"tenant="default",queue="default",kind="http""#;
    let figures = [
        format!("steadfast_retries_total{{{lane}}} 2"),
        format!("steadfast_retry_exhausted_total{{{lane}}} 1"),
        format!("steadfast_retry_latency_seconds_count{{{lane}}} 2"),
        format!(r#"steadfast_attempts_total{{{lane},outcome="success",class=""}} 1"#),
        format!(r#"steadfast_attempts_total{{{lane},outcome="failure",class="http"}} 3"#),
        format!("steadfast_attempt_duration_seconds_count{{{lane}}} 4"),
        format!("steadfast_start_lateness_seconds_count{{{lane}}} 4"),
        format!(r#"steadfast_jobs{{{lane},label="succeeded"}} 1"#),
        format!(r#"steadfast_jobs{{{lane},label="failed"}} 1"#),
        r#"steadfast_dlq_size{tenant="default"} 1"#.to_owned(),
        r#"steadfast_retry_rate{tenant="default"} 0.5"#.to_owned(),
        "steadfast_fence_lost_total 0".to_owned(),
    ];
    // Attempts are counted right after they are committed, not with it.
    let reply = until("all attempts to be counted", || async {
        let reply = server.http.get("/metrics").await;
        reply.body.contains(&figures[5]).then_some(reply)
    })
    .await;
    for figure in figures {
        let is_there = reply.body.lines().any(|line| line == figure);
        assert!(is_there, "{figure} is not in\n{}", reply.body);
    }
    assert!(reply.body.ends_with("# EOF\n"));
    let media = &reply.headers["content-type"];
    assert!(media.starts_with("application/openmetrics-text"), "{media}");

    let stats = server.http.get("/api/v1/stats").await.is(200);
    assert_eq!(stats["totalRetries"], 2);
    assert_eq!(stats["successfulRetries"], 1);
    assert_eq!(stats["retrySuccessRate"], 0.5);
    assert_eq!(stats["retryRate"], 0.5);
    assert_eq!(stats["total"]["attempts"], 4);
    let minutes = server.http.get("/api/v1/stats/minutes").await.is(200);
    let attempts: u64 = minutes["minutes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|minute| minute["attempts"].as_u64().unwrap())
        .sum();
    assert_eq!(attempts, 4);
}

#[tokio::test]
async fn a_node_says_that_it_is_alive_and_ready() {
    let server = Server::start().await;
    let health = server.http.get("/healthz").await.is(200);
    assert_eq!(health["status"], "ok");
    assert!(health["node"].is_string() && health["version"].is_string());
    let ready = server.http.get("/readyz").await.is(200);
    assert_eq!(ready["status"], "ok");
    assert_eq!(ready["store"]["status"], "ok");
    let roles = ready["roles"].as_array().unwrap();
    for name in [
        "committer",
        "fetcher",
        "keeper",
        "sweeper",
        "schedule runner",
    ] {
        let role = roles.iter().find(|role| role["name"] == name).unwrap();
        assert_eq!(role["status"], "ok");
        assert!(role["lastGoodRoundMs"].is_u64());
    }
}
