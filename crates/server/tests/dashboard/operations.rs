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
    assert!(page.contains("Deliveries wait, for seven days"), "{page}");
    assert_eq!(act("enable").await.status, 303);
    assert_eq!(act("test").await.status, 303);
    let page = node.get(&path).await.body;
    assert!(page.contains("endpoint.test"), "{page}");
    let audit = node.get("/audit?action=endpoint.").await.body;
    for action in ["create", "edit", "disable", "enable", "test"] {
        assert!(audit.contains(&format!("endpoint.{action}")), "{audit}");
    }
    node.stop().await;
}
