//! Jobs that are counted together.

use serde_json::{Value, json};
use steadfast_api::Scope;

use crate::{
    client::Http,
    server::{Server, Setup, each, id_of, until},
};

async fn create(http: &Http, body: Value) -> Value {
    http.post("/api/v1/batches", body).await.is(201)
}

async fn read(http: &Http, id: &str) -> Value {
    http.get(&format!("/api/v1/batches/{id}")).await.is(200)
}

/// Ends the next job of a kind, and lets the node catch up.
async fn end(http: &Http, kind: &str, verb: &str) {
    let claim = &http.claim(kind, "20s").await[0];
    let body = match verb {
        "fail" => json!({"failure": {"class": "forbidden", "message": "no"}}),
        _ => json!({}),
    };
    http.report(claim, verb, body).await.is(200);
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
async fn a_batch_counts_its_jobs_and_makes_a_job_when_all_have_ended_and_succeeded() {
    let server = manual().await;
    let http = &server.http;
    let batch = create(
        http,
        json!({
            "name": "import 7",
            "jobs": [{"kind": "good"}, {"kind": "bad", "retry": "once"}],
            "onEnd": {"kind": "summary", "payload": {"of": 7}},
            "onSuccess": {"kind": "publish"},
        }),
    )
    .await;
    let id = id_of(&batch);
    assert_eq!(batch["status"], "running");
    assert_eq!(batch["onEnd"]["created"], false);
    let jobs = batch["jobs"].as_array().unwrap();
    assert_eq!(http.read_job(jobs[0].as_str().unwrap()).await["batch"], *id);
    end(http, "good", "succeed").await;
    let half = read(http, &id).await;
    assert_eq!(half["progress"], 50);
    assert_eq!(
        (&half["total"], &half["unfinished"]),
        (&json!(2), &json!(1))
    );
    end(http, "bad", "fail").await;
    let failed = read(http, &id).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["onEnd"]["created"], true);
    assert_eq!(failed["onSuccess"]["created"], false);
    let made = http
        .get(&format!("/api/v1/jobs?tag=batch:{id}"))
        .await
        .is(200);
    let made = made["jobs"].as_array().unwrap();
    assert_eq!(each(made, "id"), [failed["onEnd"]["id"].clone()]);
    let failed = format!("/api/v1/batches/{id}/jobs?state=failed");
    let failed = http.get(&failed).await.is(200);
    assert_eq!(failed["jobs"][0]["id"], jobs[1]);

    // Requeued, it counts again, and its success is that of all.
    http.command("jobs", jobs[1].as_str().unwrap(), "retry")
        .await
        .is(200);
    end(http, "bad", "succeed").await;
    let done = read(http, &id).await;
    assert_eq!(
        (&done["status"], &done["progress"]),
        (&json!("succeeded"), &json!(100))
    );
    assert_eq!(http.claim("summary", "20s").await.len(), 1);
    assert_eq!(http.claim("publish", "20s").await.len(), 1);
    let list = http.get("/api/v1/batches").await.is(200);
    assert_eq!(list["batches"][0]["name"], "import 7");
    let none = http.get("/api/v1/batches?unfinished=true").await.is(200);
    assert_eq!(none["batches"], json!([]));
}

#[tokio::test]
async fn jobs_are_added_to_a_batch_until_it_is_closed() {
    let server = Server::start().await;
    let http = &server.http;
    let body = json!({"open": true, "idempotencyKey": "nightly"});
    let id = id_of(&create(http, body.clone()).await);
    let again = http.post("/api/v1/batches", body).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(id_of(&again.is(200)), id);
    let other = json!({"idempotencyKey": "nightly"});
    let other = http.post("/api/v1/batches", other).await;
    other.is_problem(409, "idempotency_conflict", Some("idempotencyKey"));

    let jobs = format!("/api/v1/batches/{id}/jobs");
    let two = json!({"jobs": [{"kind": "k"}, {"kind": "k", "batch": id}]});
    let added = http.post(&jobs, two.clone()).await.is(201);
    assert_eq!(added["jobs"][1]["batch"], *id);
    http.create(json!({"kind": "k", "batch": id})).await;
    assert_eq!(read(http, &id).await["total"], 3);
    let foreign = json!({"jobs": [{"kind": "k", "batch": "bat_00000000000000000000000000"}]});
    let refused = http.post(&jobs, foreign).await;
    refused.is_problem(422, "invalid", Some("jobs[0].batch"));
    http.command("batches", &id, "close").await.is(200);
    let closed = http.command("batches", &id, "close").await.is(200);
    assert_eq!(closed["status"], "running");
    let late = http.post(&jobs, two).await;
    late.is_problem(409, "batch_closed", Some("batch"));
    let detail = late.json()["detail"].to_string();
    assert!(detail.contains("create another batch"), "{detail}");
    let late = json!({"kind": "k", "batch": id});
    let late = http.post("/api/v1/jobs", late).await;
    late.is_problem(409, "batch_closed", Some("batch"));
    assert_eq!(read(http, &id).await["total"], 3);
}

