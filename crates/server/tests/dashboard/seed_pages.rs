//! At least one thing of every kind, and the pages that show them.

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_core::{Failure, Kind, LogLines, Outcome, Payload, WorkerName};
use steadfast_engine::Settlement;
use steadfast_store::ClaimRequest;

use crate::{node::TestNode, seed};

/// The pages of the dashboard, each with a name: every section, every detail, every form.
pub async fn every_page(node: &TestNode) -> Vec<(String, String)> {
    let payment = seed::busy_hour(node).await;
    let waiting = seed::flow(node).await;
    let endpoint = endpoint(node).await;
    let (batch, failed, succeeded) = batch(node).await;
    let (first, second) = chain(node, &failed).await;
    let running = running(node).await;
    let delivery = delivery(node).await;
    let operation = operation(node).await;
    let schedules = node.api("GET", "/schedules", Value::Null).await;
    let schedule = text(&schedules["schedules"][0], "id");
    let failures = node.api("GET", "/failures?tenant=shop", Value::Null).await;
    let fingerprint = text(&failures["failures"][0], "fingerprint");
    let warehouse = "https%3A%2F%2Fapi.warehouse.example";
    let pages = [
        ("overview", "/".to_owned()),
        ("overview-day", "/?span=day".to_owned()),
        ("alerts", "/alerts".to_owned()),
        ("jobs", "/jobs".to_owned()),
        ("jobs-search", "/jobs?label=failed&text=503".to_owned()),
        ("jobs-none", "/jobs?kind=nothing".to_owned()),
        ("job-form", "/jobs/new".to_owned()),
        ("job-form-like", format!("/jobs/new?like={payment}")),
        ("job-payment", format!("/jobs/{payment}")),
        ("job-waiting", format!("/jobs/{waiting}")),
        ("job-failed", format!("/jobs/{failed}")),
        ("job-succeeded", format!("/jobs/{succeeded}")),
        ("job-first", format!("/jobs/{first}")),
        ("job-second", format!("/jobs/{second}")),
        ("job-running", format!("/jobs/{running}")),
        ("job-delivery", format!("/jobs/{delivery}")),
        ("batches", "/batches".to_owned()),
        ("batch", format!("/batches/{batch}")),
        ("schedules", "/schedules".to_owned()),
        ("schedule", format!("/schedules/{schedule}")),
        ("schedule-form", "/schedules/new".to_owned()),
        ("schedule-edit", format!("/schedules/{schedule}/edit")),
        ("dead-letters", "/dead-letters".to_owned()),
        (
            "dead-letters-group",
            format!("/dead-letters?fingerprint={fingerprint}&tenant=shop"),
        ),
        ("failures", "/failures".to_owned()),
        (
            "failure",
            format!("/failures?fingerprint={fingerprint}&tenant=shop"),
        ),
        ("operations", "/operations".to_owned()),
        ("operation", operation),
        ("queues", "/queues".to_owned()),
        ("queue-why", "/queues/why?queue=mail&tenant=shop".to_owned()),
        ("gates", "/gates".to_owned()),
        ("destinations", "/destinations".to_owned()),
        ("destination", format!("/destinations?show={warehouse}")),
        ("nodes", "/nodes".to_owned()),
        ("endpoints", "/endpoints".to_owned()),
        ("endpoint", format!("/endpoints/{endpoint}")),
        ("keys", "/keys".to_owned()),
        ("audit", "/audit".to_owned()),
        (
            "simulator",
            "/simulator?preset=http&maxRetries=8&jitter=full".to_owned(),
        ),
        ("error", "/nowhere".to_owned()),
    ];
    pages
        .map(|(name, path)| (name.to_owned(), path))
        .into_iter()
        .collect()
}

fn text(value: &Value, name: &str) -> String {
    let text = value[name].as_str();
    text.unwrap_or_else(|| panic!("no {name} in {value}"))
        .to_owned()
}

/// The ids and fences of claimed jobs.
async fn claim(node: &TestNode, kind: &str, max: u32) -> Vec<(String, Value)> {
    let info =
        json!({"version": "2.4.1", "host": "web-7", "concurrency": 20, "library": "python 1.0.2"});
    let body = json!({
        "worker": "worker-eu-3", "kinds": [kind], "max": max, "lease": "10m", "workerInfo": info,
    });
    let claims = node.api("POST", "/claims", body).await;
    let claims = claims["claims"].as_array().unwrap().iter();
    let claims = claims.map(|it| (text(it, "id"), it["fence"].clone()));
    claims.collect()
}

async fn report(node: &TestNode, claim: &(String, Value), report: &str, mut body: Value) {
    let (id, fence) = claim;
    body["fence"] = fence.clone();
    let path = format!("/claims/{id}/{report}");
    node.api("POST", &path, body).await;
}

async fn endpoint(node: &TestNode) -> String {
    let body = json!({
        "url": "https://hooks.shop.example/steadfast", "tenant": "shop",
        "events": ["job.failed", "job.succeeded"],
    });
    let created = node.api("POST", "/endpoints", body).await;
    let disabled = json!({
        "url": "https://old.shop.example/hook", "tenant": "shop", "events": ["alert.fired"],
    });
    let disabled = node.api("POST", "/endpoints", disabled).await;
    let path = format!("/endpoints/{}/disable", text(&disabled, "id"));
    node.api("POST", &path, json!({})).await;
    text(&created, "id")
}

