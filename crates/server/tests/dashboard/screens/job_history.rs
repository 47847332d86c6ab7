//! The attempts of a job on its page: the failure in its head, equal ones folded, marks of direction.

use std::time::Duration;

use serde_json::json;
use steadfast_core::{Jitter, Payload, PolicyPatch};
use steadfast_engine::JobRequest;

use crate::{
    node::TestNode,
    worker_jobs::{dead_letter, fail_claimable, worker_job},
};

#[tokio::test]
async fn the_failure_stands_in_the_head_of_a_failed_job() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "upstream connect error").await;
    let page = node.get(&format!("/jobs/{}", job.id)).await.body;
    let head = page.split("id=\"facts\"").next().unwrap();
    assert!(
        head.contains("head-failure\">error: upstream connect error"),
        "{head}"
    );
    node.stop().await;
}

#[tokio::test]
async fn attempts_that_failed_alike_are_folded() {
    let node = TestNode::start().await;
    let policy = PolicyPatch::fixed(Duration::from_secs(1))
        .jitter(Jitter::None)
        .max_retries(9);
    let job = worker_job("default").retry(policy);
    node.clock.set_back(Duration::from_secs(100));
    let id = node.client.enqueue(job).await.unwrap();
    for attempt in 1..=8 {
        node.clock.set_back(Duration::from_secs(100 - 5 * attempt));
        let message = if attempt == 1 {
            "disk is full"
        } else {
            "table is locked"
        };
        fail_claimable(&node, "default", message).await;
    }
    let page = node.get(&format!("/jobs/{id}")).await.body;
    assert!(page.contains("#2 to #7: the same failure"), "{page}");
    let before = page.split("<details class=\"fold same\"").next().unwrap();
    assert_eq!(before.matches("<article").count(), 1, "{before}");
    assert_eq!(page.matches("<article").count(), 8);
    node.stop().await;
}

#[tokio::test]
async fn a_name_with_marks_of_direction_turns_only_itself_around() {
    let node = TestNode::start().await;
    let payload = json!({"url": "http://127.0.0.1:18081/x", "jobName": "\u{202e}evil"});
    let payload = Payload::encode(&payload).unwrap();
    let id = node
        .client
        .enqueue(JobRequest::new("http", payload))
        .await
        .unwrap();
    let style = node.get("/ui/steadfast.css").await.body;
    let rule = style
        .lines()
        .find(|line| line.contains("unicode-bidi: isolate"));
    assert!(rule.is_some_and(|rule| rule.contains(" a,") && rule.contains(".detail ")));
    for page in ["/jobs", &format!("/jobs/{id}")] {
        let page = node.get(page).await.body;
        // The request at the end is shown as it is.
        let page = page.split("<h2>Request</h2>").next().unwrap();
        for at in page.match_indices('\u{202e}').map(|(at, _)| at) {
            // Style sheets isolate links and details.
            let starts = ["<bdi>", "<title>", "data-row>", "class=\"detail\">"];
            let is_isolated = starts.iter().any(|start| page[..at].ends_with(start));
            assert!(is_isolated, "{}", &page[at.saturating_sub(80)..at]);
        }
    }
    node.stop().await;
}
