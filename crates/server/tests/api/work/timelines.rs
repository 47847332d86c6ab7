//! The worked timelines of the specification, with the bodies of the seeds as they are written.

use serde_json::{Value, json};

use crate::{
    server::{Server, Setup, each, id_of, millis, time, until},
    target::Target,
};

/// Attempts are due at these seconds after the first if each takes no time. Each delay is exact to the
/// millisecond, and no attempt starts before it is due; how late it starts is up to the machine.
#[track_caller]
fn assert_timetable(attempts: &[Value], seconds: &[i64]) {
    assert_eq!(attempts.len(), seconds.len(), "{attempts:#?}");
    for pair in attempts.windows(2) {
        let late = millis(&pair[0]["nextRunAt"], &pair[1]["executionTime"]);
        assert!(late >= 0, "{} ms early", -late);
    }
    let delays = seconds.windows(2).map(|pair| (pair[1] - pair[0]) * 1_000);
    for (attempt, delay) in attempts.iter().zip(delays) {
        let waited = millis(&attempt["finishedAt"], &attempt["nextRunAt"]);
        assert_eq!(waited, delay, "{attempt:#}");
        assert_eq!(attempt["decision"]["rule"], "policy");
        assert_eq!(attempt["decision"]["delayMs"], delay);
        assert_eq!(attempt["decision"]["jitteredMs"], delay);
        assert_eq!(attempt["decision"]["jitter"], "none");
    }
}

#[tokio::test]
async fn a_run_that_always_fails_is_tried_at_0_1_3_and_7_s_and_its_schedule_goes_on() {
    let server = Server::start().await;
    let target = Target::always(500).await;
    let body = json!({
        "schedule": "*/10 * * * * *",
        "api": target.url(),
        "type": "AT_LEAST_ONCE",
        "isRecurring": true,
        "maxRetryCount": 3
    });
    let made = server.http.post("/api/v1/jobs", body).await;
    let schedule = made.is(201);
    let id = id_of(&schedule);
    assert_eq!(made.headers["location"], format!("/api/v1/schedules/{id}"));
    let first_tick = schedule["nextTick"].clone();
    let history = until("the first run and the start of the second", || async {
        let attempts = server.http.attempts(&id).await;
        (attempts.len() >= 5).then_some(attempts)
    })
    .await;
    let (first, second) = history.split_at(4);
    assert_timetable(first, &[0, 1, 3, 7]);
    assert_eq!(each(first, "retryCount"), [0, 1, 2, 3]);
    assert_eq!(each(first, "status"), ["FAILED"; 4]);
    assert_eq!(first[3]["decision"]["rule"], "exhausted");
    assert_eq!(first[3]["nextRunAt"], Value::Null);
    let started = millis(&first_tick, &first[0]["executionTime"]);
    assert!(started >= 0, "{} ms early", -started);

    let run = server
        .http
        .read_job(first[0]["jobId"].as_str().unwrap())
        .await;
    assert_eq!(run["label"], "failed");
    assert_eq!(run["reason"], "exhausted");
    assert_eq!(run["scheduledFor"], first_tick);
    assert_eq!(run["scheduleId"], schedule["id"]);
    let letters = server.http.get("/api/v1/dlq").await.is(200);
    assert_eq!(letters["jobs"][0]["id"], run["id"]);

    assert_ne!(second[0]["jobId"], first[0]["jobId"]);
    let next = second[0]["jobId"].as_str().unwrap();
    let next_tick = server.http.read_job(next).await["scheduledFor"].clone();
    // The next tick, or a later one if the machine was busy for so long that the first run overlapped.
    let apart = millis(&first_tick, &next_tick);
    assert!(apart > 0 && apart % 10_000 == 0, "{apart} ms apart");
    assert!(time(&second[0]["executionTime"]) >= time(&next_tick));
}