const TRACE: &str = "Traceback (most recent call last):
  File \"/srv/shop/importer/pages.py\", line 118, in import_page
    rows = parse(page.body, encoding=page.encoding)
  File \"/srv/shop/importer/parse.py\", line 41, in parse
    return [Row.from_cells(cells) for cells in reader]
  File \"/srv/shop/importer/rows.py\", line 77, in from_cells
    price = Decimal(cells[3].replace(',', '.'))
decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]";

/// A batch with a job of each outcome: its id, and those of the failed and of a succeeded one.
async fn batch(node: &TestNode) -> (String, String, String) {
    let jobs = (1..=6).map(|page| json!({"kind": "page.import", "queue": "imports", "payload": {"page": page, "catalogue": "autumn"}}));
    let body = json!({
        "name": "Catalogue of autumn", "tenant": "shop", "jobs": jobs.collect::<Vec<_>>(),
        "onSuccess": {"kind": "catalogue.publish"}, "onEnd": {"kind": "mail.send"},
    });
    let batch = node.api("POST", "/batches", body).await;
    let claims = claim(node, "page.import", 4).await;
    for claim in &claims[1..] {
        let result = json!({"result": {"rows": 480, "skipped": 3}});
        report(node, claim, "succeed", result).await;
    }
    let (id, fence) = &claims[0];
    for (step, result) in [
        ("download", json!({"bytes": 48_213, "etag": "\"5f3a\""})),
        ("reserve-stock", json!({"receipt": 17})),
    ] {
        let body = json!({"fence": fence, "result": result});
        let path = format!("/claims/{id}/steps/{step}");
        node.api("PUT", &path, body).await;
    }
    let note = json!({"note": "row 312 of 480", "progress": 65});
    report(node, &claims[0], "heartbeat", note).await;
    let failure = json!({
        "class": "InvalidOperation", "permanent": true, "trace": TRACE,
        "message": "price of row 312 cannot be read: '12,90 EUR'",
    });
    report(node, &claims[0], "fail", json!({"failure": failure})).await;
    (text(&batch, "id"), id.clone(), claims[1].0.clone())
}

/// A job that waits for a failed one, and one that waits for it.
async fn chain(node: &TestNode, failed: &str) -> (String, String) {
    let body = json!({
        "kind": "catalogue.check", "queue": "imports", "tenant": "shop", "after": [failed],
        "onFailure": "wait", "unique": {"key": "autumn"},
    });
    let first = text(&node.api("POST", "/jobs", body).await, "id");
    let body = json!({
        "kind": "catalogue.print", "queue": "documents", "tenant": "shop", "after": [first],
        "tags": {"catalogue": "autumn", "edition": "2"}, "concurrencyKey": "printer-2",
    });
    let second = text(&node.api("POST", "/jobs", body).await, "id");
    (first, second)
}

async fn running(node: &TestNode) -> String {
    let body = json!({
        "kind": "report.yearly", "queue": "reports", "tenant": "shop", "payload": {"year": 2_026},
    });
    node.api("POST", "/jobs", body).await;
    let claims = claim(node, "report.yearly", 1).await;
    let note = json!({"note": "page 3 of 7", "progress": 40});
    report(node, &claims[0], "heartbeat", note).await;
    claims[0].0.clone()
}

/// A webhook that was answered with an error.
async fn delivery(node: &TestNode) -> String {
    let mut request = ClaimRequest::new(WorkerName::new("node-1").unwrap(), 3);
    request.kinds = vec![Kind::webhook()];
    let claims = node.node.claim(request, Duration::ZERO).await;
    let claims = claims.unwrap().take();
    let output = json!({
        "status": 502, "headers": {"content-type": "text/html", "server": "nginx"},
        "body": "<html><h1>502 Bad Gateway</h1></html>",
        "timings": {"dnsMs": 3, "connectMs": 14, "tlsMs": 31, "firstByteMs": 220, "bodyMs": 2},
    });
    let settlements = claims.iter().enumerate().map(|(index, claim)| Settlement {
        on_success: Vec::new(),
        usage: None,
        job: claim.job().id,
        fence: claim.fence(),
        log: LogLines::default(),
        outcome: match index {
            0 => Outcome::Failure {
                failure: Failure::http(502, "hooks.shop.example answered 502 Bad Gateway"),
                output: Payload::encode(&output).ok(),
            },
            _ => Outcome::Success { output: None },
        },
    });
    let settlements = settlements.collect();
    let settled = node.node.settle(settlements, None).await.unwrap();
    assert!(settled.iter().all(Result::is_ok));
    claims[0].job().id.to_string()
}

/// One that has paused: the path of its page.
async fn operation(node: &TestNode) -> String {
    let form = "scope=all&deadLetters=1&action=retry&tenant=shop&kind=mail.send&confirmed=1&canary=1&pace=50&back=/";
    let response = node.post("/jobs/act", form).await;
    let path = response.header("location").unwrap().to_owned();
    let act = format!("{path}/act");
    assert_eq!(node.post(&act, "action=pause").await.status, 303);
    path
}
