//! Failures by cause over the API: listed, looked at, marked, and used as a filter.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    client::Http,
    server::{Server, each},
};

/// Makes jobs that fail for good with these messages, and returns their ids.
async fn dead(http: &Http, queue: &str, messages: &[&str]) -> Vec<String> {
    let mut ids = Vec::new();
    for message in messages {
        let body = json!({"kind": "mail", "queue": queue, "retry": "once"});
        ids.push(http.create_id(body).await);
        let claim = &http.claim("mail", "20s").await[0];
        let failure = json!({"failure": {"class": "error", "message": message}});
        http.report(claim, "fail", failure).await.is(200);
    }
    ids
}

fn one(list: &Value) -> &Value {
    let failures = list["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{list}");
    &failures[0]
}

#[tokio::test]
async fn failures_of_one_cause_are_counted_together_and_lead_to_their_jobs() {
    let server = Server::start().await;
    let http = &server.http;
    let rows = dead(
        http,
        "a",
        &["row 1 is wrong", "row 2 is wrong", "row 3 is wrong"],
    )
    .await;
    let others = dead(http, "b", &["no disk"]).await;
    let list = http.get("/api/v1/failures").await.is(200);
    assert_eq!(each(list["failures"].as_array().unwrap(), "count"), [3, 1]);
    assert_eq!(list["nextCursor"], Value::Null);
    let group = &list["failures"][0];
    assert_eq!(group["pattern"], "row # is wrong");
    assert_eq!(
        (&group["state"], &group["deadLetters"], &group["class"]),
        (&json!("new"), &json!(3), &json!("error"))
    );
    assert_eq!(group["kinds"], json!(["mail"]));
    assert_eq!(group["hours"].as_array().unwrap().len(), 168);
    assert_eq!(group["hours"][167], 3);
    assert_eq!(group["example"]["jobId"], *rows[2]);
    let print = group["fingerprint"].as_str().unwrap();
    let attempt = &http.attempts(&rows[0]).await[0];
    assert_eq!(attempt["failure"]["fingerprint"], print);
    for path in ["jobs", "dlq"] {
        let path = format!("/api/v1/{path}?fingerprint={print}");
        let found = http.get(&path).await.is(200);
        let found = each(found["jobs"].as_array().unwrap(), "id");
        assert_eq!(json!(found), json!([rows[2], rows[1], rows[0]]));
    }
    for (query, found) in [
        ("queue=b", 1),
        ("kind=mail&class=error", 2),
        ("state=fixed", 0),
        ("status=503", 0),
        ("text=DISK", 1),
        ("destination=https://api.example.com", 0),
        ("since=2100-01-01T00:00:00Z", 0),
    ] {
        let list = http.get(&format!("/api/v1/failures?{query}")).await.is(200);
        assert_eq!(list["failures"].as_array().unwrap().len(), found, "{query}");
    }
    let page = http.get("/api/v1/failures?limit=1").await.is(200);
    let next = page["nextCursor"].as_str().unwrap();
    let page = http.get(&format!("/api/v1/failures?after={next}")).await;
    assert_eq!(one(&page.is(200))["pattern"], "no disk");

    let requeue = json!({"fingerprint": print});
    let done = http.post("/api/v1/dlq/requeue", requeue).await.is(200);
    assert_eq!(done["count"], 3);
    let path = format!("/api/v1/failures/{print}");
    assert_eq!(http.get(&path).await.is(200)["deadLetters"], 0);
    assert_eq!(http.read_job(&others[0]).await["label"], "failed");
}

#[tokio::test]
async fn a_failure_is_marked_by_a_key_and_bad_input_is_named() {
    let server = Server::start().await;
    dead(&server.http, "a", &["row 1 is wrong"]).await;
    let list = server.http.get("/api/v1/failures").await.is(200);
    let print = one(&list)["fingerprint"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/failures/{print}");
    let admin = server.key(Scope::Admin, None).await;
    let marked = admin.patch(&path, json!({"state": "fixed"})).await.is(200);
    assert_eq!(marked["state"], "fixed");
    assert!(marked["markedBy"].is_string(), "{marked}");
    assert_eq!(admin.get(&path).await.is(200), marked);
    let undone = admin.patch(&path, json!({"state": "new"})).await.is(200);
    assert_eq!(undone["state"], "new", "a mark can be undone");
    let reply = admin.patch(&path, json!({"state": "regressed"})).await;
    reply.is_problem(422, "invalid", Some("state"));
    let reply = admin.patch(&path, json!({})).await;
    assert_eq!(reply.status, 422);
    for unknown in ["/api/v1/failures/00000000000000ff", "/api/v1/failures/x"] {
        admin.get(unknown).await.is_problem(404, "not_found", None);
    }
    for (query, field) in [
        ("state=gone", "state"),
        ("after=x", "after"),
        ("limit=0", "limit"),
        ("destination=example", "destination"),
    ] {
        let reply = admin.get(&format!("/api/v1/failures?{query}")).await;
        reply.is_problem(422, "invalid", Some(field));
    }
    let reply = admin.get("/api/v1/jobs?fingerprint=x").await;
    reply.is_problem(422, "invalid", Some("fingerprint"));
}

#[tokio::test]
async fn a_tenant_sees_and_marks_its_own_failures_only() {
    let server = Server::start().await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    let admin = server.key(Scope::Admin, None).await;
    dead(&acme, "a", &["row 1 is wrong"]).await;
    let list = acme.get("/api/v1/failures").await.is(200);
    let print = one(&list)["fingerprint"].as_str().unwrap();
    let path = format!("/api/v1/failures/{print}");
    let none = other.get("/api/v1/failures").await.is(200);
    assert_eq!(none["failures"], json!([]));
    other.get(&path).await.is_problem(404, "not_found", None);
    let mark = json!({"state": "known"});
    let reply = other.patch(&path, mark.clone()).await;
    reply.is_problem(404, "not_found", None);
    // The same cause in another tenant is another group.
    dead(&other, "a", &["row 2 is wrong"]).await;
    other.patch(&path, mark).await.is(200);
    assert_eq!(acme.get(&path).await.is(200)["state"], "new");
    let reply = admin.get(&path).await;
    reply.is_problem(422, "invalid", Some("tenant"));
    let said = reply.is(422)["detail"].to_string();
    for part in ["tenant is required: jobs of the tenants ", "acme", "other"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let of_acme = admin.get(&format!("{path}?tenant=acme")).await.is(200);
    assert_eq!(of_acme["tenant"], "acme");
    let reader = server.key(Scope::Read, Some("acme")).await;
    let reply = reader.patch(&path, json!({"state": "known"})).await;
    reply.is_problem(403, "wrong_scope", None);
}

#[tokio::test]
async fn a_group_names_the_versions_of_the_workers_that_failed() {
    let server = Server::start().await;
    let http = &server.http;
    for version in ["1.4.1", "1.4.2"] {
        http.create(json!({"kind": "mail", "retry": "once"})).await;
        let worker = format!("w-{version}");
        let claim =
            json!({"worker": worker, "kinds": ["mail"], "workerInfo": {"version": version}});
        let claims = http.post("/api/v1/claims", claim).await.is(200);
        let failure = json!({"failure": {"class": "error", "message": "no disk"}});
        http.report(&claims["claims"][0], "fail", failure)
            .await
            .is(200);
    }
    let list = http.get("/api/v1/failures").await.is(200);
    assert_eq!(one(&list)["workerVersions"], json!(["1.4.1", "1.4.2"]));
}
