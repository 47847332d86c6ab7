//! The form by which jobs are created, and what the page of a job shows and changes.

use std::time::Duration;

use serde_json::json;
use steadfast_core::{
    Failure, FailureClass, JobId, LogLines, NewJob, Note, Outcome, Payload, Preset, Priority,
    StepName, Webhook, WorkerName,
};
use steadfast_engine::{JobRequest, Settlement};
use steadfast_server::keys::Scope;
use steadfast_store::{ClaimRequest, Renewal};

use crate::{
    browser::{Browser, BrowserOptions},
    node::{Response, TestNode},
    sign_in::until_keys_are_required,
    worker_jobs::worker_job,
};

fn form(pairs: &[(&str, &str)]) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(pairs).finish()
}

/// The text that a browser reads from a page.
fn html_text(page: &str) -> String {
    let entities = [
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
    ];
    let text = entities
        .iter()
        .fold(page.to_owned(), |text, (entity, plain)| {
            text.replace(entity, plain)
        });
    text.replace("&#38;", "&")
}

fn created_id(response: &Response) -> JobId {
    assert_eq!(response.status, 303, "{}", response.body);
    let location = response.header("location").unwrap();
    let path = location.split('?').next().unwrap();
    path.trim_start_matches("/jobs/").parse().unwrap()
}

