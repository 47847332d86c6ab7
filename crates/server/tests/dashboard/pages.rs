//! Pages over plain HTTP, without a browser.

use steadfast_core::{Failure, Job, Outcome, Payload, WorkerName};
use steadfast_engine::{JobRequest, Settlement};
use steadfast_store::{ClaimRequest, JobFilter, JobPageRequest};

use crate::{
    node::{MARKUP, TestNode},
    seed,
};

pub const PAGES: [&str; 28] = [
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
    let response = node.get("/jobs?label=lost").await;
    assert_eq!(response.status, 422);
    assert!(
        response.body.contains("must be one of"),
        "{}",
        response.body
    );
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

/// A job for a worker of the test, which fails only when the test says so.
pub fn worker_job(tenant: &str) -> JobRequest {
    let payload = Payload::encode(&serde_json::json!({"html": MARKUP})).unwrap();
    JobRequest::new("worker.kind", payload).tenant(tenant)
}

/// A dead letter of a tenant: a job that was claimed and failed.
pub async fn dead_letter(node: &TestNode, tenant: &str, message: &str) -> Job {
    let request = worker_job(tenant).retry(steadfast_core::Preset::Once);
    let id = node.client.enqueue(request).await.unwrap();
    fail_claimable(node, tenant, message).await;
    node.client.job(id).await.unwrap().unwrap()
}

/// Claims the due worker jobs of a tenant, and fails them.
pub async fn fail_claimable(node: &TestNode, tenant: &str, message: &str) {
    let claim = ClaimRequest {
        worker: WorkerName::new("w").unwrap(),
        tenant: Some(tenant.parse().unwrap()),
        queues: Vec::new(),
        kinds: vec!["worker.kind".parse().unwrap()],
        except_kinds: Vec::new(),
        max: 1_000,
        lease: None,
        within_timeout: false,
        gates: std::sync::Arc::default(),
        allowance: None,
    };
    let claims = node
        .node
        .claim(claim, std::time::Duration::ZERO)
        .await
        .unwrap();
    let claims = claims.take();
    let settlements = claims.iter().map(|claim| Settlement {
        on_success: Vec::new(),
        job: claim.job().id,
        fence: claim.fence(),
        outcome: Outcome::Failure {
            failure: Failure::new(steadfast_core::FailureClass::ERROR, message),
            output: Payload::encode(&serde_json::json!({"body": MARKUP})).ok(),
        },
    });
    node.node.settle(settlements.collect(), None).await.unwrap();
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
async fn an_action_from_another_site_is_refused_and_changes_nothing() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "no").await;
    let path = format!("/jobs/{}/act", job.id);
    for headers in [
        vec![],
        vec![("sec-fetch-site", "cross-site")],
        vec![("origin", "http://evil.example")],
    ] {
        let response = node
            .request("POST", &path, &headers, "action=discard")
            .await;
        assert_eq!(response.status, 403, "{headers:?}");
    }
    let kept = node.client.job(job.id).await.unwrap().unwrap();
    assert!(kept.is_dead_letter());
    // It asks first, and asking changes nothing.
    let asked = node.post(&path, "action=discard&back=/dead-letters").await;
    assert_eq!(asked.status, 200, "{}", asked.body);
    assert!(asked.body.contains("<h1>Discard?</h1>"), "{}", asked.body);
    assert!(asked.body.contains("value=\"/dead-letters\""));
    let kept = node.client.job(job.id).await.unwrap().unwrap();
    assert!(kept.is_dead_letter());
    let response = node.post(&path, "action=discard&confirmed=1").await;
    assert_eq!(response.status, 303, "{}", response.body);
    let gone = node.client.job(job.id).await.unwrap().unwrap();
    assert!(!gone.is_dead_letter());
    node.stop().await;
}

