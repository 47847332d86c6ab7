//! Jobs that run after others.

use serde_json::{Value, json};

use crate::{
    client::Http,
    server::{Server, Setup, id_of},
};

async fn after(http: &Http, ids: &[&str], on_failure: &str) -> String {
    let body = json!({"kind": "second", "after": ids, "onFailure": on_failure});
    http.create_id(body).await
}

async fn read(http: &Http, id: &str) -> Value {
    http.get(&format!("/api/v1/jobs/{id}")).await.is(200)
}

/// Moves the clock, and so lets the node catch up.
async fn advance(http: &Http) {
    let body = json!({"by": "1s"});
    http.post("/api/v1/test/advance", body).await.is(200);
}

async fn manual() -> Server {
    Server::with(Setup {
        manual_clock: true,
        ..Setup::default()
    })
    .await
}

#[tokio::test]
async fn a_job_after_another_says_what_it_waits_for_and_starts_then() {
    let server = manual().await;
    let http = &server.http;
    let first = http.create_id(json!({"kind": "first"})).await;
    advance(http).await;
    let body = json!({"kind": "second", "after": [first], "onFailure": "wait"});
    let created = http.post("/api/v1/jobs", body).await.is(201);
    let second = id_of(&created);
    let body = read(http, &second).await;
    for field in ["label", "runAt"] {
        assert_eq!(created[field], body[field], "{field}");
    }
    assert_eq!(body["label"], "scheduled");
    assert_eq!(body["after"], json!([{"id": first, "state": "unfinished"}]));
    assert_eq!(body["onFailure"], "wait");
    assert_eq!(body["runAt"], body["createdAt"]);
    assert_eq!(body["waitingFor"][0]["kind"], "runs_after");
    assert_eq!(read(http, &first).await["dependants"], 1);
    let why = http.get(&format!("/api/v1/jobs/{second}/explain")).await;
    let why = why.is(200);
    assert_eq!(why["claimable"], false);
    assert_eq!(why["blockers"][0]["jobs"], json!([first]));
    let listed = http.get("/api/v1/jobs?kind=second").await.is(200);
    assert_eq!(listed["jobs"][0]["waitingFor"][0]["kind"], "runs_after");
    let run_now = http
        .post(&format!("/api/v1/jobs/{second}/run-now"), json!({}))
        .await;
    run_now.is_problem(409, "refused", None);

    assert_eq!(http.claim("second", "0s").await.len(), 0);
    let claim = &http.claim("first", "20s").await[0];
    http.report(claim, "succeed", json!({})).await.is(200);
    advance(http).await;
    let released = read(http, &second).await;
    assert_eq!(released["label"], "ready");
    assert_eq!(released["after"][0]["state"], "succeeded");
    assert_eq!(http.claim("second", "20s").await.len(), 1);
}

#[tokio::test]
async fn a_job_follows_its_on_failure_rule_when_a_prerequisite_fails() {
    let server = manual().await;
    let http = &server.http;
    let first = http.create_id(json!({"kind": "first"})).await;
    let waits = after(http, &[&first], "wait").await;
    let fails = after(http, &[&first], "fail").await;
    let runs = after(http, &[&first], "run").await;
    let claim = &http.claim("first", "20s").await[0];
    let failure = json!({"failure": {"class": "forbidden", "message": "no"}});
    http.report(claim, "fail", failure).await.is(200);
    advance(http).await;
    assert_eq!(read(http, &waits).await["label"], "scheduled");
    let failed = read(http, &fails).await;
    assert_eq!(failed["reason"], "prerequisite_failed");
    assert_eq!(read(http, &runs).await["label"], "ready");
    let retry = http
        .post(&format!("/api/v1/jobs/{fails}/retry"), json!({}))
        .await;
    retry.is_problem(409, "refused", None);
    let detail = retry.json()["detail"].to_string();
    assert!(detail.contains("requeue that job first"), "{detail}");
}

#[tokio::test]
async fn a_job_of_another_tenant_is_not_found() {
    let server = Server::start().await;
    let http = &server.http;
    let foreign = http
        .create_id(json!({"kind": "first", "tenant": "acme"}))
        .await;
    let body = json!({"kind": "second", "after": [foreign]});
    let refused = http.post("/api/v1/jobs", body).await;
    refused.is_problem(422, "unknown_job", Some("after"));
}

/// Claims the only due job of a kind, and reports its success.
async fn run(http: &Http, kind: &str, result: Value) -> Value {
    let claims = http.claim(kind, "0s").await;
    assert_eq!(claims.len(), 1, "{kind}");
    let body = json!({"result": result});
    http.report(&claims[0], "succeed", body).await.is(200);
    claims[0].clone()
}

