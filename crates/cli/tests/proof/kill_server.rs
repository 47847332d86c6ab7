//! A server that is killed without warning, and how the next one continues.

use std::{collections::BTreeMap, time::Instant};

use serde_json::json;

use crate::{
    node::{Node, until},
    target::Target,
};

#[test]
fn a_server_killed_during_retries_goes_on_with_every_one_of_them_and_repeats_none() {
    const JOBS: usize = 200;
    let dir = tempfile::tempdir().unwrap();
    // Two failures, then success.
    let target = Target::start(|attempt| Some(if attempt <= 2 { 500 } else { 200 }));
    let node = Node::start(dir.path());
    let retry =
        json!({"maxRetries": 5, "backoff": "fixed", "baseDelay": "1500ms", "jitter": "none"});
    // The lease is short, so that the next node soon takes over the jobs of the killed one.
    let job = json!({"api": target.url, "retry": retry, "lease": "1s"});
    let created = node.create(&json!({"jobs": vec![job; JOBS]}));
    let ids: Vec<String> = created["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), JOBS);
    // In the middle: some second attempts are over, others run or wait.
    until("some retries", || {
        let requests = target.requests();
        let retries = requests.keys().filter(|(_, attempt)| *attempt == 2);
        (retries.count() >= JOBS / 4).then_some(())
    });
    node.kill();

    let node = Node::start(dir.path());
    until("all jobs to succeed", || {
        let stats = node.get("/api/v1/stats");
        (stats["succeeded"] == JOBS).then_some(())
    });
    let requests = target.requests();
    let mut lost = 0;
    for id in &ids {
        let attempts = node.attempts(id);
        for attempt in &attempts {
            let number = u32::try_from(attempt["attempt"].as_u64().unwrap()).unwrap();
            let times = requests.get(&(id.clone(), number)).copied().unwrap_or(0);
            match attempt["status"].as_str().unwrap() {
                // It may have been killed before or after it sent the request.
                "LOST" => {
                    lost += 1;
                    assert!(times <= 1, "{id} {number}");
                }
                _ => assert_eq!(times, 1, "{id} {number} was settled once"),
            }
        }
        let numbers: Vec<u64> = attempts
            .iter()
            .map(|attempt| attempt["attempt"].as_u64().unwrap())
            .collect();
        let most = numbers.len() as u64;
        assert_eq!(numbers, (1..=most).rev().collect::<Vec<u64>>(), "{id}");
        assert_eq!(attempts[0]["status"], "SUCCESS", "{id}");
    }
    let recorded: usize = ids.iter().map(|id| node.attempts(id).len()).sum();
    assert!(requests.len() <= recorded, "every request has its record");
    println!("{lost} attempts were lost with the node");
}

#[test]
fn an_at_most_once_job_that_died_with_its_server_is_unknown_and_never_sent_again() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|_| None);
    let node = Node::start(dir.path());
    let body = json!({
        "api": target.url, "type": "AT_MOST_ONCE", "maxRetryCount": 5, "lease": "1s"
    });
    let created = node.create(&body);
    let id = created["id"].as_str().unwrap();
    until("the target to get the request", || {
        (target.requests().len() == 1).then_some(())
    });
    node.kill();

    let node = Node::start(dir.path());
    let job = until("the lease to run out", || {
        let job = node.get(&format!("/api/v1/jobs/{id}"));
        (job["label"] == "failed").then_some(job)
    });
    assert_eq!(job["reason"], "outcome_unknown");
    let attempts = node.attempts(id);
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["status"], "LOST");
    assert_eq!(target.requests(), BTreeMap::from([((id.to_owned(), 1), 1)]));
    let letters = node.get("/api/v1/dlq");
    assert_eq!(letters["jobs"][0]["id"], id);
    let again = format!("/api/v1/jobs/{id}/retry");
    let refused = node.post(&again, &json!({})).is(409);
    assert_eq!(refused["code"], "refused");
}

#[test]
fn a_hundred_thousand_waiting_jobs_do_not_hold_up_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let jobs = vec![json!({"kind": "later", "delay": "1d"}); 1_000];
    for _ in 0..100 {
        node.create(&json!({"jobs": jobs}));
    }
    node.kill();
    let begun = Instant::now();
    let node = Node::start(dir.path());
    println!("ready after {} ms", begun.elapsed().as_millis());
    let stats = node.get("/api/v1/stats");
    assert_eq!(stats["scheduled"], 100_000);
}