#[tokio::test]
async fn a_run_that_fails_twice_and_then_succeeds_has_three_records() {
    let server = Server::start().await;
    let target = Target::failing(2).await;
    let body = json!({
        "schedule": "*/5 * * * * *",
        "api": target.url(),
        "type": "AT_LEAST_ONCE",
        "isRecurring": true,
        "maxRetryCount": 2
    });
    let schedule = id_of(&server.http.create(body).await);
    let history = until("three attempts and the next run", || async {
        let attempts = server.http.attempts(&schedule).await;
        (attempts.len() >= 4).then_some(attempts)
    })
    .await;
    assert_timetable(&history[..3], &[0, 1, 3]);
    assert_eq!(
        each(&history[..3], "status"),
        ["FAILED", "FAILED", "SUCCESS"]
    );
    assert_eq!(each(&history[..3], "retryCount"), [0, 1, 2]);
    assert_eq!(history[0]["failure"]["httpStatus"], 503);
    assert_eq!(history[0]["response"]["status"], 503);
    assert_eq!(history[0]["response"]["body"], "said 503");
    assert_eq!(history[2]["response"]["body"], "said 200");
    assert_eq!(history[3]["status"], "SUCCESS");
    // The history of a schedule is that of its runs.
    let run = history[0]["jobId"].as_str().unwrap();
    assert_eq!(server.http.attempts(run).await, history[..3]);
}

#[tokio::test]
async fn an_at_most_once_job_fails_once_and_is_not_retried() {
    // Its clock stands still, so noon does not come during the test.
    let server = Server::with(Setup {
        manual_clock: true,
        ..Setup::default()
    })
    .await;
    let target = Target::always(500).await;
    let body = json!({
        "schedule": "0 0 12 * * *",
        "api": target.url(),
        "type": "AT_MOST_ONCE",
        "isRecurring": false,
        "maxRetryCount": 5
    });
    let job = server.http.create(body).await;
    assert_eq!(job["label"], "scheduled");
    assert_eq!(job["type"], "AT_MOST_ONCE");
    assert_eq!(job["maxRetries"], 5);
    assert!(job["runAt"].as_str().unwrap().ends_with("T12:00:00Z"));
    assert!(time(&job["runAt"]) > time(&job["createdAt"]));

    let id = id_of(&job);
    server.http.command("jobs", &id, "run-now").await.is(200);
    let job = server.http.wait_for_label(&id, "failed").await;
    assert_eq!(job["reason"], "at_most_once");
    let attempts = server.http.attempts(&id).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["decision"]["rule"], "at_most_once");
    assert_eq!(attempts[0]["nextRunAt"], Value::Null);
    assert_eq!(target.seen().len(), 1);
    let schedules = server.http.get("/api/v1/schedules").await.is(200);
    assert_eq!(schedules["schedules"], json!([]));
    // Trying it again by hand would be a second start.
    let again = server.http.command("jobs", &id, "retry").await;
    again.is_problem(409, "refused", None);
}

#[tokio::test]
async fn the_fields_of_the_other_seed_make_a_job_of_that_name() {
    let server = Server::start().await;
    let body = json!({
        "jobName": "Critical Task",
        "maxRetries": 5,
        "retryDelay": 30000,
        "useExponentialBackoff": true
    });
    let job = server.http.create(body).await;
    assert_eq!(job["kind"], "critical-task");
    assert_eq!(job["tags"]["jobName"], "Critical Task");
    assert_eq!(job["maxRetries"], 5);
    assert_eq!(job["retry"]["backoff"], "exponential");
    assert_eq!(job["retry"]["baseDelay"], "30s");
    assert_eq!(job["retry"]["maxDelay"], "1h");
    assert_eq!(job["label"], "ready");

    let body = json!({"jobName": "Dull Task", "useExponentialBackoff": false});
    let job = server.http.create(body).await;
    assert_eq!(job["retry"]["backoff"], "fixed");
    assert_eq!(job["retry"]["baseDelay"], "1m");
    assert_eq!(job["maxRetries"], 3);
}
