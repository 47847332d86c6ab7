//! The page of one job.

use std::time::Duration;

use steadfast_core::{Jitter, JobCommand, JobEdit, Payload, PolicyPatch, Preset};
use steadfast_engine::JobRequest;

use crate::{
    node::TestNode,
    worker_jobs::{dead_letter, fail_claimable, worker_job},
};

/// The values of an attribute in a page, in order.
fn ids<'a>(page: &'a str, prefix: &str) -> Vec<&'a str> {
    let tags = page.split("id=\"").skip(1);
    let ids = tags.filter_map(|rest| rest.split('"').next());
    ids.filter(|id| id.starts_with(prefix)).collect()
}

#[tokio::test]
async fn a_requeued_job_counts_by_its_new_budget_and_marks_where_it_begins() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "no").await;
    let path = format!("/jobs/{}", job.id);
    let before = node.get(&path).await.body;
    assert!(before.contains("1 of 1</dd>"), "{before}");
    assert!(before.contains("the policy allows no retries"), "{before}");
    assert!(!before.contains("Requeued by"), "{before}");

    let response = node.post(&format!("{path}/act"), "action=retry").await;
    assert_eq!(response.status, 303, "{}", response.body);
    let waiting = node.get(&path).await.body;
    assert!(
        waiting.contains("0 of 1 since it was requeued, 1 in total"),
        "{waiting}"
    );
    fail_claimable(&node, "default", "again").await;
    let after = node.get(&path).await.body;
    assert!(after.contains("1 of 1 since it was requeued, 2 in total"));
    assert!(after.contains("#2 <small>first attempt</small>"), "{after}");
    assert!(
        after.contains("Requeued by dashboard before attempt #2"),
        "{after}"
    );

    let list = node.get("/jobs").await.body;
    assert!(list.contains("<td class=\"num\">1 of 1</td>"), "{list}");
    node.stop().await;
}

#[tokio::test]
async fn the_output_of_an_attempt_keeps_its_id_when_another_attempt_ends() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "no").await;
    let path = format!("/jobs/{}", job.id);
    let before = node.get(&path).await.body;
    node.post(&format!("{path}/act"), "action=retry").await;
    fail_claimable(&node, "default", "again").await;
    let after = node.get(&path).await.body;
    let (before, after) = (ids(&before, "output-"), ids(&after, "output-"));
    assert_eq!((before.len(), after.len()), (1, 2));
    assert_eq!(before[0], after[1], "an open output stays open");
    node.stop().await;
}

#[tokio::test]
async fn an_attempt_is_explained_by_the_policy_it_was_decided_with() {
    let node = TestNode::start().await;
    let policy = PolicyPatch::exponential(Duration::from_secs(60))
        .max_retries(7)
        .jitter(Jitter::None);
    let id = node
        .client
        .enqueue(worker_job("default").retry(policy))
        .await;
    let id = id.unwrap();
    fail_claimable(&node, "default", "no").await;
    let edit = JobEdit {
        policy: Some(Preset::Webhook.policy().into()),
        ..JobEdit::default()
    };
    let command = JobCommand::Edit(edit);
    node.client.command(id, command).await.unwrap();
    let page = node.get(&format!("/jobs/{id}")).await.body;
    let sentence = "Retry 1 of 7 in 1m: exponential backoff gives 1m.";
    assert!(page.contains(sentence), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn a_job_offers_the_actions_that_its_state_allows() {
    let node = TestNode::start().await;
    let waiting = node.client.enqueue(worker_job("default")).await.unwrap();
    let failed = dead_letter(&node, "failed", "no").await.id;
    let actions = |page: &str| {
        let buttons = page.split("name=\"action\" value=\"").skip(1);
        let names = buttons.filter_map(|rest| rest.split('"').next());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let page = node.get(&format!("/jobs/{waiting}")).await.body;
    assert_eq!(actions(&page), ["run-now", "cancel", "edit"]);
    let page = node.get(&format!("/jobs/{failed}")).await.body;
    assert_eq!(actions(&page), ["retry", "discard", "erase", "retry"]);
    node.stop().await;
}

#[tokio::test]
async fn the_form_of_an_http_job_masks_its_headers_and_keeps_them() {
    let node = TestNode::start().await;
    let request = serde_json::json!({
        "url": "https://example.com/x", "headers": {"authorization": "Bearer hunter2"}
    });
    let payload = Payload::encode(&request).unwrap();
    let request = JobRequest::new("http", payload).delay(Duration::from_secs(3_600));
    let id = node.client.enqueue(request).await.unwrap();
    let path = format!("/jobs/{id}");
    let page = node.get(&path).await.body;
    assert!(page.contains("authorization") && !page.contains("hunter2"));
    let edited = r#"{"url": "https://example.com/y", "headers": {"authorization": "••••••"}}"#;
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("action", "edit")
        .append_pair("payload", edited);
    let saved = node.post(&format!("{path}/act"), &form.finish()).await;
    assert_eq!(saved.status, 303, "{}", saved.body);
    let job = node.client.job(id).await.unwrap().unwrap();
    let payload = job.payload.as_str();
    assert!(payload.contains("example.com/y") && payload.contains("hunter2"));
    node.stop().await;
}