#[tokio::test]
async fn a_bulk_action_counts_its_jobs_before_it_runs() {
    let node = TestNode::start().await;
    for number in 0..3 {
        dead_letter(&node, "default", &format!("row {number} is broken")).await;
    }
    dead_letter(&node, "default", "disk full").await;
    let form = "scope=all&deadLetters=1&action=discard&text=broken&back=/dead-letters";
    let confirm = node.post("/jobs/act", form).await;
    assert_eq!(confirm.status, 200);
    let button = "Discard 3 dead letters</button>";
    assert!(confirm.body.contains(button), "{}", confirm.body);
    assert_eq!(count_dead_letters(&node).await, 4, "nothing was done yet");
    let response = node.post("/jobs/act", &format!("{form}&confirmed=1")).await;
    assert_eq!(
        response.header("location"),
        Some("/dead-letters?did=discard&n=3")
    );
    assert_eq!(count_dead_letters(&node).await, 1);
    node.stop().await;
}

#[tokio::test]
async fn the_dead_letters_of_one_failure_are_discarded_together_and_others_stay() {
    let node = TestNode::start().await;
    let once = || worker_job("default").retry(steadfast_core::Preset::Once);
    let requests = std::iter::repeat_with(once).take(51);
    node.client.enqueue_all(requests).await.unwrap();
    fail_claimable(&node, "default", "row 1 is broken").await;
    let request = worker_job("other").retry(steadfast_core::Preset::Once);
    node.client.enqueue(request).await.unwrap();
    fail_claimable(&node, "other", "no disk").await;
    let page = node.get("/dead-letters").await.body;
    assert!(page.contains("51×") && page.contains("1×"), "{page}");
    let group = page.split("id=\"group-").nth(1).unwrap();
    let group = group.split('"').next().unwrap();
    let form = format!("scope=all&deadLetters=1&action=discard&fingerprint={group}&tenant=default");
    let confirm = node.post("/jobs/act", &form).await.body;
    assert!(
        confirm.contains("Discard 51 dead letters</button>"),
        "{confirm}"
    );
    assert!(confirm.contains(group), "names the group");
    let response = node.post("/jobs/act", &format!("{form}&confirmed=1")).await;
    let location = response.header("location").unwrap();
    assert!(location.ends_with("did=discard&n=51"), "{location}");
    node.stop().await;
}

pub async fn count_dead_letters(node: &TestNode) -> u64 {
    node.client
        .count(JobFilter::dead_letters(), 100)
        .await
        .unwrap()
        .count
}

#[tokio::test]
async fn a_job_is_retried_with_an_edited_payload_and_invalid_json_is_refused() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "no").await;
    let path = format!("/jobs/{}/act", job.id);
    let response = node.post(&path, "action=retry&payload=%7Bnonsense").await;
    assert_eq!(response.status, 422);
    let response = node
        .post(&path, "action=retry&payload=%7B%22a%22%3A1%7D")
        .await;
    assert_eq!(response.status, 303, "{}", response.body);
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
    // What is paused for all tenants is not resumed for one.
    let form = "action=set&scope=queue&key=mail&paused=1&reason=they+move";
    assert_eq!(node.post("/gates/act", form).await.status, 303);
    let form = "queue=mail&tenant=shop&action=resume";
    let refused = node.post("/queues/act", form).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("they move"), "{}", refused.body);
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
async fn a_schedule_is_created_shown_in_its_zone_and_edited() {
    let node = TestNode::start().await;
    let rule = "schedule=0+9+*+*+MON-FRI&timezone=America%2FNew_York&overlap=skip&missed=skip";
    let shown = node
        .post(
            "/schedules/new",
            &format!("action=preview&name=report&{rule}"),
        )
        .await;
    assert_eq!(shown.status, 200);
    for part in [
        "It runs at 09:00 on Monday to Friday",
        "09:00:00 America/New_York",
        "value=\"report\"",
    ] {
        assert!(shown.body.contains(part), "{part}: {}", shown.body);
    }
    let form = format!("name=report&kind=report&payload=%7B%22a%22%3A1%7D&{rule}");
    for (wrong, sentence) in [
        (
            form.replace("kind=report", "kind="),
            "needs a URL or a kind",
        ),
        (form.replace("0+9", "0+99"), "0 to 23 in the hour field"),
        (form.replace("%7D", ""), "payload must be JSON"),
        (form.replace("New_York", "Nowhere"), "Nowhere"),
    ] {
        let refused = node.post("/schedules/new", &wrong).await;
        assert_eq!(refused.status, 422, "{wrong}");
        assert!(
            refused.body.contains(sentence),
            "{sentence}: {}",
            refused.body
        );
        assert!(refused.body.contains("America"), "what was entered stays");
    }
    let created = node.post("/schedules/new", &form).await;
    assert_eq!(created.status, 303, "{}", created.body);
    assert_eq!(node.post("/schedules/new", &form).await.status, 409);
    let page = node.get("/schedules/report").await.body;
    assert!(page.contains("at 09:00 on Monday to Friday"), "{page}");
    let edit = node.get("/schedules/report/edit").await.body;
    assert!(edit.contains("value=\"0 9 * * MON-FRI\""), "{edit}");
    let form = "schedule=&every=90s&timezone=&overlap=allow&missed=runAll&maxRuns=7";
    let saved = node.post("/schedules/report/edit", form).await;
    assert_eq!(saved.status, 303, "{}", saved.body);
    let page = node.get("/schedules/report").await.body;
    assert!(page.contains("every 1m30s"), "{page}");
    assert!(page.contains("runs may overlap"), "{page}");
    let refused = node
        .post(
            "/schedules/report/edit",
            "every=90s&overlap=skip&missed=runAll",
        )
        .await;
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("overlap"), "{}", refused.body);
    node.stop().await;
}

