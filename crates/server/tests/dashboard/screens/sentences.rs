//! For each sentence of a page: when is it false?
//!
//! A row is a situation and a page, with what the page says in it and what it must not say.

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_core::Payload;
use steadfast_engine::JobRequest;
use steadfast_store::{Document, DocumentKind, Outbox};

use crate::{
    node::{FailingJob, TestNode},
    worker_jobs::{dead_letter, fail_claimable, worker_job},
};

const HOST: &str = "https://api.stripe.example";

#[derive(Clone, Copy, Debug)]
enum Situation {
    /// Nothing was ever created.
    Empty,
    /// A job has been due for five minutes.
    Overdue,
    /// Jobs are due behind a destination that a person holds.
    Held,
    /// A destination was held and has caught up. What succeeds there is not counted.
    CaughtUp,
    /// A destination was held and has recovered, but other jobs wait for a gate.
    Recovered,
    /// Jobs are due behind a paused queue.
    Paused,
    /// A job is due that no worker runs.
    NoWorker,
    /// The same, and a worker of all tenants that runs it has been seen.
    WorkerOfAllTenants,
    /// Two tenants fail in the same way.
    TwoTenantsFail,
    /// An alert fires.
    Firing,
    /// It fires, and a person has acknowledged it.
    Acknowledged,
    /// It fires, and a person has silenced it.
    Silenced,
    /// It fired once.
    Resolved,
}

impl Situation {
    async fn make(self, node: &TestNode) {
        match self {
            Self::Empty => {}
            Self::Overdue => {
                node.clock.set_back(Duration::from_secs(300));
                node.client.enqueue(worker_job("default")).await.unwrap();
                node.clock.set_back(Duration::ZERO);
            }
            Self::Held => {
                let form = format!("action=hold&confirmed=1&destination={HOST}");
                post(node, "/destinations/act", &form).await;
                let job = failing().destination(HOST);
                node.client.enqueue(job).await.unwrap();
            }
            Self::CaughtUp => outage(node, true).await,
            Self::Recovered => outage(node, false).await,
            Self::Paused => {
                post(node, "/queues/act", "queue=mail&action=pause").await;
                node.client.enqueue(failing().queue("mail")).await.unwrap();
            }
            Self::NoWorker => {
                node.client.enqueue(worker_job("default")).await.unwrap();
            }
            Self::WorkerOfAllTenants => {
                let claim = json!({"worker": "w", "kinds": ["worker.kind"], "max": 1});
                node.api("POST", "/claims", claim).await;
                node.client.enqueue(worker_job("default")).await.unwrap();
                while !has_worker(node).await {
                    tokio::time::sleep(Duration::from_millis(20)).await; // sleep: until the worker is stored
                }
            }
            Self::TwoTenantsFail => {
                for tenant in ["acme", "globex"] {
                    dead_letter(node, tenant, "row 7 is broken").await;
                }
            }
            Self::Firing => alert(node, "firing").await,
            Self::Acknowledged => {
                alert(node, "firing").await;
                post(node, "/alerts/act", "id=acme/jobs/dlq&action=acknowledge").await;
            }
            Self::Silenced => {
                alert(node, "firing").await;
                post(node, "/alerts/act", "id=acme/jobs/dlq&action=silence").await;
            }
            Self::Resolved => alert(node, "ok").await,
        }
        // An action makes the next page read all counts again.
        post(node, "/queues/act", "queue=other&action=pause").await;
    }
}

fn failing() -> JobRequest {
    JobRequest::of(&FailingJob {
        note: String::new(),
    })
}

async fn post(node: &TestNode, path: &str, form: &str) {
    let found = node.post(path, form).await;
    assert_eq!(found.status, 303, "{path} {form}: {}", found.body);
}

async fn has_worker(node: &TestNode) -> bool {
    let list = node.api("GET", "/workers", Value::Null).await;
    !list["workers"].as_array().unwrap().is_empty()
}

/// An outage that is over.
async fn outage(node: &TestNode, has_caught_up: bool) {
    let ago = |secs| node.client.now().minus(Duration::from_secs(secs));
    let incident = json!({
        "beganAt": ago(120), "recoveredAt": ago(66), "endedAt": ago(60),
        "hasCaughtUp": has_caught_up, "jobsDelayed": 344, "failedAttempts": 2, "failedProbes": 2,
        "deadLetters": if has_caught_up { 0 } else { 3 },
        "cause": {"is": "failures", "attempts": 966, "failed": 792, "jobs": 64},
    });
    let health = Document {
        kind: DocumentKind::Destination,
        id: HOST.to_owned(),
        body: Payload::encode(&json!({"pastIncidents": [incident]})).unwrap(),
        revision: 0,
    };
    let store = node.node.store();
    let saved = store.save_document(health, Outbox::default()).await;
    saved.unwrap();
    while !node.get("/destinations").await.body.contains(HOST) {
        tokio::time::sleep(Duration::from_millis(20)).await; // sleep: until the node has read it
    }
}

