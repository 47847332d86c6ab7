//! Pages over plain HTTP, without a browser.

mod certificate;
mod dead_letters;
mod gates;
mod schedules;

use crate::{
    node::{MARKUP, TestNode},
    seed,
    worker_jobs::dead_letter,
};

pub const PAGES: [&str; 29] = [
    "/jobs/new",
    "/",
    "/?span=day",
    "/jobs",
    "/jobs?label=failed&text=503",
    "/schedules",
    "/dead-letters",
    "/dead-letters?reason=exhausted",
    "/failures",
    "/failures?state=new&class=http",
    "/batches",
    "/batches?unfinished=1",
    "/operations",
    "/operations?open=1",
    "/audit",
    "/audit?action=job.&by=ann&subject=job_1",
    "/queues",
    "/gates",
    "/destinations",
    "/destinations?show=https%3A%2F%2Fapi.example.com",
    "/nodes",
    "/alerts",
    "/endpoints",
    "/keys",
    "/simulator",
    "/simulator?preset=patient&jitter=decorrelated&maxRetries=100&retry=9",
    "/simulator?preset=once",
    "/simulator?preset=once&queue=default",
    "/simulator/outage",
];

async fn check_pages(node: &TestNode, pages: impl IntoIterator<Item = String>) {
    for page in pages {
        let response = node.get(&page).await;
        assert_eq!(response.status, 200, "{page}: {}", response.body);
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{page}: {policy}");
        assert!(response.body.contains("<main id=\"main\""), "{page}");
        // The content security policy would silently block these.
        for inline in [" style=\"", "<script>", " onclick=", "javascript:"] {
            assert!(!response.body.contains(inline), "{page} has {inline}");
        }
    }
}

#[tokio::test]
async fn every_page_works_on_an_empty_store() {
    let node = TestNode::start().await;
    check_pages(&node, PAGES.map(str::to_owned)).await;
    let response = node.get("/jobs").await;
    assert!(
        response.body.contains("curl -X POST"),
        "shows how to create a job"
    );
    node.stop().await;
}

#[tokio::test]
async fn every_page_works_after_a_busy_hour() {
    let node = TestNode::start().await;
    let payment = seed::busy_hour(&node).await;
    let schedules = node
        .client
        .schedules(None, steadfast_store::PageRequest::first(9))
        .await
        .unwrap();
    let mut pages: Vec<String> = PAGES.map(str::to_owned).into();
    pages.push(format!("/jobs/{payment}"));
    pages.extend(
        schedules
            .items
            .iter()
            .map(|it| format!("/schedules/{}", it.id)),
    );
    check_pages(&node, pages).await;
    let job = node.get(&format!("/jobs/{payment}")).await.body;
    assert!(job.contains("Retry 1 of 7 in"), "explains the retry");
    assert!(job.contains("exponential backoff gives"), "{job}");
    assert!(job.contains("data-countdown"), "counts down");
    let dead = node.get("/dead-letters").await.body;
    assert!(dead.contains("for request #"), "folds numbers");
    node.stop().await;
}

#[tokio::test]
async fn an_unknown_address_is_answered_with_a_page_and_below_api_with_json() {
    let node = TestNode::start().await;
    for path in [
        "/nowhere",
        "/jobs/job_x",
        "/jobs/%3Cscript%3E",
        "/schedules/sch_x",
    ] {
        let response = node.get(path).await;
        assert_eq!(response.status, 404, "{path}");
        assert!(response.body.contains("<h1>Not found</h1>"), "{path}");
        assert!(!response.body.contains("<script>"), "{path}");
    }
    let response = node.get("/api/v1/nowhere").await;
    assert_eq!((response.status, &response.body[..1]), (404, "{"));
    node.stop().await;
}

#[tokio::test]
async fn a_list_after_an_unknown_cursor_begins_at_the_first_page() {
    let node = TestNode::start().await;
    for path in [
        "/jobs",
        "/dead-letters",
        "/failures",
        "/schedules",
        "/batches",
        "/operations",
        "/audit",
    ] {
        let response = node.get(&format!("{path}?after=nope")).await;
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        let first = node.get(path).await.body;
        let title = first.split("<title>").nth(1).unwrap();
        let title = title.split("</title>").next().unwrap();
        assert!(response.body.contains(title), "{path}");
    }
    node.stop().await;
}

#[tokio::test]
async fn assets_are_revalidated_by_their_hash() {
    let node = TestNode::start().await;
    for file in [
        "/ui/steadfast.css",
        "/ui/parts.css",
        "/ui/charts.css",
        "/ui/jobs.css",
        "/ui/keyboard.css",
        "/ui/keyboard.js",
        "/ui/steadfast.js",
        "/ui/icon.svg",
    ] {
        let response = node.get(file).await;
        assert_eq!(response.status, 200, "{file}");
        assert!(!response.body.contains("//cdn") && !response.body.contains("@import"));
        let tag = response.header("etag").unwrap();
        let again = node
            .request("GET", file, &[("if-none-match", tag)], "")
            .await;
        assert_eq!(again.status, 304, "{file}");
    }
    assert_eq!(node.get("/ui/../Cargo.toml").await.status, 404);
    let licence = node.get("/ui/inter-LICENSE.txt").await.body;
    assert!(licence.contains("SIL OPEN FONT LICENSE"), "{licence}");
    node.stop().await;
}

#[tokio::test]
async fn markup_in_a_job_stays_text_on_every_page() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", MARKUP).await;
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
async fn a_secret_of_an_endpoint_is_shown_once() {
    let node = TestNode::start().await;
    let form = "action=create&url=https%3A%2F%2Fexample.com%2Fhook&event=job.failed";
    let created = node.post("/endpoints/act", form).await;
    assert!(
        created.body.contains("data-copy=\"whsec_"),
        "{}",
        created.body
    );
    assert!(created.body.contains("keeps it to sign deliveries"));
    assert!(!node.get("/endpoints").await.body.contains("whsec_"));
    let wrong = node
        .post("/endpoints/act", "action=create&url=nonsense")
        .await;
    assert_eq!(wrong.status, 422);
    node.stop().await;
}

#[tokio::test]
async fn a_page_that_does_not_exist_keeps_the_navigation_and_an_empty_one_names_its_address() {
    let node = TestNode::start().await;
    let missing = node.get("/nowhere").await;
    assert_eq!(missing.status, 404);
    assert!(
        missing.body.contains("href=\"/dead-letters\""),
        "{}",
        missing.body
    );
    for page in ["/", "/jobs", "/schedules"] {
        let body = node.get(page).await.body;
        let address = format!("http://{}/api/v1/", node.address);
        assert!(body.contains(&address), "{page}: {body}");
        assert!(!body.contains("authorization"), "{page}");
    }
    let docs = node.get("/api/docs/").await;
    for (name, value) in [
        ("content-security-policy", "frame-ancestors 'none'"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        let header = docs.header(name).unwrap_or_default();
        assert!(header.contains(value), "{name}: {header}");
    }
    node.stop().await;
}