#[tokio::test]
async fn a_secret_of_an_endpoint_is_shown_once() {
    let node = TestNode::start().await;
    let form = "action=create&url=https%3A%2F%2Fexample.com%2Fhook&event=job.failed";
    let created = node.post("/endpoints/act", form).await;
    assert!(created.body.contains("whsec_"), "{}", created.body);
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
    let docs = node.get("/api/docs").await;
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

#[tokio::test]
async fn gates_are_set_changed_paused_and_deleted() {
    let node = TestNode::start().await;
    let form = "action=set&scope=destination&key=https%3A%2F%2Fapi.example.com&maxRunning=5\
                &rate=10%2Fs&hold=auto";
    assert_eq!(node.post("/gates/act", form).await.status, 303);
    let page = node.get("/gates").await.body;
    assert!(page.contains("at most 5 running, 10 per 1s, hold auto"));
    let id = "destination++https%3A%2F%2Fapi.example.com";
    let page = node.get(&format!("/gates?edit={id}")).await.body;
    assert!(page.contains("name=\"rate\" value=\"10/1s\""), "{page}");
    // What the form leaves empty is removed.
    let form = format!("action=set&id={id}&maxRunning=7&paused=1&reason=they+move+%3Cb%3E");
    assert_eq!(node.post("/gates/act", &form).await.status, 303);
    let page = node.get("/gates").await.body;
    assert!(page.contains("at most 7 running") && !page.contains("10 per 1s"));
    assert!(page.contains("chip-paused") && page.contains("they move &#60;b&#62;"));
    let form = format!("action=resume&id={id}");
    assert_eq!(node.post("/gates/act", &form).await.status, 303);
    assert!(!node.get("/gates").await.body.contains("chip-paused"));
    let form = format!("action=delete&id={id}");
    let question = node.post("/gates/act", &form).await;
    assert!(question.body.contains("Delete gate") && question.status == 200);
    assert!(node.get("/gates").await.body.contains("at most 7 running"));
    let form = format!("{form}&confirmed=1");
    assert_eq!(node.post("/gates/act", &form).await.status, 303);
    assert!(node.get("/gates").await.body.contains("No gates"));
    for (form, says) in [
        (
            "action=set&scope=queue&key=mail&maxRunning=0",
            "to stop all",
        ),
        (
            "action=set&scope=queue&key=mail&maxRunning=x",
            "maxRunning must be a number",
        ),
        ("action=set&scope=queue&key=mail", "a gate needs a limit"),
        (
            "action=set&scope=queue&key=mail&rate=fast",
            "must be a rate",
        ),
    ] {
        let refused = node.post("/gates/act", form).await;
        assert_eq!(refused.status, 422, "{form}");
        assert!(refused.body.contains(says), "{form}: {}", refused.body);
    }
    node.stop().await;
}

#[tokio::test]
async fn the_gate_form_keeps_settings_it_does_not_show() {
    let node = TestNode::start().await;
    let partner = "https%3A%2F%2Fapi.example.com";
    let set = format!("action=set&scope=destination&key={partner}");
    let post = async |form: String| node.post("/gates/act", &form).await;
    assert_eq!(
        post(format!("{set}&maxRunning=5&hold=auto")).await.status,
        303
    );
    // Set once more as if it were new, it keeps its other limits.
    assert_eq!(post(format!("{set}&rate=10%2Fs")).await.status, 303);
    let page = node.get("/gates").await.body;
    let limits = "at most 5 running, 10 per 1s, hold auto";
    assert!(
        page.contains(limits) && page.contains("0 of 5 running"),
        "{page}"
    );
    // A pause that is over is not sent back.
    node.clock.set_back(std::time::Duration::from_secs(7_200));
    let until = node
        .client
        .now()
        .plus(std::time::Duration::from_secs(3_600));
    let pause = format!("action=set&id=destination++{partner}&maxRunning=5&paused=1&until={until}");
    assert_eq!(post(pause.clone()).await.status, 303);
    let edit = format!("/gates?edit=destination++{partner}");
    let checked = "name=\"paused\" value=\"1\" checked";
    assert!(node.get(&edit).await.body.contains(checked));
    node.clock.set_back(std::time::Duration::ZERO);
    let page = node.get(&edit).await.body;
    assert!(!page.contains(checked) && !page.contains(&until.to_string()));
    assert!(page.contains("; ended"), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn destinations_are_held_and_released() {
    let node = TestNode::start().await;
    let (act, origin) = (
        "/destinations/act",
        "destination=https%3A%2F%2Fapi.example.com",
    );
    let form =
        format!("action=hold&{origin}&reason=they+move+%3Cb%3E&until=2099-01-01T00%3A00%3A00Z");
    let held = node.post(act, &form).await;
    assert_eq!(held.header("location"), Some("/destinations?did=hold"));
    let show = "/destinations?show=https%3A%2F%2Fapi.example.com";
    let page = node.get(show).await.body;
    assert!(page.contains("; released in "), "{page}");
    assert!(page.contains("held manually") && page.contains("they move &#60;b&#62;"));
    assert!(
        page.contains("value=\"release\"")
            && !page.contains("name=\"action\" value=\"hold\">Hold</button>")
    );
    let released = node.post(act, &format!("action=release&{origin}")).await;
    assert_eq!(
        released.header("location"),
        Some("/destinations?did=release")
    );
    let page = node.get(show).await.body;
    assert!(!page.contains("held manually") && !page.contains("value=\"release\""));
    for (form, says) in [
        ("action=hold&destination=api.example.com", "an origin"),
        ("action=hold&destination=", "an origin"),
        (
            "action=melt&destination=https%3A%2F%2Fa.example",
            "no such action",
        ),
        (
            "action=hold&destination=https%3A%2F%2Fa.example&until=2020-01-01T00%3A00%3A00Z",
            "in the future",
        ),
        (
            "action=hold&destination=https%3A%2F%2Fa.example&until=soon",
            "until",
        ),
    ] {
        let refused = node.post(act, form).await;
        assert_eq!(refused.status, 422, "{form}: {}", refused.body);
        assert!(refused.body.contains(says), "{form}: {}", refused.body);
    }
    let elsewhere = [("sec-fetch-site", "cross-site")];
    let form = format!("action=hold&{origin}");
    let refused = node.request("POST", act, &elsewhere, &form).await;
    assert_eq!(refused.status, 403);
    node.stop().await;
}