async fn alert(node: &TestNode, status: &str) {
    if status == "firing" {
        // Without one, the node resolves the alert at its next check.
        dead_letter(node, "acme", "row 7 is broken").await;
    }
    let now = node.client.now();
    let state = json!({
        "rule": "dlq", "tenant": "acme", "subject": "jobs", "status": status,
        "since": now, "updatedAt": now, "firedAt": now, "notifiedAt": now,
        "unit": "jobs", "value": 3, "threshold": 0, "queue": "mail",
        "message": "3 dead letters in queue mail of tenant acme",
    });
    let document = Document {
        kind: DocumentKind::Alert,
        id: "acme/jobs/dlq".to_owned(),
        body: Payload::encode(&state).unwrap(),
        revision: 0,
    };
    let store = node.node.store();
    let saved = store.save_document(document, Outbox::default()).await;
    saved.unwrap();
}

struct Row {
    page: &'static str,
    says: &'static [&'static str],
    never: &'static [&'static str],
}

const fn row(
    page: &'static str,
    says: &'static [&'static str],
    never: &'static [&'static str],
) -> Row {
    Row { page, says, never }
}

// long: a table of situations and sentences
fn rows(situation: Situation) -> Vec<Row> {
    match situation {
        Situation::Empty => vec![
            row(
                "/?tenant=idle",
                &["<p class=\"figure\">Yes</p>", "no job is due"],
                &["at the current rate", "Needs attention"],
            ),
            row("/queues", &["No queues"], &["class=\"stuck\""]),
            row("/destinations", &["No unhealthy destinations"], &[]),
            row("/failures", &["No failures"], &["No failures match"]),
            row("/alerts", &["No alerts"], &["Acknowledge"]),
            row("/queues/why?queue=mail", &["Queue mail has no jobs."], &[]),
        ],
        Situation::Overdue => vec![row(
            "/",
            &["Needs attention", "the oldest due job has waited 5m"],
            &[
                "No alerts are firing and no job is overdue",
                "no job is due",
            ],
        )],
        Situation::Held => vec![
            row("/", &["1 held: "], &["at the current rate"]),
            row("/queues", &["1 held", "value=\"release\""], &[]),
            row(
                "/destinations",
                &["held manually"],
                &["No unhealthy destinations"],
            ),
            row(
                "/queues/why?queue=default",
                &["It cannot start yet.", "value=\"release\""],
                &["the next claim starts with the first"],
            ),
        ],
        Situation::CaughtUp => vec![
            row(
                "/",
                &["Last outage", "no dead letters, caught up in 6s"],
                &["0 of 0</td>", "last minute"],
            ),
            row(
                "/destinations?show=https%3A%2F%2Fapi.stripe.example",
                &[
                    "held for 1m until 1m ago: 2 attempts failed meanwhile",
                    "792 of 966 attempts of at least 64 jobs failed",
                ],
                &["Recent attempts", "no recent attempts"],
            ),
        ],
        Situation::Recovered => vec![row(
            "/",
            &["Last outage", "3 dead letters"],
            &["no dead letters", "caught up"],
        )],
        Situation::Paused => vec![
            row("/", &["1 paused: "], &["at the current rate"]),
            row("/queues", &["1 paused", "value=\"resume\""], &[]),
            row(
                "/queues/why?queue=mail",
                &["It cannot start yet."],
                &["can start as soon as it is claimed"],
            ),
        ],
        Situation::NoWorker => vec![
            row(
                "/",
                &[
                    "1 without a worker: ",
                    "Where no rate is given, the sustainable rate is unknown.",
                ],
                &["at the current rate", "; the sustainable rate is unknown"],
            ),
            row("/queues", &["1 without a worker"], &[]),
            row(
                "/queues/why?queue=default",
                &["It waits for a worker.", "none has been seen recently"],
                &["can start as soon as it is claimed"],
            ),
        ],
        Situation::WorkerOfAllTenants => vec![
            row(
                "/?tenant=default",
                &["1 worker alive"],
                &["without a worker", "0 workers alive"],
            ),
            row("/queues", &["1 due, 1 can start"], &["without a worker"]),
            row(
                "/queues/why?queue=default",
                &[],
                &["It waits for a worker.", "No live node or worker"],
            ),
        ],
        Situation::TwoTenantsFail => vec![
            row(
                "/",
                &[
                    "tenant acme · ",
                    "tenant globex · ",
                    "<dt>Successful retries, all time</dt>",
                    "100.0 % <small>of attempts failed</small>",
                ],
                &[],
            ),
            row(
                "/failures",
                &[
                    ">acme</td>",
                    ">globex</td>",
                    "data-label=\"failures\">1</td>",
                    "data-label=\"dead letters\"",
                ],
                &[],
            ),
        ],
        Situation::Firing => vec![
            row(
                "/",
                &["1 alert firing: dlq"],
                &["<p class=\"figure\">Yes</p>"],
            ),
            row(
                "/alerts",
                &[
                    "href=\"/dead-letters?queue=mail&#38;tenant=acme\"",
                    "Acknowledge",
                ],
                &["acknowledged", "silenced"],
            ),
        ],
        Situation::Acknowledged => vec![row(
            "/alerts",
            &["chip-firing", "<span class=\"note\">acknowledged"],
            &["value=\"acknowledge\""],
        )],
        Situation::Silenced => vec![row(
            "/alerts",
            &["chip-firing", "silenced, ends", "value=\"unsilence\""],
            &["value=\"silence\""],
        )],
        Situation::Resolved => vec![
            row("/", &[], &["alert firing"]),
            row("/alerts", &["chip-ok"], &["value=\"acknowledge\""]),
        ],
    }
}

