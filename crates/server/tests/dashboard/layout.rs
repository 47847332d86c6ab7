//! What all pages share, in a real browser.

use steadfast_core::Preset;

use crate::{
    browser::{Browser, BrowserOptions},
    node::TestNode,
    worker_jobs::worker_job,
};

#[tokio::test(flavor = "multi_thread")]
async fn open_details_and_ticked_boxes_survive_a_live_update() {
    let node = TestNode::start().await;
    let browser = Browser::start(BrowserOptions::default()).await;
    let create = async || {
        let job = worker_job("default").retry(Preset::Once);
        node.client.enqueue(job).await.unwrap()
    };
    let first = create().await;
    browser.driver.goto(node.url("/queues")).await.unwrap();
    browser.click("#rows details.pop > summary").await;
    create().await;
    let ready = "document.querySelector('#rows td[data-label=Ready]').textContent";
    browser.until(&format!("return {ready} === '2'")).await;
    assert_eq!(browser.count("#rows details.pop[open]").await, 1);
    // Rows that come in above do not untick one.
    browser.driver.goto(node.url("/jobs")).await.unwrap();
    browser.click(&format!("input[value='{first}']")).await;
    create().await;
    browser
        .until("return document.getElementById('new-rows').textContent === '1 newer job'")
        .await;
    browser.click("#new-rows").await;
    browser
        .until("return document.querySelectorAll('#rows tbody tr').length === 3")
        .await;
    let ticked = browser
        .eval("return [...document.querySelectorAll('#rows input[name=id]:checked')].map((it) => it.value)")
        .await;
    assert_eq!(ticked, serde_json::json!([first.to_string()]));
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_are_paused_and_resumed_and_a_chart_says_what_a_minute_has() {
    let node = TestNode::start().await;
    node.client.enqueue(worker_job("default")).await.unwrap();
    let browser = Browser::start(BrowserOptions::default()).await;
    browser.driver.goto(node.url("/")).await.unwrap();
    browser
        .until("return !document.getElementById('live-sign').hidden")
        .await;
    browser.click("#live-pause").await;
    assert_eq!(browser.text("#live-sign").await, "paused");
    // It stays so on the next page.
    browser.driver.goto(node.url("/queues")).await.unwrap();
    browser
        .until("return document.getElementById('live-sign').textContent === 'paused'")
        .await;
    node.client.enqueue(worker_job("default")).await.unwrap();
    let ready = "document.querySelector('#rows td[data-label=Ready]').textContent";
    // Nothing is asked for meanwhile, not even by a person who comes back to the page.
    let asked = browser
        .eval(
            "window.asked = 0;
             const fetch = window.fetch;
             window.fetch = (...them) => { window.asked += 1; return fetch(...them); };
             document.dispatchEvent(new Event('visibilitychange'));
             return new Promise((done) => setTimeout(() => done(window.asked), 1500));",
        )
        .await;
    assert_eq!(asked, 0);
    assert_eq!(browser.eval(&format!("return {ready}")).await, "1");
    browser.click("#live-pause").await;
    browser.until(&format!("return {ready} === '2'")).await;
    browser.driver.goto(node.url("/")).await.unwrap();
    let text = browser
        .eval(
            "const hits = document.querySelectorAll('.chart-throughput .hit');
             hits[5].dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 300, clientY: 300}));
             return [document.querySelector('.tip').textContent, document.querySelectorAll('.near').length]",
        )
        .await;
    let said = text[0].as_str().unwrap();
    assert!(said.ends_with("0 succeeded, 0 failed, 0 retries"), "{said}");
    assert_eq!(text[1], 3, "the same minute is marked in all charts");
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sections_stand_beside_the_page_and_fold_on_a_phone() {
    let node = TestNode::start().await;
    let browser = Browser::start(BrowserOptions::default()).await;
    browser.driver.goto(node.url("/gates")).await.unwrap();
    let beside = browser
        .eval(
            "const nav = document.querySelector('nav.sections').getBoundingClientRect();
             const main = document.querySelector('main').getBoundingClientRect();
             return nav.right <= main.left && nav.bottom <= innerHeight",
        )
        .await;
    assert_eq!(beside, true, "all sections are seen at once");
    assert_eq!(browser.text("nav.sections [aria-current]").await, "Gates");
    let font = "return document.fonts.load('14px Inter').then((fonts) => fonts.length)";
    assert_eq!(browser.eval(font).await, 1, "the font is loaded from here");
    // Without a script, too.
    browser
        .set(BrowserOptions {
            phone: true,
            without_scripts: true,
            ..BrowserOptions::default()
        })
        .await;
    browser.driver.goto(node.url("/gates")).await.unwrap();
    let is_shown = async || {
        let nav = thirtyfour::By::Css("nav.sections");
        let nav = browser.driver.find(nav).await.unwrap();
        nav.is_displayed().await.unwrap()
    };
    assert!(!is_shown().await);
    browser.click("#menu").await;
    assert!(is_shown().await);
    browser.click("nav.sections a[href='/queues']").await;
    browser
        .until_count("nav.sections a[href='/queues'][aria-current]", 1)
        .await;
    assert!(!is_shown().await);
    browser.quit().await;
    node.stop().await;
}
