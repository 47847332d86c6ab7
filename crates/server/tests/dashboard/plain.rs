//! Pages over plain HTTP, without a browser.

use steadfast_core::{Failure, Job, Outcome, Payload, WorkerName};
use steadfast_engine::{JobRequest, Settlement};
use steadfast_store::{ClaimRequest, JobFilter, JobPageRequest};

use crate::{
    node::{EVIL, TestNode},
    seed,
};

pub const PAGES: [&str; 15] = [
    "/",
    "/?span=day",
    "/jobs",
    "/jobs?label=failed&text=503",
    "/schedules",
    "/dead-letters",
    "/dead-letters?reason=exhausted",
    "/queues",
    "/nodes",
    "/alerts",
    "/endpoints",
    "/keys",
    "/simulator",
    "/simulator?preset=patient&jitter=decorrelated&maxRetries=100&retry=9",
    "/simulator?preset=once",
];

async fn check_pages(node: &TestNode, pages: impl IntoIterator<Item = String>) {
    for page in pages {
        let answer = node.get(&page).await;
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{page}: {policy}");
        assert!(answer.body.contains("<main id=\"main\""), "{page}");
        // A strict policy would refuse these without a word.
        for inline in [" style=\"", "<script>", " onclick=", "javascript:"] {
            assert!(!answer.body.contains(inline), "{page} has {inline}");
        }
    }
}

#[tokio::test]
async fn every_page_is_there_when_nothing_is() {
    let node = TestNode::start().await;
    check_pages(&node, PAGES.map(str::to_owned)).await;
    let answer = node.get("/jobs").await;
    assert!(answer.body.contains("curl -X POST"), "says what to do");
    node.stop().await;
}

#[tokio::test]
async fn every_page_is_there_after_a_busy_hour() {
    let node = TestNode::start().await;
    let star = seed::busy_hour(&node).await;
    let schedules = node
        .client
        .schedules(None, steadfast_store::PageRequest::first(9))
        .await
        .unwrap();
    let mut pages: Vec<String> = PAGES.map(str::to_owned).into();
    pages.push(format!("/jobs/{star}"));
    pages.extend(
        schedules
            .items
            .iter()
            .map(|it| format!("/schedules/{}", it.id)),
    );
    check_pages(&node, pages).await;
    let job = node.get(&format!("/jobs/{star}")).await.body;
    assert!(job.contains("Next try after"), "says why");
    assert!(job.contains("exponential backoff gives"), "{job}");
    assert!(job.contains("data-countdown"), "counts down");
    let dead = node.get("/dead-letters").await.body;
    assert!(dead.contains("answered # for request #"), "folds numbers");
    node.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_said_as_a_page_and_as_json() {
    let node = TestNode::start().await;
    for path in [
        "/nowhere",
        "/jobs/job_x",
        "/jobs/%3Cscript%3E",
        "/schedules/sch_x",
    ] {
        let answer = node.get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.body.contains("<h1>Not found</h1>"), "{path}");
        assert!(!answer.body.contains("<script>"), "{path}");
    }
    let answer = node.get("/api/v1/nowhere").await;
    assert_eq!((answer.status, &answer.body[..1]), (404, "{"));
    let answer = node.get("/jobs?label=lost").await;
    assert_eq!(answer.status, 422);
    assert!(answer.body.contains("must be one of"), "{}", answer.body);
    node.stop().await;
}

#[tokio::test]
async fn assets_are_known_by_their_hash() {
    let node = TestNode::start().await;
    for file in ["/ui/steadfast.css", "/ui/steadfast.js", "/ui/icon.svg"] {
        let answer = node.get(file).await;
        assert_eq!(answer.status, 200, "{file}");
        assert!(!answer.body.contains("//cdn") && !answer.body.contains("@import"));
        let tag = answer.header("etag").unwrap();
        let again = node.ask("GET", file, &[("if-none-match", tag)], "").await;
        assert_eq!(again.status, 304, "{file}");
    }
    assert_eq!(node.get("/ui/../Cargo.toml").await.status, 404);
    node.stop().await;
}

/// A dead letter of a tenant, made by claiming and failing it.
pub async fn dead_letter(node: &TestNode, tenant: &str, message: &str) -> Job {
    let payload = Payload::encode(&serde_json::json!({"html": EVIL})).unwrap();
    let request = JobRequest::new("worker.kind", payload)
        .tenant(tenant)
        .retry(steadfast_core::Preset::Once);
    let id = node.client.enqueue(request).await.unwrap();
    let claim = ClaimRequest {
        worker: WorkerName::new("w").unwrap(),
        tenant: Some(tenant.parse().unwrap()),
        queues: Vec::new(),
        kinds: vec!["worker.kind".parse().unwrap()],
        except_kinds: Vec::new(),
        max: 10,
        lease: None,
    };
    let claims = node
        .node
        .claim(claim, std::time::Duration::ZERO)
        .await
        .unwrap();
    let settlements = claims.iter().map(|claim| Settlement {
        job: claim.job().id,
        fence: claim.fence(),
        outcome: Outcome::Failure {
            failure: Failure::new(steadfast_core::FailureClass::ERROR, message),
            output: Payload::encode(&serde_json::json!({"body": EVIL})).ok(),
        },
    });
    node.node.settle(settlements.collect(), None).await.unwrap();
    node.client.job(id).await.unwrap().unwrap()
}