#[tokio::test]
async fn jobs_are_listed_cancelled_and_requeued_by_their_batch() {
    let server = manual().await;
    let http = &server.http;
    http.create(json!({"kind": "other"})).await;
    let body = json!({
        "jobs": [{"kind": "bad", "retry": "once"}, {"kind": "later", "delay": "1h"}, {"kind": "a"}],
        "onEnd": {"kind": "summary"},
        "onSuccess": {"kind": "publish"},
    });
    let batch = create(http, body).await;
    let id = id_of(&batch);
    let list = http.get(&format!("/api/v1/jobs?batch={id}")).await.is(200);
    assert_eq!(list["jobs"].as_array().unwrap().len(), 3);
    end(http, "bad", "fail").await;
    let dead = http.get(&format!("/api/v1/dlq?batch={id}")).await.is(200);
    assert_eq!(dead["jobs"][0]["id"], batch["jobs"][0]);
    let requeue = |batch: &str| json!({"batch": batch, "dryRun": true});
    for (of, count) in [(&*id, 1), ("bat_00000000000000000000000000", 0)] {
        let counted = http.post("/api/v1/dlq/requeue", requeue(of)).await.is(200);
        assert_eq!(counted["count"], count, "{of}");
    }

    // Only those that have not ended are counted and worked on.
    let cancel = json!({"kind": "cancel", "filter": {"batch": id}});
    let operation = http.post("/api/v1/operations", cancel).await.is(201);
    assert_eq!(operation["total"], 2);
    let operation = format!("/api/v1/operations/{}", id_of(&operation));
    let done = until("the operation to end", || async {
        let operation = http.get(&operation).await.is(200);
        (operation["status"] == "done").then_some(operation)
    })
    .await;
    assert_eq!((&done["worked"], &done["changed"]), (&json!(2), &json!(2)));
    http.post("/api/v1/test/advance", json!({"by": "1s"}))
        .await
        .is(200);
    let ended = read(http, &id).await;
    assert_eq!(
        (&ended["status"], &ended["failed"]),
        (&json!("failed"), &json!(3))
    );
    assert_eq!(ended["onEnd"]["created"], true);
    assert_eq!(ended["onSuccess"]["created"], false);
    let wrong = http.get("/api/v1/jobs?batch=7").await;
    wrong.is_problem(422, "invalid", Some("batch"));
}

#[tokio::test]
async fn a_batch_whose_jobs_all_exist_is_refused_and_its_callbacks_are_not_made() {
    let server = Server::start().await;
    let http = &server.http;
    let jobs = json!([{"kind": "k", "idempotencyKey": "1"}, {"kind": "k", "idempotencyKey": "2"}]);
    let body = |jobs: &Value| json!({"jobs": jobs, "onEnd": {"kind": "summary"}});
    let first = create(http, body(&jobs)).await;
    let again = http.post("/api/v1/batches", body(&jobs)).await;
    again.is_problem(409, "jobs_exist", Some("jobs"));
    let detail = again.json()["detail"].as_str().unwrap().to_owned();
    let named = format!(
        "{} of {}",
        first["jobs"][0].as_str().unwrap(),
        id_of(&first)
    );
    assert!(detail.contains(&named), "{detail}");
    let list = http.get("/api/v1/batches").await.is(200);
    assert_eq!(list["batches"].as_array().unwrap().len(), 1);
    // One that is new is enough to wait for.
    let some = json!([{"kind": "k", "idempotencyKey": "1"}, {"kind": "k"}]);
    assert_eq!(create(http, body(&some)).await["total"], 1);
}

#[tokio::test]
async fn a_batch_of_another_tenant_is_not_found() {
    let server = Server::start().await;
    let body = json!({"tenant": "acme", "open": true, "jobs": [{"kind": "k"}]});
    let id = id_of(&create(&server.http, body).await);
    let unknown = json!({"kind": "k", "batch": id});
    let refused = server.http.post("/api/v1/jobs", unknown.clone()).await;
    refused.is_problem(422, "unknown_batch", Some("batch"));
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    assert_eq!(read(&acme, &id).await["tenant"], "acme");
    let path = format!("/api/v1/batches/{id}");
    for address in [path.clone(), format!("{path}/jobs")] {
        other.get(&address).await.is_problem(404, "not_found", None);
    }
    let jobs = json!({"jobs": [{"kind": "k"}]});
    let added = other.post(&format!("{path}/jobs"), jobs.clone()).await;
    added.is_problem(404, "not_found", None);
    let closed = other.post_empty(&format!("{path}/close")).await;
    closed.is_problem(404, "not_found", None);
    assert_eq!(
        other.get("/api/v1/batches").await.is(200)["batches"],
        json!([])
    );
    acme.post(&format!("{path}/jobs"), jobs).await.is(201);
    for (http, count) in [(&acme, 2), (&other, 0)] {
        let list = http.get(&format!("/api/v1/jobs?batch={id}")).await.is(200);
        assert_eq!(list["jobs"].as_array().unwrap().len(), count);
    }
}
