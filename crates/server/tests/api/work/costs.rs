//! Jobs that cost units, and attempts that report what they used.

use serde_json::{Value, json};

use crate::server::{Server, id_of};

const GATE: &str = "/api/v1/gates/kind/chat";

#[tokio::test]
async fn a_job_waits_until_its_cost_is_free_and_reports_what_it_used() {
    let server = Server::start().await;
    let http = &server.http;
    let rates = json!([{"limit": 1000, "per": "1m", "unit": "tokens"}, {"limit": 9, "per": "1h"}]);
    let gate = http.put(GATE, json!({"rates": rates})).await.is(200);
    let expected = json!([
        {"limit": 1000, "per": "1m", "unit": "tokens"},
        {"limit": 9, "per": "1h", "unit": "starts"}
    ]);
    assert_eq!(gate["rates"], expected);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let body = json!({"kind": "chat", "cost": {"tokens": 800, "usd": 0.02}});
        let job = http.post("/api/v1/jobs", body).await.is(201);
        assert_eq!(job["cost"], json!({"tokens": 800.0, "usd": 0.02}));
        ids.push(id_of(&job));
    }
    let claim = async || {
        let body = json!({"worker": "w1", "kinds": ["chat"], "limit": 10});
        let list = http.post("/api/v1/claims", body).await.is(200);
        list["claims"].as_array().unwrap().clone()
    };
    let first = claim().await;
    assert_eq!(first.len(), 1);
    let path = format!("/api/v1/jobs/{}/explain", ids[1]);
    let explained = http.get(&path).await.is(200);
    let blocker = &explained["blockers"][0];
    assert_eq!(blocker["kind"], "usage");
    let sentence = blocker["sentence"].as_str().unwrap();
    let expected = "Kind chat waits for 800 tokens; 200 of 1,000 tokens per 1m free; enough at ";
    assert!(sentence.starts_with(expected), "{sentence}");
    let settled = json!({"settlements": [{
        "id": first[0]["id"], "fence": first[0]["fence"], "outcome": "fail",
        "usage": {"tokens": 150, "images": 2}
    }]});
    let settled = http.post("/api/v1/claims/settle", settled).await.is(200);
    assert_eq!(settled["settled"][0]["ok"], true, "{settled}");
    assert_eq!(claim().await.len(), 1);
    let path = format!("/api/v1/jobs/{}/attempts", ids[0]);
    let attempts = http.get(&path).await.is(200);
    assert_eq!(
        attempts["attempts"][0]["usage"],
        json!({"tokens": 150.0, "images": 2.0})
    );
    // An editor that removes them leaves a gate without limits.
    let gate = http.patch(GATE, json!({"rates": null})).await.is(200);
    assert_eq!(gate["rates"], Value::Null);
}

#[tokio::test]
async fn what_is_no_cost_rate_or_usage_is_refused_with_its_field() {
    let server = Server::start().await;
    let http = &server.http;
    let job = |cost: Value| json!({"kind": "chat", "cost": cost});
    let usage =
        |from: &str| json!({"http": {"url": "https://example.com", "usage": {"tokens": from}}});
    for (body, field, says) in [
        (
            job(json!({"tokens": -1})),
            "cost.tokens",
            "must be between 0 and 1000000000",
        ),
        (
            job(json!({"tokens": 1e12})),
            "cost.tokens",
            "must be between 0 and 1000000000",
        ),
        (
            job(json!({"starts": 1})),
            "cost.starts",
            "each attempt is one start",
        ),
        (
            job(json!({"US dollars": 1})),
            "cost.unit",
            "must have 1 to 16 lower-case letters",
        ),
        (
            usage("total tokens"),
            "http.usage.tokens",
            "must be a JSON pointer",
        ),
    ] {
        let refused = http.post("/api/v1/jobs", body).await;
        refused.is_problem(422, "invalid", Some(field));
        let detail = refused.is(422);
        assert!(
            detail["detail"].as_str().unwrap().contains(says),
            "{detail}"
        );
    }
    let rate =
        |limit: i64, per: &str, unit: &str| json!({"limit": limit, "per": per, "unit": unit});
    let many: Vec<Value> = (1..=5)
        .map(|limit| rate(limit, "1s", &format!("u{limit}")))
        .collect();
    let twice = [rate(1, "1s", "tokens"), rate(2, "1s", "tokens")];
    for (rates, field, says) in [
        (
            json!([rate(0, "1s", "tokens")]),
            "rates[0].limit",
            "must be between 1",
        ),
        (json!([rate(1, "2d", "tokens")]), "rates[0].per", "1d"),
        (
            json!(twice),
            "rates[1]",
            "must differ from the rates before it",
        ),
        (json!(many), "rates", "must have at most 4 rates"),
    ] {
        let refused = http.put(GATE, json!({"rates": rates})).await;
        refused.is_problem(422, "invalid", Some(field));
        let detail = refused.is(422);
        assert!(
            detail["detail"].as_str().unwrap().contains(says),
            "{detail}"
        );
    }
    let job = http.post("/api/v1/jobs", job(json!({}))).await.is(201);
    let body = json!({"worker": "w1", "kinds": ["chat"]});
    let claims = http.post("/api/v1/claims", body).await.is(200);
    let path = format!("/api/v1/claims/{}/succeed", id_of(&job));
    let bad = json!({"fence": claims["claims"][0]["fence"], "usage": {"tokens": -2}});
    http.post(&path, bad)
        .await
        .is_problem(422, "invalid", Some("usage.tokens"));
}