#[tokio::test]
async fn every_sentence_is_true_in_every_situation() {
    for situation in [
        Situation::Empty,
        Situation::Overdue,
        Situation::Held,
        Situation::CaughtUp,
        Situation::Recovered,
        Situation::Paused,
        Situation::NoWorker,
        Situation::WorkerOfAllTenants,
        Situation::TwoTenantsFail,
        Situation::Firing,
        Situation::Acknowledged,
        Situation::Silenced,
        Situation::Resolved,
    ] {
        let node = TestNode::start().await;
        situation.make(&node).await;
        for Row { page, says, never } in rows(situation) {
            let html = node.get(page).await.body;
            for sentence in says {
                assert!(
                    html.contains(sentence),
                    "{situation:?} {page}: {sentence}\n{html}"
                );
            }
            for sentence in never {
                let is_said = html.contains(sentence);
                assert!(!is_said, "{situation:?} {page}, never: {sentence}\n{html}");
            }
        }
        node.stop().await;
    }
}

#[tokio::test]
async fn an_operation_says_what_became_of_its_jobs() {
    let node = TestNode::start().await;
    for _ in 0..3 {
        dead_letter(&node, "default", "row is broken").await;
    }
    let form = "scope=all&deadLetters=1&action=retry&confirmed=1&back=/dead-letters";
    post(&node, "/jobs/act", form).await;
    let list = node.api("GET", "/operations", Value::Null).await;
    let id = list["operations"][0]["id"].as_str().unwrap().to_owned();
    let page = node.get(&format!("/operations/{id}")).await.body;
    let pending = "Of 3 requeued jobs: 0 succeeded, 0 failed again, 3 pending.";
    assert!(page.contains(pending), "{page}");
    fail_claimable(&node, "default", "row is broken").await;
    let page = node.get(&format!("/operations/{id}")).await.body;
    let failed = "Of 3 requeued jobs: 0 succeeded, 3 failed again.";
    assert!(page.contains(failed), "{page}");
    assert!(
        page.contains("<td>requeued</td><td>failed again</td>"),
        "{page}"
    );
    assert!(!page.contains("<td>changed</td>"), "{page}");
    let body = node
        .api("GET", &format!("/operations/{id}"), Value::Null)
        .await;
    assert_eq!(body["outcomes"]["failedAgain"], 3);
    node.stop().await;
}

#[tokio::test]
async fn a_bulk_question_names_the_failure_and_its_number() {
    let node = TestNode::start().await;
    let job = dead_letter(&node, "default", "disk is full").await;
    let failure = job.progress.failure.unwrap();
    let fingerprint = steadfast_core::FailureFingerprint::of(&failure, &job.kind, None);
    let form = format!("scope=all&deadLetters=1&action=retry&fingerprint={fingerprint}");
    let page = node.post("/jobs/act", &form).await.body;
    assert!(page.contains("<h1>Requeue 1 dead letter?</h1>"), "{page}");
    assert!(page.contains("disk is full"), "{page}");
    assert!(!page.contains("<dt>fingerprint</dt>"), "{page}");
    assert!(page.contains("name=\"fingerprint\""), "{page}");
    node.stop().await;
}

