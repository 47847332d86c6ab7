//! An open page: it says when it is old, its rows stay under the pointer, and what was opened stays
//! open.

use std::{sync::Arc, time::Duration};

use steadfast_core::{Jitter, PolicyPatch};
use steadfast_engine::JobRequest;
use steadfast_store::{SqliteOptions, SqliteStore};
use thirtyfour::prelude::*;

use crate::{
    browser::{Browser, BrowserOptions},
    node::{FailingJob, ShiftedClock, TestNode},
    pages::PAGES,
    seed,
    worker_jobs::worker_job,
};

async fn open(node: &TestNode, path: &str) -> Browser {
    let browser = Browser::start(BrowserOptions::default()).await;
    browser.driver.goto(node.url(path)).await.unwrap();
    browser
}

async fn create_jobs(node: &TestNode, number: usize) {
    let jobs = std::iter::repeat_with(|| worker_job("mail")).take(number);
    node.client.enqueue_all(jobs).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_node_that_does_not_respond_says_so() {
    let node = TestNode::start().await;
    let browser = open(&node, "/").await;
    assert_eq!(browser.text(".answer .figure").await, "Yes");
    browser
        .until("return document.getElementById('page-age').hidden")
        .await;
    node.stop().await;
    browser
        .until("return document.body.classList.contains('stale')")
        .await;
    let text = browser.text("#page-age").await;
    assert!(text.starts_with("No response from this node."), "{text}");
    assert!(text.contains(" UTC, ") && text.ends_with(" ago."), "{text}");
    let faded = "return Number(getComputedStyle(document.getElementById('overview')).opacity) < 1";
    assert_eq!(browser.eval(faded).await, true);
    browser.quit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_updates_are_paused_says_how_old_it_is() {
    let node = TestNode::start().await;
    let browser = open(&node, "/").await;
    browser.click("#live-pause").await;
    let text = browser.text("#page-age").await;
    assert!(text.starts_with("Updates are paused. This page"), "{text}");
    browser.click("#live-pause").await;
    browser
        .until("return document.getElementById('page-age').hidden")
        .await;
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_do_not_move_under_the_pointer_or_away_from_the_focus() {
    let node = TestNode::start().await;
    create_jobs(&node, 60).await;
    let browser = open(&node, "/jobs").await;
    let third = "#rows tbody tr:nth-child(3) a[data-row]";
    let under = "return document.querySelector('#rows tbody tr:hover a')?.href";
    let row = browser.driver.find(By::Css(third)).await.unwrap();
    let pointer = browser.driver.action_chain().move_to_element_center(&row);
    pointer.perform().await.unwrap();
    let before = browser.eval(under).await;
    create_jobs(&node, 7).await;
    browser
        .until("return document.getElementById('new-rows').textContent === '7 newer jobs'")
        .await;
    assert_eq!(browser.eval(under).await, before, "the same row");
    // The pointer leaves, and the keyboard has a row.
    browser
        .eval("document.querySelector('#rows tbody tr:nth-child(5) a[data-row]').focus()")
        .await;
    let title = browser.driver.find(By::Css("h1")).await.unwrap();
    let pointer = browser.driver.action_chain().move_to_element_center(&title);
    pointer.perform().await.unwrap();
    let focused = "return document.activeElement.href";
    let before = browser.eval(focused).await;
    create_jobs(&node, 80).await;
    browser
        .until("return document.getElementById('new-rows').textContent === '50 or more newer jobs'")
        .await;
    assert_eq!(browser.eval(focused).await, before, "the same focus");
    assert_eq!(browser.count("#rows tbody tr.gone").await, 50);
    browser.click("#new-rows").await;
    browser.until_count("#rows tbody tr.gone", 0).await;
    browser
        .until("return document.getElementById('new-rows').hidden")
        .await;
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_has_found_nothing_yet_goes_on_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ShiftedClock::default();
    let store = SqliteStore::open(dir.path().join("jobs.db"), SqliteOptions::default()).unwrap();
    let node = TestNode::on(Arc::new(store), clock).await;
    // More than one page of a list looks at.
    for _ in 0..21 {
        create_jobs(&node, 1_000).await;
    }
    let path = "/jobs?destination=https%3A%2F%2Fnowhere.example";
    let first = node.get(path).await.body;
    assert!(first.contains("data-continue"), "{first}");
    let browser = open(&node, path).await;
    browser
        .until("return document.getElementById('none')?.textContent.includes('Remove a condition')")
        .await;
    browser.quit().await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_response_stays_open_when_the_next_attempt_comes() {
    let node = TestNode::start().await;
    let browser = open(&node, "/").await;
    let policy = PolicyPatch::fixed(Duration::from_secs(3))
        .jitter(Jitter::None)
        .max_retries(3);
    let job = JobRequest::of(&FailingJob {
        note: String::new(),
    });
    let id = node.client.enqueue(job.retry(policy)).await.unwrap();
    let page = node.url(&format!("/jobs/{id}"));
    browser.driver.goto(page).await.unwrap();
    browser.until_count("#attempts article", 1).await;
    // Failing jobs have no response: the page gets one, as a call would have.
    browser
        .eval("const details = document.createElement('details'); details.id = 'output-1'; details.open = true; document.querySelector('#attempts article').append(details); window.opened = document.querySelector('#attempts article')")
        .await;
    browser.until_count("#attempts article", 2).await;
    let same = "return document.getElementById('attempt-1') === window.opened";
    assert_eq!(
        browser.eval(same).await,
        true,
        "the card of the attempt is kept"
    );
    browser.quit().await;
    node.stop().await;
}

#[tokio::test]
async fn everything_that_opens_on_a_live_page_has_a_name_to_stay_open_by() {
    let node = TestNode::start().await;
    let job = seed::busy_hour(&node).await;
    seed::flow(&node).await;
    let pages = PAGES.map(str::to_owned).into_iter();
    for page in pages.chain([format!("/jobs/{job}")]) {
        let html = node.get(&page).await.body;
        for tag in html.split("<details").skip(1) {
            let tag = tag.split('>').next().unwrap();
            assert!(tag.contains(" id=\""), "{page}: <details{tag}>");
        }
    }
    node.stop().await;
}
