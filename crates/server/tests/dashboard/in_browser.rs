//! Pages in a real browser.

use std::time::Duration;

use steadfast_core::{Jitter, PolicyPatch};
use steadfast_engine::JobRequest;
use steadfast_server::keys::Scope;

use crate::{
    browser::{Browser, BrowserOptions},
    node::{FailingJob, MARKUP, TestNode},
    pages::PAGES,
    seed,
    sign_in::until_keys_are_required,
};

fn failing(retries: u32) -> JobRequest {
    let policy = PolicyPatch::fixed(Duration::from_secs(1))
        .jitter(Jitter::None)
        .max_retries(retries);
    let input = FailingJob {
        note: MARKUP.to_owned(),
    };
    JobRequest::of(&input).retry(policy)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_jobs_timeline_grows_without_a_reload_and_its_text_stays_text() {
    let node = TestNode::start().await;
    let browser = Browser::start(BrowserOptions::default()).await;
    let id = node.client.enqueue(failing(4)).await.unwrap();
    browser
        .driver
        .goto(node.url(&format!("/jobs/{id}")))
        .await
        .unwrap();
    browser.eval("window.sameDocument = true").await;
    browser
        .until("return document.querySelectorAll('#timeline rect.future').length > 0")
        .await;
    for attempts in [2, 3, 5] {
        browser
            .until(&format!(
                "return document.querySelectorAll('#attempts .attempt').length >= {attempts} && document.querySelectorAll('#timeline rect.bad').length >= {attempts}"
            ))
            .await;
    }
    browser
        .until("return document.querySelector('#timeline .chip').textContent === 'failed'")
        .await;
    assert_eq!(
        browser.eval("return window.sameDocument").await,
        true,
        "no reload"
    );
    assert!(
        browser.text("#attempts").await.contains("<script>"),
        "shown as text"
    );
    assert!(
        browser.text("pre").await.contains("onerror"),
        "shown as text"
    );
    assert!(
        browser
            .driver
            .title()
            .await
            .unwrap()
            .starts_with("failing job_")
    );
    assert_eq!(
        browser.count("main img").await + browser.count("main script").await,
        0
    );
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_dead_letters_is_requeued_together() {
    let node = TestNode::start().await;
    let requests = std::iter::repeat_with(|| failing(0)).take(3);
    node.client.enqueue_all(requests).await.unwrap();
    let browser = Browser::start(BrowserOptions::default()).await;
    browser
        .driver
        .goto(node.url("/dead-letters"))
        .await
        .unwrap();
    browser
        .until("return document.querySelector('.group .count')?.textContent === '3×'")
        .await;
    assert_eq!(
        browser.count(".group").await,
        1,
        "they fail in the same way"
    );
    browser.click(".group button[value=retry]").await;
    // The count comes first.
    browser
        .until("return document.querySelector('main button.main')?.textContent.includes('3 dead letters')")
        .await;
    browser.click("main button.main").await;
    assert!(
        browser
            .text(".message")
            .await
            .starts_with("Requeued 3 jobs")
    );
    browser
        .until("return document.querySelector('.group .count')?.textContent === '3×'")
        .await;
    let jobs = node
        .client
        .jobs(
            Default::default(),
            steadfast_store::JobPageRequest::first(9),
        )
        .await
        .unwrap();
    assert!(jobs.items.iter().all(|job| job.progress.attempt == 2));
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_simulator_updates_while_a_person_types() {
    let node = TestNode::start().await;
    let browser = Browser::start(BrowserOptions::default()).await;
    browser
        .driver
        .goto(node.url("/simulator?preset=http&jitter=none"))
        .await
        .unwrap();
    assert!(
        browser
            .text("#simulation")
            .await
            .contains("all return at once: 1,000")
    );
    browser.type_into("input[name=maxRetries]", "6").await;
    browser
        .until("return document.querySelectorAll('#simulation tbody tr').length === 7")
        .await;
    browser.eval("const s = document.querySelector('select[name=jitter]'); s.value = 'full'; s.dispatchEvent(new Event('input', {bubbles: true}))").await;
    browser.until("return document.getElementById('simulation').textContent.includes('without jitter, 1,000')").await;
    let json = browser.text("#policy-json").await;
    assert!(
        json.contains("\"jitter\": \"full\"") && json.contains("\"maxRetries\": 6"),
        "{json}"
    );
    browser.type_into("input[name=baseDelay]", "soon").await;
    browser
        .until("return document.querySelector('#simulation [role=alert]') !== null")
        .await;
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_with_a_key_and_sees_the_jobs_of_its_tenant() {
    let node = TestNode::start().await;
    let ours = node
        .client
        .enqueue(failing(0).tenant("ours"))
        .await
        .unwrap();
    let theirs = node
        .client
        .enqueue(failing(0).tenant("theirs"))
        .await
        .unwrap();
    let key = node.key(Scope::Tenant, Some("ours")).await;
    until_keys_are_required(&node).await;
    let browser = Browser::start(BrowserOptions::default()).await;
    browser.driver.goto(node.url("/jobs")).await.unwrap();
    browser.type_into("input[name=key]", "sf_wrong\n").await;
    assert!(
        browser
            .text("[role=alert]")
            .await
            .contains("Unknown or expired")
    );
    browser
        .type_into("input[name=key]", &format!("{key}\n"))
        .await;
    browser.until("return location.pathname === '/jobs'").await;
    for (id, count) in [(ours, 1), (theirs, 0)] {
        let link = format!("#rows a[href='/jobs/{id}']");
        browser.until_count(&link, count).await;
    }
    assert_eq!(
        browser.eval("return document.cookie").await,
        "",
        "scripts cannot read it"
    );
    browser.click(".who button").await;
    browser
        .until("return location.pathname === '/sign-in'")
        .await;
    browser.driver.goto(node.url("/jobs")).await.unwrap();
    browser
        .until("return location.pathname === '/sign-in'")
        .await;
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_leaves_the_origin() {
    let node = TestNode::start().await;
    let payment = seed::busy_hour(&node).await;
    let browser = Browser::start(BrowserOptions::default()).await;
    let origin = node.url("/");
    for page in PAGES
        .map(str::to_owned)
        .into_iter()
        .chain([format!("/jobs/{payment}")])
    {
        browser.driver.goto(node.url(&page)).await.unwrap();
        let requested = browser
            .eval("return performance.getEntriesByType('resource').map((it) => it.name)")
            .await;
        let requested: Vec<String> = serde_json::from_value(requested).unwrap();
        assert!(requested.len() >= 2, "{page}: style and script are loaded");
        for address in requested {
            assert!(address.starts_with(&origin), "{page} requested {address}");
        }
    }
    // And the browser refuses to send one.
    let refused = browser
        .eval("return fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => String(error))")
        .await;
    assert_ne!(refused, "sent");
    let violated = browser
        .eval("return new Promise((done) => { document.addEventListener('securitypolicyviolation', (it) => done(it.effectiveDirective)); const image = new Image(); image.src = 'http://127.0.0.1:9/x.png'; })")
        .await;
    assert_eq!(violated, "img-src");
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_work_with_scripts_off() {
    let node = TestNode::start().await;
    let payment = seed::busy_hour(&node).await;
    let options = BrowserOptions {
        without_scripts: true,
        ..BrowserOptions::default()
    };
    let browser = Browser::start(options).await;
    browser.driver.goto(node.url("/")).await.unwrap();
    assert!(browser.count("svg.chart-throughput rect.good").await >= 50);
    browser
        .driver
        .goto(node.url(&format!("/jobs/{payment}")))
        .await
        .unwrap();
    assert!(browser.text("#timeline").await.contains("next attempt in"));
    browser.click("button[value=run-now]").await;
    assert!(browser.text(".message").await.contains("to run now"));
    browser.driver.goto(node.url("/simulator")).await.unwrap();
    browser.type_into("input[name=maxRetries]", "5\n").await;
    browser.until_count("#simulation tbody tr", 6).await;
    browser
        .driver
        .goto(node.url("/jobs?label=succeeded"))
        .await
        .unwrap();
    browser.click("a[rel=next]").await;
    browser.until_count(".pages a", 2).await;
    assert_eq!(browser.count("#rows tbody tr").await, 50);
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_holds_a_destination_and_reads_of_its_incident() {
    let node = TestNode::start().await;
    let browser = Browser::start(BrowserOptions::default()).await;
    browser
        .driver
        .goto(node.url("/destinations"))
        .await
        .unwrap();
    browser
        .type_into(
            "form.fields input[name=destination]",
            "https://api.example.com",
        )
        .await;
    browser
        .type_into("form.fields input[name=reason]", "they asked us to stop\n")
        .await;
    assert!(browser.text(".message").await.starts_with("Held."));
    browser.click("#rows td a").await;
    browser.until_count("#incidents tbody tr", 1).await;
    let incident = browser.text("#incidents tbody").await;
    assert!(incident.contains("they asked us to stop"), "{incident}");
    assert!(incident.contains("so far"), "{incident}");
    assert_eq!(browser.count("#rows button[value=hold]").await, 0);
    browser.click("#rows button[value=release]").await;
    assert!(browser.text(".message").await.starts_with("Released."));
    browser.until_count("#rows button[value=release]", 0).await;
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_can_be_tried_and_copied_on_its_page() {
    let node = TestNode::start().await;
    let browser = Browser::start(BrowserOptions::default()).await;
    let page = node.url("/api/docs/jobs#createJob");
    browser.driver.goto(page).await.unwrap();
    browser
        .until("return !document.querySelector('#createJob .try').hidden")
        .await;
    browser
        .eval(
            "const form = document.querySelector('#createJob form');
             form.closest('details').open = true;
             form.elements.body.value = '{\"kind\": \"tried\"}';
             form.requestSubmit();",
        )
        .await;
    browser
        .until("return document.querySelector('#createJob output').textContent.startsWith('201')")
        .await;
    let result = browser.text("#createJob .result").await;
    assert!(result.contains("\"kind\": \"tried\""), "{result}");
    let buttons = "return document.querySelectorAll('#createJob .copy').length";
    assert!(browser.eval(buttons).await.as_u64() >= Some(3));
    browser.quit().await;
    node.stop().await;
}