#[tokio::test]
async fn jobs_of_one_list_run_after_each_other_and_read_their_results() {
    let server = manual().await;
    let http = &server.http;
    let list = json!({"jobs": [
        {"kind": "charge", "ref": "charge", "idempotencyKey": "c1"},
        {"kind": "pack", "ref": "pack"},
        {"kind": "ship", "ref": "ship", "after": ["ref:charge", "ref:pack"], "idempotencyKey": "s1"},
        {"kind": "thank", "after": ["ref:ship"]},
    ]});
    let created = http.post("/api/v1/jobs", list).await.is(201);
    let ids: Vec<String> = (0..4).map(|index| id_of(&created["jobs"][index])).collect();
    assert_eq!(http.claim("ship", "0s").await.len(), 0);
    run(http, "charge", json!({"receipt": 17})).await;
    run(http, "pack", json!(null)).await;
    advance(http).await;
    let ship = http.claim("ship", "0s").await[0].clone();
    let path = format!("/api/v1/claims/{}/prerequisites?fence=1", ids[2]);
    let found = http.get(&path).await.is(200);
    let of =
        |index: usize, kind: &str| json!({"id": ids[index], "state": "succeeded", "kind": kind});
    let mut charge = of(0, "charge");
    charge["result"] = json!({"receipt": 17});
    let pack = of(1, "pack");
    let expected = json!({"prerequisites": [charge, pack], "nextCursor": null});
    assert_eq!(found, expected);
    let page = http.get(&format!("{path}&limit=1")).await.is(200);
    assert_eq!(page["prerequisites"][0]["id"], ids[0]);
    let cursor = page["nextCursor"].as_str().unwrap();
    let page = http.get(&format!("{path}&limit=1&after={cursor}")).await;
    assert_eq!(page.is(200)["prerequisites"][0]["id"], ids[1]);
    let stale = format!("/api/v1/claims/{}/prerequisites?fence=7", ids[2]);
    http.get(&stale)
        .await
        .is_problem(409, "stale_fence", Some("fence"));
    http.get(&format!("{path}&limit=101"))
        .await
        .is_problem(422, "invalid", Some("limit"));
    http.report(&ship, "succeed", json!({})).await.is(200);
    advance(http).await;
    run(http, "thank", json!(1)).await;
}

#[tokio::test]
async fn a_list_with_references_can_be_repeated() {
    let server = manual().await;
    let http = &server.http;
    let list = |more: Value| {
        let mut jobs = vec![
            json!({"kind": "first", "ref": "a", "idempotencyKey": "a"}),
            json!({"kind": "second", "after": ["ref:a"], "idempotencyKey": "b"}),
        ];
        jobs.extend(more.as_array().cloned().unwrap_or_default());
        json!({"jobs": jobs})
    };
    let first = http.post("/api/v1/jobs", list(json!([]))).await.is(201);
    let again = http.post("/api/v1/jobs", list(json!([]))).await.is(201);
    for index in 0..2 {
        assert_eq!(id_of(&first["jobs"][index]), id_of(&again["jobs"][index]));
    }
    // A new job may refer to one that exists by its key.
    let third = json!([{"kind": "third", "after": ["ref:a"]}]);
    let more = http.post("/api/v1/jobs", list(third)).await.is(201);
    let third = read(http, &id_of(&more["jobs"][2])).await;
    assert_eq!(third["after"][0]["id"], first["jobs"][0]["id"]);
    let other = json!({"jobs": [
        {"kind": "first", "ref": "x", "idempotencyKey": "a"},
        {"kind": "second", "after": ["ref:x"], "idempotencyKey": "b"},
    ]});
    let other = http.post("/api/v1/jobs", other).await;
    other.is_problem(409, "idempotency_conflict", Some("idempotencyKey"));
}

#[tokio::test]
async fn a_reference_names_one_earlier_job_of_the_list() {
    let server = manual().await;
    let http = &server.http;
    for (jobs, field) in [
        (json!([{"kind": "k", "after": ["ref:a"]}]), "jobs[0].after"),
        (
            json!([{"kind": "k", "after": ["ref:a"]}, {"kind": "k", "ref": "a"}]),
            "jobs[0].after",
        ),
        (
            json!([{"kind": "k", "ref": "a", "after": ["ref:a"]}]),
            "jobs[0].after",
        ),
        (
            json!([{"kind": "k", "ref": "a"}, {"kind": "k", "ref": "a"}]),
            "jobs[1].ref",
        ),
        (json!([{"kind": "k", "ref": ""}]), "jobs[0].ref"),
    ] {
        let reply = http.post("/api/v1/jobs", json!({"jobs": jobs})).await;
        assert_eq!(reply.is(422)["field"], field, "{}", reply.body);
    }
    for (body, field) in [
        (json!({"kind": "k", "ref": "a"}), "ref"),
        (json!({"kind": "k", "after": ["ref:a"]}), "after"),
    ] {
        let reply = http.post("/api/v1/jobs", body).await;
        assert_eq!(reply.is(422)["field"], field, "{}", reply.body);
    }
    let listed = http.get("/api/v1/jobs").await.is(200);
    assert_eq!(listed["jobs"], json!([]));
}
