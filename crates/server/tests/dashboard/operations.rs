//! Work on many jobs, on its pages.

use crate::{node::TestNode, pages::dead_letter};

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
    assert!(page.contains("at most 50 jobs a second"), "{page}");
    let list = node.get("/dead-letters").await.body;
    assert!(list.contains(&format!("href=\"{path}\"")), "{list}");
    assert!(node.get("/operations?open=1").await.body.contains(&path));
    assert_eq!(node.post(&act, "action=resume").await.status, 303);
    assert_eq!(node.post(&act, "action=cancel").await.status, 303);
    let page = node.get(&path).await.body;
    assert!(page.contains("chip-cancelled"), "{page}");
    let audit = node.get("/audit?action=operation.").await.body;
    for action in ["create", "pause", "resume", "cancel"] {
        assert!(audit.contains(&format!("operation.{action}")), "{audit}");
    }
    // One that was selected is named by its operation, and by the command on it alone.
    let id = jobs[0].id;
    let form = format!("scope=selected&deadLetters=1&action=discard&id={id}");
    assert_eq!(node.post("/jobs/act", &form).await.status, 303);
    let page = node.get(&format!("/jobs/{id}")).await.body;
    assert!(page.contains("discard by dashboard"), "{page}");
    node.stop().await;
}
