//! Named secrets: set, used by requests, and never shown.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use super::secrets::{listen, pages_of};
use crate::{
    client::Http,
    server::{Server, each, id_of, until},
    target::{Target, answer},
};

const VALUE: &str = "sk_live_\"quoted\"_4711";

async fn set(http: &Http, name: &str, value: &str) -> Value {
    let path = format!("/api/v1/secrets/{name}");
    http.put(&path, json!({"value": value})).await.is(200)
}

fn request(url: &str) -> Value {
    let token = json!({"secret": "stripe", "prefix": "Bearer "});
    json!({"http": {"url": url, "headers": {"authorization": token, "x-plain": "text"}}})
}

/// A target that sends back what it was sent, in its head, in its text and in JSON, at the end of what
/// is kept of the body.
async fn echo(status: &'static str) -> Target {
    let in_json = serde_json::to_string(VALUE).unwrap();
    let body = format!("{VALUE} and {in_json} {}", "x".repeat(16 * 1024 - 70));
    let body = format!("{body}{VALUE}{VALUE}{VALUE}");
    let head = format!("x-echo: Bearer {VALUE}\r\ncontent-type: text/plain\r\n");
    Target::start(move |_| answer(status, &head, &body)).await
}

// long: one story, whose parts look for the same secret
#[tokio::test]
async fn a_named_secret_is_sent_and_is_in_no_answer_no_history_and_no_line_of_the_log() {
    let (log, _logging) = listen();
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let (good, bad) = (echo("200 OK").await, echo("503 Busy").await);
    let mut said = set(&admin, "stripe", VALUE).await.to_string();
    let done = admin.create_id(request(&good.url())).await;
    admin.wait_for_label(&done, "succeeded").await;
    let sent = &good.seen()[0].headers;
    assert_eq!(sent["authorization"], format!("Bearer {VALUE}"));
    assert_eq!(sent["x-plain"], "text");
    let mut body = request(&bad.url());
    body["maxRetries"] = json!(0);
    let failed = admin.create_id(body.clone()).await;
    admin.wait_for_label(&failed, "failed").await;
    let endpoint = json!({"url": good.url(), "events": ["job.cancelled"],
        "headers": {"x-api-key": {"secret": "stripe"}, "x-plain": "plain-4711"}});
    let endpoint = admin.post("/api/v1/endpoints", endpoint).await.is(201);
    said.push_str(&endpoint.to_string());
    let endpoint = id_of(&endpoint);
    let test = admin.command("endpoints", &endpoint, "test").await.is(200);
    let delivery = id_of(&test);
    admin.wait_for_label(&delivery, "succeeded").await;
    let sent = good.seen().pop().unwrap().headers;
    assert_eq!(
        (&*sent["x-api-key"], &*sent["x-plain"]),
        (VALUE, "plain-4711")
    );
    let schedule = json!({"name": "s", "every": "1h", "job": body});
    let schedule = id_of(&admin.post("/api/v1/schedules", schedule).await.is(201));

    for path in [
        "/api/v1/jobs".to_owned(),
        format!("/api/v1/jobs/{done}"),
        format!("/api/v1/jobs/{done}/history"),
        format!("/api/v1/jobs/{failed}"),
        format!("/api/v1/jobs/{failed}/history"),
        format!("/api/v1/jobs/{failed}/explain"),
        format!("/api/v1/jobs/{delivery}/history"),
        format!("/api/v1/schedules/{schedule}"),
        "/api/v1/dlq".to_owned(),
        "/api/v1/failures".to_owned(),
        "/api/v1/endpoints".to_owned(),
        "/api/v1/secrets".to_owned(),
        "/api/v1/audit".to_owned(),
        "/metrics".to_owned(),
    ] {
        let reply = admin.get(&path).await;
        assert_eq!(reply.status, 200, "{path}");
        said.push_str(&reply.body);
    }
    let pages = [
        format!("/jobs/{done}"),
        format!("/jobs/{failed}"),
        format!("/jobs/{delivery}"),
        format!("/jobs/new?from={done}"),
        format!("/schedules/{schedule}"),
        "/endpoints".to_owned(),
        "/audit".to_owned(),
    ];
    let own = admin.token.clone().unwrap();
    said.push_str(&pages_of(&server.http, &own, &pages).await);
    assert!(said.contains("(secret stripe)"), "the response is recorded");
    assert!(said.contains("secret.set"), "the command is recorded");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("answered 503"), "the log is read: {log}");
    for secret in ["sk_live", "quoted", "plain-4711"] {
        let at = said.find(secret).map(|at| &said[at.saturating_sub(90)..at]);
        assert_eq!(at, None, "{secret} was said");
        assert!(!log.contains(secret), "{secret} was logged");
    }
}

