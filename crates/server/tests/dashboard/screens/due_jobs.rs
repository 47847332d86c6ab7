//! What pages say of jobs that are due and do not start.

use serde_json::json;
use steadfast_core::Payload;
use steadfast_engine::JobRequest;
use steadfast_store::{Document, DocumentKind, Outbox};

use crate::{
    node::{FailingJob, TestNode},
    worker_jobs::worker_job,
};

const HOST: &str = "https://api.stripe.example";

fn job(queue: &str) -> JobRequest {
    let input = FailingJob {
        note: String::new(),
    };
    JobRequest::of(&input).queue(queue)
}

async fn stop(node: &TestNode, path: &str, form: &str) {
    let found = node.post(path, form).await;
    assert_eq!(found.status, 303, "{path}: {}", found.body);
}

/// Three jobs behind a held destination, two behind a paused queue, one without a worker.
pub async fn stopped_jobs(node: &TestNode) {
    let form = format!("action=hold&confirmed=1&destination={HOST}");
    stop(node, "/destinations/act", &form).await;
    stop(node, "/queues/act", "queue=index&action=pause").await;
    for _ in 0..3 {
        let held = job("payments").destination(HOST);
        node.client.enqueue(held).await.unwrap();
    }
    for _ in 0..2 {
        node.client.enqueue(job("index")).await.unwrap();
    }
    node.client.enqueue(worker_job("default")).await.unwrap();
    // An action makes the next page read all counts again.
    stop(node, "/queues/act", "queue=other&action=pause").await;
}

