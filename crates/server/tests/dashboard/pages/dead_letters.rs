//! Actions on failed jobs, one at a time and in bulk: who may do them, and what is asked first.

use crate::{
    node::TestNode,
    worker_jobs::{count_dead_letters, dead_letter, fail_claimable, worker_job},
};

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