#[tokio::test]
async fn the_largest_group_of_dead_letters_comes_first() {
    let node = TestNode::start().await;
    // One that fails often and leaves one dead letter, and one that leaves two.
    for _ in 0..4 {
        let job = dead_letter(&node, "default", "disk is full").await;
        node.client.discard(job.id).await.unwrap();
    }
    dead_letter(&node, "default", "disk is full").await;
    for _ in 0..2 {
        dead_letter(&node, "default", "table is locked").await;
    }
    let page = node.get("/dead-letters").await.body;
    let groups = page.split("class=\"group\"").skip(1);
    let counts: Vec<&str> = groups
        .map(|group| group.split("count\">").nth(1).unwrap())
        .map(|group| group.split("</td>").next().unwrap())
        .collect();
    assert_eq!(counts, ["2×", "1×"]);
    node.stop().await;
}

#[tokio::test]
async fn the_letters_of_the_id_column_find_the_job() {
    let node = TestNode::start().await;
    let id = node.client.enqueue(worker_job("default")).await.unwrap();
    let id = id.to_string();
    let found = node.get(&format!("/jobs?q={}", &id[id.len() - 6..])).await;
    assert_eq!(found.header("location"), Some(&*format!("/jobs/{id}")));
    let other = node.get("/jobs?q=refuse").await;
    assert_eq!(other.header("location"), Some("/jobs?text=refuse"));
    node.stop().await;
}

#[tokio::test]
async fn a_refused_form_keeps_what_was_entered() {
    let node = TestNode::start().await;
    for (path, form, kept) in [
        (
            "/gates/act",
            "action=set&scope=queue&key=mail&rate=fast&maxRunning=7",
            ["value=\"fast\"", "value=\"7\""],
        ),
        (
            "/destinations/act",
            "action=hold&confirmed=1&destination=https://a.example&reason=why&until=soon",
            ["value=\"why\"", "value=\"soon\""],
        ),
        (
            "/keys/act",
            "action=create&name=ci&scope=admin&days=many",
            ["value=\"ci\"", "value=\"many\""],
        ),
    ] {
        let found = node.post(path, form).await;
        assert_eq!(found.status, 422, "{path}");
        assert!(
            found.body.contains("role=\"alert\""),
            "{path}: {}",
            found.body
        );
        for value in kept {
            assert!(found.body.contains(value), "{path} {value}: {}", found.body);
        }
    }
    node.stop().await;
}

#[tokio::test]
async fn a_page_without_a_filter_that_cannot_be_read_says_so_and_keeps_the_others() {
    let node = TestNode::start().await;
    dead_letter(&node, "default", "disk is full").await;
    for (page, refused, kept) in [
        (
            "/jobs?queue=default&label=nope&tag=a:b",
            &["label: "][..],
            ["value=\"queue:default a:b\"", "label=failed"],
        ),
        (
            "/jobs?schedule=sch_x&before=soon&kind=worker.kind",
            &["schedule: ", "before: "],
            ["value=\"kind:worker.kind\"", "worker.kind</a>"],
        ),
        (
            "/dead-letters?reason=nope&queue=default",
            &["reason: "],
            ["value=\"queue:default\"", "disk is full"],
        ),
        (
            "/failures?state=nope&text=disk",
            &["state: "],
            ["value=\"text:disk\"", "disk is full"],
        ),
        ("/?tenant=a%20b", &["tenant is "], ["Queues", "Failures"]),
    ] {
        let found = node.get(page).await;
        assert_eq!(found.status, 200, "{page}: {}", found.body);
        assert_eq!(
            found.body.matches("Filter not applied.").count(),
            refused.len(),
            "{page}: {}",
            found.body
        );
        for field in refused {
            let sentence = format!("role=\"alert\">Filter not applied. {field}");
            assert!(found.body.contains(&sentence), "{page}: {}", found.body);
        }
        for value in kept {
            assert!(found.body.contains(value), "{page} {value}: {}", found.body);
        }
    }
    // A page that is about nothing without the field is refused.
    let found = node.get("/queues/why?queue=a%20b").await;
    assert_eq!(found.status, 422, "{}", found.body);
    assert!(found.body.contains("a b"), "{}", found.body);
    node.stop().await;
}