#[tokio::test]
async fn a_job_is_created_by_a_form_that_keeps_what_was_entered() {
    let node = TestNode::start().await;
    for (fields, says) in [
        (vec![("queue", "mail")], "needs a URL"),
        (
            vec![("kind", "a"), ("payload", "{")],
            "payload must be JSON",
        ),
        (
            vec![("kind", "a"), ("url", "https://x.example")],
            "not both",
        ),
        (vec![("kind", "a"), ("priority", "ten")], "must be a number"),
        (vec![("kind", "a"), ("priority", "10")], "priority"),
        (vec![("kind", "a"), ("tags", "order")], "such as order:4711"),
        (vec![("kind", "a"), ("retry", "nope")], "nope"),
        (
            vec![("url", "x"), ("headers", "hunter2")],
            "must be name: value",
        ),
        (vec![("url", "ftp://x.example")], "url"),
    ] {
        let fields: Vec<_> = fields.into_iter().chain([("jobName", "kept")]).collect();
        let refused = node.post("/jobs/new", &form(&fields)).await;
        assert_eq!(refused.status, 422, "{fields:?}: {}", refused.body);
        assert!(refused.body.contains(says), "{says}: {}", refused.body);
        assert!(refused.body.contains("value=\"kept\""), "{}", refused.body);
    }
    let fields = [
        ("kind", "invoice"),
        ("payload", r#"{"amount": 12345678901234567890.50}"#),
        ("queue", "documents"),
        ("priority", "7"),
        ("delay", "1h"),
        ("retry", r#"{"maxRetries": 2, "backoff": "fixed"}"#),
        ("tags", "order: 4711\r\ncustomer:9"),
        ("idempotencyKey", "once"),
    ];
    let created = node.post("/jobs/new", &form(&fields)).await;
    let id = created_id(&created);
    let job = node.client.job(id).await.unwrap().unwrap();
    let payload = job.payload.as_str();
    assert!(payload.contains("12345678901234567890.50"), "{payload}");
    assert_eq!((job.queue.as_str(), job.priority.get()), ("documents", 7));
    assert_eq!(
        (job.policy.max_attempts(), &*job.tags["order"]),
        (3, "4711")
    );
    // The same key is the same job.
    let again = node.post("/jobs/new", &form(&fields)).await;
    assert_eq!(created_id(&again), id);
    assert!(again.header("location").unwrap().contains("did=existing"));
    node.stop().await;
}

// long: one job, and everything that a form made from it may and may not do
#[tokio::test]
async fn a_copied_job_has_the_secrets_without_showing_them() {
    let node = TestNode::start().await;
    let request = json!({
        "url": "https://example.com/x", "method": "PUT",
        "headers": {"Authorization": "Bearer hunter2"}, "body": {"a": 1},
    });
    let webhook: Webhook = serde_json::from_value(json!({
        "url": "https://example.com/hook", "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
        "events": ["job.failed"], "retry": {},
    }))
    .unwrap();
    let request = JobRequest::new("http", Payload::encode(&request).unwrap())
        .delay(Duration::from_secs(3_600))
        .retry(Preset::Http)
        .lease(Duration::from_secs(77))
        .webhook(webhook.clone())
        .tag("order", "1");
    let like = node.client.enqueue(request).await.unwrap();
    let page = node.get(&format!("/jobs/{like}")).await.body;
    let link = format!("href=\"/jobs/new?like={like}\"");
    assert!(page.contains(&link), "{page}");
    assert!(page.contains("<b>PUT</b> <span class=\"url\">https://example.com/x"));
    let filled = node.get(&format!("/jobs/new?like={like}")).await.body;
    assert!(
        filled.contains("value=\"https://example.com/x\""),
        "{filled}"
    );
    assert!(filled.contains("<option selected>PUT"), "{filled}");
    assert!(filled.contains("Authorization: ••••••") && filled.contains("order:1"));
    assert!(!filled.contains("hunter2"));
    let like = like.to_string();
    let fields = [
        ("like", &*like),
        ("url", "https://example.com/y"),
        ("method", "PATCH"),
        ("headers", "authorization: ••••••\r\nx-a: b"),
        ("body", "[1]"),
        ("delay", "1h"),
    ];
    let id = created_id(&node.post("/jobs/new", &form(&fields)).await);
    let job = node.client.job(id).await.unwrap().unwrap();
    let payload = job.payload.as_str();
    for part in ["example.com/y", "PATCH", "Bearer hunter2", "x-a", "[1]"] {
        assert!(payload.contains(part), "{part}: {payload}");
    }
    assert_eq!(job.lease, Duration::from_secs(77));
    assert_eq!(job.webhook.as_deref(), Some(&webhook));
    let mut elsewhere = fields.to_vec();
    elsewhere.push(("tenant", "other"));
    let refused = node.post("/jobs/new", &form(&elsewhere)).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(
        refused.body.contains("tenant must be default"),
        "{}",
        refused.body
    );
    // Without the job that they came from, masked values are refused.
    let refused = node.post("/jobs/new", &form(&fields[1..])).await;
    assert_eq!(refused.status, 422, "{}", refused.body);

    // A key that may only read gets no form, and no link to it.
    let key = node.key(Scope::Read, None).await;
    until_keys_are_required(&node).await;
    let sign_in = node.post("/sign-in", &form(&[("key", &key)])).await;
    let cookie = sign_in.header("set-cookie").unwrap();
    let cookie = [("cookie", cookie.split(';').next().unwrap())];
    let refused = node.request("GET", "/jobs/new", &cookie, "").await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let page = node
        .request("GET", &format!("/jobs/{like}"), &cookie, "")
        .await;
    assert!(page.status == 200 && !page.body.contains("/jobs/new"));
    node.stop().await;
}

#[tokio::test]
async fn priority_time_and_policy_of_a_waiting_job_are_edited() {
    let node = TestNode::start().await;
    let request = worker_job("default").delay(Duration::from_secs(3_600));
    let id = node.client.enqueue(request).await.unwrap();
    let act = format!("/jobs/{id}/act");
    let payload = async || {
        let job = node.client.job(id).await.unwrap().unwrap();
        job.payload.as_str().to_owned()
    };
    let stored = payload().await;
    let page = node.get(&format!("/jobs/{id}")).await.body;
    let shown = page.split("name=\"payload\"").nth(1).unwrap();
    let shown = shown.split_once('>').unwrap().1.split("</textarea>");
    let shown = html_text(shown.clone().next().unwrap()).replace('\n', "\r\n");
    let edit = |name, value| form(&[("action", "edit"), ("payload", &shown), (name, value)]);
    for (name, value) in [
        ("priority", "11"),
        ("priority", "x"),
        ("runAt", "soon"),
        ("retry", "{\"maxRetries\": 1000}"),
        ("retry", "nope"),
    ] {
        let refused = node.post(&act, &edit(name, value)).await;
        assert_eq!(refused.status, 422, "{name} {value}: {}", refused.body);
        let kept = html_text(&refused.body);
        assert!(kept.contains("<details id=\"edit\" open>"), "{kept}");
        assert!(kept.contains(value), "what was entered stays: {kept}");
    }
    for (name, value) in [
        ("priority", "9"),
        ("runAt", "2030-01-01T00:00:00Z"),
        ("retry", "{\"maxRetries\": 41}"),
    ] {
        let saved = node.post(&act, &edit(name, value)).await;
        assert_eq!(saved.status, 303, "{name}: {}", saved.body);
    }
    let job = node.client.job(id).await.unwrap().unwrap();
    assert_eq!(job.priority, Priority::new(9).unwrap());
    assert_eq!(job.policy.max_attempts(), 42);
    assert_eq!(job.earliest_run_at().to_string(), "2030-01-01T00:00:00Z");
    assert_eq!(payload().await, stored, "to the byte");
    node.stop().await;
}

#[tokio::test]
async fn an_attempt_shows_its_response_in_parts_its_phases_and_its_trace_by_lines() {
    let node = TestNode::start().await;
    node.clock.set_back(Duration::from_secs(1));
    let request = json!({"url": "https://example.com/x"});
    let request = JobRequest::new("http", Payload::encode(&request).unwrap()).queue("own");
    let id = node
        .client
        .enqueue(request.retry(Preset::Http))
        .await
        .unwrap();
    let mut claim = ClaimRequest::new(WorkerName::new("w").unwrap(), 1);
    claim.queues = vec!["own".parse().unwrap()];
    let claims = node.node.claim(claim, Duration::ZERO).await.unwrap().take();
    // It takes longer than its phases, so it has waited, too.
    node.clock.set_back(Duration::ZERO);
    let mut failure = Failure::new(FailureClass::ERROR, "broken");
    failure.trace = Some("first line\n  second <b>".to_owned());
    let output = json!({
        "status": 503, "headers": {"retry-after": "3"}, "body": "{\"why\":1}", "truncated": true,
        "timings": {"dnsMs": null, "connectMs": 12.5, "firstByteMs": 0.341, "bodyMs": 1.0},
    });
    let settlement = Settlement {
        on_success: Vec::new(),
        job: id,
        fence: claims[0].fence(),
        log: LogLines::default(),
        outcome: Outcome::Failure {
            failure,
            output: Payload::encode(&output).ok(),
        },
    };
    node.node.settle(vec![settlement], None).await.unwrap();
    let page = node.get(&format!("/jobs/{id}")).await.body;
    for part in [
        "HTTP 503",
        "class=\"key key-phase-connect\">connect 12ms<",
        "class=\"key key-phase-first-byte\">first byte 341µs<",
        "class=\"key key-phase-body\">body 1ms<",
        "class=\"phase-connect\"",
        "<dt>retry-after</dt><dd>3</dd>",
        "The rest of the body was not recorded",
        "<li>first line</li><li>  second &#60;b&#62;</li>",
        "Stack trace, 2 lines",
        "<dt>Target</dt><dd><b>POST</b>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    node.stop().await;
}

#[tokio::test]
async fn a_job_shows_its_progress_its_steps_and_the_jobs_that_run_after_it() {
    let node = TestNode::start().await;
    let first = worker_job("default").queue("own");
    let first = node.client.enqueue(first).await.unwrap();
    let after = JobRequest::new("mail.send", Payload::default()).after([first]);
    let after = node.client.enqueue(after).await.unwrap();
    let mut claim = ClaimRequest::new(WorkerName::new("w").unwrap(), 1);
    claim.queues = vec!["own".parse().unwrap()];
    let claims = node.node.claim(claim, Duration::ZERO).await.unwrap().take();
    let note = Note::default().updated(Some("page 3 of 7".to_owned()), Some(40));
    let renewal = Renewal {
        job: first,
        fence: claims[0].fence(),
        lease: Duration::from_secs(60),
        note: Some(note.to_text()),
        within_timeout: false,
    };
    let store = node.node.store();
    store.renew(vec![renewal]).await.unwrap();
    let step = StepName::new("charge").unwrap();
    let receipt = Payload::encode(&json!({"receipt": "<17>"})).unwrap();
    store.save_step(first, None, step, receipt).await.unwrap();
    let page = node.get(&format!("/jobs/{first}")).await.body;
    for part in [
        "<progress value=\"40\" max=\"100\"></progress>",
        "page 3 of 7",
        "<summary>✓ charge</summary>",
        "&#60;17&#62;",
        &format!("<a href=\"/jobs/{after}\" data-row>mail.send</a>"),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let waiting = node.get(&format!("/jobs/{after}")).await.body;
    assert!(waiting.contains(&format!("href=\"/jobs/{first}\"")));
    assert!(!waiting.contains("Dependent jobs") && !waiting.contains("Completed steps"));
    let settlement = Settlement {
        on_success: Vec::new(),
        job: first,
        fence: claims[0].fence(),
        log: LogLines::default(),
        outcome: Outcome::Success {
            output: Payload::encode(&json!({"sum": 4711})).ok(),
        },
    };
    node.node.settle(vec![settlement], None).await.unwrap();
    let ended = node.get(&format!("/jobs/{first}")).await.body;
    assert!(!ended.contains("<progress"), "{ended}");
    let result = ended.split("4711").next().unwrap();
    let details = result.rsplit("<details").next().unwrap();
    assert!(details.contains(" open>"), "{details}");
    node.stop().await;
}

#[tokio::test]
async fn the_simulator_leads_to_a_form_with_its_policy() {
    let node = TestNode::start().await;
    let page = node.get("/simulator?preset=http&maxRetries=6").await.body;
    let link = page.split("href=\"/jobs/new?policy=").nth(1).unwrap();
    let query = link.split('"').next().unwrap();
    let form = node.get(&format!("/jobs/new?policy={query}")).await.body;
    assert!(form.contains("&#34;maxRetries&#34;: 6"), "{form}");
    node.stop().await;
}

/// A schedule of requests, with everything that a form shows of its job and what it does not.
async fn scheduled_requests(node: &TestNode) {
    let job = json!({
        "http": {
            "url": "https://example.com/report", "method": "PUT", "body": {"a": 1},
            "headers": {"Authorization": "Bearer hunter2"},
        },
        "queue": "reports", "priority": 7, "tags": {"report": "nightly"}, "lease": "45s",
        "startBefore": "10m", "onExpiry": "cancel", "webhook": {"url": "https://example.com/hook"},
    });
    let body = json!({"name": "report", "every": "1h", "job": job});
    node.api("POST", "/schedules", body).await;
}

#[tokio::test]
async fn the_job_of_a_schedule_is_changed_by_its_fields_and_kept_where_they_stay() {
    let node = TestNode::start().await;
    scheduled_requests(&node).await;
    let stored = async || {
        let name = "report".parse().unwrap();
        let found = node.client.schedules_named(None, name).await.unwrap();
        found.into_iter().next().unwrap().template
    };
    let before = stored().await;
    let page = node.get("/schedules/report/edit").await.body;
    for shown in [
        "value=\"https://example.com/report\"",
        "<option selected>PUT",
        "authorization: ••••••",
        "value=\"reports\"",
        "value=\"10m\"",
        "report:nightly",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("hunter2"), "{page}");
    // What comes back as it was shown is no change, whatever ends its lines.
    let rule = [("every", "2h"), ("overlap", "skip"), ("missed", "skip")];
    let same = [
        ("url", "https://example.com/report"),
        ("method", "PUT"),
        ("headers", "authorization: ••••••"),
        ("body", "{\r\n  \"a\": 1\r\n}"),
        ("kind", ""),
        ("queue", "reports"),
    ];
    let edit = async |fields: &[(&str, &str)]| {
        let fields = [&rule, fields].concat();
        node.post("/schedules/report/edit", &form(&fields)).await
    };
    assert_eq!(edit(&same).await.status, 303);
    assert_eq!(stored().await, before);
    let mut changed = same;
    changed[3].1 = "[2]";
    changed[5].1 = "slow";
    let saved = edit(&changed).await;
    assert_eq!(saved.status, 303, "{}", saved.body);
    let after = stored().await;
    let payload = after.payload.as_str();
    for part in ["Bearer hunter2", "[2]", "PUT"] {
        assert!(payload.contains(part), "{part}: {payload}");
    }
    assert_eq!(after.queue.as_str(), "slow");
    let others = |job: &NewJob| {
        let job = job.clone();
        let rest = (job.lease(), job.tags().clone(), job.extras().cloned());
        (job.priority, job.policy, job.webhook, rest)
    };
    assert_eq!(others(&after), others(&before));
    // A job for a worker in its place, as JSON; a wrong one changes nothing.
    let refused = edit(&[("job", "{\"kind\": ")]).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert_eq!(edit(&[("job", "{\"kind\": \"report\"}")]).await.status, 303);
    assert_eq!(stored().await.kind.as_str(), "report");
    // A worker's job has no method, although a form always sends one.
    let kept = stored().await;
    assert_eq!(
        edit(&[("kind", "report"), ("method", "POST")]).await.status,
        303
    );
    assert_eq!(stored().await, kept);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_says_what_its_rule_means_while_a_person_types() {
    let node = TestNode::start().await;
    let browser = Browser::start(BrowserOptions::default()).await;
    let page = node.url("/schedules/new");
    browser.driver.goto(page).await.unwrap();
    browser
        .until("return document.documentElement.classList.contains('scripted')")
        .await;
    browser
        .type_into("input[name=timezone]", "Europe/Paris")
        .await;
    browser
        .type_into("input[name=schedule]", "30 2 * * MON-F")
        .await;
    browser
        .until("return document.querySelector('#rule-preview .note') !== null")
        .await;
    browser.type_into("input[name=schedule]", "RI").await;
    browser
        .until("return document.querySelector('#rule-preview h2')?.textContent.includes('at 02:30 on Monday to Friday')")
        .await;
    assert!(browser.text("#rule-preview li").await.contains("02:30"));
    assert_eq!(browser.count("#rule-preview li").await, 10);
    // Nothing was created, and the form has what was typed.
    let schedules = node.get("/schedules").await.body;
    assert!(schedules.contains("No schedules"), "{schedules}");
    browser.type_into("input[name=name]", "nightly").await;
    browser
        .type_into("input[name=url]", "https://example.com/report\n")
        .await;
    browser
        .until("return location.pathname.startsWith('/schedules/sch_')")
        .await;
    // It asks before it deletes, with a red button.
    browser.click("button.danger[value=delete]").await;
    assert_eq!(browser.text("main .big").await, "nightly");
    browser.click("main button.danger").await;
    assert_eq!(browser.text(".message").await, "Deleted.");
    browser.quit().await;
    node.stop().await;
}
