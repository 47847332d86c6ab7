//! A person's data is erased by tag: jobs, deliveries and failures that tell of it.

use serde_json::json;

use crate::{
    server::{Server, until},
    target::Target,
};

const NAME: &str = "Jane-Roe";

#[tokio::test]
async fn a_persons_data_is_erased_by_tag_and_the_audit_keeps_the_ids() {
    let server = Server::start().await;
    let (http, target) = (&server.http, Target::always(200).await);
    let endpoint = json!({"url": target.url(), "events": ["job.failed"]});
    http.post("/api/v1/endpoints", endpoint).await.is(201);
    let failing = json!({"kind": "mail", "retry": "once", "payload": {"to": NAME},
        "tags": {"customer": "4711"}});
    let dead = http.create_id(failing).await;
    let claim = &http.claim("mail", "20s").await[0];
    let failure = json!({"failure": {"class": "error", "message": format!("no mailbox {NAME}")}});
    http.report(claim, "fail", failure).await.is(200);
    let waiting = json!({"kind": "mail", "delay": "1h", "tags": {"customer": "4711"}});
    let waiting = http.create_id(waiting).await;
    until("the delivery to have ended", || async {
        let list = http.get("/api/v1/jobs?kind=webhook&label=succeeded").await;
        (list.is(200)["jobs"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;

    let erase = |dry_run: bool| json!({"kind": "erase", "filter": {"tag": ["customer:4711"]}, "dryRun": dry_run});
    let dry = http.post("/api/v1/operations", erase(true)).await.is(200);
    assert_eq!(dry["count"], 1, "only what has ended: {dry}");
    let operation = http.post("/api/v1/operations", erase(false)).await.is(201);
    let path = format!("/api/v1/operations/{}", operation["id"].as_str().unwrap());
    until("the operation to be done", || async {
        let operation = http.get(&path).await.is(200);
        (operation["status"] == "done").then_some(())
    })
    .await;

    let gone = http.get(&format!("/api/v1/jobs/{dead}")).await;
    gone.is_problem(404, "not_found", None);
    assert_eq!(http.read_job(&waiting).await["label"], "scheduled");
    for list in ["jobs?limit=500", "dlq", "failures", "operations", "alerts"] {
        let body = http.get(&format!("/api/v1/{list}")).await.body;
        assert!(!body.contains(NAME), "{list}: {body}");
    }
    let deliveries = http.get("/api/v1/jobs?kind=webhook").await.is(200);
    assert_eq!(deliveries["jobs"], json!([]));
    let audit = http.get(&format!("/api/v1/audit?subject={dead}")).await;
    assert_eq!(audit.is(200)["records"][0]["action"], "job.erase");
    server.stop().await;
}

#[tokio::test]
async fn a_dry_run_of_a_retry_counts_only_jobs_that_can_be_retried() {
    let server = Server::start().await;
    let http = &server.http;
    for (number, verb) in [(1, "succeed"), (2, "fail")] {
        http.create_id(json!({"kind": "k", "retry": "once", "priority": number}))
            .await;
        let claim = &http.claim("k", "20s").await[0];
        http.report(claim, verb, json!({})).await.is(200);
    }
    http.create_id(json!({"kind": "k", "delay": "1h"})).await;
    let retry = json!({"kind": "retry", "filter": {"kind": "k"}, "dryRun": true});
    let dry = http.post("/api/v1/operations", retry).await.is(200);
    assert_eq!(dry["count"], 1, "{dry}");
    server.stop().await;
}
