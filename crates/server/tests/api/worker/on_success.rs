//! Jobs that are created with a success: they keep what they run after and their batch.

use serde_json::{Value, json};

use crate::server::{Server, id_of};

#[tokio::test]
async fn a_job_of_a_success_is_added_to_its_own_batch_before_that_ends() {
    let server = Server::start().await;
    let http = &server.http;
    for is_open in [true, false] {
        let body = json!({"open": is_open, "jobs": [{"kind": "split"}],
            "onEnd": {"kind": "notify-done"}});
        let batch = id_of(&http.post("/api/v1/batches", body).await.is(201));
        let claim = http.claim("split", "20s").await.remove(0);
        let page = json!({"kind": "page", "batch": batch});
        let body = json!({"onSuccess": [page, page]});
        http.report(&claim, "succeed", body).await.is(200);
        let path = format!("/api/v1/batches/{batch}");
        if is_open {
            http.post(&format!("{path}/close"), json!({})).await.is(200);
        }
        let read = async || http.get(&path).await.is(200);
        assert_eq!(read().await["total"], 3);
        assert_eq!(read().await["status"], "running");
        for claim in http.claim("page", "20s").await {
            assert_eq!(claim["job"]["batch"], batch);
            http.report(&claim, "succeed", json!({})).await.is(200);
        }
        // The callback is created when the last end is counted.
        http.claim("notify-done", "20s").await.remove(0);
        assert_eq!(read().await["status"], "succeeded");
    }
}

#[tokio::test]
async fn a_job_of_a_success_runs_after_the_jobs_that_it_names() {
    let server = Server::start().await;
    let http = &server.http;
    let other = http.create_id(json!({"kind": "other"})).await;
    http.create_id(json!({"kind": "first"})).await;
    let claim = http.claim("first", "20s").await.remove(0);
    let body = json!({"onSuccess": [{"kind": "next", "after": [other]}]});
    http.report(&claim, "succeed", body).await.is(200);
    assert_eq!(http.claim("next", "0s").await, Vec::<Value>::new());
    let claim = http.claim("other", "20s").await.remove(0);
    http.report(&claim, "succeed", json!({})).await.is(200);
    let next = http.claim("next", "20s").await.remove(0);
    let job = http.read_job(&id_of(&next)).await;
    assert_eq!(job["after"], json!([{"id": other, "state": "succeeded"}]));
}

#[tokio::test]
async fn a_success_that_names_what_is_not_there_is_refused_whole() {
    let server = Server::start().await;
    let http = &server.http;
    let closed = json!({"jobs": [{"kind": "elsewhere"}]});
    let closed = id_of(&http.post("/api/v1/batches", closed).await.is(201));
    let id = http.create_id(json!({"kind": "order"})).await;
    let claim = http.claim("order", "20s").await.remove(0);
    let unknown = id.replace(&id[4..12], "00000000");
    let no_batch = closed.replace(&closed[4..12], "00000000");
    let mail = json!({"kind": "mail"});
    for (job, status, code, field) in [
        (json!({"after": [unknown]}), 422, "unknown_job", "after"),
        (json!({"batch": no_batch}), 422, "unknown_batch", "batch"),
        (json!({"batch": closed}), 409, "batch_closed", "batch"),
        (json!({"unique": {"key": "k"}}), 422, "invalid", "unique"),
    ] {
        let mut job = job;
        job["kind"] = json!("mail");
        let body = json!({"onSuccess": [mail, job]});
        let refused = http.report(&claim, "succeed", body.clone()).await;
        let field = format!("onSuccess[1].{field}");
        refused.is_problem(status, code, Some(&field));
        let mut body = body;
        body["id"] = json!(id);
        body["fence"] = json!(1);
        body["outcome"] = json!("succeed");
        let body = json!({"settlements": [body]});
        let answer = http.post("/api/v1/claims/settle", body).await.is(200);
        assert_eq!(answer["settled"][0]["field"], field, "{answer}");
        assert_eq!(http.read_job(&id).await["label"], "running");
    }
    let mails = http.get("/api/v1/jobs?kind=mail").await.is(200);
    assert_eq!(mails["jobs"], json!([]));
    let body = json!({"onSuccess": [mail]});
    http.report(&claim, "succeed", body).await.is(200);
}

#[tokio::test]
async fn the_same_report_sent_while_the_first_is_under_way_is_accepted() {
    let server = Server::start().await;
    let http = &server.http;
    for _ in 0..20 {
        http.create_id(json!({"kind": "order"})).await;
        let claim = http.claim("order", "20s").await.remove(0);
        let body = json!({"onSuccess": [{"kind": "mail"}]});
        let reports = (0..3).map(|_| http.report(&claim, "succeed", body.clone()));
        for answer in futures_util::future::join_all(reports).await {
            assert_eq!(answer.is(200)["label"], "succeeded");
        }
        let other = http.report(&claim, "fail", json!({"failure": {"message": "no"}}));
        other.await.is_problem(409, "stale_fence", Some("fence"));
    }
    let mails = http.get("/api/v1/jobs?kind=mail").await.is(200);
    assert_eq!(mails["jobs"].as_array().unwrap().len(), 20);
}
