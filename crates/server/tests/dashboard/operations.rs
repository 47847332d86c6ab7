//! Work on many jobs, on its pages.

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_core::{Payload, Preset};
use steadfast_engine::{BatchRequest, JobRequest};

use crate::{
    browser::{Browser, BrowserOptions},
    node::TestNode,
    worker_jobs::{dead_letter, fail_claimable, succeed_claimable, worker_job},
};

#[tokio::test]
async fn an_operation_is_followed_halted_and_named_on_the_page_of_its_jobs() {
    let node = TestNode::start().await;
    let mut jobs = Vec::new();
    for number in 0..4 {
        let message = format!("row {number} is broken");
        jobs.push(dead_letter(&node, "default", &message).await);
    }
    let confirm = "scope=all&deadLetters=1&action=retry&text=broken&back=/dead-letters";
    let page = node.post("/jobs/act", confirm).await.body;
    assert!(page.contains("name=\"canary\""), "{page}");
    let form = format!("{confirm}&confirmed=1&canary=1&pace=50");
    let response = node.post("/jobs/act", &form).await;
    let path = response.header("location").unwrap().to_owned();
    assert!(path.starts_with("/operations/opr_"), "{path}");
    let act = format!("{path}/act");
    assert_eq!(node.post(&act, "action=pause").await.status, 303);
    let page = node.get(&path).await.body;
    assert!(page.contains("chip-paused"), "{page}");
    assert!(page.contains("at most 50 jobs per second"), "{page}");
    let list = node.get("/dead-letters").await.body;
    assert!(list.contains(&format!("href=\"{path}\"")), "{list}");
    assert!(node.get("/operations?open=1").await.body.contains(&path));
    assert_eq!(node.post(&act, "action=resume").await.status, 303);
    let asked = node.post(&act, "action=cancel").await;
    assert_eq!(asked.status, 200, "{}", asked.body);
    assert!(asked.body.contains("<h1>Cancel operation?</h1>"));
    assert!(!node.get(&path).await.body.contains("chip-cancelled"));
    let cancelled = node.post(&act, "action=cancel&confirmed=1").await;
    assert_eq!(cancelled.status, 303);
    let page = node.get(&path).await.body;
    assert!(page.contains("chip-cancelled"), "{page}");
    let audit = node.get("/audit?action=operation.").await.body;
    for action in ["create", "pause", "resume", "cancel"] {
        assert!(audit.contains(&format!("operation.{action}")), "{audit}");
    }
    // One that was selected is named by its operation, and by the command on it alone.
    let id = jobs[0].id;
    let form = format!("scope=selected&deadLetters=1&action=discard&confirmed=1&id={id}");
    assert_eq!(node.post("/jobs/act", &form).await.status, 303);
    let page = node.get(&format!("/jobs/{id}")).await.body;
    assert!(page.contains("Discard by dashboard"), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn an_endpoint_has_a_page_with_its_deliveries_and_everything_that_can_be_done() {
    let node = TestNode::start().await;
    let form = "action=create&url=http%3A%2F%2F127.0.0.1%3A1%2Fhook&event=job.failed";
    assert_eq!(node.post("/endpoints/act", form).await.status, 200);
    let id = node.client.endpoints(None).await.unwrap()[0].id;
    let path = format!("/endpoints/{id}");
    let list = node.get("/endpoints").await.body;
    assert!(list.contains(&format!("href=\"{path}\"")), "{list}");
    assert!(
        !list.contains("endpoint.test"),
        "no one subscribes to tests"
    );
    let page = node.get(&format!("{path}?label=failed")).await.body;
    assert!(page.contains("None yet"), "{page}");
    let chosen = format!("href=\"{path}?label=failed\" aria-current=\"true\">failed</a>");
    assert!(page.contains(&chosen), "{page}");
    let form = format!("action=edit&id={id}&url=http%3A%2F%2F127.0.0.1%3A2%2F&event=job.cancelled");
    let saved = node.post("/endpoints/act", &form).await;
    assert_eq!(
        saved.header("location"),
        Some(&*format!("{path}?did=saved"))
    );
    let page = node.get(&path).await.body;
    assert!(page.contains("http://127.0.0.1:2/"), "{page}");
    let act = async |action: &str| {
        let form = format!("action={action}&id={id}&back={path}");
        node.post("/endpoints/act", &form).await
    };
    assert_eq!(act("disable").await.status, 303);
    assert_eq!(act("test").await.status, 409, "nothing is sent to it");
    let page = node.get(&path).await.body;
    assert!(page.contains("Deliveries wait up to seven days"), "{page}");
    assert_eq!(act("enable").await.status, 303);
    assert_eq!(act("test").await.status, 303);
    let page = node.get(&path).await.body;
    assert!(page.contains("endpoint.test"), "{page}");
    let audit = node.get("/audit?action=endpoint.").await.body;
    for action in ["create", "edit", "disable", "enable", "test"] {
        assert!(audit.contains(&format!("endpoint.{action}")), "{audit}");
    }
    assert!(audit.contains(&format!("href=\"{path}\"")), "{audit}");
    node.stop().await;
}

// long: one batch, and everything that its page shows and does
#[tokio::test]
async fn a_batch_has_a_page_with_its_counts_and_its_jobs() {
    let node = TestNode::start().await;
    let job = |kind: &str| JobRequest::new(kind, Payload::default());
    let request = BatchRequest::new()
        .name("import <7>")
        .open()
        .jobs([
            job("page"),
            job("page"),
            worker_job("default").retry(Preset::Once),
        ])
        .on_end(job("summary"));
    let created = node.client.create_batch(request).await.unwrap();
    let (id, member) = (created.batch.id, created.jobs[0].clone().job().id);
    let path = format!("/batches/{id}");
    let list = node.get("/batches?unfinished=1").await.body;
    assert!(list.contains(&format!("href=\"{path}\"")), "{list}");
    assert!(list.contains("import &#60;7&#62;"), "{list}");
    let page = node.get(&format!("/jobs/{member}")).await.body;
    assert!(page.contains(&format!("href=\"{path}\"")), "{page}");
    let page = node.get(&path).await.body;
    assert!(page.contains("0 of 3 ended"), "{page}");
    assert!(page.contains("value=\"close\""), "{page}");
    let of_failures = ["Requeue failed jobs", "<progress class=\"bad\""];
    for part in of_failures {
        assert!(!page.contains(part), "{part}: {page}");
    }
    assert_eq!(
        node.post(&format!("{path}/act"), "action=close")
            .await
            .status,
        303
    );
    let page = node.get(&path).await.body;
    assert!(
        page.contains("chip-running") && !page.contains("value=\"close\""),
        "{page}"
    );
    fail_claimable(&node, "default", "row 7 is broken").await;
    let page = node.get(&path).await.body;
    for part in of_failures {
        assert!(page.contains(part), "{part}: {page}");
    }
    node.client.cancel(member).await.unwrap();
    let page = node.get(&format!("{path}?state=cancelled")).await.body;
    assert!(page.contains(&format!("href=\"/jobs/{member}\"")), "{page}");
    let none = node.get(&format!("{path}?state=failed")).await.body;
    assert!(
        !none.contains(&format!("href=\"/jobs/{member}\"")),
        "{none}"
    );
    let all = format!("action=cancel&scope=all&batch={id}&back={path}");
    assert!(
        node.get(&path)
            .await
            .body
            .contains("Cancel unfinished jobs")
    );
    let asks = node.post("/jobs/act", &all).await;
    assert!(asks.body.contains("Cancel 1 job"), "{}", asks.body);
    let sure = node.post("/jobs/act", &format!("{all}&confirmed=1")).await;
    assert_eq!(sure.status, 303);
    let changed = format!("{path}?did=cancel&n=1");
    assert_eq!(sure.header("location"), Some(&*changed));
    let jobs = node.get(&format!("/jobs?batch={id}&label=cancelled")).await;
    assert!(jobs.body.contains(&format!("href=\"/jobs/{member}\"")));
    let line = node.get(&format!("/jobs?q=batch%3A{id}")).await;
    let listed = format!("/jobs?batch={id}");
    assert_eq!(line.header("location"), Some(&*listed));
    let audit = node.get("/audit?action=batch.").await.body;
    assert!(audit.contains("batch.close"), "{audit}");
    let unknown = "/batches/bat_00000000000000000000000000";
    assert_eq!(node.get(unknown).await.status, 404);
    node.stop().await;
}

#[tokio::test]
async fn jobs_of_a_batch_are_summed_up_and_one_that_waits_for_others_has_no_times() {
    let node = TestNode::start().await;
    let job = |number: u32| json!({"kind": "page.import", "payload": {"page": number}});
    let body = json!({"jobs": [job(1), job(2)]});
    let batch = node.api("POST", "/batches", body).await;
    let path = format!("/batches/{}", batch["id"].as_str().unwrap());
    let page = node.get(&path).await.body;
    let summary = ">page.import</a> <span class=\"detail\">page 2</span>";
    assert!(page.contains(summary), "{page}");

    let members = node.api("GET", &format!("{path}/jobs"), Value::Null).await;
    let first = &members["jobs"][0]["id"];
    let body = json!({"kind": "publish", "after": [first], "onFailure": "wait"});
    let blocked = node.api("POST", "/jobs", body).await;
    let list = node.get("/jobs?kind=publish").await.body;
    assert!(list.contains(">waiting for others<"), "{list}");
    let path = format!("/jobs/{}", blocked["id"].as_str().unwrap());
    let page = node.get(&path).await.body;
    assert!(page.contains("It waits for"), "{page}");
    for wrong in ["<h2>Upcoming", "wide-chart"] {
        assert!(!page.contains(wrong), "{wrong}: {page}");
    }
    node.stop().await;
}

#[tokio::test]
async fn failures_are_searched_by_a_line_and_an_operation_says_what_its_jobs_are() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "row 7 is broken").await;
    let found = node.get("/failures?q=new+kind%3Aworker.kind+broken").await;
    let expected = "/failures?state=new&kind=worker.kind&text=broken";
    assert_eq!(found.header("location"), Some(expected));
    let page = node.get(expected).await.body;
    assert!(page.contains("row # is broken"), "{page}");
    assert!(page.contains("value=\"state:new kind:worker.kind text:broken\""));
    for chip in [
        ">all <b>1</b>",
        ">new <b>1</b>",
        ">fixed <b>0</b>",
        "<span class=\"chip chip-pending\">new</span>",
    ] {
        assert!(page.contains(chip), "{chip}: {page}");
    }
    let undo = "<button name=\"action\" value=\"new\">Undo</button>";
    assert!(!page.contains(undo), "{page}");
    let group = node.api("GET", "/failures", Value::Null).await;
    let fingerprint = group["failures"][0]["fingerprint"].as_str().unwrap();
    let mark = format!("fingerprint={fingerprint}&tenant=default&action=known");
    assert_eq!(node.post("/failures/act", &mark).await.status, 303);
    let page = node.get("/failures").await.body;
    assert!(page.contains(undo), "{page}");
    let none = node.get("/failures?text=something+else").await.body;
    assert!(none.contains("No failures match"), "{none}");

    let form = "scope=all&deadLetters=1&action=retry&confirmed=1&canary=1&back=/";
    let response = node.post("/jobs/act", form).await;
    let page = node.get(response.header("location").unwrap()).await.body;
    let link = format!("<a href=\"/jobs/{}\" data-row>worker.kind</a>", job.id);
    assert!(page.contains(&link), "{page}");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_says_on_request_what_another_policy_would_have_done() {
    let node = TestNode::start().await;
    dead_letter(&node, "default", "row 7 is broken").await;
    let failures = node.api("GET", "/failures", Value::Null).await;
    let fingerprint = failures["failures"][0]["fingerprint"].as_str().unwrap();
    let browser = Browser::start(BrowserOptions::default()).await;
    let path = format!("/failures?fingerprint={fingerprint}");
    browser.driver.goto(node.url(&path)).await.unwrap();
    assert_eq!(browser.count("#what-if [role=status]").await, 0);
    browser.click("#what-if summary").await;
    browser
        .until("return document.querySelector('#what-if [role=status]').textContent.includes('the effect of this policy')")
        .await;
    browser.quit().await;
    node.stop().await;
}

#[tokio::test]
async fn a_policy_that_would_have_saved_jobs_is_given_to_those_that_wait() {
    let node = TestNode::start().await;
    node.clock.set_back(Duration::from_secs(120));
    let first = dead_letter(&node, "default", "connection refused").await;
    let second = dead_letter(&node, "default", "connection refused").await;
    for job in [first, second] {
        node.client.retry(job.id).await.unwrap();
    }
    node.clock.set_back(Duration::from_secs(60));
    succeed_claimable(&node, "default").await;
    node.clock.set_back(Duration::ZERO);
    let waiting = worker_job("default").delay(Duration::from_secs(3_600));
    let waiting = waiting.retry(Preset::Once);
    let id = node.client.enqueue(waiting).await.unwrap();
    let path = "/simulator?preset=patient&baseDelay=1m&jitter=none&queue=default";
    let page = node.get(path).await.body;
    let gain = "With this policy 2 of these 2 dead letters would have succeeded.";
    assert!(page.contains(gain), "{page}");
    let form = page.split("action=\"/jobs/act\"").nth(1).unwrap();
    let form = form.split("</form>").next().unwrap();
    let retry = "{&#34;preset&#34;:&#34;patient&#34;,&#34;baseDelay&#34;:&#34;1m&#34;,&#34;jitter&#34;:&#34;none&#34;}";
    for field in [
        format!("name=\"retry\" value=\"{retry}\""),
        "name=\"scope\" value=\"all\"".to_owned(),
        "name=\"queue\" value=\"default\"".to_owned(),
        "value=\"edit-policy\"".to_owned(),
    ] {
        assert!(form.contains(&field), "{field}: {form}");
    }
    let retry = "%7B%22preset%22:%22patient%22,%22baseDelay%22:%221m%22,%22jitter%22:%22none%22%7D";
    let form = format!("scope=all&queue=default&action=edit-policy&retry={retry}&back=/jobs");
    let asked = node.post("/jobs/act", &form).await.body;
    for part in [
        "Change the policy of 1 job",
        "<dt>retry</dt>",
        "<dt>queue</dt>",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let retries = async || {
        let job = node.client.job(id).await.unwrap().unwrap();
        job.policy.max_retries()
    };
    assert_eq!(retries().await, 0, "it was asked and not answered");
    let done = node.post("/jobs/act", &format!("{form}&confirmed=1")).await;
    assert_eq!(done.header("location"), Some("/jobs?did=edit-policy&n=1"));
    assert_eq!(retries().await, Preset::Patient.policy().max_retries());
    let audit = node.get("/audit?action=operation.create").await.body;
    assert!(audit.contains("operation.create"), "{audit}");
    let wrong = form.replace(retry, "%7B%22preset%22:1%7D");
    assert_eq!(node.post("/jobs/act", &wrong).await.status, 422);
    node.stop().await;
}

#[tokio::test]
async fn the_first_key_names_the_calls_that_it_would_block() {
    let node = TestNode::start().await;
    let none = node.get("/keys").await.body;
    assert!(!none.contains("would be blocked"), "{none}");
    for url in [
        "http://127.0.0.1:1/a",
        "http://[::1]:1/",
        "http://localhost/b",
        "https://example.com/",
    ] {
        let body = json!({"http": {"url": url}, "delay": "1h"});
        node.api("POST", "/jobs", body).await;
    }
    let page = node.get("/keys").await.body;
    let sentence = "3 waiting calls would be blocked then.";
    assert!(page.contains(sentence), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn jobs_are_found_by_the_system_that_they_call() {
    let node = TestNode::start().await;
    for (kind, destination) in [
        ("near", "https://near.example"),
        ("far", "https://far.example"),
    ] {
        let body = json!({"kind": kind, "destination": destination, "delay": "1h"});
        node.api("POST", "/jobs", body).await;
    }
    let found = node.get("/jobs?q=destination%3Ahttps%3A%2F%2Ffar.example");
    let path = found.await.header("location").unwrap().to_owned();
    assert_eq!(path, "/jobs?destination=https%3A%2F%2Ffar.example");
    let page = node.get(&path).await.body;
    assert!(page.contains(">far</a>") && !page.contains(">near</a>"));
    let word = "<option value=\"destination:https://far.example\">";
    assert!(page.contains(word), "{page}");
    let refused = node.get("/api/v1/jobs?destination=far").await;
    assert_eq!(refused.status, 422);
    assert!(
        refused.body.contains("\"field\":\"destination\""),
        "{}",
        refused.body
    );
    node.stop().await;
}