#[tokio::test]
async fn a_changed_secret_counts_from_the_next_call_on_and_a_missing_one_is_retried() {
    let server = Server::start().await;
    let http = &server.http;
    let target = Target::always(200).await;
    set(http, "stripe", "first-value").await;
    let id = http.create_id(request(&target.url())).await;
    http.wait_for_label(&id, "succeeded").await;
    set(http, "stripe", "second-value").await;
    let mut body = request(&target.url());
    body["retry"] = json!({"maxRetries": 50, "backoff": "fixed", "baseDelay": 50});
    let id = http.create_id(body.clone()).await;
    http.wait_for_label(&id, "succeeded").await;
    // It must not start before the secret is gone.
    let queue = "/api/v1/queues/default";
    http.post_empty(&format!("{queue}/pause")).await.is(204);
    let id = http.create_id(body).await;
    http.delete("/api/v1/secrets/stripe").await.is(204);
    http.post_empty(&format!("{queue}/resume")).await.is(204);
    let retried = until("a failed attempt", || async {
        let attempts = http.attempts(&id).await;
        attempts.first().cloned()
    });
    let failure = &retried.await["failure"];
    assert_eq!(failure["class"], "secret", "{failure}");
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.contains("secret stripe does not exist"),
        "{message}"
    );
    set(http, "stripe", "third-value").await;
    http.wait_for_label(&id, "succeeded").await;
    let sent = target.seen().into_iter();
    let sent: Vec<String> = sent.map(|it| it.headers["authorization"].clone()).collect();
    assert_eq!(
        sent,
        [
            "Bearer first-value",
            "Bearer second-value",
            "Bearer third-value"
        ]
    );
}

#[tokio::test]
async fn a_header_that_names_an_unknown_secret_is_refused_with_its_field() {
    let server = Server::start().await;
    let http = &server.http;
    let target = Target::always(200).await;
    let body = request(&target.url());
    let refused = http.post("/api/v1/jobs", body.clone()).await;
    refused.is_problem(422, "invalid", Some("http.headers.authorization"));
    assert!(refused.body.contains("secret stripe"), "{}", refused.body);
    let in_jobs = "jobs[1].http.headers.authorization";
    let in_schedule = "job.http.headers.authorization";
    let in_callback = "onEnd.http.headers.authorization";
    let headers = &body["http"]["headers"];
    for (path, body, field) in [
        ("jobs", json!({"jobs": [{"kind": "a"}, body]}), in_jobs),
        ("batches", json!({"jobs": [{"kind": "a"}, body]}), in_jobs),
        (
            "batches",
            json!({"jobs": [{"kind": "a"}], "onEnd": body}),
            in_callback,
        ),
        (
            "schedules",
            json!({"name": "s", "every": "1h", "job": body}),
            in_schedule,
        ),
        (
            "endpoints",
            json!({"url": target.url(), "headers": headers}),
            "headers.authorization",
        ),
    ] {
        let refused = http.post(&format!("/api/v1/{path}"), body).await;
        refused.is_problem(422, "invalid", Some(field));
    }
    let endpoint = json!({"url": target.url(), "headers": {"Webhook-Id": "7"}});
    let refused = http.post("/api/v1/endpoints", endpoint).await;
    refused.is_problem(422, "invalid", Some("headers.Webhook-Id"));
    set(http, "stripe", VALUE).await;
    http.post("/api/v1/jobs", body).await.is(201);
}

