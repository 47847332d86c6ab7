//! A key of scope `read` sees no payload, no result, no response, and no address beyond its host,
//! by any operation, stream, page or search.
//!
//! The operations are those of the OpenAPI document: a new one is part of this test, or fails it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steadfast_server::keys::Scope;
use tokio::io::AsyncReadExt as _;

use super::secrets::pages_of;
use crate::{
    client::Http,
    server::{Server, id_of, until},
    target::{Target, answer},
};

/// In each place where a person's data may be.
const MARKER: &str = "Jane-Roe-diagnosis";
/// Enough failures of one destination for an incident.
const FAILURES: usize = 30;

/// The things that are full of the marker, by the name of the path parameter and the group.
struct Full {
    jobs: Vec<String>,
    schedule: String,
    batch: String,
    endpoint: String,
    operation: String,
    origin: String,
}

// long: one list of everything that a store can hold
async fn fill(http: &Http, target: &Target) -> Full {
    let url = format!("{}{MARKER}?token={MARKER}", target.url());
    let payload = json!({"patient": MARKER});
    let hook = json!({"url": url, "secret": "whsec_c2VjcmV0LW9mLXRoZS1qb2ItaXRzZWxm"});
    let post = async |path: &str, body: Value| http.post(path, body).await.is(201);
    let endpoint = json!({"url": url, "events": ["job.failed", "job.succeeded"]});
    let endpoint = id_of(&post("/api/v1/endpoints", endpoint).await);
    let call = json!({"http": {"url": url, "body": payload, "headers": {"x-note": MARKER}},
        "retry": "once", "webhook": hook});
    let calls: Vec<Value> = (0..FAILURES).map(|_| call.clone()).collect();
    let calls = post("/api/v1/jobs", json!({"jobs": calls})).await;
    let mut jobs: Vec<String> = calls["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(id_of)
        .collect();
    jobs.truncate(2);
    http.wait_for_label(&jobs[0], "failed").await;
    // Waits at the destination, with the failures as its reason.
    jobs.push(http.create_id(call.clone()).await);
    let waiting = json!({"kind": "k", "payload": payload, "delay": "1h", "webhook": hook});
    jobs.push(http.create_id(waiting.clone()).await);
    let done = json!({"kind": "done", "payload": payload});
    let done = http.create_id(done).await;
    jobs.push(
        http.create_id(json!({"kind": "k", "payload": payload, "after": [done]}))
            .await,
    );
    let claim = &http.claim("done", "20s").await[0];
    let step = json!({"fence": claim["fence"], "result": payload});
    let path = format!("/api/v1/claims/{done}/steps/charge");
    http.put(&path, step).await.is(200);
    let result = json!({"result": payload});
    http.report(claim, "succeed", result).await.is(200);
    jobs.push(done);
    // A worker that quotes the response of the system it called.
    let quoting = json!({"kind": "quoting", "retry": "once", "payload": payload});
    jobs.push(http.create_id(quoting).await);
    let claim = &http.claim("quoting", "20s").await[0];
    let failure = json!({"failure": {"class": "http", "httpStatus": 500, "trace": MARKER,
        "message": format!("500: {MARKER}")}});
    http.report(claim, "fail", failure).await.is(200);
    // One that quotes its payload.
    let naming = json!({"kind": "naming", "retry": "once", "payload": payload});
    jobs.push(http.create_id(naming).await);
    let claim = &http.claim("naming", "20s").await[0];
    let failure = json!({"failure": {"class": "lookup", "trace": MARKER,
        "message": format!("no patient {MARKER}")}});
    http.report(claim, "fail", failure).await.is(200);
    let schedule = json!({"name": "nightly", "schedule": "@daily", "job": call});
    let schedule = id_of(&post("/api/v1/schedules", schedule).await);
    let path = format!("/api/v1/schedules/{schedule}/run-now");
    jobs.push(id_of(&http.post_empty(&path).await.is(201)));
    let batch = json!({"jobs": [waiting], "onEnd": {"kind": "k", "payload": payload}});
    let batch = id_of(&post("/api/v1/batches", batch).await);
    let edit = json!({"payload": {"patient": format!("{MARKER} edited")}});
    http.patch(&format!("/api/v1/jobs/{}", jobs[3]), edit)
        .await
        .is(200);
    let operation = json!({"kind": "requeue", "ids": [jobs[1]]});
    let operation = id_of(&post("/api/v1/operations", operation).await);
    let deliveries = http
        .get("/api/v1/jobs?kind=webhook&limit=500")
        .await
        .is(200);
    jobs.push(id_of(&deliveries["jobs"][0]));
    let url = target.url();
    let origin: Vec<&str> = url.split('/').take(3).collect();
    Full {
        jobs,
        schedule,
        batch,
        endpoint,
        operation,
        origin: origin.join("/").replace(':', "%3A").replace('/', "%2F"),
    }
}

/// Every address of an operation that reads, without those of workers, which a reader may not use.
fn addresses(full: &Full, fingerprints: &[String]) -> Vec<String> {
    let description: Value = serde_json::from_str(&steadfast_server::openapi_json()).unwrap();
    let one = |id: &String| vec![id.clone()];
    let ids = BTreeMap::from([
        ("jobs/{id}", full.jobs.clone()),
        ("schedules/{id}", one(&full.schedule)),
        ("batches/{id}", one(&full.batch)),
        ("endpoints/{id}", one(&full.endpoint)),
        ("operations/{id}", one(&full.operation)),
        ("destinations/{key}", one(&full.origin)),
        ("failures/{fingerprint}", fingerprints.to_vec()),
        ("queues/{name}", one(&"default".to_owned())),
        ("gates/{scope}/{key}", one(&"queue/default".to_owned())),
    ]);
    let mut found = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        let is_stream = path.ends_with("/events");
        if methods["get"].is_null() || path.contains("/claims/") || is_stream {
            continue;
        }
        if !path.contains('{') {
            found.push(path.clone());
            continue;
        }
        let known = ids.iter().find(|(template, _)| path.contains(*template));
        let (template, ids) = known.unwrap_or_else(|| panic!("nothing is known for {path}"));
        for id in ids {
            let name = template.split('/').next().unwrap();
            found.push(path.replace(template, &format!("{name}/{id}")));
        }
    }
    assert!(found.len() > 40, "{found:?}");
    found
}