#[tokio::test]
async fn the_overview_says_what_stops_due_jobs() {
    let node = TestNode::start().await;
    stopped_jobs(&node).await;
    let page = node.get("/").await.body;
    for part in [
        "<dt>Due</dt><dd>6</dd>",
        "<a href=\"/jobs?label=ready\">0</a></dd>",
        "<li>3 held: <a href=\"/destinations?show=https%3A%2F%2Fapi.stripe.example\">",
        "<li>2 paused: <a href=\"/queues?q=index\">queue index",
        "<li>1 without a worker: <a href=\"/jobs?label=ready&#38;kind=worker.kind\">",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("at the current rate"), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn due_jobs_that_nothing_stops_can_start() {
    let node = TestNode::start().await;
    stopped_jobs(&node).await;
    stop(
        &node,
        "/destinations/act",
        &format!("action=release&destination={HOST}"),
    )
    .await;
    stop(&node, "/queues/act", "queue=index&action=resume").await;
    // What the paused and held jobs waited for is over; one still has no worker.
    let page = node.get("/").await.body;
    assert!(!page.contains(" held: "), "{page}");
    assert!(!page.contains(" paused: "), "{page}");
    assert!(page.contains("1 without a worker"), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn a_stuck_queue_comes_first_with_its_reason_and_the_cure() {
    let node = TestNode::start().await;
    stopped_jobs(&node).await;
    let page = node.get("/queues").await.body;
    assert!(page.contains("6 due, 0 can start"), "{page}");
    let rows: Vec<&str> = page.split("<tr").skip(2).collect();
    assert!(rows[0].starts_with(" class=\"stuck\""), "{}", rows[0]);
    assert!(rows[0].contains("queue=payments"), "{}", rows[0]);
    for part in ["3 held", HOST, "value=\"release\">Release https://api"] {
        assert!(rows[0].contains(part), "{part}: {}", rows[0]);
    }
    assert!(
        rows[1].contains("value=\"resume\">Resume queue index"),
        "{}",
        rows[1]
    );
    // The button does what it says.
    let found = node
        .post(
            "/gates/act",
            "id=queue+default+index&action=resume&back=/queues",
        )
        .await;
    assert_eq!(found.header("location"), Some("/queues?did=resume"));
    let page = node.get("/queues?q=index").await.body;
    assert!(!page.contains("Resume queue index"), "{page}");
    assert!(!page.contains("queue=payments"), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn a_job_without_a_worker_waits_for_one_and_has_no_future() {
    let node = TestNode::start().await;
    let id = node.client.enqueue(worker_job("default")).await.unwrap();
    let page = node.get(&format!("/jobs/{id}")).await.body;
    assert!(page.contains("It waits for a worker."), "{page}");
    assert!(
        page.contains("No live node or worker serves kind worker.kind"),
        "{page}"
    );
    for part in [
        "can start as soon as",
        "class=\"future\"",
        "<h2>Upcoming</h2>",
    ] {
        assert!(!page.contains(part), "{part}: {page}");
    }
    node.stop().await;
}

#[tokio::test]
async fn a_job_behind_a_pause_offers_to_resume_it_and_has_no_future() {
    let node = TestNode::start().await;
    stop(
        &node,
        "/queues/act",
        "queue=index&action=pause&reason=migration",
    )
    .await;
    let id = node.client.enqueue(job("index")).await.unwrap();
    let page = node.get(&format!("/jobs/{id}")).await.body;
    assert!(page.contains("It cannot start yet."), "{page}");
    assert!(
        page.contains("value=\"resume\">Resume queue index"),
        "{page}"
    );
    assert!(!page.contains("<h2>Upcoming</h2>"), "{page}");
    let form = format!("id=queue+default+index&action=resume&back=/jobs/{id}");
    let found = node.post("/gates/act", &form).await;
    let back = format!("/jobs/{id}?did=resume");
    assert_eq!(found.header("location"), Some(back.as_str()));
    node.stop().await;
}

#[tokio::test]
async fn a_hold_asks_first_and_says_how_many_jobs_it_stops() {
    let node = TestNode::start().await;
    let form = format!("action=hold&destination={HOST}");
    let later = job("payments").destination(HOST);
    let later = later.delay(std::time::Duration::from_secs(3_600));
    node.client.enqueue(later).await.unwrap();
    let asked = node.post("/destinations/act", &form).await;
    assert_eq!(asked.status, 200);
    assert!(
        asked.body.contains("1 unfinished job calls it."),
        "{}",
        asked.body
    );
    assert!(asked.body.contains("name=\"reason\""), "{}", asked.body);
    let page = node.get(&format!("/destinations?show={HOST}")).await.body;
    assert!(!page.contains("value=\"release\""), "not held yet: {page}");
    stop(
        &node,
        "/destinations/act",
        &format!("{form}&confirmed=1&reason=they+asked"),
    )
    .await;
    let page = node.get(&format!("/destinations?show={HOST}")).await.body;
    assert!(page.contains("they asked"), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn a_destination_that_is_only_watched_offers_to_be_held_automatically() {
    let node = TestNode::start().await;
    let form = format!("action=set&scope=destination&key={HOST}&hold=watch");
    stop(&node, "/gates/act", &form).await;
    let now = node.client.now();
    let failures = json!({"is": "failures", "attempts": 61, "failed": 58, "jobs": 40});
    let incident = json!({
        "beganAt": now, "failedAttempts": 1_234, "failedProbes": 4, "cause": failures,
    });
    let health = json!({"phase": {"is": "held", "nextProbeAt": now}, "incident": incident});
    let document = Document {
        kind: DocumentKind::Destination,
        id: HOST.to_owned(),
        body: Payload::encode(&health).unwrap(),
        revision: 0,
    };
    let store = node.node.store();
    let saved = store.save_document(document, Outbox::default()).await;
    saved.unwrap();
    let path = format!("/destinations?show={HOST}");
    let button = "value=\"auto\">Hold automatically</button>";
    let page = node.get(&path).await.body;
    assert!(page.contains(button), "{page}");
    let form = format!("action=hold&destination={HOST}");
    let asked = node.post("/destinations/act", &form).await.body;
    let saved = "holding would have saved 1,230 attempts.";
    assert!(asked.contains(saved), "{asked}");
    let form = format!("action=auto&destination={HOST}");
    stop(&node, "/destinations/act", &form).await;
    let gate = node.api("GET", "/gates", serde_json::Value::Null).await;
    assert_eq!(gate["gates"][0]["hold"], "auto", "{gate:#}");
    let page = node.get(&path).await.body;
    assert!(!page.contains(button), "{page}");
    node.stop().await;
}
