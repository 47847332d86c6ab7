//! Many jobs in one request: all of them, or none.

use serde_json::{Value, json};
use steadfast_store::limits::JOBS_EXAMINED_MAX;

use crate::server::Server;

fn many(count: usize) -> Value {
    let jobs: Vec<Value> = (0..count)
        .map(|number| json!({"kind": "bulk", "payload": {"number": number}}))
        .collect();
    json!({"jobs": jobs})
}

#[tokio::test]
async fn a_thousand_are_made_in_order_and_one_more_is_refused() {
    let server = Server::start().await;
    let made = server.http.post("/api/v1/jobs", many(1_000)).await.is(201);
    let jobs = made["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1_000);
    let refused = server.http.post("/api/v1/jobs", many(1_001)).await;
    refused.is_problem(422, "invalid", Some("jobs"));
    let none = server.http.post("/api/v1/jobs", many(0)).await;
    none.is_problem(422, "invalid", Some("jobs"));
    let stats = server.http.get("/api/v1/stats").await.is(200);
    assert_eq!(stats["ready"], 1_000);

    // A list is walked to its end with cursors, and nothing comes twice.
    let mut seen = std::collections::BTreeSet::new();
    let mut path = "/api/v1/jobs?limit=300&kind=bulk".to_owned();
    loop {
        let page = server.http.get(&path).await.is(200);
        for job in page["jobs"].as_array().unwrap() {
            assert!(seen.insert(job["id"].as_str().unwrap().to_owned()));
        }
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("/api/v1/jobs?limit=300&kind=bulk&after={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 1_000);
}

#[tokio::test]
async fn one_bad_job_among_many_makes_none_and_is_named() {
    let server = Server::start().await;
    for (bad, field) in [
        (json!({"kind": "bulk", "priority": 99}), "jobs[2].priority"),
        (json!({"kind": "bulk", "payloat": 1}), "jobs[2].payloat"),
        (json!({"api": "ftp://example.com"}), "jobs[2].api"),
        (json!({"kind": "no spaces please"}), "jobs[2].kind"),
        (
            json!({"kind": "bulk", "retry": {"maxRetries": 101}}),
            "jobs[2].retry.maxRetries",
        ),
        (
            json!({"kind": "bulk", "schedule": "* * * * *"}),
            "jobs[2].schedule",
        ),
    ] {
        let mut body = many(5);
        body["jobs"][2] = bad;
        let refused = server.http.post("/api/v1/jobs", body).await;
        let problem = refused.is(422);
        assert_eq!(problem["field"], field, "{problem}");
    }
    let jobs = server.http.get("/api/v1/jobs").await.is(200);
    assert_eq!(jobs["jobs"], json!([]));
}

#[tokio::test]
async fn a_slow_search_stops_and_continues_from_its_cursor() {
    let server = Server::start().await;
    let path = "/api/v1/jobs?text=no+such+words&limit=5";
    // Jobs without a failure are passed over many at once.
    server.http.post("/api/v1/jobs", many(1_000)).await.is(201);
    let page = server.http.get(path).await.is(200);
    assert_eq!(
        (&page["jobs"], &page["nextCursor"]),
        (&json!([]), &Value::Null)
    );

    // What only the text of a failure rules out is read in a bounded number of looks.
    server.fail_jobs(2 * JOBS_EXAMINED_MAX + 500).await;
    let (mut pages, mut next) = (0, path.to_owned());
    loop {
        let page = server.http.get(&next).await.is(200);
        assert_eq!(page["jobs"], json!([]));
        pages += 1;
        let Some(cursor) = page["nextCursor"].as_str() else {
            break;
        };
        next = format!("{path}&after={cursor}");
    }
    // One or two looks for each, as long as they take.
    assert!((2..=3).contains(&pages), "{pages}");
}

#[tokio::test]
async fn a_job_of_a_list_is_read_as_a_single_one() {
    let server = Server::start().await;
    for job in [
        json!({"kind": "k", "payload": null}),
        json!({"kind": "k"}),
        json!({"kind": "k", "payload": null, "priority": null, "tags": null, "retry": null}),
        json!({"api": "https://example.com/", "payload": null}),
    ] {
        let single = server.http.create_id(job.clone()).await;
        let list = json!({"jobs": [job]});
        let list = server.http.post("/api/v1/jobs", list).await.is(201);
        let read = async |id: &str| {
            let job = server.http.get(&format!("/api/v1/jobs/{id}")).await.is(200);
            [
                job["payload"].clone(),
                job["http"].clone(),
                job["priority"].clone(),
            ]
        };
        let listed = list["jobs"][0]["id"].as_str().unwrap();
        assert_eq!(read(&single).await, read(listed).await, "{job}");
    }
}