#[tokio::test]
async fn a_tenant_sets_sees_and_uses_its_own_secrets_only() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let [acme, other] = ["acme", "other"].map(|it| server.key(Scope::Tenant, Some(it)));
    let (acme, other) = (acme.await, other.await);
    let target = Target::always(200).await;
    set(&admin, "stripe", "of-the-operator").await;
    for http in [&acme, &other] {
        let refused = http.post("/api/v1/jobs", request(&target.url())).await;
        refused.is_problem(422, "invalid", Some("http.headers.authorization"));
    }
    set(&acme, "stripe", "of-tenant-acme").await;
    let path = "/api/v1/secrets/stripe?tenant=acme";
    let elsewhere = other.put(path, json!({"value": "of-another"})).await;
    assert_eq!(elsewhere.status, 403, "{}", elsewhere.body);
    other
        .delete("/api/v1/secrets/stripe")
        .await
        .is_problem(404, "not_found", None);
    let id = acme.create_id(request(&target.url())).await;
    acme.wait_for_label(&id, "succeeded").await;
    let sent = target.seen().pop().unwrap().headers;
    assert_eq!(sent["authorization"], "Bearer of-tenant-acme");
    let list = async |http: &Http| {
        let list = http.get("/api/v1/secrets").await.is(200);
        each(list["secrets"].as_array().unwrap(), "tenant")
    };
    assert_eq!(list(&acme).await, ["acme"]);
    assert_eq!(list(&other).await, Vec::<Value>::new());
    assert_eq!(list(&admin).await, ["acme", "default"]);
    for scope in [Scope::Read, Scope::Worker] {
        let key = server.key(scope, Some("acme")).await;
        assert_eq!(key.get("/api/v1/secrets").await.status, 403);
        let set = key.put("/api/v1/secrets/x", json!({"value": VALUE})).await;
        assert_eq!(set.status, 403);
    }
    // A worker could send it anywhere.
    let worker = server.key(Scope::Worker, Some("acme")).await;
    acme.create_id(json!({"kind": "step"})).await;
    let claim = worker.claim("step", "20s").await.remove(0);
    let body = json!({"onSuccess": [request(&target.url())]});
    let refused = worker.report(&claim, "succeed", body).await;
    refused.is_problem(403, "wrong_scope", Some("onSuccess[0].http.headers"));
}

#[tokio::test]
async fn secrets_have_a_size_a_form_and_a_number() {
    let server = Server::start().await;
    let http = &server.http;
    for value in [
        "short",
        "two\nlines of text",
        "schlüssel-eins",
        &"x".repeat(8_193),
    ] {
        let body = json!({"value": value});
        let refused = http.put("/api/v1/secrets/a", body).await;
        refused.is_problem(422, "invalid", Some("value"));
        assert!(!refused.body.contains(value), "{}", refused.body);
    }
    let name = http
        .put("/api/v1/secrets/a%20b", json!({"value": VALUE}))
        .await;
    name.is_problem(422, "invalid", Some("secret"));
    let first = set(http, "n0", VALUE).await;
    for number in 1..100 {
        set(http, &format!("n{number}"), VALUE).await;
    }
    let more = http
        .put("/api/v1/secrets/more", json!({"value": VALUE}))
        .await;
    more.is_problem(409, "too_many", None);
    // One that exists can still be changed, and another tenant has a number of its own.
    let again = set(http, "n0", "another value").await;
    assert_eq!(again["createdAt"], first["createdAt"]);
    assert_ne!(again["updatedAt"], first["updatedAt"]);
    set(http, "more?tenant=acme", VALUE).await;
    let page = http
        .get("/api/v1/secrets?limit=60&tenant=default")
        .await
        .is(200);
    let after = page["nextCursor"].as_str().unwrap().replace(' ', "%20");
    let path = format!("/api/v1/secrets?limit=60&tenant=default&after={after}");
    let rest = http.get(&path).await.is(200);
    let count = |page: &Value| page["secrets"].as_array().unwrap().len();
    assert_eq!((count(&page), count(&rest)), (60, 40));
    assert_eq!(rest["nextCursor"], Value::Null);
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_says_so_and_can_be_set_again() {
    let server = Server::start().await;
    let path = "/api/v1/secrets/stripe";
    for (spoilt, reason) in [
        ("~gone:AAAA", "encrypted with key `gone`"),
        ("no JSON", "is not that of a secret"),
    ] {
        set(&server.http, "stripe", VALUE).await;
        server.spoil(&format!(
            "UPDATE steadfast_record SET body = '{spoilt}' WHERE kind = 'secret'"
        ));
        let job = request("http://127.0.0.1:1");
        let refused = server.http.post("/api/v1/jobs", job).await;
        assert!(refused.body.contains(reason), "{}", refused.body);
        refused.is_problem(409, "damaged", None);
        let refused = server.http.put(path, json!({"value": VALUE})).await;
        refused.is_problem(409, "damaged", None);
        assert_eq!(server.http.delete(path).await.status, 204);
        set(&server.http, "stripe", VALUE).await;
        server
            .http
            .post("/api/v1/jobs", request("http://127.0.0.1:1"))
            .await
            .is(201);
        let metrics = server.http.get("/metrics").await.body;
        assert!(metrics.contains("steadfast_damaged_rows 0\n"), "{metrics}");
        assert_eq!(server.http.delete(path).await.status, 204);
    }
}