fn pages(full: &Full, fingerprints: &[String]) -> Vec<String> {
    let mut pages: Vec<String> = [
        "/",
        "/jobs",
        "/jobs?kind=webhook",
        "/dead-letters",
        "/failures",
        "/destinations",
        "/queues",
        "/gates",
        "/operations",
        "/batches",
        "/schedules",
        "/endpoints",
        "/nodes",
        "/audit",
        "/alerts",
    ]
    .map(str::to_owned)
    .to_vec();
    pages.extend(full.jobs.iter().map(|id| format!("/jobs/{id}")));
    pages.extend(
        fingerprints
            .iter()
            .map(|it| format!("/failures?fingerprint={it}")),
    );
    pages.push(format!("/schedules/{}", full.schedule));
    pages.push(format!("/batches/{}", full.batch));
    pages.push(format!("/endpoints/{}", full.endpoint));
    pages.push(format!("/operations/{}", full.operation));
    pages.push(format!("/destinations?show={}", full.origin));
    pages
}

// long: one story, whose parts look for the same text
#[tokio::test]
async fn a_reader_sees_no_payload_and_no_response_by_any_way() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let body = format!("no such patient: {MARKER}");
    let target = Target::start(move |_| answer("503 Away", "", &body)).await;
    let full = fill(&admin, &target).await;
    let listed = admin.get("/api/v1/failures").await.is(200);
    let groups = listed["failures"].as_array().unwrap();
    let fingerprints = groups
        .iter()
        .map(|it| it["fingerprint"].as_str().unwrap().to_owned());
    let fingerprints: Vec<String> = fingerprints.collect();
    let gate = json!({"maxRunning": 5});
    admin.put("/api/v1/gates/queue/default", gate).await.is(200);
    // Alerts are evaluated now and then; those of failures quote them.
    until("an alert that quotes a response", || async {
        let alerts = admin.get("/api/v1/alerts").await.body;
        alerts.contains(MARKER).then_some(())
    })
    .await;

    let reader = server.key(Scope::Read, None).await;
    let addresses = addresses(&full, &fingerprints);
    let mut revealing = 0;
    for address in &addresses {
        revealing += usize::from(admin.get(address).await.body.contains(MARKER));
        let answer = reader.get(address).await;
        assert!(
            [200, 403].contains(&answer.status),
            "{address}: {}",
            answer.body
        );
        assert!(!answer.body.contains(MARKER), "{address}: {}", answer.body);
    }
    assert!(
        revealing > 12,
        "only {revealing} of them would have revealed something"
    );

    for list in ["jobs", "dlq", "failures"] {
        let path = format!("/api/v1/{list}?text={MARKER}");
        admin.get(&path).await.is(200);
        reader
            .get(&path)
            .await
            .is_problem(403, "wrong_scope", Some("text"));
    }

    let token = reader.token.clone().unwrap();
    for page in pages(&full, &fingerprints) {
        let said = pages_of(&server.http, &token, std::slice::from_ref(&page)).await;
        assert!(!said.contains(MARKER), "{page}: {said}");
    }

    let mut stream = reader.open("GET", "/api/v1/events", "").await;
    let url = format!("{}{MARKER}", target.url());
    let path = "/api/v1/destinations/";
    let path = format!("{path}{}", full.origin);
    admin.put(&path, json!({"hold": "off"})).await.is(200);
    admin
        .create_id(json!({"http": {"url": url}, "retry": "once"}))
        .await;
    let mut said = String::new();
    while !said.contains("job.failed") {
        let mut part = vec![0; 4096];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "the stream ended: {said}");
        said.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    assert!(!said.contains(MARKER), "{said}");
    server.stop().await;
}