#[tokio::test]
async fn text_of_jobs_stays_text_on_every_page_that_shows_it() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", EVIL).await;
    for page in ["/jobs", "/dead-letters", &format!("/jobs/{}", job.id)] {
        let body = node.get(page).await.body;
        assert!(body.contains("&#60;script&#62;document"), "{page}");
        assert!(
            !body.contains("<script>document") && !body.contains("<img"),
            "{page}"
        );
    }
    node.stop().await;
}

#[tokio::test]
async fn an_action_of_another_site_is_refused_and_does_nothing() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "no").await;
    let path = format!("/jobs/{}/act", job.id);
    for headers in [
        vec![],
        vec![("sec-fetch-site", "cross-site")],
        vec![("origin", "http://evil.example")],
    ] {
        let answer = node.ask("POST", &path, &headers, "action=discard").await;
        assert_eq!(answer.status, 403, "{headers:?}");
    }
    let kept = node.client.job(job.id).await.unwrap().unwrap();
    assert!(kept.is_dead_letter());
    let answer = node.post(&path, "action=discard").await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    let gone = node.client.job(job.id).await.unwrap().unwrap();
    assert!(!gone.is_dead_letter());
    node.stop().await;
}

#[tokio::test]
async fn all_that_match_are_counted_first_and_then_acted_on() {
    let node = TestNode::start().await;
    for number in 0..3 {
        dead_letter(&node, "default", &format!("row {number} is broken")).await;
    }
    dead_letter(&node, "default", "disk full").await;
    let form = "scope=all&deadLetters=1&action=discard&text=broken&back=/dead-letters";
    let asked = node.post("/jobs/act", form).await;
    assert_eq!(asked.status, 200);
    assert!(asked.body.contains("3 dead letters"), "{}", asked.body);
    assert_eq!(dead(&node).await, 4, "nothing was done yet");
    let answer = node.post("/jobs/act", &format!("{form}&confirmed=1")).await;
    assert_eq!(
        answer.header("location"),
        Some("/dead-letters?did=discard&n=3")
    );
    assert_eq!(dead(&node).await, 1);
    node.stop().await;
}

async fn dead(node: &TestNode) -> u64 {
    node.client
        .count(JobFilter::dead_letters(), 100)
        .await
        .unwrap()
}

#[tokio::test]
async fn an_edited_payload_goes_off_again_and_nonsense_is_refused() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "no").await;
    let path = format!("/jobs/{}/act", job.id);
    let answer = node.post(&path, "action=retry&payload=%7Bnonsense").await;
    assert_eq!(answer.status, 422);
    let answer = node
        .post(&path, "action=retry&payload=%7B%22a%22%3A1%7D")
        .await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    let job = node.client.job(job.id).await.unwrap().unwrap();
    assert_eq!(job.payload.as_str(), r#"{"a":1}"#);
    assert!(!job.progress.state.is_final());
    node.stop().await;
}

#[tokio::test]
async fn queues_and_schedules_are_paused_and_resumed() {
    let node = TestNode::start().await;
    seed::busy_hour(&node).await;
    let form = "queue=mail&tenant=shop&action=pause";
    assert_eq!(node.post("/queues/act", form).await.status, 303);
    assert!(node.get("/queues").await.body.contains("chip-paused"));
    let listed = node
        .client
        .schedules(None, steadfast_store::PageRequest::first(1))
        .await
        .unwrap();
    let id = listed.items[0].id;
    let path = format!("/schedules/{id}/act");
    assert_eq!(node.post(&path, "action=pause").await.status, 303);
    assert!(node.client.find_schedule(id).await.unwrap().unwrap().paused);
    let ran = node.post(&path, "action=run-now").await;
    assert!(ran.header("location").unwrap().starts_with("/jobs/job_"));
    let filter = JobFilter {
        schedule: Some(id),
        ..JobFilter::default()
    };
    let runs = node
        .client
        .jobs(filter, JobPageRequest::first(5))
        .await
        .unwrap();
    assert!(!runs.items.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn a_secret_of_an_endpoint_is_shown_once() {
    let node = TestNode::start().await;
    let form = "action=create&url=https%3A%2F%2Fexample.com%2Fhook&event=job.failed";
    let made = node.post("/endpoints/act", form).await;
    assert!(made.body.contains("whsec_"), "{}", made.body);
    assert!(!node.get("/endpoints").await.body.contains("whsec_"));
    let wrong = node
        .post("/endpoints/act", "action=create&url=nonsense")
        .await;
    assert_eq!(wrong.status, 422);
    node.stop().await;
}
